// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// PartsText joins the texts of a message, without what somebody else put into it on its way.
func PartsText(parts []genai.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == tape.PartText && p.Text != "" && !p.Injected {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func LastUserText(messages []genai.Message) string {
	text, _ := LastUserOf(messages)
	return text
}

// LastUserOf is the last text of a user, and what became of it.
func LastUserOf(messages []genai.Message) (string, tape.Label) {
	return lastUserAt(len(messages), func(i int) (tape.Role, []genai.Part) { return messages[i].Role, messages[i].Parts })
}

func LastUser(messages []*Message) (string, tape.Label) {
	return lastUserAt(len(messages), func(i int) (tape.Role, []genai.Part) { return messages[i].Tape.Role, messages[i].Parts })
}

func lastUserAt(n int, at func(int) (tape.Role, []genai.Part)) (string, tape.Label) {
	for n--; n >= 0; n-- {
		if role, parts := at(n); role == tape.RoleUser {
			if text := PartsText(parts); text != "" {
				return text, Damage(parts)
			}
		}
	}
	return "", ""
}

// Damage is the worst label of the parts of a message.
func Damage(parts []genai.Part) tape.Label {
	for _, worst := range []tape.Label{tape.Truncated, tape.External, tape.Lossy, tape.Masked} {
		if slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Label == worst }) {
			return worst
		}
	}
	return ""
}

// Placed reports that only the place of the messages of a role says whose they are: no record holds their
// roles.
func Placed(request []*Message, role tape.Role) bool {
	return slices.ContainsFunc(request, func(m *Message) bool { return m.Tape.Role == role && IsPlaced(m.Parts) })
}

func IsPlaced(parts []genai.Part) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Label == tape.Recovered })
}

// SystemText is what a request begins with in the role of the system. Where it begins otherwise it is the
// only message of that role: a memory that was filled before puts instructions behind what was said earlier.
// Several such messages are notes along the way.
func SystemText(messages []*Message) string {
	var texts []string
	for _, m := range messages[:len(messages)-len(AfterSystem(messages))] {
		if text := PartsText(m.Parts); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n\n")
	}
	for _, m := range messages {
		if m.Tape.Role == tape.RoleSystem {
			texts = append(texts, PartsText(m.Parts))
		}
	}
	if len(texts) != 1 {
		return ""
	}
	return texts[0]
}
