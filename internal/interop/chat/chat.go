// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package chat writes and reads conversations as JSON lines of OpenAI chat messages, tool calls included. Fine-tuning and most
// tools for data sets take this form. One line is one run.
package chat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const name = "chat"

// Format is the entry in the table of formats.
var Format = &interop.Format{
	Name:        name,
	Title:       "chat JSONL: OpenAI messages and tools, one run per line",
	Reads:       "the same",
	Lines:       true,
	ContentType: "application/jsonl",
	FileName:    func(*tape.Tape) string { return "messages.jsonl" },
	Encode:      Encode,
	Decode:      Decode,
	Detect:      Detect,
	Notes: map[string]string{
		"model requests (conversation)": "the conversation that led to the final answer",
		"agents and callers":            "the outermost agent speaks alone",
		"tool results":                  "as text",
	},
}

const maxValues = 1 << 24

// Encode writes the conversation that led to the final answer. This is what the last model call at the top was sent, and what it answered.
// If no request is recorded, prompt and answer are the conversation.
func Encode(t *tape.Tape, _ []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	doc, kept := interop.Original(t, name, runOf)
	if !kept {
		doc = document(t)
	}
	if doc.Get("messages").Len() == 0 {
		return nil, nil, fmt.Errorf("%w: no message is recorded", interop.ErrNotHeld)
	}
	body := append(doc.AppendJSON(nil), '\n')
	if o.NoLosses {
		return body, nil, nil
	}
	back, err := runOf(doc, interop.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", interop.ErrNotHeld, err)
	}
	losses, err := interop.TapeLosses(t, back.Tape, interop.KeptEvents(t, back.Tape), "the conversation that led to the final answer is kept, calls are made of it", reasons)
	return body, losses, err
}

var reasons = []interop.Reason{
	{Path: "events", Reason: "the calls of the conversation are made of it when it is read"},
	{Path: "messages", Reason: "the conversation that led to the final answer is kept, in the roles and parts of the format"},
	{Path: "*", Reason: "the format holds messages and tool definitions only"},
}

func document(t *tape.Tape) exactjson.Value {
	ids, tools := conversation(t)
	w := writer{}
	for _, id := range ids {
		w.message(t.Messages[id])
	}
	if len(ids) == 0 {
		for _, m := range []struct {
			role tape.Role
			text *string
		}{{tape.RoleSystem, t.Input.SystemPrompt}, {tape.RoleUser, t.Input.UserMessage}, {tape.RoleAssistant, t.Output.Text}} {
			if m.text != nil {
				w.message(interop.Text(m.role, *m.text))
			}
		}
	}
	return exactjson.ObjectValue(interop.Member("messages", exactjson.ArrayValue(w.list...)), interop.Member("tools", Tools(t, tools)))
}

// conversation returns the ids of the messages of the last model call at the top, its answer last, and the tools that it was offered.
func conversation(t *tape.Tape) (ids, tools []string) {
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall || e.Parent != 0 && ids != nil || e.Request == nil || len(e.Request.Messages) == 0 {
			continue
		}
		ids, tools = slices.Clone(e.Request.Messages), e.Request.Tools
		if e.Response != nil && e.Response.Message != "" {
			ids = append(ids, e.Response.Message)
		}
	}
	return ids, tools
}

// Messages are messages of a tape as OpenAI has them.
func Messages(t *tape.Tape, ids []string) exactjson.Value {
	w := writer{}
	for _, id := range ids {
		w.message(t.Messages[id])
	}
	return exactjson.ArrayValue(w.list...)
}

// Tools are tool definitions as OpenAI has them.
func Tools(t *tape.Tape, ids []string) exactjson.Value {
	var list []exactjson.Value
	for _, id := range ids {
		tool := t.Tools[id]
		list = append(list, exactjson.ObjectValue(interop.Member("type", exactjson.StringValue("function")),
			interop.Member("function", exactjson.ObjectValue(
				interop.Member("name", exactjson.StringValue(tool.Name)),
				interop.Member("description", interop.StringOrNone(tool.Description)),
				interop.Member("parameters", tool.Parameters)))))
	}
	return interop.ArrayOrNone(list)
}

// ReadTools puts definitions into the pool of a tape.
func ReadTools(t *tape.Tape, list exactjson.Value) (ids []string) {
	for _, m := range list.Members() {
		f := m.Value.Get("function")
		if f.Kind() != exactjson.Object {
			continue
		}
		tool := tape.Tool{Name: f.Get("name").Str(), Description: f.Get("description").Str()}
		if p := f.Get("parameters"); p.Kind() == exactjson.Object && p.Len() > 0 {
			tool.Parameters = p
		}
		ids = append(ids, interop.PoolTool(t, tool))
	}
	return ids
}

type writer struct {
	list  []exactjson.Value
	calls int
	open  []string // ids of calls without one of their own, that wait for their results
}

func (w *writer) message(m tape.Message) {
	switch m.Role {
	case tape.RoleTool:
		for _, p := range m.Parts {
			if p.Type == tape.PartToolResult {
				w.add("tool", m.Name, exactjson.StringValue(interop.ResultText(p.Result)), interop.Member("tool_call_id", exactjson.StringValue(w.answered(p.ID))))
			}
		}
	case tape.RoleAssistant:
		content := exactjson.NullValue
		refusal, said := refusalOf(m)
		if text := interop.Texts(said); text != "" {
			content = exactjson.StringValue(text)
		}
		w.add("assistant", m.Name, content, interop.Member("refusal", refusal), interop.Member("reasoning_content", reasoning(m)), interop.Member("tool_calls", w.toolCalls(m)))
	default:
		w.add(string(m.Role), m.Name, content(m))
	}
}

func (w *writer) add(role, name string, content exactjson.Value, more ...exactjson.Member) {
	members := []exactjson.Member{interop.Member("role", exactjson.StringValue(role)), interop.Member("name", interop.StringOrNone(name)), interop.Member("content", content)}
	w.list = append(w.list, exactjson.ObjectValue(append(members, more...)...))
}

// refusalOf is the refusal of a message, and the message without it.
func refusalOf(m tape.Message) (refusal exactjson.Value, said tape.Message) {
	said = m
	said.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p tape.Part) bool { return p.Refusal })
	if len(said.Parts) == len(m.Parts) {
		return refusal, m
	}
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p tape.Part) bool { return !p.Refusal })
	return interop.StringOrNone(interop.Texts(m)), said
}

func reasoning(m tape.Message) exactjson.Value {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == tape.PartReasoning {
			texts = append(texts, p.Text)
		}
	}
	return interop.StringOrNone(strings.Join(texts, "\n"))
}

func (w *writer) toolCalls(m tape.Message) exactjson.Value {
	var list []exactjson.Value
	for _, p := range m.Parts {
		if p.Type != tape.PartToolCall {
			continue
		}
		w.calls++
		id := p.ID
		if id == "" {
			id = fmt.Sprintf("call_%d", w.calls)
			w.open = append(w.open, id)
		}
		list = append(list, exactjson.ObjectValue(interop.Member("id", exactjson.StringValue(id)), interop.Member("type", exactjson.StringValue("function")),
			interop.Member("function", exactjson.ObjectValue(
				interop.Member("name", exactjson.StringValue(p.Name)), interop.Member("arguments", exactjson.StringValue(interop.ArgsText(p)))))))
	}
	return interop.ArrayOrNone(list)
}

// answered is the id of the call that a result answers: those without ids in their order.
func (w *writer) answered(id string) string {
	if id == "" && len(w.open) > 0 {
		id, w.open = w.open[0], w.open[1:]
	}
	return id
}

// content is a text, or a list of parts when images are among them.
func content(m tape.Message) exactjson.Value {
	var parts []exactjson.Value
	images := false
	for _, p := range m.Parts {
		switch {
		case p.Type == tape.PartText:
			parts = append(parts, exactjson.ObjectValue(interop.Member("type", exactjson.StringValue("text")), interop.Member("text", exactjson.StringValue(p.Text))))
		case p.Type == tape.PartMedia && p.URI != "" && strings.HasPrefix(p.MIMEType, "image/"):
			images = true
			parts = append(parts, exactjson.ObjectValue(interop.Member("type", exactjson.StringValue("image_url")),
				interop.Member("image_url", exactjson.ObjectValue(interop.Member("url", exactjson.StringValue(p.URI))))))
		}
	}
	if !images {
		return exactjson.StringValue(interop.Texts(m))
	}
	return exactjson.ArrayValue(parts...)
}

// Detect reports whether the first line is an object with messages.
func Detect(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	v, err := exactjson.ParseWithin(strings.TrimSpace(string(line)), exactjson.MaxDepth, maxValues)
	return err == nil && v.Get("messages").At(0).Get("role").Kind() == exactjson.String
}

// Decode reads lines, each as a run. A line that a tape does not give again as it was stands at extensions.chat.document.
func Decode(data []byte, o interop.Options) ([]interop.Run, error) {
	var runs []interop.Run
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		doc, err := exactjson.ParseWithin(text, exactjson.MaxDepth-2, maxValues)
		if err == nil {
			err = check(doc)
		}
		if err != nil {
			return nil, fmt.Errorf("read chat line %d: %w", number, err)
		}
		run, err := runOf(doc, o)
		if err != nil {
			return nil, fmt.Errorf("read chat line %d: %w", number, err)
		}
		if run.Losses, err = interop.DocumentLosses(line, append(doc.AppendJSON(nil), '\n'), nil); err != nil {
			return nil, fmt.Errorf("read chat line %d: %w", number, err)
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("read chat lines: %w: there are none", interop.ErrNotFormat)
	}
	return runs, nil
}

func check(doc exactjson.Value) error {
	messages := doc.Get("messages")
	if messages.Kind() != exactjson.Array || messages.Len() == 0 {
		return fmt.Errorf("%w: no messages", interop.ErrNotFormat)
	}
	for i, m := range messages.Members() {
		if _, known := roles[m.Value.Get("role").Str()]; !known {
			return fmt.Errorf("messages.%d.role: not a role of chat messages", i)
		}
	}
	return nil
}

var roles = map[string]tape.Role{"system": tape.RoleSystem, "developer": tape.RoleSystem, "user": tape.RoleUser, "assistant": tape.RoleAssistant,
	"tool": tape.RoleTool, "function": tape.RoleTool}

func runOf(doc exactjson.Value, o interop.Options) (interop.Run, error) {
	t := &tape.Tape{}
	var turns []interop.Turn
	for _, m := range doc.Get("messages").Members() {
		turns = append(turns, interop.Turn{Message: readMessage(m.Value)})
	}
	var tools []string
	if slices.ContainsFunc(turns, func(n interop.Turn) bool { return n.Message.Role == tape.RoleAssistant }) {
		tools = ReadTools(t, doc.Get("tools"))
	}
	interop.Converse(t, turns, tools)
	if !document(t).Equal(doc) || !bytes.Equal(document(t).AppendJSON(nil), doc.AppendJSON(nil)) {
		interop.KeepOriginal(t, name, doc)
	}
	return interop.Finish(t, name, []byte(doc.Digest()), o), nil
}

func readMessage(v exactjson.Value) tape.Message {
	m := tape.Message{Role: roles[v.Get("role").Str()], Name: v.Get("name").Str(), Parts: []tape.Part{}}
	text := func(kind tape.PartType, s string) { m.Parts = append(m.Parts, tape.Part{Type: kind, Text: s}) }
	if s := v.Get("reasoning_content").Str(); s != "" {
		text(tape.PartReasoning, s)
	}
	if m.Role == tape.RoleTool {
		p := tape.Part{Type: tape.PartToolResult, ID: v.Get("tool_call_id").Str(), Result: v.Get("content")}
		m.Parts = append(m.Parts, p)
		return m
	}
	switch c := v.Get("content"); c.Kind() {
	case exactjson.String:
		text(tape.PartText, c.Str())
	case exactjson.Array:
		for _, p := range c.Members() {
			switch url := p.Value.Get("image_url").Get("url"); {
			case p.Value.Get("type").Str() == "text":
				text(tape.PartText, p.Value.Get("text").Str())
			case url.Str() != "" && !strings.HasPrefix(url.Str(), "data:"):
				m.Parts = append(m.Parts, tape.Part{Type: tape.PartMedia, MIMEType: "image/*", URI: url.Str()})
			default:
				m.Parts = append(m.Parts, tape.Part{Type: tape.PartData, Value: p.Value})
			}
		}
	}
	if refusal := v.Get("refusal").Str(); refusal != "" {
		m.Parts = append(m.Parts, tape.Part{Type: tape.PartText, Text: refusal, Refusal: true})
	}
	for _, c := range v.Get("tool_calls").Members() {
		p := tape.Part{Type: tape.PartToolCall, ID: c.Value.Get("id").Str(), Name: c.Value.Get("function").Get("name").Str()}
		p.Args, p.ArgsText = interop.Args(interop.ResultText(c.Value.Get("function").Get("arguments")))
		m.Parts = append(m.Parts, p)
	}
	return m
}
