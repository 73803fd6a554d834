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

// turnLabel is what stands before a turn of a conversation that was written as one text.
var turnLabel = regexp.MustCompile(`(?m)^(System|User|Human|Assistant|AI|Tool|Function|system|user|human|assistant|ai|tool|function):(?: |$)`)

// LabelledTurns reads a conversation that was written as one text, each turn below the one before with who speaks in front of it: System: … Human: … It takes
// such a text for a conversation where it begins with a label, has instructions or a question first, a turn of somebody else behind, and an empty line before
// each label but the first, or no empty line at all; where the labels are in lower case, instructions that are a sentence stand before what no empty line divides. ok is false for any other text: a user may well write a label.
func LabelledTurns(text string) (messages []Message, ok bool) {
	if !strings.Contains(text[:min(len(text), maxLabel+1)], ":") {
		return nil, false
	}
	labels := turnLabel.FindAllStringSubmatchIndex(text, maxTurns+1)
	if len(labels) < 2 || len(labels) > maxTurns || labels[0][0] != 0 {
		return nil, false
	}
	spaced := strings.Contains(text, "\n\n")
	begin := func(i int) (int, bool) {
		return labels[i][0], i == 0 || !spaced || strings.HasSuffix(text[:labels[i][0]], "\n\n")
	}
	end := len(text)
	for i := len(labels) - 1; i >= 0; i-- {
		start, turn := begin(i)
		if !turn {
			continue // a line of the turn before
		}
		said := strings.TrimSpace(text[labels[i][1]:end])
		m := Message{Role: RoleOf(text[labels[i][2]:labels[i][3]]), Parts: []Part{TextPart(said)}}
		if m.Role == tape.RoleTool {
			m.Parts[0] = ResultPart("", "", exactjson.StringValue(said), false)
		}
		messages = append(messages, m)
		end = start
	}
	slices.Reverse(messages)
	first := messages[0].Role
	if said := messages[0].Parts[0].Text; text[0] >= 'a' && !spaced && (first != tape.RoleSystem || !strings.Contains(said, " ") || !strings.HasSuffix(said, ".")) {
		return nil, false // settings are written so as well: user: ada
	}
	return messages, len(messages) > 1 && (first == tape.RoleSystem || first == tape.RoleUser) && messages[1].Role != first
}

const (
	maxTurns = 512 // more than such a text has
	maxLabel = len("Assistant")
)
