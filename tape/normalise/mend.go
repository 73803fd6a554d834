// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package normalise

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Bounds of rules that are proposed for two values.
const (
	maxMended     = 4       // rules
	maxMendedText = 1 << 20 // bytes of both values
	maxWords      = 24      // bytes of the text before a value that a pattern names
)

// Mend returns the smallest rules that make two values equal, of a field of a tool (or of "", what belongs to
// no tool): a known form where the values differ, else a pattern behind the words that stand before it, else
// a member that does not count. It returns none where nothing smaller than the whole value would do.
func Mend(tool, field string, recorded, live exactjson.Value) []Rule {
	if len(recorded.JSON())+len(live.JSON()) > maxMendedText {
		return nil
	}
	m := mending{tool: tool, field: field}
	if !m.value("$", recorded, live) {
		return nil
	}
	rules, err := New(m.rules)
	if err != nil || !rules.Apply(tool, field, recorded).Equal(rules.Apply(tool, field, live)) {
		return nil
	}
	return m.rules
}

type mending struct {
	tool, field string
	rules       []Rule
}

// add adds a rule unless there are too many.
func (m *mending) add(r Rule) bool {
	r.Tool, r.In = m.tool, []string{m.field}
	if !slices.ContainsFunc(m.rules, func(known Rule) bool { return known.Path == r.Path && known.As == r.As && known.Pattern == r.Pattern }) {
		m.rules = append(m.rules, r)
	}
	return len(m.rules) <= maxMended
}

func (m *mending) value(path string, a, b exactjson.Value) bool {
	if a.Equal(b) {
		return true
	}
	if x, y := jsonpath.Decoded(a), jsonpath.Decoded(b); x.Kind() == y.Kind() && x.Kind() != a.Kind() {
		a, b = x, y
	}
	switch {
	case a.Kind() == exactjson.Object && b.Kind() == exactjson.Object:
		for _, of := range []exactjson.Value{a, b} {
			for _, member := range of.Members() {
				if !m.value(jsonpath.AppendMember(path, member.Name), a.Get(member.Name), b.Get(member.Name)) {
					return false
				}
			}
		}
		return true
	case a.Kind() == exactjson.Array && b.Kind() == exactjson.Array && a.Len() == b.Len():
		for i := range a.Len() {
			if !m.value(jsonpath.AppendElement(path, i), a.At(i), b.At(i)) {
				return false
			}
		}
		return true
	}
	for _, f := range forms {
		if f.name == "any" || f.name == "number" && a.Kind() != exactjson.Number {
			continue
		}
		if x, y := f.replace(a), f.replace(b); x.Equal(y) {
			return m.add(Rule{Path: path, Action: Normalise, As: f.name})
		}
	}
	if a.Kind() == exactjson.String && b.Kind() == exactjson.String && m.patterns(path, a.Str(), b.Str()) {
		return true
	}
	return path != "$" && m.add(Rule{Path: path, Action: Ignore})
}

// patterns proposes one for each line that differs.
func (m *mending) patterns(path, a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) {
		return false
	}
	before := len(m.rules)
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		pattern := linePattern(x[i], y[i])
		if pattern == "" || !m.add(Rule{Path: path, Action: Normalise, Pattern: pattern}) {
			m.rules = m.rules[:before]
			return false
		}
	}
	return true
}

// linePattern finds what differs in two lines by what stands before it; "" where nothing does.
func linePattern(a, b string) string {
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	to := 0
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	for from > 0 && a[from-1] != ' ' && a[from-1] != '\t' {
		from--
	}
	for to > 0 && a[len(a)-to] != ' ' && a[len(a)-to] != '\t' {
		to--
	}
	words := a[:from]
	if len(words) > maxWords {
		words = words[len(words)-maxWords:]
		words = words[strings.IndexByte(words, ' ')+1:]
	}
	words = strings.ToValidUTF8(words, "")
	if strings.TrimSpace(words) == "" {
		return ""
	}
	if strings.ContainsAny(a[from:len(a)-to], " \t") || strings.ContainsAny(b[from:len(b)-to], " \t") {
		return regexp.QuoteMeta(words) + ".*"
	}
	return regexp.QuoteMeta(words) + `\S+`
}

// YAML is a rule as a line of a rules file.
func (r *Rule) YAML() string {
	var b strings.Builder
	quote := func(s string) string { return string(exactjson.AppendString(nil, s)) }
	b.WriteString("- {")
	if r.Tool != "" {
		b.WriteString("tool: " + quote(r.Tool) + ", ")
	}
	b.WriteString("path: " + quote(r.Path) + ", action: " + string(r.Action))
	if r.As != "" {
		b.WriteString(", as: " + r.As)
	}
	if r.Pattern != "" {
		b.WriteString(", pattern: " + quote(r.Pattern))
	}
	if len(r.In) > 0 {
		b.WriteString(", in: [" + strings.Join(r.In, ", ") + "]")
	}
	return b.String() + "}"
}
