// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package sidebyside shows the comparison of two tapes to a person, as text for a terminal and as a page for a browser. Content of a
// tape reaches both as text only.
package sidebyside

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Tape is one of the tapes that were compared. Its JSON form is part of the contract.
type Tape struct {
	Ref        string `json:"ref"` // its address, without options
	RunID      string `json:"run_id"`
	TapeID     string `json:"tape_id"`
	Events     int    `json:"events"`
	Service    string `json:"service,omitempty"` // with its version; the agent where no service is named
	Model      string `json:"model,omitempty"`
	StartedAt  string `json:"started_at,omitempty"` // RFC 3339
	DurationMS int64  `json:"duration_ms"`
	Status     string `json:"status,omitempty"`

	tape *tape.Tape
}

// Of names a tape.
func Of(ref string, t *tape.Tape) Tape {
	x := Tape{Ref: ref, RunID: t.Run.RunID, TapeID: t.TapeID, Events: len(t.Events), Model: t.Config.Model, DurationMS: t.Run.DurationMS, Status: string(t.Run.Status), tape: t}
	if x.Service = strings.TrimSpace(t.Run.Service.Name + " " + t.Run.Service.Version); x.Service == "" {
		x.Service = strings.TrimSpace(cmp.Or(t.Run.Agent.Name, t.Run.Agent.ID) + " " + t.Run.Agent.Version)
	}
	if !t.Run.StartedAt.IsZero() {
		x.StartedAt = t.Run.StartedAt.UTC().Format(time.RFC3339)
	}
	for i := 0; x.Model == "" && i < len(t.Events); i++ {
		if e := &t.Events[i]; e.Type == tape.EventModelCall {
			x.Model = e.Model
		}
	}
	return x
}

// facts are what tells runs apart at a glance: service, model, time.
func (t Tape) facts() string {
	var out []string
	for _, fact := range []string{t.Service, t.Model, strings.Replace(t.StartedAt, "T", " ", 1)} {
		if fact != "" {
			out = append(out, fact)
		}
	}
	if t.DurationMS > 0 {
		out = append(out, timeline.Duration(t.DurationMS))
	}
	out = append(out, plural(t.Events, "event"))
	return strings.Join(out, " · ")
}

// question is what the run was asked, answer what it said in the end; a remark where the tape does not hold them.
func (t Tape) question() string {
	if t.tape.Input.UserMessage == nil {
		return "(not in the telemetry)"
	}
	return *t.tape.Input.UserMessage
}

func (t Tape) answer() string {
	if t.tape.Output.Text == nil {
		if e := t.tape.Run.Error; e != nil {
			return strings.Trim(e.Type+": "+e.Message, ": ")
		}
		return "(no answer in the telemetry)"
	}
	return *t.tape.Output.Text
}

// event is the event with a number, nil where there is none. The numbers of a tape that is not sound may be anything.
func (t Tape) event(seq int) *tape.Event {
	if seq > 0 && seq <= len(t.tape.Events) && t.tape.Events[seq-1].Seq == seq {
		return &t.tape.Events[seq-1]
	}
	if i := slices.IndexFunc(t.tape.Events, func(e tape.Event) bool { return e.Seq == seq }); i >= 0 {
		return &t.tape.Events[i]
	}
	return nil
}

// asks lists the calls that the model asked for at an event.
func (t Tape) asks(seq int) []*tape.Part {
	var out []*tape.Part
	e := t.event(seq)
	if e == nil || e.Response == nil {
		return nil
	}
	m := t.tape.Messages[e.Response.Message]
	for i := range m.Parts {
		if m.Parts[i].Type == tape.PartToolCall {
			out = append(out, &m.Parts[i])
		}
	}
	return out
}

// oneArgument reports that a call, or every call of the tool that a model asked for, has one argument.
func (t Tape) oneArgument(seq int, tool string) bool {
	if e := t.event(seq); e != nil && e.Type == tape.EventToolCall {
		return e.Args.Len() == 1
	}
	return !slices.ContainsFunc(t.asks(seq), func(p *tape.Part) bool { return p.Name == tool && p.Args.Len() != 1 })
}

// shortID is as much of a run id as tells the runs apart; commands take it.
func shortID(of, other string) string {
	var ids deck.ShortIDs
	ids.Add(other)
	return ids.Of(of)
}

// place is where a run lies, for people: the deck of a run that has an id in it, else its address.
func place(ref string) string {
	if r, err := deck.ParseRef(ref); err == nil && r.InDeck() {
		in, _, _ := strings.Cut(r.DeckURL, "?")
		return "in " + strings.TrimPrefix(in, "file://")
	}
	return ref
}

// signs stand between the numbers of the two events of a step.
var signs = map[compare.Kind]string{
	compare.Equal: "=", compare.Changed: "~", compare.Inserted: "+", compare.Dropped: "-", compare.Moved: ">",
}

var typeNames = map[tape.EventType]string{
	tape.EventModelCall: "model", tape.EventToolCall: "tool", tape.EventAgentCall: "agent", tape.EventRetrieval: "fetch",
}

func typeName(t tape.EventType) string {
	if name := typeNames[t]; name != "" {
		return name
	}
	return string(t)
}

func seq(e *compare.EventRef) string {
	if e == nil {
		return ""
	}
	return strconv.Itoa(e.Seq)
}

// either is the event of a step, that of the first tape if there is one.
func either(s *compare.Step) *compare.EventRef {
	if s.A != nil {
		return s.A
	}
	return s.B
}

// title is what was called; both names where they differ.
func title(s *compare.Step) string {
	e := either(s)
	if s.A != nil && s.B != nil && s.A.Name != s.B.Name {
		return s.A.Name + " → " + s.B.Name
	}
	return e.Name
}

// value is a compared value as text; nothing where it is absent.
func value(v *exactjson.Value) string {
	if v == nil {
		return "(nothing)"
	}
	return v.JSON()
}

func labelled(v *exactjson.Value, label tape.Label) string {
	if label == "" {
		return value(v)
	}
	return value(v) + " (" + string(label) + ")"
}

// meaning says what counts at a level.
var meaning = map[compare.Level]string{
	compare.Actions: "what was asked and called", compare.Results: "what was asked, called and returned", compare.All: "what was asked, called, returned and said",
}

// counts says how many events are alike.
func counts(r *compare.Result) string {
	c := r.Counts
	out := []string{fmt.Sprintf("%d alike", c.Equal)}
	for _, x := range []struct {
		n    int
		what string
	}{{c.Changed, "changed"}, {c.Dropped, "only in A"}, {c.Inserted, "only in B"}, {c.Moved, "at another place"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return fmt.Sprintf("Events: %s. What counts: %s (--compare %s).", strings.Join(out, ", "), meaning[r.Compare], r.Compare)
}

// notes are what a reader should know about an outcome: what was not recorded, what does not count, how the events were aligned.
func notes(r *compare.Result) []string {
	var out []string
	if s := firstNoted(r); s != nil && !(r.First == nil && len(r.Input)+len(r.Output) == 0) {
		out = append(out, fmt.Sprintf("%s alike in what counts, not in the rest (--compare all counts it); the first is %s", are(r.Counts.Noted), eventOf(s)))
	}
	if n := r.Counts.JSONText; n > 0 {
		out = append(out, fmt.Sprintf("%s alike as JSON, not as text (--strict-types counts that)", are(n)))
	}
	for _, f := range slices.Sorted(maps.Keys(r.Unrecorded)) {
		out = append(out, fmt.Sprintf("neither tape holds %q of %s: nobody knows whether it is the same", words[f], plural(r.Unrecorded[f], "event")))
	}
	switch r.Alignment {
	case compare.Anchored:
		out = append(out, "the runs are long: aligned between events that are unique in both")
	case compare.Positional:
		out = append(out, "the runs are long and repetitive: a stretch of them was paired by position")
	}
	return out
}

func are(n int) string {
	if n == 1 {
		return "1 event is"
	}
	return fmt.Sprintf("%d events are", n)
}

// short is text on one line.
func short(text string, width int) string { return timeline.Short(text, max(width, 20)) }
