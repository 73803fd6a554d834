// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestSealedTapeIsWrittenInTheOrderOfTheFormat(t *testing.T) {
	tp := full(t)
	got := string(tp.AppendJSON(nil))
	golden(t, "testdata/full.tape.json", got)
	if !strings.HasSuffix(got, "}\n") || strings.Count(got, "\n") != 1 {
		t.Error("a tape is one line")
	}
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	want := full(t)
	got, err := Read(want.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownMembersSurviveAtEveryLevel(t *testing.T) {
	v, err := exactjson.Parse(string(full(t).AppendJSON(nil)))
	if err != nil {
		t.Fatal(err)
	}
	// Every object that the format defines gets two members that it does not know, as a later MINOR version would write them.
	// Recorded values and maps with names that are data are not objects of the format.
	var objects int
	var extend func(v exactjson.Value, path string) exactjson.Value
	extend = func(v exactjson.Value, path string) exactjson.Value {
		var members []exactjson.Member
		pool := path == ".tools" || path == ".messages"
		for _, m := range v.Members() {
			at := path + "." + m.Name
			if v.Kind() == exactjson.Array || pool {
				at = path + "*"
			}
			if m.Value.Kind() >= exactjson.Array && !recorded[at] {
				m.Value = extend(m.Value, at)
			}
			members = append(members, m)
		}
		if v.Kind() == exactjson.Array {
			values := make([]exactjson.Value, len(members))
			for i, m := range members {
				values[i] = m.Value
			}
			return exactjson.ArrayValue(values...)
		}
		if !pool {
			objects++
			members = append(members,
				exactjson.Member{Name: "z_new", Value: exactjson.IntValue(1)},
				exactjson.Member{Name: "a_new", Value: exactjson.ObjectValue(exactjson.Member{Name: "n", Value: exactjson.FloatValue(1.5)})})
		}
		return exactjson.ObjectValue(members...)
	}
	extended := extend(v, "")
	if objects < 40 {
		t.Fatalf("only %d objects", objects)
	}
	want := extended.JSON() + "\n"
	tp, err := Read([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(tp.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	// The canonical form puts them in their sorted places.
	unsealed := *tp
	unsealed.TapeID = ""
	canon, err := tapeRecord.AppendCanonical(nil, &unsealed)
	if err != nil {
		t.Fatal(err)
	}
	id := extended.Get("tape_id")
	members := slices.DeleteFunc(slices.Clone(extended.Members()), func(m exactjson.Member) bool { return m.Value.Equal(id) })
	if want, _ := exactjson.ObjectValue(members...).Canonical(); want != string(canon) {
		t.Error(cmp.Diff(want, string(canon)))
	}
}

// recorded are the places of the full tape that hold recorded values or maps.
var recorded = map[string]bool{
	".extensions": true, ".config.provenance": true, ".input.provenance": true, ".output.provenance": true, ".events*.provenance": true,
	".config.temperature": true, ".config.stop_sequences": true, ".input.a2a.params": true, ".input.a2a.headers": true,
	".tools*.parameters": true, ".messages*.parts*.args": true, ".messages*.parts*.result": true, ".messages*.parts*.value": true,
	".events*.params": true, ".events*.args": true, ".events*.executed_args": true, ".events*.result": true, ".events*.input": true,
	".events*.output": true, ".events*.query": true, ".events*.documents": true, ".redaction.rules": true, ".sources.noise": true,
}

func TestTapeIDIsTheDigestOfTheCanonicalForm(t *testing.T) {
	tp := full(t)
	v, err := exactjson.Parse(string(tp.AppendJSON(nil)))
	if err != nil {
		t.Fatal(err)
	}
	members := slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool { return m.Name == "tape_id" })
	if want := exactjson.ObjectValue(members...).Digest(); tp.TapeID != want {
		t.Errorf("got %s, want %s", tp.TapeID, want)
	}
	// A number out of range has no canonical form.
	tp.Extensions = parse(t, `{"x":{"n":1e999}}`)
	if err := tp.Seal(); err != nil || !strings.HasPrefix(tp.TapeID, "sha256-raw:") {
		t.Errorf("%s, %v", tp.TapeID, err)
	}
	if again, err := Read(tp.AppendJSON(nil)); err != nil {
		t.Error(err)
	} else if id, err := again.ComputeID(); err != nil || id != tp.TapeID {
		t.Errorf("%s, %v", id, err)
	}
}

func TestInvalidTextStillGivesATapeThatCanBeReadBack(t *testing.T) {
	tp := full(t)
	tp.Run.UserID, tp.Events[0].Model = "u\xff", "\xf0\x9f"
	tp.Input.A2A.Headers = map[string]string{"h\xff": "1", "h\xfe": "2", "h\uffff": "3"}
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	text := tp.AppendJSON(nil)
	again, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := again.ComputeID(); err != nil || id != tp.TapeID || string(again.AppendJSON(nil)) != string(text) {
		t.Errorf("%s, %v, want %s", id, err, tp.TapeID)
	}
}

func TestTapeIDIgnoresHowNumbersAreSpelled(t *testing.T) {
	a, b := full(t), full(t)
	a.Config.Temperature, b.Config.Temperature = parse(t, "1"), parse(t, "1.0")
	if a.Seal() != nil || b.Seal() != nil || a.TapeID != b.TapeID {
		t.Errorf("%s, %s", a.TapeID, b.TapeID)
	}
	if !strings.Contains(string(b.AppendJSON(nil)), `"temperature":1.0,`) {
		t.Error("the literal is not kept")
	}
}

func TestSealRefusesWhatReadWouldRefuse(t *testing.T) {
	deep := parse(t, strings.Repeat("[", 512)+strings.Repeat("]", 512))
	tp := full(t)
	tp.Events[0].Params = exactjson.ObjectValue(exactjson.Member{Name: "x", Value: deep})
	if err := tp.Seal(); !errors.Is(err, exactjson.ErrDepth) {
		t.Errorf("got %v", err)
	}
	tp.Events[0].Params = exactjson.ObjectValue(exactjson.Member{Name: "x", Value: deep.At(0)})
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(tp.AppendJSON(nil)); err != nil {
		t.Error(err)
	}
}

func TestReadRejectsOtherDocumentsAndMajors(t *testing.T) {
	text := string(full(t).AppendJSON(nil))
	swap := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("no %s", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	if _, err := Read([]byte(swap(`"kind":"agent-tape"`, `"kind":"cassette"`))); !errors.Is(err, ErrNotTape) {
		t.Errorf("kind: %v", err)
	}
	for _, version := range []string{"2.0", "0.9", "1", "1.x", "", "11.0"} {
		var wrong *VersionError
		if _, err := Read([]byte(swap(`"schema_version":"1.1"`, `"schema_version":"`+version+`"`))); !errors.As(err, &wrong) || wrong.Got != version {
			t.Errorf("version %q: %v", version, err)
		}
	}
	later, err := Read([]byte(swap(`"schema_version":"1.1"`, `"schema_version":"1.7"`)))
	if err != nil || later.SchemaVersion != "1.7" || !strings.Contains(string(later.AppendJSON(nil)), `"1.7"`) {
		t.Errorf("a later MINOR: %v", err)
	}
	for _, c := range []struct{ from, to, path string }{
		{`"caller":"planner"`, `"caller":7`, "events.0.caller"},
		{`"started_at":"2026-11-20T10:00:00.000000001Z"`, `"started_at":"today"`, "run.started_at"},
		{`"started_at":"2026-11-20T10:00:00.000000001Z"`, `"started_at":"0000-01-01T00:00:00+14:00"`, "run.started_at"},
		{`"seq":1`, `"seq":1.5`, "events.0.seq"},
		{`"finish_reasons":[`, `"finish_reasons":[null,`, "events.0.response.finish_reasons.0"},
		{`"name":"ann"`, `"name":["ann"]`, "messages." + userMessage().ID() + ".name"},
		{`"is_error":false`, `"is_error":"no"`, "events.1.is_error"},
		{`"events":[`, `"events":[[],`, "events.0"},
		{`"producer":{`, `"producer":[],"x":{`, "producer"},
	} {
		var wrong *bind.FieldError
		if _, err := Read([]byte(swap(c.from, c.to))); !errors.As(err, &wrong) || wrong.Path != c.path {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	for _, text := range []string{"", "null", "[]", "{", `{"kind":"agent-tape","kind":"agent-tape"}`} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q is no tape", text)
		}
	}
}

func TestPartsAndEventsHoldTheMembersOfTheirTypeOnly(t *testing.T) {
	p := Part{Type: PartText, Name: "ignored", Args: exactjson.IntValue(1)}
	if got := string(partRecord.AppendJSON(nil, &p)); got != `{"type":"text","text":""}` {
		t.Error(got)
	}
	const foreign = `{"type":"poem","text":"roses","args":1}`
	p, err := partRecord.Decode(parse(t, foreign))
	if err != nil || p.Text != "" || len(p.Unknown) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if got := string(partRecord.AppendJSON(nil, &p)); got != foreign {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile("testdata/full.tape.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.0"}`))
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.9","new":{"a":[1e999]},"events":[{"type":"x","args":1},{}]}`))
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.0","run":{"started_at":"2026-01-01T00:00:00+02:00"},"messages":{"":{"parts":[{}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Read(data)
		if err != nil {
			return
		}
		if err := first.Seal(); err != nil {
			return
		}
		text := first.AppendJSON(nil)
		again, err := Read(text)
		if err != nil {
			t.Fatalf("%s\ncannot be read back: %v", text, err)
		}
		if got := again.AppendJSON(nil); string(got) != string(text) {
			t.Fatal(cmp.Diff(string(text), string(got)))
		}
		if id, err := again.ComputeID(); err != nil || id != first.TapeID {
			t.Fatalf("%s, %v", id, err)
		}
		Verify(again, map[string][]byte{TapeFile: text, OracleFile: data})
	})
}

func BenchmarkSealAndAppend(b *testing.B) {
	tp := long(b)
	b.SetBytes(int64(len(tp.AppendJSON(nil))))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		if err := tp.Seal(); err != nil {
			b.Fatal(err)
		}
		buf = tp.AppendJSON(buf[:0])
	}
}

func BenchmarkRead(b *testing.B) {
	data := long(b).AppendJSON(nil)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	}
}
