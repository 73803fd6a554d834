// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ToolCall writes a tool call: what was asked for, what the tool received where that differs, and what it
// returned.
func (b *Builder) ToolCall(k *ledger.Call) tape.Event {
	e, o := b.Event(k), k.Obs
	e.Name, e.ToolKind, e.Server = o.Name, o.ToolKind, o.Server
	e.ToolCallID = o.CallID
	if k.By != nil {
		if k.By.Model.Seq < k.Seq {
			e.RequestedBy = k.By.Model.Seq
		}
		e.ToolCallID = cmp.Or(k.By.Part.ID, e.ToolCallID)
		e.Name = cmp.Or(k.By.Part.Name, e.Name) // as offered to the model
	}
	if k.Unnamed {
		b.mark(&e, "name", tape.Missing, "", "")
	}
	switch {
	case k.Holds != nil || o.Handoff || strings.HasPrefix(e.Name, "transfer_to_"):
		e.ToolKind = tape.ToolAgent
	case e.ToolKind == "":
		e.ToolKind = tape.ToolFunction
	}
	b.toolArgs(k, &e)
	b.toolResult(k, &e)
	return e
}

// mark labels a field of an event and says why; "": no label, no finding.
func (b *Builder) mark(e *tape.Event, field string, label tape.Label, code tape.Code, why string) {
	if label != "" {
		if e.Provenance == nil {
			e.Provenance = tape.Provenance{}
		}
		e.Provenance[field] = label
	}
	if code != "" {
		b.Finding(code, e.Seq, field, why)
	}
}

// markDamage labels a value of a tool call that is not what was sent. A suspected envelope is named in its
// place.
func (b *Builder) markDamage(e *tape.Event, field string, c genai.Content, why string) {
	if c.Suspected != "" {
		b.mark(e, field, c.Label, tape.CodeEnvelopeSuspected, "the value of "+c.Suspected+" may be all of it: "+c.Suspected+" looks like an envelope, and no record shows what was inside")
		return
	}
	b.mark(e, field, c.Label, lossCode(c.Label, c.Masked), why)
}

// markBigInt says that a number may have been rounded on its way to the tape.
func (b *Builder) markBigInt(e *tape.Event, field, value string, v exactjson.Value) {
	if v.HasBigInt() {
		b.mark(e, field, "", tape.CodeBigInt, "an integer of 2^53 or more stands in the "+value+"; a program that holds numbers as doubles may have rounded it")
	}
}

// lossCode names why a value is not what it was: masked in part, or the code of its label.
func lossCode(label tape.Label, masked bool) tape.Code {
	if masked {
		return tape.CodeMasked
	}
	return codeOf(label)
}

// lossCodes name why a value with a label is not whole.
var lossCodes = map[tape.Label]tape.Code{
	tape.Truncated: tape.CodeTruncated,
	tape.Masked:    tape.CodeMasked,
	tape.Redacted:  tape.CodeMasked,
	tape.Lossy:     tape.CodeLossyRepr,
	tape.External:  tape.CodeExternalContent,
	tape.Disputed:  tape.CodeConflictingSpan,
}

func codeOf(l tape.Label) tape.Code { return cmp.Or(lossCodes[l], tape.CodeContentAbsent) }

// isNull reports null, as a value or as its text.
func isNull(v exactjson.Value) bool { return v.Kind() == exactjson.Null || v.Str() == "null" }
