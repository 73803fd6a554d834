// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// conventionsTable lists what the conventions name: attributes, operations, kinds of spans and events. Its
// first lines say where it is from and what its columns are.
const conventionsTable = "testdata/conventions.tsv"

// convention is a row of the table.
type convention struct{ kind, name, typ, on, lands, why string }

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

// TestConventionsLandOrAreNamed sends each row of the table in a run. A value planted in it stands on the
// tape, or the table says that it does not, and why.
func TestConventionsLandOrAreNamed(t *testing.T) {
	counts, spans, types := map[string]int{}, map[string]convention{}, map[string]string{}
	for _, c := range conventions(t) {
		counts[c.kind]++
		switch c.kind {
		case "attribute":
			types[c.name] = c.typ
			c.says(t, c.attribute(t))
		case "operation":
			c.operation(t)
		case "span":
			spans[c.name] = c
			c.operation(t)
		case "on":
			c.says(t, c.onSpan(t, spans[c.typ], types[c.name]))
		case "event":
			c.says(t, c.event(t))
		default:
			t.Errorf("a row of kind %q", c.kind)
		}
	}
	for kind, least := range map[string]int{"attribute": 130, "operation": 50, "span": 20, "on": 130, "event": 16} {
		if counts[kind] < least {
			t.Errorf("only %d rows of kind %s", counts[kind], kind)
		}
	}
}

func conventions(t *testing.T) (list []convention) {
	t.Helper()
	body, err := os.ReadFile(conventionsTable)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 7 {
			t.Fatalf("%d cells: %s", len(cells), line)
		}
		list = append(list, convention{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]})
	}
	return list
}

// says compares what the table says of a row with whether a value planted in it stands on the tape.
func (c convention) says(t *testing.T, held bool) {
	t.Helper()
	switch {
	case c.lands == "-" && held:
		t.Errorf("%s %s stands on the tape, and is said to be left out", c.kind, c.name)
	case c.lands == "-" && c.why == "":
		t.Errorf("%s %s is left out, and nothing says why", c.kind, c.name)
	case c.lands != "-" && !held:
		t.Errorf("%s %s (%s) sent on %s: its value stands nowhere on the tape", c.kind, c.name, c.typ, c.on)
	case c.lands != "-" && c.why != "":
		t.Errorf("%s %s lands, and is said not to: %s", c.kind, c.name, c.why)
	}
}

// attribute reports whether an attribute stands on the tape, on the span or event that bears it.
func (c convention) attribute(t *testing.T) bool {
	t.Helper()
	of := c.typ
	if of == "general" {
		of = "string"
	}
	value, spelt := marked[of].value, marked[of].spelt
	if text, ok := messagesMarked[c.name]; ok {
		value = text
	}
	without := writtenTapes(t, func(map[string]ptrace.Span) {})
	tapes := writtenTapes(t, func(spans map[string]ptrace.Span) {
		var attributes pcommon.Map
		if name := bearers[c.on]; name != "" {
			event := spans["model"].Events().AppendEmpty()
			event.SetName(name)
			attributes = event.Attributes()
		} else if bearer, ok := spans[c.on]; ok {
			attributes = bearer.Attributes()
		} else {
			t.Fatalf("%s: no span is %q", c.name, c.on)
		}
		if err := attributes.PutEmpty(c.name).FromRaw(value); err != nil {
			t.Fatal(err)
		}
	})
	if c.lands != "-" && c.lands != "tape" {
		t.Errorf("attribute %s lands in %q", c.name, c.lands)
	}
	return strings.Count(tapes, spelt) > strings.Count(without, spelt)
}

// bearers are events that bear attributes.
var bearers = map[string]string{"event": "gen_ai.evaluation.result", "exception": "gen_ai.client.operation.exception"}

// sent is the id of the span on which a row is sent, and of one below it.
const sent, below = 20, 21

// run is a run with a span of an operation, or of a kind of spans, with what such a span holds.
func (c convention) run() (tr *trace, s ptrace.Span) {
	key, name, provider := c.typ, c.name, ""
	if c.kind == "span" {
		name, provider, _ = strings.Cut(c.on, " ")
		key = "gen_ai.operation.name"
		if of, _, _ := strings.Cut(c.name, "."); of == "mcp" || of == "a2a" {
			key = of + ".method.name"
		}
	}
	tr = plainRun()
	s = tr.in("test", name+" x", sent, 1, 91, 95, key, name)
	s.SetKind(ptrace.SpanKindInternal)
	switch {
	case c.kind == "span" && (c.typ == "client" || c.typ == ""):
		s.SetKind(ptrace.SpanKindClient)
	case c.kind == "span" && c.typ == "server":
		s.SetKind(ptrace.SpanKindServer)
	}
	if provider != "" {
		s.Attributes().PutStr("gen_ai.provider.name", provider)
	}
	put(s.Attributes(), map[string][]any{
		"model_call": {"gen_ai.request.model", "m2", "gen_ai.input.messages", list(user("q2")), "gen_ai.output.messages", list(says("a2"))},
		"tool_call":  {"gen_ai.tool.name", "t2", "gen_ai.tool.call.arguments", `{"x":2}`, "gen_ai.tool.call.result", "r2"},
		"agent_call": {"gen_ai.agent.name", "b"},
		"retrieval":  {"gen_ai.retrieval.query.text", "q2"},
	}[c.lands])
	if c.lands == "agent_call" {
		tr.chat(below, sent, 92, 94, list(user("q2")), list(says("a2")))
	}
	return tr, s
}

// onSpan reports whether an attribute of a type stands on the tape, on one kind of span.
func (c convention) onSpan(t *testing.T, span convention, of string) bool {
	t.Helper()
	value := marked[of].value
	if text, ok := messagesMarked[c.name]; ok {
		value = text
	}
	without, _ := span.run()
	with, s := span.run()
	if err := s.Attributes().PutEmpty(c.name).FromRaw(value); err != nil {
		t.Fatal(err)
	}
	return strings.Count(writtenAs(with.runs(t)), marked[of].spelt) > strings.Count(writtenAs(without.runs(t)), marked[of].spelt)
}

// operation demands that a span of an operation is what the table says: an event of the tape, noise, or
// neither. What an attribute of it says that nobody knows stands on the tape, with its event.
func (c convention) operation(t *testing.T) {
	t.Helper()
	tr, s := c.run()
	marker := "gen_ai.conformance.marker"
	for _, namespace := range []string{"mcp.", "a2a."} {
		if _, is := s.Attributes().Get(namespace + "method.name"); is {
			marker = namespace + "conformance.marker"
		}
	}
	s.Attributes().PutStr(marker, "marked-7391")
	noise := int64(0)
	lands, held := "tape", false
	for _, tp := range tr.runs(t) {
		for _, n := range tp.Sources.Noise {
			noise += n
		}
		planted := tp.Extensions.Get("conventions").Get(marker)
		held = held || planted.Len() == 1
		for i := range tp.Events {
			e := &tp.Events[i]
			if !slices.Contains(e.SpanIDs, spanID(sent).String()) {
				continue
			}
			lands = string(e.Type)
			if planted.At(0).Get("seq").JSON() != strconv.Itoa(e.Seq) {
				t.Errorf("%s %s: what its span says stands under %s, not under event %d", c.kind, c.name, planted.JSON(), e.Seq)
			}
		}
	}
	if lands == "tape" && noise > 0 {
		lands = "noise"
	}
	c.says(t, held)
	if c.lands != "-" && lands != c.lands {
		t.Errorf("%s %s lands as %s, and is said to land as %s", c.kind, c.name, lands, c.lands)
	}
}

// event reports whether what an event says stands on the tape.
func (c convention) event(t *testing.T) bool {
	t.Helper()
	const value = "marked-7391"
	said := map[string][]any{
		"gen_ai.choice": {"index", 0, "finish_reason", "stop", "message", `{"role":"assistant","content":"` + value + `"}`},
		"gen_ai.client.inference.operation.details": {"gen_ai.output.messages", list(says(value))},
		"gen_ai.evaluation.result":                  {"gen_ai.evaluation.name", value},
		"gen_ai.client.operation.exception":         {"exception.type", "E", "exception.message", value},
	}[c.name]
	if said == nil {
		said = []any{"content", value, "id", "call_BBBBBBBBBBBBBBBB"}
	}
	tr := plainRun()
	s := tr.in("test", "chat m2", sent, 1, 91, 95, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m2")
	if c.typ == "log record" {
		return strings.Contains(writtenAs(tr.with(t, append([]any{c.name, 92, sent}, said...))), value)
	}
	e := s.Events().AppendEmpty()
	e.SetName(c.name)
	e.SetTimestamp(at(92))
	put(e.Attributes(), said)
	return strings.Contains(writtenAs(tr.runs(t)), value)
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
		"guardrail":  tr.in("test", "run_guardrail g", 11, 1, 91, 95, "gen_ai.operation.name", "run_guardrail"),
		"a2a":        tr.in("test", "SendMessage", 12, 1, 96, 99, "a2a.method.name", "SendMessage"),
		"failed":     tr.tool("h", 13, 1, 96, 98, "", `{}`, ""),
		"memory":     tr.in("test", "search_memory m", 8, 1, 61, 70, "gen_ai.operation.name", "search_memory"),
	}
	spans["failed"].Status().SetCode(ptrace.StatusCodeError)
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
