// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// Private keys in PEM whose parts do not stand together: the end of one alone (tail of a file), and one as a
// list of its lines. Certificates and public keys have other marks and are left alone, and so is a sentence
// that names the marks and holds no key.

var pemEnds = seeker{rule: "private-key-end", class: Known, by: rulePrivateKey, text: "the lines before the end of a PEM private key", words: []string{"-----end"}, find: (*finder).pemEnd}

// isPEM holds for the characters of the body of a PEM file.
var isPEM = classWith("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

// pemBody says whether a text that begins with the mark of a private key holds a part of one: a run of random
// characters near it.
func pemBody(v string) bool {
	mark := strings.Index(v, "-----BEGIN")
	body := v[max(mark, 0):]
	if i := strings.Index(strings.TrimLeft(body, "-"), "-----"); i >= 0 {
		body = body[len(body)-len(strings.TrimLeft(body, "-"))+i+5:]
	}
	if end := strings.LastIndex(body, "-----END"); end >= 0 { // a short one: nothing but a word between the marks
		short := strings.Trim(strings.NewReplacer("\\n", "", "\\r", "", "\\", "").Replace(body[:end]), " \t\r\n\"',+")
		if len(short) >= 2 && len(short) <= 128 && strings.IndexFunc(short, func(r rune) bool { return r >= 0x80 || !isPEM[byte(r)] && r != '=' && r != '\n' }) < 0 {
			return true
		}
	}
	body = body[:min(len(body), 1024)]
	for first, i := true, 0; i < len(body); first = false {
		for i < len(body) && !isPEM[body[i]] {
			i++
		}
		if i > 0 && i < len(body) && body[i-1] == '\\' { // an escape
			i++
		}
		from := i
		for i < len(body) && isPEM[body[i]] {
			i++
		}
		if run := body[from:min(i, len(body))]; len(run) >= 16 && randomish(run) || first && len(run) >= 8 && randomish(run) {
			return true
		}
	}
	return false
}

// pemMark returns the length of the mark that a text begins with, 0 if it is none of a private key.
func pemMark(s, word string) int {
	if !equalLowered(s[:min(len(s), len(word))], word[:min(len(s), len(word))]) || len(s) < len(word) {
		return 0
	}
	i := len(word)
	for i < len(s) && i < 64 && (isUpper(s[i]) || isLower(s[i]) || isDigit(s[i]) || s[i] == ' ' || s[i] == '_') {
		i++
	}
	if label := strings.ToUpper(s[len(word):i]); !strings.HasSuffix(label, "PRIVATE KEY") && !strings.HasSuffix(label, "PRIVATE KEY BLOCK") || !strings.HasPrefix(s[i:], "-----") {
		return 0
	}
	return i + len("-----")
}

// pemEnd looks at the lines before the end of a private key.
func (f *finder) pemEnd(id ruleID, at, _ int) {
	s := f.s
	n := pemMark(s[at:], "-----end")
	if n == 0 {
		return
	}
	floor := max(f.pem, at-64<<10)
	f.pem = at + n
	begin, sure, last := at, false, true
	for i := at; ; {
		gap := i
		for i > floor && !isPEM[s[i-1]] && gap-i < 48 {
			i--
		}
		end := i
		for i > floor && isPEM[s[i-1]] {
			i--
		}
		start := i
		if start > 0 && s[start-1] == '\\' && end > start && strings.IndexByte("nrt", s[start]) >= 0 {
			start++
		}
		run := s[start:end]
		f.work += gap - i
		switch {
		case end == i || gap-end >= 48:
		case len(run) >= 16 || last && len(run) >= 2 && (strings.Contains(s[end:gap], "=") || randomish(run)):
			begin, last = start, false
			sure = sure || len(run) >= 24 && randomish(run)
			continue
		case len(run) <= 8 && at-i < 64<<10 && begin-i < 48: // the number of a line, the name of a member
			continue
		}
		break
	}
	if sure {
		f.add(begin, at+n, id)
	}
}

// pemList is what is known of a list of the lines of a private key.
type pemList struct {
	open  int     // how many brackets were open where the begin of a key stood, 0 if there was none
	lines []again // strings that can be lines of a key whose end comes
}

// pemLine holds for a line of the body of a PEM file.
func pemLine(v string) bool {
	v = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(v, "\r\n"), "\\n"), "=")
	if len(v) < 8 || len(v) > 128 {
		return false
	}
	for i := range len(v) {
		if !isPEM[v[i]] {
			return false
		}
	}
	return len(v) == 64 || randomish(v)
}

// keep keeps a string of a list that can be a line of a key whose end comes. A text that is no such line
// ends the list of them. lone: no begin of a key stands before it.
func (l *pemList) keep(text string, t jsonscan.Token, lone bool) {
	switch {
	case lone && len(text) >= 24 && pemLine(text):
		if l.lines = append(l.lines, again{t, ofKey}); len(l.lines) > 128 {
			l.lines = l.lines[1:]
		}
	case len(text) > 4:
		l.lines = l.lines[:0]
	}
}

// ofKey is the name of a line of a private key.
var ofKey = &Name{facts: facts{secret: true}}

// next looks at a string of a list. line: it is one of a private key whose begin stands before it. ended: the
// lines before it are those of one.
func (l *pemList) next(text string, depth int) (line, ended bool) {
	if l.open > depth+1 {
		*l = pemList{}
	}
	if len(text) < 8 || len(text) > 256 {
		return false, false
	}
	const indented = 28 // bytes at most before a mark
	at := 0
	for at < min(len(text), indented) && strings.IndexByte(" \t+>", text[at]) >= 0 {
		at++
	}
	if mark := text[at:]; at < indented && strings.HasPrefix(mark, "-----") {
		switch {
		case pemMark(mark, "-----begin") > 0:
			*l = pemList{open: depth}
		case pemMark(mark, "-----end") > 0:
			ended = l.open == 0
			l.open = 0
		}
		return false, ended
	}
	return l.open > 0 && pemLine(text), false
}
