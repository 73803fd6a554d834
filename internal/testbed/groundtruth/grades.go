// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Claim is what a tape says of its tool calls, and whether its oracle keeps it.
type Claim struct {
	Tools  bool   // the tape claims that every tool call can be served
	Proved bool   // its proof is ok
	Served bool   // each call that really happened gets what the tool returned, and no entry is left over
	Why    string // it is not served
}

// Claim asks the oracle of the run's tape for the calls that really happened, in their order, by name and by the hash of the arguments that
// the model wrote, each entry once; an entry whose arguments or response are missing or cut is listed, and serves nobody. ok is false for a
// run without tool calls, and for one that is not one tape.
func (r Run) Claim(tapes []*tape.Tape) (c Claim, ok bool) {
	full := slices.DeleteFunc(slices.Clone(tapes), func(t *tape.Tape) bool { return len(t.Events) == 0 })
	if len(full) == 0 {
		full = tapes
	}
	var calls []value
	for _, m := range r.truth.Get("tool_calls").Members() {
		calls = append(calls, m.Value)
	}
	if len(full) != 1 || len(calls) == 0 {
		return Claim{}, false
	}
	slices.SortStableFunc(calls, func(a, b value) int {
		x, _ := a.Get("order").Int()
		y, _ := b.Get("order").Int()
		return cmp.Compare(x, y)
	})
	f := full[0].Fidelity
	c = Claim{Tools: f.Replayable.Tools, Proved: f.Proof.OK != nil && *f.Proof.OK}
	c.Why = r.unserved(calls, oracle.FromTape(full[0]))
	c.Served = c.Why == ""
	return c, true
}

// unserved says why the entries do not serve the calls, "" when they do.
func (r Run) unserved(calls []value, left []oracle.Entry) string {
	for n, call := range calls {
		hashes := wantedHashes(call)
		fits := func(e oracle.Entry) bool {
			return slices.Contains(namesOf(call), e.ToolName) && e.ArgsHash != "" && slices.Contains(hashes, e.ArgsHash)
		}
		i := slices.IndexFunc(left, fits)
		if i < 0 {
			return "no answer for " + call.Get("name").Str()
		}
		others := 0 // equal calls of one turn ran at the same time: any of the entries that stand for them may answer any of them
		for _, other := range calls[n+1:] {
			if other.Get("llm_order").Equal(call.Get("llm_order")) && other.Get("name").Equal(call.Get("name")) && same(argsOf(other), argsOf(call)) {
				others++
			}
		}
		for k := i + 1; k < len(left) && others > 0 && !answers(left[i], call); k++ {
			if fits(left[k]) {
				i, others = k, others-1
			}
		}
		if !left[i].Servable() {
			return "an entry that is never served for " + call.Get("name").Str()
		}
		if !answers(left[i], call) {
			return fmt.Sprintf("another answer for %s: %.60q", call.Get("name").Str(), left[i].Response)
		}
		left = slices.Delete(left, i, i+1)
	}
	// calls that the model asked for and the framework answered itself may stand in the oracle; so may hand-offs
	if strings.Contains(r.truth.Get("scenario").Str(), "handoff") {
		return ""
	}
	for _, m := range r.truth.Get("requested_but_not_executed").Members() {
		left = slices.DeleteFunc(left, func(e oracle.Entry) bool { return e.ToolName == m.Value.Get("name").Str() })
	}
	if len(left) > 0 {
		return fmt.Sprintf("%d entries that nobody asked for", len(left))
	}
	return ""
}

// wantedHashes are those of what the model wrote, and of what the tool received of it: a JavaScript runtime rounds integers beyond 2^53.
func wantedHashes(call value) []string {
	object := func(v value) value {
		if v.IsEmpty() {
			return exactjson.ObjectValue()
		}
		return v
	}
	hashes := []string{oracle.Hash(object(call.Get("args")))}
	if raw := call.Get("args_raw").Str(); strings.TrimSpace(raw) != "" {
		return append(hashes, oracle.HashText(raw))
	}
	return append(hashes, oracle.Hash(object(argsOf(call))))
}

// answers reports that an entry holds what the tool returned, or its failure.
func answers(e oracle.Entry, call value) bool {
	response := exactjson.StringValue(e.Response)
	shown := func(results []value) bool {
		return slices.ContainsFunc(results, func(r value) bool { return same(r, response) })
	}
	if failure := call.Get("error"); !failure.IsEmpty() {
		untold := call.Get("sent_to_model").IsEmpty() && failure.Str() != "" && strings.Contains(e.Response, failure.Str())
		return e.IsError || untold || shown(append(resultsOf(call), failure)) // some frameworks show the model the error as a result, or would have
	}
	null := call.Get("result").Kind() <= exactjson.Null && slices.Contains([]string{"", "null", "None", `{"result": null}`, `{"result":null}`}, e.Response)
	return null || shown(resultsOf(call))
}
