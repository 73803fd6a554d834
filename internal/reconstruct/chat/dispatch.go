// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A loop written by hand has one function that runs whatever the model asks for: execute_tool(name,
// arguments), handle_tool_call(tool_call). Its span has a name that the model was not offered, and holds the
// whole call: the name, the arguments, often the id. This file reads calls in what a function was handed.

// ToolUse is the type of a call as Anthropic's API writes it.
const ToolUse = "tool_use"

// toolName is what providers take as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z_][\w.-]{0,63}$`)

// OnlyCall reads a value that is a call and nothing else. It is a call in the form of an API, or a name and
// the object of its arguments, by position or as members, with an id beside them or none.
func OnlyCall(v exactjson.Value) (part genai.Part, ok bool) {
	if args := v.Get("args"); args.Kind() == exactjson.Array && v.Len() == 2 && v.Get("kwargs").IsEmpty() {
		v = args // as decorators of Python write it
	}
	if one := v.Members(); len(one) == 1 && one[0].Value.Kind() >= exactjson.Array {
		v = one[0].Value // the call as the one argument
	}
	switch {
	case v.Get("function").Kind() == exactjson.Object:
		part = decode.ChatCalls(exactjson.ArrayValue(v))[0]
	case v.Get("type").Str() == ToolUse:
		part.ID, part.Name, part.Args = decode.TextOfID(v.Get("id")), v.Get("name").Str(), v.Get("input")
	default:
		part, ok = callInMembers(v)
		return part, ok && part.Name != "" && !part.Args.IsAbsent()
	}
	return part, part.Name != "" && part.Args.Kind() == exactjson.Object
}

// callInMembers reads the name, the arguments and the id of a call from members; whole says that there are no
// others.
func callInMembers(v exactjson.Value) (part genai.Part, whole bool) {
	for i, m := range v.Members() {
		value := m.Value
		if inner, structured := decode.Structure(value); structured {
			value = inner
		}
		switch {
		case v.Kind() == exactjson.Object && part.ID == "" && namesID(m.Name):
			part.ID = decode.TextOfID(m.Value)
		case i < 3 && part.Name == "" && toolName.MatchString(value.Str()):
			part.Name = value.Str()
		case part.Args.IsAbsent() && value.Kind() == exactjson.Object:
			part.Args = value
		default:
			return part, false
		}
	}
	return part, true
}

// HandsOver reports a value that holds a whole call, and no id of another one. Its name and its arguments
// stand side by side, under whatever names or by position, in JSON or as Python writes it.
func HandsOver(v exactjson.Value, name, id string, args exactjson.Value) bool {
	found, ok := handedOver(v, name, args, MaxEnvelopes)
	return ok && (found == "" || id == "" || found == id)
}

// handedOver looks for a call in a value, and returns the id that stands beside it or inside of it.
func handedOver(v exactjson.Value, name string, args exactjson.Value, depth int) (id string, ok bool) {
	if v.Kind() == exactjson.String {
		inner, ok := decode.Structure(v)
		if !ok {
			inner, ok = decode.Representation(v.Str())
		}
		if !ok {
			return "", false
		}
		v = inner
	}
	if depth == 0 || v.Kind() < exactjson.Array || v.Len() > maxHanded {
		return "", false
	}
	named, given := false, false
	for _, m := range v.Members() {
		switch {
		case !named && m.Value.Kind() == exactjson.String && m.Value.Str() == name:
			named = true
		case sameArguments(m.Value, args):
			given = true
		case v.Kind() == exactjson.Object && id == "" && namesID(m.Name):
			id = decode.TextOfID(m.Value)
		}
	}
	if named && given {
		return id, true
	}
	for _, m := range v.Members() {
		if inner, found := handedOver(m.Value, name, args, depth-1); found {
			return cmp.Or(inner, id), true
		}
	}
	return "", false
}

// maxHanded is more than a call and what a function is handed beside it has members.
const maxHanded = 32

// namesID reports a name such as id, call_id or toolUseId.
func namesID(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return name == "id" || strings.HasSuffix(name, "callid") || strings.HasSuffix(name, "useid")
}

// sameArguments compares what may be the arguments of a call with those asked for. No arguments may be no
// object.
func sameArguments(v, args exactjson.Value) bool {
	if args.Len() == 0 && args.Kind() == exactjson.Object && v.IsEmpty() && v.Kind() != exactjson.Null {
		return true
	}
	return v.Kind() != exactjson.Null && SameValue(v, args)
}
