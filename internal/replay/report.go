// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

// Report is what is said about a tape: the members of waza's report, and more. The order of its fields is part of the contract.
type Report struct {
	Source     string     `json:"source"`
	Mode       string     `json:"mode"`
	Pass       bool       `json:"pass"`
	Status     string     `json:"status"`
	Issues     []Issue    `json:"issues,omitempty"`
	ToolEvents int        `json:"tool_events"`
	Graders    int        `json:"graders"`
	RunID      string     `json:"run_id"`
	TapeID     string     `json:"tape_id"`
	Grade      tape.Grade `json:"grade"`
	Events     int        `json:"events"`
	Proof      *Proof     `json:"proof"`
}

// Issue is what is wrong with a run.
type Issue struct {
	Kind    string `json:"kind"`
	Grader  string `json:"grader,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Proof is what the proof of a tape found.
type Proof struct {
	Expected     int   `json:"expected"`
	Served       int   `json:"served"`
	Verified     int   `json:"verified"`
	Mismatched   int   `json:"mismatched"`
	Unverifiable int   `json:"unverifiable"`
	Recorded     int   `json:"recorded,omitempty"`
	OK           *bool `json:"ok,omitempty"` // absent when nothing failed and not every answer is known to be right
}

func proofOf(p tape.Proof) *Proof {
	return &Proof{p.Expected, p.Served, p.Verified, p.Mismatched, p.Unverifiable, p.Recorded, p.OK}
}

// unproved reports a tape with calls of which no request of the run shows an answer, or not enough to tell: nothing is known to be wrong.
func (p *Proof) unproved() bool {
	return p != nil && p.Expected > 0 && (p.OK == nil || *p.OK && p.Verified == 0)
}

// counts says of how many calls the answers are known to be right.
func (p *Proof) counts(noun string) string {
	text := fmt.Sprintf("verified %d of %d%s", p.Verified, p.Expected, noun)
	if p.Recorded > 0 {
		text += fmt.Sprintf(", %d recorded by the tools alone", p.Recorded)
	}
	return text
}

// Failed is the line about a file that could not be loaded, where each run has a line.
type Failed struct {
	Source string `json:"source"`
	Mode   string `json:"mode"`
	Pass   bool   `json:"pass"`
	Error  string `json:"error"`
}

// Check says what runs are checked for.
type Check struct {
	Strict bool     // also what graders claim and, of tapes, that every tool call can be served
	FailOn []string // statuses of runs that are an issue too
	Warn   func(format string, args ...any)
}

// Statuses are those of tapes, then those that waza adds.
var Statuses = []string{string(tape.StatusOK), string(tape.StatusError), string(tape.StatusInterrupted), string(tape.StatusIncomplete), "passed", "failed", "skipped"}

// status is what FailOn says about how a run ended. Without it the end of a run is no issue: the record of a run that failed can
// be consistent.
func (c Check) status(status string) (Issue, bool) {
	if !slices.Contains(c.FailOn, status) {
		return Issue{}, false
	}
	return Issue{Kind: "run_status", Message: "the run ended with status " + status}, true
}

// maxUnknown is how many unknown members of a snapshot are named.
const maxUnknown = 20

// Snapshot checks a snapshot of waza.
func (c Check) Snapshot(one Recorded) waza.Report {
	unknown := one.Snapshot.Unknown
	for _, path := range unknown[:min(len(unknown), maxUnknown)] {
		c.Warn("%s: %s is no known member of a snapshot and was not checked", one.Source, path)
	}
	report := one.Snapshot.Replay(one.Source, c.Strict)
	if issue, failed := c.status(report.Status); failed {
		report.Issues, report.Pass = append(report.Issues, waza.Issue{Kind: issue.Kind, Message: issue.Message}), false
	}
	return report
}

// Tape checks a tape.
func (c Check) Tape(one Recorded) Report {
	t := one.Tape
	p := t.Fidelity.Proof
	verdicts, status, graders := waza.TapeIssues(t)
	if status == "" {
		status = string(t.Run.Status)
	}
	report := Report{
		Source: one.Source, Mode: waza.ModelReplay, Status: status, ToolEvents: len(one.Events(false)), Graders: graders,
		RunID: t.Run.RunID, TapeID: t.TapeID, Grade: t.Fidelity.Grade, Events: len(t.Events),
		Proof: proofOf(p),
	}
	for _, p := range one.At.problems(t, one.Files, one.Source, c.Warn) {
		report.Issues = append(report.Issues, Issue{Kind: p.Code, Path: p.Path, Message: p.Detail})
	}
	if p.Mismatched > 0 {
		report.Issues = append(report.Issues, Issue{Kind: "proof_mismatch", Path: "fidelity.proof.mismatched",
			Message: fmt.Sprintf("%d of %d tool calls would be answered otherwise than the run saw", p.Mismatched, p.Expected)})
	}
	if c.Strict {
		if p.Served < p.Expected {
			report.Issues = append(report.Issues, Issue{Kind: "proof_unserved", Path: "fidelity.proof.served",
				Message: fmt.Sprintf("%d of %d tool calls cannot be served", p.Expected-p.Served, p.Expected)})
		}
		if report.Proof.unproved() {
			report.Issues = append(report.Issues, Issue{Kind: "proof_unverified", Path: "fidelity.proof.verified",
				Message: fmt.Sprintf("%s: no later request shows what the others returned", report.Proof.counts(" tool calls"))})
		}
		for _, v := range verdicts {
			report.Issues = append(report.Issues, Issue{Kind: v.Kind, Grader: v.Grader, Message: v.Message})
		}
	}
	if issue, failed := c.status(status); failed {
		report.Issues = append(report.Issues, issue)
	}
	report.Pass = len(report.Issues) == 0
	return report
}

// Text is the report for a person.
func (r *Report) Text() []byte {
	return text(r.Source, r.Status, r.ToolEvents, r.Graders, r.Issues, r.Proof)
}

// SnapshotText is the report on a snapshot for a person.
func SnapshotText(r waza.Report) []byte {
	return text(r.Source, r.Status, r.ToolEvents, r.Graders, issuesOf(r), nil)
}

func issuesOf(r waza.Report) []Issue {
	issues := make([]Issue, len(r.Issues))
	for i, issue := range r.Issues {
		issues[i] = Issue{Kind: issue.Kind, Grader: issue.Grader, Message: issue.Message}
	}
	return issues
}

// text is the issue as one line.
func (i *Issue) text() string {
	where := ""
	if i.Grader != "" {
		where = " [" + timeline.OneLine(i.Grader) + "]"
	} else if i.Path != "" {
		where = " " + timeline.OneLine(i.Path)
	}
	return i.Kind + where + ": " + timeline.OneLine(i.Message)
}

func shownStatus(status string) string { return timeline.OneLine(cmp.Or(status, "not stated")) }

func text(source, status string, events, graders int, issues []Issue, p *Proof) []byte {
	var b bytes.Buffer
	if len(issues) == 0 {
		fmt.Fprintf(&b, "%s model-replay: consistent; run status: %s (%d tool_events, %d graders)\n", verdictOf(issues, p), shownStatus(status), events, graders)
		if p != nil && p.Expected > 0 {
			fmt.Fprintf(&b, "  proof: %s\n", p.counts(""))
		}
	} else {
		fmt.Fprintf(&b, "%s model-replay: %d issue(s)\n", verdictFail, len(issues))
		for _, i := range issues {
			fmt.Fprintf(&b, "  - %s\n", i.text())
		}
	}
	fmt.Fprintf(&b, "  source: %s\n\n", shownSource(source))
	return b.Bytes()
}

// BisectText says for a person where the tool calls of two runs diverge.
func BisectText(c waza.Comparison) []byte {
	var b bytes.Buffer
	if c.Match {
		b.WriteString("OK snapshots match\n")
	} else {
		fmt.Fprintf(&b, "DIVERGENCE detected\nfirst divergent turn: %d\n", c.FirstDivergentTurn)
		for _, d := range c.Divergences {
			fmt.Fprintf(&b, "first divergence: %s at event #%d\n  baseline: %s\n  replayed: %s\n  %s\n",
				d.Kind, d.FirstDivergentIndex+1, timeline.OneLine(d.BaselineValue), timeline.OneLine(d.ReplayedValue), timeline.OneLine(d.Description))
		}
	}
	return b.Bytes()
}
