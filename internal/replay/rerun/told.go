// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Told returns a replayed tape with the results that the model stub saw of its tool calls which no record
// answers: instrumentations leave out a request that fails, and so what it told. A result that has the
// content of the recorded one in another form stands in the recorded form. redact hides secrets as in the
// telemetry.
func Told(replayed *tape.Tape, recorded []*tape.Tape, shown map[string]modelstub.Shown, redact func(string) string) *tape.Tape {
	var own *tape.Tape
	for i := range replayed.Events {
		e := &replayed.Events[i]
		seen, known := shown[e.ToolCallID]
		if !tape.Unanswered(e) || !known || seen.Tool != "" && seen.Tool != e.Name {
			continue
		}
		if own == nil {
			copied := *replayed
			copied.Events = slices.Clone(replayed.Events)
			own = &copied
		}
		e = &own.Events[i]
		e.Result, e.IsError = redacted(seen.Result, redact), seen.IsError
		for _, form := range formsOf(recorded, e) {
			if oracle.SameAnswer(form, e.Result) && !cutShort(form, e.Result) {
				e.Result = form
				break
			}
		}
		if !seen.IsError {
			e.Status = tape.EventOK
		}
	}
	if own == nil {
		return replayed
	}
	return own
}

// cutShort reports that an agent showed only the beginning of what was recorded.
func cutShort(recorded, shown exactjson.Value) bool {
	begin := strings.TrimRight(shown.Text(), " .…\n")
	whole := strings.TrimRight(recorded.Text(), " .…\n")
	return len(begin) < len(whole) && strings.HasPrefix(whole, begin)
}

// formsOf are the recorded results of the call with the id of a replayed one, which the stub served.
func formsOf(recorded []*tape.Tape, call *tape.Event) (forms []exactjson.Value) {
	for _, t := range recorded {
		for i := range t.Events {
			e := &t.Events[i]
			if e.Type != tape.EventToolCall || e.ToolCallID != call.ToolCallID || e.Name != call.Name || e.Result.IsAbsent() {
				continue
			}
			forms = append(forms, e.Result)
		}
	}
	return forms
}

func redacted(v exactjson.Value, redact func(string) string) exactjson.Value {
	if redact == nil {
		return v
	}
	if v.Kind() == exactjson.String {
		return exactjson.StringValue(redact(v.Str()))
	}
	if clean, err := exactjson.Parse(redact(v.JSON())); err == nil {
		return clean
	}
	return exactjson.StringValue(redact(v.JSON()))
}
