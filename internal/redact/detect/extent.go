// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// assigned is how a value stands behind its name.
type assigned struct {
	flag, element, query bool
	// verb: by a verb (the password is …). bare: by nothing but a space (use token …).
	quoted, spaced, verb, bare bool
	// equals: by an equals sign. tuple: its name is the first element of a tuple: {password, "…"}.
	equals, tuple bool
	// call: as the next argument of a call. under: on the line below, or in the next cell of a table. cell: its name stands in a table.
	call, under, cell bool
	stops             *[3]stopAt // what is known of the text: spaced, in a query, neither
}

// value returns the range of the value that is assigned to the name that ends at i.
func (a *assigned) value(s string, i int) (from, to int, ok bool) {
	called := a.call
	a.call = false
	if i+1 < len(s) && s[i] == '[' { // char password[25] = "…"
		at := i + 1
		for at < len(s) && isDigit(s[at]) && at-i < 6 {
			at++
		}
		if at < len(s) && s[at] == ']' {
			i = at
		}
	}
	// The end of a quoted or indexed name: " ' ` ] ) with backslashes before them, * of Markdown.
	quote := i
	for n := 0; n < 6 && i < len(s) && strings.IndexByte("\"'`])\\*", s[i]) >= 0; n++ {
		i++
	}
	if at := settingBelow(s, quote); at > 0 {
		return a.extent(s, spaces(s, at, 0))
	}
	blank := i
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') && i-blank < 24 {
		i++
	}
	a.spaced = i > blank
	if a.spaced && i < len(s) {
		i = remark(s, i)
	}
	verb := 0
	if a.spaced && i < len(s) {
		verb = linkVerb(s[i:])
	} else if strings.HasPrefix(s[quote:], "'s ") { // the password's …
		i, verb = quote, len("'s ")
	}
	switch {
	case i >= len(s):
		return 0, 0, false
	case s[i] == '(' && i == quote && quoteAt(s, i+1) > 0: // .password("…")
		i++
		a.call = true
		from, to, ok = a.extent(s, i)
		if next := to + 1; ok && to-from <= 64 && next < len(s) && s[next] == ',' { // changeUserPassword("ada", "…")
			for next++; next < len(s) && s[next] == ' '; next++ {
			}
			if quoteAt(s, next) > 0 && !strong(s[from:to]) {
				return a.extent(s, next)
			}
		}
		return from, to, ok
	case strings.HasPrefix(s[i:], "=>"), strings.HasPrefix(s[i:], ":="), strings.HasPrefix(s[i:], "?="), strings.HasPrefix(s[i:], "||"), strings.HasPrefix(s[i:], "=="), strings.HasPrefix(s[i:], "::"):
		i += 2
	case s[i] == ',' && a.tuple:
		i++
		a.call = true
	case s[i] == '(' && a.spaced:
		to = strings.IndexByte(s[i:min(len(s), i+256)], ')')
		a.call = true
		return i + 1, i + to, to > 0
	case arrow(s, i) > 0:
		i += arrow(s, i)
		a.spaced = true
	case s[i] == '=', s[i] == ':':
		a.equals = s[i] == '='
		i++
		if n := typed(s, i); s[i-1] == ':' && n > 0 {
			i = n
		}
	case strings.HasPrefix(s[i:], "\uff1a"):
		i += len("\uff1a")
	case s[i] == '>' && a.element && strings.HasPrefix(s[i:], "><") && !strings.HasPrefix(s[i:], "><!") && betweenTags(s, i) > 0: // <AdministratorPassword><Value>…
		i = betweenTags(s, i)
		to = strings.IndexByte(s[i:min(len(s), i+1024)], '<')
		a.under = true
		return i, i + to, to > 0
	case s[i] == '>' && a.element:
		i++
	case a.cell && s[i] == '|':
		i++
		a.under = true
	case called && i > quote && s[i] == ',':
		i++
		a.call = true
	case a.spaced && a.flag && s[i] != '-':
		// --password value
	case a.spaced && (strings.HasPrefix(s[i:], "value=") || strings.HasPrefix(s[i:], "Value=")):
		i += len("value=") // <add key="Password" value="…"/>
	case verb > 0:
		i += verb
		a.verb = true
	case a.element && a.spaced:
		end := strings.IndexByte(s[i:min(len(s), i+128)], '>') // <password type="x">
		if end < 0 {
			return 0, 0, false
		}
		i += end + 1
	case a.spaced && (s[i] == '"' || s[i] == '\'' || longWord(s[i:]) || strong(firstWord(s[i:]))):
		a.bare = true
	case a.spaced && blank == quote && declared(s, i) > 0:
		i = declared(s, i)
	case betweenTags(s, i) > 0:
		i = betweenTags(s, i)
		to = strings.IndexByte(s[i:min(len(s), i+1024)], '<')
		a.under = true
		return i, i + to, to > 0
	default:
		// - name: DB_PASSWORD
		//   value: …
		n := valueMember(s[quote:])
		if n == 0 {
			return 0, 0, false
		}
		i = quote + n
	}
	if strings.HasPrefix(s[i:], "=") {
		i++
	}
	for n := 0; n < 2 && i < len(s) && s[i] == '*'; n++ { // **Password:** …
		i++
	}
	blank = i
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') && i-blank < 24 {
		i++
	}
	a.spaced = a.spaced || i > blank
	if i >= len(s) {
		return 0, 0, false
	}
	if slashQuoted(s, quote) && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"'`", s[i+1]) < 0 {
		a.quoted = true
		for to = i + 1; to < min(len(s), i+maxValue) && s[to] != '\\'; to++ {
		}
		return i + 1, to, to > i+1
	}
	if next := below(s, heredoc(s, i)); next > i && s[next-1] <= ' ' {
		i = next
		a.under = true
	}
	if i = yamlMark(s, contained(s, i)); s[i] == '[' && strings.IndexByte(firstWord(s[i:]), ']') > 8 { // password=[…]
		to = i + strings.IndexByte(s[i:], ']')
		return i + 1, to, strong(s[i+1 : to])
	}
	at := i
	if s[at] == '\n' { // ["password"]=>⏎  string(12) "…"
		for at < len(s) && s[at] <= ' ' && at-i < 24 {
			at++
		}
	}
	if at = wrapped(s, at); at > 0 {
		i = at
		a.call = true
	}
	return a.extent(s, i)
}

// maxValue bounds a value without quotes: that is larger than any credential, and each name in a text costs at most so much.
const maxValue = 16 << 10

// extent returns the range of the value that begins at i, without its quotes.
func (a *assigned) extent(s string, i int) (from, to int, ok bool) {
	if a.element && strings.HasPrefix(s[i:], "<![CDATA[") {
		i += len("<![CDATA[")
		to = strings.Index(s[i:min(len(s), i+maxValue)], "]]>")
		return i, i + to, to > 0
	}
	if a.element && !a.bare && i > 0 && s[i-1] == '>' {
		to = strings.IndexByte(s[i:], '<')
		if to < 0 {
			return 0, 0, false
		}
		return i, i + to, to > 0 && strings.HasPrefix(s[i+to:], "</")
	}
	if i+1 < len(s) && (s[i+1] == '\'' || s[i+1] == '"') && strings.IndexByte("NnbBrRuUfFLl@", s[i]) >= 0 { // N'…', b"…", @"…"
		i++
	}
	slashes := 0
	for i+slashes < len(s) && s[i+slashes] == '\\' {
		slashes++
	}
	if q := i + slashes; q < len(s) && (s[q] == '"' || s[q] == '\'' || s[q] == '`') {
		a.quoted = true
		quote := s[i : q+1]
		if triple := strings.Repeat(s[q:q+1], 3); slashes == 0 && strings.HasPrefix(s[q:], triple) {
			to = strings.Index(s[q+3:min(len(s), q+3+maxValue)], triple)
			return q + 3, q + 3 + to, to > 0
		}
		from = q + 1
		for to = from; to < min(len(s), from+4*maxValue); to++ {
			if s[to] == '\n' && slashes == 0 && quote != "`" {
				break
			}
			if s[to] == '\\' && slashes == 0 {
				to++ // an escape of this level
				continue
			}
			if strings.HasPrefix(s[to:], quote) && (slashes == 0 || s[to-1] != '\\') {
				return from, to, to > from
			}
		}
		return from, min(to, len(s)), true // cut, here or by its sender
	}
	stops := &endsValue
	if a.query {
		stops = &endsQuery
	}
	if groups := letterGroups(s[i:]); groups > 0 && !a.query {
		return i, i + groups, true
	}
	limit := min(len(s), i+maxValue)
	to = a.stop(s, i, limit)
	if at := otherwise(s, to); at > 0 && !a.query {
		a.call = true
		return a.extent(s, at)
	}
	// A scheme goes on behind its space.
	if word := s[i:to]; to < len(s) && s[to] == ' ' && authScheme(word+" x", 0, len(word)+2) > 0 {
		to++
		for to < len(s) && !stops[s[to]] {
			to++
		}
	}
	if strings.HasPrefix(s[to:], " / ") && to-i < 64 && a.spaced { // admin / password
		i = to + len(" / ")
		for to = i; to < limit && !stops[s[to]]; to++ {
		}
	}
	for to > i && strings.IndexByte(".!?:", s[to-1]) >= 0 && to-i > 1 && s[to-1] != '=' && a.spaced {
		to--
	}
	return i, to, to > i
}

// stop returns where the next character stands that ends a value, limit at most.
func (a *assigned) stop(s string, i, limit int) int {
	switch {
	case a.query:
		return a.stops[1].next(s, i, limit, &endsQuery)
	case !a.spaced:
		return a.stops[2].next(s, i, limit, &endsAny)
	}
	return a.stops[0].next(s, i, limit, &endsValue)
}

// What ends a value without quotes: behind a space, in the query of a URL, anywhere else.
var endsValue, endsQuery, endsAny = classWith(" \t\r\n\"'<>`,;)}]|\\"), classWith(" \t\r\n\"'<>`&#|\\"), classWith(" \t\r\n\"'<>`,;)}]|\\&")

// stopAt is where the next character of a class stands, or how far there is none.
type stopAt struct{ from, at int }

// next returns where the next character of a class stands from i on, limit at most. It is looked for once for all places before it.
func (known *stopAt) next(s string, i, limit int, of *class) int {
	if i < known.from || i > known.at {
		*known = stopAt{i, i}
	}
	for known.at < limit && !of[s[known.at]] {
		known.at++
	}
	return min(known.at, limit)
}

// begunAt is where the last character of a class stands before a place, or how far back there is none.
type begunAt struct{ from, at int }

// last returns where the text begins that goes on to at without a character of a class, and so many bytes before it at most. No byte is looked at twice for
// places that come one behind the other.
func (known *begunAt) last(s string, at, most int, of *class) int {
	i := at
	for i > 0 && at-i < most && !of[s[i-1]] {
		if i--; i == known.at {
			i = max(known.from, at-most)
			break
		}
	}
	*known = begunAt{i, at}
	return i
}
