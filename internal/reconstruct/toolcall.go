// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// toolCall writes a tool call: what was asked for, what the tool received where that differs, and what it returned.
func (b *builder) toolCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
	e.Name, e.ToolKind, e.Server = o.Name, o.ToolKind, o.Server
	e.ToolCallID = o.CallID
	if k.by != nil {
		if k.by.model.seq < k.seq {
			e.RequestedBy = k.by.model.seq
		}
		e.ToolCallID = cmp.Or(k.by.part.ID, e.ToolCallID)
		e.Name = cmp.Or(k.by.part.Name, e.Name) // as offered to the model
	}
	if k.unnamed {
		e.Provenance["name"] = tape.Missing
	}
	switch {
	case k.holds != nil || o.Handoff || strings.HasPrefix(e.Name, "transfer_to_"):
		e.ToolKind = tape.ToolAgent
	case e.ToolKind == "":
		e.ToolKind = tape.ToolFunction
	}
	b.toolArgs(k, &e)
	b.toolResult(k, &e)
	return e
}

// mark labels a field of an event and says why; "": no label, no finding.
func (b *builder) mark(e *tape.Event, field string, label tape.Label, code tape.Code, why string) {
	if label != "" {
		e.Provenance[field] = label
	}
	if code != "" {
		b.finding(code, e.Seq, field, why)
	}
}

// markDamage labels a value of a tool call that is not what was sent. A suspected envelope is named in its place.
func (b *builder) markDamage(e *tape.Event, field string, c genai.Content, why string) {
	if c.Suspected != "" {
		b.mark(e, field, c.Label, tape.CodeEnvelopeSuspected, "the value of "+c.Suspected+" may be all of it: "+c.Suspected+" looks like an envelope, and no record shows what was inside")
		return
	}
	b.mark(e, field, c.Label, lossCode(c.Label, c.Masked), why)
}

// markBigInt says that a number may have been rounded on its way to the tape.
func (b *builder) markBigInt(e *tape.Event, field, value string, v exactjson.Value) {
	if v.HasBigInt() {
		b.mark(e, field, "", tape.CodeBigInt, "an integer of 2^53 or more stands in the "+value+"; a program that holds numbers as doubles may have rounded it")
	}
}

// undamaged reports a value that is what it was, wherever it was found.
func undamaged(l tape.Label) bool { return l == "" || l == tape.Recovered }

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

func textResult(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	return v.JSON()
}

// isNull reports null, as a value or as its text.
func isNull(v exactjson.Value) bool { return v.Kind() == exactjson.Null || v.Str() == "null" }
