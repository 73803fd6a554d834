// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// header says which run this is, how it ended and what the tape is good for.
func (p *printer) header() {
	r := &p.t.Run
	agent := joinWith(" ", or(r.Agent.Name, r.Agent.ID), r.Agent.Version)
	service := joinWith(" ", joinWith("/", r.Service.Namespace, r.Service.Name), r.Service.Version)
	p.println(p.paint(Bold, line(or(agent, or(service, "run without a name")))))
	p.row("run", r.RunID)
	if r.ReplayRunID != "" {
		p.row("replay", r.ReplayRunID)
	}
	p.row("service", joinWith(" · ", service, r.Service.Environment))
	p.row("agent", agent)
	c := &p.t.Config
	p.row("model", joinWith(" · ", c.Model, c.Provider))
	status := p.paint(StatusStyle(string(r.Status)), string(r.Status))
	if r.Error != nil {
		status += "  " + line(joinWith(": ", r.Error.Type, r.Error.Message))
	}
	p.styledRow("status", status)
	if !r.StartedAt.IsZero() {
		p.row("started", joinWith(" · ", r.StartedAt.UTC().Format("2006-01-02 15:04:05.000Z"), Duration(r.DurationMS)))
	}
	p.row("calls", joinWith(", ", Plural(p.t.Usage.ModelCalls, "model call", "model calls"), Plural(p.t.Usage.ToolCalls, "tool call", "tool calls"),
		tokens(p.t.Usage.InputTokens, "tokens in"), tokens(p.t.Usage.OutputTokens, "out")))
	f := &p.t.Fidelity
	p.styledRow("grade", p.paint(GradeStyle(f.Grade), string(f.Grade))+"  "+p.paint(Dim, gradeMeaning[f.Grade]))
	p.styledRow("proof", p.proof(&f.Proof))
	p.row("redaction", joinWith(", ", or(p.t.Redaction.Policy, "none"), count(p.t.Redaction.Count, "value", "values")))
	p.row("tape", p.t.TapeID)
}

var gradeMeaning = map[tape.Grade]string{
	tape.GradeOffline: "replays with the network closed",
	tape.GradeTools:   "re-runs against any model, tools from the tape",
	tape.GradeModel:   "model calls can be served, tools cannot",
	tape.GradePartial: "some calls can be served",
	tape.GradeInspect: "to look at only",
}

// GradeMeaning says what a tape of a grade is good for.
func GradeMeaning(g tape.Grade) string { return gradeMeaning[g] }

func (p *printer) proof(proof *tape.Proof) string {
	if proof.Expected == 0 {
		return "nothing to prove"
	}
	verdict := p.paint(Yellow, "nothing verified")
	switch {
	case proof.OK != nil && *proof.OK:
		verdict = p.paint(Green, "ok")
	case proof.OK != nil:
		verdict = p.paint(Red, "failed")
	case proof.Verified > 0:
		verdict = p.paint(Yellow, "not all verified")
	}
	counts := fmt.Sprintf("verified %d of %d, %d served, %d mismatched, %d unverifiable", proof.Verified, proof.Expected, proof.Served, proof.Mismatched, proof.Unverifiable)
	if proof.Recorded > 0 {
		counts += fmt.Sprintf(" (%d recorded by the tools alone)", proof.Recorded)
	}
	return verdict + "  " + p.paint(Dim, counts)
}

// row writes a label and a value; empty values are left out.
func (p *printer) row(label, value string) {
	if value = line(value); value != "" {
		p.styledRow(label, value)
	}
}

func (p *printer) styledRow(label, value string) {
	p.println("  " + p.paint(Dim, pad(label, headerWidth)) + value)
}

const headerWidth = 11

// asked shows what the caller sent into the run.
func (p *printer) asked() {
	in := &p.t.Input
	p.title("Asked")
	if in.SystemPrompt != nil {
		p.field("  ", "system", *in.SystemPrompt, promptLines, label(in.Provenance, "system_prompt"))
	}
	if history := len(in.Messages); history > 2 {
		p.field("  ", "history", Plural(history, "message", "messages")+" in the first request", 1, label(in.Provenance, "messages"))
	}
	switch {
	case in.UserMessage != nil:
		p.field("  ", "user", *in.UserMessage, userLines, label(in.Provenance, "user_message"))
	default:
		p.println("  " + p.paint(Dim, "the user's message is not in the telemetry"))
	}
	if in.A2A != nil {
		p.field("  ", "a2a", in.A2A.Method, 1, missing(in.A2A.Missing))
	}
}

func missing(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return "missing: " + line(strings.Join(fields, ", "))
}

// answer shows what the run answered.
func (p *printer) answer() {
	out := &p.t.Output
	p.title("Answer")
	switch {
	case out.Text != nil:
		p.field("  ", "text", *out.Text, answerLines, label(out.Provenance, "text"))
	default:
		p.println("  " + p.paint(Dim, "no answer is in the telemetry"))
	}
	if out.Error != nil {
		p.field("  ", "error", joinWith(": ", out.Error.Type, out.Error.Message), 2, "")
	}
}

// findings lists what is missing or odd, the gravest first. Findings that have one cause are one line, unless all are wanted.
func (p *printer) findings() {
	all := p.t.Fidelity.Findings
	if len(all) == 0 {
		return
	}
	p.title("Findings")
	if cause := cause(all, p.t.Fidelity.Grade); cause != nil && !p.o.Full {
		p.cause(cause, all)
		return
	}
	p.list(func(*tape.Finding) bool { return true })
}

// absent are the findings that say that content was not recorded: one setting of the producer brings all of it.
var absent = map[tape.Code]bool{tape.CodeContentAbsent: true, tape.CodeArgsMissing: true, tape.CodeResultMissing: true}

// fewFindings are listed, whatever their cause.
const fewFindings = 3

// cause returns the findings that have one cause. These are the findings of absent content where there are more than a few.
// Otherwise, for a tape that is good for looking at only, they are the most frequent of the gravest. It returns nil when there is
// none.
func cause(all []tape.Finding, grade tape.Grade) func(*tape.Finding) bool {
	missing := func(f *tape.Finding) bool { return absent[f.Code] }
	n, counts := 0, map[tape.Code]int{}
	var first tape.Code
	for _, s := range severities {
		for i := range all {
			f := &all[i]
			if f.Severity != s.severity {
				continue
			}
			if missing(f) {
				n++
			}
			if counts[f.Code]++; first == "" {
				first = f.Code
			}
		}
	}
	switch {
	case n > fewFindings:
		return missing
	case grade == tape.GradeInspect && len(all) > fewFindings:
		for code, n := range counts {
			if s := severityOf(all, code); s == severityOf(all, first) && (n > counts[first] || n == counts[first] && code < first) {
				first = code
			}
		}
		return func(f *tape.Finding) bool { return f.Code == first }
	}
	return nil
}

func severityOf(all []tape.Finding, code tape.Code) tape.Severity {
	return all[slices.IndexFunc(all, func(f tape.Finding) bool { return f.Code == code })].Severity
}

// cause writes one line for the findings of one cause, and what to do.
func (p *printer) cause(of func(*tape.Finding) bool, all []tape.Finding) {
	n := 0
	var codes []string
	var code tape.Code
	for i := range all {
		if f := &all[i]; of(f) {
			n, code = n+1, f.Code
			if !slices.Contains(codes, string(f.Code)) {
				codes = append(codes, string(f.Code))
			}
		}
	}
	what := "the telemetry holds the structure of the run and not its content"
	if !absent[code] {
		for _, kind := range tape.FindingKinds {
			if kind.Code == code {
				what = kind.Meaning
			}
		}
	}
	inspect := p.t.Fidelity.Grade == tape.GradeInspect
	if rest := len(all) - n; inspect && rest > 0 {
		codes = append(codes, Plural(rest, "other", "others"))
	}
	for _, l := range wrap("  "+what, p.o.Width-2) {
		p.println("  " + p.paint(Yellow, strings.TrimSpace(l)))
	}
	p.println("    " + p.paint(Dim, Plural(n, "finding", "findings")+" of this cause ("+strings.Join(codes, ", ")+"); --full lists them"))
	p.println("    → " + "tapedeck doctor, on the telemetry or the deck, names the setting of the producer that brings it")
	if !inspect {
		p.list(func(f *tape.Finding) bool { return !of(f) })
	}
}

func (p *printer) list(which func(*tape.Finding) bool) {
	known := map[tape.Severity]bool{}
	for _, s := range severities {
		known[s.severity] = true
		p.severity(s.severity, s.style, func(f *tape.Finding) bool { return f.Severity == s.severity && which(f) })
	}
	p.severity("other", Plain, func(f *tape.Finding) bool { return !known[f.Severity] && which(f) })
}

var severities = []struct {
	severity tape.Severity
	style    Style
}{{tape.SeverityError, Red}, {tape.SeverityWarning, Yellow}, {tape.SeverityInfo, Dim}}

func (p *printer) severity(name tape.Severity, s Style, matches func(*tape.Finding) bool) {
	first := true
	for i := range p.t.Fidelity.Findings {
		f := &p.t.Fidelity.Findings[i]
		if !matches(f) {
			continue
		}
		if first {
			p.println("  " + p.paint(s, string(name)))
			first = false
		}
		where := ""
		if f.Seq > 0 {
			where = fmt.Sprintf("#%d", f.Seq)
		}
		where = joinWith(" ", where, f.Field)
		text := "    " + line(joinWith("  ", string(f.Code), where, f.Detail))
		if !p.o.Full {
			text, _ = cut(text, p.o.Width)
		}
		p.println(text)
	}
}

// StatusStyle is the colour of how a run ended.
func StatusStyle(status string) Style {
	switch status {
	case string(tape.StatusOK):
		return Green
	case string(tape.StatusError):
		return Red
	}
	return Yellow
}

// GradeStyle is the colour of what a tape is good for.
func GradeStyle(g tape.Grade) Style {
	switch g {
	case tape.GradeOffline, tape.GradeTools:
		return Green
	}
	return Yellow
}

func tokens(n *int64, unit string) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%d %s", *n, unit)
}

func count(n int64, one, many string) string {
	if n == 0 {
		return ""
	}
	return Plural(int(n), one, many)
}

func or(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// label returns the provenance of a field, "" where it is recorded.
func label(p tape.Provenance, field string) string { return line(string(p[field])) }
