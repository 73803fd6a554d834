// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Turn is one message of a recorded conversation, and what is known of the call that gave it.
type Turn struct {
	Message tape.Message
	At      time.Time
	// Dispatch says that no model gave this message: its tool calls were made by a program.
	Dispatch bool
	// Call is the model call of an assistant's message, as far as it is known; Converse fills in request and response.
	Call tape.Event
	// Tools belong to the calls that the message asks for, by position; Converse fills in what the message says.
	Tools []tape.Event
}

// Converse turns a conversation into the events of a tape. Each message of the assistant is a model call that was sent all messages before
// it. Each tool call in it is an event with the result that a later message shows. Input and output follow. tools are the ids of the
// definitions that every call was offered; see PoolTool.
func Converse(t *tape.Tape, turns []Turn, tools []string) {
	speaks := func(n Turn) bool { return n.Message.Role == tape.RoleAssistant }
	begins := slices.IndexFunc(turns, speaks)
	if begins < 0 {
		begins = len(turns)
	}
	last := len(turns) - 1 // the last model call; what comes behind it is part of no request
	for last >= 0 && (!speaks(turns[last]) || turns[last].Dispatch) {
		last--
	}
	var history []string
	var open []int // indices of tool calls that wait for their results
	for n, turn := range turns {
		m := turn.Message
		switch {
		case speaks(turn):
			open = append(open, converse(t, turn, history, tools)...)
		case m.Role == tape.RoleTool:
			for _, p := range m.Parts {
				open = answer(t, open, p)
			}
		case n < begins:
			readInput(t, m)
		}
		if n < begins || n <= last {
			history = append(history, Pool(t, m))
		}
		if n < begins {
			t.Input.Messages = slices.Clone(history)
		}
	}
	for _, i := range open {
		e := &t.Events[i]
		e.Status = tape.EventError
		Label(&e.Provenance, "result", tape.Missing)
		Find(t, tape.CodeUnansweredToolCall, i+1, "result")
	}
	if last < 0 || last < len(turns)-1 {
		return
	}
	m := turns[last].Message
	if text := Texts(m); !slices.ContainsFunc(m.Parts, func(p tape.Part) bool { return p.Type == tape.PartToolCall }) {
		t.Output.Text, t.Output.Message = &text, history[len(history)-1]
	}
}

// KeptEvents pairs the events of a tape that went through a conversation with the events they came from. It returns the indices in
// before of all events of after, or none when some of them are not there.
func KeptEvents(before, after *tape.Tape) []int {
	same := func(a, b *tape.Event) bool {
		switch {
		case a.Type != b.Type || a.Name != b.Name:
			return false
		case a.Type == tape.EventModelCall:
			return a.Response != nil && a.Response.Message == b.Response.Message
		}
		return a.Args.Equal(b.Args) && a.Result.Equal(b.Result)
	}
	var kept []int
	at := 0
	for i := range after.Events {
		for at < len(before.Events) && !same(&before.Events[at], &after.Events[i]) {
			at++
		}
		if at == len(before.Events) {
			return nil
		}
		kept = append(kept, at)
		at++
	}
	return kept
}

func readInput(t *tape.Tape, m tape.Message) {
	text := Texts(m)
	switch m.Role {
	case tape.RoleSystem:
		if t.Input.SystemPrompt == nil {
			t.Input.SystemPrompt = &text
		}
	case tape.RoleUser:
		t.Input.UserMessage = &text
	}
}

// converse adds the events of one message of the assistant and returns the indices of its tool calls.
func converse(t *tape.Tape, turn Turn, history, tools []string) (open []int) {
	asked := 0
	if !turn.Dispatch {
		e := turn.Call
		e.Type, e.StartedAt = tape.EventModelCall, turn.At
		e.Request = &tape.Request{Messages: slices.Clone(history), Tools: tools}
		if e.Response == nil {
			e.Response = &tape.Response{}
		}
		e.Response.Message = Pool(t, turn.Message)
		t.Events = append(t.Events, e)
		asked = len(t.Events)
	}
	n := 0
	for _, p := range turn.Message.Parts {
		if p.Type != tape.PartToolCall {
			continue
		}
		var e tape.Event
		if n < len(turn.Tools) {
			e = turn.Tools[n]
		}
		n++
		e.Type, e.Name, e.ToolCallID, e.Args, e.RequestedBy = tape.EventToolCall, p.Name, p.ID, p.Args, asked
		if e.StartedAt.IsZero() {
			e.StartedAt = turn.At
		}
		if e.Args.IsAbsent() {
			Label(&e.Provenance, "args", tape.Missing)
			Find(t, tape.CodeArgsMissing, len(t.Events)+1, "args")
		}
		open = append(open, len(t.Events))
		t.Events = append(t.Events, e)
	}
	return open
}

// answer gives a result to the call that waits for it: the first with its id, without an id the first of all.
func answer(t *tape.Tape, open []int, p tape.Part) []int {
	if p.Type != tape.PartToolResult {
		return open
	}
	at := slices.IndexFunc(open, func(i int) bool { return p.ID == "" || t.Events[i].ToolCallID == p.ID })
	if at < 0 {
		return open
	}
	e := &t.Events[open[at]]
	e.Result, e.IsError = p.Result, p.IsError
	if e.IsError {
		e.Status = tape.EventError
	}
	if e.Result.IsAbsent() {
		Label(&e.Provenance, "result", tape.Missing)
		Find(t, tape.CodeResultMissing, open[at]+1, "result")
	}
	return slices.Delete(open, at, at+1)
}

// Texts joins the texts of a message.
func Texts(m tape.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == tape.PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Args reads the text of arguments. It returns their value, and the text where it is not the canonical form of the value. Text that is no
// JSON stays text. Blank text and null are {}.
func Args(text string) (args exactjson.Value, argsText string) {
	args, err := exactjson.Parse(text)
	switch {
	case strings.TrimSpace(text) == "" || err == nil && args.Kind() == exactjson.Null:
		return exactjson.ObjectValue(), text
	case err != nil:
		return exactjson.StringValue(text), ""
	}
	if canonical, err := args.Canonical(); err != nil || canonical != text {
		argsText = text
	}
	return args, argsText
}

// ArgsText is the text of the arguments of a tool call, as they were recorded or in canonical form; what is no JSON is itself.
func ArgsText(p tape.Part) string {
	switch {
	case p.ArgsText != "":
		return p.ArgsText
	case p.Args.IsAbsent():
		return "{}"
	case p.Args.Kind() == exactjson.String:
		return p.Args.Str()
	}
	if text, err := p.Args.Canonical(); err == nil {
		return text
	}
	return p.Args.JSON()
}

// ResultText is a result as text: a string is itself, anything else its JSON.
func ResultText(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}
