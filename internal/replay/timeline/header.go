// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// header says which run this is, how it ended and what the tape is good for.
func (p *printer) header() {
	r := &p.t.Run
	agent := joinWith(" ", or(r.Agent.Name, r.Agent.ID), r.Agent.Version)
	service := joinWith(" ", joinWith("/", r.Service.Namespace, r.Service.Name), r.Service.Version)
	p.println(p.paint(bold, line(or(agent, or(service, "run without a name")))))
	p.row("run", r.RunID)
	if r.ReplayRunID != "" {
		p.row("replay", r.ReplayRunID)
	}
	p.row("service", joinWith(" · ", service, r.Service.Environment))
	p.row("agent", agent)
	c := &p.t.Config
	p.row("model", joinWith(" · ", c.Model, c.Provider))
	status := p.paint(statusStyle(string(r.Status)), string(r.Status))
	if r.Error != nil {
		status += "  " + line(joinWith(": ", r.Error.Type, r.Error.Message))
	}
	p.styledRow("status", status)
	if !r.StartedAt.IsZero() {
		p.row("started", joinWith(" · ", r.StartedAt.UTC().Format("2006-01-02 15:04:05.000Z"), duration(r.DurationMS)))
	}
	p.row("calls", joinWith(", ", plural(p.t.Usage.ModelCalls, "model call", "model calls"), plural(p.t.Usage.ToolCalls, "tool call", "tool calls"),
		tokens(p.t.Usage.InputTokens, "tokens in"), tokens(p.t.Usage.OutputTokens, "out")))
	f := &p.t.Fidelity
	p.styledRow("grade", p.paint(gradeStyle(f.Grade), string(f.Grade))+"  "+p.paint(dim, gradeMeaning[f.Grade]))
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

func (p *printer) proof(proof *tape.Proof) string {
	if proof.Expected == 0 {
		return "nothing to prove"
	}
	verdict := p.paint(yellow, "nothing verified")
	if proof.OK != nil {
		verdict = p.paint(red, "failed")
		if *proof.OK {
			verdict = p.paint(green, "ok")
		}
	}
	return fmt.Sprintf("%s  %s", verdict, p.paint(dim, fmt.Sprintf("verified %d of %d, %d served, %d mismatched, %d unverifiable",
		proof.Verified, proof.Expected, proof.Served, proof.Mismatched, proof.Unverifiable)))
}

// row writes a label and a value; empty values are left out.
func (p *printer) row(label, value string) {
	if value = line(value); value != "" {
		p.styledRow(label, value)
	}
}

func (p *printer) styledRow(label, value string) {
	p.println("  " + p.paint(dim, pad(label, headerWidth)) + value)
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
		p.field("  ", "history", plural(history, "message", "messages")+" in the first request", 1, label(in.Provenance, "messages"))
	}
	switch {
	case in.UserMessage != nil:
		p.field("  ", "user", *in.UserMessage, userLines, label(in.Provenance, "user_message"))
	default:
		p.println("  " + p.paint(dim, "the user's message is not in the telemetry"))
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
		p.println("  " + p.paint(dim, "no answer is in the telemetry"))
	}
	if out.Error != nil {
		p.field("  ", "error", joinWith(": ", out.Error.Type, out.Error.Message), 2, "")
	}
}

// findings lists what is missing or odd, the gravest first.
func (p *printer) findings() {
	if len(p.t.Fidelity.Findings) == 0 {
		return
	}
	p.title("Findings")
	known := map[tape.Severity]bool{}
	for _, s := range severities {
		known[s.severity] = true
		p.severity(s.severity, s.style, func(f *tape.Finding) bool { return f.Severity == s.severity })
	}
	p.severity("other", plain, func(f *tape.Finding) bool { return !known[f.Severity] })
}

var severities = []struct {
	severity tape.Severity
	style    style
}{{tape.SeverityError, red}, {tape.SeverityWarning, yellow}, {tape.SeverityInfo, dim}}

func (p *printer) severity(name tape.Severity, s style, matches func(*tape.Finding) bool) {
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

func statusStyle(status string) style {
	switch status {
	case string(tape.StatusOK):
		return green
	case string(tape.StatusError):
		return red
	}
	return yellow
}

func gradeStyle(g tape.Grade) style {
	switch g {
	case tape.GradeOffline, tape.GradeTools:
		return green
	}
	return yellow
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
	return plural(int(n), one, many)
}

func or(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// label returns the provenance of a field, "" where it is recorded.
func label(p tape.Provenance, field string) string { return line(string(p[field])) }
