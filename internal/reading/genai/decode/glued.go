// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxGlued bounds how many calls one text of arguments is taken apart into.
const maxGlued = 64

// Unglue takes apart calls of which an instrumentation made one: it added up the pieces of a stream without looking which call each belongs to
// (OpenInference for the OpenAI SDK in JavaScript). Several JSON objects, one behind the other, are the arguments; the names stand behind each
// other too, and so do the ids, or one of them is left (LangSmith's wrapper of that SDK): then the request tells the others if it was recorded late enough to hold the answer to itself.
// It leaves alone what has no such arguments, and names that are neither one name several times nor names of offered tools.
func Unglue(messages, request []Message, tools []tape.Tool) []Message {
	for i := range messages {
		m := &messages[i]
		if !HasCallParts(m.Parts) {
			continue
		}
		var parts []Part
		for k := range m.Parts {
			p := &m.Parts[k]
			calls := unglued(p, tools)
			idsFrom(request, calls, p.ID)
			if calls == nil {
				if parts != nil {
					parts = append(parts, *p)
				}
				continue
			}
			if parts == nil {
				parts = slices.Clone(m.Parts[:k])
			}
			parts = append(parts, calls...)
		}
		if parts != nil {
			messages = slices.Clone(messages)
			messages[i].Parts = parts
		}
	}
	return messages
}

func unglued(p *Part, tools []tape.Tool) []Part {
	if p.Type != tape.PartToolCall || p.Args.Kind() != exactjson.String || !strings.Contains(p.Args.Str(), "}{") && !strings.Contains(p.Args.Str(), "} {") {
		return nil
	}
	var args []string
	d := json.NewDecoder(strings.NewReader(p.Args.Str()))
	for {
		var one json.RawMessage
		err := d.Decode(&one)
		if err == io.EOF {
			break
		}
		if err != nil || len(one) == 0 || one[0] != '{' || len(args) == maxGlued {
			return nil
		}
		args = append(args, string(one))
	}
	names := gluedNames(p.Name, len(args), tools)
	if len(args) < 2 || names == nil {
		return nil
	}
	ids := gluedIDs(p.ID, len(args))
	var parts []Part
	for i, a := range args {
		one := CallPart(ids[i], names[i], exactjson.StringValue(a))
		one.Label = tape.Recovered
		parts = append(parts, one)
	}
	return parts
}

// idsFrom gives calls without ids those that they have in a request: one message asks for the very same calls there, and one of them has the id that is left.
func idsFrom(request []Message, calls []Part, left string) {
	if len(calls) == 0 || calls[0].ID != "" || left == "" {
		return
	}
	for _, m := range request {
		var asked []Part
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartToolCall {
				asked = append(asked, m.Parts[i])
			}
		}
		same := slices.EqualFunc(asked, calls, func(a, b Part) bool {
			x, y := a.Args, b.Args
			if v, ok := ParseStructure(x.Str()); ok {
				x = v
			}
			if v, ok := ParseStructure(y.Str()); ok {
				y = v
			}
			return a.Name == b.Name && x.Equal(y)
		})
		if same && anyPart(asked, func(p *Part) bool { return p.ID == left }) {
			for i := range calls {
				calls[i].ID = asked[i].ID
			}
			return
		}
	}
}

// gluedNames divides n names that stand behind each other: one name n times, else names of the tools in the only way that is possible.
func gluedNames(text string, n int, tools []tape.Tool) []string {
	if size := len(text) / n; size > 0 && text == strings.Repeat(text[:size], n) {
		return slices.Repeat([]string{text[:size]}, n)
	}
	var found [][]string
	tries := 0
	var divide func(rest string, names []string)
	divide = func(rest string, names []string) {
		if tries++; len(found) > 1 || tries > 1000 {
			return
		}
		if len(names) == n {
			if rest == "" {
				found = append(found, slices.Clone(names))
			}
			return
		}
		for _, t := range tools {
			if t.Name != "" && strings.HasPrefix(rest, t.Name) {
				divide(rest[len(t.Name):], append(names, t.Name))
			}
		}
	}
	divide(text, nil)
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// gluedIDs divides n ids of one length and one beginning ("call_"); where they cannot be divided so they are empty.
func gluedIDs(text string, n int) []string {
	ids := make([]string, n)
	size := len(text) / n
	begin, _, ok := strings.Cut(text, "_")
	if !ok || size*n != len(text) {
		return ids
	}
	for i := range ids {
		if ids[i] = text[i*size : (i+1)*size]; !strings.HasPrefix(ids[i], begin+"_") {
			return make([]string, n)
		}
	}
	return ids
}
