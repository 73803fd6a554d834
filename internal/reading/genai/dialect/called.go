// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Called is a function of the program as the decorator of an instrumentation recorded it. The decorator does
// not know a tool from any other step.
type Called struct {
	Name          string
	In, Out       exactjson.Value
	Encoded       bool // what was returned is written as JSON
	Texts         bool // numbers in it are written as texts
	Tool          bool // the span says that it is one of a tool
	InCut, OutCut bool // a limit cut it
}

// AsTool reads the report of a called function as that of a tool call.
func (r *Report) AsTool() *Report {
	return NewReport(Tool, func(t *Draft) {
		t.Dialects, t.Name, t.Failure, t.Notes = r.Dialects, r.Called.Name, r.Failure, r.Notes
		t.ConversationID, t.UserID = r.ConversationID, r.UserID
		ReadWholeTool(t, r.Called.In, r.Called.Out, r.Called.Encoded)
		if r.Called.Texts {
			for _, c := range []*decode.Content{&t.Args, &t.Result} {
				if c.Label == "" && holdsDigits(c.Value) {
					c.Label = tape.Lossy
				}
			}
		}
		if r.Called.InCut && t.Args.Label == "" {
			t.Args.Label = tape.Truncated
		}
		if r.Called.OutCut && t.Result.Label == "" {
			t.Result.Label = tape.Truncated
		}
		t.Result.LabelMasks() // members of what was returned, as Logfire scrubs them
		if t.Result.Value.Kind() == exactjson.Null && (t.Failed || t.StatusError) {
			t.Result = decode.Content{} // a function that threw returned nothing
		}
	})
}

// holdsDigits reports a value with a text that may have been a number.
func holdsDigits(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		n, err := exactjson.Parse(v.Str())
		return err == nil && n.Kind() == exactjson.Number
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return holdsDigits(m.Value) })
}
