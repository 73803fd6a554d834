// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Member is a member of a document; an absent value leaves it out.
func Member(name string, v exactjson.Value) exactjson.Member {
	return exactjson.Member{Name: name, Value: v}
}

// StringOrNone is a string, absent when empty.
func StringOrNone(s string) exactjson.Value {
	if s == "" {
		return exactjson.Value{}
	}
	return exactjson.StringValue(s)
}

// ObjectOrNone is an object, absent when it has no members.
func ObjectOrNone(members ...exactjson.Member) exactjson.Value {
	if v := exactjson.ObjectValue(members...); v.Len() > 0 {
		return v
	}
	return exactjson.Value{}
}

// ArrayOrNone is an array, absent when empty.
func ArrayOrNone(elements []exactjson.Value) exactjson.Value {
	if len(elements) == 0 {
		return exactjson.Value{}
	}
	return exactjson.ArrayValue(elements...)
}

// Strings is an array of strings, absent when empty.
func Strings(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return ArrayOrNone(values)
}

// Indented renders a document with two blanks per level and a line feed at the end. Literals of numbers stay as they are.
func Indented(doc exactjson.Value) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, doc.AppendJSON(nil), "", "  "); err != nil {
		return append(doc.AppendJSON(nil), '\n') // deeper than encoding/json goes
	}
	return append(b.Bytes(), '\n')
}

const originalMember = "document"

// KeepOriginal puts the document that a tape was read from at extensions.<format>.document: for formats whose documents hold what a tape
// has no place for.
func KeepOriginal(t *tape.Tape, format string, doc exactjson.Value) {
	own := exactjson.ObjectValue(Member(originalMember, doc))
	others := slices.DeleteFunc(slices.Clone(t.Extensions.Members()), func(m exactjson.Member) bool { return m.Name == format })
	t.Extensions = exactjson.ObjectValue(append(others, Member(format, own))...)
}

// Original returns the document that KeepOriginal put there, as long as the tape still says what reading the document gives. A tape that
// was changed has to be written anew. read is the reading.
func Original(t *tape.Tape, format string, read func(doc exactjson.Value, o Options) (Run, error)) (exactjson.Value, bool) {
	doc := t.Extensions.Get(format).Get(originalMember)
	if doc.IsAbsent() {
		return doc, false
	}
	run, err := read(doc, Options{Tenant: t.Run.Tenant, Producer: t.Producer})
	return doc, err == nil && bytes.Equal(bare(t), bare(run.Tape))
}

// bare is a tape without what is no part of the run.
func bare(t *tape.Tape) []byte {
	c := *t
	c.TapeID, c.Extensions = "", exactjson.Value{}
	return c.AppendJSON(nil)
}

// Find notes a finding with the severity that its kind usually has.
func Find(t *tape.Tape, code tape.Code, seq int, field string) {
	k := tape.FindingKinds[slices.IndexFunc(tape.FindingKinds, func(k tape.FindingKind) bool { return k.Code == code })]
	t.Fidelity.Findings = append(t.Fidelity.Findings, tape.Finding{Code: code, Severity: k.Severity, Seq: seq, Field: field, Detail: k.Meaning})
}

// Label labels a field.
func Label(p *tape.Provenance, field string, l tape.Label) {
	if *p == nil {
		*p = tape.Provenance{}
	}
	(*p)[field] = l
}
