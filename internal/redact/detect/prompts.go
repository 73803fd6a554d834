// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// prompts says whether the name of a secret that stands at start ends a text that a program shows, and what
// follows is code: getpass('Password: '), read -p "Token: " PW. The text is a string literal that begins
// before the name, on the same line, and ends behind a colon.
func prompts(s string, start, end int) bool {
	i := end
	for i < len(s) && i-end < 48 && (isAlnum(s[i]) || s[i] == ' ' || strings.IndexByte("{}%()", s[i]) >= 0) && s[end] == ' ' { // Password for {user}:
		i++
	}
	if i >= len(s) || s[i] != ':' && s[i] != '?' && s[i] != '>' {
		if !strings.HasPrefix(s[i:], "\uff1a") {
			return false
		}
		i += len("\uff1a") - 1
	}
	for i++; i < len(s) && s[i] == ' ' && i-end < 56; i++ {
	}
	if i >= len(s) || s[i] != '"' && s[i] != '\'' && s[i] != '`' {
		return false
	}
	quote := s[i]
	open := start
	for open > 0 && start-open < 80 && s[open-1] != quote && s[open-1] != '\n' && s[open-1] != ':' && s[open-1] != '=' && s[open-1] != ',' {
		open--
	}
	if open == 0 || s[open-1] != quote {
		return false
	}
	// A literal begins behind a bracket, an operator or a blank, not behind a word.
	before := open - 2
	return before < 0 || !isWord(s[before]) || strings.IndexByte("fFbBrRuU", s[before]) >= 0 && (before == 0 || !isWord(s[before-1]))
}
