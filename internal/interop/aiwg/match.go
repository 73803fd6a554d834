// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Strategy is how the outcomes of two runs are compared.
type Strategy string

// The strategies of the schema.
const (
	Exact      Strategy = "exact"      // byte-identical
	Semantic   Strategy = "semantic"   // alike by a measure, from a threshold on
	Structural Strategy = "structural" // the same shape with other values
)

// Strategies lists them.
var Strategies = []Strategy{Exact, Semantic, Structural}

// Status is the outcome, as the schema spells it.
type Status string

// The outcomes of the schema. The structural strategy has no outcome of its own: an equal shape is a partial match, and the
// result names the strategy.
const (
	ExactMatch    Status = "exact_match"
	SemanticMatch Status = "semantic_match"
	PartialMatch  Status = "partial_match"
	NoMatch       Status = "no_match"
	NotReplayed   Status = "not_replayed"
)

// DefaultThreshold is that of the schema for the semantic strategy.
const DefaultThreshold = 0.95

// Outcome is what is compared of a run.
type Outcome struct {
	// ID names the run: the run id of a tape, the snapshot_id of a document that has none.
	ID string
	// Failed says that the run itself failed.
	Failed bool
	// Ended is when, RFC 3339.
	Ended string

	names []string        // what the run is called by: run, trace, tape and invocation id
	tag   string          // its replay tag
	of    string          // what it says it replays
	asked exactjson.Value // absent when not recorded

	response     exactjson.Value // absent when not recorded
	responseHash string
	artifacts    exactjson.Value
	calls        exactjson.Value
}

// Errors of a comparison that cannot be made. They are no mismatch.
var (
	ErrNoResponse = errors.New("the final answer is not recorded, there is nothing to compare")
	ErrCorrupt    = errors.New("response_hash is not the hash of response")
)

// OutcomeOf takes the outcome of a tape.
func OutcomeOf(t *tape.Tape) Outcome {
	doc, kept := interop.Original(t, name, runOf)
	if !kept {
		doc = exactjson.ObjectValue(interop.Member("outputs", outputs(t)), interop.Member("captured_at", instant(t.Run.EndedAt)))
	}
	o := OutcomeOfSnapshot(doc)
	o.ID, o.Failed = t.Run.RunID, t.Run.Status == tape.StatusError
	o.names = []string{t.Run.RunID, t.Run.TraceID, t.TapeID, t.Run.InvocationID}
	o.tag, o.of = t.Run.ReplayRunID, t.Extensions.Get("replay").Get("of").Str()
	if t.Input.UserMessage != nil {
		o.asked = exactjson.StringValue(*t.Input.UserMessage)
	}
	return o
}

// ErrNoReplay is about two runs of which the second is not known to be a replay of the first.
var ErrNoReplay = errors.New("not a replay of the recorded run")

// IsReplay says why a run is not known to be a replay of another. It returns nil when the run names the other in replay_of. It also
// returns nil when the run carries a replay tag, names nothing else, and was asked the same.
func IsReplay(recorded, replayed Outcome) error {
	switch {
	case recorded.ID == replayed.ID:
		return fmt.Errorf("%w: it is the same run", ErrNoReplay)
	case replayed.of != "" && slices.Contains(recorded.names, replayed.of):
		return nil
	case replayed.of != "":
		return fmt.Errorf("%w: it says that it replays %.80q", ErrNoReplay, replayed.of)
	case replayed.tag == "":
		return fmt.Errorf("%w: it has no replay tag", ErrNoReplay)
	case !recorded.asked.Equal(replayed.asked):
		return fmt.Errorf("%w: it was asked something else", ErrNoReplay)
	}
	return nil
}

// OutcomeOfSnapshot takes the outcome of a document that Read gave.
func OutcomeOfSnapshot(doc exactjson.Value) Outcome {
	out := doc.Get("outputs")
	o := Outcome{
		ID: doc.Get("x_run_id").Str(), Failed: doc.Get("x_status").Str() == string(tape.StatusError), Ended: doc.Get("captured_at").Str(),
		response: out.Get("response"), responseHash: bareHash(out.Get("response_hash").Str()),
		artifacts: out.Get("artifacts_created"), calls: out.Get("tool_calls"),
		tag: doc.Get("x_replay_run_id").Str(), asked: doc.Get("inputs").Get("user_prompt"),
	}
	if o.ID == "" {
		o.ID = doc.Get("snapshot_id").Str()
	}
	o.names = []string{o.ID}
	if l := out.Get("x_response_label").Str(); l == string(tape.Truncated) || l == string(tape.External) {
		o.response, o.responseHash = exactjson.Value{}, "" // a part of the answer is no answer
	}
	return o
}

// hash is the digest of the response, computed where its text is there. A stored one that disagrees is corrupt, if it is a digest at all.
func (o *Outcome) hash() (string, error) {
	if o.response.IsAbsent() {
		if !hash64Form.MatchString(o.responseHash) {
			return "", ErrNoResponse
		}
		return o.responseHash, nil
	}
	hash := sha256Hex(o.response.Str())
	if hash64Form.MatchString(o.responseHash) && o.responseHash != hash {
		return "", ErrCorrupt
	}
	return hash, nil
}

// Result is the outcome of a comparison. The order of its fields is part of the contract.
type Result struct {
	Recorded string   `json:"recorded"`
	Replayed string   `json:"replayed"`
	Status   Status   `json:"match_status,omitempty"` // absent when the replay failed
	Strategy Strategy `json:"strategy"`
	// Measure and Threshold belong to the semantic strategy.
	Measure   string  `json:"measure,omitempty"`
	Threshold float64 `json:"threshold,omitempty"`
	// Score is how alike the responses are by the strategy, 0 to 1.
	Score  float64 `json:"score"`
	Fields []Field `json:"fields"`
	// ToolCalls are the differences between the lists of tool calls.
	ToolCalls []CallChange `json:"tool_calls,omitempty"`
}

// Field says whether one part of the outcomes is equal. Parts that one side lacks are not compared.
type Field struct {
	Name  string `json:"name"`
	Equal bool   `json:"equal"`
}

// CallChange is one difference between two lists of tool calls, by their positions from 1.
type CallChange struct {
	Change   string `json:"change"` // inserted, removed, changed_input, changed_output
	Tool     string `json:"tool"`
	Recorded int    `json:"recorded,omitempty"`
	Replayed int    `json:"replayed,omitempty"`
}

// Matching says how to compare.
type Matching struct {
	Strategy  Strategy
	Threshold float64 // of the semantic strategy; DefaultThreshold if 0
	Measure   Measure // of the semantic strategy; TokenCosine if empty
}

// Match compares the outcome of a recorded run with that of its replay. It compares responses, and artifacts and tool calls where both
// sides have them. Equal responses are an exact match, or a partial one when something else differs. The semantic strategy makes a
// semantic match of responses that are alike. The structural strategy makes a partial match of responses with an equal shape.
func (m Matching) Match(recorded, replayed Outcome) (Result, error) {
	if m.Threshold == 0 {
		m.Threshold = DefaultThreshold
	}
	measure := m.Measure
	if measure.Of == nil {
		measure = TokenCosine
	}
	r := Result{Recorded: recorded.ID, Replayed: replayed.ID, Strategy: m.Strategy, Status: NoMatch}
	a, err := recorded.hash()
	if err != nil {
		return r, fmt.Errorf("the recorded run: %w", err)
	}
	b, err := replayed.hash()
	if err != nil {
		return r, fmt.Errorf("the replay: %w", err)
	}
	r.Fields = []Field{{"response", a == b}}
	if !recorded.artifacts.IsAbsent() && !replayed.artifacts.IsAbsent() {
		r.Fields = append(r.Fields, Field{"artifacts_created", recorded.artifacts.Equal(replayed.artifacts)})
	}
	if !recorded.calls.IsAbsent() && !replayed.calls.IsAbsent() {
		r.ToolCalls = callChanges(recorded.calls, replayed.calls)
		r.Fields = append(r.Fields, Field{"tool_calls", len(r.ToolCalls) == 0})
	}
	differs := func(f Field) bool { return !f.Equal }
	switch {
	case a == b:
		r.Score = 1
		if r.Status = ExactMatch; slices.ContainsFunc(r.Fields, differs) {
			r.Status = PartialMatch
		}
	case slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Equal }):
		r.Status = PartialMatch
	}
	if m.Strategy == Semantic {
		r.Measure, r.Threshold = measure.Name, m.Threshold
	}
	if a == b || m.Strategy == Exact {
		return r, nil
	}
	if recorded.response.IsAbsent() || replayed.response.IsAbsent() {
		return r, fmt.Errorf("a response is known by its hash only: %w", ErrNoResponse)
	}
	switch x, y := recorded.response.Str(), replayed.response.Str(); m.Strategy {
	case Semantic:
		if r.Score = measure.Of(x, y); r.Score >= m.Threshold {
			r.Status = SemanticMatch
		}
	case Structural:
		if SameShape(x, y) {
			r.Score, r.Status = 1, PartialMatch
		}
	}
	return r, nil
}

// SameShape reports two JSON texts with the same tree of names and types. Text that is not JSON has no shape.
func SameShape(a, b string) bool {
	x, err := exactjson.Parse(a)
	if err != nil {
		return false
	}
	y, err := exactjson.Parse(b)
	return err == nil && shapeOf(x) == shapeOf(y)
}

// shapeOf writes the tree of names and types: the members of an object sorted, the shapes of the elements of an array once each, in order.
func shapeOf(v exactjson.Value) string {
	switch v.Kind() {
	case exactjson.Object:
		var list []string
		for _, m := range v.Members() {
			list = append(list, strconv.Quote(m.Name)+":"+shapeOf(m.Value))
		}
		slices.Sort(list)
		return fmt.Sprint("{", list, "}")
	case exactjson.Array:
		var list []string
		for _, m := range v.Members() {
			list = append(list, shapeOf(m.Value))
		}
		slices.Sort(list)
		return fmt.Sprint("[", slices.Compact(list), "]")
	default:
		return fmt.Sprint(v.Kind())
	}
}

// maxCalls bounds the table of callChanges; longer lists are compared position by position.
const maxCalls = 2000

// callChanges compares two lists of calls by tool and input: the fewest calls that were inserted and removed, and a change where one stands
// against the other. Outputs are compared of calls with equal input only: other answers to other questions say nothing.
func callChanges(a, b exactjson.Value) []CallChange {
	key := func(v exactjson.Value) string {
		return v.Get("tool").Str() + "\x00" + bareHash(v.Get("input_hash").Str())
	}
	x, y := make([]string, a.Len()), make([]string, b.Len())
	for i := range x {
		x[i] = key(a.At(i))
	}
	for i := range y {
		y[i] = key(b.At(i))
	}
	var changes []CallChange
	for _, p := range align(x, y) {
		switch {
		case p[0] < 0:
			changes = append(changes, CallChange{Change: "inserted", Tool: b.At(p[1]).Get("tool").Str(), Replayed: p[1] + 1})
		case p[1] < 0:
			changes = append(changes, CallChange{Change: "removed", Tool: a.At(p[0]).Get("tool").Str(), Recorded: p[0] + 1})
		case x[p[0]] != y[p[1]]:
			changes = append(changes, CallChange{"changed_input", a.At(p[0]).Get("tool").Str(), p[0] + 1, p[1] + 1})
		default:
			old, now := a.At(p[0]).Get("output_hash"), b.At(p[1]).Get("output_hash")
			if !old.IsAbsent() && !now.IsAbsent() && bareHash(old.Str()) != bareHash(now.Str()) {
				changes = append(changes, CallChange{"changed_output", a.At(p[0]).Get("tool").Str(), p[0] + 1, p[1] + 1})
			}
		}
	}
	return changes
}

// align pairs the elements of two lists with the fewest changes; -1 stands for none. A removal beside an insertion of the same tool is one
// changed call.
func align(x, y []string) [][2]int {
	var pairs [][2]int
	if len(x) > maxCalls || len(y) > maxCalls {
		for i := range max(len(x), len(y)) {
			p := [2]int{i, i}
			if i >= len(x) {
				p[0] = -1
			}
			if i >= len(y) {
				p[1] = -1
			}
			pairs = append(pairs, p)
		}
		return pairs
	}
	tool := func(key string) string { name, _, _ := strings.Cut(key, "\x00"); return name }
	cost := make([][]int, len(x)+1)
	for i := len(x); i >= 0; i-- {
		cost[i] = make([]int, len(y)+1)
		for j := len(y); j >= 0; j-- {
			switch {
			case i == len(x):
				cost[i][j] = 2 * (len(y) - j)
			case j == len(y):
				cost[i][j] = 2 * (len(x) - i)
			case x[i] == y[j]:
				cost[i][j] = cost[i+1][j+1]
			default:
				cost[i][j] = 2 + min(cost[i+1][j], cost[i][j+1])
				if tool(x[i]) == tool(y[j]) {
					cost[i][j] = min(cost[i][j], 3+cost[i+1][j+1])
				}
			}
		}
	}
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case i < len(x) && j < len(y) && (x[i] == y[j] || tool(x[i]) == tool(y[j]) && cost[i][j] == 3+cost[i+1][j+1]):
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case i < len(x) && (j == len(y) || cost[i][j] == 2+cost[i+1][j]):
			pairs = append(pairs, [2]int{i, -1})
			i++
		default:
			pairs = append(pairs, [2]int{-1, j})
			j++
		}
	}
	return pairs
}
