// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package springai reads Spring AI.
package springai

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Spring AI's Micrometer observations. Tool spans hold arguments and results; prompts and
// answers are only texts, in log records or in old attributes, without the roles and calls of the messages.
var Dialect = &dialect.Dialect{
	ID:      "spring-ai",
	Name:    "Spring AI",
	Scopes:  []string{springScope},
	Marks:   []string{"spring.ai."},
	Root:    "`spring_ai chat_client`",
	Encoded: true,
	Switch: "`spring.ai.chat.observations.log-prompt`, `spring.ai.chat.observations.log-completion` and " +
		"`spring.ai.tools.observations.include-content` = true",
	Records:    dialect.Records{Events: []string{springPrefix}, Log: springLog, EventName: springEventName},
	MarkedOnly: true,
	Classify:   classifySpringAI,
	Read:       readSpringAI,
}

// Spring AI's log records have no event name. The handler that writes them tells what they hold.
const (
	springPrefix     = "spring_ai."
	springPrompt     = springPrefix + "prompt_content"
	springCompletion = springPrefix + "completion"
	springClient     = springPrefix + "client_prompt_content"
)

// springScope is the scope of every span of a Spring Boot application.
const springScope = "org.springframework.boot"

var springHandlers = []struct{ suffix, name string }{
	{"ChatModelPromptContentObservationHandler", springPrompt},
	{"ChatModelCompletionObservationHandler", springCompletion},
	{"ChatClientPromptContentObservationHandler", springClient},
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

func springLog(name string, _ decode.Attributes) dialect.LogRole {
	if name == springClient {
		return dialect.LogRole{Class: dialect.Agent}
	}
	return dialect.LogRole{Class: dialect.Model, Part: strings.TrimPrefix(name, springPrefix)}
}

func classifySpringAI(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch kind := a.Text("spring.ai.kind"); {
	case a.Has("spring.ai.tool.definition.name"), kind == "tool_call":
		return dialect.Tool, false
	case kind == "chat_client", s.Span.Name() == "spring_ai chat_client", s.Span.Name() == "spring.ai.chat.client":
		return dialect.Agent, true
	case a.Text("gen_ai.operation.name") == "chat":
		return dialect.Model, false
	case a.Has("spring.ai.advisor.name"), kind != "":
		return dialect.Structure, false
	case strings.HasPrefix(s.Span.Name(), "spring.ai.alibaba.graph") && a.Has("spring.ai.alibaba.graph.name"):
		return dialect.Agent, true
	case strings.HasPrefix(s.Span.Name(), "spring.ai.alibaba.graph"):
		// the graph of Spring AI Alibaba's agents: what it writes as prompt and completion is its state, as
		// Java's toString has it
		return dialect.Structure, false
	}
	return dialect.Unclassified, false
}

func readSpringAI(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("spring.ai.chat.client.conversation.id")
	switch o.Class {
	case dialect.Agent:
		o.Quirks.Add(dialect.HandsAll, a.Text("spring.ai.chat.client.stream") == "true")
		o.WeakAgent = !a.Has("spring.ai.alibaba.graph.name")
		if text := a.Text("spring.ai.chat.client.user.text"); text != "" {
			o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(text)}}}
		}
		if text := a.Text("spring.ai.chat.client.system.text"); text != "" {
			o.System = []decode.Part{decode.TextPart(text)}
		}
		for _, l := range s.Logs {
			if l.Name() == springClient && o.Input == nil {
				_, text, _ := strings.Cut(decode.Attributes(l.Attributes()).Text(dialect.LogBody), "\n")
				for _, m := range springTurns(text) {
					if m.Role == tape.RoleSystem {
						decode.FillList(&o.System, m.Parts)
					}
					o.Input = append(o.Input, m)
				}
			}
		}
		if o.Input == nil && !a.Has("spring.ai.alibaba.graph.name") {
			o.Input = springTexts(a.Text("gen_ai.prompt"), tape.RoleUser)
		}
	case dialect.Model:
		readSpringModel(s, a, o)
	case dialect.Tool:
		o.Name = a.Text("spring.ai.tool.definition.name")
		if schema, ok := decode.Structure(a.JSON("spring.ai.tool.definition.schema")); ok && o.Name != "" && schema.Kind() == exactjson.Object {
			o.Tools = []tape.Tool{{Name: o.Name, Description: a.Text("spring.ai.tool.definition.description"), Parameters: schema}}
		}
		o.CallID = decode.UsableID(a.Text("spring.ai.tool.call.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("spring.ai.tool.call.arguments"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("spring.ai.tool.call.result"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.Result(v, true))
			o.Result, o.Failed = u.Content, u.IsError
			o.Result.Told = len(u.Content.Envelope) == 0 // the text that the message to the model has
		}
	}
}

func readSpringModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	prompt, answer := a.Text("gen_ai.prompt"), a.Text("gen_ai.completion")
	for _, e := range s.Span.Events().All() {
		x := decode.Attributes(e.Attributes())
		decode.FillString(&prompt, x.Text("gen_ai.prompt"))
		decode.FillString(&answer, x.Text("gen_ai.completion"))
	}
	for _, l := range s.Logs {
		body := decode.Attributes(l.Attributes()).Text(dialect.LogBody)
		_, text, _ := strings.Cut(body, "\n")
		switch l.Name() {
		case springPrompt:
			decode.FillString(&prompt, text)
		case springCompletion:
			decode.FillString(&answer, text)
		}
	}
	if o.Request = springTexts(prompt, tape.RoleUser); len(o.Request) > 0 {
		o.RequestLabel = tape.Lossy
	}
	offered, _ := decode.Structure(a.JSON("spring.ai.model.request.tool.names"))
	for _, m := range offered.Members() {
		if name := m.Value.Str(); name != "" {
			o.Offered = append(o.Offered, name)
		}
	}
	reasons, _ := decode.Structure(a.JSON("gen_ai.response.finish_reasons"))
	inner, quoted := strings.CutPrefix(strings.TrimSpace(answer), `["`)
	inner, closed := strings.CutSuffix(inner, `"]`)
	if quoted && closed && inner != "" && reasons.Kind() == exactjson.Array && reasons.Len() == 1 {
		// one choice, whatever stands in it: nothing is escaped
		o.Response = []decode.Message{decode.MessageWith(tape.RoleAssistant, "", []decode.Part{decode.TextPart(inner)})}
	} else {
		o.Response = springTexts(answer, tape.RoleAssistant)
	}
	if len(o.Response) > 1 {
		o.Response = o.Response[:1] // further ones are further choices
	}
}

// springTurn is where a message begins in what the chat client writes.
var springTurn = regexp.MustCompile(`(?:^\[|", )"(system|user|assistant|tool)":"`)

// springTurns reads what the chat client writes of its messages: ["role":"text", "role":"text"], with nothing
// escaped.
func springTurns(text string) (out []decode.Message) {
	text = strings.TrimSuffix(strings.TrimSpace(text), `"]`)
	found := springTurn.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if said := text[at[1]:end]; said != "" {
			out = append(out, decode.Message{Role: decode.RoleOf(text[at[2]:at[3]]), Parts: []decode.Part{decode.TextPart(said)}})
		}
	}
	return out
}

// springTexts reads what Spring AI writes of messages: ["text", "text"], with nothing escaped and no roles.
func springTexts(text string, role tape.Role) []decode.Message {
	text = strings.TrimSpace(text)
	if text == "" || text == "[]" || text == `[""]` {
		return nil
	}
	texts, whole := springList(text)
	// the texts of answers that asked for tools and of the results, which have none, stand at the end
	roundTrips := len(texts)
	for role == tape.RoleUser && roundTrips > 2 && texts[roundTrips-1] == "" {
		roundTrips -= 2
	}
	placed := role == tape.RoleUser && whole && roundTrips > 1 && roundTrips < springWindow && !slices.Contains(texts[:roundTrips], "")
	var out []decode.Message
	for i, t := range texts {
		if asked := i >= roundTrips && (i-roundTrips)%2 == 0; asked && (t == "" || t == "null") {
			out = append(out, decode.Message{Role: tape.RoleAssistant, Omitted: true})
			continue
		} else if asked {
			role = tape.RoleAssistant
		} else if placed {
			role = springPlace(i, roundTrips)
		}
		if t == "" {
			continue
		}
		p := decode.TextPart(t)
		if placed && i < roundTrips {
			p.Label = tape.Recovered
		} else if len(texts) > 1 || !whole {
			p.Label = tape.Lossy
		}
		out = append(out, decode.Message{Role: role, Parts: []decode.Part{p}})
	}
	return out
}

// springWindow is how many messages Spring AI's memory of a chat holds. A longer conversation begins with the
// rest of an earlier turn.
const springWindow = 20

// springPlace returns who said the i-th of n texts. A request ends with the user. Users and models take turns
// before that, and the system stands first.
func springPlace(i, n int) tape.Role {
	switch {
	case (n-i)%2 == 1:
		return tape.RoleUser
	case i == 0:
		return tape.RoleSystem
	}
	return tape.RoleAssistant
}

// springList returns the texts of a list in which nothing is escaped. The list is whole if no text holds a
// part of a quotation.
func springList(text string) (texts []string, whole bool) {
	inner, ok := strings.CutPrefix(text, `["`)
	if !ok || !strings.HasSuffix(inner, `"]`) {
		return []string{text}, true
	}
	open, whole := false, true
	for piece := range strings.SplitSeq(strings.TrimSuffix(inner, `"]`), springComma) {
		if open {
			texts[len(texts)-1] += springComma + piece
		} else {
			texts = append(texts, piece)
		}
		joined := open
		open = strings.Count(texts[len(texts)-1], `"`)%2 == 1
		whole = !open || !joined
	}
	return texts, whole
}

// springComma stands between two texts, and may stand in a text.
const springComma = `", "`
