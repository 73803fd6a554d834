// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// conventionsTable lists the attributes of the conventions: name, type, the span that bears it here, where
// its value lands, and why it does not. Its origin stands in its first lines.
const conventionsTable = "testdata/conventions.tsv"

// marked is a value of each type that stands nowhere else, and how a tape writes it.
var marked = map[string]struct {
	value any
	spelt string
}{
	"string":   {"marked-7391", "marked-7391"},
	"enum":     {"marked-7391", "marked-7391"},
	"string[]": {[]any{"marked-7391"}, "marked-7391"},
	"int":      {int64(73917391), "73917391"},
	"double":   {0.73917391, "0.73917391"},
	"boolean":  {true, "true"},
	"any":      {`{"marked":"marked-7391"}`, "marked-7391"},
}

// messagesMarked are values of attributes that hold messages, definitions or documents.
var messagesMarked = map[string]string{
	"gen_ai.input.messages":      list(user("marked-7391")),
	"gen_ai.output.messages":     list(says("marked-7391")),
	"gen_ai.system_instructions": `[{"type":"text","content":"marked-7391"}]`,
	"gen_ai.tool.definitions":    `[{"type":"function","name":"marked-7391"}]`,
	"gen_ai.retrieval.documents": `[{"id":"marked-7391","score":1}]`,
	"gen_ai.prompt":              list(user("marked-7391")),
	"gen_ai.completion":          list(says("marked-7391")),
}

// TestConventionsLandOrAreNamed sends each attribute of the conventions in a run. Its value stands on the
// tape, or the table says that it does not, and why.
func TestConventionsLandOrAreNamed(t *testing.T) {
	body, err := os.ReadFile(conventionsTable)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 5 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		name, kind, on, lands, why := cells[0], cells[1], cells[2], cells[3], cells[4]
		n++
		value, spelt := marked[kind].value, marked[kind].spelt
		if text, ok := messagesMarked[name]; ok {
			value = text
		}
		without := writtenTapes(t, func(map[string]ptrace.Span) {})
		tapes := writtenTapes(t, func(spans map[string]ptrace.Span) {
			bearer, ok := spans[on]
			if !ok {
				t.Fatalf("%s: no span is %q", name, on)
			}
			attributes := bearer.Attributes()
			if on == "event" {
				event := spans["model"].Events().AppendEmpty()
				event.SetName("gen_ai.evaluation.result")
				attributes = event.Attributes()
			}
			if err := attributes.PutEmpty(name).FromRaw(value); err != nil {
				t.Fatal(err)
			}
		})
		held := strings.Count(tapes, spelt) > strings.Count(without, spelt)
		switch {
		case lands == "tape" && !held:
			t.Errorf("%s on a span of kind %s: its value stands nowhere on the tape", name, on)
		case lands == "-" && held:
			t.Errorf("%s stands on the tape, and is said to be left out", name)
		case lands == "-" && why == "":
			t.Errorf("%s is left out, and nothing says why", name)
		case !slices.Contains([]string{"tape", "-"}, lands):
			t.Errorf("%s lands in %q", name, lands)
		}
	}
	if n < 70 {
		t.Errorf("only %d attributes", n)
	}
}

// writtenTapes derives a run with a span of each kind, which change is given by name, and returns the tapes
// as they are written.
func writtenTapes(t *testing.T, change func(map[string]ptrace.Span)) string {
	t.Helper()
	ask := asks(call("call_AAAAAAAAAAAAAAAA", "f", `{"x":1}`))
	tr := newTrace()
	spans := map[string]ptrace.Span{
		"agent":      tr.agent("a", 1, 0, 0, 100),
		"model":      tr.chat(2, 1, 1, 10, "", "", "gen_ai.provider.name", "openai"),
		"tool":       tr.tool("f", 3, 1, 11, 20, "call_AAAAAAAAAAAAAAAA", `{"x":1}`, "v"),
		"last":       tr.chat(4, 1, 21, 30, list(user("q"), ask, shows("call_AAAAAAAAAAAAAAAA", "v")), list(says("end"))),
		"mcp":        tr.in("test", "tools/call g", 5, 1, 31, 40, "mcp.method.name", "tools/call", "gen_ai.tool.name", "g", "gen_ai.operation.name", "execute_tool"),
		"retrieval":  tr.in("test", "retrieval r", 6, 1, 41, 50, "gen_ai.operation.name", "retrieval"),
		"embeddings": tr.in("test", "embeddings e", 7, 1, 51, 60, "gen_ai.operation.name", "embeddings", "gen_ai.request.model", "e"),
		"old":        tr.in("test", "chat m1", 9, 1, 71, 80, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"),
		"loose tool": tr.in("test", "execute_tool", 10, 1, 81, 90, "gen_ai.operation.name", "execute_tool"),
		"memory":     tr.in("test", "search_memory m", 8, 1, 61, 70, "gen_ai.operation.name", "search_memory"),
	}
	spans["event"] = spans["model"]
	change(spans)
	for name, text := range map[string]string{"gen_ai.input.messages": list(user("q")), "gen_ai.output.messages": list(ask)} {
		if attributes := spans["model"].Attributes(); !has(attributes, name) {
			attributes.PutStr(name, text)
		}
	}
	return writtenAs(tr.runs(t))
}

func has(m pcommon.Map, name string) bool {
	_, ok := m.Get(name)
	return ok
}
