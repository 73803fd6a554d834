// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/textsum"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// edit replaces a byte range of a text.
type edit struct {
	start, end int
	text       string
}

// apply makes the edits, which are in order and do not overlap.
func apply(s string, edits []edit) string {
	if len(edits) == 0 {
		return s
	}
	n := len(s)
	for _, e := range edits {
		n += len(e.text) - (e.end - e.start)
	}
	var b strings.Builder
	b.Grow(n)
	from := 0
	for _, e := range edits {
		b.WriteString(s[from:e.start])
		b.WriteString(e.text)
		from = e.end
	}
	b.WriteString(s[from:])
	return b.String()
}

// Walk is one walk over a value. It collects edits, so that looking and rewriting are the same walk.
type Walk struct {
	r   *Detector
	rep *Report

	path path
	// dry: nothing is written. whole: what holds a hit is replaced as a whole.
	dry, whole bool
	// again: this is a search of what another has given.
	again bool
	// identity: what is replaced names somebody, and becomes a token in every mode.
	identity bool
	// user are the rules of users that apply to the current leaf.
	user []*userRule
	// inherited is the name that holds for all leaves of the current document, whatever they are called.
	inherited *Name
	// sure: only rules that do not guess, which are those of the gate.
	sure bool
	// pieces are strings of the open arrays that may be pieces of streams.
	pieces []streamPiece
	sequence
	// records: the outermost text was rendered from evidence. told is what tells the open objects apart,
	// apartness what tells the pieces.
	records   bool
	told      []tellsApart
	apartness []apartNode
	// cuts counts the pieces of streams that were cut.
	cuts int
	// budget is how many bytes may still be searched. Text between hits is searched again; text that is nothing but hits, one made
	// visible by the next, would be searched without end, and is replaced whole.
	budget int
	// blocks are the sums of the text that was asked for last, see textsum.Behind.
	blocks []textsum.Sum
	// summed are the values of the current span whose sums are known.
	summed []summedText
	// tokens are those of the JSON texts that are being read, one behind the other.
	tokens []jsonscan.Token
	// containers are those that were walked, to be used again: nearly every span has one object.
	containers []*Container
	// nested is how many JSON texts the current one lies in.
	nested int
	// trusted is the memory of another detector, see Trust.
	trusted *cleanTable
	// met are the values that were met in a rendered document, nil elsewhere.
	met *metLeaves
	// pem is what is known of a list of the lines of a private key. random is how many brackets are open in
	// the state of a random password.
	pem    pemList
	random int
	// headers are the columns that the current object names, rowsBy those of the list that is walked.
	headers, rowsBy, cells *header
	at                     int // the current element of the list that is walked
	// bad: a text that was taken for JSON is none.
	bad bool
}

// sequence is what is known of all strings in the arrays that are open.
type sequence struct {
	// arrays is how many are open. base is where the path begins within which they are counted.
	arrays, base int
	// lines: the outermost is a sequence of documents. delta: something around it is called a delta.
	lines, delta bool
	salt         string // what tells it from other sequences
	// sent: the sequence of documents is one stream, in which each text can go on. several: it is made of
	// values of their own.
	sent, several bool
}

// settled returns edits whose result holds nothing more: what the edits give is searched as a text of its own, by all rules and by those of the gate alone,
// and what is found there joins the edits, until a search of the result finds nothing. So to redact the result changes nothing, and the gate finds nothing
// in it, because the search that they make is the one that has just found nothing. A text that does not settle is replaced whole. cut: a stream was cut.
// What is left of one is text of its own, in which guesses come first.
func (p *Walk) settled(s string, k *Name, edits []edit, cut bool) []edit {
	isJSON := jsonscan.Valid(s)
	for range maxRounds {
		after := apply(s, edits)
		if isJSON && !jsonscan.Valid(after) { // it was a number, or is replaced whole: it is a JSON string now
			edits = []edit{{0, len(s), `"` + quoted(after) + `"`}}
			after = edits[0].text
		}
		more := p.left(after, k, !cut)
		if len(more) == 0 {
			more = p.left(after, k, cut)
		}
		if len(more) == 0 {
			return edits
		}
		edits = compose(len(s), edits, more)
	}
	whole := p.replace(s, 0, len(s), none, k)
	if isJSON {
		whole.text = `"` + whole.text + `"`
	}
	return []edit{whole}
}

// left returns what is found in a result, sure: by the rules that do not guess.
func (p *Walk) left(result string, k *Name, sure bool) []edit {
	q := &Walk{r: p.r, rep: &Report{}, path: p.path, identity: p.identity, again: true, sure: sure, inherited: p.inherited}
	edits := q.leaf(result, k)
	p.rep.countHits(q.rep)
	return edits
}

// maxRounds bounds how often a result is searched again.
const maxRounds = 8

// searchBudget is enough for a text, what lies between its hits, and as much again.
func searchBudget(s string) int { return 3*len(s) + 2048 }

// maxNested bounds JSON in strings of JSON. Each level doubles the escapes, so that real nesting is shallow; what lies deeper is
// searched as text, with its escapes undone.
const maxNested = 16

// leaf returns the edits of one string value. A value that cannot be searched is replaced whole.
func (p *Walk) leaf(s string, k *Name) []edit {
	at := p.met.index(s, k)
	if p.met.holds(at, s, k, p.nested, false) || at >= 0 && len(p.r.user) == 0 && renderedID(s, k) {
		return nil
	}
	quick := p.shortKey(s, k)
	if k.holds(quick) {
		p.count(cleanEntry{leaves: 1, bytes: uint32(len(s)), searched: uint32(len(s))})
		return nil
	}
	var known cleanKey
	if p.records && p.nested == 0 { // what is found in it is not what is found in the same text elsewhere
		p.blocks = p.blocks[:0]
	} else {
		known = p.cleanKey(cleanLeaf, s, k)
	}
	if p.knownClean(known) {
		p.met.put(at, s, k, p.nested, false)
		return nil
	}
	if p.nested == 0 {
		p.budget = searchBudget(s)
	}
	before := p.counted()
	edits := p.unknown(s, k)
	if len(edits) == 0 {
		p.learnClean(known, before)
		p.met.put(at, s, k, p.nested, false)
		p.learnShort(quick, before, s, k)
	}
	return edits
}

// unknown is leaf for a text that is not known to be clean.
func (p *Walk) unknown(s string, k *Name) (edits []edit) {
	p.rep.Leaves++
	p.rep.Bytes += int64(len(s))
	if s == "" {
		return nil
	}
	defer func() {
		if recover() != nil { // a defect of a detector must not become a leak
			edits = []edit{p.replace(s, 0, len(s), none, k)}
		}
	}()
	p.user = p.r.userFor(p.path)
	before := p.cuts
	edits = p.value(s, k)
	if p.whole && len(edits) > 0 {
		edits = []edit{{0, len(s), edits[0].text}}
	}
	if len(edits) > 0 && p.nested == 0 && !p.again {
		edits = p.settled(s, k, edits, p.cuts > before)
		p.cuts = before
	}
	return edits
}

// value returns the edits of one string value, which is not empty.
func (p *Walk) value(s string, k *Name) []edit {
	if u := p.r.wholeRule(p.path); u != none && !allTokens(s) {
		return []edit{p.replace(s, 0, len(s), u, k)}
	}
	if k.protocol && len(p.user) == 0 && machineID(s) {
		return nil
	}
	if p.nested < maxNested && looksLikeJSON(s) {
		if edits, ok := p.jsonValue(s, k); ok {
			return edits
		}
	}
	if k.secret && p.r.on.rules.secretKey != none {
		if e, ok := p.secretValue(s, k); ok {
			return []edit{e}
		}
	} else if p.isCredential(s, k) {
		rule := p.r.on.rules.entropy
		if f := p.r.search(s, k, p.user, 0, p.sure); len(f) == 1 && f[0].start == 0 && f[0].end == len(s) {
			rule = f[0].rule
		}
		return []edit{p.replace(s, 0, len(s), rule, k)}
	}
	return p.text(s, k)
}

// jsonValue returns the edits of a value that is JSON. ok: it is.
func (p *Walk) jsonValue(s string, k *Name) (edits []edit, ok bool) {
	of := p.elementsOf(s, k)
	r := jsonscan.New(s, 0)
	if of.known.end > 0 { // what is known has no tokens
		of.known.skip(r)
		if !r.Valid() {
			return nil, false
		}
		return p.within(s, k, &of), true
	}
	base := len(p.tokens)
	if !p.valid(r) {
		return nil, false
	}
	of.tokens = p.tokens[base:]
	edits = p.within(s, k, &of)
	p.tokens = p.tokens[:base]
	return edits, true
}

// secretValue returns the edit of a value under the name of a secret. ok: there is one.
func (p *Walk) secretValue(s string, k *Name) (e edit, ok bool) {
	from := authScheme(s, 0, len(s))
	v := s[from:]
	if allTokens(v) || p.r.allowed(v) || p.r.pathAllowed(p.path) {
		return edit{}, false
	}
	hits := p.r.search(s, k, p.user, 0, p.sure)
	if len(hits) == 0 && placeholder(v) {
		return edit{}, false
	}
	rule := p.r.on.rules.secretKey
	if len(hits) == 1 && hits[0].start <= from && hits[0].end == len(s) {
		rule = hits[0].rule
	}
	return p.replace(s, from, len(s), rule, k), true
}

// isCredential says whether a value looks like a credential and stands under the name of one.
func (p *Walk) isCredential(s string, k *Name) bool {
	if !k.credential || p.sure || p.r.on.rules.entropy == none || !k.looks(s) || k.digest && hexDigest(s) {
		return false
	}
	return len(token.Find(s)) == 0 && !placeholder(s) && !p.r.allowed(s) && !p.r.pathAllowed(p.path)
}

// maxTokens bounds the tokens that are kept of one text: a text with more is read twice.
const maxTokens = 1024

// valid reports whether a text is a sequence of JSON values, and keeps its tokens if they are not too many.
func (p *Walk) valid(r *jsonscan.Scanner) bool {
	base := len(p.tokens)
	for n := 0; ; n++ {
		t := r.Next()
		switch {
		case n < maxTokens:
			p.tokens = append(p.tokens, t)
		case n == maxTokens:
			p.tokens = p.tokens[:base]
		}
		switch t.Kind {
		case jsonscan.Bad:
			p.tokens = p.tokens[:base]
			return false
		case jsonscan.End:
			return n > 0
		}
	}
}

// within returns the edits of a text that is JSON. All leaves of JSON under the name of a secret are secret, whatever their names.
func (p *Walk) within(s string, k *Name, of *elements) []edit {
	outer := p.inherited
	if k.secret {
		p.inherited = k
	}
	p.nested++
	edits := p.document(s, k, of)
	p.nested--
	p.inherited = outer
	return edits
}

// allTokens says whether nothing of a value is left to redact: it is empty, or tokens and masks with no letter or digit between them.
func allTokens(s string) bool {
	from := 0
	for _, at := range append(token.Find(s), [2]int{len(s), len(s)}) {
		for i := from; i < at[0]; i++ {
			if isAlnum(s[i]) {
				return false
			}
		}
		from = at[1]
	}
	return true
}

// text returns the edits of a text that is no JSON as a whole. JSON documents inside of it are read as such.
func (p *Walk) text(s string, k *Name) (edits []edit) {
	if marksOf(s)&(markBracket|markData) == 0 {
		return p.piece(nil, s, 0, len(s), k)
	}
	if docs := eventData(s); len(docs) > 1 && p.nested < maxNested {
		return p.eventStream(s, docs, k)
	}
	from := 0
	budget := 4*len(s) + 1024 // what reading in vain may cost
	next := brackets{indexFrom(s, '{', 0), indexFrom(s, '[', 0)}
	for at := 0; p.nested < maxNested && budget > 0; {
		if at = next.from(s, at); at < 0 {
			break
		}
		end := -1
		if !isIndex(s, at) {
			end = documentEnd(s, at, &budget)
		}
		if end < 0 || s[at] == '[' && (isSudoCall(s, at, end) || assigns(s, end)) {
			at++
			continue
		}
		edits = p.plain(edits, s, from, at, k)
		key := k
		if name := nameBefore(s, at); name != "" {
			key = p.r.Named(name)
		}
		p.nested++
		for _, e := range p.document(s[at:end], key, &elements{}) {
			edits = append(edits, edit{e.start + at, e.end + at, e.text})
		}
		p.nested--
		at, from = end, end
	}
	return p.plain(edits, s, from, len(s), k)
}

// brackets are the places of the next brackets of a text, negative if there is none.
type brackets struct{ object, array int }

// from returns where the next bracket opens from at on, -1 if none does.
func (b *brackets) from(s string, at int) int {
	if b.object >= 0 && b.object < at {
		b.object = indexFrom(s, '{', at)
	}
	if b.array >= 0 && b.array < at {
		b.array = indexFrom(s, '[', at)
	}
	if b.object < 0 || b.array >= 0 && b.array < b.object {
		return b.array
	}
	return b.object
}

// isIndex says whether a bracket is that of an index: os.environ["…"].
func isIndex(s string, at int) bool {
	return s[at] == '[' && at > 0 && (isWord(s[at-1]) || s[at-1] == ']' || s[at-1] == ')')
}

// isSudoCall says whether a list is the arguments of sudo: what is behind them belongs to them.
func isSudoCall(s string, at, end int) bool {
	return end-at < 256 && strings.HasPrefix(s[at+1:], `"sudo"`)
}

// assigns says whether something is assigned to what ends at i: ["password"]=> "…".
func assigns(s string, i int) bool {
	for n := 0; n < 3 && i < len(s) && s[i] == ' '; n++ {
		i++
	}
	return i < len(s) && s[i] == '='
}

// nameBefore returns the name that a document has in the text around it: "adminPassword": {…}, options = […].
func nameBefore(s string, at int) string {
	i := at
	for i > 0 && s[i-1] == ' ' && at-i < 8 {
		i--
	}
	if i == 0 || s[i-1] != ':' && s[i-1] != '=' {
		return ""
	}
	for i--; i > 0 && strings.IndexByte(" \"'\\", s[i-1]) >= 0 && at-i < 16; i-- {
	}
	from := i
	for from > 0 && nameChar(s[from-1]) && i-from < maxKeyBytes {
		from--
	}
	return s[from:i]
}

// eventData returns where the JSON documents stand that a stream of server-sent events carries, one in the data of each event.
func eventData(s string) (docs [][2]int) {
	if !strings.Contains(s, "\ndata:") {
		return nil
	}
	for from := 0; from < len(s); {
		end := from + strings.IndexByte(s[from:], '\n')
		if end < from {
			end = len(s)
		}
		if i := strings.Index(s[from:end], "data:"); i >= 0 { // of a log, the first event stands behind other text
			at := from + i + len("data:")
			doc := strings.TrimSpace(s[at:end])
			if at += strings.Index(s[at:end], doc); looksLikeJSON(doc) && jsonscan.Valid(doc) {
				docs = append(docs, [2]int{at, at + len(doc)})
			}
		}
		from = end + 1
	}
	return docs
}

// eventStream returns the edits of a stream of server-sent events. Its documents are read one behind the other, as JSON lines are, because
// texts go on from one to the next.
func (p *Walk) eventStream(s string, docs [][2]int, k *Name) (edits []edit) {
	var lines strings.Builder
	begins := make([]int, len(docs)) // of each document among the lines
	from := 0
	for i, at := range docs {
		begins[i] = lines.Len()
		lines.WriteString(s[at[0]:at[1]])
		lines.WriteByte('\n')
		edits = p.plain(edits, s, from, at[0], k)
		from = at[1]
	}
	edits = p.plain(edits, s, from, len(s), k)
	p.nested++
	p.sent = true
	for _, e := range p.document(lines.String(), k, &elements{}) {
		i, found := slices.BinarySearch(begins, e.start)
		if !found {
			i--
		}
		shift := docs[i][0] - begins[i]
		edits = append(edits, edit{e.start + shift, e.end + shift, e.text})
	}
	p.sent = false
	p.nested--
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return edits
}

func indexFrom(s string, c byte, from int) int {
	if from >= len(s) {
		return -1
	}
	if i := strings.IndexByte(s[from:], c); i >= 0 {
		return from + i
	}
	return -1
}

// documentEnd returns the end of the JSON object or array that begins at s[at], -1 if there is none that holds a string.
func documentEnd(s string, at int, budget *int) int {
	i := at + 1
	for i < len(s) && (s[i] <= ' ' || s[i] == '[' || s[i] == '{') && i-at < 64 {
		i++
	}
	if i >= len(s) || s[i] != '"' {
		return -1
	}
	r := jsonscan.New(s, at)
	for {
		switch t := r.Next(); t.Kind {
		case jsonscan.Bad, jsonscan.End:
			*budget -= max(t.End, r.Offset()) - at
			return -1
		case jsonscan.Close:
			if r.Depth() == 0 {
				return t.End
			}
		}
	}
}

// plain appends the edits of s[from:to], which holds no JSON. Tokens that stand there already are left alone, and nothing is found
// across them. The text between two hits is searched again by itself, so that redacting the result finds nothing more.
func (p *Walk) plain(edits []edit, s string, from, to int, k *Name) []edit {
	if strings.Contains(s[from:to], token.Prefix[:len(token.Prefix)-1]) {
		at := from
		for _, t := range token.Find(s[from:to]) {
			edits = p.piece(edits, s, at, from+t[0], k)
			at = from + t[1]
		}
		from = at
	}
	return p.piece(edits, s, from, to, k)
}

func (p *Walk) piece(edits []edit, s string, from, to int, k *Name) []edit {
	if from >= to {
		return edits
	}
	if p.budget -= to - from; p.budget < 0 {
		return append(edits, p.replace(s, from, to, none, k))
	}
	hits := p.r.search(s[from:to], k, p.user, 0, p.sure)
	if k.service && p.nested+len(p.path) > 0 {
		hits = p.beside(hits, s[from:to], k)
	}
	if p.r.pathAllowed(p.path) {
		return edits
	}
	at := from
	for _, h := range hits {
		edits = p.piece(edits, s, at, from+h.start, k)
		edits = append(edits, p.replace(s, from+h.start, from+h.end, h.rule, k))
		at = from + h.end
	}
	if len(hits) > 0 {
		edits = p.piece(edits, s, at, to, k)
	}
	return edits
}

// beside searches a value behind its name, where that names a service: the rules for services look for both.
func (p *Walk) beside(hits []found, s string, k *Name) []found {
	if len(s) > 4096 {
		return hits
	}
	name := p.path.lastName() + "="
	for _, h := range p.r.search(name+s, k, nil, maxDecoded, p.sure) {
		if h.start >= len(name) {
			hits = append(hits, found{h.start - len(name), h.end - len(name), h.rule})
		}
	}
	return united(hits)
}

// replace makes the edit for a hit and counts it.
func (p *Walk) replace(s string, start, end int, rule ruleID, k *Name) edit {
	name := ruleFailure
	if rule != none {
		name = p.r.rules[rule].Name
	}
	p.rep.hit(name, p.path)
	return edit{start, end, p.r.replacement(name, s[start:end], k.grouping || p.identity)}
}

// ruleFailure names values that were replaced because they could not be searched.
const ruleFailure = "redaction-failure"

// Number returns what stands for a number, and whether it has to go. text is its literal.
func (p *Walk) Number(text string, k *Name) (string, bool) {
	p.rep.Leaves++
	p.rep.Bytes += int64(len(text))
	digits := wholeNumber(text)
	rule := p.r.wholeRule(p.path)
	if rule == none && k.secret && len(text) >= 3 {
		rule = p.r.on.rules.secretKey
	}
	if rule == none && len(digits) >= 8 {
		if hits := p.r.search(digits, k, p.r.userFor(p.path), maxDecoded, p.sure); len(hits) > 0 {
			rule = hits[0].rule
		}
	}
	if rule == none {
		return "", false
	}
	p.rep.Numbers++
	if digits != "" {
		text = digits // equal numbers are equal tokens
	}
	return p.replace(text, 0, len(text), rule, k).text, true
}

// maxWhole bounds the digits of a number that can mean something: a card has 19, a national number fewer.
const maxWhole = 24

// wholeNumber returns the digits of a JSON number that is whole, however it is spelled (4111111111111111.0, 4.1e15), "" for any other.
func wholeNumber(text string) string {
	text = strings.TrimPrefix(text, "-")
	mantissa, exponent := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		n, err := strconv.Atoi(text[at+1:])
		if err != nil || n < -maxWhole || n > maxWhole {
			return ""
		}
		mantissa, exponent = text[:at], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	switch {
	case len(fraction) > exponent && fraction != "":
		return ""
	case exponent >= 0:
		whole += fraction + strings.Repeat("0", exponent-len(fraction))
	default:
		cut := max(len(whole)+exponent, 0)
		if strings.Trim(whole[cut:], "0") != "" {
			return ""
		}
		whole = whole[:cut]
	}
	if len(whole) > maxWhole {
		return ""
	}
	return whole
}

// machineID says whether a value is an id or a digest as programs make them. These have 8, 16, 20 or 32 bytes in lower-case hexadecimal
// digits, not all of them decimal. Such a value under the name of an id is no text.
func machineID(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "sha256-raw:"), "sha256:")
	switch len(s) {
	case 16, 32, 40, 64:
	case 49: // a run: trace and root span
		return s[32] == '-' && machineID(s[:32]) && machineID(s[33:])
	default:
		return false
	}
	return lowerHex(s) >= hexLetter
}

// Of lower-case hexadecimal: digits and letters.
const (
	hexDigits = 1 << iota
	hexLetter
)

var lowerHexChars = func() (t [256]uint8) {
	for c := range t {
		t[c] = 1 << 7
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = hexDigits
	}
	for c := byte('a'); c <= 'f'; c++ {
		t[c] = hexLetter
	}
	return t
}()

// lowerHex says what a text of lower-case hexadecimal holds, 0 if it holds anything else. It does not branch: no processor can foretell random digits.
func lowerHex(s string) (holds uint8) {
	for i := range len(s) {
		holds |= lowerHexChars[s[i]]
	}
	if holds > hexDigits|hexLetter {
		return 0
	}
	return holds
}
