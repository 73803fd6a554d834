// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// Assess settles what a tape is good for. It compares every answer of its oracle with what its own requests show. It labels the events
// whose results these contradict, keeps what they show beside the result, and says so in a finding. Then it fills in grade and proof.
func Assess(t *tape.Tape) {
	view := forClients(t)
	assess(view)
	if view != t {
		for i := range view.Events {
			view.Events[i].Type = t.Events[i].Type
		}
		t.Events, t.Fidelity = view.Events, view.Fidelity
	}
}

func assess(t *tape.Tape) {
	of := newCalls(t)
	calls := judge(of)
	for _, c := range calls {
		if !c.compared || c.agreement == agrees {
			continue
		}
		e := eventOf(t, c.entry)
		other := tape.OtherResult{Result: c.shown.Result, From: tape.FromRequest, Seq: c.by.Seq}
		if !slices.ContainsFunc(e.OtherResults, func(o tape.OtherResult) bool { return o.Result.Equal(other.Result) && o.From == other.From }) {
			e.OtherResults = append(e.OtherResults, other)
		}
		field, code, detail := "result", tape.CodeResultRewritten, "a later request shows it in another form"
		if e.Result.IsAbsent() {
			field = "error"
		}
		switch c.agreement {
		case surrounds:
			detail = "a later request shows a part of it: it may be an envelope around what the tool returned"
		case undecided:
			detail = "a later request shows another one, with too little content to tell whether it is a form of this one"
			if field == "error" && sayFailure(c.shown.Result, e) {
				detail = "a later request says that it failed, and not how"
			}
		case contradicts:
			code, detail = tape.CodeResultDisputed, "a later request shows other content"
			if e.Provenance == nil {
				e.Provenance = tape.Provenance{}
			}
			e.Provenance[field] = tape.Disputed
		}
		t.Fidelity.AddFinding(code, e.Seq, field, detail)
	}
	t.Fidelity.Proof = proofOf(calls)
	hidden := hiddenCalls(of)
	var missing []missingTurn
	t.Fidelity.Grade, t.Fidelity.Replayable, missing = grade(of, hidden)
	for _, m := range missing {
		t.Fidelity.AddFinding(tape.CodeModelCallHidden, m.seq, m.field, m.why)
	}
	for _, h := range hidden {
		t.Fidelity.AddFinding(tape.CodeContentAbsent, h.seq, "response.message.tool_calls", h.why)
	}
	if why := unproved(t, calls, hidden); why != "" {
		t.Fidelity.AddFinding(tape.CodeToolsUnproved, 0, "fidelity.replayable.tools", why)
	}
}

// unproved says why a tape does not claim that its tools can be served.
func unproved(t *tape.Tape, calls []judged, hidden []hiddenCall) string {
	var why []string
	if cut(t) {
		why = append(why, "the evidence was cut")
	}
	if elsewhere(t) {
		why = append(why, "the calls of an agent are recorded nowhere")
	}
	if callless(t) {
		why = append(why, "no record tells which calls were asked for")
	}
	if len(hidden) > 0 {
		why = append(why, "calls may be missing after "+events(len(hidden), func(i int) string { return fmt.Sprintf("#%d", hidden[i].seq) }))
	}
	for _, reason := range []struct {
		text string
		fits func(*judged) bool
	}{
		{"no answer for", func(v *judged) bool { return !v.served }},
		{"a request shows another answer for", (*judged).contradicted},
		{"arguments or answer are not what they were for", func(v *judged) bool { return v.served && !v.whole && !v.contradicted() }},
		{"nothing bears out the answer for", func(v *judged) bool { return v.whole && !v.sure() && v.served && !v.contradicted() }},
	} {
		var of []*judged
		for i := range calls {
			if reason.fits(&calls[i]) {
				of = append(of, &calls[i])
			}
		}
		if len(of) > 0 {
			why = append(why, reason.text+" "+events(len(of), func(i int) string {
				if of[i].event == nil {
					return fmt.Sprintf("a call of #%d", of[i].model.Seq)
				}
				return fmt.Sprintf("#%d", of[i].event.Seq)
			}))
		}
	}
	return strings.Join(why, "; ")
}

// events names the first of several events.
func events(n int, name func(int) string) string {
	const most = 8
	var named []string
	for i := range min(n, most) {
		named = append(named, name(i))
	}
	if n > most {
		named = append(named, fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(named, ", ")
}

// cut reports that nobody knows which calls are missing: the evidence of the run was cut, or the only record of its calls.
func cut(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeEvidenceCut || f.Code == tape.CodeEvidenceDropped || f.Code == tape.CodeTruncated && f.Field == "events"
	})
}

// elsewhere reports that an agent of the run called models or tools, and no record says which.
func elsewhere(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeModelCallHidden && f.Field == "events"
	})
}

// Grade says what a tape can be used for, and which parts of its run can be served. It says that the tools can be served only where the
// proof of the tape is ok.
func Grade(t *tape.Tape) (tape.Grade, tape.Replayable) {
	of := newCalls(forClients(t))
	g, r, _ := grade(of, hiddenCalls(of))
	return g, r
}

// grade says too which model calls are missing, where all that are recorded could be served or asked again.
func grade(of *calls, hidden []hiddenCall) (g tape.Grade, r tape.Replayable, missing []missingTurn) {
	t := of.t
	in := t.Input
	// If the evidence of a run was cut, nobody knows which calls are missing.
	whole := !cut(t) && !elsewhere(t)
	// An answer that ends a whole loop of calls is not the answer to the request that began it.
	// Nor is a request whole that goes on after a response which is not on the tape.
	loop := slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool {
		return f.Code == tape.CodeModelCallHidden && (f.Field == "response" || f.Field == "request.messages")
	})
	r = tape.Replayable{
		Input: in.UserMessage != nil && labelServable(in.Provenance["user_message"]),
		Tools: whole && !callless(t) && len(hidden) == 0 && t.Fidelity.Proof.Proved(),
		Model: whole && !loop,
	}
	content := in.UserMessage != nil
	models := 0
	asked := whole && !loop // every model call could be asked again
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventToolCall:
			content = content || !e.Args.IsEmpty() || !e.Result.IsEmpty()
		case tape.EventModelCall:
			models++
			if e.Request == nil || len(e.Request.Messages) == 0 || !labelServable(e.Provenance["request.messages"]) {
				asked = false
			}
			answered := e.Response != nil && e.Response.Message != "" && labelServable(e.Provenance["response.message"])
			if !answered && e.Error == nil {
				r.Model = false
			}
			content = content || e.Response != nil && e.Response.Message != ""
		}
	}
	if models == 0 {
		r.Model, asked = false, false
	}
	if r.Model || asked && !(r.Input && r.Tools) {
		if missing = missingTurns(of); len(missing) > 0 {
			r.Model, asked = false, false
		}
	}
	switch {
	case r.Input && r.Tools && r.Model:
		return tape.GradeOffline, r, missing
	case r.Input && r.Tools:
		return tape.GradeTools, r, missing
	case r.Input && (r.Model || asked):
		return tape.GradeModel, r, missing
	case content:
		return tape.GradePartial, r, missing
	default:
		return tape.GradeInspect, r, missing
	}
}

// labelServable reports a label that leaves a value good enough to rely on. Disputed values are served, but with their label.
func labelServable(l tape.Label) bool {
	switch l {
	case tape.Missing, tape.Truncated, tape.External, tape.Masked, tape.Disputed:
		return false
	default:
		return true
	}
}
