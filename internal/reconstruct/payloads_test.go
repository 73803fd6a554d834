// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Two payloads under one span id, whichever comes first and whichever sorts first.
func TestConflictingPayloadsAreDecidedByEvidence(t *testing.T) {
	const one, two = "the first result of the tool", "what somebody else wrote down"
	ask := asks(call("c1", "f", `{"x":1}`))
	build := func(results [2]string, ends [2]int, shown string) *tape.Tape {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says("end")))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		for i, result := range results {
			tr.tool("f", 3, 1, 11, ends[i], "c1", `{"x":1}`, result)
		}
		if shown != "" {
			tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		}
		return the(t, tr.runs(t))
	}
	for _, results := range [][2]string{{one, two}, {two, one}} {
		t.Run(fmt.Sprint(results[0] == one), func(t *testing.T) {
			for _, shown := range []string{one, two} {
				e := build(results, [2]int{12, 12}, shown).Events[1]
				if e.Result.Str() != shown || e.Provenance["result"] != "" {
					t.Errorf("a request shows %q, the tape holds %s (%s)", shown, e.Result.JSON(), e.Provenance["result"])
				}
			}
			if e := build(results, [2]int{12, 13}, "").Events[1]; e.Result.Str() != results[1] || e.Provenance["result"] != "" {
				t.Errorf("the payload that ended last holds %q, the tape %s (%s)", results[1], e.Result.JSON(), e.Provenance["result"])
			}
			tp := build(results, [2]int{12, 12}, "")
			e := tp.Events[1]
			if e.Provenance["result"] != tape.Disputed || len(e.OtherResults) != 1 || e.OtherResults[0].From != tape.FromSpan || tp.Fidelity.Replayable.Tools {
				t.Errorf("nothing decides: label %q, others %v, tools %t", e.Provenance["result"], e.OtherResults, tp.Fidelity.Replayable.Tools)
			}
			if entries := oracle.FromTape(tp); len(entries) != 1 || entries[0].ResponseFidelity != oracle.Disputed {
				t.Errorf("the oracle does not say that its answer is disputed: %v", entries)
			}
		})
	}
}

func TestConflictingArgumentsAreThoseThatWereAskedFor(t *testing.T) {
	for _, order := range [][2]string{{`{"x":1}`, `{"x":2}`}, {`{"x":2}`, `{"x":1}`}} {
		for _, asked := range []bool{true, false} {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			ask := asks(call("", "f", `{"x":1}`))
			if asked {
				tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			}
			for _, args := range order {
				tr.tool("f", 3, 1, 11, 12, "", args, "r")
			}
			tp := the(t, tr.runs(t))
			e := tp.Events[len(tp.Events)-1]
			switch {
			case asked && (e.Args.JSON() != `{"x":1}` || e.Provenance["args"] != ""):
				t.Errorf("asked for x=1: the tape holds %s (%s)", e.Args.JSON(), e.Provenance["args"])
			case !asked && e.Provenance["args"] != tape.Disputed:
				t.Errorf("nothing decides: %s is labelled %q", e.Args.JSON(), e.Provenance["args"])
			}
		}
	}
}
