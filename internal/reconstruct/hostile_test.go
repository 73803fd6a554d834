// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A sender chooses what its spans look like. Each of these traces must end in tapes that verify or in a reason; the test's own time
// limit is the bound.
var hostile = map[string]func(tr *trace){
	"nothing but ids": func(tr *trace) {
		for i := 1; i < 50; i++ {
			tr.in("", "", i, i-1, 0, 0)
		}
	},
	"no ids at all": func(tr *trace) {
		for i := range 50 {
			s := tr.tool("f", 0, 0, i, i+1, "", fmt.Sprintf(`{"i":%d}`, i), "v")
			s.SetSpanID(pcommon.SpanID{})
		}
	},
	"no times": func(tr *trace) {
		tr.agent("a", 1, 0, 0, 0)
		tr.chat(2, 1, 0, 0, list(user("q")), list(asks(call("c", "f", `{}`))))
		tr.tool("f", 3, 1, 0, 0, "c", `{}`, "v")
		for _, ss := range tr.scopes {
			for _, s := range ss.Spans().All() {
				s.SetStartTimestamp(0)
				s.SetEndTimestamp(0)
			}
		}
	},
	"times at the end of the world": func(tr *trace) {
		s := tr.agent("a", 1, 0, 0, 0)
		s.SetStartTimestamp(1<<64 - 1)
		s.SetEndTimestamp(1)
		s = tr.tool("f", 2, 1, 0, 0, "", `{}`, "v")
		s.SetStartTimestamp(1)
		s.SetEndTimestamp(1<<64 - 1)
	},
	"text that is no text": func(tr *trace) {
		bad := "\xff\xfe\x00\xed\xa0\x80 \u2028"
		tr.agent(bad, 1, 0, 0, 100, "gen_ai.conversation.id", bad, "user.id", bad)
		tr.chat(2, 1, 1, 10, bad, bad, "gen_ai.request.temperature", bad, "gen_ai.response.finish_reasons", bad)
		tr.tool(bad, 3, 1, 20, 30, bad, bad, bad)
	},
	"values a thousand deep": func(tr *trace) {
		text := strings.Repeat(`{"a":[`, 500) + strings.Repeat(`]}`, 500)
		tr.agent("a", 1, 0, 0, 100)
		tr.tool("json", 2, 1, 1, 2, "", text, text)
		tr.tool("python", 3, 1, 3, 4, "", strings.ReplaceAll(text, `"`, `'`), "v")
		tr.chat(4, 1, 5, 6, strings.Repeat("[", 5000), strings.Repeat(`{"message":`, 5000))
		v := tr.tool("nested", 5, 1, 7, 8, "", "", "v").Attributes().PutEmpty("gen_ai.tool.call.arguments")
		for range 1000 {
			v = v.SetEmptyMap().PutEmpty("a")
		}
	},
	"agents within agents": func(tr *trace) {
		for i := range 2000 {
			tr.agent(fmt.Sprint("a", i), i+1, i, i, 10_000-i)
		}
		tr.tool("f", 2001, 2000, 2000, 2001, "", `{}`, "v")
	},
	"tools within tools": func(tr *trace) {
		tr.agent("a", 1, 0, 0, 20_000)
		for i := 1; i < 2000; i++ {
			tr.tool("f", i+1, i, i, 10_000-i, "", fmt.Sprintf(`{"i":%d}`, i), "v")
		}
	},
	"models within models": func(tr *trace) {
		for i := range 2000 {
			tr.chat(i+1, i, i, 10_000-i, list(user("q")), list(says("a")))
		}
	},
	"every span in a circle": func(tr *trace) {
		for i := range 2000 {
			tr.tool("f", i+1, (i+1)%2000+1, i, i+1, "", `{}`, "v")
		}
	},
	"orphans within orphans": func(tr *trace) {
		for i := range 300 {
			tr.tool("f", i+1, 10_000+i, i, 10_000-i, "", fmt.Sprintf(`{"i":%d}`, i), "v")
		}
	},
	"one call id for all": func(tr *trace) {
		tr.agent("a", 1, 0, 0, 10_000)
		for i := range 300 {
			tr.chat(2*i+2, 1, 3*i, 3*i+1, list(user("q")), list(asks(call("c", "f", `{}`), call("c", "f", `{}`))))
			tr.tool("f", 2*i+3, 1, 3*i+1, 3*i+2, "c", `{}`, "v")
		}
	},
	"answers that come before their questions": func(tr *trace) {
		tr.agent("a", 1, 0, 0, 1000)
		for i := range 20 {
			tr.chat(2+i, 1, 100-i, 101-i, list(user("q"), asks(call(fmt.Sprint("c", i), "f", `{}`)), shows(fmt.Sprint("c", i), "v"), shows(fmt.Sprint("c", i+1), "w")), list(asks(call(fmt.Sprint("c", i), "f", `{}`))))
		}
	},
	"many payloads under one id": func(tr *trace) {
		for i := range 500 {
			tr.tool(fmt.Sprint("f", i%7), 1, i%3, i, 10-i, "", fmt.Sprintf(`{"i":%d}`, i), "v")
		}
	},
	"flattened keys without end": func(tr *trace) {
		s := tr.in("openinference.instrumentation.x", "llm", 1, 0, 0, 1, "openinference.span.kind", "LLM")
		for i := range 3000 {
			s.Attributes().PutStr(fmt.Sprintf("llm.input_messages.%d.message.role", i*7919%100_000), "user")
			s.Attributes().PutStr("llm.input_messages."+strings.Repeat("0.", i%40)+"message.content", "x")
		}
	},
	"messages of every nonsense": func(tr *trace) {
		tr.agent("a", 1, 0, 0, 1000)
		for i, text := range []string{
			`null`, `0`, `""`, `[]`, `{}`, `[null]`, `[[]]`, `[[[[[[[[[[[["x"]]]]]]]]]]]]`, `{"role":1}`, `{"role":"user","parts":{}}`, `{"role":"tool"}`,
			`[{"role":"assistant","parts":[{"type":"tool_call"}]}]`, `[{"role":"tool","parts":[{"type":"tool_call_response"}]}]`,
			`{"message":{"message":{"role":"user","content":{"text":{}}}}}`, `[{"type":"function_call"},{"type":"function_call_output"}]`,
			`{"lc":1,"type":"constructor","id":[],"kwargs":{}}`, `[{"role":"user","content":[{"type":"image"}]}]`, `[{"role":"","content":""}]`,
		} {
			tr.chat(i+2, 1, i, i+1, text, text, "gen_ai.tool.definitions", text, "gen_ai.system_instructions", text, "gen_ai.request.temperature", text)
			tr.tool("f", i+200, 1, i, i+1, "", text, text)
		}
	},
	"errors without words": func(tr *trace) {
		s := tr.agent("a", 1, 0, 0, 100)
		s.Status().SetCode(ptrace.StatusCodeError)
		tr.chat(2, 1, 1, 2, "", "").Status().SetCode(ptrace.StatusCodeError)
		tr.tool("f", 3, 1, 3, 4, "", "", "").Status().SetCode(ptrace.StatusCodeError)
	},
}

func TestHostileTracesEndInATapeOrAReason(t *testing.T) {
	for name, write := range hostile {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			write(tr)
			tr.derive(t)
		})
	}
}

// A few bytes tell a turn, and each recovered request repeats all turns before it.
func TestTurnsThatOneRecordTellsAreBounded(t *testing.T) {
	const turns, most = 4000, 1100 // events of a run are as many as the bound on its messages allows
	var output []string
	for i := range turns {
		id := fmt.Sprintf("call_%012d", i)
		output = append(output, asks(call(id, "f", `{}`)), shows(id, "r"))
	}
	loop := list(append(output, says("end"))...)
	for name, build := range map[string]func(*trace){
		"the output of a model call": func(tr *trace) {
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), loop)
		},
		"the output of an agent": func(tr *trace) {
			tr.agent("a", 1, 0, 0, 100, "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", loop)
		},
	} {
		tr := newTrace()
		build(tr)
		tp := the(t, tr.runs(t))
		if len(tp.Events) > most {
			t.Errorf("%s: %d events", name, len(tp.Events))
		}
		if tp.Fidelity.Grade == tape.GradeOffline || !slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return strings.Contains(f.Detail, "more turns than are read") }) {
			t.Errorf("%s: graded %s, and what is missing is not said", name, tp.Fidelity.Grade)
		}
	}
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 10*turns)
	for i := range turns {
		tr.chat(i+2, 1, 2*i+1, 2*i+2, list(user(fmt.Sprint("q", i))), list(says(fmt.Sprint("a", i))), "gen_ai.response.id", fmt.Sprint("r", i), "gen_ai.request.previous_response.id", fmt.Sprint("r", i-1))
	}
	tp, sent := the(t, tr.runs(t)), 0
	for _, e := range tp.Events {
		sent += len(e.Request.Messages)
	}
	if sent > 1<<19 || tp.Fidelity.Grade == tape.GradeOffline {
		t.Errorf("a chain of responses: graded %s, and %d messages in its requests", tp.Fidelity.Grade, sent)
	}
}
