// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// prompts says whether the name of a secret that stands at start ends a text that a program shows, and what
// follows is code: getpass('Password: '), read -p "Token: " PW. The text is a string literal that begins
// before the name, on the same line, and ends behind a colon.
func prompts(s string, start, end int) bool {
	i := behindPrompt(s, end)
	if i >= len(s) || s[i] != '"' && s[i] != '\'' && s[i] != '`' {
		return false
	}
	quote := s[i]
	open := start
	for open > 0 && start-open < 80 && s[open-1] != quote && strings.IndexByte("\n:=,", s[open-1]) < 0 {
		open--
	}
	if open == 0 || s[open-1] != quote {
		return false
	}
	// A literal begins behind a bracket, an operator or a blank, not behind a word.
	before := open - 2
	return before < 0 || !isWord(s[before]) || strings.IndexByte("fFbBrRuU", s[before]) >= 0 && (before == 0 || !isWord(s[before-1]))
}

// behindPrompt returns where the text goes on behind the colon, or another such mark, of a prompt whose
// name ends at end: Password for {user}: …. It returns the length of the text if there is no mark.
func behindPrompt(s string, end int) int {
	i := end
	if i < len(s) && s[i] == ' ' {
		for i < len(s) && i-end < 48 && (isAlnum(s[i]) || strings.IndexByte(" {}%()", s[i]) >= 0) {
			i++
		}
	}
	switch {
	case i < len(s) && strings.IndexByte(":?>", s[i]) >= 0:
		i++
	case strings.HasPrefix(s[i:], "\uff1a"):
		i += len("\uff1a")
	default:
		return len(s)
	}
	for i < len(s) && s[i] == ' ' && i-end < 56 {
		i++
	}
	return i
}
