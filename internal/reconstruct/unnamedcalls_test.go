// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Where no content of model calls is on record, the functions that ran after one that asked for tools are those tools.
func TestFunctionsAfterAModelThatAskedForToolsAreThem(t *testing.T) {
	function := func(tr *trace, name string, id, parent, start, end int) {
		tr.in("acme", name, id, parent, start, end, "acme.fn.qualname", name, "acme.fn.args", `{"x":1}`, "acme.fn.output", "rain")
	}
	for reason, want := range map[string][]string{"tool_calls": {"look"}, "stop": nil} {
		tr := newTrace()
		function(tr, "assistant", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, "", "", "gen_ai.response.finish_reasons", []any{reason})
		function(tr, "look", 3, 1, 20, 30)
		function(tr, "within", 4, 3, 22, 24) // a part of it
		tr.chat(5, 1, 40, 50, "", "", "gen_ai.response.finish_reasons", []any{"stop"})
		function(tr, "format", 6, 1, 60, 70) // after an answer
		var names []string
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				names = append(names, e.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", reason, names, want)
		}
	}
}

// Functions alone are no run.
func TestFunctionsAloneAreNoRun(t *testing.T) {
	tr := newTrace()
	tr.in("acme", "resize", 1, 0, 0, 100, "acme.fn.qualname", "resize", "acme.fn.args", `{"x":1}`, "acme.fn.output", "done")
	tr.in("acme", "load", 2, 1, 10, 20, "acme.fn.qualname", "load", "acme.fn.args", `{"x":1}`, "acme.fn.output", "done")
	if n := len(tr.runs(t)); n != 0 {
		t.Errorf("%d runs", n)
	}
}
