// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Teams that write down messages by hand have words of their own for what every message has: who speaks, the text, the calls and whose result it is. Such a
// message is told by one of its members, which names a role, and is read in the words that others have for the same.

var (
	speakerWords = []string{"role", "type", "author", "speaker", "from", "sender"}
	textWords    = []string{"content", "parts", "text", "contents", "value", "body", "message"}
	callNames    = []string{"name", "tool", "function", "tool_name", "toolName", "function_name", "action"}
	callArgs     = []string{"arguments", "args", "input", "params", "parameters", "kwargs", "request"}
	callIDs      = []string{"tool_call_id", "toolCallId", "call_id", "callId", "invocation_id", "ref", "id"} // the last may be that of the message
)

// ownRoles are roles that teams write and no provider.
var ownRoles = map[string]tape.Role{"bot": tape.RoleAssistant, "agent": tape.RoleAssistant, "observation": tape.RoleTool, "action": tape.RoleTool}

// ownMessage returns a message whose team has words of its own for its members in the words of a chat message. ok is false for what is no such message,
// and for what needs no translation.
func ownMessage(v exactjson.Value) (translated exactjson.Value, ok bool) {
	if v.Kind() != exactjson.Object || v.Len() > maxOwnMembers {
		return exactjson.Value{}, false
	}
	role, said := speaker(v)
	if said == "" {
		return exactjson.Value{}, false
	}
	text := nameOf(v, textWords, func(m exactjson.Value) bool { return m.Kind() != exactjson.Object })
	calls := ""
	if role == tape.RoleAssistant {
		calls = callList(v)
	}
	if text == "" && calls == "" || said == "type" && text == "" {
		return exactjson.Value{}, false
	}
	changed := said != "role" || RoleOf(v.Get(said).Str()) != role
	var room [5]exactjson.Member
	out := append(room[:0], exactjson.Member{Name: "role", Value: exactjson.StringValue(string(role))})
	take := func(name, as string, value exactjson.Value) {
		out = append(out, exactjson.Member{Name: as, Value: value})
		changed = changed || name != as && !(as == "content" && name == "parts")
	}
	var names [5]string
	used := append(names[:0], said, text, calls)
	if text != "" {
		take(text, "content", v.Get(text))
	}
	if calls != "" {
		list, translated := ownCalls(v.Get(calls))
		take(calls, "tool_calls", list)
		changed = changed || translated
	}
	if role == tape.RoleTool {
		if id := nameOf(v, callIDs, isText); id != "" {
			used = append(used, id)
			take(id, "tool_call_id", v.Get(id))
		}
		if name := nameOf(v, callNames, isText); name != "" {
			used = append(used, name)
			take(name, "name", v.Get(name))
		}
	}
	if !changed {
		return exactjson.Value{}, false
	}
	all := slices.Clone(out)
	for _, m := range v.Members() {
		if !slices.Contains(used, m.Name) {
			all = append(all, m)
		}
	}
	return exactjson.ObjectValue(all...), true
}

// maxOwnMembers is more than a message has that somebody wrote by hand.
const maxOwnMembers = 32

// speaker is the role that a message has, and the member that says so; "" when none does.
func speaker(v exactjson.Value) (tape.Role, string) {
	for _, name := range speakerWords {
		said := strings.ToLower(v.Get(name).Str())
		if role, known := roles[said]; known {
			return role, name
		}
		if role, known := ownRoles[said]; known {
			return role, name
		}
	}
	return "", ""
}

func isText(v exactjson.Value) bool { return v.Kind() == exactjson.String && v.Str() != "" }

// nameOf is the first of the names under which an object has a fitting member.
func nameOf(v exactjson.Value, names []string, fits func(exactjson.Value) bool) string {
	for _, name := range names {
		if m := v.Get(name); !m.IsAbsent() && fits(m) {
			return name
		}
	}
	return ""
}

// callList is the name of the member that lists calls, whatever it is: each has the name of a tool and what it is called with.
func callList(v exactjson.Value) string {
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Array || m.Value.Len() == 0 || slices.Contains(textWords, m.Name) {
			continue
		}
		if !slices.ContainsFunc(m.Value.Members(), func(e exactjson.Member) bool { return !isCall(e.Value) }) {
			return m.Name
		}
	}
	return ""
}

func isCall(v exactjson.Value) bool {
	if f := v.Get("function"); f.Kind() == exactjson.Object {
		v = f
	}
	return nameOf(v, callNames, isText) != "" && nameOf(v, callArgs, func(exactjson.Value) bool { return true }) != ""
}

// ownCalls returns calls in the words of a chat message.
func ownCalls(list exactjson.Value) (out exactjson.Value, changed bool) {
	var calls []exactjson.Value
	for _, m := range list.Members() {
		call := m.Value
		if call.Get("function").Kind() == exactjson.Object {
			calls = append(calls, call)
			continue
		}
		var members []exactjson.Member
		for _, w := range []struct {
			as    string
			words []string
		}{{"id", callIDs}, {"name", callNames}, {"arguments", callArgs}} {
			if name := nameOf(call, w.words, func(v exactjson.Value) bool { return w.as == "arguments" || isText(v) }); name != "" {
				members = append(members, exactjson.Member{Name: w.as, Value: call.Get(name)})
				changed = changed || name != w.as
			}
		}
		calls = append(calls, exactjson.ObjectValue(members...))
	}
	return exactjson.ArrayValue(calls...), changed
}
