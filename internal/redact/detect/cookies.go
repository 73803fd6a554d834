// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Cookies outside of headers: lines of a cookie jar as curl and browsers write it, and sessions in the path
// of a URL. Values that look like no token (en, dark, a date) are left alone.

var cookieJar = seeker{rule: "cookie-jar", class: Known, text: "the value of a cookie in a jar (Netscape's format), and of a session in the path of a URL", words: []string{"\ttrue\t", "\tfalse\t", "~true~", "~false~", "\"httponly\"", "\"samesite\"", "'httponly'", "httponly:", "cookies\":", "cookies':"}, find: (*finder).jarLine}

// cookieSecret holds for values of cookies that no preference has.
func cookieSecret(v string) bool {
	return len(v) >= 12 && (random(v) || hexDigest(v) || len(v) >= 16 && randomish(v) && !dated(v)) || strong(v) && !dated(v)
}

// jarLine looks at a line of a jar: domain, whether hosts below it get the cookie, path, whether it needs
// TLS, when it ends, name, value.
func (f *finder) jarLine(id ruleID, at, end int) {
	s := f.s
	if s[end-1] != ' ' && s[end-1] != '\t' {
		f.jarObject(id, at)
		return
	}
	begin := lineBefore(s, at, 256)
	if begin < f.jar || !strings.Contains(s[begin:at], ".") && !strings.Contains(s[begin:at], "localhost") {
		return
	}
	stop := lineBehind(s, at, 4<<10)
	line := s[at:stop]
	i := 0
	for _, holds := range jarFields {
		if i == len(line) {
			f.work += i
			return
		}
		from := behindTabs(line, i)
		for i = from; i < len(line) && line[i] != ' ' && line[i] != '\t'; i++ {
		}
		if !holds(line[from:i]) {
			return
		}
	}
	f.work += i
	f.jar = stop
	from := behindTabs(s[:stop], at+i)
	if v := firstWord(s[from:stop]); cookieSecret(v) {
		f.add(from, from+len(v), id)
	}
}

// jarFields are the forms of the fields between the domain and the value: TRUE / TRUE 0 name.
var jarFields = [...]func(string) bool{
	isFlagWord,
	func(v string) bool { return v != "" && v[0] == '/' },
	isFlagWord,
	isNumber,
	func(string) bool { return true },
}

func isFlagWord(v string) bool { return strings.EqualFold(v, "true") || strings.EqualFold(v, "false") }

// behindTabs returns where the text goes on behind spaces and tabs.
func behindTabs(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// cookieList looks at the values of a list of cookies.
func (f *finder) cookieList(id ruleID, i int) {
	s := f.s
	if i = spaces(s, i, 1); i < f.jar || i >= len(s) || s[i] != '[' {
		return
	}
	stop := min(len(s), i+4<<10)
	if n := strings.IndexByte(s[i:stop], ']'); n >= 0 {
		stop = i + n
	}
	f.work += stop - i
	f.jar = stop
	for {
		n := strings.Index(s[i:stop], "value")
		if n < 0 {
			return
		}
		i += n + len("value")
		at := i
		for at < stop && strings.IndexByte("\"': ", s[at]) >= 0 && at-i < 4 {
			at++
		}
		if at > i && strings.IndexByte("\"'", s[at-1]) >= 0 {
			if lo, hi, _, ok := quotedAt(s, at-1); ok && cookieSecret(s[lo:hi]) {
				f.add(lo, hi, id)
			}
		}
	}
}

// jarObject looks at a cookie that is written as an object: {"name": "…", "value": "…", "httpOnly": true}.
func (f *finder) jarObject(id ruleID, at int) {
	s := f.s
	if i := strings.IndexByte(s[at:min(len(s), at+24)], ':'); i > 0 && equalLowered(s[at:at+6], "cookie") { // "cookies": [{"name": …}]
		f.cookieList(id, at+i+1)
		return
	}
	begin := max(0, at-600)
	begin += strings.LastIndexByte(s[begin:at], '{') + 1
	f.work += at - begin
	if begin < f.jar {
		return
	}
	f.jar = at
	i := strings.Index(s[begin:at], "value")
	if i < 0 {
		return
	}
	i += begin + len("value")
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		i++
	}
	if i = spaces(s, i, 0); i >= at || s[i] != ':' {
		return
	}
	if lo, hi, _, ok := quotedAt(s, spaces(s, i+1, 0)); ok && cookieSecret(s[lo:hi]) {
		f.add(lo, hi, id)
	}
}

var sessionInPath = seeker{rule: "session-in-path", class: Known, by: "cookie-jar", text: "the session in the path of a URL", words: []string{";jsessionid=", ";phpsessid=", ";sid=", ";sessionid=", ";session_id=", "/(s(", "/(f(", "phpsessid=", "jsessionid=", "aspsessionid", "<cookie~", "__requestverificationtoken", "sessionid=", "sess=", "connect.sid="}, find: (*finder).pathSession}

// pathSession looks at what stands behind the name of a session: …;jsessionid=0123ABCD.node1,
// /(S(lit3py55t21z5v55vlm25s55))/.
func (f *finder) pathSession(id ruleID, at, end int) {
	s := f.s
	switch {
	case s[end-1] == '(':
	case s[at] == '<':
		i := strings.IndexByte(s[end:min(len(s), end+64)], '=')
		if i < 0 {
			return
		}
		end += i + 1
	case s[end-1] != '=':
		i := strings.IndexByte(s[end:min(len(s), end+24)], '=')
		if i < 0 {
			return
		}
		end += i + 1
	}
	to := end
	for to < len(s) && to-end < 512 && (isAlnum(s[to]) && s[to] < 0x80 || strings.IndexByte("!-._~%+", s[to]) >= 0) {
		to++
	}
	f.work += to - end
	if v := s[end:to]; cookieSecret(v) {
		f.add(end, to, id)
	}
}

// cookiePairs says whether a text is pairs of a cookie header: name=value, and more behind a semicolon.
func cookiePairs(v string) bool {
	n := strings.IndexByte(v, '=')
	if n <= 0 {
		return false
	}
	for i := range n {
		if !isWord(v[i]) && v[i] != '-' && v[i] != '.' {
			return false
		}
	}
	return n < 64
}
