// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/replay/page/pagetest"
	"github.com/tapedeck/tapedeck/tape"
)

// reportAbout is a report of an experiment with some runs, hostile where it can be: ref is no address of a tape.
func reportAbout(tb testing.TB, text string, runs ...*tape.Tape) []byte {
	tb.Helper()
	r := &experiment.Report{}
	pagetest.Fill(r, text)
	r.Kind, r.Version, r.State = experiment.Kind+"-report", experiment.Version, statistics.Ship
	one := r.Cases[0]
	r.Cases = nil
	for _, t := range runs {
		one.Case = experiment.Case{Cohort: text, RunID: t.Run.RunID, Tenant: t.Run.Tenant, TapeID: t.TapeID, Ref: "/etc/passwd"}
		one.State = experiment.Improved
		r.Evidence.Improved = append(r.Evidence.Improved, t.Run.RunID)
		r.Cases = append(r.Cases, one)
	}
	body, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func put(t *testing.T, dir, name string, body []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

var toReport = regexp.MustCompile(`href="(/report/[0-9a-f]{12})"`)

func TestReportsAreShownBesideTheirRuns(t *testing.T) {
	one, two, other := made("default", 1, tape.StatusOK), made("default", 2, tape.StatusError), made("acme", 3, tape.StatusOK)
	d := newDeck(t, one, two, other)
	dir := t.TempDir()
	put(t, dir, "all.json", reportAbout(t, attack, one, two))
	put(t, dir, "note.json", []byte(`{"hello":"world"}`))
	put(t, dir, "broken.json", []byte(`{"kind":"tapedeck-experiment-report","version":"2","cases":7}`))
	alone := put(t, t.TempDir(), "acme.json", reportAbout(t, "acme only", other))
	h := New(Config{Deck: d, Address: "./deck", LocalOnly: true, SearchLimit: 100, Reports: []string{dir, alone}})

	list := get(t, h, "/reports").body
	inert(t, "/reports", list)
	if n := len(toReport.FindAllString(list, -1)); n != 3 || !strings.Contains(list, "broken.json") || strings.Contains(list, "note.json") {
		t.Errorf("%d reports are listed:\n%s", n, list)
	}
	run := get(t, h, "/run/"+two.Run.RunID).body
	inert(t, "a run with a report", run)
	links := toReport.FindAllStringSubmatch(run, -1)
	if len(links) != 1 || !strings.Contains(run, "this run: improved, delta") {
		t.Fatalf("%d reports beside the run", len(links))
	}
	shown := get(t, h, links[0][1])
	if shown.status != http.StatusOK {
		t.Fatalf("%+v", shown)
	}
	inert(t, "a report", strings.Replace(shown.body, "<style>", "<style data-own>", 1))
	for _, want := range []string{`<a href="/run/` + one.Run.RunID + `?tenant=default">`, `<a href="/">‹ Runs</a>`, "question 1 "} {
		if !strings.Contains(shown.body, want) {
			t.Errorf("%s is not in the report", want)
		}
	}
	if strings.Contains(shown.body, "root:") || !strings.HasPrefix(shown.header.Get("Content-Security-Policy"), "default-src 'none'; ") {
		t.Errorf("%v", shown.header)
	}
	if a := get(t, h, "/report/000000000000"); a.status != http.StatusNotFound {
		t.Errorf("%+v", a)
	}
	// What is written later is seen, and what is replaced.
	put(t, dir, "later.json", reportAbout(t, "later", two))
	put(t, dir, "all.json", reportAbout(t, "replaced", one))
	if run := get(t, h, "/run/"+two.Run.RunID).body; !strings.Contains(run, "later.json") || strings.Contains(run, "all.json") {
		t.Error("the reports of before are shown")
	}
}

// TestReportsOfOtherTenantsAreNotThere: a report quotes all of its runs, so a reader of one tenant sees those of his runs alone.
func TestReportsOfOtherTenantsAreNotThere(t *testing.T) {
	mine, theirs := made("acme", 1, tape.StatusOK), made("default", 2, tape.StatusOK)
	d, dir := newDeck(t, mine, theirs), t.TempDir()
	for name, runs := range map[string][]*tape.Tape{"mine": {mine}, "mixed": {mine, theirs}, "theirs": {theirs}} {
		put(t, dir, name+".json", reportAbout(t, name, runs...))
	}
	put(t, dir, "broken.json", []byte(`{"kind":"tapedeck-experiment-report","version":"2","cases":7}`))
	everybody := New(Config{Deck: d, SearchLimit: 100, Reports: []string{dir}})
	h := New(Config{Deck: d, Tenant: "acme", SearchLimit: 100, Reports: []string{dir}})
	own := map[string]bool{}
	for _, m := range toReport.FindAllStringSubmatch(get(t, h, "/reports").body, -1) {
		own[m[1]] = true
	}
	all := toReport.FindAllStringSubmatch(get(t, everybody, "/reports").body, -1)
	if len(own) != 1 || len(all) != 4 {
		t.Errorf("%d of %d reports", len(own), len(all))
	}
	for _, m := range all {
		a := get(t, h, m[1])
		if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[own[m[1]]]; a.status != want {
			t.Errorf("%s: %d, want %d", m[1], a.status, want)
		}
	}
	if run := get(t, h, "/run/"+mine.Run.RunID).body; strings.Count(run, "/report/") != 1 {
		t.Error(fmt.Sprint("reports beside the run: ", strings.Count(run, "/report/")))
	}
}
