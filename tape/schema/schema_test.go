// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func read(t *testing.T) *tape.Tape {
	t.Helper()
	data, err := os.ReadFile("../testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func TestFullTapeAndItsOracleAreValid(t *testing.T) {
	tp := read(t)
	files := map[string][]byte{tape.OracleFile: oracle.Append(nil, oracle.FromTape(tp))}
	if diff := cmp.Diff([]tape.Problem(nil), Check(tp, files)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tape.Problem(nil), tape.Verify(tp, nil, Check, oracle.Check)); diff != "" {
		t.Error(diff)
	}
	tp.Events[1].Result = exactjson.StringValue("changed")
	if got := oracle.Check(tp, nil); len(got) != 1 || got[0].Code != tape.ProblemProof {
		t.Errorf("a changed result is not noticed: %v", got)
	}
}

func TestSmallestTapeIsValid(t *testing.T) {
	run := read(t).Run
	tp := &tape.Tape{Producer: tape.Producer{Name: "x"}, Fidelity: tape.Fidelity{Grade: tape.GradeInspect},
		Run: tape.Run{RunID: run.RunID, Tenant: "default", TraceID: run.TraceID, RootSpanID: run.RootSpanID, Status: tape.StatusOK}}
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tape.Problem(nil), Check(tp, nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]tape.Problem(nil), tape.Verify(tp, nil, Check, oracle.Check)); diff != "" {
		t.Error(diff)
	}
}

func TestPlainOracleFilesAreValid(t *testing.T) {
	const plain = `[{"tool_name":"t","args_hash":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","response":""}]`
	if got := Check(read(t), map[string][]byte{tape.OracleFile: []byte(plain)}); got != nil {
		t.Error(got)
	}
}

func TestViolationsAreNamedWithoutTheirValue(t *testing.T) {
	for _, c := range []struct {
		damage func(*tape.Tape)
		want   tape.Problem
	}{
		{func(tp *tape.Tape) { tp.Run.TraceID = "secret" }, tape.Problem{Code: "schema", Path: "run.trace_id", Detail: "violates pattern"}},
		{func(tp *tape.Tape) { tp.Run.Status = "" }, tape.Problem{Code: "schema", Path: "run", Detail: "violates required"}},
		{func(tp *tape.Tape) { tp.Events[1].ToolKind = "magic" }, tape.Problem{Code: "schema", Path: "events.1.kind", Detail: "violates enum"}},
		{func(tp *tape.Tape) { tp.Events[4].Documents = exactjson.IntValue(1) }, tape.Problem{Code: "schema", Path: "events.4.documents", Detail: "violates type"}},
		{func(tp *tape.Tape) { tp.Events[0].Params = exactjson.NullValue }, tape.Problem{Code: "schema", Path: "events.0.params", Detail: "violates type"}},
		{func(tp *tape.Tape) { tp.TapeID = "x" }, tape.Problem{Code: "schema", Path: "tape_id", Detail: "violates pattern"}},
	} {
		tp := read(t)
		c.damage(tp)
		if diff := cmp.Diff([]tape.Problem{c.want}, Check(tp, nil)); diff != "" {
			t.Error(diff)
		}
	}
	got := Check(read(t), map[string][]byte{tape.OracleFile: []byte(`[{"tool_name":"t","args_hash":"secret","response":""}]`)})
	if diff := cmp.Diff([]tape.Problem{{Code: "schema", Path: "oracle.json:0.args_hash", Detail: "violates pattern"}}, got); diff != "" {
		t.Error(diff)
	}
}
