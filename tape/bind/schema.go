// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// schemas collects the definitions that a schema refers to.
type schemas struct {
	defs []exactjson.Member
}

// Schema returns the JSON Schema (2020-12) of the record, indented. Unknown members are allowed everywhere.
func (r *Record[T]) Schema(id, title string) []byte {
	var s schemas
	root := r.Codec().schema(&s, true)
	return indent(document(id, title, &s, root.Members()...))
}

// ListSchema returns the JSON Schema of an array of such records.
func (r *Record[T]) ListSchema(id, title string) []byte {
	var s schemas
	list := List(r.Codec()).schema(&s, true)
	return indent(document(id, title, &s, list.Members()...))
}

func document(id, title string, s *schemas, root ...exactjson.Member) exactjson.Value {
	slices.SortFunc(s.defs, func(a, b exactjson.Member) int { return exactjson.CompareNames(a.Name, b.Name) })
	members := []exactjson.Member{
		member("$schema", exactjson.StringValue("https://json-schema.org/draft/2020-12/schema")),
		member("$id", exactjson.StringValue(id)),
		member("title", exactjson.StringValue(title)),
	}
	return exactjson.ObjectValue(append(append(members, root...), member("$defs", exactjson.ObjectValue(s.defs...)))...)
}

func indent(v exactjson.Value) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, v.AppendJSON(nil), "", "  "); err != nil {
		panic(err) // AppendJSON writes JSON
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// define adds the definition of the record once.
func (r *Record[T]) define(s *schemas) {
	if slices.ContainsFunc(s.defs, func(m exactjson.Member) bool { return m.Name == r.name }) {
		return
	}
	at := len(s.defs)
	s.defs = append(s.defs, member(r.name, exactjson.NullValue))
	common := len(r.base.fields)
	members := describe(s, r.base.fields)
	if len(r.tags) > 0 {
		var cases []exactjson.Value
		for _, tag := range r.tags {
			is := object("properties", object("type", object("const", exactjson.StringValue(tag))))
			then := exactjson.ObjectValue(describe(s, r.variants[tag].fields[common:])...)
			cases = append(cases, exactjson.ObjectValue(member("if", is), member("then", then)))
		}
		members = append(members, member("allOf", exactjson.ArrayValue(cases...)))
	}
	s.defs[at].Value = exactjson.ObjectValue(append([]exactjson.Member{member("type", exactjson.StringValue("object"))}, members...)...)
}

func describe[T any](s *schemas, fields []Field[T]) []exactjson.Member {
	var properties []exactjson.Member
	var required []string
	for _, f := range fields {
		properties = append(properties, member(f.name, f.schema(s, f.always)))
		if f.required {
			required = append(required, f.name)
		}
	}
	members := []exactjson.Member{member("properties", exactjson.ObjectValue(properties...))}
	if len(required) > 0 {
		members = append(members, member("required", names(required)))
	}
	return members
}

func names(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return exactjson.ArrayValue(values...)
}

func member(name string, v exactjson.Value) exactjson.Member {
	return exactjson.Member{Name: name, Value: v}
}

func object(name string, v exactjson.Value) exactjson.Value {
	return exactjson.ObjectValue(member(name, v))
}

func ofType(name string, more ...exactjson.Member) exactjson.Value {
	return exactjson.ObjectValue(append([]exactjson.Member{member("type", exactjson.StringValue(name))}, more...)...)
}
