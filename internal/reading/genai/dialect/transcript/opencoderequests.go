// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ask makes the request of a call: what stands before its answer in the conversation.
func (t *openCodeThread) ask(n int) {
	m := t.messages[n]
	if m.summary {
		m.label = tape.Missing
		return
	}
	history := t.before(n)
	switch {
	case !t.room(2 * len(history)): // answers have their results with them
		m.label = tape.Truncated
	default:
		for _, h := range history {
			m.request = append(m.request, h.said(m)...)
		}
	}
}

// sum remembers a message that sums up the conversation. It answers a message of the program, which names the
// first message of the tail that is kept.
func (t *openCodeThread) sum(n int) {
	m := t.messages[n]
	if !m.summary || m.failure != nil || m.info.Get("finish").IsAbsent() {
		return
	}
	asked, ok := t.places[m.info.Get("parentID").Str()]
	if !ok || asked >= n || len(t.messages[asked].parts["compaction"]) == 0 {
		return
	}
	t.asked, t.summed, t.tail = asked, n+1, asked
	if id := t.messages[asked].parts["compaction"][0].Get("tail_start_id").Str(); id != "" {
		if t.tail, ok = t.places[id]; !ok || t.tail > asked { // the program finds no end then, and sends all
			t.asked, t.summed, t.tail = 0, 0, 0
		}
	}
}

// before are the messages that are sent with one: the last summary with its question, the tail that it left,
// and what came since.
func (t *openCodeThread) before(n int) []*openCodeMessage {
	if t.tail == t.asked {
		return t.messages[t.asked:n]
	}
	return slices.Concat(t.messages[t.asked:t.summed], t.messages[t.tail:t.asked], t.messages[t.summed:n])
}

// said is a message as the request of another one holds it: what was said, and the results of tools. Of an
// answer that failed, there is nothing unless a user ended it.
func (m *openCodeMessage) said(to *openCodeMessage) []decode.Message {
	if m.failure != nil && m != to && (m.failure.Type != "MessageAbortedError" || len(m.parts["text"])+len(m.parts["tool"]) == 0) {
		return nil
	}
	said, results := decode.Message{Role: decode.RoleOf(m.role)}, decode.Message{Role: tape.RoleTool}
	for _, p := range m.body.Get("parts").Members() {
		p := p.Value
		switch kind, mime := p.Get("type").Str(), p.Get("mime").Str(); {
		case kind == "text" && p.Get("text").Str() != "" && !p.Get("ignored").True():
			part, _ := decode.PartOf(p)
			said.Parts = append(said.Parts, part)
		case kind == "file" && mime != "text/plain" && mime != "application/x-directory":
			part, _ := decode.PartOf(p)
			decode.FillString(&part.MIMEType, mime)
			said.Parts = append(said.Parts, part)
		case kind == "compaction":
			said.Parts = append(said.Parts, decode.TextPart("What did we do so far?"))
		case kind == "subtask":
			said.Parts = append(said.Parts, decode.TextPart("The following tool was executed by the user"))
		case kind == "reasoning" && m.model() != to.model(): // its signature is of no use to another model
			said.Parts = append(said.Parts, decode.TextPart(p.Get("text").Str()))
		case kind == "reasoning":
			said.Parts = append(said.Parts, decode.Part{Part: tape.Part{Type: tape.PartReasoning, Text: p.Get("text").Str()}})
		case kind == "tool":
			said.Parts = append(said.Parts, openCodeCall(p))
			results.Parts = append(results.Parts, openCodeResult(p, to.at))
		}
	}
	return slices.DeleteFunc([]decode.Message{said, results}, func(m decode.Message) bool { return len(m.Parts) == 0 })
}

func (m *openCodeMessage) model() string {
	return m.info.Get("providerID").Str() + "/" + m.info.Get("modelID").Str()
}

// openCodeCall is what the model asked for. A sanitized export has an object in place of the arguments.
func openCodeCall(p exactjson.Value) decode.Part {
	args := p.Get("state").Get("input")
	if said := args.Get("redacted").Str(); strings.HasPrefix(said, "tool-input:") {
		args = exactjson.StringValue("[redacted:" + said + "]")
	}
	return decode.CallPart(p.Get("callID").Str(), p.Get("tool").Str(), args)
}

// openCodeResult is the result of a tool in a request of this time. Results that are long past are cleared.
// Files beside a result are sent in another form for each provider.
func openCodeResult(p exactjson.Value, at pcommon.Timestamp) decode.Part {
	state := p.Get("state")
	status, cleared, partial := state.Get("status").Str(), millis(state.Get("time").Get("compacted")), state.Get("metadata").Get("output")
	told := state.Get("output")
	switch {
	case status == "error" && state.Get("metadata").Get("interrupted").True() && partial.Kind() == exactjson.String:
		status, told = "completed", partial
	case status == "error":
		told = state.Get("error")
	case status != "completed":
		told = exactjson.StringValue("[Tool execution was interrupted]")
	case cleared > 0 && cleared <= at:
		told = exactjson.StringValue("[Old tool result content cleared]")
	}
	result := decode.ResultPart(p.Get("callID").Str(), "", told, status != "completed")
	if state.Get("attachments").Len() > 0 {
		result.Label = tape.Lossy
	}
	return result
}
