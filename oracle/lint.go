// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Flaw is something in an oracle file that keeps a call from being served or that somebody should know.
type Flaw struct {
	Code     string        `json:"code"`
	Severity tape.Severity `json:"severity"`
	Entry    int           `json:"entry"` // from 0
	Detail   string        `json:"detail"`
}

// FlawKind documents one code.
type FlawKind struct {
	Code     string
	Severity tape.Severity
	Meaning  string
}

// FlawKinds is the table of all codes that Lint reports; docs/oracle.md shows it.
var FlawKinds = []FlawKind{
	{"wrong_hash", tape.SeverityError, "`args_hash` is not the hash of `args`: the entry answers other calls than it shows"},
	{"malformed_hash", tape.SeverityError, "`args_hash` is not `sha256:`, `sha256-raw:` or nothing and 64 hexadecimal digits: the entry answers no call"},
	{"wrong_occurrence", tape.SeverityError, "`occurrence` does not count the equal calls of the caller"},
	{"wrong_format", tape.SeverityError, "`response_format` is `json`, and the response is not JSON in canonical form"},
	{"conflict", tape.SeverityError, "entries for the same occurrence have different answers: the call is `ambiguous`"},
	{"duplicate", tape.SeverityWarning, "an entry for the same occurrence with the same answer stands there already"},
	{"disputed", tape.SeverityWarning, "records contradict each other about arguments or response: served with a label, `other_responses` says what else was recorded"},
	{"truncated", tape.SeverityWarning, "arguments or response are cut: never served"},
	{"missing", tape.SeverityWarning, "arguments or response were not recorded: never served"},
	{"masked_args", tape.SeverityWarning, "arguments hold `[REDACTED]`: no key can tell what stood there, live values are `redacted_ambiguous`"},
	{"secret", tape.SeverityError, "arguments or response hold what looks like a secret"},
	{"ambiguous_key", tape.SeverityInfo, "equal calls of several callers have different answers: a client that does not send the caller gets `ambiguous`"},
	{"redacted_args", tape.SeverityInfo, "arguments hold tokens: live values are found with the redaction key only"},
	{"lossy", tape.SeverityInfo, "arguments or response may differ from what was sent; the answer is labelled"},
}

// Lint reports all flaws of the entries, by entry. Secrets names the rules that find a secret in a text. If it is nil, Lint looks for no
// secrets.
func Lint(entries []Entry, secrets func(text string) []string) []Flaw {
	l := linter{secrets: secrets, first: map[slotName]int{}, counts: map[call]int{}, seen: map[content]int{}, told: map[content]bool{}}
	for i := range entries {
		l.entry(entries, i)
	}
	return l.flaws
}

type slotName struct {
	call
	occurrence int
}

type linter struct {
	secrets func(string) []string
	flaws   []Flaw
	first   map[slotName]int // → entry
	counts  map[call]int
	seen    map[content]int // tool and hash → first entry
	told    map[content]bool
}

func (l *linter) add(entry int, code, format string, args ...any) {
	kind := slices.IndexFunc(FlawKinds, func(k FlawKind) bool { return k.Code == code })
	l.flaws = append(l.flaws, Flaw{code, FlawKinds[kind].Severity, entry, fmt.Sprintf(format, args...)})
}

func (l *linter) entry(entries []Entry, i int) {
	e := &entries[i]
	if _, ok := ReadHash(e.ArgsHash, ""); !ok && e.ArgsHash != "" {
		l.add(i, "malformed_hash", "%.100q", e.ArgsHash)
	} else if !e.Args.IsAbsent() && e.ArgsHash != "" && Hash(e.Args) != e.ArgsHash {
		l.add(i, "wrong_hash", "the arguments have %s", Hash(e.Args))
	}
	l.occurrence(entries, i)
	if e.ResponseFormat == tape.FormatJSON && e.ResponseFidelity.served() {
		if v, err := exactjson.Parse(e.Response); err != nil {
			l.add(i, "wrong_format", "the response is not JSON")
		} else if canonical, _ := tape.OracleResponse(v); v.Kind() != exactjson.String && canonical != e.Response {
			l.add(i, "wrong_format", "the response is not in canonical form")
		}
	}
	for _, part := range []struct {
		name     string
		fidelity Fidelity
	}{{"arguments", e.ArgsFidelity}, {"response", e.ResponseFidelity}} {
		switch part.fidelity {
		case Truncated, Missing, Lossy, Disputed:
			l.add(i, string(part.fidelity), "the %s", part.name)
		}
	}
	switch {
	case holdsMask(e.Args):
		l.add(i, "masked_args", "tool %q", e.ToolName)
	case holdsToken(e.Args, false):
		l.add(i, "redacted_args", "tool %q", e.ToolName)
	}
	if l.secrets != nil {
		for _, part := range []struct{ name, text string }{{"arguments", e.Args.JSON()}, {"response", e.Response}, {"error", e.ErrorMessage}} {
			for _, rule := range l.secrets(part.text) {
				l.add(i, "secret", "rule %s in the %s", rule, part.name)
			}
		}
	}
}

// occurrence checks how entries for equal calls relate.
func (l *linter) occurrence(entries []Entry, i int) {
	e := &entries[i]
	if e.ArgsHash == "" {
		return
	}
	if e.Occurrence > 0 {
		slot := slotName{callOf(e), e.Occurrence}
		if first, taken := l.first[slot]; taken {
			code := "duplicate"
			if !sameAnswer(e, &entries[first]) {
				code = "conflict"
			}
			l.add(i, code, "with entry %d", first)
			return
		}
		l.first[slot] = i
	}
	l.counts[callOf(e)]++
	if n := l.counts[callOf(e)]; e.Occurrence > 0 && e.Occurrence != n {
		l.add(i, "wrong_occurrence", "it is %d and should be %d", e.Occurrence, n)
	}
	key := content{e.ToolName, e.ArgsHash}
	first, seen := l.seen[key]
	switch {
	case !seen:
		l.seen[key] = i
	case !l.told[key] && entries[first].Caller != e.Caller && !sameAnswer(e, &entries[first]):
		l.told[key] = true
		l.add(i, "ambiguous_key", "with entry %d", first)
	}
}

// holdsMask reports whether a plain mask stands in the value.
func holdsMask(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		return strings.Contains(v.Text(), plainMask)
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		return strings.Contains(m.Name, plainMask) || holdsMask(m.Value)
	})
}
