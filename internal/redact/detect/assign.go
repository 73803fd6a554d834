// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// assignment looks at the name around a credential word in a text, and at what is assigned to it: password=…, "api_key": "…",
// 'token': '…', --secret …, <password>…</password>, Authorization: Bearer …
func (f *finder) assignment(at int) {
	s := f.s
	if at < f.assigned {
		return
	}
	start, end := at, at
	for start > 0 && nameChar(s[start-1]) && at-start < maxKeyBytes {
		start--
	}
	for end < len(s) && nameChar(s[end]) && end-at < maxKeyBytes {
		end++
	}
	f.assigned = end
	if start > 0 && (s[start-1] == ' ' || s[start-1] == '\'') && f.named(start, end) {
		return
	}
	if end+1 < len(s) && s[end] == ' ' {
		near := digitNear(s, end)
		if near {
			if n := forClause(s[end:]); n > 0 && f.stated(start, end, end+n) || f.argument(start, end) { // the passcode for the meeting is …
				return
			}
		}
		if isAlpha(s[end+1]) && !longWord(s[end+1:]) && linkVerb(s[end+1:]) == 0 && (!near || !strong(firstWord(s[end+1:])) && declared(s, end) == 0) && (start == 0 || s[start-1] != '-' && s[start] != '-' && s[start-1] != '<') {
			return // a word of a sentence
		}
	}
	for end > start && (s[end-1] == '.' || s[end-1] == '-') {
		end--
	}
	if start > 1 && s[start-1] == '\\' && strings.IndexByte("nrt", s[start]) >= 0 && !slashQuoted(s, end) { // \npassword=… in text with escapes
		start++
	}
	if start > 0 && s[start-1] == ':' && strings.Contains(s[max(0, start-96):start], "arn:") { // the type of a resource: arn:aws:secretsmanager:eu-west-1:…:secret:…
		return
	}
	k := f.r.Named(s[start:end])
	inURL := start > 0 && (s[start-1] == '?' || s[start-1] == '&' || s[start-1] == '#')
	sentence := !k.secret && (start == 0 || s[start-1] == ' ' || s[start-1] == '-')
	if !k.secret && !k.credential && !sentence && !(inURL && k.url) {
		return
	}
	if k.secret && !inURL && end < len(s) && strings.IndexByte(",;|\t \n\r)\"`", s[end]) >= 0 && f.columns(start, end) {
		return
	}
	a := assigned{stops: &f.stops, flag: start >= 1 && s[start-1] == '-' || strings.HasPrefix(s[start:], "--"), element: elementOf(s, start), query: inURL,
		tuple: start > 0 && (s[start-1] == '{' || s[start-1] == ':' && start > 1 && s[start-2] == '{'), call: callOf(s, start), cell: start >= 2 && strings.IndexByte(s[max(0, start-4):start], '|') >= 0}
	if k.secret {
		if from, to := compared(s, start); to > from && len(s[from:to]) >= 8 && !prose(s[from:to]) && !placeholder(s[from:to]) && token.ProtectedAt(s[from:to]) == 0 {
			f.add(from, to, f.on.rules.assignment)
			return
		}
	}
	from, to, ok := a.value(s, end)
	if !ok {
		return
	}
	if name := s[start:end]; len(name) >= 6 && strings.EqualFold(name[len(name)-6:], "cookie") && !a.quoted {
		f.cookies(from)
	}
	if more := wordsBefore(s, start); sentence && more < start { // the words of "wandb api key: …"
		if of := f.r.classify(s[more:end]); of.secret || of.credential || of.service {
			k = of
		}
	}
	if !k.secret && !k.credential && !(inURL && k.url) {
		return
	}
	from = authScheme(s, from, to)
	// Only this part decides. A name in the value of an earlier one costs less.
	value := s[from:min(to, from+maxJudged)]
	if from < f.valueEnd {
		value = s[from:min(to, from+maxJudgedAgain)]
	}
	f.valueEnd = max(f.valueEnd, to)
	f.work += len(value)
	if placeholder(value) || token.ProtectedAt(value) > 0 {
		return
	}
	before := len(f.out)
	defer func() {
		if len(f.out) > before {
			f.assigned = max(f.assigned, to) // names inside of a value are part of it
		}
	}()
	switch {
	case a.call || a.under:
		if (k.secret || k.credential) && (strong(value) || random(value)) && !(k.digest && hexDigest(value)) {
			f.add(from, to, f.on.rules.assignment)
		}
	case a.bare && (len(value) >= 16 && random(value) && !(k.digest && hexDigest(value)) || k.secret && a.quoted && passwordLike(value)):
		f.add(from, to, f.on.rules.entropy)
	case a.bare && k.secret && strong(value):
		f.add(from, to, f.on.rules.assignment)
	case a.bare:
	case k.code && k.secret && isNumber(value) && len(value) >= 4 && len(value) <= 8, k.secret && letterGroups(value) == len(value):
		f.add(from, to, f.on.rules.assignment)
	case k.phrase && !inURL && phrase(s[from:]) > 0:
		f.add(from, from+phrase(s[from:]), f.on.rules.assignment)
	case k.secret && !a.quoted && !inURL && misnestedWord(s, from) > 0:
		f.add(from, from+misnestedWord(s, from), f.on.rules.assignment)
	case k.secret && a.quoted && (a.equals || s[from-1] == '\'' && strings.IndexByte(s[start:end], '_') > 0) && words(value):
		f.add(from, to, f.on.rules.assignment)
	case k.secret && a.literal(value), inURL && k.url && len(value) >= 16 && randomish(value):
		f.add(from, to, f.on.rules.assignment)
	case k.secret && a.alone(s, to, value):
		f.add(from, to, f.on.rules.entropy)
	case k.credential && k.looks(value) && !(k.digest && hexDigest(value)) && (a.quoted || !strings.ContainsAny(value, "([")):
		f.add(from, to, f.on.rules.entropy)
	}
}

// digitNear says whether a digit stands in the 96 bytes behind i: what people write as a secret has one.
func digitNear(s string, i int) bool {
	end := min(len(s), i+96)
	for ; i+8 <= end; i += 8 {
		if !noDigit(load(s, i)) {
			return true
		}
	}
	for ; i < end; i++ {
		if isDigit(s[i]) {
			return true
		}
	}
	return false
}

// stated looks for a value at to, behind a clause about the name.
func (f *finder) stated(start, end, to int) bool {
	s := f.s
	v := firstWord(s[to:])
	v = strings.Trim(v, ".,;!?)\"'`")
	if len(v) < 4 || strings.ContainsAny(v, "=(") {
		return false
	}
	k := f.r.Named(s[start:end])
	if !k.secret {
		k = f.r.classify(s[wordsBefore(s, start):end])
	}
	if !(k.secret && strong(v) || (k.secret || k.credential) && random(v) && !(k.digest && hexDigest(v)) && !placeholder(v) || k.secret && k.code && isNumber(v) && len(v) <= 10) {
		return false
	}
	to += strings.Index(s[to:], v)
	f.assigned = to + len(v)
	f.add(to, to+len(v), f.on.rules.assignment)
	return true
}

// named looks for a value that stands before its name: use … as the api key, … is the password.
func (f *finder) named(start, end int) bool {
	s := f.s
	if start < 12 || end < len(s) && strings.IndexByte(".,;!?)\n\r\"'`\\<", s[end]) < 0 {
		return false
	}
	window := s[max(0, start-48):start]
	i := max(strings.LastIndex(window, " as "), strings.LastIndex(window, " is "), strings.LastIndex(window, " for "))
	if i < 0 || strings.IndexByte(window[i+1:], '\n') >= 0 {
		return false
	}
	from := start - len(window) + i + 1
	at := from + strings.IndexByte(s[from:], ' ') + 1
	for _, article := range [...]string{"the ", "your ", "my ", "our ", "a "} {
		if strings.HasPrefix(s[at:start], article) {
			at += len(article)
			break
		}
	}
	if from < 8 || s[from] == 'i' && at == from+len("is ") { // … is the password
		return false
	}
	to := from - 1
	for to > 0 && strings.IndexByte("\"'`*", s[to-1]) >= 0 {
		to--
	}
	begin := to
	for begin > 0 && s[begin-1] == '=' { // padding
		begin--
	}
	for begin > 0 && to-begin < 512 && s[begin-1] > ' ' && strings.IndexByte("\"'`*<>(=", s[begin-1]) < 0 {
		begin--
	}
	v := s[begin:to]
	if len(v) < 8 || !(strong(v) || random(v)) || placeholder(v) || token.ProtectedAt(v) > 0 {
		return false
	}
	k := f.r.classify(s[at:end])
	if !k.secret && !(k.credential && random(v)) || k.digest && hexDigest(v) {
		return false
	}
	f.add(begin, to, f.on.rules.assignment)
	return true
}

// argument looks for a value that stands behind a word more on the line of a setting: sentinel auth-pass mymaster …, -passwd /Users/ada …
func (f *finder) argument(start, end int) bool {
	s := f.s
	if end+1 >= len(s) || s[end+1] <= ' ' {
		return false
	}
	word := firstWord(s[end+1 : min(len(s), end+64)])
	if setting := start > 0 && s[start-1] == ':' || strings.ContainsAny(s[start:end], "-_"); !setting && word[0] != '-' && !notations[word] {
		return false
	}
	at := end + 1 + len(word) + 1
	if strings.ContainsAny(word, "=:\"'`,;(){}") || strong(word) || at >= len(s) || s[at-1] != ' ' {
		return false
	}
	if s[at] == '"' || s[at] == '\'' {
		at++
	}
	v := firstWord(s[at:])
	if i := strings.IndexAny(v, "\"'`\\"); i >= 0 {
		v = v[:i]
	}
	if to := at + len(v); !strong(v) || placeholder(v) || to < len(s) && s[to] == ' ' {
		return false
	}
	if k := f.r.Named(s[start:end]); !k.secret && !k.pass {
		return false
	}
	f.add(at, at+len(v), f.on.rules.assignment)
	return true
}

// notations stand between the word for a password and the password in the configuration of routers: how it is written.
var notations = wordSet("cipher irreversible-cipher plain plaintext plain-text simple clear cleartext encrypted 0 5 7 8 9 sha512 sha256 md5")

// elementOf says whether a name is that of an XML element, with its namespace or without: <password>, <wsse:Password Type="…">.
func elementOf(s string, start int) bool {
	if start > 0 && s[start-1] == ':' {
		for start--; start > 0 && isWord(s[start-1]); start-- {
		}
	}
	return start > 0 && s[start-1] == '<'
}

// misnestedWord returns the length of a word that begins at i, up to white space, if its brackets make no code of it.
func misnestedWord(s string, i int) int {
	w := strings.TrimRight(firstWord(s[i:]), "\"'`,;\\")
	if at := strings.IndexAny(w, "\"'`\\"); at >= 0 {
		w = w[:at]
	}
	if len(w) < 16 || len(w) > 128 || strings.Contains(w, "://") || !misnested(w) || !strings.ContainsAny(w, "$@#%^&*~!>") {
		return 0
	}
	return len(w)
}

// forClause returns where the value begins behind a few words about it: " for the meeting is ", " you asked for: ", " will be shown once: ", " for root -> ". It
// returns 0 if the text goes on otherwise.
func forClause(s string) int {
	if len(s) < 8 || s[0] != ' ' {
		return 0
	}
	n := min(len(s), 56)
	at := strings.IndexByte(s[:n], ':')
	if at < 0 || at+1 < len(s) && s[at+1] != ' ' {
		if at = strings.Index(s[:n], " is "); at < 0 {
			if at = strings.Index(s[:n], " -> "); at < 0 {
				return 0
			}
		}
		at += len(" is")
	}
	for i := range at {
		if c := s[i]; c < ' ' || strings.IndexByte(";\"={}<,", c) >= 0 || c == '.' && i+1 < len(s) && s[i+1] == ' ' {
			return 0
		}
	}
	if at++; at < len(s) && s[at] == ' ' {
		at++
	}
	return at
}

// typed returns where the value begins behind the type of a declaration: let secret: String = "…".
func typed(s string, i int) int {
	at := i
	for at < len(s) && at-i < 32 && (isWord(s[at]) || strings.IndexByte(" &<>?[]'", s[at]) >= 0) {
		at++
	}
	if at == i || at >= len(s) || s[at] != '=' {
		return 0
	}
	for at++; at < len(s) && s[at] == ' '; at++ {
	}
	if at < len(s) && (s[at] == '"' || s[at] == '\'' || s[at] == '`') {
		return at
	}
	return 0
}

// cookies looks at the values of a Cookie header.
func (f *finder) cookies(from int) {
	if from < f.cookie {
		return
	}
	end := from
	for end < len(f.s) && end-from < 4<<10 && f.s[end] >= ' ' && strings.IndexByte("\"'`", f.s[end]) < 0 {
		end++
	}
	f.cookie = end
	for at := from; at < end; {
		next := strings.IndexByte(f.s[at:end], ';')
		if next < 0 {
			next = end - at
		}
		if pair := f.s[at : at+next]; strings.IndexByte(pair, '=') > 0 {
			value := strings.IndexByte(pair, '=') + 1
			if v := firstWord(pair[value:]); random(v) || strong(v) {
				f.add(at+value, at+value+len(v), f.on.rules.assignment)
			}
		}
		at += next + 1
	}
}

// slashQuoted says whether a name ends at i in a text whose quotes were replaced by backslashes: {\password\:\…\}.
func slashQuoted(s string, i int) bool { return strings.HasPrefix(s[i:], `\:`) }

// wordsBefore returns where up to three words before a name in a sentence begin.
func wordsBefore(s string, start int) int {
	from := start
	for range 3 {
		i := from
		if i == 0 || s[i-1] != ' ' && s[i-1] != '-' {
			break
		}
		end := i - 1
		for i = end; i > 0 && isWord(s[i-1]) && end-i < 24; i-- {
		}
		if i == end {
			break
		}
		from = i
	}
	return from
}

// callOf says whether a name stands in quotes as the first argument of a call, define('DB_PASSWORD', …), or is that of a variable among others.
func callOf(s string, start int) bool {
	if start < 2 || s[start-1] != '\'' && s[start-1] != '"' {
		return false
	}
	i := start - 1
	for i > 0 && (s[i-1] == '\\' || s[i-1] == ' ') && start-i < 6 {
		i--
	}
	return i > 0 && (s[i-1] == '(' || s[i-1] == ',' && isUpper(s[start]))
}

// firstWord returns what stands before the first white space.
func firstWord(s string) string {
	n := min(len(s), 256)
	for i := range n {
		if s[i] <= ' ' {
			return s[:i]
		}
	}
	return s[:n]
}

// strong holds for what nobody writes but as a password: 8 characters or more, with digits among letters and capitals or symbols besides.
func strong(v string) bool {
	if !hasDigit(v) { // most words
		return false
	}
	v = strings.TrimRight(v, ".,;:!?)\"'`*|")
	if len(v) < 8 || len(v) > 128 || code(v) {
		return false
	}
	digit, letter, mark := 0, 0, 0
	leet := 0 // digits for letters: p4ssw0rt
	for i := range len(v) {
		if i > 0 && i+1 < len(v) && isDigit(v[i]) && isLower(v[i-1]) && isLower(v[i+1]) {
			if leet++; leet == 2 {
				mark++
			}
		}
		switch c := v[i]; {
		case c >= 0xc2 && c <= 0xc5 || c == 0xd0 || c == 0xd1: // letters of Latin and Cyrillic that are no ASCII
			letter++
			mark++
		case c <= ' ' || c == '/' || c == '\\' || c == '<' || c == '>' || c == '"' || c == '=' || c == '(' || c == ')':
			return false
		case isDigit(c):
			digit++
		case isLower(c):
			letter++
		case isUpper(c):
			letter++
			mark++
		case strings.IndexByte("!@#$%^&*+~?_-", c) >= 0:
			mark++
		}
	}
	return digit > 0 && letter >= 3 && mark > 0 && !dated(v)
}

func hasDigit(s string) bool {
	for i := range len(s) {
		if isDigit(s[i]) {
			return true
		}
	}
	return false
}

// dated holds for words with dates, versions and counts: claude-3-5-sonnet-20241022, v1.2.3, GPT-4.
func dated(v string) bool {
	number := false
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("-_./:,@|#", r) }) {
		if !wordLike(part) {
			return false
		}
		number = number || isNumber(strings.TrimLeft(part, "vV"))
	}
	return number
}

// maxJudged is how much of a value decides whether it is one.
const (
	maxJudged      = 1024
	maxJudgedAgain = 64
)

func nameChar(c byte) bool { return isWord(c) || c == '-' || c == '.' }

// authScheme returns where the credentials of an Authorization header begin.
func authScheme(s string, from, to int) int {
	word := s[from:to]
	i := strings.IndexByte(word, ' ')
	if i < 0 {
		return from
	}
	switch strings.ToLower(word[:i]) {
	case "bearer", "basic", "token", "apikey", "api-key", "api-token", "negotiate", "digest", "key":
		for i < len(word) && word[i] == ' ' {
			i++
		}
		return from + i
	}
	return from
}

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

// valueMember returns where the value of {"name": …, "value": …} begins in what stands behind the name, 0 if none does: in YAML, in cut JSON.
func valueMember(s string) int {
	i := 0
	for i < min(len(s), 80) && (s[i] <= ' ' || strings.IndexByte("\"',\\{}", s[i]) >= 0) {
		i++
	}
	if i == 0 || !strings.HasPrefix(s[i:], "value") && !strings.HasPrefix(s[i:], "Value") {
		return 0
	}
	i += len("value")
	for i < min(len(s), 80) && strings.IndexByte("\"'\\ ", s[i]) >= 0 {
		i++
	}
	if i < len(s) && (s[i] == ':' || s[i] == '=') {
		return i + 1
	}
	return 0
}

// below returns where a value begins that stands on the line under its name: behind the mark of a block of YAML, or alone. It returns i if it does not.
func below(s string, i int) int {
	at := i
	if s[at] == '|' || s[at] == '>' {
		for at++; at < len(s) && (s[at] == '-' || s[at] == '+' || isDigit(s[at])); at++ {
		}
	}
	if strings.HasPrefix(s[at:], "\\n") {
		at += 2
	} else {
		for at < len(s) && (s[at] == ' ' || s[at] == '\r') {
			at++
		}
		if at >= len(s) || s[at] != '\n' {
			return i
		}
		for at++; at < len(s) && (s[at] == '\n' || s[at] == '\r') && at-i < 8; at++ { // an empty line
		}
	}
	from := at
	for at < len(s) && (s[at] == ' ' || s[at] == '\t') && at-from < 40 {
		at++
	}
	end := at
	for end < len(s) && s[end] > ' ' && end-at < 512 {
		end++
	}
	// One word alone on its line.
	if end == at || end < len(s) && s[end] != '\n' && s[end] != '\r' || s[end-1] == ':' {
		return i
	}
	return at
}

// maxValue bounds a value without quotes: that is larger than any credential, and each name in a text costs at most so much.
const maxValue = 16 << 10

// linkVerb returns the length of the verb with which a text goes on before a value, 0 if there is none: the password is …, was changed to ….
func linkVerb(s string) int {
	if s == "" {
		return 0
	}
	for _, verb := range verbs[s[0]] {
		if strings.HasPrefix(s, verb) {
			return len(verb)
		}
	}
	return 0
}

var verbs = func() (by [256][]string) {
	for _, verb := range [...]string{"is now set to ", "is now ", "is set to ", "is: ", "is:", "is ", "was changed to ", "was reset to ", "was set to ", "was ", "has been changed to ",
		"has been set to ", "has been reset to ", "has been updated to ", "changed to ", "reset to ", "set to ", "will be ", "should be ", "equals ", "to ", "lautet ", "ist ",
		"est ", "\u00e8 ", "\u00e9 "} {
		by[verb[0]] = append(by[verb[0]], verb)
	}
	return by
}()

// longWord says whether a text begins with at least 16 bytes without a space: nothing shorter is a credential by its look alone.
func longWord(s string) bool {
	return len(s) >= 16 && strings.IndexByte(s[:16], ' ') < 0
}

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

// letterGroups returns the length of four groups of four lower-case letters: a password that Google gives out to programs.
func letterGroups(s string) int {
	const n = 4*4 + 3
	if len(s) < n || len(s) > n && isWord(s[n]) {
		return 0
	}
	for i := range n {
		if (i%5 == 4) != (s[i] == ' ') || i%5 != 4 && !isLower(s[i]) {
			return 0
		}
	}
	return n
}

// alone says whether a word is all that stands behind the name of a password on its line, and none that says something about passwords.
func (a *assigned) alone(s string, to int, v string) bool {
	if !a.spaced || a.verb || len(v) < 8 || to < len(s) && s[to] != '\n' && s[to] != '\r' && s[to] != '"' && s[to] != '\\' && s[to] != '<' {
		return false
	}
	lower := strings.ToLower(v)
	for i := range len(lower) {
		if !isLower(lower[i]) {
			return false
		}
	}
	return !aboutPasswords[lower]
}

// aboutPasswords are words that stand behind the name of a password and are none.
var aboutPasswords = wordSet(`required optional incorrect invalid expired accepted rejected mismatch matches protected encrypted unencrypted plaintext redacted hidden
	disabled enabled undefined unchanged provided generated missing password passwords username changeme whatever something anything nothing everything
	automatic automatically configured unknown available unavailable forgotten strength confirm confirmation validation verified verification failed
	successful successfully updated rotation rotated rotating default defaults sensitive secretstr credential credentials authentication authorization
	function variable argument parameter property interface string strings boolean integer number object optional nullable readonly writeonly external
	internal production staging development testing example examples placeholder description`)

// literal says whether the value of a name that is secret is one, and not code or prose about it.
func (a *assigned) literal(v string) bool {
	if a.quoted {
		return len(v) >= 3 && !strings.HasSuffix(v, ": ") && !prose(v)
	}
	if code(v) {
		return false
	}
	digit, symbol, upper, lower := false, false, false, false
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digit = true
		case isUpper(c):
			upper = upper || i > 0
			lower = lower || false
		case isLower(c):
			lower = true
		case strings.IndexByte("!@#$%^&*+=~?/-", c) >= 0:
			symbol = true
		}
	}
	strong := digit && (upper || lower || symbol) || symbol && len(v) >= 8 || upper && lower && len(v) >= 10 || digit && len(v) >= 4 && !a.verb
	if a.spaced || a.verb {
		return len(v) >= 4 && strong
	}
	return len(v) >= 4 && (strong || len(v) >= 6)
}

// code says whether an unquoted value is an expression: a call, an index, a member, a variable.
func code(v string) bool {
	if strings.ContainsAny(v, "([{") && !strings.ContainsAny(v, "!@#%^&*~") {
		return true
	}
	if (v[0] == '*' || v[0] == '&') && dated("0-"+v[1:]) && v == strings.ToLower(v) { // an anchor of YAML, and what refers to one
		return true
	}
	switch {
	case strings.HasPrefix(v, "$"), strings.HasPrefix(v, "process.env"), strings.HasPrefix(v, "os."), strings.HasPrefix(v, "self."),
		strings.HasPrefix(v, "this."), strings.HasPrefix(v, "config."), strings.HasPrefix(v, "settings."), strings.HasPrefix(v, "args."), strings.HasPrefix(v, "await"):
		return true
	}
	return false
}

// prose says whether a quoted text is a sentence: several words of letters.
func prose(v string) bool {
	words := strings.Fields(v)
	if len(words) < 3 {
		return false
	}
	plain := 0
	for _, w := range words {
		if w = strings.Trim(w, ".,:;!?'\"()"); len(w) > 0 && strings.IndexFunc(w, func(r rune) bool { return r < 0x80 && !isAlpha(byte(r)) && r != '-' && r != '\'' }) < 0 {
			plain++
		}
	}
	return plain*4 >= len(words)*3
}
