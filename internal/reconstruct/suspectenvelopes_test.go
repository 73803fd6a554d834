// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// A result that looks like an envelope stays as it is and is named, unless the conversation shows what its
// reporter records.
func TestSuspectedEnvelopeIsNamed(t *testing.T) {
	const city = `{"city":"Nairobi","sky":"sunny"}`
	type tool struct{ name, result string }
	build := func(tools ...tool) *tape.Tape {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		for i, k := range tools {
			tr.tool(k.name, 3+i, 1, 11+i, 12+i, "", `{"x":1}`, k.result)
		}
		return the(t, tr.runs(t))
	}
	suspected := func(tp *tape.Tape) (paths []string) {
		for _, f := range tp.Fidelity.Findings {
			if f.Code == tape.CodeEnvelopeSuspected {
				paths = append(paths, fmt.Sprintf("#%d %s %s", f.Seq, f.Field, strings.Fields(f.Detail)[3]))
				if e := tp.Events[f.Seq-1]; e.Provenance["result"] != tape.Lossy || tp.Fidelity.Replayable.Tools {
					t.Errorf("result %s: label %q, tools claimed: %v", e.Result.JSON(), e.Provenance["result"], tp.Fidelity.Replayable.Tools)
				}
			}
		}
		return paths
	}
	for _, c := range []struct {
		tools []tool
		want  string
	}{
		{[]tool{{"weather", `{"acme":{"state":"delivered","payload":` + city + `}}`}}, "[#2 result acme.payload]"},
		{[]tool{{"weather", `{"acme":{"payload":"Nairobi is sunny"}}`}}, "[#2 result acme.payload]"},
		{[]tool{{"weather", city}}, "[]"},
		{[]tool{{"weather", `{"hits":[1,2]}`}}, "[]"},
		{[]tool{{"weather", `{"acme":"sunny"}`}, {"price", `{"acme":"5"}`}}, "[#2 result acme #3 result acme]"},
		{[]tool{{"weather", `{"sky":"sunny"}`}, {"weather", `{"sky":"rain"}`}}, "[]"},
		// Another result of the reporter stands outside of it.
		{[]tool{{"weather", `{"acme":` + city + `}`}, {"price", `[5]`}}, "[]"},
		{[]tool{{"weather", `{"acme":` + city + `}`}, {"price", `{"sum":5,"of":"Nairobi"}`}}, "[]"},
		{[]tool{{"weather", `{"acme":` + city + `}`}, {"price", `{"sum":5,"acme":"Nairobi"}`}}, "[#2 result acme]"},
		{[]tool{{"weather", `{"acme":` + city + `}`}, {"price", "five"}}, "[#2 result acme]"},
		{[]tool{{"weather", `{"acme":` + city + `}`}, {"price", `{"other":{"sum":5}}`}}, "[#2 result acme #3 result other.sum]"},
		{[]tool{{"weather", `{"acme":"sunny"}`}, {"price", `{"acme":"5"}`}, {"time", `{"hour":9,"day":2}`}}, "[#2 result acme #3 result acme]"},
		// a reporter that puts objects into an envelope puts all of them into one
		{[]tool{{"weather", `{"acme":{"payload":"Nairobi is sunny"}}`}, {"price", `{"low":4,"high":5}`}}, "[]"},
		{[]tool{{"weather", `{"acme":{"payload":"Nairobi is sunny"}}`}, {"price", `{"acme":{"payload":"5"},"status":"ok"}`}}, "[#2 result acme.payload]"},
		{[]tool{{"weather", `{"acme":{"payload":"Nairobi is sunny"}}`}, {"price", `"5"`}}, "[#2 result acme.payload]"}, // of a text it may make none
		{[]tool{{"weather", `{"now":{"sky":"sunny"}}`}, {"weather", `{"later":{"sky":"rain"}}`}}, "[]"},
		{[]tool{{"weather", `{"weather_result":{"sky":"sunny"}}`}, {"price", `{"price_result":{"eur":"5"}}`}}, "[#2 result weather_result.sky #3 result price_result.eur]"},
		// members that are always the same around what is now an object, now a text
		{[]tool{{"weather", `{"ok":true,"data":{"sky":"sunny"}}`}, {"price", `{"ok":true,"data":"5"}`}}, "[#2 result data #3 result data]"},
		{[]tool{{"weather", `{"ok":true,"data":["sunny"]}`}, {"price", `{"ok":true,"data":"5"}`}}, "[#2 result data #3 result data]"},
		{[]tool{{"weather", `{"ok":true,"data":"sunny"}`}, {"price", `{"ok":true,"data":"5"}`}}, "[]"},
		{[]tool{{"weather", `{"ok":true,"data":{"sky":"sunny"}}`}, {"price", `{"ok":true,"data":{"eur":"5"}}`}}, "[]"},
		{[]tool{{"weather", `{"ok":true,"data":{"sky":"sunny"}}`}, {"price", `{"ok":false,"data":"5"}`}}, "[]"},
		{[]tool{{"weather", `{"ok":true,"data":{"sky":"sunny"}}`}, {"price", `{"ok":true,"data":"5"}`}, {"taxes", `{"eur":1,"usd":2}`}}, "[]"},
		// an empty text where values stand
		{[]tool{{"weather", `{"status":"success","output":"","elapsed_ms":3}`}}, "[#2 result output]"},
		{[]tool{{"weather", `{"result":""}`}}, "[#2 result result]"},
		{[]tool{{"weather", `{"note":"","sky":"sunny"}`}}, "[]"},
		{[]tool{{"weather", `{"output":"","hours":[1,2]}`}}, "[]"},
		// the server of a tool that also returns what is no object
		{[]tool{{"weather", `{"value":26.8}`}, {"weather", "31.5"}}, "[]"},
		{[]tool{{"weather", `{"value":26.8}`}, {"price", "31.5"}}, "[#2 result value]"},
		// what was taken out of the message to the model is what the model is told
		{[]tool{{"weather", `content='{"acme": {"payload": "sunny"}}' name='weather' tool_call_id='c9'`}}, "[]"},
		{[]tool{{"weather", `{"blocks":[{"block_type":"text","text":"{'value': 26.8}"}],"tool_name":"weather","raw_input":{"args":[],"kwargs":{}},"raw_output":{"value":26.8},"is_error":false}`}}, "[]"},
		{[]tool{{"weather", `{"value":26.8}`}}, "[#2 result value]"},
	} {
		if got := fmt.Sprint(suspected(build(c.tools...))); got != c.want {
			t.Errorf("%v: suspected %s, want %s", c.tools, got, c.want)
		}
	}

	ask := asks(call("c1", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, `{"order":{"id":70001}}`)
	tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", `{"order":{"id":70001}}`)), list(asks(call("c2", "f", `{"x":2}`))))
	tr.tool("f", 5, 1, 31, 32, "c2", `{"x":2}`, `{"order":{"id":70002}}`)
	if got := suspected(the(t, tr.runs(t))); got != nil {
		t.Errorf("suspected %v, and the reporter is known to wrap nothing", got)
	}
}

// The structured result of an MCP tool is an object: its server wraps what is none.
func TestValueThatAnMCPServerWrapsIsSuspected(t *testing.T) {
	for result, want := range map[string]tape.Label{`{"value":26.8}`: tape.Lossy, `{"value":26.8,"unit":"m"}`: "", `{"height":26.8}`: ""} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tr.tool("calculate", 3, 1, 11, 12, "", `{"x":1}`, result, "mcp.method.name", "tools/call")
		if e := the(t, tr.runs(t)).Events[1]; e.ToolKind != tape.ToolMCP || e.Provenance["result"] != want {
			t.Errorf("%s: kind %s, label %q, want %q", result, e.ToolKind, e.Provenance["result"], want)
		}
	}
}

// Few reporters say that a tool has a server. A lone number below the name of a value is suspected then as
// well; a text has such a name from its tool too.
func TestNumberBelowTheNameOfAValueIsSuspected(t *testing.T) {
	for result, want := range map[string]tape.Label{`{"value":26.8}`: tape.Lossy, `{"result":true}`: tape.Lossy, `{"content":"ready"}`: "", `{"data":[1]}`: "", `{"result":null}`: "", `{"height":26.8}`: ""} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tr.tool("calculate", 3, 1, 11, 12, "", `{"x":1}`, result)
		tp := the(t, tr.runs(t))
		if e := tp.Events[1]; e.Provenance["result"] != want || tp.Fidelity.Replayable.Tools != (want == "") {
			t.Errorf("%s: label %q, want %q; tools claimed: %v", result, e.Provenance["result"], want, tp.Fidelity.Replayable.Tools)
		}
	}
}

func TestEnvelopeThatNothingProvesIsNotPresentedAsExact(t *testing.T) {
	for args, want := range map[string]tape.Label{
		`{"call":{"payload":{"city":"Paris","unit":"C"}}}`: tape.Lossy,
		`{"filter":{"city":"Paris"}}`:                      "",
		`{"order":{"id":7,"lines":[1]},"dry":true}`:        "",
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.tool("f", 2, 1, 11, 12, "", args, "r")
		if got := the(t, tr.runs(t)).Events[0]; got.Provenance["args"] != want || got.Args.JSON() != args {
			t.Errorf("%s: label %q, want %q", got.Args.JSON(), got.Provenance["args"], want)
		}
	}
}
