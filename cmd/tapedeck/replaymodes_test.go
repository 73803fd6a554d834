// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryFlagOfReplayIsTakenOrRefused: a flag that a mode does not take would do nothing, and nobody would
// say so.
func TestEveryFlagOfReplayIsTakenOrRefused(t *testing.T) {
	modes := []struct {
		mode   replayModes
		before []string
		after  []string
	}{
		{modeCheck, nil, nil}, {modeBisect, []string{"--bisect", "other.json"}, nil}, {modeCommand, nil, []string{"--", "agent"}}, {modeEnv, []string{"--print-env"}, nil}, {modeModels, []string{"--model-only"}, nil},
	}
	if len(modes) != len(replayModeNames) {
		t.Fatalf("%d modes", len(modes))
	}
	// chooses are the modes that a flag leads out of.
	chooses := map[string]replayModes{"bisect": modeCheck, "print-env": modeCheck | modeBisect | modeCommand, "model-only": modesAll}
	known := map[string]bool{"help": true, "config": true} // those of all commands
	newReplay().Flags().VisitAll(func(f *pflag.Flag) {
		known[f.Name] = true
		if flagModes(f.Name) == 0 {
			t.Errorf("--%s stands in no row of replayFlagModes", f.Name)
		}
		for _, m := range modes {
			if chooses[f.Name]&m.mode != 0 {
				continue
			}
			value := map[string]string{"bool": "true", "int": "1", "duration": "1s"}[f.Value.Type()]
			if value == "" {
				value = "x"
			}
			args := slices.Concat([]string{"replay", "nowhere.json"}, m.before, []string{"--" + f.Name + "=" + value}, m.after)
			if flagModes(f.Name)&m.mode != 0 { // it is not run: a command would be
				flags := newReplay().Flags()
				if err := flags.Parse(args[1:]); err != nil {
					t.Errorf("%v: %v", args, err)
				}
				if err := m.mode.checkFlags(flags); err != nil {
					t.Errorf("%v: %v", args, err)
				}
				continue
			}
			if got := tapedeck(t, args...); got.code != exitFailed || got.stdout != "" || !strings.HasPrefix(got.stderr, "tapedeck: --"+f.Name+" does nothing with "+m.mode.names()+"; it goes with: ") || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("%v: %+v", args, got)
			}
		}
	})
	for _, names := range replayFlagModes {
		for _, name := range names {
			if !known[name] {
				t.Errorf("replay has no flag --%s", name)
			}
		}
	}
	if got := tapedeck(t, "replay", "nowhere.json", "--model-only", "--ask", "m", "--", "agent"); got.code != exitFailed || !strings.Contains(got.stderr, "--model-only runs no command") {
		t.Errorf("%+v", got)
	}
}

// TestACheckOfRecordsWritesItsReports, with a row or a test case for each run, whatever came of it.
func TestACheckOfRecordsWritesItsReports(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for name, body := range map[string]string{"good.json": `{}`, "failed.json": `{"kind":"task-snapshot","result":{"status":"failed"}}`, "<b>|odd.json": `{"schemaVersion":"2.0"}`} {
		if err := os.WriteFile(file(name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reports := []string{"--junit", file("r.xml"), "--markdown", file("r.md"), "--html", file("r.html")}
	check := func(args ...string) (xmlCounts [4]int, markdown, html string, got result) {
		t.Helper()
		for i := 1; i < len(reports); i += 2 {
			if err := os.RemoveAll(reports[i]); err != nil {
				t.Fatal(err)
			}
		}
		got = tapedeck(t, slices.Concat([]string{"replay"}, args, reports)...)
		var suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Cases    []struct {
				Name string `xml:"name,attr"`
			} `xml:"testcase"`
		}
		if err := xml.Unmarshal([]byte(readAll(t, file("r.xml"))), &suite); err != nil {
			t.Fatal(err)
		}
		return [4]int{suite.Tests, len(suite.Cases), suite.Failures, suite.Errors}, readAll(t, file("r.md")), readAll(t, file("r.html")), got
	}
	counts, markdown, html, got := check(file("good.json"), file("failed.json"), file("<b>|odd.json"), "testdata/full", "--fail-on-status", "failed")
	if got.code != exitFailed || counts != [4]int{4, 4, 1, 1} {
		t.Errorf("%v, %+v", counts, got)
	}
	const title = "2 of 4 recorded runs are consistent"
	for _, want := range []string{"## Replay: " + title, "| OK | ", "| **FAIL** | ", "run_status: the run ended with status failed", "| **ERROR** | ", `&lt;b>\|odd.json`} {
		if !strings.Contains(markdown, want) {
			t.Errorf("no %q in\n%s", want, markdown)
		}
	}
	for _, want := range []string{"<h1>" + title + "</h1>", `<span class="badge good">OK</span>`, `<span class="badge bad">FAIL</span>`, `<span class="badge bad">ERROR</span>`, "&lt;b&gt;|odd.json"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in\n%s", want, html)
		}
	}
	if strings.Contains(html, "<b>") {
		t.Error("a name is markup")
	}
	// What is said on stdout is the same without files.
	if plain := tapedeck(t, "replay", file("good.json"), file("failed.json"), file("<b>|odd.json"), "testdata/full", "--fail-on-status", "failed"); plain != got {
		t.Errorf("%+v, with reports %+v", plain, got)
	}
	for _, alone := range []string{file("<b>|odd.json"), file("missing.json")} {
		if counts, markdown, _, got := check(alone); got.code != exitFailed || counts != [4]int{1, 1, 0, 1} || !strings.Contains(markdown, "0 of 1 recorded runs are consistent") {
			t.Errorf("%s: %v, %+v", alone, counts, got)
		}
	}
	if counts, markdown, html, got := check("testdata/full"); got.code != exitOK || counts != [4]int{1, 1, 0, 0} || strings.Contains(markdown+html, "FAIL") {
		t.Errorf("%v, %+v", counts, got)
	}
}
