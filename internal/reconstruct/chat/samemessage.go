// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"github.com/tapedeck/tapedeck/tape"
)

// Equal reports two messages that are the same, or were resent changed in nothing but ids, spelling of
// arguments, rounding of numbers or opaque data. Reasoning is often not resent and does not count. Nor does
// how a text is divided: a stream that was kept piece by piece is resent so. A message of which only the
// place is known is the same as any that asks for tools.
func (m *Message) Equal(other *Message) (same, exact bool) {
	if m == other || m.ID == other.ID {
		return true, true
	}
	if m.Omitted || other.Omitted {
		return HasToolCall(m) || HasToolCall(other), true
	}
	if m.Tape.Role != other.Tape.Role {
		return false, false
	}
	a, b := nextTelling(m.Tape.Parts), nextTelling(other.Tape.Parts)
	for len(a) > 0 && len(b) > 0 {
		if a[0].Type == tape.PartText && b[0].Type == tape.PartText {
			if a, b, same = afterText(a, b); !same {
				return false, false
			}
			continue
		}
		if !samePart(&a[0], &b[0]) {
			return false, false
		}
		a, b = nextTelling(a[1:]), nextTelling(b[1:])
	}
	return len(a) == 0 && len(b) == 0, false
}

// afterText steps behind the texts with which two lists of parts begin, however each is divided. same reports
// that the texts are equal.
func afterText(a, b []tape.Part) (restA, restB []tape.Part, same bool) {
	x, y := "", ""
	for {
		switch n := min(len(x), len(y)); {
		case x[:n] != y[:n]:
			return nil, nil, false
		default:
			x, y = x[n:], y[n:]
		}
		switch {
		case x == "" && len(a) > 0 && a[0].Type == tape.PartText:
			x, a = a[0].Text, nextTelling(a[1:])
		case y == "" && len(b) > 0 && b[0].Type == tape.PartText:
			y, b = b[0].Text, nextTelling(b[1:])
		default:
			return a, b, x == "" && y == ""
		}
	}
}

// nextTelling skips parts that do not tell two messages apart.
func nextTelling(parts []tape.Part) []tape.Part {
	for len(parts) > 0 && (parts[0].Type == tape.PartReasoning || parts[0].Type == tape.PartData) {
		parts = parts[1:]
	}
	return parts
}

func samePart(a, b *tape.Part) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case tape.PartToolCall:
		return a.Name == b.Name && SameValue(a.Args, b.Args)
	case tape.PartToolResult:
		return SameValue(a.Result, b.Result)
	case tape.PartMedia:
		return a.URI == b.URI && a.SHA256 == b.SHA256
	default:
		return a.URI == b.URI
	}
}
