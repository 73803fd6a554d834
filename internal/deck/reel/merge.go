// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Merger makes of several reels of one tenant and day fewer and larger ones. What it holds is bounded by the sizes here, a row group and some rows of each input, and the ids of
// a page of each other reel: not by what lies in the deck.
type Merger struct {
	Catalog *Catalog
	Tombs   *Tombs
	// MaxBytes is about the size at which a reel is closed. It is in memory until it is durable.
	MaxBytes int64
	// Revision: tapes of an older one are made again; 0: none are.
	Revision int
	// Derive makes the rows of a trace of which no row has tapes of all evidence, without evidence. An error is about this trace.
	Derive func(ctx context.Context, t *Trace) ([]Row, error)
	// DryRun reads everything and writes nothing.
	DryRun bool
}

// Merged is what a merge has done.
type Merged struct {
	Outputs []Object
	// Misplaced are reels that were not merged and hold rows of traces that lie in another area by now.
	Misplaced []Object
	Rows      int // written
	Dropped   int // rows that are there in another one, or are buried
	Buried    int // rows that tombstones took away
	Moved     int // traces that were brought to another area
	Derived   int // traces whose tapes were made
	Bytes     int64
	// Failures are traces whose tapes could not be made; their evidence is kept.
	Failures []error
}

// Merge writes what is to stay of some reels into new ones, of the same tenant and day, a level above theirs. others are the reels of the tenant that are not merged: they may hold rows of the same
// traces. The inputs stay where they are. An error leaves outputs that hold nothing but what the inputs hold.
func (m *Merger) Merge(ctx context.Context, inputs, others []Object) (_ *Merged, err error) {
	if len(inputs) == 0 {
		return &Merged{}, nil
	}
	w := &merging{Merger: m, done: &Merged{}, day: inputs[0].Date, tenant: inputs[0].Tenant, open: map[deck.Area]*Encoder{}}
	for _, o := range inputs {
		if o.Tenant != w.tenant || o.Date != w.day {
			return nil, errors.New("reels of several tenants or days in one merge")
		}
		w.level = max(w.level, o.Level+1)
		f, err := m.Catalog.openOne(ctx, o)
		if err != nil {
			return nil, err
		}
		f.forgetFilters()
		w.inputs = append(w.inputs, &input{cursor{file: f, spans: f.all()}, window{file: f}, o.Level})
	}
	for _, o := range others {
		f, err := m.Catalog.openOne(ctx, o)
		if err != nil {
			return nil, err
		}
		f.forgetFilters()
		w.scouts = append(w.scouts, &scout{file: f, spans: f.all(), object: o})
	}
	if err := w.run(ctx); err != nil {
		return nil, err
	}
	return w.done, nil
}

type input struct {
	cursor
	window
	level int
}

// merging is one merge on its way.
type merging struct {
	*Merger
	done        *Merged
	tenant, day string
	level       int
	inputs      []*input
	scouts      []*scout
	open        map[deck.Area]*Encoder
}

func (w *merging) run(ctx context.Context) error {
	for {
		next, err := least(ctx, w.inputs)
		if err != nil {
			return err
		}
		if next == "" {
			break
		}
		var merged, others []piece
		windows := map[*File]*window{}
		for _, in := range w.inputs {
			rows, err := in.take(ctx, next)
			if err != nil {
				return err
			}
			for _, e := range rows {
				merged = append(merged, piece{e, in.level})
			}
			windows[in.cursor.file] = &in.window
		}
		for _, s := range w.scouts {
			rows, err := s.take(ctx, next)
			if err != nil {
				return err
			}
			for _, e := range rows {
				others = append(others, piece{e, s.object.Level})
			}
		}
		if err := w.trace(ctx, merged, others, windows); err != nil {
			return err
		}
		if err := w.roll(ctx); err != nil {
			return err
		}
	}
	for _, area := range []deck.Area{deck.AreaReplays, deck.AreaRuns, deck.AreaUndecided} {
		if err := w.close(ctx, area); err != nil {
			return err
		}
	}
	return nil
}

// least is the trace that comes next.
func least(ctx context.Context, inputs []*input) (next string, err error) {
	for _, in := range inputs {
		e, err := in.peek(ctx)
		if err != nil {
			return "", err
		}
		if e != nil && (next == "" || e.TraceID < next) {
			next = e.TraceID
		}
	}
	return next, nil
}

// take returns the rows of a trace that comes next.
func (c *cursor) take(ctx context.Context, trace string) (rows []*Entry, err error) {
	for {
		e, err := c.peek(ctx)
		if err != nil || e == nil || e.TraceID != trace {
			return rows, err
		}
		rows = append(rows, e)
		c.buffer = c.buffer[1:]
	}
}

// trace writes what stays of the rows of a trace.
func (w *merging) trace(ctx context.Context, merged, others []piece, windows map[*File]*window) error {
	before := len(merged)
	merged, err := w.left(ctx, merged)
	if err != nil {
		return err
	}
	w.done.Buried += before - len(merged)
	if others, err = w.left(ctx, others); err != nil {
		return err
	}
	if len(merged) == 0 {
		w.done.Dropped += before
		return nil
	}
	s := settle(merged, others, w.Revision)
	area := s.all.Location.Area
	if slices.ContainsFunc(merged, func(p piece) bool { return deck.Area(p.Area) != area }) {
		w.done.Moved++
	}
	for _, p := range others {
		if deck.Area(p.Area) == area {
			continue
		}
		for _, s := range w.scouts {
			if s.file == p.file && s.object.Level > 0 && !s.misplaced {
				s.misplaced = true
				w.done.Misplaced = append(w.done.Misplaced, s.object)
			}
		}
	}
	if s.pending && len(s.rows) > 0 {
		if err := w.derive(ctx, &s); err != nil {
			return err
		}
	}
	w.done.Dropped += before - len(s.rows)
	if w.DryRun {
		w.done.Rows += len(s.rows)
		return nil
	}
	e := w.open[area]
	if e == nil {
		e = newEncoderOf(min(groupBytes, w.MaxBytes/4)) // so that a reel is closed by what it takes, and not by a guess
		w.open[area] = e
	}
	last := "" // the part whose evidence is written
	for i, meta := range s.rows {
		row := Row{Meta: meta}
		if meta.Part != last {
			last = meta.Part
			if j := slices.IndexFunc(merged, func(p piece) bool { return p.Part == last && p.EvidenceBytes > 0 }); j >= 0 {
				if row.Evidence, err = windows[merged[j].file].read(ctx, merged[j].Entry, "evidence"); err != nil {
					return err
				}
			}
		}
		if made := s.made[i]; made != nil {
			row.Tape = made.Tape
		} else if from := s.from[i]; meta.TapeBytes > 0 {
			if row.Tape, err = windows[from.file].read(ctx, from, "tape"); err != nil {
				return err
			}
		}
		if err := e.add(row); err != nil {
			return err
		}
		w.done.Rows++
	}
	return nil
}

// left is what tombstones leave of rows.
func (w *merging) left(ctx context.Context, rows []piece) ([]piece, error) {
	if w.Tombs == nil || len(rows) == 0 {
		return rows, nil
	}
	var kept []piece
	for _, p := range rows {
		left, err := w.Tombs.Left(ctx, []*Entry{p.Entry})
		if err != nil {
			return nil, err
		}
		for _, e := range left.Rows {
			kept = append(kept, piece{e, p.level})
		}
	}
	return kept, nil
}

// derive puts the tapes of all evidence in the place of the first row that has content.
func (w *merging) derive(ctx context.Context, s *settled) error {
	at := slices.IndexFunc(s.rows, func(m Meta) bool { return !m.Dropped() })
	if at < 0 {
		return nil // what has content is not merged here
	}
	if w.DryRun {
		w.done.Derived++
		return nil
	}
	rows, err := w.Derive(ctx, s.all)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, deck.ErrNotFound):
		return err // another compaction has taken away a reel that is read
	case err != nil:
		w.done.Failures = append(w.done.Failures, fmt.Errorf("trace %s: %w", s.all.Location.TraceID, err))
		return nil
	}
	w.done.Derived++
	first := s.rows[at]
	s.rows, s.from = slices.Delete(s.rows, at, at+1), slices.Delete(s.from, at, at+1)
	if m := rows[0].Meta; w.Tombs != nil && m.RunID != "" && w.Tombs.generation(TraceKey{m.Tenant, m.TraceID}, m.Generation()) {
		// These very tapes were taken away: the row says that they were made, and holds nothing of them.
		without := first.bare()
		without.Parts, without.Items, without.Producer, without.Formats, without.Revision = m.Parts, m.Items, m.Producer, m.Formats, m.Revision
		rows = []Row{{Meta: without}}
	}
	for i := range rows {
		rows[i].Part, rows[i].Complete, rows[i].Area, rows[i].Keep = first.Part, first.Complete, string(s.all.Location.Area), first.Keep
	}
	s.made = make([]*Row, len(rows)+len(s.rows))
	metas := make([]Meta, len(rows))
	for i := range rows {
		if s.all.evidenceAlone() {
			rows[i].Tape = nil
		}
		metas[i], s.made[i] = rows[i].Meta, &rows[i]
	}
	s.rows, s.from = append(metas, s.rows...), append(make([]*Entry, len(rows)), s.from...)
	s.sort()
	return nil
}

// roll closes the largest reel when all together are large enough.
func (w *merging) roll(ctx context.Context) error {
	var all int64
	largest := deck.Area("")
	for area, e := range w.open {
		all += e.size()
		if largest == "" || e.size() > w.open[largest].size() || e.size() == w.open[largest].size() && area < largest {
			largest = area
		}
	}
	if all < w.MaxBytes {
		return nil
	}
	return w.close(ctx, largest)
}

func (w *merging) close(ctx context.Context, area deck.Area) error {
	e := w.open[area]
	delete(w.open, area)
	if e == nil || e.rows == 0 {
		return nil
	}
	body, err := e.close()
	if err != nil {
		return err
	}
	at, err := time.Parse(time.DateOnly, w.day)
	if err != nil {
		return err
	}
	n := NameOf(area, w.tenant, at, w.level, body)
	n.Tenant = w.tenant // as it stands in keys
	if _, err := w.Catalog.store.PutNew(ctx, n.Key(), body, contentType); err != nil {
		return fmt.Errorf("write reel: %w", err)
	}
	w.done.Outputs = append(w.done.Outputs, Object{n, int64(len(body))})
	w.done.Bytes += int64(len(body))
	return nil
}

// window is the content of some rows of a reel that is read in order.
type window struct {
	file     *File
	group    int
	from, to int64
	columns  map[string][][]byte
}

// windowBytes is about what a window holds, and windowRows the rows that it holds at most. A row alone may be larger.
const (
	windowBytes = 1 << 20
	windowRows  = 512
)

// read returns a wide column of a row.
func (w *window) read(ctx context.Context, e *Entry, column string) ([]byte, error) {
	if w.columns == nil || e.group != w.group || e.row < w.from || e.row >= w.to {
		if err := w.load(ctx, e); err != nil {
			return nil, err
		}
	}
	return w.columns[column][e.row-w.from], nil
}

func (w *window) load(ctx context.Context, e *Entry) error {
	w.columns = nil
	s := span{e.group, e.row, min(e.row+windowRows, w.file.groups[e.group].NumRows)}
	sizes, err := w.file.metas(ctx, s, []string{"evidence_bytes", "tape_bytes"})
	if err != nil {
		return err
	}
	s.to = s.from + 1
	for held, i := sizes[0].EvidenceBytes+sizes[0].TapeBytes, 1; i < len(sizes); i++ {
		if held += sizes[i].EvidenceBytes + sizes[i].TapeBytes; held > windowBytes {
			break
		}
		s.to++
	}
	w.columns = map[string][][]byte{}
	for _, column := range wideColumns {
		v, err := w.file.read(ctx, column, s)
		if err != nil {
			return err
		}
		if int64(v.rows) != s.to-s.from {
			return corrupt("rows without content")
		}
		w.columns[column] = v.texts
	}
	w.group, w.from, w.to = s.group, s.from, s.to
	return nil
}

// scout looks in a reel that is not merged for rows of the traces that are. It reads ids alone, and the rest of a row when it is one of them.
type scout struct {
	file      *File
	object    Object
	spans     []span
	at        span // of ids
	ids       [][]byte
	near      []*Entry // rows that were read lately
	misplaced bool
}

const scoutRows = 64

// take returns the rows of a trace. Traces are asked for in order.
func (s *scout) take(ctx context.Context, trace string) (rows []*Entry, err error) {
	for {
		for len(s.ids) == 0 {
			if len(s.spans) == 0 {
				return rows, nil
			}
			s.at = s.spans[0]
			if s.at.to-s.at.from > chunkRows {
				s.at.to = s.at.from + chunkRows
				s.spans[0].from = s.at.to
			} else {
				s.spans = s.spans[1:]
			}
			v, err := s.file.read(ctx, "trace_id", s.at)
			if err != nil {
				return nil, err
			}
			if int64(v.rows) != s.at.to-s.at.from {
				return nil, corrupt("rows without ids")
			}
			s.ids = v.texts
		}
		switch c := strings.Compare(string(s.ids[0]), trace); {
		case c > 0:
			return rows, nil
		case c == 0:
			e, err := s.row(ctx, span{s.at.group, s.at.from, min(s.at.from+scoutRows, s.at.to)})
			if err != nil {
				return nil, err
			}
			rows = append(rows, e)
		}
		s.ids = s.ids[1:]
		s.at.from++
	}
}

// row returns the first row of a span.
func (s *scout) row(ctx context.Context, near span) (*Entry, error) {
	for _, e := range s.near {
		if e.group == near.group && e.row == near.from {
			return e, nil
		}
	}
	var err error
	if s.near, err = s.file.entries(ctx, near, nil); err != nil {
		return nil, err
	}
	return s.near[0], nil
}

// forgetFilters lets go of what is needed for look-ups alone.
func (f *File) forgetFilters() {
	start := f.size
	for _, g := range f.groups {
		for i := range g.Columns {
			c := &g.Columns[i]
			for _, at := range []int64{c.ColumnIndexOffset, c.OffsetIndexOffset} {
				if at > 0 {
					start = min(start, at)
				}
			}
			c.MetaData.BloomFilterOffset = 0
		}
	}
	if start > f.tailStart {
		f.tail, f.tailStart = slices.Clone(f.tail[start-f.tailStart:]), start
	}
}

// Outdated tells whether a reel holds what tombstones take away, evidence whose tapes went with what was taken away, or tapes of a revision below the one given.
func (c *Catalog) Outdated(ctx context.Context, o Object, tombs *Tombs, revision int) (bool, error) {
	traces := slices.DeleteFunc(tombs.Traces(), func(k TraceKey) bool { return k.Tenant != o.Tenant })
	if len(traces) == 0 && revision == 0 {
		return false, nil
	}
	f, err := c.openOne(ctx, o)
	if err != nil {
		return false, err
	}
	for _, k := range traces {
		spans, err := f.Find(ctx, "trace_id", k.TraceID, false)
		if err != nil {
			return false, err
		}
		holds := false
		for _, s := range spans {
			rows, err := f.entries(ctx, s, nil)
			if err != nil {
				return false, err
			}
			for _, e := range rows {
				holds = true
				left, err := tombs.Left(ctx, []*Entry{e})
				if err != nil || len(left.Rows) == 0 || left.Rows[0] != e {
					return err == nil, err
				}
			}
		}
		if !holds {
			continue
		}
		all, err := c.Trace(ctx, k.Tenant, k.TraceID)
		if err != nil {
			return false, err
		}
		left, err := tombs.Left(ctx, all)
		if err != nil {
			return false, err
		}
		if t := Unite(left.Rows); t.Current == nil && len(t.Parts) > 0 {
			return true, nil
		}
	}
	for _, s := range f.all() {
		if revision == 0 {
			break
		}
		rows, err := f.metas(ctx, s, []string{"parts", "revision", "keep"})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(rows, func(m Meta) bool { return len(m.Parts) > 0 && m.Revision < int64(revision) && !m.Dropped() }) {
			return true, nil
		}
	}
	return false, nil
}

// Texts walks all that the rows of a reel hold as text or bytes, content included.
func (c *Catalog) Texts(ctx context.Context, o Object, see func(column string, m *Meta, text []byte)) error {
	f, err := c.openOne(ctx, o)
	if err != nil {
		return err
	}
	from, content := cursor{file: f, spans: f.all()}, window{file: f}
	for {
		e, err := from.peek(ctx)
		if err != nil || e == nil {
			return err
		}
		from.buffer = from.buffer[1:]
		for _, column := range narrow {
			switch v, _ := e.Value(column); v := v.(type) {
			case string:
				see(column, &e.Meta, []byte(v))
			case []string:
				for _, text := range v {
					see(column, &e.Meta, []byte(text))
				}
			}
		}
		for _, column := range wideColumns {
			text, err := content.read(ctx, e, column)
			if err != nil {
				return err
			}
			see(column, &e.Meta, text)
		}
	}
}
