// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
)

// Status is how a case, or one replay of it, ended.
type Status string

// The ends.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Flaky   Status = "flaky"    // some replays of a case passed and others did not
	NotDone Status = "not_done" // there is no replay to judge
)

// Replay is one replay of a case.
type Replay struct {
	ID      string   `json:"replay_run_id"`
	Status  Status   `json:"status"`
	Reasons []string `json:"reasons"`
	// Notes are what was less than exact.
	Notes []string `json:"notes,omitempty"`
}

// Result is what became of a case.
type Result struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"` // run id
	Status  Status   `json:"status"`
	Passed  int      `json:"passed"` // of its replays
	Replays []Replay `json:"replays"`
}

// Conclude sets what follows from the replays.
func (r *Result) Conclude() {
	count := map[Status]int{}
	for _, replay := range r.Replays {
		count[replay.Status]++
	}
	r.Passed = count[Passed]
	switch {
	case r.Passed == len(r.Replays):
		r.Status = Passed
	case r.Passed > 0:
		r.Status = Flaky
	case count[Failed] > 0:
		r.Status = Failed
	default:
		r.Status = NotDone
	}
}

// Report is what became of a suite. Its JSON form is part of the contract.
type Report struct {
	Suite   string         `json:"suite"`
	Command []string       `json:"command"`
	Repeat  int            `json:"repeat"`
	Counts  map[Status]int `json:"counts"`
	Cases   []Result       `json:"cases"`
	Broken  []string       `json:"broken"` // cases that could not be read
}

// Conclude counts the cases.
func (r *Report) Conclude() {
	r.Counts = map[Status]int{Passed: 0, Failed: 0, Flaky: 0, NotDone: len(r.Broken)}
	for _, c := range r.Cases {
		r.Counts[c.Status]++
	}
}

// Exit codes of a report.
const (
	exitPassed  = 0
	exitFailed  = 1 // a case failed, or is flaky
	exitNotDone = 2 // a case could not be read or replayed
)

// ExitCode is the code of the worst case, as that of replay.
func (r *Report) ExitCode() int {
	switch {
	case r.Counts[NotDone] > 0:
		return exitNotDone
	case r.Counts[Failed]+r.Counts[Flaky] > 0:
		return exitFailed
	}
	return exitPassed
}

func (r *Report) summary() string {
	return fmt.Sprintf("%d passed, %d failed, %d flaky, %d not done", r.Counts[Passed], r.Counts[Failed], r.Counts[Flaky], r.Counts[NotDone])
}

// statusText is the status of a case for a person; of one that was replayed several times with how often it passed.
func (r *Result) statusText() string {
	text := strings.ReplaceAll(string(r.Status), "_", " ")
	if len(r.Replays) > 1 {
		text += fmt.Sprintf(" (%d of %d)", r.Passed, len(r.Replays))
	}
	return text
}

// reasons are those of all replays, each once, with how many had it where there were several.
func (r *Result) reasons() (list []string) {
	count := map[string]int{}
	for _, replay := range r.Replays {
		for _, reason := range replay.Reasons {
			if count[reason]++; count[reason] == 1 {
				list = append(list, reason)
			}
		}
	}
	if len(r.Replays) > 1 {
		for i, reason := range list {
			list[i] = fmt.Sprintf("%s (%d of %d replays)", reason, count[reason], len(r.Replays))
		}
	}
	return list
}

// notes are those of all replays, each once.
func (r *Result) notes() (list []string) {
	seen := map[string]bool{}
	for _, replay := range r.Replays {
		for _, note := range replay.Notes {
			if !seen[note] {
				seen[note] = true
				list = append(list, note)
			}
		}
	}
	return list
}

// Text is the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "%-8s  %s\n", c.statusText(), c.Name)
		for _, reason := range c.reasons() {
			for i, line := range strings.Split(reason, "; ") {
				fmt.Fprintf(&b, "          %s%s\n", strings.Repeat("  ", min(i, 1)), line)
			}
		}
	}
	for _, broken := range r.Broken {
		fmt.Fprintf(&b, "not done  %s\n", broken)
	}
	fmt.Fprintf(&b, "%s\n", r.summary())
	return b.String()
}

// Markdown writes the report for a pull request.
func (r *Report) Markdown() string {
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "'")
	var b strings.Builder
	fmt.Fprintf(&b, "## Regression suite: %s\n\n| case | | |\n|---|---|---|\n", r.summary())
	row := func(name, status string, reasons []string) {
		if status != string(Passed) {
			status = "**" + status + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell.Replace(name), status, strings.ReplaceAll(cell.Replace(strings.Join(reasons, "; ")), "; ", "<br>"))
	}
	for _, c := range r.Cases {
		row(c.Name, c.statusText(), c.reasons())
	}
	for _, broken := range r.Broken {
		row("", "not done", []string{broken})
	}
	first := true
	for _, c := range r.Cases {
		for _, note := range c.notes() {
			if first {
				b.WriteString("\n")
				first = false
			}
			fmt.Fprintf(&b, "- %s: %s\n", cell.Replace(c.Name), cell.Replace(note))
		}
	}
	return b.String()
}

// JUnit writes the report as JUnit XML: a test for each case. A flaky one is a failure.
func (r *Report) JUnit(w io.Writer) error {
	s := junit.Suite{Name: "tapedeck suite"}
	var notes []string
	for _, c := range r.Cases {
		t := junit.Case{Class: "tapedeck.suite", Name: c.Name}
		why := &junit.Message{Text: strings.Join(append([]string{c.statusText()}, c.reasons()...), "; ")}
		switch c.Status {
		case Passed:
		case NotDone:
			t.Error = why
		default:
			t.Failure = why
		}
		s.Cases = append(s.Cases, t)
		for _, note := range c.notes() {
			notes = append(notes, c.Name+": "+note)
		}
	}
	for _, broken := range r.Broken {
		s.Cases = append(s.Cases, junit.Case{Class: "tapedeck.suite", Name: broken, Error: &junit.Message{Text: broken}})
	}
	s.Notes = strings.Join(notes, "\n")
	return s.Write(w)
}
