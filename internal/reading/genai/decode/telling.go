// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// address is what Python writes for an object that has no text of its own, such as a stream that nobody has read yet, for a list of them, for a class, and for a method that somebody forgot
// to call.
var address = regexp.MustCompile(`^(?:(?s:<bound method [\w.<>]+ of .*>)|<class '[\w.]+'>|<[\w.]+(?: object)?(?: [\w.<>]+)? at 0x[0-9a-f]+>|\[<[\w.]+ object at 0x[0-9a-f]+>(?:, <[\w.]+ object at 0x[0-9a-f]+>)*\])$`)

// IsAddress reports a text that stands for an object of the program and says nothing of what is in it.
func IsAddress(v exactjson.Value) bool { return isAddress(v.Str()) }

func isAddress(text string) bool {
	return (strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[<")) && address.MatchString(text)
}

// objectTag is what String() makes of an object in JavaScript, which tells nothing but its class, or what stands for a call or its result and tells nothing
// but its tool (Mastra's exporter for Laminar).
var objectTag = regexp.MustCompile(`^\[(?:object [A-Z]\w*|tool(?:-result)?: [\w.-]+)\]$`)

// IsObjectTag reports a text that a JavaScript runtime or an exporter wrote in place of an object.
func IsObjectTag(text string) bool {
	return strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && objectTag.MatchString(text)
}

// Telling drops answers that say nothing of what was answered: each part is null, or the address of an object. A message without parts stays: such an
// answer was empty.
func Telling(messages []Message) []Message {
	tells := func(p *Part) bool {
		switch p.Type {
		case tape.PartData:
			return p.Value.Kind() != exactjson.Null
		case tape.PartText:
			return !isAddress(p.Text)
		}
		return true
	}
	return slices.DeleteFunc(messages, func(m Message) bool {
		return len(m.Parts) > 0 && !anyPart(m.Parts, tells)
	})
}
