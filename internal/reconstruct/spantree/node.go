// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
)

// splitAtAnswer divides a recorded request before the answer to it, which no request can hold. What follows
// was said later: the program appended to the list that it had handed to the client, and the list was written
// down afterwards.
//
// Needs: a call in the request with the drawn id of one that the response asks for.
// Refuses: an answer at the beginning of a request.
// Seen in: instrumentations that write a span when the call, or a whole batch of spans, is done.
func splitAtAnswer(request []*chat.Message, response []genai.Message) (sent, followed []*chat.Message) {
	if len(response) == 0 || len(request) < 2 {
		return request, nil
	}
	ids := chat.DrawnIDs(response[0].Parts)
	if len(ids) == 0 {
		return request, nil
	}
	at := slices.IndexFunc(request, func(m *chat.Message) bool { return m.Tape.Role == tape.RoleAssistant && chat.AsksOne(m.Parts, ids) })
	if at < 1 {
		return request, nil
	}
	said := chat.TextOf(chat.NewMessage(response[0]))
	for at > 1 && request[at-1].Tape.Role == tape.RoleAssistant && !chat.HasToolCall(request[at-1]) && said != "" && strings.Contains(said, chat.TextOf(request[at-1])) {
		at-- // its text stands before its calls
	}
	return request[:at:at], request[at:]
}

// loopOf is what an output that holds a whole loop says: the answer, the results of its calls, what followed.
//
// Needs: results of tools between two answers of one output.
// Refuses: an output of several answers without results between them.
// Seen in: clients that call the tools themselves and report all of it as one model call.
func loopOf(made *chat.Messages, response []genai.Message) (messages []*chat.Message) {
	if decode.LoopAt(response) == 0 {
		return nil
	}
	for _, m := range response {
		messages = append(messages, made.Message(m))
	}
	return messages
}

// HandedAnswer is the answer with calls that a step was handed, as the last message of its input. It is nil
// when there is none.
func HandedAnswer(n *Node) *chat.Message {
	handed, _ := decode.InputMessages(n.Obs.InputData.Value, 0)
	if len(handed) == 0 || n.Obs.InputData.Label == tape.Truncated {
		return nil
	}
	if said := handed[len(handed)-1]; said.Role == tape.RoleAssistant && len(chat.CallsOf(said.Parts)) > 0 {
		return chat.NewMessage(said)
	}
	return nil
}

// Node is one span of a trace with what it says and where it hangs.
type Node struct {
	ID, Parent pcommon.SpanID
	Start, End uint64        // ns
	Obs        *genai.Report // never written to: who corrects what a span says replaces it
	Rooted     bool          // its dialect puts every call below a run span
	Reports    *Node         // the span in another trace that tells the same model call, see byTwin
	Records
	Place
	Talk
}

// Records are the items of the evidence that a node was read from.
type Records struct {
	item      *evidence.Item // the most telling one; nil of what exists in log records only
	Span      ptrace.Span
	Resource  pcommon.Map
	Scope     ScopeKey
	Source    *genai.Source
	Spans     int             // items that are spans, 0 for what exists in log records only
	Logs      int             // items that are log records
	sources   []*genai.Source // of each payload, where they disagree
	Payloads  []Payload       // what each of them says, of a tool call
	conflicts int             // payloads under the same id that disagree, see conflictsOf
	said      evidence.Digest // see content
	twins     int             // further spans that say the same, see dropTwins
}

// Place is where a node hangs.
type Place struct {
	Up      *Node
	Kids    []*Node
	Adopted bool  // hangs where its times say, its parent never came
	Missing bool  // a parent is named and never came
	HeldBy  *Node // the span of an agent on which this model call was written, see giveHeld
	Sole    bool  // it names no parent, as no other span of its trace
}

// Talk is the conversation of a model call.
type Talk struct {
	Messages []*chat.Message // see Request
	// Followed is what stands in the recorded request from the answer on, see splitAtAnswer, or in an output
	// of several turns, see loopOf.
	Followed []*chat.Message
	Made     *chat.Messages // of all nodes of the trace
	Omits    bool           // its request holds messages of which the place alone is known
}

// ScopeKey names the instrumentation that wrote a span.
type ScopeKey struct{ Name, Version string }

// SpanID is the id of the span in hexadecimal digits.
func (n *Node) SpanID() string { return hex.EncodeToString(n.ID[:]) }

// Within reports whether n lies in the time of m.
func (n *Node) Within(m *Node) bool { return m.Start <= n.Start && n.End <= m.End }

// Request returns the messages that a model call sent, the system prompt first where it was recorded apart.
// Some programs send instructions apart, and others between the messages.
func (n *Node) Request() []*chat.Message {
	if n.Messages != nil {
		return n.Messages
	}
	o := n.Obs
	n.Messages = make([]*chat.Message, 0, len(o.Request)+1)
	if len(o.System) > 0 && (len(o.Request) == 0 || o.Request[0].Role != tape.RoleSystem) {
		n.Messages = append(n.Messages, n.Made.Message(genai.Message{Role: tape.RoleSystem, Parts: o.System}))
	}
	for i := range o.Request {
		n.Omits = n.Omits || o.Request[i].Omitted
		n.Messages = append(n.Messages, n.Made.Message(o.Request[i]))
	}
	if n.Messages, n.Followed = splitAtAnswer(n.Messages, o.Response); len(n.Followed) == 0 && len(o.Response) > 1 {
		n.Followed = loopOf(n.Made, o.Response)
	}
	return n.Messages
}

// CompareNodes orders spans by time, the longer one first: it encloses the other.
func CompareNodes(a, b *Node) int {
	c := cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), bytes.Compare(a.ID[:], b.ID[:]))
	if c != 0 || a == b {
		return c
	}
	x, y := a.digest(), b.digest()
	return bytes.Compare(x[:], y[:])
}

// digest is that of the item, zero for what exists in log records only.
func (n *Node) digest() (d evidence.Digest) {
	if n.Spans > 0 {
		d = n.item.Digest()
	}
	return d
}

// content returns what the item says, whatever it is called and wherever it hangs.
func (n *Node) content() evidence.Digest {
	if n.said == (evidence.Digest{}) {
		n.said = n.item.ContentDigest()
	}
	return n.said
}

// OwnAnswer is the last message of what a run span recorded as its output, unless that asks for a tool, or is
// null as Python writes it.
func OwnAnswer(root *Node) genai.Message {
	out := Observed(root).Output
	if len(out) == 0 {
		return genai.Message{}
	}
	last := out[len(out)-1]
	if chat.EndsAsking(last.Parts) || len(last.Parts) == 1 && last.Parts[0].Text == "None" {
		return genai.Message{}
	}
	return last
}

// Payload is what one of several payloads under one span id says.
type Payload struct {
	Obs *genai.Report
	End uint64
}

// IsHollow reports the span of a model call without what was sent around the span that holds it. It has no
// answer either, or that of the other.
func IsHollow(n *Node) bool {
	o := n.Obs
	if len(o.Request) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return false
	}
	var told []*Node
	for _, k := range n.Kids {
		if k.Obs.Class == genai.Model && len(k.Obs.Request) > 0 {
			told = append(told, k)
		}
	}
	if len(o.Response) == 0 {
		return len(told) > 0
	}
	inner, text := chat.Only(told), chat.SpokenText(o.Response[0])
	return inner != nil && text != "" && len(inner.Obs.Response) > 0 && text == chat.SpokenText(inner.Obs.Response[0])
}
