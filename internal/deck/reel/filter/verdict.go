// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// comparisons are those of a condition on verdicts, the longer ones first.
var comparisons = []string{"<=", ">=", "!=", "<>", "==", "<", ">", "="}

// Verdict reads a condition on verdicts: NAME for any result, or NAME, a comparison and a result. Beside
// = and != the result is a number. A run is taken that has such a verdict; of != one that has none with that
// result, and one of that name.
func Verdict(text string) (func(*reel.Meta) bool, error) {
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		at = len(text)
	}
	name, rest := strings.TrimSpace(text[:at]), text[at:]
	op := ""
	if i := slices.IndexFunc(comparisons, func(c string) bool { return strings.HasPrefix(rest, c) }); i >= 0 {
		op = comparisons[i]
	}
	want := strings.Trim(strings.TrimSpace(rest[len(op):]), `'"`)
	limit, err := strconv.ParseFloat(want, 64)
	isNumber := err == nil
	if name == "" || op == "" && rest != "" || op != "" && want == "" || strings.ContainsAny(op[:min(len(op), 1)], "<>") && op != "<>" && !isNumber {
		return nil, fmt.Errorf("%q: want NAME, NAME=RESULT or NAME<NUMBER; the comparisons are = != < <= > >=", text)
	}
	holds := func(result string) bool {
		if op == "" {
			return true
		}
		n, err := strconv.ParseFloat(result, 64)
		equal := result == want || isNumber && err == nil && n == limit
		switch op {
		case "<":
			return err == nil && n < limit
		case "<=":
			return err == nil && n <= limit
		case ">":
			return err == nil && n > limit
		case ">=":
			return err == nil && n >= limit
		}
		return equal
	}
	return func(m *reel.Meta) bool {
		named, found := false, false
		for _, v := range m.Verdicts {
			result, has := strings.CutPrefix(v, name+"=")
			named = named || has || v == name
			found = found || has && holds(result) || v == name && op == ""
		}
		if op == "!=" || op == "<>" {
			return named && !found
		}
		return found
	}, nil
}
