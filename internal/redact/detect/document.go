// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// frame is an open bracket of a document.
type frame struct {
	key    *Name // what the name of the current member, or of the array, says
	object bool
	// Where the pieces, what tells it apart, and the edits of what it holds begin.
	pieces, told, edits int

	delta   bool // what is around it: something is called a delta
	speaker bool // object: one of its members says who speaks
	// announced is what an earlier member or element says about the next value: {"name": "API_KEY", "value": …}, ["--password", …].
	announced *Name
	// pointed is what the path of a JSON Patch (RFC 6902), or the name of a setting, says about a member that is called value, and about no other.
	pointed *Name
	// within: it lies in an object that is called a credential.
	within bool
	// pair: a list in a list, whose first element can name the second: [["password", "…"]].
	pair bool
	// first: every array around it is at its first element. open is where it begins, before what was counted until then.
	first  bool
	open   int
	before counted
	// form is what the label of a field says about what is typed there: {"element": "Password field", "text":
	// …}.
	form asks
	// header is what the names of columns say about the rows in it, row about its own elements, cell about
	// its members. collect is the header that its elements name. rows is where a list of lists stands among
	// its members that came before the names.
	header, row, collect *header
	cell                 *Name
	rows                 [2]int
	place                int     // its own among the elements of its list
	titles               *header // what the first of its lists names; nil if nothing secret
	// inRow: an object that is a row. named: an object that holds the names of columns. lists: of lists.
	inRow, named, lists bool
	// unnamed is a string under one of valueNames that came before the member that names it; the zero token if there is none.
	unnamed jsonscan.Token
}

// isNameName and isValueName hold for the members of an object that holds a name and its value.
func isNameName(name string) bool {
	switch name {
	case "name", "key", "header", "variable", "field", "Name", "Key", "ParameterKey", "OptionName":
		return true
	}
	return false
}

func isValueName(name string) bool {
	switch name {
	case "value", "Value", "val", "content", "data", "S", "stringValue", "string_value", "secretValue", "plainText", "ParameterValue", "OptionValue", "#text", "$t", "_text", "$value", "_value":
		return true
	}
	return false
}

// enclosing is what a walk goes on with behind a document.
type enclosing struct {
	sequence
	path, pieces, told int // how much there was
}

// enter begins a document under the name k, and returns what is around it.
func (p *Walk) enter(k *Name) enclosing {
	around := enclosing{p.sequence, len(p.path), len(p.pieces), len(p.told)}
	p.sequence = sequence{arrays: 1, base: around.path, lines: true, delta: k.delta, sent: p.sent}
	return around
}

// leave ends a document.
func (p *Walk) leave(to enclosing) {
	p.sequence = to.sequence
	p.path, p.pieces, p.told = p.path[:to.path], p.pieces[:to.pieces], p.told[:to.told]
}

// document returns the edits of a valid JSON text, or of several, one behind the other. Elements that are
// known are not read.
func (p *Walk) document(s string, k *Name, of *elements) (edits []edit) {
	r, tokens, at := jsonscan.New(s, 0), of.tokens, 0 // at is how far the text has been read
	around := p.enter(k)
	defer p.leave(around)
	frames := append(make([]frame, 0, 8), frame{key: k, pieces: around.pieces, delta: k.delta, first: true})
	for {
		top := &frames[len(frames)-1]
		inArray := !top.object && len(frames) > 1
		if of.blocks != nil && inArray && top.first && p.path[len(p.path)-1].index >= 0 && at > of.last.end {
			p.ended(of, s, at, &frames[len(frames)-2], top)
		}
		var t jsonscan.Token
		if len(tokens) > 0 {
			t, tokens = tokens[0], tokens[1:]
			at = t.End
		} else {
			t = r.Next()
			at = r.Offset()
		}
		if inArray && t.Kind != jsonscan.Close {
			p.path[len(p.path)-1].index++
		}
		switch t.Kind {
		case jsonscan.End, jsonscan.Bad:
			p.bad = p.bad || t.Kind == jsonscan.Bad
			if around.several {
				p.parted(around.pieces)
			}
			return amend(edits, s, 0, p.streams(around.pieces))
		case jsonscan.Open:
			frames = p.opened(frames, s[t.Start] == '{', t.Start, len(edits))
			if of.known.end > 0 && t.Start == of.known.open {
				p.count(of.known.entry)
				p.path[len(p.path)-1].index = of.known.index
				r.Skip(of.known.end)
				at = of.known.end
			}
		case jsonscan.Close:
			edits = p.closed(frames, edits, s, at)
			frames = frames[:len(frames)-1]
			if of.blocks != nil && len(frames) == 1 {
				p.learnBegin(of, s)
				of.blocks = nil
			}
		case jsonscan.Key:
			edits = p.keyToken(top, edits, s, t)
		case jsonscan.String:
			edits = p.stringToken(frames, edits, s, t)
		case jsonscan.Literal:
			edits = p.literalToken(top, edits, s, t)
		case jsonscan.Number:
			edits = p.numberToken(top, edits, s, t)
		}
	}
}

// opened notes a bracket that opens at at. edits is how many edits there are before it.
func (p *Walk) opened(frames []frame, object bool, at, edits int) []frame {
	// Members of an object are named by their own keys; elements of an array by that of the array.
	outside := &frames[len(frames)-1]
	key, inArray := outside.key, !outside.object && len(frames) > 1
	first := outside.first && (!inArray || p.path[len(p.path)-1].index == 0)
	within := object && (outside.within || key.holder)
	frames = append(frames, frame{key: key, object: object, within: within, pair: !object && inArray, pieces: len(p.pieces), told: len(p.told), edits: edits, delta: p.delta,
		first: first, open: at, before: p.counted()})
	top := &frames[len(frames)-1]
	p.columns(outside, top, inArray)
	if object && key.names() { // "adminPassword": {"value": "…"}
		top.announced = key
	}
	p.path = append(p.path, step{index: -1, array: !object})
	p.delta = p.delta || key.delta
	if !object {
		p.arrays++
	}
	return frames
}

// closed notes that the bracket of the last frame closes before at.
func (p *Walk) closed(frames []frame, edits []edit, s string, at int) []edit {
	top, outside := &frames[len(frames)-1], &frames[len(frames)-2]
	if !top.object {
		edits = amend(edits, s, top.edits, p.streams(top.pieces))
		p.arrays--
	} else {
		p.ofObject(top)
	}
	p.delta = top.delta
	p.path = p.path[:len(p.path)-1]
	if p.random >= len(frames) {
		p.random = 0
	}
	if rows, by := p.closedIn(outside, top, at); rows[1] > 0 {
		edits = p.rowsBefore(edits, s, rows, by)
	}
	return edits
}

// keyToken looks at the name of a member.
func (p *Walk) keyToken(top *frame, edits []edit, s string, t jsonscan.Token) []edit {
	name := decoded(s, t)
	p.path[len(p.path)-1].name = name
	top.key = p.named(name, top.within)
	if of := p.name(name, top.key); len(of) > 0 {
		p.path[len(p.path)-1].name = apply(name, of)
		edits = inside(edits, s, t, of)
	}
	top.speaker = top.speaker || top.key.speaker
	return edits
}

// stringToken looks at a string.
func (p *Walk) stringToken(frames []frame, edits []edit, s string, t jsonscan.Token) []edit {
	top, raw := &frames[len(frames)-1], s[t.Start+1:t.End-1]
	if p.met != nil && !top.object && p.poolList() {
		p.bad = p.bad || !isPoolID(raw) // this is no tape, and whoever asked has to look otherwise
		return edits
	}
	long := t.Escaped && len(raw) > longRaw // too long to say anything about another value
	if long && p.knownRaw(top, len(frames), raw, t) {
		return edits
	}
	text := decoded(s, t)
	key := p.nameOf(top, text)
	line, ended := p.pem.next(text, len(frames))
	if line && !key.secret {
		key = ofKey
	}
	if !top.object && len(frames) > 2 {
		p.headed(&frames[len(frames)-2], top, text)
	} else if top.object && (text == "random_password" || text == "random_string") && p.path[len(p.path)-1].name == "type" {
		p.random = len(frames)
	}
	key = cmp.Or(p.inherited, key)
	p.tell(top, text)
	before := p.counted()
	of := p.leaf(text, key)
	if long {
		p.learnClean(p.cleanKey(cleanRaw, raw, key), before)
	}
	edits = inside(edits, s, t, of)
	edits = p.valueBefore(top, edits, s, t)
	if ended {
		edits = p.anew(edits, s, p.pem.lines)
		p.pem.lines = p.pem.lines[:0]
	} else if !top.object {
		p.pem.keep(text, t, !line)
	}
	if len(frames) > 1 {
		p.note(text, key, !top.object, streamPiece{own: of, at: t})
	}
	return edits
}

// knownRaw says whether a string with escapes is known to be clean, so that it need not be decoded.
func (p *Walk) knownRaw(top *frame, depth int, raw string, t jsonscan.Token) bool {
	key := cmp.Or(p.inherited, p.nameOf(top, ""))
	place := p.met.index(raw, key)
	if !p.met.holds(place, raw, key, p.nested, true) {
		if !p.knownClean(p.cleanKey(cleanRaw, raw, key)) {
			return false
		}
		p.met.put(place, raw, key, p.nested, true)
	}
	if p.unnamed(top) {
		top.unnamed = t
	} else if !top.object {
		p.pem.lines = p.pem.lines[:0]
	}
	if depth > 1 {
		p.note(raw, key, false, streamPiece{raw: true, at: t})
	}
	return true
}

// valueBefore keeps a value whose name may stand behind it, or looks at the one that the current string
// names.
func (p *Walk) valueBefore(top *frame, edits []edit, s string, t jsonscan.Token) []edit {
	if p.unnamed(top) {
		top.unnamed = t
		return edits
	}
	u := top.unnamed
	if u.Kind != jsonscan.String || top.announced == nil && top.form == asksNothing {
		return edits
	}
	top.unnamed = jsonscan.Token{}
	if text := decoded(s, u); top.announced != nil || top.form.takes(text) {
		edits = p.anew(edits, s, []again{{u, cmp.Or(top.announced, top.form.name())}})
	}
	return edits
}

// literalToken looks at "sensitive": true, which says in an output of Terraform what its value is.
func (p *Walk) literalToken(top *frame, edits []edit, s string, t jsonscan.Token) []edit {
	if !top.object || s[t.Start] != 't' || p.path[len(p.path)-1].name != "sensitive" {
		return edits
	}
	top.pointed = aField
	u := top.unnamed
	if u.Kind != jsonscan.String || !strings.HasSuffix(strings.TrimRight(s[:u.Start], ": \t\r\n"), `"value"`) {
		return edits
	}
	if text := decoded(s, u); typedInto(text) {
		edits = p.anew(edits, s, []again{{u, aField}})
	}
	return edits
}

// numberToken looks at a number.
func (p *Walk) numberToken(top *frame, edits []edit, s string, t jsonscan.Token) []edit {
	text := s[t.Start:t.End]
	p.tell(top, text)
	if with, hit := p.Number(text, cmp.Or(p.inherited, top.key)); hit {
		edits = append(edits, edit{t.Start, t.End, `"` + with + `"`})
	}
	return edits
}

// amend puts the edits of pieces in the place of those that stand there, in edits from since on.
func amend(edits []edit, s string, since int, changed []pieceEdits) []edit {
	if len(changed) == 0 {
		return edits
	}
	slices.SortFunc(changed, func(a, b pieceEdits) int { return cmp.Compare(a.piece.at.Start, b.piece.at.Start) })
	out := make([]edit, 0, len(edits)-since+len(changed))
	for _, e := range edits[since:] {
		i, _ := slices.BinarySearchFunc(changed, e.start, func(c pieceEdits, at int) int { return cmp.Compare(c.piece.at.End-1, at) })
		for i < len(changed) && changed[i].piece.at.End-1 <= e.start {
			i++
		}
		if i == len(changed) || e.start <= changed[i].piece.at.Start {
			out = append(out, e)
		}
	}
	for _, c := range changed {
		out = inside(out, s, c.piece.at, c.edits)
	}
	slices.SortFunc(out, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return append(edits[:since], out...)
}

// longRaw is more bytes than a name, an option or a header, or a piece of a list, can take in JSON: six for each.
const longRaw = 6 * maxKeyBytes

// decoded returns the content of a string token.
func decoded(s string, t jsonscan.Token) string {
	inner := s[t.Start+1 : t.End-1]
	if t.Escaped {
		return unquoted(inner)
	}
	return inner
}

// namedBy returns what a text says if it can be the name of a value beside it, else nil.
func (p *Walk) namedBy(text string) *Name {
	if len(text) > maxKeyBytes || strings.Contains(text, token.Prefix[:9]) { // words of a token, and those beside it, name nothing
		return nil
	}
	return p.r.Named(text)
}

// announcedBy returns what a text says about the value that it names, nil when it names nothing that is
// looked for.
func (p *Walk) announcedBy(text string) *Name {
	if k := p.namedBy(text); k != nil && k.names() {
		return k
	}
	return nil
}

// announceBy notes what a text in the place of a name says about the value beside it. The name of a setting
// says something about a member called value only.
func (p *Walk) announceBy(top *frame, text string) {
	k := p.namedBy(text)
	switch {
	case k != nil && k.names():
		top.announced = k
	case top.announced != nil:
	case k != nil && k.setting && isSetting(text):
		top.pointed = k
	default:
		top.pointed = nil
	}
}

// unnamed says whether the current member of an object can be a value whose name stands behind it.
func (p *Walk) unnamed(top *frame) bool {
	if !top.object || top.announced != nil || top.form != asksNothing {
		return false
	}
	name := p.path[len(p.path)-1].name
	return isValueName(name) || isTypedName(name)
}

// nameOf returns what is known about a string from its name or from the string before it, and notes what
// this one says about the next.
func (p *Walk) nameOf(top *frame, text string) *Name {
	if top.object {
		return p.nameOfMember(top, text)
	}
	if top.row != nil {
		if k := top.row.at(p.path[len(p.path)-1].index); k != nil {
			return k
		}
	}
	announced := top.announced
	top.announced = nil
	switch {
	case isFlag(text), isHeaderName(text):
		top.announced = p.announcedBy(text)
	case len(text) == 2 && text[0] == '-' && strings.IndexByte("pPwak", text[1]) >= 0: // ["mysql", "-p", …]
		top.announced = aMember
	case announced != nil:
		return announced
	// An assignment is no name: its value stands in it, or a token in place of that.
	case top.pair && p.path[len(p.path)-1].index == 0 && len(text) <= 64 && !strings.ContainsAny(text, "=["):
		top.announced = p.announcedIn(text, true)
	case isSetting(text): // ["npm", "config", "set", "auth_token", "…"]
		top.announced = p.announcedIn(text, false)
	}
	return top.key
}

// nameOfMember is nameOf for a member of an object.
func (p *Walk) nameOfMember(top *frame, text string) *Name {
	if top.cell != nil {
		return top.cell
	}
	name := p.path[len(p.path)-1].name
	switch {
	case isNameName(name):
		p.announceBy(top, text)
	case name == "path" && pointer(text): // {"op": "add", "path": "/api_key", "value": "…"}
		top.pointed = p.announcedBy(text)
	case top.announced != nil && (isValueName(name) || len(name) <= 4 && isNumber(name)):
		return top.announced
	case name == "value" && top.pointed != nil:
		return top.pointed
	case name == "result" && p.random > 0 && len(text) <= 256:
		return aField
	}
	if a := fieldOf(name, text); a != asksNothing {
		top.form = a
	} else if isTypedName(name) && !top.key.secret && top.form.takes(text) {
		return top.form.name()
	}
	if top.collect != nil && isColumnName(name) {
		top.collect.add(p.columnOf(text), top.place)
	}
	return top.key
}

// announcedIn returns what an element of a list says about the next one if it is a name. pair: there are two.
func (p *Walk) announcedIn(text string, pair bool) *Name {
	switch k := p.r.Named(text); {
	case pair && k.secret:
		return paired
	case len(k.ids) > 0:
		return k
	case k.secret, k.credential && !k.digest:
		return anArgument
	}
	return nil
}

// aMember is what such an object says about a member whose own name says nothing.
var aMember = &Name{facts: facts{credential: true, member: true}}

// anArgument is what the name of a setting says about the next element of a list.
var anArgument = &Name{facts: facts{credential: true, member: true, listed: true}}

// named returns what the name of a member says. A member that is called a key is named by what holds it too: {"crypt": {"key": …}}.
func (p *Walk) named(name string, within bool) *Name {
	if at := len(p.path) - 2; len(name) == 3 && strings.EqualFold(name, "key") && at >= p.base { // what is outside of the text must not decide
		if of := p.path[at].name; len(of) < maxKeyBytes && containsPart(of, cryptWords) {
			name = of + "." + name
		}
	}
	if within && (name == "code" || name == "value") { // {"backupCodes": [{"code": "…"}]}
		if at := len(p.path) - 3; at >= p.base && len(p.path[at].name) < maxKeyBytes && p.r.Named(p.path[at].name).code {
			return aField
		}
	}
	k := p.r.Named(name)
	if within && k.facts == (facts{service: k.service, setting: k.setting, told: k.told}) && len(k.ids) == 0 {
		return aMember
	}
	return k
}

// pointer says whether a text is a JSON Pointer (RFC 6901) to a member: /settings/api_key.
func pointer(text string) bool {
	return len(text) > 1 && len(text) <= maxKeyBytes && text[0] == '/' && strings.IndexByte(text, '.') < 0 && strings.IndexByte(text, ' ') < 0
}

// paired is what the name of a secret says about the next element of a list: it is one if it looks so, because lists of names look the same.
var paired = &Name{facts: facts{credential: true, pass: true}}

// isSetting holds for names of several words without a space between them, as settings are named.
func isSetting(text string) bool {
	if len(text) < 5 || len(text) > 64 || !isAlpha(text[0]) && text[0] < 0x80 {
		return false
	}
	joints := 0
	for i := range len(text) {
		if c := text[i]; c == '_' || c == '-' || c == '.' || i > 0 && isUpper(c) && isLower(text[i-1]) {
			joints++
		} else if !isAlnum(c) {
			return false
		}
	}
	return joints > 0
}

// isFlag holds for options of a command line: -p, --password.
func isFlag(text string) bool {
	if len(text) < 3 || len(text) > 64 || text[0] != '-' {
		return false
	}
	for i := range len(text) {
		if !nameChar(text[i]) && text[i] < 0x80 { // --rodné-číslo
			return false
		}
	}
	return true
}

// isHeaderName holds for names of HTTP headers with credentials, which stand before their values in lists of pairs.
func isHeaderName(text string) bool {
	switch text {
	case "Authorization", "authorization", "Proxy-Authorization", "proxy-authorization", "X-API-Key", "X-Api-Key", "x-api-key", "Cookie", "cookie", "Set-Cookie", "set-cookie", "api-key":
		return true
	}
	return false
}

// inside appends the edits of the content of a string token, as edits of the text.
func inside(edits []edit, s string, t jsonscan.Token, of []edit) []edit {
	if len(of) == 0 {
		return edits
	}
	at := t.Start + 1
	v := unquote(s[at : t.End-1])
	for _, e := range of {
		start, end := e.start, e.end
		if v != nil {
			start, end = v.raw(start, end)
		}
		edits = append(edits, edit{at + start, at + end, quoted(e.text)})
	}
	return edits
}

// name returns the edits of a key, which says k about its value. A hit in a key is tokenised in every mode, or two keys could become one.
func (p *Walk) name(name string, k *Name) []edit {
	if len(name) < 8 || k.clean.Load() || allTokens(name) {
		return nil
	}
	if len(p.r.search(name, nameOfValue, nil, 0, p.sure)) == 0 {
		k.clean.Store(!p.sure) // the rules that do not guess are some of all
		return nil
	}
	of := p.budget
	p.budget = searchBudget(name)
	edits := p.plain(nil, name, 0, len(name), nameOfValue)
	p.budget = of
	return edits
}

// nameOfValue is the name of a key: no guesses, always a token.
var nameOfValue = &Name{facts: facts{protocol: true, grouping: true}}
