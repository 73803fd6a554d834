// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package whatifd

import (
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/interoptest"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Every run of the corpus is a line; an answer is in it exactly where an oracle would serve it, and what is not kept is named.
func TestCorpusBecomesRawTraces(t *testing.T) {
	outputs, withheld, disagree := 0, 0, 0
	for _, recorded := range interoptest.Corpus(t, "../../../testdata/corpus") {
		body, losses, err := Encode(recorded.Tape, nil, interop.Options{})
		if err != nil || len(losses) == 0 || strings.Count(string(body), "\n") != 1 {
			t.Fatalf("%s: %v, %d losses", recorded.Name, err, len(losses))
		}
		doc, err := exactjson.Parse(strings.TrimSpace(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		answers, differs := map[string]string{}, false
		for i, e := range oracle.FromTape(recorded.Tape) {
			if was, known := answers[e.ToolName+e.ArgsHash]; e.Servable() {
				differs = differs || known && was != e.Response
				answers[e.ToolName+e.ArgsHash] = e.Response
			}
			span := doc.Get("tool_spans").At(i)
			served := e.Servable() && e.Args.Kind() == exactjson.Object
			if span.Get("name").Str() != e.ToolName || (span.Get("output").Kind() == exactjson.String) != served || served && (span.Get("output").Str() != e.Response || !span.Get("args").Equal(e.Args)) {
				t.Errorf("%s: call %d is %s", recorded.Name, i, span.JSON())
			}
			if served {
				outputs++
			} else {
				withheld++
			}
		}
		if (recorded.Tape.Input.UserMessage == nil) && doc.Get("skip_reason").IsEmpty() {
			t.Errorf("%s: a run without a question is not skipped", recorded.Name)
		}
		named := slices.ContainsFunc(losses, func(l interop.Loss) bool { return strings.Contains(l.Reason, "keeps the last one") })
		if named != differs {
			t.Errorf("%s: equal calls with different answers: %v, named: %v", recorded.Name, differs, named)
		}
		if differs {
			disagree++
		}
	}
	if disagree == 0 {
		t.Error("no run has equal calls with different answers")
	}
	if outputs < 200 || withheld < 5 {
		t.Errorf("%d answers, %d withheld", outputs, withheld)
	}
}

// TestAVerdictMakesAFailure names the verdict as the rule of the cohort.
func TestAVerdictMakesAFailure(t *testing.T) {
	for want, v := range map[string]tape.Verdict{
		"failure verdict tone": {Name: "tone", Label: "fail", Of: tape.OfRun},
		"baseline run.status":  {Name: "tone", Label: "pass", Of: tape.OfRun},
	} {
		body, _, err := Encode(&tape.Tape{Verdicts: []tape.Verdict{v}}, nil, interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := exactjson.Parse(strings.TrimSpace(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Get("cohort").Str() + " " + doc.Get("metadata").Get("tapedeck.cohort_rule").Str(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
