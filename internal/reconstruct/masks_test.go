// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// What producers and exporters write in place of a value is never presented as what was sent, wherever it stands.
func TestMasksInsideValuesAreLabelled(t *testing.T) {
	for _, mask := range []string{"[Scrubbed due to 'token']", `[Scrubbed due to "tok'en"]`, "[REDACTED]", "__REDACTED__", "Bearer [REDACTED]"} {
		quoted := quote(mask)
		inside := `{"user":"ada","keys":[` + quoted + `]}`
		for _, c := range []struct {
			name                           string
			args, result, shown, q, answer string
			field                          string // of the tool call, else of the run
		}{
			{name: "arguments", args: inside, field: "args"},
			{name: "a result", result: inside, field: "result"},
			{name: "a result that only a request shows", shown: inside, field: "result"},
			{name: "a result as Python writes it", result: `{'user': 'ada', 'key': '` + strings.ReplaceAll(mask, "'", `\'`) + `'}`, field: "result"},
			{name: "a result within JSON text", result: quote(inside), field: "result"},
			{name: "the answer", answer: inside, field: "output.text"},
			{name: "what was asked", q: inside, field: "input.user_message"},
		} {
			args, q, answer := c.args, c.q, c.answer
			if args == "" {
				args = `{"x":1}`
			}
			if q == "" {
				q = "q"
			}
			if answer == "" {
				answer = "end"
			}
			result, shown := c.result, c.shown
			if result == "" && shown == "" {
				result = "r"
			}
			ask := asks(call("c1", "f", args))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user(q)), list(ask))
			tr.tool("f", 3, 1, 11, 12, "c1", args, result)
			tr.chat(4, 1, 20, 30, list(user(q), ask, shows("c1", shown+result)), list(says(answer)), "logfire.scrubbed", `[{"path":["attributes","x"],"matched_substring":"token"}]`)
			tp := the(t, tr.runs(t))
			label, of := tape.Label(""), tp.Events[1].Provenance[c.field]
			switch object, name, ofRun := strings.Cut(c.field, "."); {
			case !ofRun:
				label = of
				if tp.Fidelity.Replayable.Tools {
					t.Errorf("%s, %s: the tape claims that its tools can be served", mask, c.name)
				}
				for _, e := range oracle.FromTape(tp) {
					if e.ArgsFidelity == oracle.Exact && e.ResponseFidelity == oracle.Exact {
						t.Errorf("%s, %s: the oracle serves %s as exact", mask, c.name, e.Response)
					}
				}
			case object == "output":
				label = tp.Output.Provenance[name]
			default:
				label = tp.Input.Provenance[name]
			}
			if label != tape.Lossy {
				t.Errorf("%s, %s: label %q", mask, c.name, label)
			}
			if !slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeMasked && f.Field == c.field }) {
				t.Errorf("%s, %s: no finding names %s: %v", mask, c.name, c.field, codes(tp))
			}
		}
	}
}

// A mask in place of the whole is no value.
func TestWholeMasksAreNoValues(t *testing.T) {
	for _, mask := range []string{"[Scrubbed due to 'session']", "[REDACTED]"} {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(`{"role":"system","parts":[{"type":"text","content":`+quote(mask)+`}]}`, user(mask)), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, mask)
		tr.chat(4, 1, 20, 30, list(user(mask), ask, shows("c1", mask)), list(says(mask)))
		tp := the(t, tr.runs(t))
		if tp.Input.UserMessage != nil || tp.Input.SystemPrompt != nil || tp.Output.Text != nil || !tp.Events[1].Result.IsAbsent() {
			t.Errorf("%s is presented as a value: asked %v, instructions %v, answer %v, result %s", mask, tp.Input.UserMessage, tp.Input.SystemPrompt, tp.Output.Text, tp.Events[1].Result.JSON())
		}
		want := "masked masked masked masked"
		if got := fmt.Sprint(tp.Input.Provenance["user_message"], " ", tp.Input.Provenance["system_prompt"], " ", tp.Output.Provenance["text"], " ", tp.Events[1].Provenance["result"]); got != want {
			t.Errorf("%s: labels %s, want %s", mask, got, want)
		}
		if tp.Run.Status != tape.StatusOK {
			t.Errorf("%s: status %s, and the run answered", mask, tp.Run.Status)
		}
	}
}

// Text that speaks of a mask is no mask.
func TestTextAboutMasksIsText(t *testing.T) {
	for _, text := range []string{"the log has [REDACTED] where the key was", `{"note":"REDACTED is a word"}`, "Scrubbed due to rain"} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user(text)), list(says(text)))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, text)
		tp := the(t, tr.runs(t))
		if len(tp.Events[1].Provenance)+len(tp.Input.Provenance)+len(tp.Output.Provenance) > 0 {
			t.Errorf("%s: labels %v %v %v", text, tp.Events[1].Provenance, tp.Input.Provenance, tp.Output.Provenance)
		}
	}
}
