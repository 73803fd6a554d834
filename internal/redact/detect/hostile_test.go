// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

var hostileBytes = flag.Int("redact.hostile", 16<<10, "size of the texts of TestNoTextIsLookedAtAgainAndAgain")

// masking replaces all that it finds by masks.
func masking(t testing.TB) *Detector {
	t.Helper()
	d, err := New(Options{Enabled: func(r Rule) bool { return r.Name != RuleAnywhere }, Replace: func(string, string, bool) string { return token.Mask }})
	require.NoError(t, err)
	return d
}

// hostileUnits returns what texts consist of that rules like to look at: the words of each rule, alone and with what may follow, a value that its pattern
// matches, and parts of it. They are made of the table of rules, so that a new rule is among them.
func hostileUnits() map[string]string {
	units := map[string]string{}
	for _, r := range builtin() {
		for _, word := range slices.Concat(r.keywords, r.heads) {
			units[r.Name+": "+word] = word
			units[r.Name+": "+word+" "] = word + " "
			units[r.Name+": "+word+` ="x`] = word + ` ="x `
		}
		if r.pattern == "" {
			continue
		}
		re, err := syntax.Parse(r.pattern, syntax.Perl)
		if err != nil {
			panic(err)
		}
		example := shortest(re)
		units[r.Name+": example"] = example
		units[r.Name+": examples"] = example + " "
		units[r.Name+": half"] = example[:len(example)/2]
		units[r.Name+": cut"] = example[:len(example)-1] + " "
	}
	for _, seek := range seekers() {
		for _, word := range seek.words {
			word = strings.ReplaceAll(word, "~", " ")
			for _, behind := range []string{"", " ", "x ", ` "x`, "\n", "1234 ", "(\"password"} {
				units[seek.rule+": "+word+behind] = word + behind
			}
		}
	}
	// Everything that is undone, at once: each in the view of another.
	units["all ways"] = `"a1B2c3D4e5F6" + "g7H8i9J0k1L2" \u0041bc %41bc e&#65;g ` + "\u200b\nx1aB3dE5gH7jK9x\nmN1pQ3aB3dE5g\n"
	for _, unit := range []string{
		"-----END PRIVATE KEY-----\n", "AAAAAAAA1AAAAAAAAAAAAAAAA\n", "\" + \"", "\"a1b2\" + \"c3d4\"", "4111\n", "4111_", "user  password\n", "| password\n", "<th>password</th>", "your code is 1234 ", "use 123456 to sign in ", "/reset/a1B2c3D4e5F6g7H8", "backup codes: 1234-5678\n",
		`{"element":"password","text":"x"}`, `"element":"password","x":`, `[["password"],["x"]]`, `{"columns":["password"],"rows":[["x"]]}`, `{"rows":[["x"]],"columns":["password"]}`, `["-----BEGIN PRIVATE KEY-----","AAAA1111BBBB2222CCCC3333"]`, `"AAAA1111BBBB2222CCCC3333",`,
		"password=", `secret="x\"`, "://a:b/", "a:b@", "a@b.co", "1234567 ", "7", `{"a":`, `[["`, `\\`, "%25", "%41", "%2541", "AAAA", "-----BEGIN ", "[REDACTED]", "[REDACTED:",
		"a:b:", "curl -u a ", "ssn nhs id number ", "\u043f\u0430\u0440\u043e\u043b\u044c", `{"delta":"a"}`, "&#65;", "\u200b", "password is ", "| password | ", "words a api key ",
		`"`, "kind: secret data: ", "password_", "key ", "--token ", "a.", "0x4a ", "41", "4111111111111111 ", "4111 ", "~", "Q~", "1aQ~", "1.1.", "a/", "a-", "@", "%", "+", "\x00",
		"\\u0041", "name: value ", "MFRGG", "1/1", "key: key: ", "password\n", "password: |\n", "'", "http://", "http://x:", "tel 12345678 ",
		"cookie: ", "cookie: a=b;", "password,", "password,\n", "password|", "| password |\n", "insert into t (password,", "insert into t (password) values ('a'),", "data: {}\n",
		`{\password\:\`, "password for a is ", "token: A = ", "credentials a/", "send \"",
	} {
		units[fmt.Sprintf("%q", unit)] = unit
	}
	delete(units, "")
	return units
}

// shortest returns a short text that a pattern matches, but for its boundaries.
func shortest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, c := range "aA1_- .b7" {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= c && c <= re.Rune[i+1] {
					return string(c)
				}
			}
		}
		return string(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(shortest(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(shortest(sub))
		}
		return b.String()
	}
	return ""
}

// The bytes that detectors and patterns are given stay below a multiple of those of the text, whatever it consists of.
func TestNoTextIsLookedAtAgainAndAgain(t *testing.T) {
	const most = 150 // bytes per byte: at each of its words a pattern looks as far as it can still match
	d := masking(t)
	d.work = &atomic.Int64{}
	type share struct {
		name string
		work float64
	}
	var all []share
	seen := map[string]bool{}
	units := hostileUnits()
	for i, name := range slices.Sorted(maps.Keys(units)) {
		unit := units[name]
		if unit == "" || seen[unit] || i%sample.Of(4, 1) != 0 {
			continue
		}
		seen[unit] = true
		text := strings.Repeat(unit, *hostileBytes/len(unit))
		d.work.Store(0)
		d.Walk(nil).Value("content", text)
		work := float64(d.work.Load()) / float64(len(text))
		all = append(all, share{name, work})
		if work > most {
			t.Errorf("%s: %.0f bytes were looked at for each of the text", name, work)
		}
	}
	slices.SortFunc(all, func(a, b share) int { return cmp.Compare(b.work, a.work) })
	for _, s := range all[:10] {
		t.Logf("%.0f bytes per byte: %s", s.work, s.name)
	}
}

// A value that stands before its name is searched again, and what was found elsewhere is not moved for it.
func TestWhatIsSearchedAgainMovesNothingElse(t *testing.T) {
	d := masking(t)
	d.work = &atomic.Int64{}
	for _, unit := range []string{
		`["AAAA1111BBBB2222CCCC3333","-----END PRIVATE KEY-----"]`, `{"value":"hunter22x","name":"password"}`, `{"text":"hunter22x","element":"password"}`, `{"rows":[["hunter22x"]],"columns":["password"]}`,
	} {
		text := "[" + strings.Repeat(unit+",", 4000) + unit + "]"
		d.work.Store(0)
		require.NotEqual(t, text, d.Walk(nil).Value("content", text))
		require.Less(t, d.work.Load(), int64(50*len(text)), unit)
	}
}

// BenchmarkHostileText searches texts of each unit, and reports the CPU seconds per megabyte of the worst and of the mean. -redact.hostile says how
// long they are.
func BenchmarkHostileText(b *testing.B) {
	d := masking(b)
	worst, sum, n, name := 0.0, 0.0, 0, ""
	for b.Loop() {
		seen := map[string]bool{}
		units := hostileUnits()
		for _, of := range slices.Sorted(maps.Keys(units)) {
			unit := units[of]
			if unit == "" || seen[unit] {
				continue
			}
			seen[unit] = true
			text := strings.Repeat(unit, *hostileBytes/len(unit))
			d.Walk(nil).Value("content", text[:min(len(text), 1024)]) // compiles the patterns
			began := cputime.Used()
			d.Walk(nil).Value("content", text)
			used := (cputime.Used() - began).Seconds() * float64(1<<20) / float64(len(text))
			sum += used
			n++
			if used > worst {
				worst, name = used, of
			}
			if used > 0.3 {
				b.Logf("%.2f s/MB: %s", used, of)
			}
		}
	}
	b.Logf("worst: %s", name)
	b.ReportMetric(worst, "worst-cpu-s/MB")
	b.ReportMetric(sum/float64(n), "mean-cpu-s/MB")
}
