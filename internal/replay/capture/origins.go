// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/transcript"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Values counts the values of tapes by their kind.
type Values struct{ Requests, Answers, Results int }

// String lists the kinds that occur.
func (v Values) String() string {
	var list []string
	for _, kind := range []struct {
		n    int
		name string
	}{{v.Requests, "requests"}, {v.Answers, "answers"}, {v.Results, "results of tools"}} {
		if kind.n > 0 {
			list = append(list, fmt.Sprintf("%s %d", kind.name, kind.n))
		}
	}
	return cmp.Or(strings.Join(list, ", "), "nothing")
}

// Origins counts the values of the tapes that the telemetry tells alone, and those that need the transcript.
// some is false without a transcript. A value is of the telemetry if the tape of the telemetry alone has it,
// at an event of the same span.
func (c *Capture) Origins() (telemetry, told Values, some bool, err error) {
	isLine := func(i evidence.Item) bool {
		_, ok := i.Span.Attributes().Get(transcript.Line)
		return ok
	}
	items := c.In.Set.View()
	if !slices.ContainsFunc(items, isLine) {
		return telemetry, told, false, nil
	}
	part, err := evidence.Rewrite(c.In.Set.Excerpt(func(i evidence.Item) bool { return !isLine(i) }))
	if err != nil {
		return telemetry, told, false, err
	}
	without, err := evidence.FromPart(part)
	if err != nil {
		return telemetry, told, false, err
	}
	alone := map[string]*tape.Event{} // by the id of a span
	for e := range eventsOf(without) {
		for _, id := range e.SpanIDs {
			alone[id] = e
		}
	}
	for e := range eventsOf(c.In.Set) {
		same := &tape.Event{}
		for _, id := range e.SpanIDs {
			same = cmp.Or(alone[id], same)
		}
		count := func(there, equal bool, of func(*Values) *int) {
			switch {
			case there && equal:
				*of(&telemetry)++
			case there:
				*of(&told)++
			}
		}
		count(len(asked(e)) > 0, slices.Equal(asked(e), asked(same)), func(v *Values) *int { return &v.Requests })
		count(answered(e) != "", answered(e) == answered(same), func(v *Values) *int { return &v.Answers })
		count(!e.Result.IsAbsent(), e.Result.Equal(same.Result), func(v *Values) *int { return &v.Results })
	}
	return telemetry, told, true, nil
}

// eventsOf are the events of the runs that a set of evidence holds.
func eventsOf(set *evidence.Set) iter.Seq[*tape.Event] {
	return func(yield func(*tape.Event) bool) {
		for _, t := range reconstruct.All(set.Split(), reconstruct.Options{}) {
			for i := range t.Events {
				if !yield(&t.Events[i]) {
					return
				}
			}
		}
	}
}

// asked are the ids of the messages of a request.
func asked(e *tape.Event) []string {
	if e.Request == nil {
		return nil
	}
	return e.Request.Messages
}

// answered is the id of the answer of a model.
func answered(e *tape.Event) string {
	if e.Response == nil {
		return ""
	}
	return e.Response.Message
}
