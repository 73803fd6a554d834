// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// smolagents sends tasks, calls and results as texts. What they begin with tells them, whoever records them and under whatever role.
const (
	taskPrefix        = "New task:\n"
	callsPrefix       = "Calling tools:\n"
	observationPrefix = "Observation:\n"

	// what it puts behind a task or a result in the same message, where a step failed, and where no steps are left
	errorPrefix  = "\nError:\n"
	retrySuffix  = "Now let's retry: take care not to repeat previous errors! If you have retried several times, try a completely different approach."
	answerPrefix = "\nBased on the above, please provide an answer to the following user task:\n"

	answerTool, answerName = "final_answer", "answer"
)

// smolagents is how its instructions begin: for a step, and for the answer when there are no steps left.
var smolagents = []string{"You are an expert assistant who can solve any task using ", "An agent tried to answer a user query but it got stuck and failed to do so."}

// OpenActions reads the calls and results that stand as texts in the messages of smolagents, and tells the task from the words before it. Other
// messages are returned as they are.
func OpenActions(messages []Message) []Message {
	if !ofActions(messages) {
		return messages
	}
	for i := 1; i < len(messages); i++ {
		m := &messages[i]
		text := soleText(*m)
		if task, ok := strings.CutPrefix(text, taskPrefix); ok && m.Role == tape.RoleUser {
			prefix := TextPart(taskPrefix)
			prefix.Injected = true
			task, more := cutActions(task)
			m.Parts = append([]Part{prefix, TextPart(task)}, more...)
			continue
		}
		if words, list, ok := cutCalls(text); ok {
			if calls, lossy, ok := Python(list); ok && !lossy && calls.Kind() == exactjson.Array && calls.Len() > 0 {
				m.Role, m.Parts = tape.RoleAssistant, append(words, ChatCalls(calls)...)
			}
			continue
		}
		if text, ok := strings.CutPrefix(text, observationPrefix); ok && messages[i-1].Role == tape.RoleAssistant && HasCalls(messages[i-1]) {
			text, more := cutActions(text)
			m.Role, m.Parts = tape.RoleTool, append(observed(text, callsIn(messages[i-1].Parts)), more...)
		}
	}
	return messages
}

// ofActions reports a conversation that begins with the instructions of smolagents.
func ofActions(messages []Message) bool {
	return len(messages) > 0 && messages[0].Role == tape.RoleSystem && slices.ContainsFunc(smolagents, func(s string) bool { return strings.HasPrefix(soleText(messages[0]), s) })
}

// AnswerTools are the tools by which the model of such a conversation answers: nothing comes back from them.
func AnswerTools(messages []Message) []string {
	if ofActions(messages) {
		return []string{answerTool}
	}
	if len(messages) > 0 && messages[0].Role == tape.RoleSystem {
		if text := soleText(messages[0]); strings.HasPrefix(text, dspyPrefix) {
			for _, a := range dspyAgents {
				if strings.Contains(text, a.words) {
					return []string{a.tool}
				}
			}
		}
	}
	return nil
}

// dspyPrefix is how the instructions of DSPy begin, and dspyAgents are the words in those of its agents that tell the tool with which they end.
const dspyPrefix = "Your input fields are:"

var dspyAgents = []struct{ words, tool string }{
	{"When selecting the next_tool_name and its next_tool_args, the tool must be one of", "finish"},
	{"When the final answer is ready, call `submit` with", "submit"},
}

// AnswerBy is the text that a call of such a tool answers with, and whether it is one.
func AnswerBy(call *Part) (string, bool) {
	answer := call.Args.Get(answerName)
	return answer.Str(), call.Name == answerTool && call.Args.Len() == 1 && answer.Kind() == exactjson.String
}

// cutActions takes off what the framework put behind a task or a result.
func cutActions(text string) (string, []Part) {
	at := strings.Index(text, answerPrefix)
	if strings.HasSuffix(strings.TrimRight(text, "\n"), retrySuffix) {
		at = strings.Index(text, errorPrefix)
	}
	if at < 0 {
		return text, nil
	}
	more := TextPart(text[at:])
	more.Injected = true
	return text[:at], []Part{more}
}

// cutCalls finds the list of calls, and what the model said before it.
func cutCalls(text string) (words []Part, list string, ok bool) {
	if list, ok := strings.CutPrefix(text, callsPrefix); ok {
		return nil, list, true
	}
	at := strings.LastIndex(text, "\n"+callsPrefix)
	if at < 0 || strings.HasPrefix(text, observationPrefix) {
		return nil, "", false
	}
	return []Part{TextPart(text[:at])}, text[at+1+len(callsPrefix):], true
}

// callsIn are the calls among parts.
func callsIn(parts []Part) (calls []Part) {
	for i := range parts {
		if parts[i].Type == tape.PartToolCall {
			calls = append(calls, parts[i])
		}
	}
	return calls
}

// soleText is the text of a message that holds nothing else.
func soleText(m Message) string {
	if len(m.Parts) != 1 || m.Parts[0].Type != tape.PartText {
		return ""
	}
	return m.Parts[0].Text
}

// observed are the results of the calls of one message. The text holds all of them, one below the other. Of several, nothing says where one ends: as many
// lines as there are calls are taken for a line each, and labelled.
func observed(text string, calls []Part) []Part {
	lines := []string{text}
	var label tape.Label
	if len(calls) > 1 {
		if lines = strings.Split(text, "\n"); len(lines) != len(calls) {
			return []Part{TextPart(text)}
		}
		label = tape.Lossy
	}
	var results []Part
	for i, call := range calls {
		p := ResultPart(call.ID, call.Name, exactjson.StringValue(lines[i]), false)
		if label != "" {
			p.Label = label
		}
		results = append(results, p)
	}
	return results
}
