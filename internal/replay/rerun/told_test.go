// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// What a request showed that was not served is evidence of what a tool returned. It counts for a call that no
// record answers, and for no other one.
func TestWhatTheStubSawAnswersACallThatNoRecordDoes(t *testing.T) {
	text := exactjson.StringValue
	recorded := calling("a", "bash")
	recorded.Events[0].ToolCallID, recorded.Events[0].Result, recorded.Events[0].Status = "c1", text("four lines\nand more"), tape.EventOK
	for name, of := range map[string]struct {
		shown   map[string]modelstub.Shown
		failed  *tape.Error
		want    string
		status  tape.EventStatus
		isError bool
	}{
		"as recorded":        {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("four lines\nand more")}}, nil, "four lines\nand more", tape.EventOK, false},
		"in an envelope":     {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text(`{"output":"four lines\nand more"}`)}}, nil, "four lines\nand more", tape.EventOK, false},
		"another":            {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("five lines")}}, nil, "five lines", tape.EventOK, false},
		"its beginning":      {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("four lines")}}, nil, "four lines", tape.EventOK, false},
		"a secret":           {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("hush")}}, nil, "****", tape.EventOK, false},
		"failed":             {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("no such file"), IsError: true}}, nil, "no such file", tape.EventError, true},
		"another call":       {map[string]modelstub.Shown{"c2": {Tool: "bash", Result: text("five lines")}}, nil, "", tape.EventError, false},
		"another tool":       {map[string]modelstub.Shown{"c1": {Tool: "grep", Result: text("five lines")}}, nil, "", tape.EventError, false},
		"nothing was shown":  {nil, nil, "", tape.EventError, false},
		"a record says more": {map[string]modelstub.Shown{"c1": {Tool: "bash", Result: text("four lines")}}, &tape.Error{Message: "killed"}, "", tape.EventError, false},
	} {
		replayed := calling("A", "bash")
		e := &replayed.Events[0]
		e.ToolCallID, e.Status, e.Error, e.Provenance = "c1", tape.EventError, of.failed, tape.Provenance{"result": tape.Missing}
		told := Told(replayed, []*tape.Tape{recorded}, of.shown, func(s string) string { return strings.ReplaceAll(s, "hush", "****") })
		if got := told.Events[0]; got.Result.Str() != of.want || got.Status != of.status || got.IsError != of.isError {
			t.Errorf("%s: %q %s %v", name, got.Result.Text(), got.Status, got.IsError)
		}
		if !e.Result.IsAbsent() {
			t.Errorf("%s: the replayed tape changed", name)
		}
		result, err := compare.Tapes(recorded, told, compare.Options{})
		if equal := name == "as recorded" || name == "in an envelope"; err != nil || result.Equal != equal {
			t.Errorf("%s: equal %v, %v", name, result.Equal, err)
		}
	}
}
