// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"os"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TestVerdictsOnARunAreGraders leaves out verdicts that do not say pass or fail, or that contradict
// themselves.
func TestVerdictsOnARunAreGraders(t *testing.T) {
	written, err := os.ReadFile("../../../tape/testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(written)
	if err != nil {
		t.Fatal(err)
	}
	tp.Run.Status, tp.Extensions = tape.StatusOK, exactjson.Value{}
	tp.Verdicts = []tape.Verdict{
		{Name: "correctness", Value: exactjson.FloatValue(0.25), Label: "Fail", Explanation: "wrong sum", Judge: "LLM", Of: tape.OfRun},
		{Name: "tests", Label: "passed", Of: tape.OfRun},
		{Name: "stars", Value: exactjson.IntValue(5), Label: "pass", Judge: "HUMAN", Of: tape.OfRun},
		{Name: "tone", Value: exactjson.FloatValue(0.5), Of: tape.OfRun},
		{Name: "contradiction", Value: exactjson.IntValue(0), Label: "pass", Of: tape.OfRun},
		{Name: "event", Label: "fail", Of: tape.OfEvent, Seq: 1},
	}
	body, _, err := Encode(tp, oracle.FromTape(tp), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := exactjson.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"correctness":{"identifier":"correctness","type":"prompt","score":0.25,"weight":1,"passed":false,"feedback":"wrong sum","duration_ms":0},` +
		`"stars":{"identifier":"stars","type":"program","score":1,"weight":1,"passed":true,"feedback":"pass","duration_ms":0},` +
		`"tests":{"identifier":"tests","type":"program","score":1,"weight":1,"passed":true,"feedback":"passed","duration_ms":0}}`
	if got := doc.Get("result").Get("validations").JSON(); got != want || doc.Get("result").Get("status").Str() != "failed" {
		t.Errorf("%s %s\nwant %s", doc.Get("result").Get("status").Str(), got, want)
	}
}
