// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// springAI reads Spring AI's Micrometer observations. Tool spans hold arguments and results; prompts and answers are only texts, in
// log records or in old attributes, without the roles and calls of the messages.
var springAI = &Dialect{
	ID:      "spring-ai",
	Name:    "Spring AI",
	Scopes:  []string{springScope},
	Marks:   []string{"spring.ai."},
	Root:    "`spring_ai chat_client`",
	Encoded: true,
	Switch: "`spring.ai.chat.observations.log-prompt`, `spring.ai.chat.observations.log-completion` and " +
		"`spring.ai.tools.observations.include-content` = true",
	Events:     []string{springPrefix},
	log:        springLog,
	eventName:  springEventName,
	MarkedOnly: true,
	classify:   classifySpringAI,
	read:       readSpringAI,
}

// Spring AI's log records have no event name; the handler that writes them tells what they hold.
const (
	springPrefix     = "spring_ai."
	springPrompt     = springPrefix + "prompt_content"
	springCompletion = springPrefix + "completion"
)

// springScope is the scope of every span of a Spring Boot application.
const springScope = "org.springframework.boot"

var springHandlers = []struct{ suffix, name string }{
	{"ChatModelPromptContentObservationHandler", springPrompt},
	{"ChatModelCompletionObservationHandler", springCompletion},
}

// springEventName names a record by the class of the logger that wrote it.
func springEventName(scope, recorded string) string {
	if recorded != "" {
		return recorded
	}
	for _, h := range springHandlers {
		if strings.HasSuffix(scope, h.suffix) {
			return h.name
		}
	}
	return ""
}

func springLog(name string, _ attributes) logRole {
	return logRole{class: Model, part: strings.TrimPrefix(name, springPrefix)}
}

func classifySpringAI(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	switch kind := a.str("spring.ai.kind"); {
	case a.has("spring.ai.tool.definition.name"), kind == "tool_call":
		return Tool, false
	case kind == "chat_client", s.Span.Name() == "spring_ai chat_client", s.Span.Name() == "spring.ai.chat.client":
		return Agent, true
	case a.str("gen_ai.operation.name") == "chat":
		return Model, false
	case a.has("spring.ai.advisor.name"), kind != "":
		return Structure, false
	}
	return Unclassified, false
}

func readSpringAI(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("spring.ai.chat.client.conversation.id")
	switch o.Class {
	case Agent:
		if text := a.str("spring.ai.chat.client.user.text"); text != "" {
			o.Input = []Message{{Role: tape.RoleUser, Parts: []Part{textPart(text)}}}
		}
		if text := a.str("spring.ai.chat.client.system.text"); text != "" {
			o.System = []Part{textPart(text)}
		}
		if o.Input == nil {
			o.Input = springTexts(a.str("gen_ai.prompt"), tape.RoleUser)
		}
	case Model:
		readSpringModel(s, a, o)
	case Tool:
		o.Name = a.str("spring.ai.tool.definition.name")
		o.CallID = usableID(a.str("spring.ai.tool.call.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.json("spring.ai.tool.call.arguments"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("spring.ai.tool.call.result"); !v.IsAbsent() {
			u := unwrapResult(resultContent(v, true))
			o.Result, o.Failed = u.content, u.isError
		}
	}
}

func readSpringModel(s *Source, a attributes, o *Observation) {
	prompt, answer := a.str("gen_ai.prompt"), a.str("gen_ai.completion")
	for _, e := range s.Span.Events().All() {
		x := attributes(e.Attributes())
		str(&prompt, x.str("gen_ai.prompt"))
		str(&answer, x.str("gen_ai.completion"))
	}
	for _, l := range s.Logs {
		body := attributes(l.Attributes()).str(LogBody)
		_, text, _ := strings.Cut(body, "\n")
		switch l.Name() {
		case springPrompt:
			str(&prompt, text)
		case springCompletion:
			str(&answer, text)
		}
	}
	if o.Request = springTexts(prompt, tape.RoleUser); len(o.Request) > 0 {
		o.RequestLabel = tape.Lossy
	}
	o.Response = springTexts(answer, tape.RoleAssistant)
	if len(o.Response) > 1 {
		o.Response = o.Response[:1] // further ones are further choices
	}
}

// springTexts reads what Spring AI writes of messages: ["text", "text"], with nothing escaped. Roles are lost where there are
// several; of the last it is known that it is the newest.
func springTexts(text string, role tape.Role) []Message {
	text = strings.TrimSpace(text)
	if text == "" || text == "[]" || text == `[""]` {
		return nil
	}
	var texts []string
	if list, err := exactjson.Parse(text); err == nil && list.Kind() == exactjson.Array {
		for _, m := range list.Members() {
			texts = append(texts, m.Value.Text())
		}
	} else if inner, ok := strings.CutPrefix(text, `["`); ok && strings.HasSuffix(inner, `"]`) {
		texts = strings.Split(strings.TrimSuffix(inner, `"]`), `", "`)
	} else {
		texts = []string{text}
	}
	var out []Message
	for _, t := range texts {
		if t == "" {
			continue
		}
		p := textPart(t)
		if len(texts) > 1 {
			p.Label = tape.Lossy
		}
		out = append(out, Message{Role: role, Parts: []Part{p}})
	}
	return out
}
