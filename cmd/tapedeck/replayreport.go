// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/schema"
)

// tapeReport is what is said about a tape: the members of waza's report, and more. The order of its fields is part of the contract.
type tapeReport struct {
	Source     string      `json:"source"`
	Mode       string      `json:"mode"`
	Pass       bool        `json:"pass"`
	Status     string      `json:"status"`
	Issues     []tapeIssue `json:"issues,omitempty"`
	ToolEvents int         `json:"tool_events"`
	Graders    int         `json:"graders"`
	RunID      string      `json:"run_id"`
	TapeID     string      `json:"tape_id"`
	Grade      tape.Grade  `json:"grade"`
	Events     int         `json:"events"`
	Proof      *proof      `json:"proof"`
}

type tapeIssue struct {
	Kind    string `json:"kind"`
	Grader  string `json:"grader,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

type proof struct {
	Expected     int   `json:"expected"`
	Served       int   `json:"served"`
	Verified     int   `json:"verified"`
	Mismatched   int   `json:"mismatched"`
	Unverifiable int   `json:"unverifiable"`
	OK           *bool `json:"ok,omitempty"` // absent when nothing was verified and nothing failed
}

func proofOf(p tape.Proof) *proof {
	return &proof{p.Expected, p.Served, p.Verified, p.Mismatched, p.Unverifiable, p.OK}
}

// unproved reports a tape with calls of which none could be verified: nothing is known to be wrong with it, nor to be right.
func (p *proof) unproved() bool { return p != nil && p.Expected > 0 && p.OK == nil }

// failedFile is the line about a file that could not be loaded, where each run has a line.
type failedFile struct {
	Source string `json:"source"`
	Mode   string `json:"mode"`
	Pass   bool   `json:"pass"`
	Error  string `json:"error"`
}

func (r *replay) tapeReport(one recorded) tapeReport {
	t := one.tape
	p := t.Fidelity.Proof
	verdicts, status, graders := waza.TapeIssues(t)
	if status == "" {
		status = string(t.Run.Status)
	}
	report := tapeReport{
		Source: one.source, Mode: waza.ModelReplay, Status: status, ToolEvents: len(one.events(false)), Graders: graders,
		RunID: t.Run.RunID, TapeID: t.TapeID, Grade: t.Fidelity.Grade, Events: len(t.Events),
		Proof: proofOf(p),
	}
	for _, problem := range append(place(one.at, t), tape.Verify(t, one.files, schema.Check, oracle.Check)...) {
		if problem.Code == tape.ProblemFile && one.files[problem.Path] == nil && !one.at.ref.InDeck() {
			say(r.stderr, "%s: %s is not beside it and was not checked", one.source, problem.Path)
			continue
		}
		report.Issues = append(report.Issues, tapeIssue{Kind: problem.Code, Path: problem.Path, Message: problem.Detail})
	}
	if p.Mismatched > 0 {
		report.Issues = append(report.Issues, tapeIssue{Kind: "proof_mismatch", Path: "fidelity.proof.mismatched",
			Message: fmt.Sprintf("%d of %d tool calls would be answered otherwise than the run saw", p.Mismatched, p.Expected)})
	}
	if r.flags.strict {
		if p.Served < p.Expected {
			report.Issues = append(report.Issues, tapeIssue{Kind: "proof_unserved", Path: "fidelity.proof.served",
				Message: fmt.Sprintf("%d of %d tool calls cannot be served", p.Expected-p.Served, p.Expected)})
		}
		if report.Proof.unproved() {
			report.Issues = append(report.Issues, tapeIssue{Kind: "proof_unverified", Path: "fidelity.proof.verified",
				Message: fmt.Sprintf("verified 0 of %d tool calls: no later request shows what they returned", p.Expected)})
		}
		for _, v := range verdicts {
			report.Issues = append(report.Issues, tapeIssue{Kind: v.Kind, Grader: v.Grader, Message: v.Message})
		}
	}
	if issue, failed := r.status(status); failed {
		report.Issues = append(report.Issues, issue)
	}
	report.Pass = len(report.Issues) == 0
	return report
}

// print writes JSON as waza does: indented, with HTML escaped, and a line feed; or on one line.
func (r *replay) print(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if !r.lines {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := r.stdout.Write(b.Bytes())
	return err
}

func (r *replay) text(source, status string, events, graders int, issues []tapeIssue, p *proof) error {
	if !strings.Contains(source, "://") {
		source = filepath.Clean(source) // as waza shows it
	}
	var b bytes.Buffer
	if len(issues) == 0 {
		verdict := "OK"
		if p.unproved() {
			verdict = "UNVERIFIED"
		}
		fmt.Fprintf(&b, "%s model-replay: consistent; run status: %s (%d tool_events, %d graders)\n", verdict, oneLine(cmp.Or(status, "not stated")), events, graders)
		if p != nil && p.Expected > 0 {
			fmt.Fprintf(&b, "  proof: verified %d of %d\n", p.Verified, p.Expected)
		}
		fmt.Fprintf(&b, "  source: %s\n\n", oneLine(source))
	} else {
		fmt.Fprintf(&b, "FAIL model-replay: %d issue(s)\n", len(issues))
		for _, i := range issues {
			where := ""
			if i.Grader != "" {
				where = " [" + oneLine(i.Grader) + "]"
			} else if i.Path != "" {
				where = " " + oneLine(i.Path)
			}
			fmt.Fprintf(&b, "  - %s%s: %s\n", i.Kind, where, oneLine(i.Message))
		}
		fmt.Fprintf(&b, "  source: %s\n\n", oneLine(source))
	}
	_, err := r.stdout.Write(b.Bytes())
	return err
}

func (r *replay) textComparison(c waza.Comparison) error {
	var b bytes.Buffer
	if c.Match {
		b.WriteString("OK snapshots match\n")
	} else {
		fmt.Fprintf(&b, "DIVERGENCE detected\nfirst divergent turn: %d\n", c.FirstDivergentTurn)
		for _, d := range c.Divergences {
			fmt.Fprintf(&b, "first divergence: %s at event #%d\n  baseline: %s\n  replayed: %s\n  %s\n",
				d.Kind, d.FirstDivergentIndex+1, oneLine(d.BaselineValue), oneLine(d.ReplayedValue), oneLine(d.Description))
		}
	}
	_, err := r.stdout.Write(b.Bytes())
	return err
}
