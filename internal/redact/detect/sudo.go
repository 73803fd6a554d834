// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// The password that is given to sudo, su or passwd on its standard input: echo … | sudo -S, printf '%s\n' … |
// sudo -S, sudo -S <<< …, a here-document. What a shell fills in ("$PW") is left alone, and so is what is
// piped into a command that sudo runs without -S.

var sudoInput = seeker{rule: "sudo-input", class: Known, by: "sudo-stdin", text: "the password that is piped into sudo, su or passwd", words: []string{"sudo~", "|~su~", "|su~", "|~passwd", "|~chpasswd", "|~cryptsetup", "'sudo'", "\"sudo\""},
	find: (*finder).sudo}

func (f *finder) sudo(id ruleID, at, end int) {
	s := f.s
	if quoteAt(s, at) == 1 { // subprocess.run(["sudo", "-S", …], input="…\n")
		f.sudoCall(id, end)
		return
	}
	stop := lineBehind(s, at, 320)
	f.work += stop - at
	if s[at] == '|' {
		f.piped(id, at)
		return
	}
	if at > 0 && (isWord(s[at-1]) || s[at-1] == '/' || s[at-1] == '-') {
		return
	}
	i, asks := end, false
	for i < stop {
		i = spaces(s[:stop], i, 0)
		if i >= stop || s[i] != '-' {
			break
		}
		option := firstWord(s[i:stop])
		i += len(option)
		switch {
		case option == "--stdin":
			asks = true
		case strings.HasPrefix(option, "--"):
		default:
			asks = asks || strings.IndexByte(option, 'S') > 0
			if strings.IndexByte("upgUhCrtTD", option[len(option)-1]) >= 0 {
				i = spaces(s[:stop], i, 0)
				if _, _, next, ok := quotedAt(s[:stop], i); ok {
					i = next
				} else {
					i += len(firstWord(s[i:stop]))
				}
			}
		}
	}
	if !asks {
		return
	}
	bar := at
	for bar > 0 && (s[bar-1] == ' ' || s[bar-1] == '\t') && at-bar < 8 {
		bar--
	}
	if bar > 0 && s[bar-1] == '|' {
		f.piped(id, bar-1)
	}
	rest := s[i:stop]
	if n := strings.Index(rest, "<<<"); n >= 0 {
		f.shellWord(id, spaces(s, i+n+3, 0), stop)
	} else if n := strings.Index(rest, "<<"); n >= 0 && stop < len(s) {
		f.wholeLine(id, stop+1, lineBehind(s, stop+1, 160))
	}
}

// wholeLine notes a line that is a password.
func (f *finder) wholeLine(id ruleID, from, to int) {
	if v := strings.TrimSpace(f.s[min(from, len(f.s)):min(to, len(f.s))]); typedSecret(v) && !strings.ContainsAny(v, " |") {
		f.add(from, to, id)
	}
}

// shellWord notes a word of a shell, without its quotes, and returns where it ends.
func (f *finder) shellWord(id ruleID, i, stop int) int {
	s := f.s[:stop]
	if from, to, next, ok := quotedAt(s, i); ok && quoteAt(s, i) == 1 {
		for _, end := range [...]string{"\\n", "\\r"} {
			for strings.HasSuffix(s[from:to], end) {
				to -= len(end)
			}
		}
		if v := s[from:to]; typedSecret(v) && !strings.Contains(v, "$(") {
			f.add(from, to, id)
		}
		return next
	}
	from := i
	for i < len(s) && strings.IndexByte(" \t\r\n|;&)\"'<>", s[i]) < 0 {
		i++
	}
	to := i
	for strings.HasSuffix(s[from:to], "\\n") {
		to -= 2
	}
	if from < to && typedSecret(s[from:to]) {
		f.add(from, to, id)
	}
	return i
}

// piped looks at the command before a bar: what it prints.
func (f *finder) piped(id ruleID, bar int) {
	s := f.s
	from := max(0, bar-240)
	f.work += bar - from
	text := s[from:bar]
	if n := strings.LastIndex(text, "<<"); n >= 0 && strings.Contains(text[:n], "cat") && strings.IndexByte(text[n:], '\n') < 0 { // cat <<EOF | sudo -S …
		if line := lineBehind(s, bar, 320); line < len(s) {
			f.wholeLine(id, line+1, lineBehind(s, line+1, 160))
		}
		return
	}
	at, verb := -1, ""
	for _, v := range [...]string{"echo ", "printf ", "yes "} {
		i := strings.LastIndex(text, v)
		if v != "yes " && i >= 0 {
			if first := strings.Index(text, "("+v); first >= 0 && strings.IndexByte(text, ')') > first { // (echo …; echo y) |
				i = first + 1
			}
		}
		if i > at && (i == 0 || !isWord(text[i-1])) {
			at, verb = i, v
		}
	}
	if at < 0 {
		return
	}
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return
	}
	i := from + at + len(verb)
	for i < bar && s[i] == '-' && !strings.HasPrefix(s[i:], "-- ") { // -n, -e
		i = spaces(s[:bar], i+len(firstWord(s[i:bar])), 0)
	}
	if verb == "printf " {
		format := i
		next := i + len(firstWord(s[i:bar]))
		if _, _, n, ok := quotedAt(s[:bar], i); ok {
			next = n
		}
		if strings.IndexByte(s[format:min(next, bar)], '%') >= 0 {
			for i = spaces(s[:bar], next, 0); i < bar && s[i] != '|'; i = spaces(s[:bar], i, 0) {
				if to := f.shellWord(id, i, bar); to > i {
					i = to
				} else {
					break
				}
			}
			return
		}
	}
	f.shellWord(id, i, bar)
}

// sudoCall looks for what a program writes to sudo.
func (f *finder) sudoCall(id ruleID, i int) {
	s := f.s
	stop := min(len(s), i+400)
	f.work += stop - i
	rest := s[i:stop]
	if n := strings.Index(rest, "-S"); n < 0 || n > 24 {
		return
	}
	for _, word := range [...]string{"input=", "input:", "stdin.write(", "stdin.end(", "communicate("} {
		n := strings.Index(rest, word)
		if n < 0 {
			continue
		}
		if from, to, _, ok := quotedAt(s, spaces(s, i+n+len(word), 0)); ok {
			v := strings.TrimSuffix(s[from:to], "\\n")
			v = strings.TrimRight(v, "\n")
			if typedSecret(v) {
				f.add(from, from+len(v), id)
			}
		}
	}
}
