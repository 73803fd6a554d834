// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// events shows every event in order, those of nested agents indented below them.
func (p *printer) events() {
	p.title("Events")
	if len(p.t.Events) == 0 {
		p.println("  " + p.paint(Dim, "none"))
	}
	left := 0
	for i := range p.t.Events {
		if e := &p.t.Events[i]; e.Seq < p.o.First || p.o.Last > 0 && e.Seq > p.o.Last {
			left++
			continue
		}
		p.event(&p.t.Events[i])
	}
	if left > 0 {
		p.println("  " + p.paint(Dim, Plural(left, "other event is", "other events are")+" not shown"))
	}
}

// valueLines is how many lines an argument or result takes when it is shortened.
const valueLines = 2

func (p *printer) event(e *tape.Event) {
	indent := "  " + strings.Repeat("    ", p.depths[e.Seq])
	head := indent + p.paint(Dim, fmt.Sprintf("%3d ", e.Seq)) + p.paint(kindStyle[e.Type], pad(KindName(e.Type), 6)) + p.paint(Bold, line(Name(e)))
	var notes []string
	if e.Status == tape.EventError || e.IsError {
		head += "  " + p.paint(Red, "error")
	}
	if e.DurationMS > 0 || !e.StartedAt.IsZero() {
		notes = append(notes, Duration(e.DurationMS))
	}
	notes = append(notes, Notes(e)...)
	if e.Parent == 0 && strings.Contains(e.Caller, "/") {
		notes = append(notes, "caller "+e.Caller)
	}
	p.println(head + "  " + p.paint(Dim, line(joinWith(" · ", notes...))))

	inner := indent + strings.Repeat(" ", 10)
	shown := map[string]bool{"name": true, "model": true}
	show := func(name, text string, ok bool, lines int, field string) {
		shown[field] = true
		if note := label(e.Provenance, field); ok || note != "" {
			p.field(inner, name, text, lines, note)
		}
	}
	value := func(name string, v exactjson.Value, field string) {
		text, ok := text(v)
		show(name, text, ok, valueLines, field)
	}
	switch e.Type {
	case tape.EventModelCall:
		if e.Request != nil {
			p.field(inner, "request", Plural(len(e.Request.Messages), "message", "messages")+", "+Plural(len(e.Request.Tools), "tool", "tools"), 1,
				label(e.Provenance, "request.messages"))
			shown["request.messages"] = true
		}
		p.response(inner, e)
		shown["response.message"] = true
	case tape.EventToolCall:
		value("args", e.Args, "args")
		value("executed", e.ExecutedArgs, "executed_args")
		value("result", e.Result, "result")
	case tape.EventAgentCall:
		value("input", e.Input, "input")
		value("output", e.Output, "output")
	case tape.EventRetrieval:
		value("query", e.Query, "query")
		if n := e.Documents.Len(); n > 0 {
			p.field(inner, "found", Plural(n, "document", "documents"), 1, label(e.Provenance, "documents"))
		} else {
			show("found", "", false, 1, "documents")
		}
		shown["documents"] = true
	}
	if e.Error != nil {
		show("error", joinWith(": ", e.Error.Type, e.Error.Message), true, valueLines, "error")
	}
	p.otherProvenance(inner, e, shown)
}

// response shows what the model answered: its text and the calls it asked for.
func (p *printer) response(indent string, e *tape.Event) {
	note := label(e.Provenance, "response.message")
	if e.Response == nil || e.Response.Message == "" {
		if note != "" {
			p.field(indent, "response", "", 1, note)
		}
		return
	}
	m, ok := p.t.Messages[e.Response.Message]
	if !ok {
		p.field(indent, "response", "the message is not in the pool", 1, note)
		return
	}
	for i := range m.Parts {
		part := &m.Parts[i]
		switch part.Type {
		case tape.PartText:
			verb := "says"
			if part.Refusal {
				verb = "refuses"
			}
			p.field(indent, verb, part.Text, valueLines, note)
		case tape.PartReasoning:
			p.field(indent, "thinks", part.Text, 1, note)
		case tape.PartToolCall:
			args, _ := text(part.Args)
			p.field(indent, "asks", part.Name+" "+args, 1, note)
		default:
			p.field(indent, "says", partName(part), 1, note)
		}
	}
}

func partName(part *tape.Part) string {
	switch part.Type {
	case tape.PartMedia:
		return joinWith(" ", "media", part.MIMEType, part.URI)
	case tape.PartExternal:
		return "external " + part.URI
	case tape.PartData:
		return "data " + part.Value.JSON()
	}
	return string(part.Type)
}

// otherProvenance names the labels of fields that are not shown.
func (p *printer) otherProvenance(indent string, e *tape.Event, shown map[string]bool) {
	var rest []string
	for _, field := range slices.Sorted(maps.Keys(e.Provenance)) {
		if !shown[field] || field == "name" || field == "model" {
			rest = append(rest, field+" "+string(e.Provenance[field]))
		}
	}
	if len(rest) > 0 {
		p.field(indent, "labels", strings.Join(rest, ", "), valueLines, "")
	}
}

var kindStyle = map[tape.EventType]Style{
	tape.EventModelCall: Cyan, tape.EventToolCall: Yellow, tape.EventAgentCall: Green, tape.EventRetrieval: Yellow,
}

// KindName is the word for a type of events.
func KindName(t tape.EventType) string {
	switch t {
	case tape.EventRetrieval:
		return "fetch"
	}
	name, _, _ := strings.Cut(line(string(t)), "_")
	return name
}

// Name is what an event is called: the model, the agent or the tool.
func Name(e *tape.Event) string {
	switch e.Type {
	case tape.EventModelCall:
		return e.Model
	case tape.EventAgentCall:
		if e.Agent != nil {
			return or(e.Agent.Name, e.Agent.ID)
		}
		return ""
	}
	return e.Name
}

// Notes are the short facts beside the name of an event.
func Notes(e *tape.Event) []string {
	var notes []string
	switch e.Type {
	case tape.EventModelCall:
		notes = append(notes, e.Operation)
		if u := e.Usage; u != nil {
			in, out := tokens(u.InputTokens, "in"), tokens(u.OutputTokens, "out")
			if c := tokens(u.CacheReadTokens, "cached"); in != "" && c != "" {
				in += " (" + c + ")"
			}
			if r := tokens(u.ReasoningTokens, "reasoning"); out != "" && r != "" {
				out += " (" + r + ")"
			}
			notes = append(notes, join(in, out))
		}
		if e.Streaming {
			notes = append(notes, "streamed")
		}
		if e.Response != nil {
			notes = append(notes, strings.Join(e.Response.FinishReasons, ", "))
		}
	case tape.EventToolCall:
		if e.Waiting != "" {
			notes = append(notes, "waits for "+string(e.Waiting))
		}
		if e.ToolKind != tape.ToolFunction {
			notes = append(notes, string(e.ToolKind))
		}
		if e.Server != nil {
			notes = append(notes, joinWith("/", e.Server.Name, e.Server.Tool))
		}
		if e.RequestedBy > 0 {
			notes = append(notes, fmt.Sprintf("asked by %d", e.RequestedBy))
		}
		if len(e.Envelope) > 0 {
			notes = append(notes, "unwrapped "+strings.Join(e.Envelope, ", "))
		}
	case tape.EventAgentCall:
		notes = append(notes, strings.ReplaceAll(string(e.Relation), "_", "-"))
		if e.Via > 0 {
			notes = append(notes, fmt.Sprintf("via %d", e.Via))
		}
	}
	return notes
}

// text shows a value: a string as it is, anything else as JSON.
func text(v exactjson.Value) (string, bool) {
	switch v.Kind() {
	case exactjson.Absent:
		return "", false
	case exactjson.String:
		if v.Str() == "" {
			return `""`, true
		}
		return v.Str(), true
	}
	return v.JSON(), true
}
