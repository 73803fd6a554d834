// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// What no grammar of assignments explains: a word that looks like a secret in the same sentence, or on the same line, as a word for one; behind a short
// option of a command; in a call that signs, encrypts or logs in; in the path of a URL; under the name of a setting that says nothing. All of it is a guess,
// so less counts as a secret here than behind a name.

// How far from a word for a secret one is looked for.
const (
	nearBefore = 56
	nearBehind = 104
)

// nearby looks for a secret in the line around the word that begins at start and goes on to end or further.
// password: passwords stand near it.
func (f *finder) nearby(start, end int, password bool) {
	if f.on.rules.entropy == none || f.k.protocol {
		return
	}
	s := f.s
	begin, limit := max(start-nearBefore, f.nearTo, 0), min(end+nearBehind, len(s))
	digit := f.nextDigit(begin, limit) // what is looked for has one
	if digit >= limit {
		return
	}
	name, end := nameNear(s, start, end)
	// Letters of a key or a digest; a member of JSON, whose value was looked at.
	if end-name >= 48 || strings.HasPrefix(s[end:], "\":") {
		return
	}
	lines := 0
	// db_password:⏎  environment: …, API key for the tenant:⏎ …
	if i := strings.IndexByte(s[end:max(limit, end)], '\n'); i > 0 && s[end+i-1] == ':' {
		lines = 3
	}
	seen := begin
	for hold := false; digit < limit; digit = f.nextDigit(seen, limit) {
		from, to := wordAround(s, digit, begin)
		if !hold {
			f.nearTo = to
		}
		seen = to
		f.work += to - from
		inside := from > 0 && !splitsWords[s[from-1]] // of a word that began before the window
		if to-from < 8 || inside || from < end && to > start {
			continue
		}
		from, to, key := f.candidate(from, to)
		if to == from || to <= start && parted(s[to:start], 0) || from >= end && parted(s[end:from], lines) {
			continue
		}
		if !key && !password {
			if password = ofPassword(s[name:end]) || f.r.Named(s[name:end]).secret; !password {
				hold = true // it may stand near the next word
				continue
			}
		}
		if unlikely(s[name:end]) > 2 { // letters of a key or a digest
			return
		}
		f.add(from, to, f.on.rules.entropy)
	}
}

// nameNear returns the range of the name around a word, at most 64 bytes of it.
func nameNear(s string, start, end int) (from, to int) {
	from = start
	for from > 0 && isWord(s[from-1]) && start-from < 48 {
		from--
	}
	for end < len(s) && isWord(s[end]) && end-from < 64 {
		end++
	}
	return from, end
}

// wordAround returns the range of the word around a place, from begin on.
func wordAround(s string, at, begin int) (from, to int) {
	from, to = at, at
	for from > begin && !splitsWords[s[from-1]] {
		from--
	}
	for to < len(s) && to-from < 256 && !splitsWords[s[to]] {
		to++
	}
	return from, to
}

// parted says whether the end of a sentence stands in a text, or more than so many ends of lines, behind each of which the next is indented.
func parted(s string, lines int) bool {
	for i := range len(s) {
		switch s[i] {
		case '\n':
			if lines--; lines < 0 || i+1 < len(s) && s[i+1] > ' ' {
				return true
			}
		case ' ':
			if i > 0 && strings.IndexByte(".!?;", s[i-1]) >= 0 {
				return true
			}
		}
	}
	return false
}

// candidate returns what of a word looks like a key, or like a password: an empty range if nothing does.
func (f *finder) candidate(at, end int) (from, to int, key bool) {
	s := f.s
	for at < end && strings.IndexByte("*-_:=/", s[at]) >= 0 {
		at++
	}
	for end > at && strings.IndexByte(".,:;!?*_", s[end-1]) >= 0 {
		end--
	}
	word, before := s[at:end], ""
	if cut := strings.LastIndexAny(word, "=:"); cut > 0 && cut < len(word)-1 { // ada:…, name=…
		before, word = word[:cut], word[cut+1:]
	}
	if len(word) < 8 || strings.IndexByte(s[at:end], '@') > 0 || !lettered(word) || percentEncoded(word) {
		return 0, 0, false
	}
	if key = keylike(word); !key && !invented(word) {
		return 0, 0, false
	}
	if before == "" {
		before = wordBefore(s, at)
	}
	if of := strings.ToLower(strings.TrimRight(before, ".:#=,")); ofOthers[of] || protocolName(of) {
		return 0, 0, false
	}
	return end - len(word), end, key
}

// lettered holds for a word with three letters or more that is no path and no dotted name.
func lettered(word string) bool {
	letters := 0
	for i := range len(word) {
		if isAlpha(word[i]) {
			letters++
		}
	}
	return letters >= 3 && strings.Count(word, ".") < 3 && !strings.ContainsAny(word, "/\\")
}

// percentEncoded holds for a word in percent encoding, which is looked at without it.
func percentEncoded(word string) bool {
	i := strings.IndexByte(word, '%')
	if i < 0 {
		return false
	}
	_, ok := hexAt(word, i+1, 2)
	return ok
}

// wordBefore returns the word before a place, behind at most four bytes that split words.
func wordBefore(s string, at int) string {
	end := at
	for end > 0 && splitsWords[s[end-1]] && at-end < 4 {
		end--
	}
	from := end
	for from > 0 && end-from < 24 && !splitsWords[s[from-1]] {
		from--
	}
	return s[from:end]
}

// ofPassword holds for words, and ends of names, near which passwords stand though they are no names of one: login, input_pw.
func ofPassword(name string) bool {
	for _, end := range [...]string{"pass", "auth", "login", "creds", "logins", "pw", "pwd"} {
		if at := len(name) - len(end); at >= 0 && equalLowered(name[at:], end) {
			return true
		}
	}
	return false
}

// cryptWords are parts of names beside which 32 hexadecimal digits under "key" are no digest.
var cryptWords = strings.Fields("crypt cipher encrypt aes hmac sign secret privat licen master auth")

// splitsWords holds for what stands between words of a line.
var splitsWords = classWith(" \t\r\n\"'`<>,;()[]{}|")

// ofOthers stand before names that look like secrets, and are those of accounts, machines, files and versions.
var ofOthers = wordSet(`user username login account host hostname server machine cluster node pod container image tag branch commit revision rev sha version release build model file path
	ticket issue order request trace span run job task id uuid guid key-id hash digest checksum etag device serial bucket table database db schema project region zone by from ref name
	at in part chapter section figure step line page see flight tracking sku`)

// protocolName says whether a name is that of an id or a digest: request_id, commitSha.
func protocolName(name string) bool {
	for _, end := range [...]string{"id", "ids", "uuid", "sha", "hash", "digest", "etag", "checksum", "version"} {
		if before, ok := strings.CutSuffix(name, end); ok && (before == "" || strings.IndexByte("_-.", before[len(before)-1]) >= 0 || isLower(before[len(before)-1]) && len(name) > len(end)+2 && end != "ids" && end != "id") {
			return true
		}
	}
	return false
}

// option looks at the value of a short option of a command that starts at at with a space: -p …, -pw …,
// -u name:….
func (f *finder) option(at int) {
	if f.on.rules.entropy == none || f.k.protocol {
		return
	}
	s := f.s
	i := at + 2
	for i < len(s) && isAlpha(s[i]) && i-at < 8 {
		i++
	}
	flag := s[at+2 : i]
	from := i
	for from < len(s) && from-i < 3 && strings.IndexByte(" ='\"", s[from]) >= 0 {
		from++
	}
	if from == i {
		return
	}
	to := from
	for to < len(s) && to-from < 256 && strings.IndexByte(" \t\r\n\"'`|<>\\", s[to]) < 0 {
		to++
	}
	f.work += to - at
	v := strings.TrimRight(s[from:to], ";,.)&")
	if token.ProtectedAt(v) > 0 || strings.Contains(v, "://") || len(v) < 8 {
		return
	}
	if skip := secretOfOption(flag, v); skip >= 0 {
		f.add(from+skip, from+len(v), f.on.rules.entropy)
	}
}

// secretOfOption returns where the secret in the value of a short option begins, -1 if there is none.
func secretOfOption(flag, v string) int {
	switch flag {
	case "u", "U", "a", "l":
		if cut := strings.IndexAny(v, ":%/"); cut > 0 && invented(v[cut+1:]) {
			return cut + 1
		}
		if flag == "a" && invented(v) {
			return 0
		}
	case "p", "P", "w", "W", "pw", "pass", "y", "rp":
		if invented(v) || keylike(v) || len(flag) > 1 && strong(v) && !placeholder(v) {
			return 0
		}
	case "k", "K", "t", "T", "s", "x":
		if keylike(v) && strings.IndexByte(v, '/') < 0 {
			return 0
		}
	}
	return -1
}

// shortOptions are the begins of options that carry a password or a key in one command or another.
var shortOptions = []string{" -p ", " -p'", " -p\"", " -w ", " -pw ", " -pass ", " -u ", " -u'", " -u\"", " -a ", " -k ", " -t ", " -s ", " -x ", " -y ", " -l "}

// call looks at the literals among the arguments of a call that signs, encrypts or logs in. The word for that
// stands at at.
func (f *finder) call(at int) {
	if f.on.rules.entropy == none || f.k.protocol {
		return
	}
	s := f.s
	open := at
	for open < len(s) && open-at < 40 && (isWord(s[open]) || s[open] == '.' || s[open] == ':') {
		open++
	}
	if open >= len(s) || s[open] != '(' || open < f.called {
		return
	}
	ciphers := containsPart(s[at:open], cipherWords)
	depth, i := 0, open
	for ; i < len(s) && i-open < 320; i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '"', '\'', '`':
			var from, to int
			from, to, i = callLiteral(s, i)
			if f.isArgumentSecret(open, from, s[from:to], ciphers) {
				f.add(from, to, f.on.rules.entropy)
			}
		}
		if depth == 0 {
			break
		}
	}
	f.called = i
	f.work += i - at
}

// callLiteral returns the range of the literal whose quote stands at i, and where the quote stands that
// closes it.
func callLiteral(s string, i int) (from, to, shut int) {
	quote, slashed := s[i], i > 0 && s[i-1] == '\\'
	from = i + 1
	for to = from; to < len(s) && s[to] != quote && s[to] != '\n' && to-from < 300; to++ {
	}
	shut = to
	if shut+1 < len(s) && s[shut] == '\n' && s[shut+1] == quote { // write(b"…⏎")
		shut++
	}
	if slashed && to > from && s[to-1] == '\\' {
		to--
	}
	return from, to, shut
}

// isArgumentSecret says whether a literal at from is the secret that a call is given. ciphers: the call
// signs or encrypts, so that it is given a key.
func (f *finder) isArgumentSecret(open, from int, v string, ciphers bool) bool {
	if len(v) < 8 || placeholder(v) || token.ProtectedAt(v) > 0 || prose(v) || algorithm(v) {
		return false
	}
	if invented(v) || keylike(v) || f.clientKey(open, from, v) {
		return true
	}
	return ciphers && (len(v) >= 16 && random(v) || isHex(v) && len(v) >= 32 && len(v)%8 == 0 && notOneByte(v))
}

// clientKey says whether the literal v at from is a key in hexadecimal digits that a client is made with, behind its account: Client("account", "…").
func (f *finder) clientKey(open, from int, v string) bool {
	return open >= 6 && equalLowered(f.s[open-6:open], "client") && strings.IndexByte(f.s[open:from], ',') > 0 && isHex(v) && len(v) >= 32 && len(v) <= 64 && notOneByte(v) && hasDigit(v)
}

// algorithm holds for names of ciphers and of sets of them: ECDHE-RSA-AES128-GCM-SHA256.
func algorithm(v string) bool {
	return strings.Count(v, "-") >= 2 && containsPart(v, []string{"aes", "sha", "rsa", "gcm", "cbc", "ecdsa", "hmac", "chacha"})
}

// calls are parts of the names of functions that are given a secret.
var calls = strings.Fields(`sign( hmac cipher encrypt decrypt fernet kdf2 scrypt( hkdf( login( auth( authenticate( unlock( connect( client( bearer( apikey( secret( session( signin( sign_in(
	setauth setcred basicauth verify( withauth derive digest( init( initialize( configure( token( connection( authorize( setkey( secretkey( importkey( passwd( crypt( keyspec(
	ftp( pdo( database( construct( sendline( send_keys( ssh( smtp( imap( ldap( winrm write( password( hash( fill( type( serializer( credential( credentials( keystore strcmp( protect( passwordauth`)

var cipherWords = strings.Fields("hmac cipher crypt fernet kdf sign derive key")

func containsPart(s string, parts []string) bool {
	s = strings.ToLower(s)
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// setting looks at a run of characters at start that stands alone behind a name that says nothing about
// secrets, or as a part of the path of a URL.
func (f *finder) setting(start, end int, body string) {
	if f.on.rules.entropy == none || f.k.protocol {
		return
	}
	s := f.s
	switch {
	case strings.IndexByte(body, '/') > 0 || start > 0 && s[start-1] == '/':
		f.inPath(start, body)
	case start == 0 && end == len(s): // all of a value
		if f.k.setting && opaque(body) {
			f.add(start, end, f.on.rules.entropy)
		}
	case start >= 4 && (joins(s, start, body) || f.behindSetting(start, body)):
		f.add(start, end, f.on.rules.entropy)
	}
}

// joins says whether a command before start lets a machine in by the secret in its argument.
func joins(s string, start int, body string) bool {
	if s[start-1] != ' ' || len(body) < 36 || len(body) > 512 {
		return false
	}
	word := s[max(0, start-16) : start-1]
	at := strings.LastIndexAny(word, " \n")
	return at >= 0 && joinWords[word[at+1:]] && random(body) && !isHex(body)
}

// behindSetting says whether a run of characters at start is assigned to the name of a setting.
func (f *finder) behindSetting(start int, body string) bool {
	s := f.s
	i := start
	for i > 0 && start-i < 6 && strings.IndexByte("\"'\\ ", s[i-1]) >= 0 {
		i--
	}
	if i == 0 || s[i-1] != '=' && s[i-1] != ':' {
		return false
	}
	for i--; i > 0 && start-i < 14 && strings.IndexByte("\"'\\ ", s[i-1]) >= 0; i-- {
	}
	from := i
	for from > 0 && nameChar(s[from-1]) && i-from < 64 {
		from--
	}
	name, of := s[from:i], opaque(body)
	if len(name) >= 5 && (of || envStyle(name) && keylike(body)) && f.r.Named(name).setting {
		return true
	}
	// Forgejo internal: …
	return of && from > 0 && s[from-1] == ' ' && f.r.classify(s[wordsBefore(s, from):i]).setting
}

// blocks are the names of maps in YAML whose values are secrets by the definition of the format: Secret of Kubernetes, data sources of Grafana.
var blocks = []string{"stringdata:", "securejsondata:", "secure_json_data:"}

// maxBlockLines bounds the lines of a block.
const maxBlockLines = 32

// block looks at the values of the lines that are indented further than the line of a block, which goes on at i.
func (f *finder) block(i int) {
	s := f.s
	begin := f.line.last(s, i, 256, &beginsLine)
	indent := 0
	for begin+indent < i && s[begin+indent] == ' ' {
		indent++
	}
	for range maxBlockLines {
		next := strings.IndexByte(s[i:min(len(s), i+1024)], '\n')
		if next < 0 {
			return
		}
		i += next + 1
		at := i
		for at < len(s) && s[at] == ' ' {
			at++
		}
		if at-i <= indent || at == len(s) {
			return
		}
		end := at
		for end < len(s) && end-at < 1024 && s[end] != '\n' && s[end] != '\r' {
			end++
		}
		f.work += end - i
		colon := strings.Index(s[at:end], ": ")
		if colon < 0 {
			continue
		}
		from, to := at+colon+2, end
		for from < to && strings.IndexByte(" \"'", s[from]) >= 0 {
			from++
		}
		for to > from && strings.IndexByte(" \"'", s[to-1]) >= 0 {
			to--
		}
		if v := s[from:to]; len(v) >= 6 && (strong(v) || random(v) || passwordLike(v)) && !placeholder(v) && token.ProtectedAt(v) == 0 {
			f.add(from, to, f.on.rules.assignment)
		}
	}
}

var beginsLine = classWith("\n")

// opaque holds for 32 to 128 characters of all kinds that nothing divides into words, as keys are and names, paths and digests are not.
func opaque(v string) bool {
	return len(v) >= 32 && len(v) <= 128 && keylike(v) && strings.IndexByte(v, '/') < 0 && strings.IndexByte(v, '.') < 0 && unlikely(v) >= 3 && digitCount(v) >= 3 && v != strings.ToLower(v)
}

// accountWords stand near a password in commands and settings that name no password: cf create-user ada …, poetry config http-basic.corp ada ….
var accountWords = strings.Fields(`create-user create_user add-user add_user adduser useradd usercreate newuser http-basic http_basic connectinfo logon sign-on basic-auth basicauth addaccount
	add-account create-account user~add user~create user~mod user~set user~new add~user new~user create~user login: connect~to chgusr signon authenticate~as usrprf wlan ssid wifi wi-fi airport cache_peer mysql_servers encrypt_string auth-user log~in~`)

// joinWords are commands behind which a secret alone lets a machine in: cloudflared service install ….
var joinWords = wordSet("install join connect login enroll register activate link auth authenticate authorize unlock redeem up join-cluster attach onboard pair")

// pathWords stand before a secret in the path of a URL: /t/<token>/, /hooks/…, /rpc/….
var pathWords = wordSet(`t token tokens key keys hook hooks webhook webhooks secret secrets auth bot rpc eth mainnet sepolia goerli bsc polygon solana base arbitrum invite invites reset verify confirm magic unsubscribe
	activate share s ical calendar feed private download-token access capability cap join pair ws wss ingest collect push relay services`)

// inPath looks at the parts of a path in a run that starts at start, which was cut at everything that is no character of base64.
func (f *finder) inPath(start int, body string) {
	s := f.s
	// The run begins within the URL, at the last part of its host: …com/eth/….
	line := max(0, start-160)
	if at := strings.LastIndex(s[line:start], "://"); at < 0 || strings.ContainsAny(s[line+at:start], " \t\n\"'<>") {
		return
	} else if scheme := line + at; strings.IndexByte(s[scheme:start], '?') >= 0 {
		return
	}
	before := ""
	if start > 0 && s[start-1] == '/' {
		before = s[max(0, start-24) : start-1]
		before = before[strings.LastIndexAny(before, "/.")+1:]
	}
	f.work += len(body) + 160
	for at := 0; at < len(body); {
		n := strings.IndexByte(body[at:], '/')
		if n < 0 {
			n = len(body) - at
		}
		part := body[at : at+n]
		if pathWords[strings.ToLower(before)] && (keylike(part) || len(part) >= 32 && isHex(part) && notOneByte(part) && hasDigit(part)) {
			f.add(start+at, start+at+n, f.on.rules.entropy)
		}
		before = part
		at += n + 1
	}
}
