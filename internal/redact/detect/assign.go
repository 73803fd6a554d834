// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// assignment is a name in a text, the operator behind it and the value that the operator assigns.
type assignment struct {
	assigned
	text       string
	start, end int // of the name
	from, to   int // of the value, without its quotes
	says       *Name
	value      string // the part of the value that decides
}

// name returns the name as it is spelled.
func (a *assignment) name() string { return a.text[a.start:a.end] }

// assignment looks at the name around a credential word and at the value assigned to it: password=…,
// "api_key": "…", 'token': '…', --secret …, <password>…</password>, Authorization: Bearer ….
// Where it finds nothing, it looks at the line around the word.
func (f *finder) assignment(at int) {
	if at < f.assigned {
		return
	}
	before := len(f.out)
	f.assigns(at)
	if len(f.out) == before {
		f.nearby(at, at, false)
	}
}

// assigns reads the name around a credential word and the value assigned to it, and judges the value.
func (f *finder) assigns(at int) {
	a := &f.pair
	*a = assignment{text: f.s}
	a.start, a.end = nameAround(f.s, at)
	f.assigned = a.end
	if f.valueBefore(a) || f.codeBehind(a) || f.inSentence(a) {
		return
	}
	a.trim()
	if a.resourceType() || prompts(f.s, a.start, a.end) {
		return
	}
	a.says = f.r.Named(a.name())
	if f.formMember(a.start, a.end) {
		return
	}
	a.query = a.behind("?&#")
	sentence := !a.says.secret && (a.start == 0 || a.behind(" -"))
	if !a.sensitive() && !sentence || f.inTable(a) {
		return
	}
	f.readPlace(a)
	if f.comparedBefore(a) || !a.readValue() || f.cookieHeader(a) {
		return
	}
	if sentence {
		f.widenName(a)
	}
	if !a.sensitive() {
		return
	}
	a.from = authScheme(f.s, a.from, a.to)
	f.readJudged(a)
	if a.refused() {
		return
	}
	before := len(f.out)
	f.judge(a)
	if len(f.out) > before {
		f.assigned = max(f.assigned, a.to) // names inside a value are part of it
		if a.quoted && a.to < len(f.s) {
			f.replacedBy(f.out[before].rule, a.to+1)
			f.listed(f.out[before].rule, a.from-1, a.to+1)
		}
	}
}

// nameAround returns the range of the name that holds s[at:].
func nameAround(s string, at int) (start, end int) {
	start, end = at, at
	for start > 0 && nameChar(s[start-1]) && at-start < maxKeyBytes {
		start--
	}
	for end < len(s) && nameChar(s[end]) && end-at < maxKeyBytes {
		end++
	}
	return start, end
}

// behind says whether the byte before the name is one of some.
func (a *assignment) behind(bytes string) bool {
	return a.start > 0 && strings.IndexByte(bytes, a.text[a.start-1]) >= 0
}

// sensitive says whether the name is that of a credential, at the place where it stands.
func (a *assignment) sensitive() bool {
	return a.says.secret || a.says.credential || a.query && a.says.url
}

// valueBefore reports a value that stands before its name.
func (f *finder) valueBefore(a *assignment) bool {
	return a.behind(" '") && f.named(a.start, a.end)
}

// codeBehind reports the number behind the name of a code: verification code 123456.
func (f *finder) codeBehind(a *assignment) bool {
	s, end := f.s, a.end
	if end+1 >= len(s) || s[end] != ' ' || !isDigit(s[end+1]) {
		return false
	}
	v := strings.TrimRight(firstWord(s[end+1:min(len(s), end+16)]), ".,;!?)\"'")
	if !typedCode(v) {
		return false
	}
	if of := f.r.classify(s[wordsBefore(s, a.start):end]); !of.secret || !of.code {
		return false
	}
	f.add(end+1, end+1+len(v), f.on.rules.assignment)
	return true
}

// typedCode holds for four to eight digits: longer and shorter numbers are no codes that somebody types.
func typedCode(v string) bool { return len(v) >= 4 && len(v) <= 8 && isNumber(v) }

// inSentence says whether the name is a word of a sentence. It reports the value that the sentence states:
// the passcode for the meeting is ….
func (f *finder) inSentence(a *assignment) bool {
	s, start, end := f.s, a.start, a.end
	if end+1 >= len(s) || s[end] != ' ' {
		return false
	}
	near := f.digitNear(end)
	if near {
		if n := forClause(s[end:]); n > 0 && f.stated(start, end, end+n) || f.argument(start, end) {
			return true
		}
	}
	if !isAlpha(s[end+1]) || longWord(s[end+1:]) || linkVerb(s[end+1:]) != 0 {
		return false
	}
	if near && (strong(firstWord(s[end+1:])) || declared(s, end) != 0) {
		return false
	}
	return start == 0 || s[start-1] != '-' && s[start] != '-' && s[start-1] != '<'
}

// trim takes the punctuation behind the name off it, and the letter of an escape before it: \npassword=….
func (a *assignment) trim() {
	s := a.text
	for a.end > a.start && (s[a.end-1] == '.' || s[a.end-1] == '-') {
		a.end--
	}
	escaped := a.start > 1 && s[a.start-1] == '\\' && strings.IndexByte("nrt", s[a.start]) >= 0
	if escaped && !slashQuoted(s, a.end) {
		a.start++
	}
}

// resourceType says whether the name is the type of a resource: arn:aws:secretsmanager:eu-west-1:…:secret:….
func (a *assignment) resourceType() bool {
	return a.behind(":") && strings.Contains(a.text[max(0, a.start-96):a.start], "arn:")
}

// inTable reports the values below the name where it heads a column.
func (f *finder) inTable(a *assignment) bool {
	s, end := f.s, a.end
	if a.query {
		return false
	}
	if (a.says.secret || a.says.credential) && (end == len(s) || !isWord(s[end])) && f.drawnTable(a.start, end) {
		return true
	}
	return a.says.secret && end < len(s) && strings.IndexByte(",;|\t \n\r)\"`", s[end]) >= 0 && f.columns(a.start, end)
}

// readPlace notes what stands before the name.
func (f *finder) readPlace(a *assignment) {
	s, start := f.s, a.start
	a.stops = &f.stops
	a.flag = a.behind("-") || strings.HasPrefix(s[start:], "--")
	a.element = elementOf(s, start)
	a.tuple = a.behind("{") || a.behind(":") && start > 1 && s[start-2] == '{'
	a.call = callOf(s, start)
	a.cell = start >= 2 && strings.IndexByte(s[max(0, start-4):start], '|') >= 0
}

// comparedBefore reports the literal that the name is compared with: if ("…" == password).
func (f *finder) comparedBefore(a *assignment) bool {
	if !a.says.secret {
		return false
	}
	from, to := compared(f.s, a.start)
	if v := f.s[from:to]; len(v) < 8 || prose(v) || placeholder(v) || token.ProtectedAt(v) > 0 {
		return false
	}
	f.add(from, to, f.on.rules.assignment)
	return true
}

// readValue reads the operator behind the name and the range of the value.
func (a *assignment) readValue() (ok bool) {
	a.from, a.to = formPart(a.text, a.start, a.end)
	if a.quoted = a.to > a.from; a.quoted {
		return true
	}
	a.from, a.to, ok = a.find(a.text, a.end)
	return ok
}

// cookieHeader looks at the pairs of a Cookie header, and says whether the value is such pairs.
func (f *finder) cookieHeader(a *assignment) bool {
	name := a.name()
	if len(name) < len("cookie") || !strings.EqualFold(name[len(name)-len("cookie"):], "cookie") {
		return false
	}
	pairs := cookiePairs(f.s[a.from:a.to])
	if !a.quoted || pairs {
		f.cookies(a.from)
	}
	return pairs
}

// widenName takes the words before the name into it: wandb api key: ….
func (f *finder) widenName(a *assignment) {
	more := wordsBefore(f.s, a.start)
	if more == a.start {
		return
	}
	if of := f.r.classify(f.s[more:a.end]); of.secret || of.credential || of.service {
		a.says = of
	}
}

// readJudged reads the part of the value that decides. A value that an earlier name was judged by as well is
// read to a shorter bound, so that many names before one value cost little.
func (f *finder) readJudged(a *assignment) {
	most := maxJudged
	if a.from < f.valueEnd {
		most = maxJudgedAgain
	}
	value := f.s[a.from:min(a.to, a.from+most)]
	f.valueEnd = max(f.valueEnd, a.to)
	f.work += len(value)
	a.value = withoutTemplates(value)
}

// digitNear says whether a digit stands in the 96 bytes behind i: what people write as a secret has one.
func (f *finder) digitNear(i int) bool { return f.nextDigit(i, i+96) < min(i+96, len(f.s)) }

// nextDigit returns where the next digit stands from i on, or limit or more if there is none before it. No byte is looked at twice for places that come one
// behind the other.
func (f *finder) nextDigit(i, limit int) int {
	s := f.s
	at := i
	if i >= f.digit.from && i <= f.digit.at {
		at = f.digit.at
	} else {
		f.digit.from = i
	}
	limit = min(limit, len(s))
	for at < limit && !isDigit(s[at]) {
		if at+8 <= len(s) && noDigit(load(s, at)) {
			at += 8
		} else {
			at++
		}
	}
	f.digit.at = at
	return at
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
	link, name := linkBefore(s, start)
	if link < 8 || s[link] == 'i' && name == link+len("is ") { // … is password
		return false
	}
	from, to := valueEndingAt(s, link-1)
	v := s[from:to]
	quoted := to < link-1 && to > from
	if len(v) < 8 || !(strong(v) || random(v) || quoted && passwordLike(v) && !dated(v)) || placeholder(v) || token.ProtectedAt(v) > 0 {
		return false
	}
	k := f.r.classify(s[name:end])
	if !k.secret && !(k.credential && random(v)) || k.digest && hexDigest(v) {
		return false
	}
	f.add(from, to, f.on.rules.assignment)
	return true
}

// linkBefore returns where the last word before start begins that links a value to the name behind it, and
// where that name begins behind its article. It returns 0 if no such word is near.
func linkBefore(s string, start int) (link, name int) {
	from := max(0, start-48)
	window := s[from:start]
	i := max(strings.LastIndex(window, " as "), strings.LastIndex(window, " is "), strings.LastIndex(window, " for "))
	if i < 0 || strings.IndexByte(window[i+1:], '\n') >= 0 {
		return 0, 0
	}
	link = from + i + 1
	name = link + strings.IndexByte(s[link:], ' ') + 1
	for _, article := range [...]string{"the ", "your ", "my ", "our ", "a "} {
		if strings.HasPrefix(s[name:start], article) {
			return link, name + len(article)
		}
	}
	return link, name
}

// valueEndingAt returns the range of the value that ends at to, without its quotes and with its padding.
func valueEndingAt(s string, to int) (from, end int) {
	for to > 0 && strings.IndexByte("\"'`*", s[to-1]) >= 0 {
		to--
	}
	from = to
	for from > 0 && s[from-1] == '=' {
		from--
	}
	for from > 0 && to-from < 512 && s[from-1] > ' ' && strings.IndexByte("\"'`*<>(=", s[from-1]) < 0 {
		from--
	}
	return from, to
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
			name := f.r.Named(strings.TrimSpace(pair[:value-1]))
			if v := firstWord(pair[value:]); random(v) || strong(v) || cookieSecret(v) && !placeholder(v) || (name.secret || name.credential) && len(v) >= 8 && !placeholder(v) {
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
