// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Codes of a second factor: those that a message brings (your code is 123456), lists of codes for the day
// when the device is lost, and the secrets that they are made of. A number counts beside words that say what
// it is for; codes of errors, postal codes, counts and orders are left alone.

// codeWords are words for a code, in lower case.
var codeWords = []string{"code", "passcode", "kode", "kod:", "kod ", "kodu", "kodunuz", "c\u00f3digo", "codigo", "codice", "\u043a\u043e\u0434", "\u041a\u043e\u0434", "\u9a8c\u8bc1\u7801", "\u9a57\u8b49\u78bc", "\u8a8d\u8a3c\u30b3\u30fc\u30c9", "\u78ba\u8a8d\u30b3\u30fc\u30c9", "\uc778\uc99d\ubc88\ud638", "\uc778\uc99d \ucf54\ub4dc", "\u0e23\u0e2b\u0e31\u0e2a otp", "\u0643\u0648\u062f", "\u0631\u0645\u0632 \u0627\u0644\u062a\u062d\u0642\u0642", "\u05e7\u05d5\u05d3", "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2", "m\u00e3 x\u00e1c", "kode otp",
	"tan lautet", "tan ist", "tan:", "mtan", "smstan", "koodi", "koden", "k\u00f3d", "k\u00f3dja", "otp:", "otp is", "otp code", "pin is", "pin:", "codul", "coduri", "tan-nummer"}

var codeSaid = seeker{rule: "one-time-code", class: Guess, text: "codes of a second factor in a message: your code is …, … is your verification code", words: append(codeWords, "(otp)~is", "otp~for", "otp~to"), find: (*finder).codeSaid}

// codeContext are words that say what a code is for, before it. Those of otherCode say that it is another
// one.
var (
	codeContext = []string{"your", "verification", "verify", "login", "log-in", "sign-in", "signin", "security", "one-time", "one time", "authentication", "authenticator", "2fa", "mfa", "two-factor", "confirmation", "sms", "otp", "passcode", "auth", "access", "temporary", "whatsapp", "google", "telegram", "signal",
		"dein", "deine", "ihr", "ihre", "best\u00e4tigungs", "sicherheits", "anmelde", "votre", "ton", "v\u00e9rification", "connexion", "su", "tu", "verificaci\u00f3n", "seguridad", "seu", "verifica\u00e7\u00e3o", "tuo", "suo", "verifica", "je", "uw", "verificatie", "din", "bekr\u00e6ftelses", "verifierings", "tw\u00f3j", "weryfikacyjny", "do\u011frulama", "onay",
		"\u0432\u0430\u0448", "\u0442\u0432\u043e\u0439", "\u043f\u043e\u0434\u0442\u0432\u0435\u0440\u0436\u0434\u0435\u043d\u0438\u044f", "\u0434\u043b\u044f \u0432\u0445\u043e\u0434\u0430", "\u4f60", "\u60a8", "kode verifikasi", "vahvistus", "meger\u0151s\u00edt", "cod", "ov\u011b\u0159"}
	otherCode = []string{"error", "exit", "status", "http", "zip", "postal", "country", "area", "product", "response", "return", "sort", "currency", "language", "promo", "coupon", "discount", "order", "item", "tracking", "color", "colour", "bar", "qr", "source", "op", "byte", "unicode", "char", "class", "fehler", "postleit",
		"vorwahl", "lines of", "review", "plz", "dialing", "dial", "airport", "branch", "swift", "ifsc", "sku", "unit", "diagnostic", "trouble", "reason", "cost", "tax", "hs", "naics", "icd", "cpt", "building", "postcode", "lines", "stop", "of", "event", "result", "signal number"}
)

// codeNumber returns the range of a code at i: four to eight digits, in two groups perhaps, or six letters
// and digits.
func codeNumber(s string, i int) (to int) {
	to = i
	for to < len(s) && isDigit(s[to]) {
		to++
	}
	n := to - i
	if n == 3 && to+4 <= len(s) && (s[to] == ' ' || s[to] == '-') && isNumber(s[to+1:to+4]) {
		n, to = 6, to+4
	}
	if n < 4 || n > 8 || to < len(s) && (isWord(s[to]) || s[to] == '.' && to+1 < len(s) && isDigit(s[to+1]) || s[to] == '/' || s[to] == '%' || s[to] == ':' && to+1 < len(s) && isDigit(s[to+1])) {
		return i
	}
	return to
}

// codeSaid looks at a number behind a word for a code.
func (f *finder) codeSaid(id ruleID, at, end int) {
	s := f.s
	i := end
	for i < len(s) && i-end < 40 && !isDigit(s[i]) {
		c := s[i]
		if c == '\n' && i > end && s[i-1] != ':' && s[i-1] != '\n' || strings.IndexByte(".=([{;#/", c) >= 0 {
			return
		}
		i++
	}
	if i >= len(s) || i-end >= 40 || i == end || isAlpha(s[i-1]) {
		return
	}
	f.work += i - end
	to := codeNumber(s, i)
	if to == i || to-i == 4 && (s[i:i+2] == "20" || s[i:i+2] == "19") || !saidBehind(s[end:i], to-i) || counts(s[to:]) {
		return
	}
	from := max(0, at-48)
	from += strings.LastIndexAny(s[from:at], "\n.!?;") + 1
	before := strings.ToLower(s[from:i])
	of := max(from, at-24)
	of += strings.LastIndexAny(s[of:at], ",:=/") + 1
	if hasWordOf(strings.ToLower(s[of:i]), otherCode) || strings.Contains(before, "codes ") {
		return
	}
	if !hasWordOf(before, codeContext) && !(s[at] >= 0x80 && end-at > 6) && !hasWordOf(strings.ToLower(s[to:min(len(s), to+64)]), codeBehind) {
		return
	}
	f.add(i, to, id)
}

// codeBehind are words behind a code that say that it is one.
var codeBehind = []string{"valid for", "expires in", "do not share", "don't share", "never share", "g\u00fcltig", "valable", "v\u00e1lido"}

// saidBehind says whether what stands between a word for a code and a number of n characters says that the
// number is the code: it ends with a colon, a word for "is" or a character that is no ASCII. A longer number
// can follow the word directly.
func saidBehind(gap string, n int) bool {
	gap = strings.TrimRight(gap, " \t\r\n\"'*`")
	if google := strings.TrimSuffix(gap, "G-"); google != gap { // your code is G-123456
		gap = strings.TrimRight(google, " ")
	}
	if gap == "" {
		return n >= 6
	}
	last := gap[len(gap)-1]
	if last == ':' || last >= 0x80 {
		return true
	}
	word := gap[strings.LastIndexByte(gap, ' ')+1:]
	return isCopula[strings.ToLower(word)] || len(word) == len(gap) && isAlpha(last) && n >= 6 // kodunuz
}

var isCopula = wordSet("is ist lautet est es er to on este jest adalah je")

// counts says whether a text behind a number goes on with what the number counts: 1200 lines.
func counts(behind string) bool {
	if behind == "" || behind[0] != ' ' {
		return false
	}
	n := 1
	for n < len(behind) && n < 24 && (isLower(behind[n]) || isUpper(behind[n])) {
		n++
	}
	return n > 1 && !codeGoesOn[strings.ToLower(behind[1:n])]
}

// codeGoesOn are words with which a sentence goes on behind a code.
var codeGoesOn = wordSet("and or it this to do don for is if valid expires please never within use enter und zur zum f et y para e per pour voor om den dla i ve the you your")

// hasWordOf says whether one of the words stands at the begin of a word in a text in lower case.
func hasWordOf(lower string, words []string) bool {
	for _, w := range words {
		for from := 0; ; {
			i := strings.Index(lower[from:], w)
			if i < 0 {
				break
			}
			from += i
			after := from + len(w)
			if (from == 0 || !isAlpha(lower[from-1])) && (len(w) > 3 || w[0] >= 0x80 || after == len(lower) || !isAlpha(lower[after])) {
				return true
			}
			from++
		}
	}
	return false
}

var codeFirst = seeker{rule: "code-first", class: Guess, by: "one-time-code", text: "a code before the words that say what it is", words: []string{"~is~your~", "~-~your~", "~to~sign~in", "~to~log~in", "~to~verify", "~to~confirm", "~to~authenticate", "~to~continue", "~to~complete", "~to~access", "~as~your~", "~ist~dein", "~ist~ihr", "~est~votre", "~es~tu~c", "~es~su~c", "~\u00e8~il~tuo~c", "~is~je~", "~is~uw~", "~\u2014~your~", "~is~the~code", "~is~the~otp", "~for~verification", "~for~your~", "~\u00e9~o~seu~c", "~jest~tw", "~is~verif", "~is~otp", "~to~reset"},
	find: (*finder).codeFirst}

// codeFirst looks at a number before the words: G-123456 is your Google verification code, use 123456 to
// sign in.
func (f *finder) codeFirst(id ruleID, at, end int) {
	s := f.s
	from, to := codeEndingAt(s, at)
	if from == to {
		return
	}
	stop := lineBehind(s, at, 96)
	after := strings.ToLower(s[at:stop])
	f.work += stop - from
	if n := strings.IndexAny(after[1:], ".!?;\n"); n >= 0 {
		after = after[:n+1]
	}
	word, digits := strings.ToLower(s[at:end]), to-from
	if strings.Contains(word, " to ") || strings.Contains(word, " for ") {
		if before := strings.ToLower(s[max(0, from-24):from]); !codeIsUsed(before, word, after, digits) {
			return
		}
	} else if !codeIsSaid(after, digits) {
		return
	}
	f.add(from, to, id)
}

// codeEndingAt returns the range of the code that ends before the quotes at at: four to eight digits, or two
// groups of three. It is empty if there is none.
func codeEndingAt(s string, at int) (from, to int) {
	to = at
	for to > 0 && strings.IndexByte("\"'*`", s[to-1]) >= 0 && at-to < 3 {
		to--
	}
	from = to
	for from > 0 && isDigit(s[from-1]) && to-from < 9 {
		from--
	}
	if n := to - from; n == 3 && from >= 4 && (s[from-1] == ' ' || s[from-1] == '-') && isNumber(s[from-4:from-1]) && (from == 4 || !isAlnum(s[from-5])) {
		from -= 4
	} else if n < 4 || n > 8 {
		return 0, 0
	}
	google := from > 1 && s[from-1] == '-' && s[from-2] == 'G'
	if from > 0 && (isWord(s[from-1]) || strings.IndexByte("./:,#", s[from-1]) >= 0) && !google {
		return 0, 0
	}
	return from, to
}

// codeIsUsed says whether the words around a number tell somebody to use it as a code: use 123456 to sign in.
func codeIsUsed(before, word, after string, digits int) bool {
	if hasWordOf(before, []string{"code", "otp", "pin"}) {
		return true
	}
	return hasWordOf(before, []string{"use", "enter", "type", "with"}) && hasWordOf(after, codePurpose) && (digits >= 6 || word == " to verify")
}

// codeIsSaid says whether the words behind a number say that it is a code: … is your verification code.
func codeIsSaid(after string, digits int) bool {
	if digits < 6 && !hasWordOf(after, codeContext[1:]) { // without "your"
		return false
	}
	return hasWordOf(after, codeNouns) && !hasWordOf(after, []string{"order", "invoice", "ticket", "postal", "zip", "promo", "discount", "coupon", "error", "exit", "country"})
}

// codeNouns are words that a number in front of them is called by.
var codeNouns = []string{"code", "otp", "pin", "passcode", "kode", "kod", "c\u00f3digo", "codice", "password", "best\u00e4tigungscode", "verificatiecode", "tan", "2fa", "verification", "best\u00e4tigung", "sicherheitscode", "anmeldecode", "inlogcode", "beveiligingscode"}

// codePurpose are words for what a number is for that is a code.
var codePurpose = []string{"sign in", "log in", "login", "verif", "authenticat", "confirm your", "account", "identity", "reset your", "reset the pass"}

var codeList = seeker{rule: "recovery-codes", class: Known, text: "lists of backup and recovery codes, and recovery keys", words: []string{"backup~code", "backup-code", "backup_code", "backup~verification~code", "recovery~code", "recovery-code", "recovery_code", "scratch~code", "emergency~code", "wiederherstellungscode", "codes~de~secours", "codes~de~r\u00e9cup\u00e9ration", "c\u00f3digos~de~recuperaci\u00f3n", "codigos~de~recuperacion", "c\u00f3digos~de~respaldo", "c\u00f3digos~de~backup", "c\u00f3digos~de~recupera\u00e7\u00e3o", "codici~di~backup", "codici~di~recupero", "back-upcodes", "herstelcodes", "\u0440\u0435\u0437\u0435\u0440\u0432\u043d\u044b\u0435~\u043a\u043e\u0434\u044b", "\u5907\u7528\u4ee3\u7801", "\u6062\u590d\u4ee3\u7801", "\u30d0\u30c3\u30af\u30a2\u30c3\u30d7\u30b3\u30fc\u30c9", "recovery~key", "backup~key", "sicherungscode", "kody~zapasowe", "yedek~kod", "reservkoder", "one-time~codes", "backupcodes", "recoverycodes", "single-use~codes"}, find: (*finder).codesBelow}

// recoveryCode returns the length of a recovery code that a text begins with, 0 if there is none: two to six
// groups of letters and digits, or one of eight or more. Digits stand in it, or capitals alone.
func recoveryCode(s string) int {
	g := readGroups(s)
	if g.end == 0 || goesOnBehindCode(s, g.end) || !g.likeCode() {
		return 0
	}
	return g.end
}

// codeGroups are groups of letters and digits that a text begins with.
type codeGroups struct {
	end, first           int // where the last group ends, how long the first is
	groups               int
	digits, upper, lower int
}

// readGroups reads at most eight groups that hyphens join, or blanks if they are numbers. It returns no end
// if the first group has the length of no code.
func readGroups(s string) (g codeGroups) {
	for g.groups < 8 {
		from := g.end
		i := g.count(s, from)
		n := i - from
		if g.groups > 0 && (n < 3 || n > 12 || n > g.first+4) {
			g.end = from - 1
			break
		}
		if n < 3 || n > 48 {
			return codeGroups{}
		}
		if g.groups == 0 {
			g.first = n
		}
		g.groups++
		g.end = i
		if i+1 >= len(s) || s[i] != '-' && !(s[i] == ' ' && isNumber(s[from:i]) && n <= 6) || !isAlnum(s[i+1]) || s[i+1] >= 0x80 {
			break
		}
		g.end++
	}
	return g
}

// count counts the letters and digits that s[i:] begins with, and returns where they end.
func (g *codeGroups) count(s string, i int) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case isDigit(c):
			g.digits++
		case isUpper(c):
			g.upper++
		case isLower(c):
			g.lower++
		default:
			return i
		}
	}
	return i
}

// goesOnBehindCode says whether what ends at i is a part of something longer: a word, a path, an address.
func goesOnBehindCode(s string, i int) bool {
	if i == len(s) {
		return false
	}
	return isWord(s[i]) || s[i] == '=' || s[i] == '@' || s[i] == '/' || s[i] == '.' && i+1 < len(s) && isAlnum(s[i+1])
}

// likeCode says whether the groups are of the kinds of characters that generated codes consist of.
func (g *codeGroups) likeCode() bool {
	number := g.groups == 1 && g.digits == g.end && g.end >= 6
	date := g.groups == 3 && g.first == 4 && g.end == 10 && g.digits == 8
	if g.end < 8 && !number || date {
		return false
	}
	if g.upper == g.end-g.groups+1 && g.groups >= 3 {
		return true
	}
	return g.digits >= 2 && (g.groups > 1 || g.lower+g.digits == g.end || g.upper+g.digits == g.end || g.upper > 0 && g.lower > 0)
}

// codesBelow looks at codes behind the words: on the same line, on the lines below, in brackets.
func (f *finder) codesBelow(id ruleID, at, end int) {
	s := f.s
	if at < f.codes {
		return
	}
	i := end
	for i < len(s) && (isLower(s[i]) || isUpper(s[i])) && i-end < 4 { // codes
		i++
	}
	limit := min(len(s), i+1200)
	found, misses := 0, 0 // misses: words since the last code
	last := i
	for i < limit && misses < 4 && (found > 0 || misses < 2) && found < 64 {
		from := i
		i = nextWord(s, i, limit)
		if lines := strings.Count(s[last:i], "\n"); lines > 4 || found > 0 && lines > 2 {
			break
		}
		if found == 0 && strings.TrimRight(s[from:i], "/.") != s[from:i] { // a path
			break
		}
		if n := recoveryCode(s[i:limit]); n > 0 {
			f.add(i, i+n, id)
			found, misses = found+1, 0
			i += n
			last, f.codes = i, i
			continue
		}
		from = i
		i = listWordEnd(s, i, limit)
		word := s[from:min(i, limit)]
		if len(word) <= 2 && (isNumber(word) || i < limit && s[i] == '.') { // the number of a line
			continue
		}
		if found > 0 || !listWords[strings.ToLower(word)] {
			misses++
		} else if i-end > 160 {
			break
		}
	}
	f.work += i - end
}

// nextWord returns where the next word begins from i on, limit at most.
func nextWord(s string, i, limit int) int {
	for i < limit && !isAlnum(s[i]) {
		i++
	}
	return i
}

// listWordEnd returns where the word that begins at i ends, at least one byte further.
func listWordEnd(s string, i, limit int) int {
	from := i
	for i < limit && (isAlnum(s[i]) || s[i] == '-' || s[i] == '\'') {
		i++
	}
	return max(i, from+1)
}

// listWords are words between the word for codes and the codes.
var listWords = wordSet("are is your the for and of each can be used once save these keep them safe in a place verification github google account code codes used false true new here is sind lauten sont son key value id generated following to please store it only this two-factor authentication list")

var otpURL = seeker{rule: "otp-url", class: Known, by: "recovery-codes", text: "the secret in the URL of an authenticator", words: []string{"otpauth"}, find: (*finder).otpURL}

func (f *finder) otpURL(id ruleID, at, end int) {
	s := f.s
	if at < f.otp {
		return
	}
	stop := f.urlEnd.next(s, at, min(len(s), at+2048), &endsURL)
	f.work += stop - at
	f.otp = stop
	for _, name := range [...]string{"secret=", "data="} {
		i := strings.Index(strings.ToLower(s[end:stop]), name)
		if i < 0 {
			continue
		}
		from := end + i + len(name)
		to := from
		for to < stop && s[to] != '&' && s[to] != '#' {
			to++
		}
		if v := s[from:to]; len(v) >= 8 && !placeholder(v) && notOneByte(v) {
			f.add(from, to, id)
		}
	}
}

var setupKey = seeker{rule: "setup-key", class: Known, by: "recovery-codes", text: "the secret of an authenticator in base32, beside words for it", words: []string{"setup~key", "totp", "authenticator", "manual~entry", "secret~key", "2fa~secret", "otp~secret", "mfa~secret", "enter~this~key", "this~key", "oathtool", "pyotp", "speakeasy", "einrichtungsschl\u00fcssel", "cl\u00e9~de~configuration", "clave~de~configuraci\u00f3n", "qr~code", "scan~it", "base32", "--otp"}, find: (*finder).setupSecret}

// setupSecret looks at base32 behind the words: sixteen letters and digits or more, in groups of four
// perhaps.
func (f *finder) setupSecret(id ruleID, at, end int) {
	s := f.s
	limit := min(len(s), end+96)
	if nl := strings.Index(s[end:limit], "\n\n"); nl >= 0 {
		limit = end + nl
	}
	for i := end; i < limit; {
		for i < limit && !isAlnum(s[i]) {
			i++
		}
		from := i
		n := base32Secret(s[i:min(len(s), i+160)])
		if n > 0 && (from == 0 || !isWord(s[from-1])) {
			f.add(from, from+n, id)
			break
		}
		for i < limit && isAlnum(s[i]) {
			i++
		}
	}
	f.work += limit - end
}

// base32Secret returns the length of a secret in base32 that a text begins with, 0 if there is none.
func base32Secret(s string) int {
	of := readBase32(s)
	if of.end < len(s) && isWord(s[of.end]) || of.chars < 16 || of.upper != 0 && of.upper+of.digits != of.chars {
		return 0
	}
	v := strings.ToLower(s[:of.end])
	if strings.HasPrefix(v, "abcdefgh") { // the alphabet
		return 0
	}
	whole := of.chars%8 == 0
	if of.digits >= 2 || of.digits > 0 && (of.upper > 0 && whole || of.groups >= 4) || whole && unlikely(v) >= 4 {
		return of.end
	}
	return 0
}

// base32Groups are characters of base32 that a text begins with, in groups of four perhaps.
type base32Groups struct {
	end, groups          int
	chars, digits, upper int
}

// readBase32 reads characters of base32 up to one that is none.
func readBase32(s string) base32Groups {
	of := base32Groups{groups: 1}
	group := 0 // characters of the current group
	for of.end < len(s) && of.chars <= 128 {
		switch c := s[of.end]; {
		case c >= '2' && c <= '7':
			of.digits++
		case isUpper(c):
			of.upper++
		case isLower(c):
		case (c == ' ' || c == '-') && group == 4 && of.end+4 < len(s) && isGroup32(s[of.end+1:of.end+5]):
			of.groups++
			of.end++
			group = 0
			continue
		default:
			return of
		}
		of.chars++
		of.end++
		group++
	}
	return of
}

func isGroup32(v string) bool {
	for i := range len(v) {
		if c := v[i]; !isUpper(c) && !isLower(c) && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
