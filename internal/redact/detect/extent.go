// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// assigned is how a value stands behind its name.
type assigned struct {
	// flag: the name is that of an option. element: of an XML element. query: of a parameter in the query
	// of a URL.
	flag, element, query bool
	// closed: a quote or a bracket closes the name. spaced: a blank stands between the name and the value.
	closed, spaced bool
	// verb: a verb links the value to the name (the password is …). bare: nothing but a blank does (use
	// token …).
	verb, bare bool
	// quoted: the value stands in quotes. equals: an equals sign assigns it.
	quoted, equals bool
	// tuple: the name is the first element of a tuple: {password, "…"}. cell: the name stands in a table.
	tuple, cell bool
	// call: the value is the next argument of a call. under: it stands on the next line or in the next cell.
	call, under bool
	stops       *[3]stopAt // what is known of the text: spaced, in a query, neither
}

// find returns the range of the value that is assigned to the name that ends at i.
func (a *assigned) find(s string, i int) (from, to int, ok bool) {
	called := a.call
	a.call = false
	name := behindIndex(s, i)
	i = behindClosing(s, name)
	a.closed = i > name
	if at := settingBelow(s, name); at > 0 {
		return a.extent(s, spaces(s, at, 0))
	}
	i, verb := a.behindBlanks(s, i, name)
	if i >= len(s) {
		return 0, 0, false
	}
	if from, to, ok, known := a.enclosed(s, i, name); known {
		return from, to, ok
	}
	at := a.sign(s, i, called && i > name)
	if at == nowhere {
		at = a.word(s, i, verb)
	}
	if at == nowhere {
		if in := betweenTags(s, i); in > 0 {
			return a.untilTag(s, in)
		}
		at = behindMember(s, name)
	}
	if at <= 0 {
		return 0, 0, false
	}
	return a.operand(s, at, name)
}

// Where no value begins: behind no operator of the kind that was looked for, behind an operator that is cut.
const (
	nowhere = 0
	cutOff  = -1
)

// behindIndex returns where the name ends behind its length: char password[25] = "…".
func behindIndex(s string, i int) int {
	if i+1 >= len(s) || s[i] != '[' {
		return i
	}
	at := i + 1
	for at < len(s) && isDigit(s[at]) && at-i < 6 {
		at++
	}
	if at < len(s) && s[at] == ']' {
		return at
	}
	return i
}

// behindClosing returns where the text goes on behind what closes a name: " ' ` ] ) with backslashes before
// them, or the * of Markdown.
func behindClosing(s string, i int) int {
	for n := 0; n < 6 && i < len(s) && strings.IndexByte("\"'`])\\*", s[i]) >= 0; n++ {
		i++
	}
	return i
}

// blanks returns where the text goes on behind at most 24 blanks.
func blanks(s string, i int) int {
	from := i
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') && i-from < 24 {
		i++
	}
	return i
}

// behindBlanks returns where the operator begins, and the length of the verb there, 0 if there is none.
func (a *assigned) behindBlanks(s string, i, name int) (at, verb int) {
	at = blanks(s, i)
	a.spaced = at > i
	if a.spaced && at < len(s) {
		at = remark(s, at)
	}
	if a.spaced && at < len(s) {
		return at, linkVerb(s[at:])
	}
	if strings.HasPrefix(s[name:], "'s ") { // the password's …
		return name, len("'s ")
	}
	return at, 0
}

// enclosed returns the range of a value that stands in brackets or in an element of its own. known says
// whether the operator at i is such an enclosure.
func (a *assigned) enclosed(s string, i, name int) (from, to int, ok, known bool) {
	switch {
	case s[i] == '(' && i == name && quoteAt(s, i+1) > 0: // .password("…")
		from, to, ok = a.argument(s, i+1)
		return from, to, ok, true
	case s[i] == '(' && a.spaced:
		to = strings.IndexByte(s[i:min(len(s), i+256)], ')')
		a.call = true
		return i + 1, i + to, to > 0, true
	// <AdministratorPassword><Value>…
	case a.element && strings.HasPrefix(s[i:], "><") && !strings.HasPrefix(s[i:], "><!"):
		if in := betweenTags(s, i); in > 0 {
			from, to, ok = a.untilTag(s, in)
			return from, to, ok, true
		}
	}
	return 0, 0, false, false
}

// argument returns the range of the argument at i, or of the next one where the first is the name of an
// account: changeUserPassword("ada", "…").
func (a *assigned) argument(s string, i int) (from, to int, ok bool) {
	a.call = true
	from, to, ok = a.extent(s, i)
	next := to + 1
	if !ok || to-from > 64 || next >= len(s) || s[next] != ',' {
		return from, to, ok
	}
	for next++; next < len(s) && s[next] == ' '; next++ {
	}
	if quoteAt(s, next) > 0 && !strong(s[from:to]) {
		return a.extent(s, next)
	}
	return from, to, ok
}

// untilTag returns the range of the text from i to the next tag.
func (a *assigned) untilTag(s string, i int) (from, to int, ok bool) {
	a.under = true
	to = strings.IndexByte(s[i:min(len(s), i+1024)], '<')
	return i, i + to, to > 0
}

// sign returns where the text goes on behind the punctuation at i that assigns a value. called: the name is
// the first argument of a call, and something closes it.
func (a *assigned) sign(s string, i int, called bool) int {
	switch s[i:min(len(s), i+2)] {
	case "=>", ":=", "?=", "||", "==", "::":
		return i + 2
	}
	switch c := s[i]; {
	case c == ',' && a.tuple:
		a.call = true
		return i + 1
	case arrow(s, i) > 0:
		a.spaced = true
		return i + arrow(s, i)
	case c == '=':
		a.equals = true
		return i + 1
	case c == ':':
		if value := typed(s, i+1); value > 0 {
			return value
		}
		return i + 1
	case strings.HasPrefix(s[i:], "\uff1a"):
		return i + len("\uff1a")
	case c == '>' && a.element:
		return i + 1
	case c == '|' && a.cell:
		a.under = true
		return i + 1
	case c == ',' && called:
		a.call = true
		return i + 1
	}
	return nowhere
}

// word returns where the value begins that a blank, a verb or a declaration at i links to its name. verb is
// the length of the verb.
func (a *assigned) word(s string, i, verb int) int {
	switch {
	case a.spaced && a.flag && s[i] != '-': // --password value
		return i
	// <add key="Password" value="…"/>
	case a.spaced && (strings.HasPrefix(s[i:], "value=") || strings.HasPrefix(s[i:], "Value=")):
		return i + len("value=")
	case verb > 0:
		a.verb = true
		return i + verb
	case a.element && a.spaced: // <password type="x">
		end := strings.IndexByte(s[i:min(len(s), i+128)], '>')
		if end < 0 {
			return cutOff
		}
		return i + end + 1
	case a.spaced && (s[i] == '"' || s[i] == '\'' || longWord(s[i:]) || strong(firstWord(s[i:]))):
		a.bare = true
		return i
	case a.spaced && !a.closed:
		return declared(s, i)
	}
	return nowhere
}

// behindMember returns where the value of the next member begins:
//
//   - name: DB_PASSWORD
//     value: …
func behindMember(s string, name int) int {
	if n := valueMember(s[name:]); n > 0 {
		return name + n
	}
	return nowhere
}

// operand returns the range of the value that begins at i, behind the operator and what may stand between
// them.
func (a *assigned) operand(s string, i, name int) (from, to int, ok bool) {
	if strings.HasPrefix(s[i:], "=") {
		i++
	}
	for n := 0; n < 2 && i < len(s) && s[i] == '*'; n++ { // **Password:** …
		i++
	}
	at := blanks(s, i)
	a.spaced = a.spaced || at > i
	if i = at; i >= len(s) {
		return 0, 0, false
	}
	if slashQuoted(s, name) && s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"'`", s[i+1]) < 0 {
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
	if at := wrapped(s, belowArrow(s, i)); at > 0 {
		i = at
		a.call = true
	}
	return a.extent(s, i)
}

// belowArrow returns where the next line begins, i if the text goes on at i: ["password"]=>⏎  string(12) "…".
func belowArrow(s string, i int) int {
	if s[i] != '\n' {
		return i
	}
	at := i
	for at < len(s) && s[at] <= ' ' && at-i < 24 {
		at++
	}
	return at
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
		if to = strings.IndexByte(s[i:], '<'); to < 0 {
			return 0, 0, false
		}
		return i, i + to, to > 0 && strings.HasPrefix(s[i+to:], "</")
	}
	if i+1 < len(s) && (s[i+1] == '\'' || s[i+1] == '"') && strings.IndexByte("NnbBrRuUfFLl@", s[i]) >= 0 { // N'…', b"…", @"…"
		i++
	}
	mark := i // of the quote, behind its backslashes
	for mark < len(s) && s[mark] == '\\' {
		mark++
	}
	if mark < len(s) && (s[mark] == '"' || s[mark] == '\'' || s[mark] == '`') {
		a.quoted = true
		return quotedExtent(s, i, mark)
	}
	return a.unquoted(s, i)
}

// quotedExtent returns the range between the quote at mark, whose backslashes begin at i, and the next one of
// the same form. A value whose end was cut off goes on to the end of the line.
func quotedExtent(s string, i, mark int) (from, to int, ok bool) {
	quote, slashes := s[i:mark+1], mark-i
	if triple := strings.Repeat(s[mark:mark+1], 3); slashes == 0 && strings.HasPrefix(s[mark:], triple) {
		from = mark + len(triple)
		to = strings.Index(s[from:min(len(s), from+maxValue)], triple)
		return from, from + to, to > 0
	}
	from = mark + 1
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
	return from, min(to, len(s)), true
}

// unquoted returns the range of a value without quotes.
func (a *assigned) unquoted(s string, i int) (from, to int, ok bool) {
	if groups := letterGroups(s[i:]); groups > 0 && !a.query {
		return i, i + groups, true
	}
	limit := min(len(s), i+maxValue)
	to = a.stop(s, i, limit)
	if at := otherwise(s, to); at > 0 && !a.query {
		a.call = true
		return a.extent(s, at)
	}
	stops := &endsValue
	if a.query {
		stops = &endsQuery
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
