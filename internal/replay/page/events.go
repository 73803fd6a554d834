// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// event is a row of the timeline.
type event struct {
	Seq        int
	Depth      int
	Class      string // of a kind that is known
	Kind, Name string
	Took       string
	Notes      []string
	Brief      string // of what it did
	Failed     bool
	Findings   []finding
	Bar        *bar
	Fields     []field
	Settings   []field
	Messages   []message // of the request that no earlier request of its caller had
	Resent     string    // the others
	Response   []message
	Spans      []string
	Open       bool
}

// ticks are the times at the marks of the time line.
func ticks(run *tape.Run) (out []string) {
	for i := int64(0); i <= 4 && run.DurationMS > 0 && !run.StartedAt.IsZero(); i++ {
		out = append(out, timeline.Duration(run.DurationMS*i/4))
	}
	return out
}

// bar is when an event ran, in thousandths of the run.
type bar struct{ X, Width int }

// message is one message of a conversation.
type message struct {
	Class string // of a role that is known
	Role  string
	Name  string
	Parts []field
}

// talk is the conversation of one caller as its last model call had it.
type talk struct {
	Caller   string
	Messages []message
	Left     string // what is not shown
}

// Bounds of conversations.
const (
	talkMessages = 200
	maxTalks     = 20
	maxDepth     = 12
)

func (r *renderer) system(t *tape.Tape) []field {
	if t.Input.SystemPrompt == nil {
		return nil
	}
	return []field{{"", timeline.OneLine(string(t.Input.Provenance["system_prompt"])), r.string("input.system_prompt", *t.Input.SystemPrompt)}}
}

func (r *renderer) asked(t *tape.Tape) []field {
	in := &t.Input
	user := field{Note: timeline.OneLine(string(in.Provenance["user_message"])), Value: value{Absent: true}}
	if in.UserMessage != nil {
		user.Value = r.string("input.user_message", *in.UserMessage)
	}
	out := []field{user}
	if in.A2A != nil {
		out = append(out, field{"A2A " + timeline.OneLine(in.A2A.Method), timeline.OneLine(strings.Join(in.A2A.Missing, ", ")), r.json("input.a2a.params", in.A2A.Params)})
	}
	return out
}

func (r *renderer) answer(t *tape.Tape) []field {
	o := &t.Output
	f := field{Note: timeline.OneLine(string(o.Provenance["text"])), Value: value{Absent: true}}
	if o.Text != nil {
		f.Value = r.string("output.text", *o.Text)
	}
	out := []field{f}
	if o.Error != nil {
		out = append(out, field{Name: "error", Value: r.failure("output.error", o.Error)})
	}
	return out
}

// failure shows an error.
func (r *renderer) failure(path string, e *tape.Error) value {
	v := r.string(path, errorText(e))
	v.Bad = true
	return v
}

func errorText(e *tape.Error) string {
	return strings.Join(slices.DeleteFunc([]string{e.Type, e.Message}, func(s string) bool { return s == "" }), ": ")
}

// events makes the rows from an event on: all of a file, a page of them of a site.
func (r *renderer) events(t *tape.Tape, from int) []event {
	depth := timeline.Depths(t)
	bySeq := map[int][]finding{}
	for _, s := range findings(t, nil) {
		for _, f := range s.Findings {
			bySeq[f.Seq] = append(bySeq[f.Seq], f)
		}
	}
	seen := map[string]map[string]int{} // caller → message → how often its last request had it
	var out []event
	for i := range t.Events {
		e := &t.Events[i]
		var fresh []int
		if e.Type == tape.EventModelCall && e.Request != nil {
			fresh = unseen(e.Request.Messages, seen[e.Caller])
			seen[e.Caller] = count(e.Request.Messages)
		}
		here := r.find != "" || e.Seq >= from && (r.site == nil || len(out) < siteEvents)
		if !here || r.word != "" && !holds(t, e, fresh, r.word) {
			continue
		}
		x := r.event(t, e, fresh)
		x.Depth, x.Findings = min(depth[e.Seq], maxDepth), bySeq[e.Seq]
		x.Bar = newBar(&t.Run, e)
		x.Open = x.Failed || len(t.Events) <= 3 || r.word != ""
		out = append(out, x)
	}
	return out
}

func count(ids []string) map[string]int {
	out := map[string]int{}
	for _, id := range ids {
		out[id]++
	}
	return out
}

// unseen are the places of the messages that an earlier request did not have, by how often it had each.
func unseen(ids []string, before map[string]int) (at []int) {
	had := maps.Clone(before)
	for i, id := range ids {
		if had[id] > 0 {
			had[id]--
			continue
		}
		at = append(at, i)
	}
	return at
}

func newBar(run *tape.Run, e *tape.Event) *bar {
	if run.DurationMS <= 0 || e.StartedAt.IsZero() || run.StartedAt.IsZero() {
		return nil
	}
	at := func(ms int64) int { return int(min(max(ms*1000/run.DurationMS, 0), 1000)) }
	start := e.StartedAt.Sub(run.StartedAt).Milliseconds()
	b := bar{X: at(start), Width: at(start+e.DurationMS) - at(start)}
	b.Width = max(b.Width, 3)
	b.X = min(b.X, 1000-b.Width)
	return &b
}

func (r *renderer) event(t *tape.Tape, e *tape.Event, fresh []int) event {
	x := event{Seq: e.Seq, Kind: timeline.KindName(e.Type), Name: timeline.OneLine(timeline.Name(e)), Failed: e.Status == tape.EventError || e.IsError}
	x.Brief = brief(t, e)
	switch e.Type {
	case tape.EventModelCall, tape.EventToolCall, tape.EventAgentCall, tape.EventRetrieval:
		x.Class = x.Kind
	}
	if e.DurationMS > 0 || !e.StartedAt.IsZero() {
		x.Took = timeline.Duration(e.DurationMS)
	}
	for _, note := range timeline.Notes(e) {
		if note != "" {
			x.Notes = append(x.Notes, timeline.OneLine(note))
		}
	}
	if e.Caller != "" && strings.Contains(e.Caller, "/") {
		x.Notes = append(x.Notes, "caller "+timeline.OneLine(e.Caller))
	}
	at := func(name string) string { return fmt.Sprintf("events.%d.%s", e.Seq, name) }
	shown := map[string]bool{}
	add := func(label, name string, v exactjson.Value) {
		shown[name] = true
		note := timeline.OneLine(string(e.Provenance[name]))
		if !v.IsAbsent() || note != "" {
			x.Fields = append(x.Fields, field{label, note, r.json(at(name), v)})
		}
	}
	switch e.Type {
	case tape.EventModelCall:
		r.request(t, e, &x, fresh)
		if e.Response != nil && e.Response.Message != "" {
			x.Response = append(x.Response, r.message(t, e.Response.Message, at("response")))
		}
		add("settings", "params", e.Params)
		x.Fields, x.Settings = nil, x.Fields
	case tape.EventToolCall:
		add("arguments", "args", e.Args)
		add("executed with", "executed_args", e.ExecutedArgs)
		add("result", "result", e.Result)
		for i, o := range e.OtherResults {
			x.Fields = append(x.Fields, field{"another record of the result", timeline.OneLine(string(o.From)), r.json(at(fmt.Sprintf("other_results.%d", i)), o.Result)})
		}
	case tape.EventAgentCall:
		add("input", "input", e.Input)
		add("output", "output", e.Output)
	case tape.EventRetrieval:
		add("query", "query", e.Query)
		add("documents", "documents", e.Documents)
	}
	if e.Error != nil {
		x.Fields = append(x.Fields, field{"error", timeline.OneLine(string(e.Provenance["error"])), r.failure(at("error"), e.Error)})
	}
	var labels []string
	for _, name := range slices.Sorted(maps.Keys(e.Provenance)) {
		if !shown[name] && name != "error" {
			labels = append(labels, name+" "+string(e.Provenance[name]))
		}
	}
	if len(labels) > 0 {
		x.Notes = append(x.Notes, timeline.Short(strings.Join(labels, ", "), 200))
	}
	for _, id := range e.SpanIDs {
		x.Spans = append(x.Spans, timeline.OneLine(id))
	}
	return x
}

// request shows what is new in the request of a model call.
func (r *renderer) request(t *tape.Tape, e *tape.Event, x *event, fresh []int) {
	if e.Request == nil {
		return
	}
	for _, i := range fresh {
		x.Messages = append(x.Messages, r.message(t, e.Request.Messages[i], fmt.Sprintf("events.%d.request.%d", e.Seq, i)))
	}
	if resent := len(e.Request.Messages) - len(fresh); resent > 0 {
		x.Resent = timeline.Plural(resent, "message", "messages") + " as in the call before"
	}
	if n := len(e.Request.Tools); n > 0 {
		x.Notes = append(x.Notes, timeline.Plural(n, "tool", "tools")+" offered")
	}
}

// brief says in a line what an event did: what a tool was given and returned, what a model said or asked for.
func brief(t *tape.Tape, e *tape.Event) string {
	const most = 70
	text := func(v exactjson.Value) string {
		if v.IsAbsent() {
			return ""
		}
		if s := v.Text(); s != "" {
			return timeline.Short(s, most)
		}
		return timeline.Short(v.JSON(), most)
	}
	arrow := func(from, to exactjson.Value) string {
		if to.IsAbsent() {
			return text(from)
		}
		return strings.TrimSpace(text(from) + " → " + text(to))
	}
	switch e.Type {
	case tape.EventToolCall:
		return arrow(e.Args, e.Result)
	case tape.EventAgentCall:
		return arrow(e.Input, e.Output)
	case tape.EventRetrieval:
		return text(e.Query)
	case tape.EventModelCall:
		if e.Response == nil {
			return ""
		}
		var said, asked []string
		parts := t.Messages[e.Response.Message].Parts
		for i := range parts {
			switch p := &parts[i]; {
			case p.Type == tape.PartText && len(said) == 0:
				said = append(said, timeline.Short(p.Text, most))
			case p.Type == tape.PartToolCall && len(asked) < 4:
				asked = append(asked, timeline.Short(p.Name, 30))
			}
		}
		if len(asked) > 0 {
			said = append(said, "asks for "+strings.Join(asked, ", "))
		}
		return strings.Join(said, " · ")
	}
	return ""
}

func (r *renderer) message(t *tape.Tape, id, path string) message {
	m, ok := t.Messages[id]
	if !ok {
		return message{Role: "message", Parts: []field{{Name: "not in the pool", Value: value{Absent: true}}}}
	}
	out := message{Role: timeline.OneLine(string(m.Role))}
	if m.Name != string(m.Role) {
		out.Name = timeline.OneLine(m.Name)
	}
	switch m.Role {
	case tape.RoleSystem, tape.RoleUser, tape.RoleAssistant, tape.RoleTool:
		out.Class = out.Role
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		at := fmt.Sprintf("%s.%d", path, i)
		f := field{}
		switch p.Type {
		case tape.PartText:
			f.Value = r.string(at, p.Text)
			if p.Refusal {
				f.Note = "refusal"
			}
		case tape.PartReasoning:
			f = field{Name: "reasoning", Value: r.string(at, p.Text)}
		case tape.PartToolCall:
			f = field{Name: "asks for " + timeline.OneLine(p.Name), Value: r.json(at, p.Args)}
			if p.Args.IsAbsent() && p.ArgsText != "" {
				f.Value = r.string(at, p.ArgsText)
			}
		case tape.PartToolResult:
			f = field{Name: strings.TrimSpace("result of " + timeline.OneLine(p.Name)), Value: r.json(at, p.Result)}
			if p.IsError {
				f.Note = "error"
			}
		case tape.PartMedia, tape.PartExternal:
			f = field{Name: timeline.OneLine(string(p.Type)), Value: r.string(at, strings.TrimSpace(p.MIMEType+" "+p.URI))}
		default:
			f = field{Name: timeline.OneLine(string(p.Type)), Value: r.json(at, p.Value)}
		}
		out.Parts = append(out.Parts, f)
	}
	return out
}

// talks are the conversations of the callers, in the order of their last calls' first appearance.
func (r *renderer) talks(t *tape.Tape) (talks []talk, left int) {
	last := map[string]*tape.Event{}
	var callers []string
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall && e.Request != nil {
			if last[e.Caller] == nil {
				callers = append(callers, e.Caller)
			}
			last[e.Caller] = e
		}
	}
	var out []talk
	shown := callers[:min(len(callers), maxTalks)]
	for _, caller := range shown {
		e := last[caller]
		x := talk{Caller: timeline.OneLine(caller)}
		ids := e.Request.Messages
		if e.Response != nil && e.Response.Message != "" {
			ids = append(slices.Clone(ids), e.Response.Message)
		}
		from := 0
		if r.find == "" && len(ids) > talkMessages {
			from = len(ids) - talkMessages
			x.Left = timeline.Plural(from, "earlier message", "earlier messages") + " not shown; the events have them"
		}
		for i, id := range ids[from:] {
			x.Messages = append(x.Messages, r.message(t, id, fmt.Sprintf("talk.%d.%d", e.Seq, from+i)))
		}
		out = append(out, x)
	}
	return out, len(callers) - len(shown)
}

// entry is a row of the oracle.
type entry struct {
	Seq, Turn, Occurrence int
	Tool, Hash, Note      string
	Served                bool
}

// oracleEntries bounds how many are shown.
const oracleEntries = 500

func entries(all []oracle.Entry) []entry {
	var out []entry
	for i := range all[:min(len(all), oracleEntries)] {
		e := &all[i]
		x := entry{Seq: e.Seq, Turn: e.Turn, Occurrence: e.Occurrence, Tool: timeline.OneLine(e.ToolName), Hash: timeline.Short(strings.TrimPrefix(e.ArgsHash, "sha256:"), 12),
			Served: e.Servable()}
		var notes []string
		if e.IsError {
			notes = append(notes, strings.TrimSpace("error "+e.ErrorType))
		}
		if e.ArgsFidelity != "" && e.ArgsFidelity != oracle.Exact {
			notes = append(notes, "arguments "+string(e.ArgsFidelity))
		}
		if e.ResponseFidelity != "" && e.ResponseFidelity != oracle.Exact {
			notes = append(notes, "answer "+string(e.ResponseFidelity))
		}
		if len(e.OtherResponses) > 0 {
			notes = append(notes, "disputed")
		}
		x.Note = timeline.OneLine(strings.Join(notes, ", "))
		out = append(out, x)
	}
	return out
}
