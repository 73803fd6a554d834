// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package where reads conditions on the runs of a deck that look like those of SQL, over the narrow columns of a reel:
//
//	status = 'error' AND (tools = 'http_request' OR output_tokens > 5000) AND NOT agent LIKE 'test-%'
//
// A comparison with a column that has no value is neither true nor false, as in SQL; a run is taken if the whole is true. A column that is a list has a value if one
// of its values does: tools = 'x' is "x is among the tools", and tools <> 'x' is its negation.
package where

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// Bounds of a condition.
const (
	maxText  = 16 << 10
	maxDepth = 64
)

// Condition chooses among runs.
type Condition struct {
	root    node
	columns []string
}

// Columns are those that the condition names, each once.
func (c *Condition) Columns() []string { return c.columns }

// Match tells whether a run is taken.
func (c *Condition) Match(m *reel.Meta) bool { return c.root.eval(m) == yes }

// Equal are comparisons of columns of texts with a text that every run has that is taken. Reels are searched by them first.
func (c *Condition) Equal() (list []reel.Equal) {
	var walk func(n node)
	walk = func(n node) {
		switch n := n.(type) {
		case *both:
			walk(n.a)
			walk(n.b)
		case *compare:
			if text, ok := n.value.(string); ok && n.op == "=" && text != "" && reel.IsText(n.column) {
				list = append(list, reel.Equal{Column: n.column, Value: text})
			}
		}
	}
	walk(c.root)
	return list
}

// truth is that of SQL.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

type node interface{ eval(m *reel.Meta) truth }

type both struct{ a, b node }

func (n *both) eval(m *reel.Meta) truth {
	a := n.a.eval(m)
	if a == no {
		return no
	}
	return min(a, n.b.eval(m))
}

type either struct{ a, b node }

func (n *either) eval(m *reel.Meta) truth {
	a := n.a.eval(m)
	if a == yes {
		return yes
	}
	return max(a, n.b.eval(m))
}

type not struct{ a node }

func (n *not) eval(m *reel.Meta) truth { return yes - n.a.eval(m) }

// missing is IS NULL.
type missing struct{ column string }

func (n *missing) eval(m *reel.Meta) truth {
	v, _ := m.Value(n.column)
	return truthOf(v == nil)
}

// compare compares a column with a value.
type compare struct {
	column, op string
	value      any // string, float64, bool or time.Time, or []any for in
}

func (n *compare) eval(m *reel.Meta) truth {
	v, _ := m.Value(n.column)
	switch v := v.(type) {
	case nil:
		return unknown
	case []string:
		if n.op == "<>" {
			return truthOf(!slices.ContainsFunc(v, func(s string) bool { return holds("=", s, n.value) }))
		}
		return truthOf(slices.ContainsFunc(v, func(s string) bool { return holds(n.op, s, n.value) }))
	}
	return truthOf(holds(n.op, v, n.value))
}

// holds compares two values of one type.
func holds(op string, have, want any) bool {
	switch op {
	case "in":
		return slices.ContainsFunc(want.([]any), func(w any) bool { return holds("=", have, w) })
	case "like":
		return like(have.(string), want.(string))
	}
	order := 0
	switch a := have.(type) {
	case string:
		order = strings.Compare(a, want.(string))
	case int64:
		order = compareNumbers(float64(a), want.(float64))
	case float64:
		order = compareNumbers(a, want.(float64))
	case time.Time:
		order = a.Compare(want.(time.Time))
	case bool:
		if a != want.(bool) {
			order = 1
		}
	}
	switch op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func compareNumbers(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// like matches a pattern: % is any text, _ any character. It does not backtrack further than the last %.
func like(s, pattern string) bool {
	text, p := []rune(s), []rune(pattern)
	i, j, star, mark := 0, 0, -1, 0
	for i < len(text) {
		switch {
		case j < len(p) && p[j] == '%':
			star, mark = j, i
			j++
		case j < len(p) && (p[j] == '_' || p[j] == text[i]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '%' {
		j++
	}
	return j == len(p)
}

// Parse reads a condition. when reads a time as it stands in a condition.
func Parse(text string, when func(string) (time.Time, error)) (_ *Condition, err error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("a condition of %d characters; at most %d are read", len(text), maxText)
	}
	p := &parser{text: text, when: when}
	defer func() {
		if r := recover(); r != nil {
			stop, ok := r.(*mistake)
			if !ok {
				panic(r)
			}
			err = stop
		}
	}()
	p.next()
	root := p.or(0)
	if p.kind != end {
		p.fail("AND, OR or the end")
	}
	return &Condition{root, p.columns}, nil
}

// mistake is an error at a place.
type mistake struct{ text string }

func (m *mistake) Error() string { return m.text }

type kind int

const (
	end kind = iota
	word
	quoted
	number
	symbol
)

type parser struct {
	text    string
	when    func(string) (time.Time, error)
	at      int    // behind the token
	from    int    // where the token begins
	kind    kind   // of the token
	token   string // as it stands; of a quoted one its content
	columns []string
}

func (p *parser) fail(want string) {
	have := "the end"
	if p.kind != end {
		have = strconv.Quote(p.text[p.from:p.at])
	}
	p.failf("want %s, not %s", want, have)
}

func (p *parser) failf(format string, args ...any) {
	panic(&mistake{fmt.Sprintf("at character %d: ", p.from+1) + fmt.Sprintf(format, args...)})
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// next reads a token.
func (p *parser) next() {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
	p.from, p.token = p.at, ""
	if p.at == len(p.text) {
		p.kind = end
		return
	}
	rest := p.text[p.at:]
	take := func(k kind, n int) { p.kind, p.token, p.at = k, rest[:n], p.at+n }
	scan := func(n int, ok func(c byte) bool) int {
		for n < len(rest) && ok(rest[n]) {
			n++
		}
		return n
	}
	switch c := rest[0]; {
	case c == '\'':
		p.kind = quoted
		for p.at++; ; p.at++ {
			switch {
			case p.at >= len(p.text):
				p.at = len(p.text)
				p.failf("a text that begins here has no end; texts stand in single quotes, and a quote in one is doubled")
			case p.text[p.at] != '\'':
				p.token += p.text[p.at : p.at+1]
				continue
			case strings.HasPrefix(p.text[p.at:], "''"):
				p.token += "'"
				p.at++
				continue
			}
			p.at++
			return
		}
	case c >= '0' && c <= '9' || (c == '-' || c == '.' || c == '+') && len(rest) > 1 && (rest[1] >= '0' && rest[1] <= '9' || rest[1] == '.'):
		last := c
		take(number, scan(1, func(c byte) bool {
			ok := isWord(c) || c == '.' || (c == '-' || c == '+') && (last == 'e' || last == 'E')
			last = c
			return ok
		}))
	case isWord(c):
		take(word, scan(1, isWord))
	case strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, ">=") || strings.HasPrefix(rest, "<>") || strings.HasPrefix(rest, "!=") || strings.HasPrefix(rest, "=="):
		take(symbol, 2)
	case strings.IndexByte("=<>(),", c) >= 0:
		take(symbol, 1)
	case c == '"':
		p.at++
		p.failf("texts stand in single quotes, and names of columns without any")
	default:
		p.at++
		p.failf("%q means nothing here", rest[:1])
	}
}

func (p *parser) is(keyword string) bool {
	return p.kind == word && strings.EqualFold(p.token, keyword)
}

func (p *parser) skip(keyword string) bool {
	if !p.is(keyword) {
		return false
	}
	p.next()
	return true
}

func (p *parser) symbol(s string) bool {
	if p.kind != symbol || p.token != s {
		return false
	}
	p.next()
	return true
}

func (p *parser) or(depth int) node {
	n := p.and(depth)
	for p.skip("OR") {
		n = &either{n, p.and(depth)}
	}
	return n
}

func (p *parser) and(depth int) node {
	n := p.unary(depth)
	for p.skip("AND") {
		n = &both{n, p.unary(depth)}
	}
	return n
}

func (p *parser) unary(depth int) node {
	if depth > maxDepth {
		p.failf("more than %d parentheses or NOTs in one another", maxDepth)
	}
	if p.skip("NOT") {
		return &not{p.unary(depth + 1)}
	}
	if p.symbol("(") {
		n := p.or(depth + 1)
		if !p.symbol(")") {
			p.fail(`")"`)
		}
		return n
	}
	return p.predicate()
}

// negate wraps what NOT stands before.
func negate(n node, negative bool) node {
	if negative {
		return &not{n}
	}
	return n
}

func (p *parser) predicate() node {
	if p.kind != word {
		p.fail("a column, NOT or a parenthesis")
	}
	column := strings.ToLower(p.token)
	sample := sampleOf(column)
	if sample == nil {
		p.failf("there is no column %q; there are %s", p.token, strings.Join(reel.Columns(), ", "))
	}
	if !slices.Contains(p.columns, column) {
		p.columns = append(p.columns, column)
	}
	p.next()
	if p.skip("IS") {
		negative := p.skip("NOT")
		if !p.skip("NULL") {
			p.fail("NULL")
		}
		return negate(&missing{column}, negative)
	}
	negative := p.skip("NOT")
	switch {
	case p.skip("IN"):
		if !p.symbol("(") {
			p.fail(`"(" and values`)
		}
		var values []any
		for {
			values = append(values, p.value(column, sample))
			if p.symbol(")") {
				return negate(&compare{column, "in", values}, negative)
			}
			if !p.symbol(",") {
				p.fail(`"," or ")"`)
			}
		}
	case p.skip("LIKE"):
		if _, text := sample.(string); !text {
			p.failf("LIKE is for texts, and %s is none", column)
		}
		return negate(&compare{column, "like", p.value(column, sample)}, negative)
	case p.skip("BETWEEN"):
		low := p.value(column, sample)
		if !p.skip("AND") {
			p.fail("AND")
		}
		return negate(&both{&compare{column, ">=", low}, &compare{column, "<=", p.value(column, sample)}}, negative)
	case negative:
		p.fail("IN, LIKE or BETWEEN")
	}
	_, truthful := sample.(bool)
	if p.kind != symbol || strings.Contains("(),", p.token) {
		if truthful {
			return &compare{column, "=", true} // the column by itself
		}
		p.fail("=, <>, <, <=, >, >=, IN, LIKE, BETWEEN or IS")
	}
	op := map[string]string{"!=": "<>", "==": "="}[p.token]
	if op == "" {
		op = p.token
	}
	if truthful && op != "=" && op != "<>" {
		p.failf("%s is true or false, and cannot be compared by %s", column, p.token)
	}
	p.next()
	return &compare{column, op, p.value(column, sample)}
}

// value reads a value of the type of a column.
func (p *parser) value(column string, sample any) (v any) {
	if p.is("NULL") {
		p.failf("nothing equals NULL; say %s IS NULL", column)
	}
	switch sample.(type) {
	case string:
		if p.kind != quoted {
			p.fail("a text in single quotes")
		}
		v = p.token
	case float64:
		x, err := strconv.ParseFloat(p.token, 64)
		if p.kind != number || err != nil || x != x {
			p.fail("a number")
		}
		v = x
	case bool:
		if !p.is("TRUE") && !p.is("FALSE") {
			p.fail("TRUE or FALSE")
		}
		v = p.is("TRUE")
	default:
		if p.kind != quoted {
			p.fail("a time in single quotes")
		}
		at, err := p.when(p.token)
		if err != nil {
			p.failf("%v", err)
		}
		v = at
	}
	p.next()
	return v
}

// sampleOf is a value of the type that a column is compared with: "", 0.0, false or a time; nil if there is no such column.
func sampleOf(column string) any {
	kind, ok := reel.KindOf(column)
	switch {
	case !ok:
		return nil
	case strings.HasSuffix(column, "_at"):
		return time.Time{}
	case kind == reflect.String:
		return ""
	case kind == reflect.Bool:
		return false
	}
	return 0.0
}
