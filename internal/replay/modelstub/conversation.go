// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// conversation is what a model is sent, in a form in which the dialects of instrumentations and of providers agree: instructions apart,
// consecutive texts of one side together, results at the calls that they answer.
type conversation struct {
	system  string
	entries []*entry
	// uninstructed says that the tape lacks the instructions of the run: what stands in system are others.
	uninstructed bool
	unknown      bool // the recording lacks the whole or an end of it
	// accumulated says that the recorded request holds only what is new since an earlier one, whose
	// conversation stands before it.
	accumulated bool
	// also is the same behind what its agent said and heard before, of a request of such an agent that shows
	// no call.
	also *conversation
}

// entry is what one side said without interruption.
type entry struct {
	role    tape.Role // RoleUser or RoleAssistant
	text    string
	media   int // images, files and what else is not compared
	calls   []*called
	closed  bool // results came: what the assistant says next is another answer
	unknown bool // the recording lacks a part of it
}

// called is a tool call and its result.
type called struct {
	name     string
	args     exactjson.Value
	id       string
	answered bool
	result   exactjson.Value
	isError  bool
	also     []exactjson.Value // other recorded forms of the result
	unknown  bool              // the recording lacks the result, or an end of it
	asked    *tape.Part        // in a recorded answer, of a call of which the request shows only the id
}

// add appends a message. incomplete says that the recording lacks something of it.
func (c *conversation) add(m *tape.Message, incomplete bool) {
	c.said(m.Role, len(m.Parts), func(i int) *tape.Part { return &m.Parts[i] }, incomplete)
}

// said appends what someone said, in n parts. Parts are large, and reach it without being copied.
func (c *conversation) said(role tape.Role, n int, part func(int) *tape.Part, incomplete bool) {
	if role == tape.RoleSystem {
		for i := range n {
			if p := part(i); p.Type == tape.PartText {
				c.system = joined(c.system, p.Text)
			}
		}
		c.unknown = c.unknown || incomplete
		return
	}
	for i := range n {
		if p := part(i); p.Type == tape.PartToolResult {
			c.result(p, incomplete)
		}
	}
	var to *entry
	for i := range n {
		p := part(i)
		if p.Type == tape.PartToolResult || p.Type == tape.PartReasoning {
			continue
		}
		if to == nil {
			to = c.entryOf(role)
			to.unknown = to.unknown || incomplete
		}
		switch p.Type {
		case tape.PartText:
			to.text = joined(to.text, p.Text)
		case tape.PartToolCall:
			to.calls = append(to.calls, &called{name: p.Name, args: p.Args, id: p.ID})
		default:
			to.media++
		}
	}
}

// entryOf is the entry that a message of a role continues, or a new one.
func (c *conversation) entryOf(role tape.Role) *entry {
	if role != tape.RoleAssistant {
		role = tape.RoleUser
	}
	if n := len(c.entries); n > 0 && c.entries[n-1].role == role && !c.entries[n-1].closed {
		return c.entries[n-1]
	}
	e := &entry{role: role}
	c.entries = append(c.entries, e)
	return e
}

// result gives a result to the newest open call with its id, else to the first open call without one of the two ids.
func (c *conversation) result(p *tape.Part, incomplete bool) {
	var to *called
	for i := len(c.entries) - 1; i >= 0 && to == nil; i-- {
		for _, call := range c.entries[i].calls {
			if !call.answered && (call.id == p.ID && p.ID != "" || (call.id == "" || p.ID == "") && (p.Name == "" || p.Name == call.name)) {
				to = call
				c.entries[i].closed = true
				break
			}
		}
	}
	if to == nil { // an answer to nothing that is known
		e := c.entryOf(tape.RoleAssistant)
		to = &called{name: p.Name, id: p.ID}
		e.calls, e.closed = append(e.calls, to), true
	}
	to.answered, to.result, to.isError = true, plainResult(p.Result), p.IsError
	to.unknown = to.unknown || incomplete || p.Result.IsAbsent()
}

// plainResult takes a text out of the list of parts that some protocols put it in.
func plainResult(v exactjson.Value) exactjson.Value {
	if v.Kind() != exactjson.Array || v.Len() == 0 {
		return v
	}
	if whole := v.At(0).Get("json"); v.Len() == 1 && v.At(0).Len() == 1 && !whole.IsAbsent() {
		return whole // Bedrock
	}
	text := ""
	for _, m := range v.Members() {
		part, kind := m.Value.Get("text"), m.Value.Get("type").Str()
		bare := m.Value.Len() == 1 // Bedrock
		if kind != "text" && kind != "input_text" && kind != "output_text" && !bare || part.Kind() != exactjson.String {
			return v
		}
		text = joined(text, part.Str())
	}
	return exactjson.StringValue(text)
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// answers counts what the assistant has said.
func (c *conversation) answers() (n int) {
	for _, e := range c.entries {
		if e.role == tape.RoleAssistant {
			n++
		}
	}
	return n
}

// accumulated is what the agents of a tape have said and heard, for those that send only what is new.
type accumulated struct {
	asked map[string][]pooled // id of a call → the conversation up to the answer that asked for it
	last  map[agentKey][]pooled
	news  map[agentKey]bool // agents of which a request holds only what is new
}

func newAccumulated() *accumulated {
	return &accumulated{map[string][]pooled{}, map[agentKey][]pooled{}, map[agentKey]bool{}}
}

// pooled is a message of the pool, and whether the recording lacks something of it.
type pooled struct {
	id  string
	cut bool
}

// maxAccumulated bounds the messages that are put before those of one request.
const maxAccumulated = 1 << 14

// recorded is the conversation that a model call of a tape sent; unknown where the tape does not hold it. It
// adds what the call leaves behind to grown.
func recorded(t *tape.Tape, e *tape.Event, asked map[string]*tape.Part, results map[string][]*tape.Event, grown *accumulated) conversation {
	c := conversation{}
	if e.Request == nil || len(e.Request.Messages) == 0 || cut(e.Provenance, "request.messages", true) {
		c.unknown = true
	}
	if e.Request == nil {
		return c
	}
	all := make([]pooled, len(e.Request.Messages))
	for i, id := range e.Request.Messages {
		all[i] = pooled{id, cut(e.Provenance, "request.messages."+itoa(i), false)}
	}
	key := keyOfAgent(e)
	news, before := grown.before(t, all)
	switch {
	case len(before) > 0:
		c.accumulated = true
		all = behind(t, before, all)
	case news: // what it is an answer to is not recorded
		c.unknown = true
	case grown.news[key] && len(grown.last[key]) > 0 && !anyAnswer(t, all):
		also := conversation{unknown: c.unknown, accumulated: true}
		also.fill(t, behind(t, grown.last[key], all), asked, results)
		c.also = &also
	}
	grown.news[key] = grown.news[key] || news
	c.fill(t, all, asked, results)
	if news && !c.accumulated {
		for _, entry := range c.entries {
			entry.unknown = entry.unknown || entry.role == tape.RoleAssistant
		}
	}
	grown.add(t, e, all)
	return c
}

// fill adds messages of the pool, with what the tape holds of the calls in them.
func (c *conversation) fill(t *tape.Tape, messages []pooled, asked map[string]*tape.Part, results map[string][]*tape.Event) {
	for _, p := range messages {
		m := t.Messages[p.id]
		c.add(&m, p.cut)
	}
	for _, entry := range c.entries {
		for _, call := range entry.calls {
			if call.name == "" {
				call.asked = asked[call.id]
			}
			for _, event := range results[call.name+"\x00"+call.id] {
				call.also = append(call.also, event.Result)
				for _, other := range event.OtherResults {
					call.also = append(call.also, other.Result)
				}
			}
		}
	}
}

// behind is a conversation with the messages of a request that holds only what is new. Instructions that it
// brings stand for the earlier ones.
func behind(t *tape.Tape, before, own []pooled) []pooled {
	system := func(p pooled) bool { return t.Messages[p.id].Role == tape.RoleSystem }
	if len(own) > 0 && system(own[0]) {
		before = slices.DeleteFunc(slices.Clone(before), system)
		said := slices.IndexFunc(own, func(p pooled) bool { return !system(p) })
		if said < 0 {
			said = len(own)
		}
		return slices.Concat(own[:said], before, own[said:])
	}
	return slices.Concat(before, own)
}

// before reports a request that holds only what is new, and returns what was said before it: its first
// message after the instructions is the result of a call for which it does not show that it was asked for.
func (g *accumulated) before(t *tape.Tape, own []pooled) (news bool, before []pooled) {
	for _, p := range own {
		m := t.Messages[p.id]
		if m.Role == tape.RoleSystem {
			continue
		}
		at := slices.IndexFunc(m.Parts, func(part tape.Part) bool { return part.Type == tape.PartToolResult && part.ID != "" })
		if at < 0 || shows(t, own, m.Parts[at].ID) {
			return false, nil
		}
		return true, g.asked[m.Parts[at].ID]
	}
	return false, nil
}

// shows reports that messages show a call.
func shows(t *tape.Tape, messages []pooled, id string) bool {
	return slices.ContainsFunc(messages, func(p pooled) bool {
		return slices.ContainsFunc(t.Messages[p.id].Parts, func(part tape.Part) bool { return part.Type == tape.PartToolCall && part.ID == id })
	})
}

// anyAnswer reports that messages show an answer.
func anyAnswer(t *tape.Tape, messages []pooled) bool {
	return slices.ContainsFunc(messages, func(p pooled) bool { return t.Messages[p.id].Role == tape.RoleAssistant })
}

// add keeps the conversation of a call with its answer.
func (g *accumulated) add(t *tape.Tape, e *tape.Event, sent []pooled) {
	if e.Response == nil || e.Response.Message == "" || len(sent) >= maxAccumulated || cut(e.Provenance, "request.messages", true) {
		return
	}
	all := append(slices.Clip(sent), pooled{e.Response.Message, cut(e.Provenance, "response", false)})
	g.last[keyOfAgent(e)] = all
	for _, p := range t.Messages[e.Response.Message].Parts {
		if p.Type == tape.PartToolCall && p.ID != "" {
			g.asked[p.ID] = all
		}
	}
}

// Cut reports that the recording lacks something of a field, such as request.messages.
func Cut(e *tape.Event, field string) bool { return cut(e.Provenance, field, false) }

// cut reports that the recording lacks a field: itself, or with exactly unset anything within it.
func cut(p tape.Provenance, field string, exactly bool) bool {
	for path, label := range p {
		if path != field && (exactly || !strings.HasPrefix(path, field+".")) {
			continue
		}
		switch label {
		case tape.Truncated, tape.Missing, tape.External, tape.Masked:
			return true
		}
	}
	return false
}
