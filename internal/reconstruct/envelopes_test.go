// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestEnvelopeIsProvedByWhatIsInside(t *testing.T) {
	ask := asks(call("", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 12, "", `{"wrapper":{"x":2}}`, "r") // holds something else
	tr.chat(4, 1, 20, 30, list(user("q"), ask), list(says("end")))
	if got := the(t, tr.runs(t)).Events[1].Args.JSON(); got != `{"wrapper":{"x":2}}` {
		t.Errorf("arguments %s: an envelope was taken off that nothing proves", got)
	}
}

func TestEnvelopeThatOneCallProvesComesOffTheOthers(t *testing.T) {
	first, second := asks(call("c1", "f", `{"x":1}`)), asks(call("c2", "f", `{"x":2}`))
	wrap := func(s string) string { return `{"acme":{"state":"delivered","payload":` + s + `}}` }
	build := func(last string) *tape.Tape {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(first))
		tr.tool("f", 3, 1, 11, 12, "c1", wrap(`{"x":1}`), wrap(`{"answer":"first one"}`))
		tr.chat(4, 1, 20, 30, list(user("q"), first, shows("c1", `{"answer":"first one"}`)), list(second))
		tr.tool("f", 5, 1, 31, 32, "c2", wrap(`{"x":2}`), last)
		return the(t, tr.runs(t))
	}
	tp := build(wrap(`{"answer":"second"}`))
	for i, want := range map[int]string{1: `{"answer":"first one"}`, 3: `{"answer":"second"}`} {
		e := tp.Events[i]
		if e.Result.JSON() != want || len(e.Envelope) != 1 || e.Envelope[0] != "acme.payload" {
			t.Errorf("event %d: result %s, envelope %v; want %s", i, e.Result.JSON(), e.Envelope, want)
		}
		if e.Args.Get("x").IsAbsent() {
			t.Errorf("event %d: arguments %s", i, e.Args.JSON())
		}
	}
	other := `{"report":{"state":"a text of its own that is much longer than a state is in an envelope anywhere","payload":{"answer":"second"}}}`
	if got := build(other).Events[3].Result.Str(); got != other {
		t.Errorf("result %s: an envelope of another shape was taken off", got)
	}
}

// What stands inside is compared as a value: it may be encoded once more, or be shown as Python writes it.
func TestEnvelopeIsProvedByAnyEncodingOfWhatIsInside(t *testing.T) {
	for _, c := range []struct{ recorded, shown, want string }{
		{`{"acme":{"state":"delivered","payload":{"roll":3}}}`, `{'roll': 3}`, `{"roll":3}`},
		{`{"acme":{"payload":"\"Invoice INV-1001 was paid.\""}}`, `Invoice INV-1001 was paid.`, `"Invoice INV-1001 was paid."`},
		{`{"acme":99}`, `99`, `99`},
		{`{"acme":99,"stock":1}`, `99`, `{"acme":99,"stock":1}`},
	} {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, c.recorded)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", c.shown)), list(says("end")))
		tp := the(t, tr.runs(t))
		got := tp.Events[1].Result
		if got.Kind() == exactjson.String && got.Str() == c.want {
			continue
		}
		if got.JSON() != c.want {
			t.Errorf("%s shown as %s: result %s, want %s", c.recorded, c.shown, got.JSON(), c.want)
		}
	}
}

// The failures of all tools are told in one form.
func TestFailureThatIsAllOfAResultIsNoEnvelope(t *testing.T) {
	for _, failed := range []bool{true, false} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		for i, name := range []string{"f", "g"} {
			if s := tr.tool(name, 3+i, 1, 11+i, 12+i, "", `{"x":1}`, `{"error":"no such `+name+`"}`); failed {
				s.Status().SetCode(ptrace.StatusCodeError)
			}
		}
		if got := the(t, tr.runs(t)).Events[1].Provenance["result"]; (got == tape.Lossy) == failed {
			t.Errorf("failed %t: labelled %q", failed, got)
		}
	}
}

// Arguments that look like an envelope are none where the tool has a parameter of that name, or others of the
// reporter stand outside of it.
func TestArgumentsThatAreKnownToBeAreNoEnvelope(t *testing.T) {
	const args, definition = `{"call":{"payload":{"city":"Paris"}}}`, `[{"type":"function","name":"f","parameters":{"type":"object","properties":{"NAME":{"type":"object"}}}}]`
	for name, c := range map[string]struct {
		parameter, other string
		want             tape.Label
	}{
		"nothing is known":              {"", "", tape.Lossy},
		"a parameter":                   {"call", "", ""},
		"another parameter":             {"payload", "", tape.Lossy},
		"others stand outside":          {"", `{"x":1}`, ""},
		"others have it beside another": {"", `{"x":1,"call":{}}`, tape.Lossy},
		"others lie in it too":          {"", `{"call":{"payload":{"x":1}}}`, tape.Lossy},
		"others have none":              {"", `{}`, tape.Lossy},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		var offered []any
		if c.parameter != "" {
			offered = []any{"gen_ai.tool.definitions", strings.Replace(definition, "NAME", c.parameter, 1)}
		}
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")), offered...)
		tr.tool("f", 3, 1, 11, 12, "", args, "r")
		if c.other != "" {
			tr.tool("g", 4, 1, 13, 14, "", c.other, "r")
		}
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Name == "f" && (e.Provenance["args"] != c.want || e.Args.JSON() != args) {
				t.Errorf("%s: %s, label %q", name, e.Args.JSON(), e.Provenance["args"])
			}
		}
	}
}

// Of equal calls, a result that one of them was shown as it is is not taken for an envelope of what another
// one was shown.
func TestAResultIsThatOfTheCallThatWasShownItAsItIs(t *testing.T) {
	tr := newTrace()
	ask := asks(call("call_0001", "look", `{}`), call("call_0002", "look", `{}`))
	tr.agent("clerk", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("look", 3, 1, 20, 30, "", `{}`, `{"rows":{}}`)
	tr.tool("look", 4, 1, 20, 40, "", `{}`, `{}`)
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0001", "{}"), shows("call_0002", `{"rows":{}}`)), list(says("end")))
	for _, e := range the(t, tr.runs(t)).Events {
		if want := map[string]string{"call_0001": `{}`, "call_0002": `{"rows":{}}`}[e.ToolCallID]; e.Type == tape.EventToolCall && e.Result.Str() != want {
			t.Errorf("%s: %s, want %s", e.ToolCallID, e.Result.JSON(), want)
		}
	}
}
