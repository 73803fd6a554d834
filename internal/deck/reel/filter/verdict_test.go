// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestRunsAreFoundByTheirVerdicts(t *testing.T) {
	var m reel.Meta
	m.Describe(&tape.Tape{Verdicts: []tape.Verdict{
		{Name: "correctness", Value: exactjson.FloatValue(0.25), Label: "fail"}, {Name: "correctness", Value: exactjson.IntValue(1)}, {Name: "tone", Explanation: "rude"},
	}})
	for text, want := range map[string]bool{
		"correctness": true, "tone": true, "other": false, "correct": false,
		"correctness<0.5": true, "correctness < 0.25": false, "correctness<=0.250": true, "correctness>0.9": true, "correctness>=2": false,
		"correctness=fail": true, "correctness == 'fail'": true, "correctness=pass": false, "correctness=1.0": true,
		"correctness!=fail": false, "correctness!=pass": true, "tone<>bad": true, "other!=x": false, "tone<1": false,
	} {
		f := Filter{Verdicts: []string{text}}
		if err := f.Check(time.Now()); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if q := f.Query(view.Query{}); q.Test(&m) != want {
			t.Errorf("%s is %t", text, !want)
		}
	}
	for _, text := range []string{"", "<1", "a<", "a=", "a<bad", "a!b"} {
		f := Filter{Verdicts: []string{text}}
		if err := f.Check(time.Now()); err == nil {
			t.Errorf("%q is a condition", text)
		}
	}
}
