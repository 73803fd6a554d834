// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file reads the messages of LangChain4j as their toString() writes them, alone, in a list, or in the state of a LangGraph4j graph:
//
//	UserMessage { name = null, contents = [TextContent { text = "hi" }], attributes = {} }
//	AiMessage { text = null, thinking = null, toolExecutionRequests = [ToolExecutionRequest { id = "c1", name = "f", arguments = "{"x":1}" }], attributes = {} }
//	ToolExecutionResultMessage { id = "c1" toolName = "f" text = "v" isError = false }
//
// Nothing is escaped in the texts, so a quotation mark ends one where a field or an object ends behind it and all of the rest can be read. Of several readings the one with the shortest texts
// is taken: only a text that holds the end of one object and the beginning of another, letter by letter, is read wrongly then.

// maxJavaTries bounds how many fields are tried, maxJavaScans how often the length of the text is looked through for the ends of values.
const (
	maxJavaTries = 20_000
	maxJavaScans = 16
	maxJavaName  = 40 // of a class, and what stands behind it
)

var (
	javaField  = regexp.MustCompile(`^(?:, | )([a-z][A-Za-z]*) = `)
	javaSpoken = regexp.MustCompile(`^(UserMessage|AiMessage|SystemMessage|ToolExecutionResultMessage) \{ `)
	javaState  = regexp.MustCompile(`\n\t([A-Za-z_][A-Za-z0-9_]*)=(?:\[\n\t)?(?:UserMessage|AiMessage|SystemMessage|ToolExecutionResultMessage) \{ `)
	javaKinds  = map[string]string{"UserMessage": "USER", "AiMessage": "AI", "SystemMessage": "SYSTEM", "ToolExecutionResultMessage": "TOOL_EXECUTION_RESULT", "TextContent": "TEXT", "ToolExecutionRequest": ""}
)

// MayBeJavaMessages tells such a text from most others without reading it.
func MayBeJavaMessages(text string) bool { return strings.Contains(text, "Message { ") }

// JavaMessages reads such a text: a message, a list of them, or an object with the one member of the state that holds either.
func JavaMessages(text string) (exactjson.Value, bool) {
	if !MayBeJavaMessages(text) {
		return exactjson.Value{}, false
	}
	r := &javaReader{text: strings.TrimSpace(text)}
	switch {
	case javaSpoken.MatchString(r.text):
		return r.first(func(then func(int, exactjson.Value) bool) bool { return r.object(0, then) })
	case strings.HasPrefix(r.text, "[") && javaSpoken.MatchString(r.text[1:]):
		return r.first(func(then func(int, exactjson.Value) bool) bool { return r.list(1, ", ", "]", then) })
	case !strings.HasPrefix(r.text, "{\n\t"):
		return exactjson.Value{}, false
	}
	found := javaState.FindAllStringSubmatchIndex(r.text, 2)
	if len(found) != 1 {
		return exactjson.Value{}, false
	}
	name, start := r.text[found[0][2]:found[0][3]], found[0][3]+len("=")
	r.state = true
	value, ok := r.first(func(then func(int, exactjson.Value) bool) bool {
		if strings.HasPrefix(r.text[start:], "[\n\t") {
			return r.list(start+len("[\n\t"), "\n\t", "\n\t]", then)
		}
		return r.object(start, then)
	})
	return exactjson.ObjectValue(exactjson.Member{Name: name, Value: value}), ok
}

// javaReader reads by trying: each of its methods calls then for every way in which a value may be read, with the place behind it, until then says that it is enough. What was read before
// is copied when an object or a list ends, so that all ways share the room for it.
type javaReader struct {
	text  string
	state bool // the members of a state may follow
	tries int
	seen  int // of the text, in all
}

// first returns the first value that ends where the text, or the member of a state, does.
func (r *javaReader) first(read func(then func(int, exactjson.Value) bool) bool) (value exactjson.Value, ok bool) {
	read(func(at int, v exactjson.Value) bool {
		rest := r.text[at:]
		if rest == "" || r.state && (rest == "\n}" || strings.HasPrefix(rest, "\n\t") && strings.HasSuffix(rest, "\n}")) {
			value, ok = v, true
		}
		return ok
	})
	return value, ok
}

// spent reports that enough was tried.
func (r *javaReader) spent(length int) bool {
	r.tries++
	r.seen += length
	return r.tries > maxJavaTries || r.seen > maxJavaScans*len(r.text)
}

// object reads Name { field = value, … }.
func (r *javaReader) object(at int, then func(int, exactjson.Value) bool) bool {
	name, _, ok := strings.Cut(r.text[at:min(len(r.text), at+maxJavaName)], " { ")
	if kind, known := javaKinds[name]; ok && known {
		return r.fields(at+len(name)+len(" {"), kind, nil, then)
	}
	return false
}

func (r *javaReader) fields(at int, kind string, before []exactjson.Member, then func(int, exactjson.Value) bool) bool {
	if r.spent(0) {
		return true
	}
	if len(before) > 0 && strings.HasPrefix(r.text[at:], " }") && then(at+len(" }"), javaObject(kind, before)) {
		return true
	}
	field := javaField.FindStringSubmatch(r.text[at:])
	if field == nil || slices.ContainsFunc(before, func(m exactjson.Member) bool { return m.Name == field[1] }) {
		return false
	}
	return r.value(at+len(field[0]), func(end int, v exactjson.Value) bool {
		return r.fields(end, kind, append(before, exactjson.Member{Name: field[1], Value: v}), then)
	})
}

func (r *javaReader) value(at int, then func(int, exactjson.Value) bool) bool {
	rest := r.text[at:]
	switch {
	case strings.HasPrefix(rest, `"`):
		return r.upTo(at+1, `"`, func(end int, text string) bool { return then(end, exactjson.StringValue(text)) })
	case strings.HasPrefix(rest, "[]"):
		return then(at+len("[]"), exactjson.ArrayValue())
	case strings.HasPrefix(rest, "["):
		return r.list(at+1, ", ", "]", then)
	case strings.HasPrefix(rest, "{"): // attributes that a program gave the message, in no form that can be read
		return r.upTo(at+1, "}", func(end int, _ string) bool { return then(end, exactjson.Value{}) })
	}
	word := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789."))]
	switch word {
	case "":
		return false
	case "true", "false":
		return then(at+len(word), exactjson.BoolValue(word == "true"))
	}
	return then(at+len(word), exactjson.Value{}) // null, or nothing of a message
}

// upTo reads a text that a mark may end wherever a field or the end of the object follows.
func (r *javaReader) upTo(at int, mark string, then func(int, string) bool) bool {
	for from := at; ; {
		i := strings.Index(r.text[from:], mark)
		if i < 0 {
			return r.spent(len(r.text) - from)
		}
		end := from + i + len(mark)
		if strings.HasPrefix(r.text[end:], " }") || javaField.MatchString(r.text[end:]) {
			if r.spent(end-from) || then(end, r.text[at:end-len(mark)]) {
				return true
			}
		} else {
			r.seen += end - from
		}
		from = end
	}
}

// list reads objects that a separator stands between.
func (r *javaReader) list(at int, between, last string, then func(int, exactjson.Value) bool) bool {
	var more func(at int, before []exactjson.Value) bool
	more = func(at int, before []exactjson.Value) bool {
		return r.object(at, func(end int, v exactjson.Value) bool {
			all := append(before, v)
			if strings.HasPrefix(r.text[end:], last) && then(end+len(last), exactjson.ArrayValue(all...)) {
				return true
			}
			return strings.HasPrefix(r.text[end:], between) && more(end+len(between), all)
		})
	}
	return more(at, nil)
}

// javaObject is the object as Jackson writes it, with the type that says what it is; without what is null.
func javaObject(kind string, fields []exactjson.Member) exactjson.Value {
	var members []exactjson.Member
	if kind != "" {
		members = append(members, exactjson.Member{Name: "type", Value: exactjson.StringValue(kind)})
	}
	for _, f := range fields {
		if !f.Value.IsAbsent() {
			members = append(members, f)
		}
	}
	return exactjson.ObjectValue(members...)
}
