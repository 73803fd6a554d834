// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// assignment looks at the name around a credential word in a text, and at what is assigned to it: password=…, "api_key": "…",
// 'token': '…', --secret …, <password>…</password>, Authorization: Bearer … Where it finds nothing, it looks at the line around the word.
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

// assigns does the first of that.
func (f *finder) assigns(at int) {
	s := f.s
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
	if end+1 < len(s) && s[end] == ' ' && isDigit(s[end+1]) { // verification code 123456
		v := strings.TrimRight(firstWord(s[end+1:min(len(s), end+16)]), ".,;!?)\"'")
		if of := f.r.classify(s[wordsBefore(s, start):end]); len(v) >= 4 && len(v) <= 8 && isNumber(v) && of.secret && of.code {
			f.add(end+1, end+1+len(v), f.on.rules.assignment)
			return
		}
	}
	if end+1 < len(s) && s[end] == ' ' {
		near := f.digitNear(end)
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
	if prompts(s, start, end) {
		return
	}
	k := f.r.Named(s[start:end])
	if f.formMember(start, end) {
		return
	}
	inURL := start > 0 && (s[start-1] == '?' || s[start-1] == '&' || s[start-1] == '#')
	sentence := !k.secret && (start == 0 || s[start-1] == ' ' || s[start-1] == '-')
	if !k.secret && !k.credential && !sentence && !(inURL && k.url) {
		return
	}
	if (k.secret || k.credential) && !inURL && (end == len(s) || !isWord(s[end])) && f.drawnTable(start, end) {
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
	from, to := formPart(s, start, end)
	if a.quoted = to > from; !a.quoted {
		ok := false
		if from, to, ok = a.value(s, end); !ok {
			return
		}
	}
	if name := s[start:end]; len(name) >= 6 && strings.EqualFold(name[len(name)-6:], "cookie") && (!a.quoted || cookiePairs(s[from:to])) {
		if f.cookies(from); cookiePairs(s[from:to]) {
			return
		}
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
	value = withoutTemplates(value)
	if placeholder(value) || token.ProtectedAt(value) > 0 || mangled(value) || codeText(value) || a.reference(k, s[start:end], value, operatorBefore(s[end:from])) {
		return
	}
	if a.element && isSetting(value) && !hasDigit(value) && value == strings.ToLower(value) && strings.IndexByte(value, '_') > 0 { // <secret>login_password</secret>: a name
		return
	}
	before := len(f.out)
	defer func() {
		if len(f.out) > before {
			f.assigned = max(f.assigned, to) // names inside of a value are part of it
			if a.quoted && to < len(s) {
				f.replacedBy(f.out[before].rule, to+1)
				f.listed(f.out[before].rule, from-1, to+1)
			}
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
	case (k.code || a.verb) && k.secret && isNumber(value) && len(value) >= 4 && len(value) <= 8, k.secret && letterGroups(value) == len(value):
		f.add(from, to, f.on.rules.assignment)
	case k.phrase && !inURL && phrase(s[from:]) > 0:
		f.add(from, from+phrase(s[from:]), f.on.rules.assignment)
	case k.secret && !a.quoted && !inURL && misnestedWord(s, from) > 0:
		f.add(from, from+misnestedWord(s, from), f.on.rules.assignment)
	case k.secret && a.quoted && (a.equals || s[from-1] == '\'' && strings.IndexByte(s[start:end], '_') > 0) && words(value):
		f.add(from, to, f.on.rules.assignment)
	case k.secret && a.literal(value), inURL && k.url && len(value) >= 16 && randomish(value):
		f.add(from, to, f.on.rules.assignment)
	case k.secret && a.verb && start >= 3 && s[start-3:start] == "my " && chosenWord(s, to, value):
		f.add(from, to, f.on.rules.assignment)
	case k.secret && a.alone(s, to, value):
		f.add(from, to, f.on.rules.entropy)
	case k.digest && k.credential && hexDigest(value) && containsPart(s[max(0, start-40):start], cryptWords):
		f.add(from, to, f.on.rules.entropy)
	case k.credential && k.looks(value) && !(k.digest && hexDigest(value)) && (a.quoted || !strings.ContainsAny(value, "([")):
		f.add(from, to, f.on.rules.entropy)
	}
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
	quoted := from-1-to > 0 && to > begin
	if len(v) < 8 || !(strong(v) || random(v) || quoted && passwordLike(v) && !dated(v)) || placeholder(v) || token.ProtectedAt(v) > 0 {
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
