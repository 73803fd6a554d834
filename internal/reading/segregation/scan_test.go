// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

func verdict(r *Rules, maps ...pcommon.Map) Verdict {
	s := Scan{Rules: r}
	for _, m := range maps {
		s.Attributes(m)
	}
	return s.Verdict()
}

func attrs(t *testing.T, values map[string]any) pcommon.Map {
	t.Helper()
	m := pcommon.NewMap()
	if err := m.FromRaw(values); err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	someRun  = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
	someTape = "sha256:5245bc371994913b571ee4e8aef0136c57a3915cf0c9e2a3ff91a6bcc8b8d87d"
)

func TestVerdictOnOneValue(t *testing.T) {
	replay := func(id string) Verdict { return Verdict{Replay: true, ID: id} }
	malformed := Verdict{Replay: true, ID: Unnamed, Malformed: true}
	for name, test := range map[string]struct {
		key   string
		value any
		want  Verdict
	}{
		"no tag":                     {"service.name", "x", Verdict{}},
		"a key of the same length":   {"replay_run_ix", "x", Verdict{}},
		"text":                       {Key, "r-1", replay("r-1")},
		"text with blanks around it": {Key, " r-1\n", replay("r-1")},
		"number":                     {Key, int64(42), replay("42")},
		"empty":                      {Key, "", malformed},
		"blank":                      {Key, "  ", malformed},
		"boolean":                    {Key, true, malformed},
		"fraction":                   {Key, 1.5, malformed},
		"list":                       {Key, []any{"a"}, malformed},
		"map":                        {Key, map[string]any{"a": "b"}, malformed},
		"bytes":                      {Key, []byte("a"), malformed},
		"null":                       {Key, nil, malformed},
		"control character":          {Key, "a\x00b", malformed},
		"not UTF-8":                  {Key, "a\xffb", malformed},
		"too long":                   {Key, strings.Repeat("x", maxIDBytes+1), malformed},
		"copy of baggage":            {"baggage." + Key, "r-1", replay("r-1")},
		"baggage header":             {"baggage", "user=1, replay_run_id=r%201;ttl=5,other", replay("r 1")},
		"list of baggage headers":    {"http.request.header.baggage", []any{"user=1", "replay_run_id=r-1"}, replay("r-1")},
		"other baggage":              {"baggage", "user=1,not_replay_run_id=2", Verdict{}},
		"empty in baggage":           {"baggage", "replay_run_id=", malformed},
		"bad escape in baggage":      {"baggage", "replay_run_id=%zz", malformed},
		"no value in baggage":        {"baggage", "replay_run_id", malformed},
		"what it replays, alone":     {OfKey, someRun, Verdict{}},
		"run named by the tag":       {Key, "nightly/" + someRun, Verdict{Replay: true, ID: "nightly/" + someRun, Of: someRun}},
		"tape named by the tag":      {Key, someTape, Verdict{Replay: true, ID: someTape, Of: someTape}},
		"a longer hex string":        {Key, "00" + someRun, replay("00" + someRun)},
	} {
		if diff := cmp.Diff(test.want, verdict(Default, attrs(t, map[string]any{test.key: test.value}))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestEveryPlaceOfASpanIsLookedAt(t *testing.T) {
	for name, put := range map[string]func(ptrace.Span) pcommon.Map{
		"attributes": func(s ptrace.Span) pcommon.Map { return s.Attributes() },
		"event": func(s ptrace.Span) pcommon.Map {
			s.Events().AppendEmpty()
			return s.Events().AppendEmpty().Attributes()
		},
		"link": func(s ptrace.Span) pcommon.Map { s.Links().AppendEmpty(); return s.Links().AppendEmpty().Attributes() },
	} {
		span := ptrace.NewSpan()
		put(span).PutStr(Key, "r-1")
		s := Scan{Rules: Default}
		s.Span("app", span)
		if v := s.Verdict(); !v.Replay || v.ID != "r-1" || !s.Found() {
			t.Errorf("%s: %+v", name, v)
		}
		s.Reset()
		if s.Found() || s.Verdict().Replay {
			t.Errorf("%s: not forgotten", name)
		}
	}
}

func TestSeveralIDsConflictAndTheSmallestStandsInAnyOrder(t *testing.T) {
	want := Verdict{Replay: true, ID: "a", Conflicting: true, Malformed: true, Of: someRun}
	maps := []pcommon.Map{
		attrs(t, map[string]any{Key: "b"}), attrs(t, map[string]any{Key: "a", OfKey: someRun}), attrs(t, map[string]any{Key: ""}),
		attrs(t, map[string]any{"x": "y"}), attrs(t, map[string]any{Key: "b", OfKey: "z"}),
	}
	random := rand.New(rand.NewPCG(seed.Of(t), 1))
	for range 50 {
		random.Shuffle(len(maps), func(i, j int) { maps[i], maps[j] = maps[j], maps[i] })
		if diff := cmp.Diff(want, verdict(Default, maps...)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestConfiguredKeysAndMarkers(t *testing.T) {
	r, err := New([]string{"eval.run", "exp"}, []Marker{{Key: "is_eval"}, {Key: "deployment.environment.name", Values: []string{"eval", "shadow"}}})
	if err != nil || !r.Custom() || Default.Custom() {
		t.Fatal(err)
	}
	for _, test := range []struct {
		key   string
		value any
		want  Verdict
	}{
		{Key, "r-1", Verdict{}},
		{"eval.run", "r-1", Verdict{Replay: true, ID: "r-1"}},
		{"baggage.exp", "r-1", Verdict{Replay: true, ID: "r-1"}},
		{"baggage", "exp=r-1", Verdict{Replay: true, ID: "r-1"}},
		{"baggage", "is_eval=1", Verdict{}},
		{"is_eval", true, Verdict{Replay: true, ID: Unnamed}},
		{"is_eval", false, Verdict{}},
		{"is_eval", "False", Verdict{}},
		{"is_eval", int64(0), Verdict{}},
		{"is_eval", "", Verdict{}},
		{"deployment.environment.name", "eval", Verdict{Replay: true, ID: Unnamed}},
		{"deployment.environment.name", "production", Verdict{}},
	} {
		if diff := cmp.Diff(test.want, verdict(r, attrs(t, map[string]any{test.key: test.value}))); diff != "" {
			t.Errorf("%s=%v:\n%s", test.key, test.value, diff)
		}
	}
	again, err := New([]string{"exp", "eval.run"}, []Marker{{Key: "deployment.environment.name", Values: []string{"shadow", "eval"}}, {Key: "is_eval"}})
	if err != nil || again.String() != r.String() || r.String() == Default.String() {
		t.Errorf("%s\n%s\n%v", r, again, err)
	}
}

func TestRulesThatCannotWorkAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		keys    []string
		markers []Marker
		want    string
	}{
		"empty key":    {keys: []string{""}, want: "empty key"},
		"key twice":    {keys: []string{"a", "a"}, want: `"a" is listed twice`},
		"reserved key": {keys: []string{"tapedeck.run.key"}, want: "reserved namespace"},
		"long key":     {keys: []string{strings.Repeat("k", 300)}, want: "longer than a key may be"},
		"empty marker": {markers: []Marker{{}}, want: "markers: an empty key"},
		"marker twice": {markers: []Marker{{Key: "m"}, {Key: "m"}}, want: `"m" is listed twice`},
		"marker a key": {markers: []Marker{{Key: Key}}, want: "is a key as well"},
	} {
		if _, err := New(test.keys, test.markers); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzBaggageAndTagsFailClosed(f *testing.F) {
	for _, s := range []string{"replay_run_id=r-1", "a=b,replay_run_id=", "replay_run_id", "replay_run_id=%41;x=y", ",,;=", "replay_run_id=%", someRun} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := pcommon.NewMap()
		m.PutStr("baggage", text)
		v := verdict(Default, m)
		if v.Replay != (v.ID != "") || v.Replay && !validID(v.ID) {
			t.Fatalf("%q: %+v", text, v)
		}
		m.PutStr(Key, text)
		if v := verdict(Default, m); !v.Replay || !validID(v.ID) {
			t.Fatalf("a tag %q is not a replay: %+v", text, v)
		}
	})
}
