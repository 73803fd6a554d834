// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestCompareNamesEveryDifference(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          []Loss
	}{
		{`{"a":1}`, `{"a":1}`, nil},
		{`{"a":1}`, `{ "a":1.0}`, []Loss{{"", Layout, ""}}},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, []Loss{{"", Layout, ""}}},
		{`{"a":1,"b":[1,2,{"c":null}]}`, `{"b":[1,3,{"d":0}],"e":[]}`, []Loss{
			{"a", Dropped, ""}, {"b.1", Changed, ""}, {"b.2.c", Dropped, ""}, {"b.2.d", Added, ""}, {"e", Added, ""}}},
		{`[1,2]`, `[1]`, []Loss{{"1", Dropped, ""}}},
		{`[1]`, `[1,2]`, []Loss{{"1", Added, ""}}},
		{`{"a":null}`, `{"a":{}}`, []Loss{{"a", Changed, ""}}},
		{`"x"`, `[]`, []Loss{{"", Changed, ""}}},
	} {
		got, err := DocumentLosses([]byte(c.before), []byte(c.after), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i].Reason != generalReasons[got[i].What] {
				t.Errorf("%+v", got[i])
			}
			got[i].Reason = ""
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s → %s: %s", c.before, c.after, diff)
		}
	}
	if _, err := DocumentLosses([]byte("{"), []byte("{}"), nil); err == nil {
		t.Error("no JSON was compared")
	}
}

func full(t *testing.T) *tape.Tape {
	t.Helper()
	data, err := os.ReadFile("../../tape/testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func TestTapeLossesGoUnderTheirReason(t *testing.T) {
	before, after := full(t), full(t)
	if got, err := TapeLosses(before, after, []int{0, 1, 2, 3, 4, 5}, "", nil); err != nil || got != nil {
		t.Fatalf("%v %v", got, err)
	}
	after.TapeID = ""
	after.Run.UserID, after.Run.TaskID = "", "other"
	after.Usage.CostUSD = exactjson.Value{}
	after.Events = after.Events[1:]
	after.Events[0].Caller, after.Events[1].Caller = "", ""
	after.Events[0].Error = &tape.Error{Message: "new"}
	reasons := []Reason{{"events.*.caller", "no callers"}, {"run.*", "no such id"}, {"usage", "no costs"}}
	got, err := TapeLosses(before, after, []int{1, 2, 3, 4, 5}, "no models", reasons)
	if err != nil {
		t.Fatal(err)
	}
	want := []Loss{
		{"run.task_id", Changed, "no such id"}, {"run.user_id", Dropped, "no such id"},
		{"events.0", Dropped, "no models"}, {"events.*.caller", Dropped, "no callers"}, {"events.1.error", Added, generalReasons[Added]},
		{"usage", Changed, "no costs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFinishDerivesIdsFromTheContent(t *testing.T) {
	make := func(seed string) *tape.Tape { return Finish(&tape.Tape{}, "waza", []byte(seed), Options{}).Tape }
	a, b, other := make("a"), make("a"), make("b")
	if a.Run.RunID != b.Run.RunID || a.Run.RunID == other.Run.RunID || a.Run.RunID != a.Run.TraceID+"-"+a.Run.RootSpanID || len(a.Run.RunID) != 49 {
		t.Errorf("%s %s %s", a.Run.RunID, b.Run.RunID, other.Run.RunID)
	}
	given := &tape.Tape{Run: tape.Run{TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", RootSpanID: "00f067aa0ba902b7", Tenant: "acme", Status: tape.StatusError}}
	if r := Finish(given, "waza", nil, Options{Tenant: "other"}).Tape.Run; r.RunID != "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7" || r.Tenant != "acme" || r.Status != tape.StatusError {
		t.Errorf("%+v", r)
	}
}

func TestAspectsTellKeptFromLost(t *testing.T) {
	tp := full(t)
	before, err := parsed(tp)
	if err != nil {
		t.Fatal(err)
	}
	nothing, err := parsed(&tape.Tape{})
	if err != nil {
		t.Fatal(err)
	}
	tp.Events = slices.DeleteFunc(tp.Events, func(e tape.Event) bool { return e.Seq == 2 })
	half, err := parsed(tp)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range Aspects {
		if got := a.Fate(before, before); got != Kept {
			t.Errorf("%s: %s", a.Name, got)
		}
		if got := a.Fate(before, nothing); got != Lost && a.Name != "redaction" && a.Name != "sources" { // which always hold a count
			t.Errorf("%s: %s", a.Name, got)
		}
		if got := a.Fate(before, half); a.Name == "tool results" && got != InPart {
			t.Errorf("%s: %s", a.Name, got)
		}
	}
}
