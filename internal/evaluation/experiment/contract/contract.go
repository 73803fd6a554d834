// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package contract is what a runner, whatever its language, is asked and what it answers: the types that whatifd publishes for its runners
// (version 0.3.0), as JSON.
package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// TraceInput is what a recorded run was asked.
type TraceInput struct {
	Metadata    map[string]any `json:"metadata"`
	UserMessage string         `json:"user_message"`
}

// ReplayConfig is the change that is tried. What is nil stays as the agent has it.
type ReplayConfig struct {
	Model        *string        `json:"model"`
	Overrides    map[string]any `json:"overrides"`
	SystemPrompt *string        `json:"system_prompt"`
}

// Policy says where answers of tools come from.
type Policy string

// The policies by their names on the wire. Mock is declared in designs of whatifd alone; here its answers come from an oracle that is laid over the recorded one.
const (
	UseOriginal Policy = "use-original"
	Live        Policy = "live"
	Mock        Policy = "mock"
)

// ToolSpan is a tool call of a run.
type ToolSpan struct {
	Name       string                     `json:"name"`
	Kind       string                     `json:"kind"`
	ToolCallID *string                    `json:"tool_call_id"`
	Input      *string                    `json:"input"`
	Output     *string                    `json:"output"`
	Args       json.RawMessage            `json:"args"` // an object, or null
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// ReplayOutput is what a runner answers.
type ReplayOutput struct {
	Text      string                     `json:"text"`
	ToolSpans []ToolSpan                 `json:"tool_spans"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	// Withheld names attributes of persons that the runner sent: their values are not kept.
	Withheld []string `json:"-"`
}

// TraceOutput is what the recorded run answered.
type TraceOutput struct {
	Text      string     `json:"text"`
	ToolSpans []ToolSpan `json:"tool_spans"`
}

// ScoreCase is what a scorer is asked.
type ScoreCase struct {
	TraceID  string         `json:"trace_id"`
	Cohort   string         `json:"cohort"`
	Input    TraceInput     `json:"input"`
	Original TraceOutput    `json:"original_output"`
	Replayed ReplayOutput   `json:"replayed_output"`
	Metadata map[string]any `json:"metadata"`
}

// The methods below write a list or an object that is nil as an empty one: whatifd's own types refuse null
// there.

// MarshalJSON writes the input of a trace.
func (t TraceInput) MarshalJSON() ([]byte, error) {
	type plain TraceInput
	t.Metadata = object(t.Metadata)
	return json.Marshal(plain(t))
}

// MarshalJSON writes the change that is tried.
func (c ReplayConfig) MarshalJSON() ([]byte, error) {
	type plain ReplayConfig
	c.Overrides = object(c.Overrides)
	return json.Marshal(plain(c))
}

// MarshalJSON writes a tool call. One without a kind is of the kind that whatifd takes as the default.
func (s ToolSpan) MarshalJSON() ([]byte, error) {
	type plain ToolSpan
	s.Kind, s.Attributes = cmp.Or(s.Kind, "tool"), object(s.Attributes)
	return json.Marshal(plain(s))
}

// MarshalJSON writes the output of a runner.
func (out ReplayOutput) MarshalJSON() ([]byte, error) {
	type plain ReplayOutput
	out.ToolSpans, out.Metadata = list(out.ToolSpans), object(out.Metadata)
	return json.Marshal(plain(out))
}

// MarshalJSON writes the output of a recorded run.
func (out TraceOutput) MarshalJSON() ([]byte, error) {
	type plain TraceOutput
	out.ToolSpans = list(out.ToolSpans)
	return json.Marshal(plain(out))
}

// MarshalJSON writes what a scorer is asked.
func (c ScoreCase) MarshalJSON() ([]byte, error) {
	type plain ScoreCase
	c.Metadata = object(c.Metadata)
	return json.Marshal(plain(c))
}

func object[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func list(s []ToolSpan) []ToolSpan {
	if s == nil {
		return []ToolSpan{}
	}
	return s
}

// personal are the attributes of tool spans whose values name a person. whatifd refuses a replay that has one of them; here the value is left out.
var personal = []string{"user.id", "user.name", "user.email", "session.id", "session.user", "user_id", "userId", "session_id", "sessionId", "email", "phone", "ip_address"}

// ErrInvalid is wrapped by errors that say which member of an answer is not what the contract wants.
var ErrInvalid = errors.New("not as the contract wants it")

func invalid(path, want string) error { return fmt.Errorf("%s: %w: want %s", path, ErrInvalid, want) }

// ReadReplayOutput reads the output of a runner as the contract does: unknown members are ignored, texts must be texts. The input and output of a tool
// span may be any JSON, and become text.
func ReadReplayOutput(data json.RawMessage) (ReplayOutput, error) {
	out := ReplayOutput{ToolSpans: []ToolSpan{}, Metadata: map[string]json.RawMessage{}}
	o, err := Object(data)
	if err != nil {
		return out, invalid("output", "an object")
	}
	if out.Text, err = String(o["text"]); err != nil {
		return out, invalid("output.text", "a string")
	}
	if m, given := o["metadata"]; given {
		if out.Metadata, err = Object(m); err != nil {
			return out, invalid("output.metadata", "an object")
		}
	}
	var spans []json.RawMessage
	if s, given := o["tool_spans"]; given {
		if json.Unmarshal(s, &spans) != nil || spans == nil {
			return out, invalid("output.tool_spans", "a list")
		}
	}
	for i, s := range spans {
		span, err := out.readSpan(s, "output.tool_spans."+strconv.Itoa(i))
		if err != nil {
			return out, err
		}
		out.ToolSpans = append(out.ToolSpans, span)
	}
	slices.Sort(out.Withheld)
	out.Withheld = slices.Compact(out.Withheld)
	return out, nil
}

func (out *ReplayOutput) readSpan(data json.RawMessage, path string) (s ToolSpan, err error) {
	s = ToolSpan{Kind: "tool", Attributes: map[string]json.RawMessage{}}
	o, err := Object(data)
	if err != nil {
		return s, invalid(path, "an object")
	}
	if s.Name, err = String(o["name"]); err != nil {
		return s, invalid(path+".name", "a string")
	}
	if k, given := o["kind"]; given {
		if s.Kind, err = String(k); err != nil {
			return s, invalid(path+".kind", "a string")
		}
	}
	if id := o["tool_call_id"]; !null(id) {
		text, err := String(id)
		if err != nil {
			return s, invalid(path+".tool_call_id", "a string or null")
		}
		s.ToolCallID = &text
	}
	s.Input, s.Output = textOf(o["input"]), textOf(o["output"])
	if s.Args = o["args"]; null(s.Args) {
		s.Args = nil
	} else if _, err := Object(s.Args); err != nil {
		return s, invalid(path+".args", "an object or null")
	}
	if a, given := o["attributes"]; given {
		if s.Attributes, err = Object(a); err != nil {
			return s, invalid(path+".attributes", "an object")
		}
	}
	for _, name := range personal {
		if v := s.Attributes[name]; !null(v) {
			s.Attributes[name] = json.RawMessage("null")
			out.Withheld = append(out.Withheld, name)
		}
	}
	return s, nil
}

// textOf is a text, or the JSON of what is none. nil stands for null.
func textOf(data json.RawMessage) *string {
	if null(data) {
		return nil
	}
	text, err := String(data)
	if err != nil {
		var b bytes.Buffer
		if json.Compact(&b, data) != nil {
			return nil
		}
		text = b.String()
	}
	return &text
}

func null(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// Object reads the members of a JSON object. Names count as they are written; of several with the same name the last one counts.
func Object(data json.RawMessage) (map[string]json.RawMessage, error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, invalid("value", "an object")
	}
	return o, nil
}

// String reads a JSON string.
func String(data json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(data, &s); err != nil {
		return "", err
	}
	if s == nil {
		return "", invalid("value", "a string")
	}
	return *s, nil
}
