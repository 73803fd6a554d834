// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

// source is a trace as it lies in the deck that is read.
type source struct {
	location deck.Location
	at       deck.Location // where its objects are read; another one if a move was interrupted
	parts    []string
	current  *deck.GenerationState // nil: no tapes
	left     int                   // generations that are not carried
}

// done is what became of a trace.
type done struct {
	parts, tapes int // that were written
	beside       bool
	united       bool
}

// leftovers carries what lies still where a trace was before it was moved: whoever moved it was interrupted.
func (c *carrier) leftovers(ctx context.Context) error {
	for l, err := range c.from.Leftovers(ctx, deck.AreaRuns, deck.AreaUndecided) {
		if err != nil {
			return err
		}
		to, _, moved, err := c.from.MovedTo(ctx, l)
		if err == nil && !moved || !c.wants(to) {
			continue
		}
		var s source
		if err == nil {
			s, err = c.read(ctx, to)
		}
		var remains deck.LocationState
		if err == nil {
			remains, err = c.from.Remains(ctx, l)
		}
		if err == nil {
			s = source{location: to, at: l, parts: without(remains.Parts, s.parts)}
			if len(s.parts) == 0 {
				continue
			}
			var did done
			if did, err = c.carry(ctx, &s, nil, c.flush); err == nil {
				c.count(&s, did)
			}
		}
		if err != nil {
			c.sums.Traces.Read++
			if err := c.refuse(&c.sums.Traces, l.Prefix(), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush lets the reel be written that a trace waits for.
func (c *carrier) flush() { c.reels.Flush() }

// trace carries one trace. It counts everything of it, or, if it is refused, nothing but that.
func (c *carrier) trace(ctx context.Context, l deck.Location, has *held, idle func()) error {
	if c.o.Wants != nil { // what is noted about it
		if err := c.copyAll(ctx, deck.HoldArea+"/"+l.TenantKey()+"/"+l.TraceID+"/", &c.sums.Holds); err != nil {
			return err
		}
	}
	var s source
	var did done
	err := errGone
	// A writer may replace what was listed.
	const attempts = 3
	for range attempts {
		if s, err = c.read(ctx, l); err != nil {
			break
		}
		if len(s.parts) == 0 && s.current == nil {
			return nil // what lay there is buried, or has been taken away since
		}
		if did, err = c.carry(ctx, &s, has, idle); !errors.Is(err, errGone) {
			break
		}
	}
	if err != nil {
		c.mu.Lock()
		c.sums.Traces.Read++
		c.mu.Unlock()
		return c.refuse(&c.sums.Traces, l.Prefix(), err)
	}
	c.count(&s, did)
	if c.o.Wants != nil {
		return c.copyAll(ctx, deck.StatusFolder+l.Prefix()+"/", &c.sums.Replays)
	}
	return nil
}

// count adds a trace to the sums.
func (c *carrier) count(s *source, did done) {
	tapes := 0
	if s.current != nil {
		tapes = len(s.current.Runs)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	count := func(to *Counts, read, written int) {
		to.Read += read
		to.Written += written
		to.There += read - written
	}
	count(&c.sums.Traces, 1, min(1, did.parts+did.tapes))
	count(&c.sums.Parts, len(s.parts), did.parts)
	count(&c.sums.Tapes, tapes, did.tapes)
	c.sums.Superseded += s.left
	if did.beside {
		c.sums.Beside++
	}
	if did.united {
		c.sums.United++
	}
}

// read lists a trace.
func (c *carrier) read(ctx context.Context, l deck.Location) (source, error) {
	s := source{location: l, at: l}
	state, err := c.from.State(ctx, l)
	if err != nil {
		return s, err
	}
	s.parts, s.left = state.Parts, len(state.Generations)
	if g, ok := state.Current(); ok {
		s.current = &g
		s.left--
	}
	return s, nil
}

// gone makes of an object that is not there any more an error about its trace.
func gone(err error) error {
	if errors.Is(err, deck.ErrNotFound) {
		return errGone
	}
	return err
}

func (c *carrier) part(ctx context.Context, s *source, digest string) ([]byte, error) {
	body, err := c.from.ReadPart(ctx, s.at, digest)
	return body, gone(err)
}

// files reads the current tapes of a trace, and what lies beside them.
func (c *carrier) files(ctx context.Context, s *source) ([]deck.RunFiles, error) {
	runs := make([]deck.RunFiles, len(s.current.Runs))
	for i, r := range s.current.Runs {
		runs[i].Root = r.Root
		for _, name := range r.Files {
			body, err := c.from.ReadFile(ctx, s.location, s.current.Generation, r.Root, name)
			if err != nil {
				return nil, gone(err)
			}
			runs[i].Files = append(runs[i].Files, deck.File{Name: name, Body: body})
		}
	}
	return runs, nil
}

// without returns what of a list is not in another one.
func without(list, other []string) (rest []string) {
	for _, s := range list {
		if !slices.Contains(other, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

// there tells whether a state has the tapes of a source, or better ones.
func (s *source) there(state deck.LocationState) bool {
	if s.current == nil || state.Has(s.current.Generation) {
		return true
	}
	current, ok := state.Current()
	return ok && current.Replaces(s.current.Generation)
}

func (c *carrier) carry(ctx context.Context, s *source, has *held, idle func()) (done, error) {
	if c.reels != nil && s.location.Area != deck.AreaJoined {
		return c.toReels(ctx, s, has, idle)
	}
	return c.toFiles(ctx, s)
}

// toFiles carries a trace as files. Where the deck holds other evidence of it, what it lacks is delivered, as by a collector.
func (c *carrier) toFiles(ctx context.Context, s *source) (did done, err error) {
	l := s.location
	w, _, err := c.to.NewTraceWriter(ctx, l)
	if err != nil {
		return did, err
	}
	state, err := w.State(ctx)
	if err != nil {
		return did, err
	}
	elsewhere := false
	if w.Buried() {
		to, why, moved, err := c.to.MovedTo(ctx, l)
		if err != nil {
			return did, err
		}
		if !moved {
			return did, fmt.Errorf("%w: it was taken away there (%s)", deck.ErrBuried, why)
		}
		if state, err = c.to.State(ctx, to); err != nil {
			return did, err
		}
		elsewhere = true
	} else if c.begun && l.Area != deck.AreaJoined && len(without(s.parts, state.Parts)) > 0 {
		if elsewhere, err = c.elsewhere(ctx, l); err != nil {
			return did, err
		}
	}
	buried := slices.ContainsFunc(s.parts, w.PartBuried)
	if l.Area != deck.AreaJoined && (elsewhere || buried || len(without(state.Parts, s.parts)) > 0) {
		return c.unite(ctx, s, slices.DeleteFunc(without(s.parts, state.Parts), w.PartBuried))
	}
	missing, tapes := without(s.parts, state.Parts), !s.there(state)
	if len(missing) > 0 || tapes {
		if err := c.prepare(ctx, s); err != nil {
			return did, err
		}
	}
	for _, digest := range missing {
		body, err := c.part(ctx, s, digest)
		if err != nil {
			return did, err
		}
		if _, _, err := w.PutNamedPart(ctx, digest, body); err != nil {
			return did, err
		}
		did.parts++
	}
	if tapes {
		files, err := c.files(ctx, s)
		if err != nil {
			return did, err
		}
		if _, err := w.PutGeneration(ctx, s.current.Generation, files); err != nil {
			return did, err
		}
		did.tapes = len(files)
	}
	return did, nil
}

// elsewhere tells whether a deck has a trace in another place than the one that it has in the other deck.
func (c *carrier) elsewhere(ctx context.Context, l deck.Location) (bool, error) {
	locations, err := c.to.LocationsOf(ctx, l.TraceID, false)
	return slices.ContainsFunc(locations, func(o deck.Location) bool {
		return o.Area != deck.AreaJoined && o.TenantKey() == l.TenantKey() && o.Prefix() != l.Prefix()
	}), err
}

// prepare notes what writers of files note before the first evidence of a trace that is not production.
func (c *carrier) prepare(ctx context.Context, s *source) error {
	production := s.location
	production.Area, production.ReplayRunID = deck.AreaRuns, ""
	switch s.location.Area {
	case deck.AreaUndecided:
		return c.to.FlagUndecided(ctx, production)
	case deck.AreaReplays:
		_, err := c.to.PutTombstone(ctx, production, deck.Burial{Reason: deck.ReasonReplay, MovedTo: &s.location})
		return err
	}
	return nil
}

// unite delivers parts to a deck that holds others of the same trace.
func (c *carrier) unite(ctx context.Context, s *source, missing []string) (did done, err error) {
	if len(missing) == 0 {
		return did, nil
	}
	tenant, err := c.tenant(ctx, s)
	if err != nil {
		return did, err
	}
	for _, digest := range missing {
		body, err := c.part(ctx, s, digest)
		if err != nil {
			return did, err
		}
		set, err := evidence.FromPart(body)
		if err != nil {
			return did, fmt.Errorf("%w: part %s: %w", deck.ErrCorrupt, digest, err)
		}
		_, _, err = c.merge.Deliver(ctx, derive.Request{Tenant: tenant, TraceID: s.location.TraceID, Set: set, Complete: s.location.Area != deck.AreaUndecided})
		if err != nil && !errors.Is(err, generation.ErrNoRun) && !errors.Is(err, generation.ErrUnderivable) {
			return did, err
		}
		did.parts++
	}
	did.united = true
	return did, nil
}

// errName is about an escaped name that nothing tells.
var errName = errors.New("its key has the name of its tenant escaped, and no tape tells it")

// tenant returns the name of the tenant of a trace. Where its key has it escaped, tapes tell it.
func (c *carrier) tenant(ctx context.Context, s *source) (string, error) {
	key := s.location.TenantKey()
	if deck.SafeName(s.location.Tenant) == key {
		return s.location.Tenant, nil
	}
	c.mu.Lock()
	name := c.names[key]
	c.mu.Unlock()
	if name != "" {
		return name, nil
	}
	if s.current == nil {
		return "", errName
	}
	body, err := c.from.ReadFile(ctx, s.location, s.current.Generation, s.current.Runs[0].Root, deck.TapeFile)
	if err != nil {
		return "", gone(err)
	}
	t, err := tape.Read(body)
	if err != nil || deck.SafeName(t.Run.Tenant) != key {
		return "", errName
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	const most = 10_000
	if len(c.names) < most {
		c.names[key] = t.Run.Tenant
	}
	return t.Run.Tenant, nil
}

// toReels carries a trace as rows. What rows cannot say goes as files beside the reels, which readers see together.
func (c *carrier) toReels(ctx context.Context, s *source, has *held, idle func()) (did done, err error) {
	if has == nil {
		if has, err = c.look(ctx, s.location); err != nil {
			return did, err
		}
	}
	if len(without(s.parts, has.here.Parts)) == 0 && s.there(has.here) {
		return did, nil
	}
	left, err := c.unburied(ctx, s)
	if err != nil {
		return did, err
	}
	missing := without(left, has.parts)
	if len(left) < len(s.parts) || len(without(has.parts, s.parts)) > 0 {
		return c.bare(ctx, s, missing, idle)
	}
	if len(missing) == 0 && len(has.here.Parts) == 0 { // it lies in another place, with all evidence
		return did, nil
	}
	rows, err := c.rows(ctx, s, missing)
	if err == nil {
		err = c.reels.Add(ctx, rows, idle, false)
	}
	if errors.Is(err, errNoRows) || errors.Is(err, deck.ErrTooLarge) {
		did, err = c.toFiles(ctx, s)
		did.beside = true
		return did, err
	}
	if err != nil {
		return did, err
	}
	did.parts = len(missing)
	if s.current != nil {
		did.tapes = len(s.current.Runs)
	}
	return did, nil
}

// unburied are the parts of a trace that the deck has not taken away.
func (c *carrier) unburied(ctx context.Context, s *source) ([]string, error) {
	if !c.buried[reel.TraceKey{Tenant: s.location.TenantKey(), TraceID: s.location.TraceID}] {
		return s.parts, nil
	}
	production := s.location
	production.Area, production.ReplayRunID = deck.AreaRuns, ""
	left := s.parts
	for _, l := range []deck.Location{s.location, production} {
		t, err := c.to.Tombstones(ctx, l)
		if err != nil {
			return nil, err
		}
		if t.Trace() {
			_, why, moved, err := c.to.MovedTo(ctx, l)
			if err != nil {
				return nil, err
			}
			if !moved && l == s.location {
				return nil, fmt.Errorf("%w: it was taken away there (%s)", deck.ErrBuried, why)
			}
			continue
		}
		left = slices.DeleteFunc(slices.Clone(left), t.Part)
	}
	return left, nil
}

// common is what all rows of a trace have; errNoRows where its key does not tell its names.
func (c *carrier) common(ctx context.Context, s *source) (m reel.Meta, err error) {
	m = reel.Meta{Area: string(s.location.Area), TraceID: s.location.TraceID, ReplayRunID: s.location.ReplayRunID, Complete: s.location.Area != deck.AreaUndecided}
	if m.Tenant, err = c.tenant(ctx, s); err == nil && m.Location().Prefix() != s.location.Prefix() {
		err = errName
	}
	if errors.Is(err, errName) {
		err = fmt.Errorf("%w: %w", errNoRows, err)
	}
	return m, err
}

// bare writes parts as rows without tapes, for a trace of which the deck has other parts: readers derive the tapes of all.
func (c *carrier) bare(ctx context.Context, s *source, missing []string, idle func()) (did done, err error) {
	if len(missing) == 0 {
		return did, nil
	}
	common, err := c.common(ctx, s)
	if err != nil {
		return did, err
	}
	rows, err := c.evidence(ctx, s, common, missing)
	if err != nil {
		return did, err
	}
	return done{parts: len(missing), united: true}, c.reels.Add(ctx, rows, idle, false)
}

// evidence are rows that have parts and nothing else.
func (c *carrier) evidence(ctx context.Context, s *source, common reel.Meta, parts []string) (rows []reel.Row, err error) {
	for _, digest := range parts {
		row := reel.Row{Meta: common}
		row.Part = digest
		if row.Evidence, err = c.part(ctx, s, digest); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// errNoRows is about a trace that rows do not hold as it is.
var errNoRows = errors.New("a reel cannot hold it as it is")

// rows makes the rows of a trace that has no other evidence in the deck: its tapes, and the parts that are missing there.
func (c *carrier) rows(ctx context.Context, s *source, missing []string) ([]reel.Row, error) {
	if len(s.parts) == 0 {
		return nil, errNoRows
	}
	common, err := c.common(ctx, s)
	if err != nil {
		return nil, err
	}
	first := common
	first.Part, first.Parts = s.parts[0], s.parts
	rows := []reel.Row{{Meta: first}} // says that there are no tapes of this evidence
	if s.current != nil {
		files, err := c.files(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = rows[:0]
		for _, run := range files {
			row, err := rowOf(first, s.current.Generation, run)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	if rows[0].Evidence, err = c.part(ctx, s, s.parts[0]); err != nil {
		return nil, err
	}
	bare, err := c.evidence(ctx, s, common, slices.DeleteFunc(slices.Clone(missing), func(p string) bool { return p == s.parts[0] }))
	if err != nil {
		return nil, err
	}
	for i := range bare {
		bare[i].Formats = rows[0].Formats
	}
	return append(rows, bare...), nil
}

// rowOf makes the row of a run. It is errNoRows unless a reader of the row finds the same files under the same name: what lies beside a tape in a deck of reels is made of the tape
// by whoever reads it.
func rowOf(common reel.Meta, g deck.Generation, run deck.RunFiles) (row reel.Row, err error) {
	row.Meta = common
	at := slices.IndexFunc(run.Files, func(f deck.File) bool { return f.Name == deck.TapeFile })
	row.Tape = run.Files[at].Body
	t, err := tape.ReadSealed(row.Tape)
	if err != nil {
		return row, fmt.Errorf("%w: %w", deck.ErrCorrupt, err)
	}
	row.Describe(t)
	row.ReplayRunID = cmp.Or(common.ReplayRunID, row.ReplayRunID)
	producer, err := json.Marshal([]string{t.Producer.Name, t.Producer.Version, t.Producer.ConfigDigest})
	if err != nil {
		return row, err
	}
	row.Producer, row.Items, row.Revision = string(producer), int64(g.Items), int64(g.Revision)
	if row.Tenant != common.Tenant || row.TraceID != common.TraceID || row.RootSpanID != run.Root || row.Generation() != g {
		return row, errNoRows
	}
	formats := []string{generation.FormatTape}
	for _, f := range run.Files {
		switch {
		case f.Name == deck.TapeFile:
			continue
		case f.Name == deck.OracleFile:
			formats = append(formats, generation.FormatOracle)
		case f.Name == deck.AIWGFile:
			formats = append(formats, "aiwg")
		case strings.HasSuffix(f.Name, deck.WazaSuffix):
			formats = append(formats, "waza")
		case isSignature(f):
			s, _, err := signature.ParseFile(f.Body)
			if err != nil || row.Signature != "" || !bytes.Equal(f.Body, s.File(generation.Statement(t, common.Parts))) {
				return row, errNoRows // several, or one over something else than the row says
			}
			row.Signature = s.String()
			continue
		default:
			return row, errNoRows
		}
		row.Files = append(row.Files, f.Name)
	}
	slices.Sort(formats)
	slices.Sort(row.Files)
	row.Formats = slices.Compact(formats)
	made, _, err := generation.Files(nil, t, row.Formats)
	if err != nil {
		return row, errNoRows
	}
	for _, f := range run.Files {
		if f.Name != deck.TapeFile && !isSignature(f) && !slices.ContainsFunc(made, func(m deck.File) bool { return m.Name == f.Name && bytes.Equal(m.Body, f.Body) }) {
			return row, errNoRows
		}
	}
	return row, nil
}

func isSignature(f deck.File) bool {
	_, ok := signature.KeyOf(f.Name)
	return ok
}
