// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// Walk begins a walk that replaces what it finds and counts it in rep, which may be nil.
func (r *Detector) Walk(rep *Report) *Walk {
	if rep == nil {
		rep = &Report{}
	}
	return &Walk{r: r, rep: rep}
}

// Scan returns what a walk would replace. The walk must not write when it is told that it is dry.
func (r *Detector) Scan(walk func(*Walk)) []Hit {
	p := &Walk{r: r, rep: &Report{located: true}, dry: true, trusted: r.trustedTable()}
	walk(p)
	return p.rep.places
}

// Found is how many hits there were so far.
func (p *Walk) Found() int64 { return p.rep.found }

// Dry says that nothing is to be written.
func (p *Walk) Dry() bool { return p.dry }

// Whole makes the walk replace each value as a whole in which it finds something.
func (p *Walk) Whole() *Walk {
	p.whole = true
	return p
}

// Identity makes the walk replace what it finds by a token in every mode.
func (p *Walk) Identity() *Walk {
	p.identity = true
	return p
}

// Value redacts a string that stands under a name by itself ("" if it has none).
func (p *Walk) Value(name, s string) string { return apply(s, p.edits(name, s)) }

// Ranges returns the byte ranges of s that Value would replace, in order.
func (p *Walk) Ranges(name, s string) (at [][2]int) {
	for _, e := range p.edits(name, s) {
		at = append(at, [2]int{e.start, e.end})
	}
	return at
}

// File searches what was rendered from evidence: its entries and events are records, and no stream goes on
// from one to the next.
func (p *Walk) File(s string) {
	p.records = true
	p.edits("", s)
	p.records = false
}

func (p *Walk) edits(name, s string) []edit {
	if name != "" {
		p.path = append(p.path, step{name: name})
	}
	return p.leaf(s, p.r.Named(name))
}

// Field walks what stands in a field of a message.
func (p *Walk) Field(name string, walk func()) {
	p.path = append(p.path, field(name))
	walk()
	p.path = p.path[:len(p.path)-1]
}

// Element walks one message of a list that stands in a field.
func (p *Walk) Element(name string, i int, walk func()) {
	p.path = append(p.path, field(name), step{array: true, index: i, field: true})
	walk()
	p.path = p.path[:len(p.path)-2]
}

func field(name string) step { return step{name: name, field: true} }

// FieldString redacts a string that is a field of a message. set is given what takes its place.
func (p *Walk) FieldString(name, s string, k *Name, set func(string)) {
	p.path = append(p.path, field(name))
	p.String(s, k, set)
	p.path = p.path[:len(p.path)-1]
}

// String redacts a string that is no member of a value.
func (p *Walk) String(s string, k *Name, set func(string)) {
	if s == "" {
		return
	}
	if edits := p.leaf(s, k); len(edits) > 0 && !p.dry {
		set(apply(s, edits))
	}
}

// Key redacts the name of a value.
func (p *Walk) Key(name string, set func(string)) {
	if edits := p.name(name, p.r.Named(name)); len(edits) > 0 && !p.dry {
		set(apply(name, edits))
	}
}

// Renamed returns what Key makes of a name, without counting it.
func (p *Walk) Renamed(name string) string {
	silent := &Walk{r: p.r, rep: &Report{}}
	return apply(name, silent.name(name, p.r.Named(name)))
}

// Unsearched replaces a value that is not searched.
func (p *Walk) Unsearched(k *Name, set func(string)) {
	if e := p.replace("", 0, 0, none, k); !p.dry {
		set(e.text)
	}
}

// Tree walks a value by itself: pieces of streams are joined within it only. walk is repeated as long as it finds something.
func (p *Walk) Tree(walk func()) {
	if p.salt != "" { // an event, whose texts may go on in the next one
		walk()
		return
	}
	arrays, base, pieces := p.arrays, p.base, len(p.pieces)
	p.arrays, p.base = 0, len(p.path)
	p.repeat(walk)
	p.arrays, p.base, p.pieces = arrays, base, p.pieces[:pieces]
}

// Events walks the events of a span. Events of one name are how some instrumentations record a stream.
func (p *Walk) Events(walk func()) {
	p.repeat(func() {
		p.arrays, p.base = 1, len(p.path)
		walk()
		p.cutPieces(p.streams(0))
		p.arrays, p.base, p.pieces = 0, 0, p.pieces[:0]
	})
}

// Event walks one event. Texts go on in the next one of its name if its name, or theirs, says that it is a
// piece.
func (p *Walk) Event(name string, walk func()) {
	pieces, k := len(p.pieces), p.r.Named(name)
	p.salt, p.delta = "event "+name, k.delta || k.token
	walk()
	p.parted(pieces)
	p.salt, p.delta = "", false
}

// Below walks what a value of the name k holds. outermost: all of it is secret when the name says that of the value.
func (p *Walk) Below(k *Name, outermost bool, walk func()) {
	inherited, delta := p.inherited, p.delta
	if outermost && k.secret {
		p.inherited = k
	}
	p.delta = p.delta || k.delta
	walk()
	p.inherited, p.delta = inherited, delta
}

// Container is an object or a list whose members are walked.
type Container struct {
	p *Walk
	frame
	last int // its step of the path
}

// Object walks the members of an object of the name k, which may be nil.
func (p *Walk) Object(k *Name, walk func(*Container)) {
	p.path = append(p.path, step{})
	c := p.container()
	*c = Container{p: p, frame: frame{object: true, cell: p.cells.at(p.at), pieces: len(p.pieces), told: len(p.told)}, last: len(p.path) - 1}
	headers, rowsBy := p.headers, p.rowsBy
	p.headers, p.rowsBy, p.cells = nil, nil, nil
	if k != nil && k.names() { // "adminPassword": {"value": "…"}
		c.announced = k
	}
	walk(c)
	p.ofObject(&c.frame)
	p.headers, p.rowsBy = headers, rowsBy
	p.path = p.path[:c.last]
	p.containers = append(p.containers, c)
}

// container returns one that is not in use.
func (p *Walk) container() *Container {
	n := len(p.containers)
	if n == 0 {
		return &Container{}
	}
	c := p.containers[n-1]
	p.containers = p.containers[:n-1]
	return c
}

// Array walks the elements of a list of the name k.
func (p *Walk) Array(k *Name, walk func(*Container)) {
	pieces := len(p.pieces)
	p.path = append(p.path, step{array: true})
	p.arrays++
	c := &Container{p: p, frame: frame{key: k, row: p.rowsBy}, last: len(p.path) - 1}
	headers, rowsBy := p.headers, p.rowsBy
	p.headers, p.rowsBy, p.cells = nil, headers, nil
	walk(c)
	p.headers, p.rowsBy = headers, rowsBy
	p.cutPieces(p.streams(pieces))
	p.arrays--
	p.path = p.path[:c.last]
}

// Announce tells the object about a member before it is walked: a name may come after its value.
func (c *Container) Announce(name, text string) {
	if a := fieldOf(name, text); a != asksNothing {
		c.form = a
	}
	if isNameName(name) && c.announced == nil {
		c.p.announceBy(&c.frame, text)
	} else if name == "path" && pointer(text) {
		c.pointed = c.p.announcedBy(text)
	}
}

// Member redacts the name of a member, and walks its value. renamed: the name holds what must not stay.
func (c *Container) Member(name string, walk func(renamed bool)) {
	p, delta := c.p, c.p.delta
	p.path[c.last].name = name
	c.key = p.r.Named(name)
	edits := p.name(name, c.key)
	if len(edits) > 0 {
		p.path[c.last].name = apply(name, edits)
	}
	c.speaker = c.speaker || c.key.speaker
	walk(len(edits) > 0)
	p.delta = delta
}

// Element goes on to an element of a list.
func (c *Container) Element(i int) {
	c.p.path[c.last].index, c.p.at = i, i
	c.p.cells = c.row
}

// ColumnsOf holds for the names of members that hold the names of columns.
func ColumnsOf(name string) bool { return columnsOf(name) }

// Column tells the object the name of a column, before its members are walked.
func (c *Container) Column(i int, text string) {
	if k := c.p.columnOf(text); k != nil {
		if c.p.headers == nil {
			c.p.headers = &header{}
		}
		c.p.headers.add(k, i)
	}
}

// Tells says whether the current member tells the object from others; Tell says by what, if it is a number.
func (c *Container) Tells() bool { return c.object && c.p.arrays > 0 && c.key.told != toldNothing }

// Tell follows Tells.
func (c *Container) Tell(number string) { c.p.tell(&c.frame, number) }

// Name says what is known about the current member or element.
func (c *Container) Name() *Name {
	if c.p.inherited != nil {
		return c.p.inherited
	}
	return c.key
}

// Searched is a string that is a member or an element, and what was found in it.
type Searched struct {
	text  string
	key   *Name
	edits []edit
}

// Search searches a string that is a member or an element. done: it stays as it is, as nearly all do; else Put has to follow.
func (c *Container) Search(s string) (found Searched, done bool) {
	p := c.p
	k := p.nameOf(&c.frame, s)
	if p.inherited != nil {
		k = p.inherited
	}
	if s == "" {
		return found, true
	}
	p.tell(&c.frame, s)
	edits := p.leaf(s, k)
	return Searched{s, k, edits}, len(edits) == 0 && p.arrays == 0
}

// Put redacts a string that was searched, and notes it as a piece of a stream. set is given what takes its place, now or later.
func (c *Container) Put(found Searched, set func(string)) {
	if len(found.edits) > 0 && !c.p.dry {
		set(apply(found.text, found.edits))
	}
	c.p.note(found.text, found.key, !c.object, streamPiece{own: found.edits, set: set})
}

// cutPieces takes what stands in several pieces out of them.
func (p *Walk) cutPieces(changed []pieceEdits) {
	for _, c := range changed {
		switch {
		case p.dry:
		case p.whole:
			c.piece.set(token.Mask)
		default:
			c.piece.set(apply(c.piece.text, c.edits))
		}
	}
}

// repeat repeats a walk until one finds nothing: what was replaced says nothing more about its neighbours, and what is left of a stream is text of its
// own. The last walk is the one that redacting again would make. Values that do not settle are replaced whole.
func (p *Walk) repeat(walk func()) {
	whole, rep := p.whole, p.rep
	for round := range 2 * maxRounds {
		before := p.rep.found
		walk()
		if round > 0 { // the values of the first walk are counted
			rep.countHits(p.rep)
			rep.Numbers += p.rep.Numbers
		}
		if p.rep.found == before || p.dry {
			break
		}
		p.rep = &Report{found: p.rep.found}
		p.whole = whole || round+1 >= maxRounds
	}
	p.whole, p.rep = whole, rep
}
