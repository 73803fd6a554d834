// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package oracle answers tool calls from a tape. It holds the entries of an oracle file, the way in which a call is matched with them, and
// the proof that a tape's own calls get the answers that its own requests show.
package oracle

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Entry is one recorded tool call. A file of another tool may hold ToolName, ArgsHash and Response only.
type Entry struct {
	ToolName string
	// ArgsHash is empty when the arguments were not recorded.
	ArgsHash string
	// Response is the answer: a text as it was, anything else in canonical form. It is empty when there is none. Of a failed call it is what
	// the model was shown, where a request shows it, else the recorded error.
	Response         string
	Args             exactjson.Value
	IsError          bool
	ErrorType        string // of a failed call: the recorded name of the exception, if any
	ErrorMessage     string // of a failed call: the recorded message of the exception, without the stack behind it, if any
	Occurrence       int    // 1-based per caller, tool name and args hash
	Caller           string
	Seq              int // of the event on the tape
	Turn             int // 1-based index of the requesting model call, 0 when not known
	ToolCallID       string
	LatencyMS        *int64
	ResponseFormat   string   // tape.FormatText or tape.FormatJSON
	ArgsFidelity     Fidelity // empty counts as exact
	ResponseFidelity Fidelity // empty counts as exact
	// OtherResponses are what other records hold, where the response is disputed.
	OtherResponses []OtherResponse
	Source         Source
	Unknown        tape.Unknown
}

// Source is the span that reported the call.
type Source struct {
	TraceID string
	SpanID  string
	Unknown tape.Unknown
}

// OtherResponse is another record of the response.
type OtherResponse struct {
	Response string
	From     tape.ResultSource
	Unknown  tape.Unknown
}

// Fidelity says how far a recorded value is the value that was.
type Fidelity string

// The fidelities. Truncated and missing values are listed but never served.
const (
	Exact     Fidelity = "exact"
	Lossy     Fidelity = "lossy"
	Redacted  Fidelity = "redacted" // by us, or masked by the producer
	Disputed  Fidelity = "disputed" // records contradict each other
	Truncated Fidelity = "truncated"
	Missing   Fidelity = "missing"
)

func (f Fidelity) served() bool { return f != Truncated && f != Missing }

// Servable reports whether the entry may be served: neither its arguments nor its response are truncated or missing.
func (e *Entry) Servable() bool { return e.ArgsFidelity.served() && e.ResponseFidelity.served() }

// Hash identifies the arguments of a call; it is tape.ArgsHash.
func Hash(args exactjson.Value) string { return tape.ArgsHash(args) }

// HashText is Hash of arguments as a provider spelled them; it is tape.ArgsTextHash.
func HashText(args string) string { return tape.ArgsTextHash(args) }

// ReadHash reads an args_hash as files and clients spell it: as Hash writes it, or its hexadecimal digits alone, in any case. Digits alone
// are taken for those of own, the hash of the arguments beside them, if they are its digits, and else for a sha256: hash. ok is false for
// what can be no hash of arguments; the text then comes back as it was.
func ReadHash(text, own string) (hash string, ok bool) {
	prefix, digits, prefixed := strings.Cut(text, ":")
	if !prefixed {
		prefix, digits = "sha256", text
		if _, of, _ := strings.Cut(own, ":"); own != "" && strings.EqualFold(of, digits) {
			return own, true
		}
	}
	if hash = strings.ToLower(prefix + ":" + digits); !hashForm.MatchString(hash) {
		return text, false
	}
	return hash, true
}

var hashForm = regexp.MustCompile(`^sha256(-raw)?:[0-9a-f]{64}$`)

var text = bind.String[string]()

// always makes a member stand in every entry that we write, while the schema leaves it optional.
func always(*Entry) bool { return true }

var entryRecord = bind.New("entry", func(e *Entry) *[]exactjson.Member { return (*[]exactjson.Member)(&e.Unknown) },
	bind.Of("tool_name", func(e *Entry) *string { return &e.ToolName }, text).Always(),
	bind.Of("args_hash", func(e *Entry) *string { return &e.ArgsHash }, bind.Match[string](`^(sha256(-raw)?:[0-9a-f]{64})?$`)).Always(),
	bind.Of("response", func(e *Entry) *string { return &e.Response }, text).Always(),
	bind.Of("args", func(e *Entry) *exactjson.Value { return &e.Args }, bind.Any()),
	bind.Of("is_error", func(e *Entry) *bool { return &e.IsError }, bind.Bool()).AlwaysIf(always),
	bind.Of("error_type", func(e *Entry) *string { return &e.ErrorType }, text),
	bind.Of("error_message", func(e *Entry) *string { return &e.ErrorMessage }, text),
	bind.Of("occurrence", func(e *Entry) *int { return &e.Occurrence }, bind.Int[int]()),
	bind.Of("caller", func(e *Entry) *string { return &e.Caller }, text),
	bind.Of("seq", func(e *Entry) *int { return &e.Seq }, bind.Int[int]()),
	bind.Of("turn", func(e *Entry) *int { return &e.Turn }, bind.Int[int]()),
	bind.Of("tool_call_id", func(e *Entry) *string { return &e.ToolCallID }, text),
	bind.Of("latency_ms", func(e *Entry) **int64 { return &e.LatencyMS }, bind.Pointer(bind.Int[int64]())),
	bind.Of("response_format", func(e *Entry) *string { return &e.ResponseFormat }, bind.Enum(tape.FormatText, tape.FormatJSON)),
	bind.Of("args_fidelity", func(e *Entry) *Fidelity { return &e.ArgsFidelity }, bind.Enum(Exact, Redacted, Lossy, Disputed, Truncated, Missing)),
	bind.Of("response_fidelity", func(e *Entry) *Fidelity { return &e.ResponseFidelity }, bind.Enum(Exact, Redacted, Lossy, Disputed, Truncated, Missing)),
	bind.Of("other_responses", func(e *Entry) *[]OtherResponse { return &e.OtherResponses }, bind.List(otherResponseRecord.Codec())),
	bind.Of("source", func(e *Entry) *Source { return &e.Source }, sourceRecord.Codec()),
)

var sourceRecord = bind.New("source", func(s *Source) *[]exactjson.Member { return (*[]exactjson.Member)(&s.Unknown) },
	bind.Of("trace_id", func(s *Source) *string { return &s.TraceID }, text),
	bind.Of("span_id", func(s *Source) *string { return &s.SpanID }, text),
)

var otherResponseRecord = bind.New("other_response", func(r *OtherResponse) *[]exactjson.Member { return (*[]exactjson.Member)(&r.Unknown) },
	bind.Of("response", func(r *OtherResponse) *string { return &r.Response }, text).Always(),
	bind.Of("from", func(r *OtherResponse) *tape.ResultSource { return &r.From }, bind.Enum(tape.FromRequest, tape.FromSpan)).Required(),
)

//go:generate go test . -run "IsCurrent|ListEveryToolCall" -update

// SchemaID names the JSON Schema of oracle files.
const SchemaID = "https://github.com/tapedeck/tapedeck/docs/schema/oracle-1.0.schema.json"

// JSONSchema returns the JSON Schema (2020-12) of oracle files.
func JSONSchema() []byte { return entryRecord.ListSchema(SchemaID, "Tool oracle 1.0") }

// Append appends the entries as an oracle file: an array with one entry per line, and a line feed.
func Append(dst []byte, entries []Entry) []byte {
	dst = append(dst, '[')
	for i := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = entryRecord.AppendJSON(append(dst, '\n'), &entries[i])
	}
	if len(entries) > 0 {
		dst = append(dst, '\n')
	}
	return append(dst, "]\n"...)
}

// Read reads an oracle file: an array of objects with at least tool_name, args_hash and response. Members that this version does not know
// are kept. Hashes in another spelling, see ReadHash, are brought into the one of Hash. A text that is no hash stays and matches nothing.
func Read(data []byte) ([]Entry, error) {
	if len(data) > tape.MaxBytes {
		return nil, fmt.Errorf("read oracle: %w: %d bytes", tape.ErrTooLarge, len(data))
	}
	v, err := exactjson.ParseWithin(string(data), tape.MaxDepth, tape.MaxValues)
	if err != nil {
		return nil, fmt.Errorf("read oracle: %w", err)
	}
	if v.Kind() != exactjson.Array {
		return nil, fmt.Errorf("read oracle: %w", &bind.FieldError{Want: "an array"})
	}
	entries := make([]Entry, v.Len())
	for i := range entries {
		for _, name := range []string{"tool_name", "args_hash", "response"} {
			if v.At(i).Get(name).Kind() != exactjson.String {
				return nil, fmt.Errorf("read oracle: entry %d: %w", i, &bind.FieldError{Path: name, Want: "a string"})
			}
		}
		if entries[i], err = entryRecord.Decode(v.At(i)); err != nil {
			return nil, fmt.Errorf("read oracle: entry %d: %w", i, err)
		}
		if e := &entries[i]; !hashForm.MatchString(e.ArgsHash) {
			e.ArgsHash, _ = ReadHash(e.ArgsHash, Hash(e.Args)) // Lint names what is none
		}
	}
	return entries, nil
}
