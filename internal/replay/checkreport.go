// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

// CheckReport is what a check of recorded runs found, for files: JUnit XML, Markdown, a page.
type CheckReport struct{ Runs []CheckedRun }

// CheckedRun is what is said of one run. Its texts are one line each.
type CheckedRun struct {
	Source, Status string
	Verdict        string // OK, UNVERIFIED, FAIL or ERROR
	Issues         []string
	Proof          string // "" where there is none
}

// Verdicts on a recorded run.
const (
	verdictOK         = "OK"
	verdictUnverified = "UNVERIFIED" // nothing is known to be wrong, nor every answer to be right
	verdictFail       = "FAIL"
	verdictError      = "ERROR" // it could not be loaded
)

// Tape adds the report on a tape.
func (c *CheckReport) Tape(r *Report) { c.add(r.Source, r.Status, r.Issues, r.Proof) }

// Snapshot adds the report on a snapshot.
func (c *CheckReport) Snapshot(r waza.Report) { c.add(r.Source, r.Status, issuesOf(r), nil) }

// Failed adds a run that could not be loaded.
func (c *CheckReport) Failed(source string, err error) {
	c.Runs = append(c.Runs, CheckedRun{Source: shownSource(source), Verdict: verdictError, Issues: []string{timeline.OneLine(err.Error())}})
}

func (c *CheckReport) add(source, status string, issues []Issue, p *Proof) {
	run := CheckedRun{Source: shownSource(source), Status: shownStatus(status), Verdict: verdictOf(issues, p)}
	for _, i := range issues {
		run.Issues = append(run.Issues, i.text())
	}
	if p != nil && p.Expected > 0 {
		run.Proof = p.counts(" tool calls")
	}
	c.Runs = append(c.Runs, run)
}

func verdictOf(issues []Issue, p *Proof) string {
	switch {
	case len(issues) > 0:
		return verdictFail
	case p.unproved():
		return verdictUnverified
	}
	return verdictOK
}

// Title says in a line how many runs are consistent.
func (c *CheckReport) Title() string {
	good, unverified := 0, ""
	for _, r := range c.Runs {
		if r.Verdict == verdictUnverified {
			unverified = "; UNVERIFIED: not every answer is known to be right"
		}
		if r.passed() {
			good++
		}
	}
	return fmt.Sprintf("%d of %d recorded runs are consistent%s", good, len(c.Runs), unverified)
}

func (r *CheckedRun) passed() bool { return r.Verdict == verdictOK || r.Verdict == verdictUnverified }

// Class is the style of the verdict on a page.
func (r CheckedRun) Class() string {
	return map[string]string{verdictOK: "good", verdictUnverified: "odd"}[r.Verdict]
}

// JUnit writes a test case for each run.
func (c *CheckReport) JUnit(w io.Writer) error {
	suite := junit.Suite{Name: "tapedeck replay", Notes: c.Title()}
	for _, r := range c.Runs {
		t := junit.Case{Class: "tapedeck.replay", Name: r.Source}
		why := &junit.Message{Text: strings.Join(r.Issues, "; ")}
		switch {
		case r.Verdict == verdictError:
			t.Error = why
		case !r.passed():
			t.Failure = why
		}
		suite.Cases = append(suite.Cases, t)
	}
	return suite.Write(w)
}

// Markdown writes a table for a pull request, a row for each run.
func (c *CheckReport) Markdown(w io.Writer) error {
	cell := strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`, "*", `\*`, "`", "\\`").Replace
	var b strings.Builder
	fmt.Fprintf(&b, "## Replay: %s\n\n| | run | status | proof | issues |\n|---|---|---|---|---|\n", c.Title())
	for _, r := range c.Runs {
		verdict := r.Verdict
		if !r.passed() {
			verdict = "**" + verdict + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", verdict, cell(r.Source), cell(r.Status), cell(r.Proof), cell(strings.Join(r.Issues, "; ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed checkpage.html
var checkPageText string

var checkPage = look.Template("checks", checkPageText)

// HTML writes a page that needs nothing else, a row for each run.
func (c *CheckReport) HTML(w io.Writer) error {
	return checkPage.Execute(w, struct {
		look.Head
		Runs []CheckedRun
	}{look.Head{Title: c.Title()}, c.Runs})
}

// shownSource is the address of a run as people see it.
func shownSource(source string) string {
	if !strings.Contains(source, "://") {
		source = filepath.Clean(source) // as waza shows it
	}
	return timeline.OneLine(source)
}
