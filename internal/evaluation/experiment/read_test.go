// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func opened(context.Context, *Case) (*tape.Tape, error) { return recordedTape(), nil }

// TestAReportThatIsReadIsShownAsItWasWritten compares the page of a report with that of its JSON.
func TestAReportThatIsReadIsShownAsItWasWritten(t *testing.T) {
	r := reportOf(t, 12)
	comparison := &Comparison{Kind: Kind + "-comparison", Version: Version, Run: r.Cases[0].Case, Candidates: []Compare{{Model: "m", Replays: []Attempt{{Passed: true, Of: r.Cases[0].Of}}, Replayed: 1, Passed: 1}}}
	for _, c := range []struct {
		name string
		json []byte
		page func(*bytes.Buffer) error
		runs int
	}{
		{"experiment", jsonOf(t, r), func(w *bytes.Buffer) error { return r.HTML(t.Context(), w, opened) }, 24},
		{"comparison", jsonOf(t, comparison), func(w *bytes.Buffer) error { return comparison.HTML(t.Context(), w, recordedTape()) }, 1},
	} {
		written, err := ReadReport(c.json)
		if err != nil {
			t.Fatal(c.name, err)
		}
		var want, got, linked bytes.Buffer
		if err := errors.Join(c.page(&want), written.HTML(t.Context(), &got, "", opened, nil),
			written.HTML(t.Context(), &linked, "/", opened, func(c *Case) string { return "/run/" + c.RunID })); err != nil {
			t.Fatal(c.name, err)
		}
		if want.String() != got.String() {
			t.Errorf("%s: another page than that of the report itself", c.name)
		}
		if runs := written.Runs(); len(runs) != c.runs || runs[0].RunID != r.Cases[0].RunID || runs[0].State == "" || written.Title() == "" {
			t.Errorf("%s: %+v", c.name, runs)
		}
		if !strings.Contains(linked.String(), `<a href="/run/`+r.Cases[0].RunID+`"`) || !strings.Contains(linked.String(), `<a href="/">‹ Runs</a>`) {
			t.Errorf("%s: no links", c.name)
		}
	}
}

func TestWhatIsNoReportIsRefused(t *testing.T) {
	r := reportOf(t, 12)
	edit := func(change func(r *Report)) []byte {
		own := *r
		own.Cases = append([]CaseResult{}, r.Cases...)
		change(&own)
		return jsonOf(t, own)
	}
	for want, data := range map[string][]byte{
		ErrNoReport.Error():                     []byte(`{"kind":"tapedeck-experiment"}`),
		"the report cannot be read":             []byte(`{"kind":"tapedeck-experiment-report","version":"2","cases":7}`),
		`a report of version "9"`:               []byte(`{"kind":"tapedeck-experiment-report","version":"9"}`),
		`the verdict "maybe"`:                   edit(func(r *Report) { r.State = "maybe" }),
		"a case in the state":                   edit(func(r *Report) { r.Cases[0].State = "better" }),
		"a case without its outcome":            edit(func(r *Report) { r.Cases[0].Of = nil }),
		"the report has a replay without an ou": []byte(`{"kind":"tapedeck-experiment-comparison","version":"2","candidates":[{"replays":[{}]}]}`),
	} {
		if _, err := ReadReport(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ReadReport([]byte("hello")); !errors.Is(err, ErrNoReport) {
		t.Error(err)
	}
}

// FuzzWhatIsReadCanBeShown: a report that is not refused can be shown.
func FuzzWhatIsReadCanBeShown(f *testing.F) {
	f.Add([]byte(`{"kind":"tapedeck-experiment-report","version":"2","verdict":"ship","replay_validity":[{"cohort":"a"}],"cases":[{"run_id":"r","state":"not_replayed","outcome":{"failure":{"code":"x"}}}],"evidence":{"most_improved":["r"]}}`))
	f.Add([]byte(`{"kind":"tapedeck-experiment-report","version":"2","verdict":"dont_ship","cases":[{"run_id":"r","state":"improved","outcome":{"models":{},"steps":[{"tool":"t","args":"{"}]}}],"evidence":{"most_improved":["r"]},"effort":[{}],"judge_cost":{}}`))
	f.Add([]byte(`{"kind":"tapedeck-experiment-comparison","version":"2","candidates":[{"model":"m","replays":[{"outcome":{"scores":[{"scorer":"s"}],"models":{}}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ReadReport(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		_ = w.HTML(t.Context(), &b, "/", opened, func(c *Case) string { return "/run/" + c.RunID })
		_, _ = w.Runs(), w.Title()
	})
}
