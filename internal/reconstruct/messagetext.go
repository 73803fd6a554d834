// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// partsText joins the texts of a message, without what somebody else put into it on its way.
func partsText(parts []genai.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == tape.PartText && p.Text != "" && !p.Injected {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func lastUserText(messages []genai.Message) string {
	text, _ := lastUserOf(messages)
	return text
}

// lastUserOf is the last text of a user, and what became of it.
func lastUserOf(messages []genai.Message) (string, tape.Label) {
	return lastUserAt(len(messages), func(i int) (tape.Role, []genai.Part) { return messages[i].Role, messages[i].Parts })
}

func lastUser(messages []*message) (string, tape.Label) {
	return lastUserAt(len(messages), func(i int) (tape.Role, []genai.Part) { return messages[i].tape.Role, messages[i].parts })
}

func lastUserAt(n int, at func(int) (tape.Role, []genai.Part)) (string, tape.Label) {
	for n--; n >= 0; n-- {
		if role, parts := at(n); role == tape.RoleUser {
			if text := partsText(parts); text != "" {
				return text, damage(parts)
			}
		}
	}
	return "", ""
}

// damage is the worst label of the parts of a message.
func damage(parts []genai.Part) tape.Label {
	for _, worst := range []tape.Label{tape.Truncated, tape.External, tape.Lossy, tape.Masked} {
		if slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Label == worst }) {
			return worst
		}
	}
	return ""
}

// placed reports that only the place of the messages of a role says whose they are: no record holds their roles.
func placed(request []*message, role tape.Role) bool {
	return slices.ContainsFunc(request, func(m *message) bool { return m.tape.Role == role && isPlaced(m.parts) })
}

func isPlaced(parts []genai.Part) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Label == tape.Recovered })
}

// systemText is what a request begins with in the role of the system. Where it begins otherwise it is the only message
// of that role: a memory that was filled before puts instructions behind what was said earlier. Several such messages
// are notes along the way.
func systemText(messages []*message) string {
	var texts []string
	for _, m := range messages[:len(messages)-len(afterSystem(messages))] {
		if text := partsText(m.parts); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		return strings.Join(texts, "\n\n")
	}
	for _, m := range messages {
		if m.tape.Role == tape.RoleSystem {
			texts = append(texts, partsText(m.parts))
		}
	}
	if len(texts) != 1 {
		return ""
	}
	return texts[0]
}
