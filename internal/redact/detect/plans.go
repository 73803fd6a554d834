// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Plans and states of Terraform and its like: the value that takes the place of another ("old" -> "new"), the
// result of a random password, the value of a setting whose name stands on the line before. What a plan hides
// or does not know yet is left alone.

var planSecret = seeker{rule: "plan-secret", class: Known, text: "secrets in plans and states of Terraform", words: []string{"random_password", "securestring", "set_sensitive", "random_string", "\"sensitive\":~true", "\"sensitive\":true"}, find: (*finder).planSecret}

// planSecret looks at a resource that is a secret: its result, or its value.
func (f *finder) planSecret(id ruleID, at, end int) {
	s := f.s
	if at < f.planned {
		return
	}
	stop := min(len(s), end+700)
	f.planned = stop
	f.work += stop - end
	names := []string{"value"}
	if strings.HasPrefix(strings.ToLower(s[at:end]), "random_") {
		names = []string{"result"}
	}
	for _, name := range names {
		for from := end; from < stop; {
			i := strings.Index(s[from:stop], name)
			if i < 0 {
				break
			}
			from += i + len(name)
			if before := from - len(name) - 1; before >= 0 && isWord(s[before]) {
				continue
			}
			j := from
			for j < len(s) && j-from < 32 && (s[j] == ' ' || s[j] == '=' || s[j] == ':' || s[j] == '"' && j == from) {
				j++
			}
			if j == from {
				continue
			}
			if lo, hi, next, ok := quotedAt(s, j); ok && typedSecret(s[lo:hi]) {
				f.add(lo, hi, id)
				f.replacedBy(id, next)
				return
			}
		}
	}
}

// replacedBy looks at the value that takes the place of one that ends at i: "old" -> "new".
func (f *finder) replacedBy(id ruleID, i int) {
	s := f.s
	at := spaces(s, i, 0)
	if at+2 >= len(s) || s[at:at+2] != "->" && s[at:at+2] != "=>" {
		return
	}
	if lo, hi, _, ok := quotedAt(s, spaces(s, at+2, 0)); ok && typedSecret(s[lo:hi]) {
		f.add(lo, hi, id)
	}
}

// listed looks at the other literals of a list whose first one, with its quote at i, is secret by the name
// before the list: "passwords": ["…", "…"]. next is behind it.
func (f *finder) listed(id ruleID, i, next int) {
	s := f.s
	for i > 0 && s[i-1] <= ' ' {
		i--
	}
	if i == 0 || s[i-1] != '[' {
		return
	}
	for range 32 {
		at := spaces(s, next, 1)
		if at >= len(s) || s[at] != ',' {
			return
		}
		lo, hi, behind, ok := quotedAt(s, spaces(s, at+1, 1))
		if !ok || !typedSecret(s[lo:hi]) {
			return
		}
		f.work += behind - next
		f.add(lo, hi, id)
		next = behind
	}
}

// settingBelow returns where the value begins of a setting whose name ends at i, as plans write it: name =
// "db.password"⏎ value = "…".
func settingBelow(s string, i int) int {
	if strings.HasPrefix(s[i:], ",ParameterValue=") {
		return i + len(",ParameterValue=")
	}
	if i >= len(s) || s[i] != '"' {
		return 0
	}
	i++
	if strings.HasPrefix(s[i:], ",\"ParameterValue\":") {
		return i + len(",\"ParameterValue\":")
	}
	if i = spaces(s, i, 1); i < len(s) && strings.IndexByte("+~-,", s[i]) >= 0 {
		i = spaces(s, i+1, 1)
	}
	for _, name := range [...]string{"value", "\"value\"", "ParameterValue", "\"ParameterValue\""} {
		if strings.HasPrefix(s[i:], name) {
			if at := spaces(s, i+len(name), 0); at < len(s) && (s[at] == '=' || s[at] == ':') {
				return at + 1
			}
		}
	}
	return 0
}
