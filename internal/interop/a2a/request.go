// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2a turns the inbound request on a tape into one that can be sent: a JSON-RPC body of the A2A protocol and its HTTP headers.
// The types of the protocol's own Go module make the body, so a body is valid or is not made at all.
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

// Methods that start a run, and whether their answer is a stream of events. The first two are of the protocol before 0.2, as Forge
// speaks it; their params hold a task id and a message. The others are of 0.3.
var methods = map[string]struct{ task, stream bool }{
	"tasks/send":          {task: true},
	"tasks/sendSubscribe": {task: true, stream: true},
	"message/send":        {},
	"message/stream":      {stream: true},
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
	if err := r.headers(in.Headers, method.stream); err != nil {
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
	r.Body, err = sent.body(r, method.task)
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

func (r *Request) headers(recorded map[string]string, stream bool) error {
	accept := "application/json"
	if stream {
		accept = "text/event-stream"
	}
	r.Headers = []Header{{"Accept", accept}, {"Content-Type", "application/json"}}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		value := recorded[name]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || slices.Contains(framing, strings.ToLower(name)) {
			return fmt.Errorf("%w: a header is not valid in HTTP", ErrInvalid)
		}
		if !slices.ContainsFunc(r.Headers, func(h Header) bool { return strings.EqualFold(h.Name, name) }) {
			r.Headers = append(r.Headers, Header{name, value})
		}
	}
	slices.SortFunc(r.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// sent is what the params of any of the methods say.
type sent struct {
	task    a2a.TaskID
	message message
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
	if err := json.Unmarshal([]byte(m.JSON()), &s.message); err != nil {
		return s, fmt.Errorf("%w: its message is not one of A2A", ErrInvalid)
	}
	if s.message.Role == "" || len(s.message.Parts) == 0 {
		return s, fmt.Errorf("%w: its message has no role or no parts", ErrInvalid)
	}
	if s.task == "" {
		s.task = a2a.TaskID(m.Get("taskId").Str())
	}
	written, err := encode(s.message.Parts)
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if again, err := exactjson.Parse(string(written)); err != nil || !again.Equal(m.Get("parts")) {
		return s, fmt.Errorf("%w: a part of its message holds what the types of A2A do not", ErrInvalid)
	}
	return s, nil
}

// body writes the JSON-RPC request. Ids that no record carries are the same each time: 1, and the run's own for the message.
func (s sent) body(r *Request, task bool) (json.RawMessage, error) {
	var params any = taskParams{ID: s.task, Message: s.message}
	if !task {
		params = a2a.MessageSendParams{Message: &a2a.Message{ID: r.RunID, Role: s.message.Role, Parts: s.message.Parts, TaskID: s.task}}
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
