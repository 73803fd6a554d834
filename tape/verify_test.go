// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestVerifyFindsNothingWrongWithASoundTape(t *testing.T) {
	tp := withSiblings(t, full(t), map[string][]byte{"waza.json": []byte("{}")})
	files := map[string][]byte{TapeFile: tp.AppendJSON(nil), "waza.json": []byte("{}")}
	if diff := cmp.Diff([]Problem(nil), Verify(tp, files)); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyNamesEveryProblem(t *testing.T) {
	no := false
	for _, c := range []struct {
		name   string
		break_ func(*Tape)
		want   []string // code and path
	}{
		{"kind", func(t *Tape) { t.Kind = "x" }, []string{"kind kind", "tape_id tape_id"}},
		{"major", func(t *Tape) { t.SchemaVersion = "2.0" }, []string{"version schema_version", "tape_id tape_id"}},
		{"any change", func(t *Tape) { t.Usage.ModelCalls++ }, []string{"tape_id tape_id"}},
		{"run id", func(t *Tape) { t.Run.RunID = "r" }, []string{"tape_id tape_id", "run_id run.run_id"}},
		{"gap", func(t *Tape) { t.Events[5].Seq = 7 }, []string{"tape_id tape_id", "sequence events.5.seq"}},
		{"args", func(t *Tape) { t.Events[1].Args = exactjson.IntValue(1) }, []string{"tape_id tape_id", "args_hash events.1.args_hash"}},
		{"hash without args", func(t *Tape) { t.Events[1].Args = exactjson.Value{} }, []string{"tape_id tape_id", "args_hash events.1.args_hash"}},
		{"result", func(t *Tape) { t.Events[1].Result = exactjson.IntValue(1) }, []string{"tape_id tape_id", "result_hash events.1.result_sha256"}},
		{"lost digest", func(t *Tape) { t.Events[1].ResultSHA256 = "" }, []string{"tape_id tape_id", "result_hash events.1.result_sha256"}},
		{"lost message", func(t *Tape) { delete(t.Messages, t.Output.Message) }, []string{"tape_id tape_id", "reference output.message", "reference events.5.response.message"}},
		{"lost tools", func(t *Tape) { t.Tools = nil }, []string{"tape_id tape_id", "reference events.0.request.tools.0", "reference events.0.request.tools.1"}},
		{"stray pool entries", func(t *Tape) {
			tool := Tool{Name: "stray"}
			t.Tools[tool.ID()] = tool
			t.Messages["m1"] = t.Messages[t.Output.Message]
		}, []string{"tape_id tape_id", "unused tools." + Tool{Name: "stray"}.ID(), "pool_id messages.m1", "unused messages.m1"}},
		{"wrong types", func(t *Tape) { t.Events[1].RequestedBy, t.Events[3].Via, t.Events[4].Parent = 2, 1, 99 },
			[]string{"tape_id tape_id", "reference events.1.requested_by", "reference events.3.via", "reference events.4.parent"}},
		{"effect before cause", func(t *Tape) { t.Events[1].RequestedBy, t.Events[4].Parent = 6, -1 },
			[]string{"tape_id tape_id", "order events.1.requested_by", "reference events.4.parent"}},
		{"findings", func(t *Tape) {
			t.Fidelity.Findings = append(t.Fidelity.Findings, Finding{Code: "odd", Severity: SeverityInfo, Seq: 7})
		},
			[]string{"tape_id tape_id", "reference fidelity.findings.1.seq", "finding_code fidelity.findings.1.code"}},
		{"labels", func(t *Tape) { t.Events[0].Provenance["x"], t.Config.Provenance["y"] = "guessed", "" },
			[]string{"tape_id tape_id", "label config.provenance.y", "label events.0.provenance.x"}},
		{"proof", func(t *Tape) { t.Fidelity.Proof.OK = &no }, []string{"tape_id tape_id", "proof fidelity.proof", "grade fidelity.grade"}},
		{"a claim without proof", func(t *Tape) { t.Fidelity.Proof.Unverifiable++; t.Fidelity.Proof.Conclude() }, []string{"tape_id tape_id", "grade fidelity.grade"}},
		{"a grade that the rest does not bear out", func(t *Tape) { t.Fidelity.Replayable.Tools = false }, []string{"tape_id tape_id", "grade fidelity.grade"}},
		{"more recorded than unverifiable", func(t *Tape) { t.Fidelity.Proof.Recorded = 1 }, []string{"tape_id tape_id", "proof fidelity.proof"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tp := full(t)
			c.break_(tp)
			if diff := cmp.Diff(c.want, brief(Verify(tp, nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerifyAcceptsCodesOfALaterMinor(t *testing.T) {
	tp := full(t)
	tp.SchemaVersion = "1.3"
	tp.Fidelity.Findings[0].Code = "brand_new"
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	if got := brief(Verify(tp, nil)); got != nil {
		t.Error(got)
	}
}

func TestVerifyChecksTheFilesBesideTheTape(t *testing.T) {
	good := oracleOf(t, full(t), nil)
	tp := withSiblings(t, full(t), map[string][]byte{OracleFile: good, "a.json": []byte("a")})
	files := map[string][]byte{TapeFile: tp.AppendJSON(nil), OracleFile: good, "a.json": []byte("a")}
	if got := brief(Verify(tp, files)); got != nil {
		t.Fatal(got)
	}
	files["a.json"] = []byte("b")
	files["stray.json"] = nil
	files[TapeFile] = []byte(strings.Replace(string(files[TapeFile]), `"boom"`, `"bang"`, 1))
	delete(files, OracleFile)
	want := []string{"file a.json", "file oracle.json", "file stray.json", "file tape.json"}
	if diff := cmp.Diff(want, brief(Verify(tp, files))); diff != "" {
		t.Error(diff)
	}
}

// TestVerifyKnowsWhatTheModelWasToldOfAFailure: an oracle answers so, and not with what no message holds.
func TestVerifyKnowsWhatTheModelWasToldOfAFailure(t *testing.T) {
	for _, c := range []struct {
		response, message string
		problems          []string
	}{
		{"boom\n\nError: boom\n    at run (a.mjs:1)", "", nil},
		{"Error: boom\n Please fix your mistakes.", "boom", nil},
		{"Error: bang\n Please fix your mistakes.", "", []string{"oracle oracle.json:0.response"}},
		{"Error: boom\n Please fix your mistakes.", "bang", []string{"oracle oracle.json:0.error_message"}},
	} {
		tp := full(t)
		e := &tp.Events[slices.IndexFunc(tp.Events, func(e Event) bool { return e.Type == EventToolCall })]
		e.Result, e.ResultSHA256, e.OtherResults, e.Status, e.IsError = exactjson.Value{}, "", nil, EventError, true
		e.Error = &Error{Message: "boom\n\nError: boom\n    at run (a.mjs:1)"}
		told := Message{Role: RoleTool, Parts: []Part{{Type: PartToolResult, Result: exactjson.StringValue("Error: boom\n Please fix your mistakes.")}}}
		tp.Messages[told.ID()] = told
		body := oracleOf(t, tp, func(name string, v exactjson.Value) exactjson.Value {
			switch name {
			case "response":
				return exactjson.StringValue(c.response)
			case "error_message":
				return exactjson.StringValue(c.message)
			}
			return v
		})
		tp = withSiblings(t, tp, map[string][]byte{OracleFile: body})
		got := slices.DeleteFunc(brief(Verify(tp, map[string][]byte{OracleFile: body})), func(p string) bool { return !strings.HasPrefix(p, "oracle oracle.json:0.") })
		if !slices.Equal(got, c.problems) {
			t.Errorf("%q, %q: %v", c.response, c.message, got)
		}
	}
}

func TestVerifyComparesTheOracleWithTheEvents(t *testing.T) {
	for field, value := range map[string]string{
		"seq": `7`, "tool_name": `"x"`, "args_hash": `"x"`, "caller": `"x"`, "args": `{}`, "response": `"x"`, "is_error": `true`,
	} {
		changed := oracleOf(t, full(t), func(name string, v exactjson.Value) exactjson.Value {
			if name == field {
				return parse(t, value)
			}
			return v
		})
		tp := withSiblings(t, full(t), map[string][]byte{OracleFile: changed})
		got := brief(Verify(tp, map[string][]byte{OracleFile: changed}))
		if len(got) == 0 || got[0] != "oracle oracle.json:0."+field {
			t.Errorf("%s: %v", field, got)
		}
	}
	for _, text := range []string{"[]", "{}", "["} {
		tp := withSiblings(t, full(t), map[string][]byte{OracleFile: []byte(text)})
		if diff := cmp.Diff([]string{"oracle oracle.json"}, brief(Verify(tp, map[string][]byte{OracleFile: []byte(text)}))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestVerifyAsksTheOtherChecks(t *testing.T) {
	want := Problem{Code: ProblemSchema, Path: "x"}
	got := Verify(full(t), nil, func(*Tape, map[string][]byte) []Problem { return []Problem{want} })
	if diff := cmp.Diff([]Problem{want}, got); diff != "" {
		t.Error(diff)
	}
}

func brief(problems []Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Code+" "+p.Path)
	}
	return list
}

// withSiblings lists the files on the tape and seals it.
func withSiblings(t *testing.T, tp *Tape, files map[string][]byte) *Tape {
	var list []exactjson.Member
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, exactjson.Member{Name: name, Value: exactjson.StringValue(FileDigest(files[name]))})
	}
	slot := exactjson.ObjectValue(exactjson.Member{Name: "files", Value: exactjson.ObjectValue(list...)})
	tp.Extensions = exactjson.ObjectValue(exactjson.Member{Name: "tapedeck", Value: slot})
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	return tp
}

// oracleOf writes the members of the oracle that Verify compares; package oracle cannot be imported here.
func oracleOf(t *testing.T, tp *Tape, change func(name string, v exactjson.Value) exactjson.Value) []byte {
	var entries []exactjson.Value
	for i := range tp.Events {
		e := &tp.Events[i]
		if e.Type != EventToolCall {
			continue
		}
		response, _, _ := e.Answer()
		members := []exactjson.Member{
			{Name: "tool_name", Value: exactjson.StringValue(e.Name)},
			{Name: "args_hash", Value: exactjson.StringValue(e.ArgsHash)},
			{Name: "response", Value: exactjson.StringValue(response)},
			{Name: "args", Value: e.Args},
			{Name: "is_error", Value: exactjson.BoolValue(e.IsError)},
			{Name: "caller", Value: exactjson.StringValue(e.Caller)},
			{Name: "seq", Value: exactjson.IntValue(int64(e.Seq))},
			{Name: "error_message", Value: exactjson.StringValue("")},
		}
		for i := range members {
			if change != nil {
				members[i].Value = change(members[i].Name, members[i].Value)
			}
		}
		entries = append(entries, exactjson.ObjectValue(members...))
	}
	return exactjson.ArrayValue(entries...).AppendJSON(nil)
}
