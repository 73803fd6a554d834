// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Lists remembers the message lists of one trace. A conversation is resent whole with every turn, so the text
// of a list mostly begins with the text of one that was read before. The elements of that beginning are not
// read again. What Messages returns is what it would be without a memory. The list belongs to the caller. Its
// parts are shared: who changes some clones them first (CloneParts). The zero value is ready; nil remembers
// nothing. It is not safe for concurrent use.
type Lists struct {
	known []*knownList // the one that was used last comes last
}

const (
	maxLists = 8       // conversations that take turns in one trace
	minList  = 1 << 10 // bytes; shorter texts are read faster than looked up
	// minElements is from which length on a list is remembered: most of a shorter one is read again anyway.
	minElements = 3
)

// knownList is the text of a list and what was read from it.
type knownList struct {
	text string
	messageReader
	read []readElement
}

// readElement is how far a list was read when one of its elements had been.
type readElement struct {
	behind, values int // see exactjson.ParseElements
	messages       int
	parts          int // of the last message
	responseItem   bool
}

// Messages reads a JSON array of messages; ok is false for any other text, and for a list that has to be looked at as a whole.
func (l *Lists) Messages(text string, role tape.Role) (messages []Message, ok bool) {
	if l == nil || len(text) < minList || text[0] != '[' {
		return nil, false
	}
	of, n := l.longest(text, role)
	of.text, of.role = text, role
	of.cut(n)
	behind, values := 0, 0
	if n > 0 {
		behind, values = of.read[n-1].behind, of.read[n-1].values
	}
	whole := true
	err := exactjson.ParseElements(text, behind, values, func(e exactjson.Value, behind, values int) bool {
		if whole = of.add(e) == someMessages; whole {
			parts := 0
			if last := len(of.out) - 1; last >= 0 {
				parts = len(of.out[last].Parts)
			}
			of.read = append(of.read, readElement{behind, values, len(of.out), parts, of.responseItem})
		}
		return whole
	})
	if err != nil || !whole || len(of.read) == 0 {
		return nil, false
	}
	if len(of.read) < minElements {
		return of.out, true
	}
	l.known = append(l.known, of)
	messages = slices.Clone(of.out)
	for i := range messages {
		messages[i].Parts = slices.Clip(messages[i].Parts) // who adds one writes elsewhere
	}
	return messages, true
}

// longest returns a list that shares most elements with the text, and how many. It is the known one, taken out, when that goes on in no other
// way than the text does, and else a copy of its beginning: conversations that begin alike go on side by side.
func (l *Lists) longest(text string, role tape.Role) (of *knownList, elements int) {
	at := -1
	for i, k := range l.known {
		if k.role != role {
			continue
		}
		n := commonPrefix(k.text, text)
		// The byte behind the last common element is common too, or a number could go on.
		common, _ := slices.BinarySearchFunc(k.read, n, func(e readElement, n int) int { return e.behind - n })
		if common > elements {
			at, elements = i, common
		}
	}
	switch {
	case at >= 0 && elements >= len(l.known[at].read)-1:
		of = l.known[at]
		l.known = slices.Delete(l.known, at, at+1)
		return of, elements
	case at >= 0:
		k := l.known[at]
		of = &knownList{read: slices.Clone(k.read[:elements])}
		of.out = slices.Clone(k.out[:k.read[elements-1].messages])
	default:
		of = &knownList{}
	}
	if len(l.known) == maxLists {
		l.known = slices.Delete(l.known, 0, 1)
	}
	return of, elements
}

// cut goes back to when n elements had been read.
func (k *knownList) cut(n int) {
	k.read = k.read[:n]
	if n == 0 {
		k.out, k.responseItem = nil, false
		return
	}
	e := k.read[n-1]
	clear(k.out[e.messages:])
	k.out, k.responseItem = k.out[:e.messages], e.responseItem
	if e.messages > 0 {
		last := &k.out[e.messages-1]
		last.Parts = last.Parts[:e.parts:e.parts]
	}
}

// commonPrefix returns how many bytes two texts have in common at their beginning.
func commonPrefix(a, b string) (n int) {
	const step = 256
	for len(a)-n >= step && len(b)-n >= step && a[n:n+step] == b[n:n+step] {
		n += step
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TrimmedJSON returns a text without the white space around it, if it looks like JSON.
func TrimmedJSON(v exactjson.Value) (text string, ok bool) {
	if v.Kind() != exactjson.String || !LooksJSON(v.Str()) {
		return "", false
	}
	return strings.TrimSpace(v.Str()), true
}
