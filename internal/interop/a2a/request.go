// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2a turns the inbound request on a tape into one that can be sent: a JSON-RPC body of the A2A
// protocol and its HTTP headers. The types of the protocol's own Go module make the body up to 0.3, and those
// of this package that of 1.0, whose Go module is not to be had yet. So a body is valid or is not made at
// all.
package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"golang.org/x/net/http/httpguts"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// method is one that starts a run. version is that of the protocol which has it.
type method struct {
	version string
	stream  bool // its answer is a stream of events
}

const (
	before02 = "" // as Forge speaks it: params hold a task id and a message
	v03      = "0.3"
	v10      = "1.0"
)

var methods = map[string]method{
	"tasks/send":           {before02, false},
	"tasks/sendSubscribe":  {before02, true},
	"message/send":         {v03, false},
	"message/stream":       {v03, true},
	"SendMessage":          {v10, false},
	"SendStreamingMessage": {v10, true},
}

// Methods lists the methods that start a run.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Options change what is sent.
type Options struct {
	// TaskID is sent in the place of the recorded one: with that, an agent would go on with the recorded session.
	TaskID string
	// Method is sent in the place of the recorded one.
	Method string
}

// Request is a request that can be sent.
type Request struct {
	RunID string
	// Method is that of JSON-RPC; HTTP's is POST.
	Method string
	// Headers are sorted by name.
	Headers []Header
	// Body is the JSON-RPC request; nil when the tape does not hold the message.
	Body json.RawMessage
	// Missing names what no record carries, as dotted paths; Provenance says which values were not simply recorded.
	Missing    []string
	Provenance map[string]tape.Label
	// History counts the messages that the agent had of its session before this one. They are no part of a request.
	History int
}

// Header is one header of the request.
type Header struct{ Name, Value string }

// Errors that FromTape returns, wrapped.
var (
	ErrNoRequest = errors.New("the tape holds no A2A request")
	ErrInvalid   = errors.New("the request on the tape cannot be sent")
)

// FromTape makes the request that started the run.
func FromTape(t *tape.Tape, o Options) (*Request, error) {
	in := t.Input.A2A
	if in == nil {
		return nil, fmt.Errorf("%w: the run came another way", ErrNoRequest)
	}
	r := &Request{RunID: t.Run.RunID, Method: in.Method, Missing: slices.Clone(in.Missing), Provenance: map[string]tape.Label{}, History: history(t)}
	for path, label := range t.Input.Provenance {
		if field, ok := strings.CutPrefix(path, "a2a."); ok {
			r.Provenance[field] = label
		}
	}
	chosen := func(field string) {
		delete(r.Provenance, field)
		r.Missing = slices.DeleteFunc(r.Missing, func(s string) bool { return s == field })
	}
	if o.Method != "" {
		r.Method = o.Method
		chosen("method")
	}
	method, known := methods[r.Method]
	if !known {
		return nil, fmt.Errorf("%w: method %q does not start a run; one of %s does", ErrInvalid, r.Method, strings.Join(Methods(), ", "))
	}
	if err := r.headers(in.Headers, method); err != nil {
		return nil, err
	}
	if in.Params.Get("message").IsAbsent() {
		return r, nil
	}
	sent, err := sentOf(in.Params)
	if err != nil {
		return nil, err
	}
	if o.TaskID != "" {
		sent.task = a2a.TaskID(o.TaskID)
		chosen("params.id")
	}
	r.Body, err = sent.body(r, method.version)
	return r, err
}

// history counts the messages before the last one of the first model request, instructions apart.
func history(t *tape.Tape) int {
	n := -1
	for _, id := range t.Input.Messages {
		if t.Messages[id].Role != tape.RoleSystem {
			n++
		}
	}
	return max(n, 0)
}

// framing are headers that belong to the connection and never to a recorded request.
var framing = []string{"connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"}

// versionHeader names the version of the protocol, from 1.0 on. A server takes a request without it for one
// of 0.3.
const versionHeader = "A2A-Version"

func (r *Request) headers(recorded map[string]string, m method) error {
	accept := "application/json"
	if m.stream {
		accept = "text/event-stream"
	}
	r.Headers = []Header{{"Accept", accept}, {"Content-Type", "application/json"}}
	if m.version == v10 {
		r.Headers = append(r.Headers, Header{versionHeader, m.version})
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		value := recorded[name]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || slices.Contains(framing, strings.ToLower(name)) {
			return fmt.Errorf("%w: a header is not valid in HTTP", ErrInvalid)
		}
		known := strings.EqualFold(name, versionHeader) || slices.ContainsFunc(r.Headers, func(h Header) bool { return strings.EqualFold(h.Name, name) })
		if !known {
			r.Headers = append(r.Headers, Header{name, value})
		}
	}
	slices.SortFunc(r.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// sent is what the params of any of the methods say. The parts are in the form of the version that they were
// recorded in.
type sent struct {
	task  a2a.TaskID
	role  a2a.MessageRole
	parts exactjson.Value
	of10  bool
}

// message is a message as the protocol had it before 0.2: without an id and a kind.
type message struct {
	Role  a2a.MessageRole  `json:"role"`
	Parts a2a.ContentParts `json:"parts"`
}

// taskParams are the params of tasks/send.
type taskParams struct {
	ID      a2a.TaskID `json:"id,omitempty"`
	Message message    `json:"message"`
}

func sentOf(params exactjson.Value) (sent, error) {
	s := sent{task: a2a.TaskID(params.First("id").Str())}
	m := params.Get("message")
	s.role, s.parts = a2a.MessageRole(m.Get("role").Str()), m.Get("parts")
	if m.Kind() != exactjson.Object || s.parts.Kind() > exactjson.Null && s.parts.Kind() != exactjson.Array {
		return s, fmt.Errorf("%w: its message is not one of A2A", ErrInvalid)
	}
	if role, is := roles10[string(s.role)]; is {
		s.role, s.of10 = role, true
	}
	if s.role == "" || s.parts.Len() == 0 {
		return s, fmt.Errorf("%w: its message has no role or no parts", ErrInvalid)
	}
	if s.task == "" {
		s.task = a2a.TaskID(m.Get("taskId").Str())
	}
	return s, nil
}

// partsTo03 returns the parts in the types of the protocol up to 0.3.
func (s sent) partsTo03() (parts a2a.ContentParts, err error) {
	recorded := s.parts
	if s.of10 {
		if recorded, err = convert(recorded, to03); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal([]byte(recorded.JSON()), &parts); err != nil {
		return nil, fmt.Errorf("%w: its message is not one of A2A", ErrInvalid)
	}
	written, err := encode(parts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if again, err := exactjson.Parse(string(written)); err != nil || !again.Equal(recorded) {
		return nil, errPart
	}
	return parts, nil
}

// body writes the JSON-RPC request. Ids that no record carries are the same each time: 1, and the run's own for the message.
func (s sent) body(r *Request, version string) (json.RawMessage, error) {
	var params any
	if version == v10 {
		sending, err := s.to10(r.RunID)
		if err != nil {
			return nil, err
		}
		params = sending
	} else {
		parts, err := s.partsTo03()
		if err != nil {
			return nil, err
		}
		params = taskParams{ID: s.task, Message: message{s.role, parts}}
		if version == v03 {
			params = a2a.MessageSendParams{Message: &a2a.Message{ID: r.RunID, Role: s.role, Parts: parts, TaskID: s.task}}
		}
	}
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", 1, r.Method, params})
}

// encode writes JSON without escapes that only HTML needs.
func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
