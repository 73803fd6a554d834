// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// The spans of waza: runs have no span of their own, the turns of all runs of a task lie side by side.

const wazaScope = "github.com/microsoft/waza"

func (tr *trace) wazaTask(id, eval, start, end int, name string) {
	tr.in(wazaScope, "waza.task", id, eval, start, end, "waza.task.id", name, "waza.task.name", "The task "+name)
}

func (tr *trace) wazaTurn(id, task, start, end, number int, kind, prompt, answer string, attrs ...any) {
	tr.in(wazaScope, "waza.turn", id, task, start, end, append([]any{"gen_ai.system", "github_copilot", "gen_ai.operation.name", "chat", "waza.turn.number", int64(number),
		"waza.turn.kind", kind, "gen_ai.request.model", "m1", "gen_ai.prompt", prompt, "gen_ai.completion", answer}, attrs...)...)
}

func (tr *trace) wazaTool(id, turn, when int, name, callID, args, result string) {
	tr.in(wazaScope, "waza.tool_call", id, turn, when, when, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.call.id", callID,
		"waza.tool.success", true, "gen_ai.tool.arguments", args, "gen_ai.tool.result", result)
}

func evaluation() *trace {
	tr := newTrace()
	tr.in(wazaScope, "waza.eval", 1, 0, 0, 1000, "waza.eval.name", "nightly", "waza.eval.skill", "notes", "waza.eval.engine", "copilot-sdk", "waza.eval.run_id", "run-7", "gen_ai.request.model", "m1")
	tr.wazaTask(2, 1, 1, 900, "a")
	tr.wazaTask(3, 1, 1, 950, "b")
	tr.wazaTurn(4, 2, 2, 400, 1, "initial", "read", "ready", "waza.turn.trial", int64(1))
	tr.wazaTool(5, 4, 100, "view", "c1", `{"path":"n"}`, `{"content":"ready"}`)
	tr.wazaTurn(6, 2, 200, 300, 2, "follow_up", "whole?", "yes", "waza.session.id", "s1")
	tr.wazaTool(7, 6, 290, "view", "c2", `{}`, `{"content":"x"}`)
	for i, model := range []string{"m1-a", "m1-b"} {
		tr.in(wazaScope, "waza.model_call", 8+i, 4, 101+2*i, 102+2*i, "gen_ai.operation.name", "chat", "gen_ai.response.model", model, "gen_ai.usage.input_tokens", int64(10), "gen_ai.usage.output_tokens", int64(2))
	}
	tr.wazaTurn(10, 2, 410, 800, 1, "initial", "read", "ready again", "waza.turn.trial", int64(2))
	tr.wazaTurn(11, 3, 150, 350, 1, "initial", "say hi", "hi", "waza.turn.trial", int64(1))
	return tr
}

func extension(t *tape.Tape, member string) string {
	return t.Extensions.Get("waza").Get(member).Text()
}

func TestEachTrialOfATaskIsARun(t *testing.T) {
	tapes := evaluation().runs(t)
	if len(tapes) != 3 {
		t.Fatalf("%d runs %v, want 3", len(tapes), roots(tapes))
	}
	first, other, second := tapes[0], tapes[1], tapes[2]
	wantEvents(t, first, "model_call @4", `tool_call view @5 = {"content":"ready"}`, "model_call @6", `tool_call view @7 = {"content":"x"}`)
	wantEvents(t, other, "model_call @b")
	wantEvents(t, second, "model_call @a")
	for i, want := range []struct{ task, trial, asked, answered, conversation string }{
		{"a", "1", "read", "yes", "s1"}, {"b", "1", "say hi", "hi", ""}, {"a", "2", "read", "ready again", ""},
	} {
		tp := tapes[i]
		got := struct{ task, trial, asked, answered, conversation string }{tp.Run.TaskID, extension(tp, "turn.trial"), *tp.Input.UserMessage, *tp.Output.Text, tp.Run.ConversationID}
		if got != want {
			t.Errorf("run %d: %+v, want %+v", i, got, want)
		}
		for member, want := range map[string]string{"eval.name": "nightly", "eval.skill": "notes", "eval.engine": "copilot-sdk", "eval.run_id": "run-7", "task.id": want.task, "task.name": "The task " + want.task} {
			if got := extension(tp, member); got != want {
				t.Errorf("run %d: %s is %q, want %q", i, member, got, want)
			}
		}
		if tp.Fidelity.Replayable.Model {
			t.Errorf("run %d: its model calls are said to be servable; only prompts and final answers are known", i)
		}
	}
	if u := first.Events[0].Usage; u == nil || *u.InputTokens != 20 || *u.OutputTokens != 4 {
		t.Errorf("usage of two models: %+v", u)
	}
	if e := first.Events[1]; e.Args.JSON() != `{"path":"n"}` || e.Provenance["args"] != "" {
		t.Errorf("arguments %s, %q", e.Args.JSON(), e.Provenance["args"])
	}
	if e := first.Events[3]; !e.Args.IsAbsent() || e.Provenance["args"] != tape.Missing {
		t.Errorf("arguments of which waza keeps none: %s, %q", e.Args.JSON(), e.Provenance["args"])
	}
	if other.Fidelity.Grade != tape.GradeTools || first.Fidelity.Grade == tape.GradeTools {
		t.Errorf("grades %s and %s", other.Fidelity.Grade, first.Fidelity.Grade)
	}
}

func TestTurnsWhoseFirstTurnNeverCameAreOneRun(t *testing.T) {
	tr := newTrace()
	tr.wazaTask(2, 1, 1, 900, "a")
	tr.wazaTurn(6, 2, 200, 300, 2, "follow_up", "second", "yes", "waza.session.id", "s1")
	tr.wazaTurn(7, 2, 310, 400, 3, "follow_up", "third", "no", "waza.session.id", "s1")
	tr.wazaTurn(8, 2, 500, 600, 2, "follow_up", "second", "yes", "waza.session.id", "s2")
	tapes := tr.runs(t)
	if got := roots(tapes); !slices.Equal(got, []string{"6", "8"}) {
		t.Fatalf("runs %v", got)
	}
	wantEvents(t, tapes[0], "model_call @6", "model_call @7")
}

func TestTurnsWhoseTaskNeverCameKeepTheirRuns(t *testing.T) {
	tr := newTrace()
	tr.wazaTurn(4, 2, 2, 400, 1, "initial", "read", "ready", "waza.turn.trial", int64(1))
	tr.wazaTurn(6, 2, 200, 300, 2, "follow_up", "whole?", "yes", "waza.session.id", "s1")
	tr.wazaTurn(10, 2, 410, 800, 1, "initial", "read", "ready again", "waza.turn.trial", int64(2))
	tapes := tr.runs(t)
	if got := roots(tapes); !slices.Equal(got, []string{"4", "a"}) {
		t.Fatalf("runs %v", got)
	}
	wantEvents(t, tapes[0], "model_call @4", "model_call @6")
	if tapes[0].Run.Status != tape.StatusIncomplete {
		t.Errorf("status %s: the task and the evaluation never came", tapes[0].Run.Status)
	}
}
