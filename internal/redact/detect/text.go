// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// found is a hit in a text: a half-open byte range and the rule.
type found struct {
	start, end int
	rule       ruleID
}

// ruleID is the place of a rule in the table of a Redactor; none for a rule that is switched off.
type ruleID int32

const none ruleID = -1

// finder looks through one text. It is used once.
type finder struct {
	r    *Detector
	on   *switches
	k    *Name
	s    string
	user []*userRule
	// sure: no guesses.
	sure bool
	// decoded is how many encodings the text was unwrapped from.
	decoded int
	out     []found
	// rows are the last table whose columns were looked at, cookie is the end of the last Cookie header.
	rows   [2]int
	cookie int
	// assigned is the end of the last name that was looked at as that of an assignment.
	assigned int
	// pair is the name that is looked at, with its value. It lies here so that it is not allocated for each
	// name.
	pair assignment
	// searched is how far rules have looked, gaps what those with a gap know.
	searched map[ruleID]int
	gaps     map[*shape]*gapState
	// sign is where the next character stands that no name is written with, as far as is known; see assignedBehind.
	signFrom, sign int
	// manifests are the places that say that a manifest is of a secret, manifest the first that is of interest.
	manifests [][]int
	manifest  int
	// valueEnd is where the values end that were judged so far as those of names.
	valueEnd int
	stops    [3]stopAt
	// nearTo is how far secrets were looked for near words for them, called how far in the arguments of calls.
	nearTo, called int
	digit          stopAt // what is known of the next digit
	ascii          bool
	// What is known of the ends of URLs and the begins of their user infos, and of the begins of lines.
	urlEnd     stopAt
	info, line begunAt
	// How far rules have looked that hang on words, and where the last URL of a link begins.
	pem, formed, linked, jar, codes, signed, digested, planned, recorded, literal, tableless, parameter, otp int
	linkBegin                                                                                                begunAt
	// work counts the bytes that patterns and detectors were given.
	work int
}

// maxDecoded bounds encodings in encodings in one text: base64 in percent signs in escapes.
const maxDecoded = 4

// find returns what the rules find in a text, as ranges that do not overlap, in order. It is a function of the text, the name and the
// profile alone.
func (r *Detector) find(s string, k *Name, user []*userRule, decoded int) []found {
	return r.search(s, k, user, decoded, false)
}

// search is find, and where sure is said, by the rules alone that do not guess.
func (r *Detector) search(s string, k *Name, user []*userRule, decoded int, sure bool) []found {
	return r.look(s, k, user, decoded, sure, false)
}

// look is search. whole: the text was put together from pieces. It is not put together again, and its escapes
// are not undone: that was done before, and all orders of all ways would be many.
func (r *Detector) look(s string, k *Name, user []*userRule, decoded int, sure, whole bool) []found {
	if len(s) < gramLen {
		return nil
	}
	f := finders.Get().(*finder)
	*f = finder{r: r, on: &r.on, k: k, s: s, user: user, decoded: decoded, sure: sure}
	if sure {
		f.on = &r.sure
	}
	f.keywords()
	if s[0]|0x20 == 'p' && s[1]|0x20 == 'w' && (f.on.rules.assignment != none || f.on.rules.entropy != none) { // a name of two letters is a keyword behind something only
		f.assignment(0)
	}
	if len(k.ids) > 0 && f.on.national && decoded == 0 {
		f.labelled(0, k.ids)
	}
	has := marksOf(s)
	if has&markAt != 0 {
		f.emails()
	}
	if has&markDigit != 0 {
		f.numbers()
	}
	if has&markColon != 0 {
		f.ipv6()
	}
	f.runs()
	if has&markTilde != 0 {
		f.tildes()
	}
	f.userRules()
	if decoded < maxDecoded && !whole {
		f.joined()
		f.wrappedKeys()
		if has&markEscape != 0 {
			f.escaped()
		}
		if has&markPercent != 0 {
			f.percent()
		}
		if has&markFold != 0 {
			f.folded()
		}
	}
	if r.work != nil {
		r.work.Add(int64(len(s) + f.work))
	}
	out := united(f.out)
	*f = finder{} // it keeps no text
	finders.Put(f)
	return out
}

// finders are reused: rules that hang on words are called through functions, so a finder cannot lie on the
// stack.
var finders = sync.Pool{New: func() any { return new(finder) }}

// add notes a hit, without the white space around it.
func (f *finder) add(start, end int, rule ruleID) {
	if rule == none {
		return
	}
	for start < end && f.s[start] <= ' ' {
		start++
	}
	for start < end && f.s[end-1] <= ' ' {
		end--
	}
	if start < end && !f.r.allowed(f.s[start:end]) {
		f.out = append(f.out, found{start, end, rule})
	}
}

// united merges ranges that overlap. The rule of the longest part names the whole; of equal ones, the one that comes first in the
// table.
func united(in []found) []found {
	if len(in) < 2 {
		return in
	}
	slices.SortFunc(in, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(a.rule, b.rule))
	})
	out := in[:1]
	longest := in[0].end - in[0].start
	for _, x := range in[1:] {
		last := &out[len(out)-1]
		if x.start >= last.end {
			out = append(out, x)
			longest = x.end - x.start
			continue
		}
		if n := x.end - x.start; n > longest || n == longest && x.rule < last.rule {
			longest, last.rule = n, x.rule
		}
		last.end = max(last.end, x.end)
	}
	return out
}

// keywords runs the rules that hang on a word.
func (f *finder) keywords() {
	f.vocabulary(&f.r.words)
	if f.ascii = isASCII(f.s); !f.ascii {
		f.nearTo = 0
		f.vocabulary(&f.r.foreign)
	}
}

func (f *finder) vocabulary(v *vocabulary) {
	var store [64]wordAt
	for i := 0; i < len(f.s); {
		var words []wordAt
		i, words = v.next(f.s, i, store[:0])
		for _, w := range words {
			f.word(w.at, v.actions[w.id])
		}
	}
}

// word does what a word sets off that stands at at.
func (f *finder) word(at int, actions []action) {
	for i := range actions {
		a := &actions[i]
		switch a.kind {
		case actRule:
			if !f.silent(a.rule) {
				f.pattern(f.r.rules[a.rule], a.rule, a.word, at)
			}
		case actAssignment:
			f.assignment(at + a.word)
		case actOption:
			f.option(at)
		case actCall:
			f.call(at)
		case actNear:
			f.nearby(at, at, true)
		case actBlock:
			f.block(at + a.word)
		case actURL:
			f.url(at)
		case actSeek:
			if !f.silent(a.rule) {
				a.seek(f, a.rule, at, at+a.word)
			}
		case actPassword:
			f.password(at, at+a.word, a.key)
		case actLabel:
			f.label(at, at+a.word, a.ids)
		}
	}
}

// silent says whether a rule guesses where nothing is guessed: for the gate, and under the name of an id.
func (f *finder) silent(id ruleID) bool {
	return f.r.rules[id].Class == Guess && (f.sure || f.k.protocol)
}

// label looks for the identity number that belongs to the label s[at:end]. The label is a word, or one of the
// words of a name.
func (f *finder) label(at, end int, forms []int) {
	s := f.s
	if at > 0 && isWord(s[at-1]) && s[at-1] != '_' && !(isUpper(s[at]) && isLower(s[at-1])) {
		return
	}
	end = camelLabel(s, end)
	if end < len(s) && isAlpha(s[end]) && s[end] != 's' && !(isUpper(s[end]) && isLower(s[end-1])) {
		return
	}
	before := len(f.out)
	if f.labelled(end, forms); len(f.out) == before {
		f.asLabelled(at, forms)
	}
}

// camelLabel returns the end of a label that goes on as the names of programs do: passportNo, driverLicenseNumber.
func camelLabel(s string, end int) int {
	if end >= len(s) {
		return end
	}
	if s[end]|0x20 == 'n' { // Reisepassnummer
		for _, word := range [...]string{"nummer", "number", "nr", "numer"} {
			if len(s)-end >= len(word) && equalLowered(s[end:end+len(word)], word) {
				return end + len(word)
			}
		}
	}
	if !isUpper(s[end]) || !isLower(s[end-1]) {
		return end
	}
	for _, word := range [...]string{"Number", "Num", "No", "Nr", "Id", "Code"} {
		if strings.HasPrefix(s[end:], word) {
			return end + len(word)
		}
	}
	return end
}

// pattern runs a rule at one of its words, unless that stands in what the rule has looked at already.
func (f *finder) pattern(r *rule, id ruleID, word, at int) {
	if at < f.searched[id] {
		return
	}
	r.once.Do(r.compile)
	if r.besideOf && !f.assignedBehind(at) {
		return
	}
	t := r.byWord[word]
	from := at + t.offset
	if until := f.find(r, t.shape, id, from, func(start, end int) { f.add(start, end, id) }); until > 0 {
		if f.searched == nil {
			f.searched = map[ruleID]int{}
		}
		f.searched[id] = until
	}
}

// assignedBehind says whether a sign of an assignment stands behind the name that begins at at. It looks as far as a name of a service and what may
// follow it reach. It looks for the next such sign once for all names before it.
func (f *finder) assignedBehind(at int) bool {
	if at < f.signFrom || at >= f.sign {
		i := at
		for i < len(f.s) && besideChars[f.s[i]] {
			i++
		}
		f.work += i - at
		f.signFrom, f.sign = at, i
	}
	return f.sign-at <= maxBeside && f.sign < len(f.s) && strings.IndexByte("=>:|?,", f.s[f.sign]) >= 0
}

// maxBeside bounds the name of a service, and what stands between it and the sign of an assignment.
const maxBeside = 64

// besideChars stand in names and between them and the sign.
var besideChars = func() (c class) {
	for b := range c {
		c[b] = b < 0x80 && (isWord(byte(b)) || strings.IndexByte(".- \t\r\n\f\v'\"", byte(b)) >= 0)
	}
	return c
}()

// runs looks at text that has no word to hang on: long runs of characters of base64. They can be keys by their form or hold an
// encoded secret.
func (f *finder) runs() {
	s := f.s
	const least = 22
	for i := 0; i+least <= len(s); {
		// A run that holds all of [i, i+least) is found by its last byte first: most text is skipped word by word.
		if n := behindGap8(load(s, i+least-8)); n > 0 {
			i += least - 8 + n
			continue
		}
		j := i + least - 1
		for j >= i && isBase64(s[j]) {
			j--
		}
		if j >= i {
			i = j + 1
			continue
		}
		end := i + least
		for end < len(s) && isBase64(s[end]) {
			end++
		}
		body := end
		for end < len(s) && s[end] == '=' && end-body < 2 {
			end++
		}
		f.run(i, end)
		i = end + 1
	}
}

// behindGap8 returns how many of eight bytes stand before or on the last one below '+', as spaces and quotes are; 0 if there is none.
func behindGap8(x uint64) int {
	const low, high = 0x0101010101010101, 0x8080808080808080
	return (bits.Len64(^((x|high)-low*'+')&^x&high) + 7) / 8
}

var base64Chars = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = b < 0x80 && isAlnum(b) || b == '+' || b == '/' || b == '-' || b == '_'
	}
	return t
}()

func isBase64(c byte) bool { return base64Chars[c] }

// run looks at one run of base64 characters.
func (f *finder) run(start, end int) {
	s := f.s
	text := s[start:end]
	body := strings.TrimRight(text, "=")
	prev := byte(0)
	if start > 0 {
		prev = s[start-1]
	}
	f.head(start, end)
	if slash := strings.LastIndexByte(body, '/'); slash >= 0 {
		f.head(start+slash+1, end)
	}
	f.behind(start, end, body, prev)
	f.family(start, body)
	f.setting(start, end, body)
	end = f.service(start, end, body, prev)
	if f.on.rules.anywhere != none && !f.k.protocol && len(body) >= 24 && random(body) && entropy(body) >= 3.8 {
		f.add(start, end, f.on.rules.anywhere)
	}
	if len(body) >= 20 && f.decoded < maxDecoded {
		f.base64(start, end, body)
		f.otherBases(start, end, body)
	}
}

// service looks at runs that are the keys of Twilio, Vault, Telegram or AWS by their length and what stands
// before them. It returns where the run ends, without the path behind the token of a bot.
func (f *finder) service(start, end int, body string, prev byte) int {
	switch n := len(body); {
	case n == 34 && (strings.HasPrefix(body, "SK") || strings.HasPrefix(body, "AC")) && isHex(body[2:]):
		f.add(start, end, f.on.rules.twilio)
	case n == 24 && prev == '.' && f.startsWord(start-2, "s.") && isPlain(body) && randomish(body) && !symbol(body):
		f.add(start-2, end, f.on.rules.vault)
	case n >= 24 && prev == '.' && vaultPrefixed(f.s, start):
		f.add(start-4, end, f.on.rules.vault)
	case n >= 35 && prev == ':' && isBotToken(f.s, start, body):
		from := start - 1
		for from > 0 && isDigit(f.s[from-1]) {
			from--
		}
		end = start + 35
		f.add(from, end, f.on.rules.telegram)
	case n == 40 && !f.k.protocol && awsSecret(body) && f.nearAWS(start, end):
		f.add(start, end, f.on.rules.awsSecret)
	}
	return end
}

// startsWord says whether a text stands at at, and no word goes on with it.
func (f *finder) startsWord(at int, text string) bool {
	return at >= 0 && strings.HasPrefix(f.s[at:], text) && (at == 0 || !isWord(f.s[at-1]))
}

// vaultPrefixed says whether the prefix of a token of Vault ends before start: hvs., hvb., hvr..
func vaultPrefixed(s string, start int) bool {
	return start >= 4 && s[start-4:start-2] == "hv" && strings.IndexByte("sbr", s[start-2]) >= 0
}

// isBotToken says whether a run is the second half of the token of a Telegram bot:
// /bot123456789:…/sendMessage.
func isBotToken(s string, start int, body string) bool {
	return start >= 9 && (len(body) == 35 || body[35] == '/') && isNumber(s[start-9:start-1]) && randomish(body[:35])
}

// head runs the rules whose values begin as a run does.
func (f *finder) head(start, end int) {
	if end-start < 22 || start > 0 && isWord(f.s[start-1]) {
		return
	}
	first := [2]byte{lowered[f.s[start]], lowered[f.s[start+1]]}
	for _, h := range f.r.heads[string(first[:])] {
		f.pattern(f.r.rules[h.rule], h.rule, h.word, start)
	}
}

// familyWords are words with which keys of many services begin, in the notation <service>_<word>_<random>: hl_sk_…, gitpod_pat_…, acme-secret-….
var familyWords = wordSet("sk sec secret key token tok tkn pat apikey apitoken privkey seckey")

// family looks for keys that say so themselves: a few short words, one of them of familyWords, and then
// nothing but random characters.
func (f *finder) family(start int, body string) {
	if f.k.protocol || f.on.rules.entropy == none || len(body) < 24 || start > 0 && (isWord(f.s[start-1]) || f.s[start-1] == '.' || f.s[start-1] == '/') {
		return
	}
	from, said := behindFamily(body)
	rest := body[from:]
	// The name of a pod: secret-operator-7d9f8b6c5-x2x5q.
	if said && !hexDigest(rest) && longestPart(rest) <= 10 {
		return
	}
	if said && familyKey(rest) || from >= 4 && isAlpha(body[2]) && !idPrefixes[strings.TrimRight(body[:from], "-_")] && keyBody(rest) {
		f.add(start, start+len(body), f.on.rules.entropy)
	}
}

// behindFamily returns where a key goes on behind at most three short words. said: one of them is of
// familyWords.
func behindFamily(body string) (from int, said bool) {
	for range 3 {
		i := from
		for i < len(body) && i-from <= 12 && (isLower(body[i]) || isDigit(body[i])) {
			i++
		}
		if i == from || i >= len(body) || body[i] != '_' && body[i] != '-' || !isLower(body[from]) || len(body)-i <= 20 {
			break
		}
		said = said || familyWords[body[from:i]]
		from = i + 1
	}
	return from, said
}

// familyKey holds for what stands behind a word for a key: 20 random characters or more, few of them dashes.
func familyKey(rest string) bool {
	if len(rest) < 20 || !random(rest) || strings.Count(rest, "-")+strings.Count(rest, "_") > 4 {
		return false
	}
	if isHex(rest) {
		return len(rest) >= 32
	}
	return entropy(rest) >= 3.5
}

// longestPart returns the length of the longest part of a name between its dashes and underscores.
func longestPart(v string) (n int) {
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '-' || r == '_' }) {
		n = max(n, len(part))
	}
	return n
}

// idPrefixes stand before ids and digests that are as long and as random as keys are.
var idPrefixes = wordSet(`sha256 sha384 sha512 sha1 md5 call toolu msg chatcmpl cmpl resp run item event evt thread step batch file asst req request session conv trace span cursor
	page next data css img etag nonce cs cs_live cs_test seti cus sub`)

// keyBody holds for 32 characters or more of all kinds without a break, which ids are shorter than.
func keyBody(v string) bool {
	if len(v) < 32 || !isPlain(v) {
		return false
	}
	var upper, lower, digit int
	for i := range len(v) {
		switch c := v[i]; {
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		default:
			digit++
		}
	}
	return upper >= 6 && lower >= 6 && digit >= 3 && entropy(v) >= 4
}

// behind looks at runs that belong to what stands before or behind them: three parts of a Discord token,
// pat….<hex>, 1/<gid>:<hex>.
func (f *finder) behind(start, end int, body string, prev byte) {
	s, n := f.s, len(body)
	switch {
	case prev == '.' && f.behindDot(start, end, body):
	case prev == ':' && n == 32 && start >= 17 && isHex(body) && isNumber(s[start-16:start-1]):
		from := start - 16
		for from > 0 && (isDigit(s[from-1]) || s[from-1] == '/') {
			from--
		}
		if s[from+1] == '/' {
			f.addNamed(from, end, "asana-token")
		}
	case n == 36 && strings.HasPrefix(s[end:], ":fx") && hexDigest(body):
		f.addNamed(start, end+3, "deepl-key")
	case n >= 23 && n <= 28 && strings.IndexByte("MNO", body[0]) >= 0 && len(s) > end+34 && s[end] == '.' && s[end+7] == '.' && random(body):
		last := end + 8
		for last < len(s) && isBase64(s[last]) {
			last++
		}
		if last-end >= 34 {
			f.addNamed(start, last, "discord-token")
		}
	}
}

// behindDot looks at a run behind a prefix that ends with a dot, and says whether it is that of a key.
func (f *finder) behindDot(start, end int, body string) bool {
	s, n := f.s, len(body)
	switch {
	case n >= 40 && start >= 18 && isHex(body) && s[start-18:start-15] == "pat" && isPlain(s[start-18:start-1]):
		f.addNamed(start-18, end, "airtable-pat")
	case n >= 20 && n <= 64 && f.startsWord(start-4, "STS.") && isPlain(body) && random(body):
		f.addNamed(start-4, end, "alibaba-security-token")
	case n == 32 && f.startsWord(start-2, "o.") && isPlain(body) && random(body):
		f.addNamed(start-2, end, "pushbullet-token")
	default:
		return false
	}
	return true
}

// addNamed notes a hit of the rule with a name, if that is switched on.
func (f *finder) addNamed(start, end int, rule string) {
	if id, ok := f.r.byName[rule]; ok {
		f.add(start, end, id)
	}
}

// awsSecret holds for forty characters of base64 of all kinds.
func awsSecret(body string) bool {
	return strings.IndexByte(body, '-') < 0 && strings.IndexByte(body, '_') < 0 && !isHex(body) && random40(body)
}

func random40(body string) bool {
	var upper, lower, other int
	for i := range len(body) {
		switch c := body[i]; {
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		default:
			other++
		}
	}
	return upper >= 4 && lower >= 4 && other >= 1 && entropy(body) >= 3.8
}

func (f *finder) nearAWS(start, end int) bool {
	return containsWord(f.s[max(0, start-160):start], []string{"aws", "secret", "akia", "asia", "secretaccesskey", "access_key", "accesskey"}) ||
		f.k.secret || f.k.credential
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func isPlain(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) {
			return false
		}
	}
	return true
}

// tildes looks for client secrets of Microsoft Entra, whose one mark is Q~.
func (f *finder) tildes() {
	if f.on.rules.azureSecret == none {
		return
	}
	for from := 0; ; {
		i := strings.IndexByte(f.s[from:], '~')
		if i < 0 {
			return
		}
		from += i - 1
		if from >= 4 && f.s[from] == 'Q' && isDigit(f.s[from-1]) && (from == 4 || !secretChar(f.s[from-5])) {
			r := f.r.rules[f.on.rules.azureSecret]
			r.once.Do(r.compile)
			f.report(r, r.shapes[0].re, max(0, from-5), min(len(f.s), from+64), false, func(start, end int) { f.add(start, end, f.on.rules.azureSecret) })
		}
		from += 2
	}
}

// secretChar holds for what a client secret of Microsoft Entra consists of.
func secretChar(c byte) bool { return isWord(c) || c == '~' || c == '.' || c == '-' }
