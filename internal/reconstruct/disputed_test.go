// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestResultThatTheModelWasNotShownIsDisputed(t *testing.T) {
	ask := asks(call("c1", "price", `{"of":"tea"}`))
	for name, c := range map[string]struct {
		result, shown string
		grade         tape.Grade
		code          string
	}{
		"the same":  {"three euros and ten", "three euros and ten", tape.GradeOffline, ""},
		"rewritten": {"three euros and ten", "The tool says: three euros and ten.", tape.GradeOffline, "result_rewritten@2"},
		"unrelated": {"three euros and ten", "sunny, light wind from the west", tape.GradeModel, "result_disputed@2"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("price", 3, 1, 20, 30, "c1", `{"of":"tea"}`, c.result)
			tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", c.shown)), list(says("end")))
			tp := the(t, tr.runs(t))
			if tp.Fidelity.Grade != c.grade || tp.Events[1].Result.Str() != c.result {
				t.Errorf("grade %s, %v", tp.Fidelity.Grade, events(tp))
			}
			if c.code == "" {
				wantCodes(t, tp)
				return
			}
			wantCodes(t, tp, c.code)
			if o := tp.Events[1].OtherResults; len(o) != 1 || o[0].Result.Str() != c.shown || o[0].Seq != 3 {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Whatever instrumentation recorded a run: what its requests prove today, they disprove of another result.
func TestProofOfEveryRecordedRunCanFail(t *testing.T) {
	verified := 0
	for _, run := range runs(t) {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		for _, tp := range reconstruct.All(set.Split(), options) {
			before := tp.Fidelity.Proof
			if known := open[run.Group+"/"+run.Scenario+" (proof)"]; before.Mismatched > 0 != known {
				t.Errorf("%s/%s: %d mismatched, and nothing in the corpus contradicts itself", run.Group, run.Scenario, before.Mismatched)
			}
			kept := 0 // calls that have an error and no result
			for i := range tp.Events {
				e := &tp.Events[i]
				switch {
				case e.Type != tape.EventToolCall:
				case e.Result.IsAbsent():
					kept++
				default:
					e.Result, e.Error, e.IsError, e.Status = exactjson.StringValue("words that nobody said"), nil, false, tape.EventOK
				}
			}
			oracle.Assess(tp)
			after := tp.Fidelity.Proof
			verified += before.Verified
			if after.Verified > kept || after.Mismatched < before.Verified-after.Verified {
				t.Errorf("%s/%s: %+v became %+v", run.Group, run.Scenario, before, after)
			}
			if after.Mismatched > 0 && (after.OK == nil || *after.OK || tp.Fidelity.Replayable.Tools) {
				t.Errorf("%s/%s: %+v, %+v", run.Group, run.Scenario, after, tp.Fidelity.Replayable)
			}
		}
	}
	if verified < 300 {
		t.Errorf("only %d calls of the corpus are verified", verified)
	}
}
