// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonpath is the part of JSONPath (RFC 9535) that names values: $, names, indices, wildcards and the descendant operator. Rules of
// comparisons, oracles and redaction name values with it.
package jsonpath

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Path is a parsed path: $ is the empty one.
type Path []Step

// Step is one step of a path. A place, which a path is compared with, has steps of the kinds Member and Element only.
type Step struct {
	Kind  Kind
	Name  string // of a Member
	Index int    // of an Element
}

// Kind says what a step leads to.
type Kind uint8

// The kinds of steps.
const (
	Member  Kind = iota // .name
	Element             // [3]
	Every               // .* and [*]
	Below               // ..: any number of levels
)

// Bounds of a path. Each .. can visit a value once per level above it.
const (
	maxSteps = 32
	maxBelow = 2
)

var errPath = errors.New("not a path; $, $.name, $['name'], $[0], $[*], $.* and $..name are; filters and slices are not supported")

// Parse reads a path. A name that is no plain word stands in brackets and quotes; within quotes a backslash makes a quote or a backslash stand
// for itself.
func Parse(text string) (Path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, errPath
	}
	var path Path
	depth := 0
	for rest != "" {
		var s Step
		switch {
		case strings.HasPrefix(rest, "["):
			if s, rest, ok = bracket(rest[1:]); !ok {
				return nil, errPath
			}
		case strings.HasPrefix(rest, ".."):
			depth++
			path = append(path, Step{Kind: Below})
			if rest = rest[1:]; strings.HasPrefix(rest, ".[") {
				rest = rest[1:]
				continue
			}
			s, rest, ok = dotted(rest[1:])
		case strings.HasPrefix(rest, "."):
			s, rest, ok = dotted(rest[1:])
		default:
			ok = false
		}
		if !ok {
			return nil, errPath
		}
		path = append(path, s)
	}
	if len(path) > maxSteps || depth > maxBelow {
		return nil, errors.New("too many steps")
	}
	return path, nil
}

// dotted reads a name or * up to the next dot or bracket.
func dotted(text string) (s Step, rest string, ok bool) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	switch name := text[:end]; name {
	case "":
		return s, "", false
	case "*":
		return Step{Kind: Every}, text[end:], true
	default:
		return Step{Kind: Member, Name: name}, text[end:], !strings.ContainsAny(name, "]'\"* ")
	}
}

// bracket reads what stands behind an opening bracket.
func bracket(text string) (s Step, rest string, ok bool) {
	if text == "" {
		return s, "", false
	}
	if text[0] == '\'' || text[0] == '"' {
		name, rest, ok := quoted(text)
		rest, closed := strings.CutPrefix(rest, "]")
		return Step{Kind: Member, Name: name}, rest, ok && closed
	}
	inner, rest, ok := strings.Cut(text, "]")
	if inner == "*" {
		return Step{Kind: Every}, rest, ok
	}
	n, err := strconv.ParseUint(inner, 10, 31)
	return Step{Kind: Element, Index: int(n)}, rest, ok && err == nil
}

// quoted reads a name in quotes; within it a backslash makes a quote or a backslash stand for itself.
func quoted(text string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) || strings.IndexByte(`'"\`, text[i]) < 0 {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// AppendMember returns the path of a member of the value at a path.
func AppendMember(path, name string) string {
	if plainName(name) {
		return path + "." + name
	}
	return path + "['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name) + "']"
}

// AppendElement returns the path of an element of the array at a path.
func AppendElement(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// plainName reports whether a name can stand behind a point.
func plainName(name string) bool {
	for i, c := range name {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Matches reports whether the path leads to a place.
func (p Path) Matches(place []Step) bool {
	switch {
	case len(p) == 0:
		return len(place) == 0
	case p[0].Kind == Below:
		return p[1:].Matches(place) || len(place) > 0 && p.Matches(place[1:])
	default:
		return len(place) > 0 && (p[0].Kind == Every || p[0] == place[0]) && p[1:].Matches(place[1:])
	}
}

// Rewrite replaces every value that the path leads to. An absent replacement takes a member out; in an array it becomes instead. A path leads
// into text that holds a JSON object or array.
func (p Path) Rewrite(v, instead exactjson.Value, replace func(exactjson.Value) exactjson.Value) exactjson.Value {
	if len(p) == 0 {
		return replace(v)
	}
	if v.Kind() == exactjson.String {
		if v = Decoded(v); v.Kind() == exactjson.String {
			return v
		}
	}
	s, rest := p[0], p[1:]
	if s.Kind == Below {
		v, rest = rest.Rewrite(v, instead, replace), p
	}
	return v.Map(func(i int, m exactjson.Member) exactjson.Value {
		if s.Kind == Member && (v.Kind() != exactjson.Object || m.Name != s.Name) || s.Kind == Element && (v.Kind() != exactjson.Array || i != s.Index) {
			return m.Value
		}
		w := rest.Rewrite(m.Value, instead, replace)
		if v.Kind() == exactjson.Array && w.IsAbsent() {
			return instead
		}
		return w
	})
}

// Decoded returns the JSON object or array that a text holds, else the value itself: a path leads into such text.
func Decoded(v exactjson.Value) exactjson.Value {
	text := strings.TrimLeft(v.Str(), " \t\r\n")
	if text == "" || text[0] != '{' && text[0] != '[' {
		return v
	}
	if inner, err := exactjson.Parse(text); err == nil {
		return inner
	}
	return v
}
