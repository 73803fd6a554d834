// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// OutputMessages reads the answer of an agent or a model from an output of any known shape.
func OutputMessages(v exactjson.Value, depth int) []Message {
	return outputMessages(v, depth, depth == 0)
}

// output is an object that may hold an answer.
type output struct {
	exactjson.Value
	depth int
	whole bool // nothing was taken off around it, so that it may itself be an answer in JSON
}

func outputMessages(v exactjson.Value, depth int, whole bool) []Message {
	inner, ok := Structure(Response(v))
	if !ok {
		return textOutput(v)
	}
	if depth >= maxInput {
		return nil
	}
	inner = plainNames(inner)
	if inner.Kind() == exactjson.Array {
		return listOutput(inner, depth)
	}
	if wrapped := wrappedOutput(inner); !wrapped.IsAbsent() {
		return OutputMessages(wrapped, depth+1)
	}
	if own, ok := ownMessage(inner); ok {
		inner = own
	}
	o := output{inner, depth, whole}
	for _, read := range [...]func(output) ([]Message, bool){
		roleOutput, kindOutput, typedOutput, memberOutput, crewOutput, langChainOutput, itemOutput,
	} {
		if messages, ok := read(o); ok {
			return messages
		}
	}
	return spreadAnswer(inner)
}

func textOutput(v exactjson.Value) []Message {
	text, ok := WholeText(v)
	if !ok || text == "" {
		return nil
	}
	messages, _ := Messages(exactjson.StringValue(text), tape.RoleAssistant)
	return messages
}

// listOutput reads a list of messages, or of a single response (the Agents SDK, of a stream).
func listOutput(list exactjson.Value, depth int) []Message {
	if IsMessageList(list) {
		return answersIn(list)
	}
	only := list.At(0)
	if list.Len() == 1 && only.Kind() == exactjson.Object &&
		(only.Get("output").Kind() == exactjson.Array || only.Get("choices").Kind() == exactjson.Array) {
		return OutputMessages(only, depth+1)
	}
	return nil
}

// answersIn returns the answers at the end of messages.
func answersIn(v exactjson.Value) []Message {
	messages, _ := Messages(v, tape.RoleAssistant)
	return LastAnswers(messages)
}

// wrappedOutput returns the output inside an object that is no output itself.
func wrappedOutput(v exactjson.Value) exactjson.Value {
	if response := v.Get("response"); v.Get("role").IsAbsent() && response.Get("role").Kind() == exactjson.String {
		return response // LlamaIndex's agents put the calls of the run beside the answer
	}
	if event := v.Get("data"); v.Len() == 1 && event.Get("choices").Kind() == exactjson.Array {
		return event // Mistral's package puts the event of a stream around the answer
	}
	return exactjson.Value{}
}

func roleOutput(o output) ([]Message, bool) {
	if o.Get("role").IsAbsent() && o.Get("tool_calls").Kind() != exactjson.Array {
		return nil, false
	}
	m := RoleMessage(o.Value, tape.RoleAssistant)
	if m.Role != tape.RoleAssistant {
		return nil, true
	}
	return []Message{m}, true
}

func kindOutput(o output) ([]Message, bool) {
	messages, ok := kindMessages(o.Value)
	return LastAnswers(messages), ok
}

func typedOutput(o output) ([]Message, bool) {
	if o.First("toolExecutionRequests", "toolCalls").Kind() != exactjson.Array {
		return nil, false
	}
	return onlyAnswer(typedMessage(o.Value))
}

func langChainOutput(o output) ([]Message, bool) { return onlyAnswer(LangChainMessage(o.Value)) }

func itemOutput(o output) ([]Message, bool) { return onlyAnswer(ResponseItem(o.Value)) }

func onlyAnswer(m Message, ok bool) ([]Message, bool) {
	if !ok || m.Role != tape.RoleAssistant {
		return nil, false
	}
	return []Message{m}, true
}

// crewOutput reads the output of a crew or a task of CrewAI.
func crewOutput(o output) ([]Message, bool) {
	raw := o.Get("raw").Str()
	if raw == "" || o.Get("tasks_output").Kind() != exactjson.Array && o.Get("output_format").IsAbsent() {
		return nil, false
	}
	return textAnswer(raw), true
}

func textAnswer(text string) []Message {
	return []Message{{Role: tape.RoleAssistant, Parts: []Part{TextPart(text)}}}
}

// memberOutput reads the first member that holds an answer.
func memberOutput(o output) ([]Message, bool) {
	for _, member := range [...]struct {
		name string
		read func(o output, name string, body exactjson.Value) ([]Message, bool)
	}{
		{"choices", choicesOutput},
		{"output", nestedOutput},
		{"outputs", nestedOutput},
		{"generations", generationsOutput},
		{"candidates", candidatesOutput},
		{"messages", conversationOutput},
		{"message", contentOutput},
		{"content", contentOutput},
		{"return_values", nestedOutput},
		{"result", nestedOutput},
		{"response", nestedOutput},
		{"answer", statedOutput},
		{"final_output", statedOutput},
	} {
		body := o.Get(member.name)
		if body.IsEmpty() {
			continue
		}
		if messages, ok := member.read(o, member.name, body); ok {
			return messages, true
		}
	}
	return nil, false
}

// choicesOutput reads the first choice: further choices are other answers, not further turns.
func choicesOutput(_ output, _ string, body exactjson.Value) ([]Message, bool) {
	if body.Kind() == exactjson.String {
		return nil, false
	}
	messages, _ := Messages(body, tape.RoleAssistant)
	return LastAnswers(messages[:min(len(messages), 1)]), true
}

func generationsOutput(_ output, _ string, body exactjson.Value) ([]Message, bool) {
	if body = body.At(0); body.Kind() == exactjson.Array {
		body = body.At(0)
	}
	return generation(body), true
}

func candidatesOutput(_ output, _ string, body exactjson.Value) ([]Message, bool) {
	first := body.At(0)
	if content := first.Get("content"); content.Kind() == exactjson.Object { // Gemini
		m := RoleMessage(content, tape.RoleAssistant)
		m.Role, m.FinishReason = tape.RoleAssistant, first.First("finishReason", "finish_reason").Text()
		return []Message{m}, true
	}
	if body.Kind() == exactjson.String {
		return nil, false
	}
	return answersIn(body), true
}

func conversationOutput(o output, _ string, body exactjson.Value) ([]Message, bool) {
	if body.Kind() == exactjson.String {
		return nil, false
	}
	messages, _ := Messages(body, tape.RoleAssistant)
	if all := o.Get("content").Str(); saidInTurns(all, messages) {
		return textAnswer(all), true
	}
	return LastAnswers(messages), true
}

func contentOutput(o output, name string, body exactjson.Value) ([]Message, bool) {
	if body.Kind() == exactjson.String && o.whole && !Wraps(o.Value, name) {
		return nil, false
	}
	return answersIn(body), true
}

func nestedOutput(o output, name string, body exactjson.Value) ([]Message, bool) {
	if body.Kind() == exactjson.String && o.whole && !Wraps(o.Value, name) {
		return nil, false
	}
	messages := o.inside(body)
	return messages, messages != nil
}

// statedOutput reads a member whose name says that it is the answer, also where the answer is JSON of its
// own.
func statedOutput(o output, _ string, body exactjson.Value) ([]Message, bool) {
	if messages := o.inside(body); messages != nil {
		return messages, true
	}
	if body.Kind() != exactjson.String {
		return nil, false
	}
	return textAnswer(body.Str()), true
}

// inside reads a member as an output. A text may be an answer in JSON there too.
func (o output) inside(body exactjson.Value) []Message {
	return outputMessages(body, o.depth+1, body.Kind() == exactjson.String)
}

// Members that stand beside a text which is all that was answered: what was asked before it, what it is,
// where it came from and what it took.
var (
	beside = regexp.MustCompile(`(?i)^(id|.+_?id|lc|example|model|object|created(_?at)?|usage|.*tokens?|finish_?reason|stop_?reason|status|state|subtype|is_?error|error|refusal|role|name|num_turns|messages|content|annotations|audio|function_call|inputs?|question|query|prompt|task|context|documents|sources|citations|version|tags|` +
		`(user|reasoning|latency|duration|elapsed|cost|time).*|.*(history|steps|metadata|kwargs|tool_?calls|_ms|_usd))$`)
	textualType = regexp.MustCompile(`(?i)(text|^ai|message|assistant|result|output|response)`)
)

// Wraps reports an object around a text under a name that says that it came out: nothing else in it may be a
// part of an answer in JSON.
func Wraps(v exactjson.Value, name string) bool {
	return !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		return m.Name != name && !beside.MatchString(m.Name) && !(m.Name == "type" && textualType.MatchString(m.Value.Str())) && !m.Value.IsEmpty()
	})
}

// saidInTurns reports an answer that is the texts of the last turns of a conversation, one after the other:
// who streams a run may return all that it streamed (agno 1).
func saidInTurns(whole string, messages []Message) bool {
	turns := 0
	for _, m := range slices.Backward(messages) {
		if m.Role == tape.RoleAssistant && whole != "" {
			var said strings.Builder
			for _, p := range m.Parts {
				if p.Type == tape.PartText {
					said.WriteString(p.Text)
				}
			}
			before, ok := strings.CutSuffix(whole, said.String())
			if !ok {
				return false
			}
			whole, turns = before, turns+1
		}
	}
	return turns > 1 && whole == ""
}

// answerMembers may stand beside the text of an answer whose parts are members of one object.
var answerMembers = map[string]bool{
	"text": true, "toolCalls": true, "tool_calls": true, "reasoning": true, "files": true, "sources": true, "object": true, "usage": true, "finishReason": true,
	"finish_reason": true, "id": true, "model": true, "timestamp": true, "providerMetadata": true, "steps": true, "warnings": true, "toolResults": true,
}

// spreadAnswer reads an answer whose text and calls are members of one object. Numbers may stand there too if
// more than the text shows that the object is an answer: they are measurements, whatever their names.
func spreadAnswer(v exactjson.Value) []Message {
	known, numbers := 0, 0
	for _, m := range v.Members() {
		switch {
		case answerMembers[m.Name]:
			known++
		case m.Value.Kind() == exactjson.Number:
			numbers++
		default:
			return nil
		}
	}
	if numbers > 0 && known < 2 {
		return nil
	}
	out := Message{Role: tape.RoleAssistant, Parts: Parts(v.Get("text")), FinishReason: v.First("finishReason", "finish_reason").Str()}
	if calls, ok := Structure(v.First("toolCalls", "tool_calls")); ok {
		out.Parts = append(out.Parts, ChatCalls(calls)...)
	}
	if object := v.Get("object"); len(out.Parts) == 0 && object.Kind() == exactjson.String && LooksJSON(object.Str()) {
		out.Parts = Parts(object)
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return []Message{out}
}

// generation reads one LangChain generation: {text, message, generation_info}.
func generation(v exactjson.Value) []Message {
	if message := v.Get("message"); message.Kind() == exactjson.Object {
		if m, ok := LangChainMessage(message); ok {
			FillString(&m.FinishReason, v.First("generation_info", "generationInfo").First("finish_reason", "stop_reason").Str())
			return []Message{m}
		}
		if messages, ok := Messages(message, tape.RoleAssistant); ok {
			return messages
		}
	}
	if text := v.Get("text").Str(); text != "" {
		return []Message{{Role: tape.RoleAssistant, Parts: Parts(v.Get("text"))}}
	}
	return nil
}

// LastAnswers returns the assistant messages at the end of a list.
func LastAnswers(messages []Message) []Message {
	start := len(messages)
	for start > 0 && messages[start-1].Role == tape.RoleAssistant {
		start--
	}
	return messages[start:]
}

// Documents returns the elements of a list of documents. The list may lie in an object.
func Documents(out exactjson.Value) []exactjson.Value {
	v, ok := Structure(out)
	if !ok {
		return nil
	}
	if v.Kind() == exactjson.Object {
		v = v.First("documents", "output", "outputs", "results", "nodes")
	}
	if v.Kind() != exactjson.Array {
		return nil
	}
	var docs []exactjson.Value
	for _, m := range v.Members() {
		docs = append(docs, m.Value)
	}
	return docs
}
