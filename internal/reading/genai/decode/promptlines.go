// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// PromptLines reads lines of the form "role: text". Several messages are labelled lossy, because a text may contain such lines itself. A line that is all messages as str() writes
// their list, as OpenLIT does for each that is no dict, is read as what they are. So are the parts of a message, each behind its kind.
func PromptLines(text string) []Message {
	var out []Message
	for line := range strings.SplitSeq(text, "\n") {
		name, rest, ok := strings.Cut(line, ": ")
		role, known := roles[name]
		if ok && known {
			if all := representedMessages(rest); len(all) > len(out) {
				return all
			}
			out = append(out, Message{Role: role, Parts: []Part{TextPart(rest)}})
			continue
		}
		if len(out) == 0 {
			return []Message{{Role: tape.RoleUser, Parts: []Part{TextPart(text)}}}
		}
		out[len(out)-1].Parts[0].Text += "\n" + line
	}
	several := len(out) > 1
	for i := range out {
		if out[i].Role == tape.RoleAssistant && out[i].Parts[0].Text == "None" && i+1 < len(out) && out[i+1].Role == tape.RoleTool {
			out[i].Parts = nil // what Python prints for a message that holds nothing but calls
			continue
		}
		if parts, ok := kindParts(out[i].Parts[0].Text); ok {
			out[i] = MessageWith(out[i].Role, "", parts)
			several = true
		} else if out[i].Role == tape.RoleTool {
			out[i].Parts[0] = ResultPart("", "", exactjson.StringValue(out[i].Parts[0].Text), false)
		}
	}
	for k, m := range out {
		// after a result another follows, or the model speaks; what anybody else says there may be a line of the result
		broken := m.Role == tape.RoleTool && k+1 < len(out) && out[k+1].Role != tape.RoleTool && out[k+1].Role != tape.RoleAssistant
		for i := range m.Parts {
			if several && (m.Parts[i].Type == tape.PartText || broken) {
				m.Parts[i].Label = tape.Lossy
			}
		}
	}
	return out
}

var partKind = regexp.MustCompile(`(?:^|, )(text|function_call|function_response): `)

// kindParts reads the parts of a message, each behind its kind with a comma between: "text: …, function_call: id=None args={'a': 1} name='f'". ok is false where the text does not
// begin with a kind, or what stands behind that of a call or of a result is none.
func kindParts(text string) (parts []Part, ok bool) {
	marks := partKind.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 || marks[0][0] != 0 {
		return nil, false
	}
	for i := 0; i < len(marks); i++ {
		kind, from, to := text[marks[i][2]:marks[i][3]], marks[i][1], len(text)
		if i+1 < len(marks) {
			to = marks[i+1][0]
		}
		if kind == "text" {
			parts = append(parts, TextPart(text[from:to]))
			continue
		}
		fields, _, ok := Fields(text[from:to])
		if !ok {
			return nil, false
		}
		parts = append(parts, Parts(exactjson.ArrayValue(exactjson.ObjectValue(exactjson.Member{Name: kind, Value: fields})))...)
	}
	return parts, true
}

// representedMessages reads a list of messages that str() has written; nil for anything else.
func representedMessages(text string) []Message {
	if !strings.HasPrefix(text, "[") {
		return nil
	}
	list, ok := Representation(text)
	if !ok || list.Kind() != exactjson.Array {
		return nil
	}
	messages, ok := Messages(list, tape.RoleUser)
	if !ok {
		return nil
	}
	return messages
}
