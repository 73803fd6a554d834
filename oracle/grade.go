// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// Grade says what a tape can be used for, and which parts of its run can be served.
func Grade(t *tape.Tape) (tape.Grade, tape.Replayable) {
	in := t.Input
	// Of a run whose evidence was cut nobody knows which calls are missing.
	whole := !slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeEvidenceCut })
	r := tape.Replayable{
		Input: in.UserMessage != nil && labelServable(in.Provenance["user_message"]),
		Tools: whole,
		Model: whole,
	}
	content := in.UserMessage != nil
	models := 0
	asked := whole // every model call could be asked again
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

// labelServable reports a label that does not keep a value from being served.
func labelServable(l tape.Label) bool {
	switch l {
	case tape.Missing, tape.Truncated, tape.External, tape.Masked:
		return false
	default:
		return true
	}
}

func toolServable(e *tape.Event) bool {
	if e.ArgsHash == "" || !labelServable(e.Provenance["args"]) {
		return false
	}
	if e.IsError && e.Error != nil {
		return true
	}
	return !e.Result.IsAbsent() && labelServable(e.Provenance["result"])
}
