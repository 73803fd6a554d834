// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package pagetest makes tapes whose content attacks whatever shows it.
package pagetest

import (
	"reflect"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Attacks are what content would do to a page.
var Attacks = []string{
	`<script>alert(1)</script>`, `</pre></style></title><img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onclick='alert(1)`, `javascript:alert(1)`,
	`{{.Policy}}<!--`, `--><iframe src=//example.com>`, "<scr\x00ipt>", "\x1b[2J\u202e\u2066evil\xff", `&lt;script&gt;`, `</summary></details><base href=//x>`, `{"<script>":"</div><script>x"}`,
	`["<img src=x onerror=alert(1)>"]`, "'; rm -rf / #",
}

// fill puts a text into every string of a value, whatever its type, and at least one element into every list and map.
func fill(v reflect.Value, text string, depth int) {
	switch v.Interface().(type) {
	case exactjson.Value:
		v.Set(reflect.ValueOf(exactjson.ObjectValue(exactjson.Member{Name: text, Value: exactjson.ArrayValue(exactjson.StringValue(text), exactjson.IntValue(7))})))
		return
	case tape.Unknown:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(element, text, depth+1)
		v.SetMapIndex(key, element)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, text, depth+1)
			}
		}
	}
}

// Fill puts a text into every string of what a pointer leads to, and at least one element into every list and map.
func Fill(target any, text string) { fill(reflect.ValueOf(target).Elem(), text, 0) }

// Hostile is a tape with a text in every string. Events, parts and findings have every type that is known, and one that is not.
func Hostile(text string) *tape.Tape {
	t := &tape.Tape{}
	fill(reflect.ValueOf(t).Elem(), text, 0)
	e := t.Events[0]
	t.Events = nil
	for i, kind := range []tape.EventType{tape.EventModelCall, tape.EventToolCall, tape.EventAgentCall, tape.EventRetrieval, tape.EventType(text)} {
		e.Seq, e.Type = i+1, kind
		t.Events = append(t.Events, e)
	}
	m := t.Messages[text]
	part := m.Parts[0]
	m.Parts = nil
	for _, kind := range []tape.PartType{tape.PartText, tape.PartReasoning, tape.PartToolCall, tape.PartToolResult, tape.PartMedia, tape.PartExternal, tape.PartData, tape.PartType(text)} {
		part.Type = kind
		m.Parts = append(m.Parts, part)
	}
	t.Messages[text] = m
	return t
}
