// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// seeker is a rule that is code and hangs on words: what it looks for stands at a word, or near one. Each has
// a file of its own.
type seeker struct {
	rule  string
	class Class
	text  string   // what it finds, for the document
	words []string // lower case, four bytes or more; ~ stands for a space
	find  func(f *finder, id ruleID, at, end int)
	by    string // the rule that it reports as, if that is another one
}

// seekers are the rules of this kind, in the order of their precedence.
func seekers() []seeker {
	return []seeker{
		pemEnds, sudoInput, expectSend, formCode, formMarkup, formSaid, formLabel, rowOfRecord, columnsInText, cookieJar, sessionInPath, linkWord, linkParameter,
		codeSaid, codeFirst, codeList, otpURL, setupKey, requestSignature, signatureHeader, digestHeader, planSecret, piecesJoined,
	}
}

// quotedAt returns the content of a string literal that begins at i, and where the text goes on behind it.
// The quote may stand behind a letter, as b"…".
func quotedAt(s string, i int) (from, to, next int, ok bool) {
	n := quoteAt(s, i)
	if n == 0 || n > 2 {
		return 0, 0, 0, false
	}
	from = i + n
	quote := s[from-1]
	for to = from; to < len(s) && to-from < maxLiteral && s[to] != '\n'; to++ {
		if s[to] == '\\' {
			to++
		} else if s[to] == quote {
			return from, to, to + 1, true
		}
	}
	return 0, 0, 0, false
}

// maxLiteral bounds a string literal that can be what somebody types.
const maxLiteral = 512

// spaces returns where the text goes on behind blanks and at most so many ends of lines.
func spaces(s string, i, lines int) int {
	for from := i; i < len(s) && i-from < 96; i++ {
		if s[i] == '\n' {
			if lines--; lines < 0 {
				return i
			}
		} else if s[i] != ' ' && s[i] != '\t' && s[i] != '\r' {
			return i
		}
	}
	return i
}

// lineBefore returns where the line of a place begins, at most so many bytes before it.
func lineBefore(s string, at, most int) int {
	from := max(0, at-most)
	return from + strings.LastIndexByte(s[from:at], '\n') + 1
}

// lineBehind returns where the line of a place ends, at most so many bytes behind it.
func lineBehind(s string, at, most int) int {
	to := min(len(s), at+most)
	if i := strings.IndexByte(s[at:to], '\n'); i >= 0 {
		return at + i
	}
	return to
}

// typed holds for what somebody types where a secret is asked for: no template, no placeholder, no sentence.
func typedSecret(v string) bool {
	return len(v) >= 3 && len(v) <= 256 && !placeholder(v) && !prose(v) && v[0] != '$' && !strings.Contains(v, "{{") && !strings.Contains(v, "${") &&
		!strings.HasPrefix(v, "process.env") && !strings.HasPrefix(v, "%")
}
