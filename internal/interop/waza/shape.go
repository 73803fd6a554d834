// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// shape lists the members of an object of a snapshot in the order in which waza writes them. Reading, writing and checking go by it.
type shape []member

type member struct {
	name string
	is   kind
	// of is the shape of the object, of the elements of a list or of the values of a map.
	of shape
	// omit leaves the member out when it is empty; the others are always written.
	omit bool
	// optional numbers are left out when absent only: 0 is a setting.
	optional bool
}

type kind uint8

const (
	aString kind = iota
	anInteger
	aNumber
	aBool
	aTime // RFC 3339
	anything
	verbatim       // anything, kept as it came
	nullableString // a pointer: null where there is none
	nullableBool
	stringList
	stringMap
	anObject
	objectList
	objectMap
)

var snapshotShape = shape{
	{name: "schemaVersion", is: aString},
	{name: "kind", is: aString},
	{name: "wazaVersion", is: aString, omit: true},
	{name: "createdAt", is: aTime},
	{name: "evalId", is: aString, omit: true},
	{name: "evalName", is: aString, omit: true},
	{name: "skill", is: aString, omit: true},
	{name: "task", is: anObject, of: shape{
		{name: "testId", is: aString},
		{name: "displayName", is: aString, omit: true},
		{name: "group", is: aString, omit: true},
		{name: "golden", is: aBool, omit: true},
		{name: "tags", is: stringList, omit: true},
		{name: "runNumber", is: anInteger},
		{name: ownMember, is: anything, omit: true},
	}},
	{name: "engine", is: anObject, of: shape{
		{name: "type", is: aString},
		{name: "modelId", is: aString},
		{name: "judgeModel", is: aString, omit: true},
		{name: "timeoutSec", is: anInteger, omit: true},
		{name: "temperature", is: aNumber, omit: true, optional: true},
		{name: "topP", is: aNumber, omit: true, optional: true},
		{name: "seed", is: anInteger, omit: true, optional: true},
	}},
	{name: "prompt", is: anObject, of: shape{
		{name: "message", is: aString},
		{name: "followUps", is: stringList, omit: true},
		{name: "context", is: objectMap, omit: true},
		{name: "instructions", is: objectList, omit: true, of: digestShape[:2]},
	}},
	{name: "toolEvents", is: objectList, omit: true, of: shape{
		{name: "turn", is: anInteger},
		{name: "sequence", is: anInteger},
		{name: "tool_call_id", is: aString, omit: true},
		{name: "tool_name", is: aString},
		{name: "args", is: anything, omit: true},
		{name: "result", is: anything, omit: true},
		{name: "success", is: aBool},
		{name: "error", is: aString, omit: true},
		{name: "duration_ms", is: anInteger, omit: true},
	}},
	{name: "fixtures", is: objectList, omit: true, of: shape{digestShape[0], {name: "size", is: anInteger, omit: true}, {name: "sha256", is: aString}}},
	{name: "env", is: anObject, of: shape{
		{name: "allowList", is: stringList, omit: true},
		{name: "captured", is: stringMap, omit: true},
		{name: "deniedKeys", is: stringList, omit: true},
	}},
	{name: "redaction", is: anObject, of: shape{
		{name: "policy", is: aString},
		{name: "appliedRules", is: stringList, omit: true},
		{name: "redactionCount", is: anInteger, omit: true},
	}},
	{name: "result", is: anObject, of: shape{
		{name: "status", is: aString},
		{name: "finalOutput", is: aString, omit: true},
		{name: "errorMsg", is: aString, omit: true},
		{name: "durationMs", is: anInteger, omit: true},
		{name: "validations", is: objectMap, omit: true, of: graderShape},
	}},
	// Since 1.1.
	{name: "commandInvocations", is: objectList, omit: true, of: shape{
		{name: "command", is: aString},
		{name: "args", is: stringList, omit: true},
		{name: "exit_code", is: anInteger},
		{name: "response_index", is: anInteger},
	}},
	{name: "checkpoints", is: objectList, omit: true, of: shape{
		{name: "after_turn", is: anInteger},
		{name: "status", is: aString},
		{name: "validations", is: objectMap, of: graderShape},
		{name: "stopped", is: aBool, omit: true},
	}},
	{name: "evidence", is: verbatim, omit: true}, // see checkManifest
	{name: "workspaceFiles", is: objectList, omit: true, of: shape{
		{name: "path", is: aString},
		{name: "content", is: aString},
		{name: "sha256", is: aString},
		{name: "redacted", is: aBool},
	}},
}

var digestShape = shape{{name: "path", is: aString}, {name: "sha256", is: aString, omit: true}}

var graderShape = shape{
	{name: "identifier", is: aString},
	{name: "type", is: aString},
	{name: "score", is: aNumber},
	{name: "weight", is: aNumber},
	{name: "passed", is: aBool},
	{name: "feedback", is: aString},
	{name: "details", is: objectMap, omit: true},
	{name: "duration_ms", is: anInteger},
}

// checker reads a document by a shape.
type checker struct {
	// unknown are the paths of members that no version read here has.
	unknown []string
	err     error
}

func (c *checker) fail(path, format string, args ...any) {
	if path != "" {
		format = "%s: " + format
		args = append([]any{path}, args...)
	}
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// object checks an object and returns it without the members that are null, which means empty. A member that is known but for its case
// is an error: some readers would take it and others not.
func (c *checker) object(path string, s shape, v exactjson.Value) exactjson.Value {
	switch v.Kind() {
	case exactjson.Null:
		return exactjson.ObjectValue()
	case exactjson.Object:
	default:
		c.fail(path, "not an object")
		return v
	}
	if s == nil {
		return v
	}
	kept := make([]exactjson.Member, 0, v.Len())
	for _, m := range v.Members() {
		at := interop.Join(path, m.Name)
		i := slices.IndexFunc(s, func(k member) bool { return strings.EqualFold(k.name, m.Name) })
		switch {
		case i < 0:
			c.unknown = append(c.unknown, at)
		case s[i].name != m.Name:
			c.fail(path, "a member that differs from %q in case only", s[i].name)
		case m.Value.Kind() == exactjson.Null:
			continue
		default:
			m.Value = c.member(at, s[i], m.Value)
		}
		kept = append(kept, m)
	}
	return exactjson.ObjectValue(kept...)
}

func (c *checker) member(path string, m member, v exactjson.Value) exactjson.Value {
	demand := func(kind exactjson.Kind, what string) {
		if v.Kind() != kind {
			c.fail(path, "not %s", what)
		}
	}
	switch m.is {
	case aString, nullableString:
		demand(exactjson.String, "a string")
	case anInteger:
		if _, err := strconv.ParseInt(v.Text(), 10, 64); v.Kind() != exactjson.Number || err != nil {
			c.fail(path, "not an integer")
		}
	case aNumber:
		demand(exactjson.Number, "a number")
		if _, ok := v.Float(); !ok {
			c.fail(path, "not a number that a double holds")
		}
	case aBool, nullableBool:
		demand(exactjson.Bool, "true or false")
	case aTime:
		if _, err := time.Parse(time.RFC3339, v.Str()); err != nil {
			c.fail(path, "not an RFC 3339 time")
		}
	case stringList, stringMap:
		return c.strings(path, m, v)
	case anObject:
		return c.object(path, m.of, v)
	case objectList:
		demand(exactjson.Array, "an array")
		return v.Map(func(i int, e exactjson.Member) exactjson.Value {
			return c.object(path+"."+strconv.Itoa(i), m.of, e.Value)
		})
	case objectMap:
		demand(exactjson.Object, "an object")
		if m.of == nil {
			return v
		}
		return v.Map(func(_ int, e exactjson.Member) exactjson.Value {
			return c.object(interop.Join(path, e.Name), m.of, e.Value)
		})
	}
	return v
}

func (c *checker) strings(path string, m member, v exactjson.Value) exactjson.Value {
	want, what := exactjson.Array, "an array of strings"
	if m.is == stringMap {
		want, what = exactjson.Object, "an object of strings"
	}
	if v.Kind() != want || slices.ContainsFunc(v.Members(), func(e exactjson.Member) bool {
		return e.Value.Kind() != exactjson.String && e.Value.Kind() != exactjson.Null
	}) {
		c.fail(path, "not %s", what)
		return v
	}
	return v.Map(func(_ int, e exactjson.Member) exactjson.Value { return exactjson.StringValue(e.Value.Str()) })
}

// usual returns the object as waza writes it. Known members stand in their order, and members that are always there are filled in.
// Empty members are left out, and names of maps are sorted. Unknown members stand behind.
func (s shape) usual(v exactjson.Value) exactjson.Value {
	if s == nil {
		return v
	}
	out := make([]exactjson.Member, 0, len(s))
	for _, k := range s {
		if value := k.usual(v.Get(k.name)); !value.IsAbsent() {
			out = append(out, exactjson.Member{Name: k.name, Value: value})
		}
	}
	for _, m := range v.Members() {
		if !slices.ContainsFunc(s, func(k member) bool { return k.name == m.Name }) {
			out = append(out, m)
		}
	}
	return exactjson.ObjectValue(out...)
}

func (k member) usual(v exactjson.Value) exactjson.Value {
	if v.IsAbsent() || v.Kind() == exactjson.Null {
		if k.omit {
			return exactjson.Value{}
		}
		if v = k.empty(); v.Kind() == exactjson.Null {
			return v
		}
	}
	switch k.is {
	case anObject:
		v = k.of.usual(v)
	case objectList:
		v = v.Map(func(_ int, e exactjson.Member) exactjson.Value { return k.of.usual(e.Value) })
	case objectMap:
		v = sorted(v.Map(func(_ int, e exactjson.Member) exactjson.Value { return k.of.usual(e.Value) }), k.of == nil)
	case anything, stringMap:
		v = sorted(v, true)
	}
	if k.omit && k.isEmpty(v) {
		return exactjson.Value{}
	}
	return v
}

// isEmpty is Go's omitempty.
func (k member) isEmpty(v exactjson.Value) bool {
	switch k.is {
	case anything, verbatim:
		return false
	case anInteger, aNumber:
		n, _ := v.Float()
		return n == 0 && !k.optional
	case aBool:
		return !v.True()
	default:
		return v.IsEmpty()
	}
}

func (k member) empty() exactjson.Value {
	switch k.is {
	case anInteger, aNumber:
		return exactjson.IntValue(0)
	case aBool:
		return exactjson.BoolValue(false)
	case aTime:
		return exactjson.StringValue("0001-01-01T00:00:00Z") // what waza writes for no time
	case anObject:
		return exactjson.ObjectValue()
	case stringList, objectList, stringMap, objectMap, nullableString, nullableBool:
		return exactjson.NullValue // what encoding/json writes for nil
	default:
		return exactjson.StringValue("")
	}
}

// sorted returns an object with its names in byte order, as encoding/json writes maps; deep: also within its values.
func sorted(v exactjson.Value, deep bool) exactjson.Value {
	if v.Kind() < exactjson.Array || v.Len() == 0 {
		return v
	}
	if deep {
		v = v.Map(func(_ int, m exactjson.Member) exactjson.Value { return sorted(m.Value, true) })
	}
	if v.Kind() == exactjson.Array {
		return v
	}
	members := slices.Clone(v.Members())
	slices.SortFunc(members, func(a, b exactjson.Member) int { return strings.Compare(a.Name, b.Name) })
	return exactjson.ObjectValue(members...)
}
