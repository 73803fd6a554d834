// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The rules of `waza replay`, for snapshots and for the tool calls of tapes. The documents below have the members of waza's own, in its
// order.

// ModelReplay is the mode in which nothing is run: the record is checked against itself.
const ModelReplay = "model-replay"

// Report is the outcome of the mode model-replay.
type Report struct {
	Source     string  `json:"source"`
	Mode       string  `json:"mode"`
	Pass       bool    `json:"pass"`
	Status     string  `json:"status"`
	Issues     []Issue `json:"issues,omitempty"`
	ToolEvents int     `json:"tool_events"`
	Graders    int     `json:"graders"`
}

// Issue is one inconsistency.
type Issue struct {
	Kind    string `json:"kind"`
	Grader  string `json:"grader,omitempty"`
	Message string `json:"message"`
}

// The kinds of issues. The first two are waza's.
const (
	IssueSequence   = "sequence_gap"
	IssueValidation = "validation_inconsistency"
	IssueEvidence   = "evidence_mismatch"
)

// Replay checks a snapshot as waza does; strict adds what graders claim and, beyond waza, what the evidence manifest vouches for. Issues
// of graders are sorted by their key.
func (s *Snapshot) Replay(source string, strict bool) Report {
	events, graders := s.Events(), s.Graders()
	r := Report{Source: source, Mode: ModelReplay, Status: s.Status(), ToolEvents: len(events), Graders: len(graders)}
	r.Issues = sequenceIssues(events)
	if strict {
		r.Issues = append(r.Issues, graderIssues(graders)...)
		if s.Evidence != nil {
			r.Issues = append(r.Issues, Issue{Kind: IssueEvidence, Message: s.Evidence.Error()})
		}
	}
	r.Pass = len(r.Issues) == 0
	return r
}

// sequenceIssues reports the first number that breaks 1..N, whatever the order of the events.
func sequenceIssues(events []Event) []Issue {
	numbers := make([]int64, len(events))
	for i := range events {
		numbers[i] = events[i].Sequence
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != int64(i+1) {
			return []Issue{{Kind: IssueSequence, Message: fmt.Sprintf("tool_events.sequence is not 1..N (saw %d at position %d)", n, i+1)}}
		}
	}
	return nil
}

func graderIssues(graders []Grader) []Issue {
	var issues []Issue
	for _, g := range graders {
		if g.Passed && g.Weight > 0 && g.Score == 0 {
			issues = append(issues, Issue{Kind: IssueValidation, Grader: g.Key, Message: "grader claims passed=true but score is 0"})
		}
	}
	return issues
}

// TapeIssues checks what graders say on a tape that holds their verdicts. Beside the rule of waza it checks that a run which passed has
// no grader that failed it.
func TapeIssues(t *tape.Tape) (issues []Issue, status string, n int) {
	result := residual(t).Get("result")
	all := graders(result.Get("validations"))
	issues = graderIssues(all)
	status = result.Get("status").Str()
	for _, g := range all {
		if status == statusPassed && !g.Passed && g.Weight > 0 {
			issues = append(issues, Issue{Kind: IssueValidation, Grader: g.Key, Message: "the run passed although the grader failed it"})
		}
	}
	if status == statusFailed && len(all) > 0 && !slices.ContainsFunc(all, func(g Grader) bool { return !g.Passed }) && residual(t).Get("checkpoints").IsAbsent() {
		issues = append(issues, Issue{Kind: IssueValidation, Message: "the run failed although no grader failed it"})
	}
	return issues, status, len(all)
}

// TapeEvents are the tool calls of a tape. plain: as its snapshot lists them, without the tokens by which redacted values can be told
// apart.
func TapeEvents(t *tape.Tape, plain bool) []Event {
	turns := map[int]int64{}
	e := &encoding{tape: t}
	var events []Event
	for i := range t.Events {
		switch c := &t.Events[i]; c.Type {
		case tape.EventModelCall:
			turns[c.Seq] = int64(len(turns) + 1)
		case tape.EventToolCall:
			args := c.Args
			if plain {
				args = e.payload("", args)
			}
			events = append(events, Event{turns[c.RequestedBy], int64(len(events) + 1), c.Name, args, !c.IsError && c.Status != tape.EventError && c.Waiting == ""})
		}
	}
	rest := residual(t).Get("toolEvents")
	for i := range events {
		if rest.Len() == len(events) {
			events[i].Turn, _ = rest.At(i).Get("turn").Int()
		}
	}
	return events
}

// Comparison is the outcome of a comparison of two runs.
type Comparison struct {
	Match       bool         `json:"match"`
	Divergences []Divergence `json:"divergences"`
	Baseline    string       `json:"baseline"`
	Replayed    string       `json:"replayed"`
	// FirstDivergentTurn is the turn of the baseline there or, where none is recorded, the number of the event: 1-based.
	FirstDivergentTurn int64 `json:"first_divergent_turn,omitempty"`
}

// Divergence is the first difference between two runs.
type Divergence struct {
	Kind                string `json:"kind"`
	FirstDivergentIndex int    `json:"first_divergent_index"`
	BaselineValue       string `json:"baseline_value,omitempty"`
	ReplayedValue       string `json:"replayed_value,omitempty"`
	Description         string `json:"description"`
}

// Bisect compares two runs as waza does: names and arguments of the tool calls, in the order of the files, up to the first difference.
// Results, success, ids and turns do not count.
func Bisect(baseline, replayed string, a, b []Event) Comparison {
	c := Comparison{Baseline: baseline, Replayed: replayed}
	diverge := func(i int, d Divergence) Comparison {
		d.FirstDivergentIndex = i
		c.Divergences = []Divergence{d}
		c.FirstDivergentTurn = int64(i + 1)
		if i < len(a) && a[i].Turn > 0 {
			c.FirstDivergentTurn = a[i].Turn
		}
		return c
	}
	for i := range min(len(a), len(b)) {
		if a[i].Name != b[i].Name {
			return diverge(i, Divergence{Kind: "tool_name", BaselineValue: a[i].Name, ReplayedValue: b[i].Name,
				Description: fmt.Sprintf("tool name diverges at index %d", i)})
		}
		if !sameArgs(a[i].Args, b[i].Args) {
			return diverge(i, Divergence{Kind: "tool_args", BaselineValue: shown(a[i].Args), ReplayedValue: shown(b[i].Args),
				Description: fmt.Sprintf("tool args diverge at index %d (tool=%s)", i, a[i].Name)})
		}
	}
	if len(a) != len(b) {
		return diverge(min(len(a), len(b)), Divergence{Kind: "length_mismatch", BaselineValue: fmt.Sprintf("%d events", len(a)),
			ReplayedValue: fmt.Sprintf("%d events", len(b)), Description: "snapshots have different tool_event counts"})
	}
	c.Match = true
	return c
}

// sameArgs compares as decoded JSON with numbers as doubles. Absent and null are one thing, {} is another.
func sameArgs(a, b exactjson.Value) bool {
	if a.Kind() <= exactjson.Null || b.Kind() <= exactjson.Null {
		return a.Kind() <= exactjson.Null && b.Kind() <= exactjson.Null
	}
	return equal(a, b)
}

func equal(a, b exactjson.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case exactjson.Number:
		x, xOK := a.Float()
		y, yOK := b.Float()
		if !xOK || !yOK { // no double: only the literal is left to compare
			return a.Text() == b.Text()
		}
		return x == y
	case exactjson.Array, exactjson.Object:
		if a.Kind() == exactjson.Object {
			a, b = sorted(a, false), sorted(b, false)
		}
		return slices.EqualFunc(a.Members(), b.Members(), func(x, y exactjson.Member) bool { return x.Name == y.Name && equal(x.Value, y.Value) })
	default:
		return a.Text() == b.Text()
	}
}

// maxShown bounds a value in a report, in bytes.
const maxShown = 200

// shown is the compact form of arguments as encoding/json writes decoded JSON, cut to size.
func shown(args exactjson.Value) string {
	if args.Kind() <= exactjson.Null {
		return ""
	}
	text := args.JSON()
	var decoded any
	if err := json.Unmarshal([]byte(text), &decoded); err == nil { // fails for numbers that no double holds
		if b, err := json.Marshal(decoded); err == nil {
			text = string(b)
		}
	}
	if len(text) > maxShown {
		text = text[:maxShown] + "…"
	}
	return text
}
