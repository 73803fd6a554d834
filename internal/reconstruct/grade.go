// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// grade says what the tape can be used for, and proves it: the tape is replayed against itself.
func (b *builder) grade() {
	t := b.tape
	f := &t.Fidelity
	in := t.Input
	label := in.Provenance["user_message"]
	f.Replayable = tape.Replayable{
		Input: in.UserMessage != nil && servable(label),
		Tools: true,
		Model: true,
	}
	content := in.UserMessage != nil
	models := 0
	asked := true // every model call could be asked again
	for i := range t.Events {
		switch e := &t.Events[i]; e.Type {
		case tape.EventToolCall:
			if !toolServable(e) {
				f.Replayable.Tools = false
			}
			content = content || !e.Args.IsEmpty() || !e.Result.IsEmpty()
		case tape.EventModelCall:
			models++
			if e.Request == nil || len(e.Request.Messages) == 0 || !servable(e.Provenance["request.messages"]) {
				asked = false
			}
			answered := e.Response != nil && e.Response.Message != "" && servable(e.Provenance["response.message"])
			if !answered && e.Error == nil {
				f.Replayable.Model = false
			}
			content = content || e.Response != nil && e.Response.Message != ""
		}
	}
	if models == 0 {
		f.Replayable.Model, asked = false, false
	}
	switch r := f.Replayable; {
	case r.Input && r.Tools && r.Model:
		f.Grade = tape.GradeOffline
	case r.Input && r.Tools:
		f.Grade = tape.GradeTools
	case r.Input && (r.Model || asked):
		f.Grade = tape.GradeModel
	case content:
		f.Grade = tape.GradePartial
	default:
		f.Grade = tape.GradeInspect
	}
	f.Proof = oracle.Prove(t)
}

// servable reports a label that does not keep a value from being served.
func servable(l tape.Label) bool {
	switch l {
	case tape.Missing, tape.Truncated, tape.External, tape.Masked:
		return false
	default:
		return true
	}
}

func toolServable(e *tape.Event) bool {
	if e.ArgsHash == "" || !servable(e.Provenance["args"]) {
		return false
	}
	if e.IsError && e.Error != nil {
		return true
	}
	return !e.Result.IsAbsent() && servable(e.Provenance["result"])
}
