// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// Class says how sure a rule is, and so where it applies.
type Class string

const (
	Known   Class = "known"   // the form of the value is that of a secret: applies everywhere
	Checked Class = "checked" // personal data with a check digit or a grammar
	Guess   Class = "guess"   // likely, but may be wrong: not on protocol ids
)

// Rule describes a rule, for documents and reports.
type Rule struct {
	Name        string
	Class       Class
	Section     string // "gitleaks", "vendor", "credentials", "pii", "user"
	Description string
}

// rule is a detector with a name. Rules with a pattern run at the places of their keywords; the others are code.
type rule struct {
	Rule
	keywords []string // lower case; one of them stands in every match
	heads    []string // lower case; values that begin with one are long runs of letters, digits and + / _ -
	pattern  string
	group    int     // of the pattern: what is replaced; 0 is the first group that matched, else the match
	entropy  float64 // bits per character that the value needs at least
	accept   func(value string) bool

	once     sync.Once
	re       *regexp.Regexp
	anchored bool // the match begins with the keyword
	boundary bool // no word character may stand before it
	gap      bool // any text of some length may stand between the keyword and what counts
}

// window is how far around a keyword a pattern that does not begin with it is searched.
const (
	windowBefore = 256
	windowAfter  = 4096
	// A pattern that begins with its keyword needs no more at first: what reaches the end of the window is matched again without it. Go's
	// fast matcher takes short texts only.
	windowAnchored = 1024
)

// Forms of gitleaks' patterns that are changed before they are compiled.
var (
	// A service name is looked for in its key: the keyword has found that.
	gitleaksKeyPrefixes = []string{`(?i)[\w.-]{0,50}?`, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?`}
	// A secret ends before a character that it cannot hold. The published form knows the ends of source code only, and misses a key
	// before a comma, a bracket or a closing quote of JSON inside JSON.
	gitleaksEnd = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	secretEnd   = `(?:[^\w+/=-]|$)`
)

// compile prepares the pattern on first use: most processes never see most services.
func (r *rule) compile() {
	pattern := strings.ReplaceAll(r.pattern, gitleaksEnd, secretEnd)
	for i, prefix := range gitleaksKeyPrefixes {
		if rest, ok := strings.CutPrefix(pattern, prefix); ok {
			pattern = []string{"(?i)", "(?i:"}[i] + rest
		}
	}
	if rest, ok := strings.CutPrefix(pattern, `\b`); ok {
		pattern, r.boundary = rest, true
	} else if rest, ok := strings.CutPrefix(pattern, `(?i)\b`); ok {
		pattern, r.boundary = "(?i)"+rest, true
	}
	if r.anchored = beginsWith(pattern, append(r.heads, r.keywords...)); r.anchored {
		pattern = `\A(?:` + pattern + `)`
	} else if r.boundary {
		pattern, r.boundary = `\b(?:`+pattern+`)`, false
	}
	r.gap = strings.Contains(pattern, "0}?")
	r.re = regexp.MustCompile(pattern) // the patterns are tested; those of users are compiled when they are read
}

// beginsWith says whether every match of the pattern begins with one of the keywords.
func beginsWith(pattern string, keywords []string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	heads := literalHeads(re, 64)
	if len(heads) == 0 {
		return false
	}
	for _, head := range heads {
		ok := false
		for _, k := range keywords {
			ok = ok || strings.HasPrefix(head, k)
		}
		if !ok {
			return false
		}
	}
	return true
}

// literalHeads returns the literal texts, in lower case, that matches can begin with; nil if they are not known.
func literalHeads(re *syntax.Regexp, limit int) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCharClass:
		var heads []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if heads = append(heads, strings.ToLower(string(c))); len(heads) > 4 {
					return nil
				}
			}
		}
		return heads
	case syntax.OpCapture:
		return literalHeads(re.Sub[0], limit)
	case syntax.OpAlternate:
		var heads []string
		for _, sub := range re.Sub {
			h := literalHeads(sub, limit)
			if h == nil || len(heads)+len(h) > limit {
				return nil
			}
			heads = append(heads, h...)
		}
		return heads
	case syntax.OpConcat:
		heads := []string{""}
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpEmptyMatch || sub.Op == syntax.OpWordBoundary {
				continue
			}
			h := literalHeads(sub, limit)
			if h == nil {
				break
			}
			var next []string
			for _, a := range heads {
				for _, b := range h {
					next = append(next, a+b)
				}
			}
			if len(next) > limit {
				break
			}
			heads = next
			if sub.Op != syntax.OpLiteral && sub.Op != syntax.OpCharClass && !fixed(sub) {
				break
			}
		}
		if len(heads) == 1 && heads[0] == "" {
			return nil
		}
		return heads
	}
	return nil
}

// fixed says whether the expression is literals only, so that what follows it continues a head.
func fixed(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpEmptyMatch:
		return true
	case syntax.OpCapture, syntax.OpAlternate, syntax.OpConcat:
		for _, sub := range re.Sub {
			if !fixed(sub) {
				return false
			}
		}
		return true
	}
	return false
}

// find reports what the rule finds around the keyword at s[at:], and returns the end of what its pattern matched: a keyword in that has been
// looked at.
func (r *rule) find(s string, at int, add func(start, end int)) (matched int) {
	r.once.Do(r.compile)
	if r.anchored {
		if r.boundary && at > 0 && isWord(s[at-1]) {
			return 0
		}
		return r.report(s, at, min(len(s), at+windowAnchored), add)
	}
	return r.report(s, max(0, at-windowBefore), min(len(s), at+windowAfter), add)
}

func (r *rule) report(s string, from, to int, add func(start, end int)) (matched int) {
	for from < to {
		m := r.re.FindStringSubmatchIndex(s[from:to])
		if m == nil {
			return matched
		}
		if m[1] == to-from && to < len(s) { // it goes on behind the window
			to = len(s)
			continue
		}
		matched = from + m[1]
		start, end := m[0], m[1]
		if r.group > 0 {
			start, end = m[2*r.group], m[2*r.group+1]
		} else {
			for g := 2; g < len(m); g += 2 {
				if m[g] >= 0 {
					start, end = m[g], m[g+1]
					break
				}
			}
		}
		if value := s[from+start : from+end]; value != "" && (r.entropy == 0 || entropy(value) >= r.entropy) && (r.accept == nil || r.accept(value)) {
			add(from+start, from+end)
		}
		if r.anchored {
			return matched
		}
		from += max(m[1], 1)
	}
	return matched
}

func isWord(c byte) bool { return isAlnum(c) && c < 0x80 || c == '_' }

// entropy is Shannon's, in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
