// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// Assess settles what a tape is good for. It compares every answer of its oracle with what its own requests show, labels the events whose
// results they contradict, keeps what they show beside the result and says so in a finding, and fills in grade and proof.
func Assess(t *tape.Tape) {
	calls := judge(t)
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
		case undecided:
			detail = "a later request shows another one, with too little content to tell whether it is a form of this one"
		case contradicts:
			code, detail = tape.CodeResultDisputed, "a later request shows other content"
			if e.Provenance == nil {
				e.Provenance = tape.Provenance{}
			}
			e.Provenance[field] = tape.Disputed
		}
		t.Fidelity.AddFinding(code, e.Seq, field, detail)
	}
	t.Fidelity.Grade, t.Fidelity.Replayable = Grade(t)
	t.Fidelity.Proof = proofOf(calls)
}

// Grade says what a tape can be used for, and which parts of its run can be served.
func Grade(t *tape.Tape) (tape.Grade, tape.Replayable) {
	in := t.Input
	// Of a run whose evidence was cut nobody knows which calls are missing.
	whole := !slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeEvidenceCut })
	// An answer that ends a whole loop of calls is not the answer to the request that began it.
	loop := slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeModelCallHidden && f.Field == "response" })
	r := tape.Replayable{
		Input: in.UserMessage != nil && labelServable(in.Provenance["user_message"]),
		Tools: whole,
		Model: whole && !loop,
	}
	content := in.UserMessage != nil
	models := 0
	asked := whole && !loop // every model call could be asked again
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventToolCall:
			if !toolServable(e) {
				r.Tools = false
			}
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
	switch {
	case r.Input && r.Tools && r.Model:
		return tape.GradeOffline, r
	case r.Input && r.Tools:
		return tape.GradeTools, r
	case r.Input && (r.Model || asked):
		return tape.GradeModel, r
	case content:
		return tape.GradePartial, r
	default:
		return tape.GradeInspect, r
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

func toolServable(e *tape.Event) bool {
	if e.ArgsHash == "" || !labelServable(e.Provenance["args"]) {
		return false
	}
	if e.IsError && e.Error != nil && e.Result.IsAbsent() {
		return labelServable(e.Provenance["error"])
	}
	return !e.Result.IsAbsent() && labelServable(e.Provenance["result"])
}
