// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
)

// Scrubber rewrites the traces of a deck under a profile.
type Scrubber struct {
	Deck     *deck.Deck
	Writer   *derive.Writer // with a gate
	Redactor *redact.Redactor
	Gate     Searcher  // what derived files must not hold
	DryRun   bool      // nothing is written
	Now      time.Time // what tombstones tell
}

// Outcome is what became of one location. Locations in which nothing was found have none.
type Outcome struct {
	Location    string           `json:"place"`
	Parts       int              `json:"parts"`               // rewritten, their originals buried
	Generations int              `json:"generations"`         // buried
	Tapes       []string         `json:"tapes,omitempty"`     // addresses of what was derived anew
	Values      map[string]int64 `json:"values,omitempty"`    // by rule: values that were replaced in the parts
	Abandoned   bool             `json:"abandoned,omitempty"` // the location is a file that a writer that died left; it was taken away
	Failures    []string         `json:"failures,omitempty"`
}

func (o *Outcome) fail(format string, args ...any) {
	o.Failures = append(o.Failures, fmt.Sprintf(format, args...))
}

func (o *Outcome) empty() bool {
	return o.Parts == 0 && o.Generations == 0 && !o.Abandoned && len(o.Failures) == 0
}

// All scrubs all locations of the deck, joined runs last, then what lies in quarantine. An error that it yields ends it. The outcomes say
// what could not be done. Store says whether the deck is clear afterwards.
func (s *Scrubber) All(ctx context.Context) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		changed := map[string]bool{} // tenant and trace
		for location, err := range s.Deck.Locations(ctx, deck.AreaRuns, deck.AreaReplays, deck.AreaUndecided) {
			if err != nil {
				yield(Outcome{}, err)
				return
			}
			o := s.location(ctx, location)
			if ctx.Err() != nil {
				yield(Outcome{}, ctx.Err())
				return
			}
			if o.Parts > 0 || o.Generations > 0 {
				changed[location.Tenant+"/"+location.TraceID] = true
			}
			if !o.empty() && !yield(o, nil) {
				return
			}
		}
		for _, step := range []func(context.Context, map[string]bool, func(Outcome) bool) (bool, error){s.joined, s.quarantine, s.abandoned} {
			more, err := step(ctx, changed, func(o Outcome) bool { return o.empty() || yield(o, nil) })
			if err != nil {
				yield(Outcome{}, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// location rewrites the parts of a location in which the redactor finds something, derives its tapes again, and buries what held it. Each step leaves
// the deck such that a repetition goes on where this ends.
func (s *Scrubber) location(ctx context.Context, location deck.Location) Outcome {
	o := Outcome{Location: location.Prefix(), Values: map[string]int64{}}
	state, err := s.Deck.State(ctx, location)
	if err != nil {
		o.fail("list: %v", err)
		return o
	}
	tenant, err := derive.TenantOf(ctx, s.Deck, location) // of a tape that may be buried soon
	noTenant := err
	found := false
	for _, digest := range state.Parts {
		td, err := s.read(ctx, location, digest)
		if err != nil {
			o.fail("part %s: %v", digest, err)
			continue
		}
		found = found || len(s.Redactor.ScanTraces(td)) > 0
	}
	if err := s.Deck.Held(ctx, location); err != nil && (found || len(s.stale(ctx, location, state, &Outcome{}, false)) > 0) {
		o.fail("%v", err)
		return o
	}
	if found {
		// All parts, so that a span that lies in several stays one item.
		for _, digest := range state.Parts {
			if err := s.part(ctx, location, digest, &o); err != nil {
				o.fail("part %s: %v", digest, err)
			}
		}
	}
	stale := s.stale(ctx, location, state, &o, o.Parts > 0)
	if o.Parts == 0 && len(stale) == 0 || s.DryRun {
		o.Generations = len(stale)
		return o
	}
	if noTenant != nil {
		o.fail("its tapes cannot be derived again: %v", noTenant)
	} else if made, err := s.derive(ctx, tenant, location, state); err != nil {
		o.fail("its tapes cannot be derived again: %v", err)
	} else {
		for _, w := range made {
			o.Tapes = append(o.Tapes, w.URL)
			if ref, err := deck.ParseRef(w.URL); err == nil && slices.Contains(stale, ref.Generation) {
				o.fail("the rules find something in the tapes that they do not find in the evidence of generation %s", ref.Generation)
				stale = slices.DeleteFunc(stale, func(g deck.Generation) bool { return g == ref.Generation })
			}
		}
	}
	s.bury(ctx, location, stale, &o)
	return o
}

// read returns a part without its markers, which say what it went through before and hold a key id that looks random.
func (s *Scrubber) read(ctx context.Context, location deck.Location, digest string) (ptrace.Traces, error) {
	canonical, err := s.Deck.ReadPart(ctx, location, digest)
	if err != nil {
		return ptrace.Traces{}, err
	}
	td, err := nesting.UnmarshalTraces(canonical)
	if err != nil {
		return td, fmt.Errorf("decode: %w", err)
	}
	for _, rs := range td.ResourceSpans().All() {
		handover.Strip(rs.Resource().Attributes())
	}
	return td, nil
}

// part writes a part redacted and marked, and buries what it was.
func (s *Scrubber) part(ctx context.Context, location deck.Location, digest string, o *Outcome) error {
	td, err := s.read(ctx, location, digest)
	if err != nil {
		return nil // said already
	}
	rep := &redact.Report{}
	s.Redactor.Traces(td, rep)
	if left := s.Redactor.ScanTraces(td); len(left) > 0 {
		return fmt.Errorf("%d values are left after redaction, the first by %s", len(left), left[0].Rule)
	}
	for rule, n := range rep.Hits {
		o.Values[rule] += n
	}
	o.Parts++
	if s.DryRun {
		return nil
	}
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(handover.Redaction, s.Redactor.Marker().String())
	}
	rewritten, err := evidence.Rewrite(td)
	if err != nil {
		return err
	}
	written, _, err := s.Deck.PutPart(ctx, location, rewritten)
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if written == digest {
		return nil // it was as it should be
	}
	return s.Deck.BuryPart(ctx, location, digest, s.burial())
}

func (s *Scrubber) burial() deck.Burial { return deck.Burial{Reason: deck.ReasonScrub, At: s.Now} }

// stale returns the generations that have to go: all of them when parts were rewritten, else those in whose files something is found.
func (s *Scrubber) stale(ctx context.Context, location deck.Location, state deck.LocationState, o *Outcome, all bool) []deck.Generation {
	var stale []deck.Generation
	for _, g := range state.Generations {
		found := all
		for _, run := range g.Runs {
			for _, name := range run.Files {
				if found {
					break
				}
				body, err := s.Deck.ReadFile(ctx, location, g.Generation, run.Root, name)
				if err != nil {
					o.fail("%s/%s/%s: %v", g.Generation, run.Root, name, err)
					continue
				}
				found = len(s.Gate.ScanFile(string(body))) > 0
			}
		}
		if found {
			stale = append(stale, g.Generation)
		}
	}
	return stale
}

// derive writes the tapes of a location anew. Runs that its current generation leaves out are part of a joined run and stay out; so does all of
// a location that has evidence only.
func (s *Scrubber) derive(ctx context.Context, tenant string, location deck.Location, before deck.LocationState) ([]derive.Written, error) {
	current, ok := before.Current()
	if !ok {
		return nil, nil
	}
	stored, err := s.Writer.Load(ctx, tenant, location)
	if err != nil {
		return nil, err
	}
	var except []string
	if location.Area == deck.AreaRuns {
		for _, root := range s.Writer.Roots(stored) {
			if !slices.Contains(current.Roots(), root) {
				except = append(except, root)
			}
		}
	}
	made, err := s.Writer.Tapes(ctx, stored, except)
	if errors.Is(err, generation.ErrNoRun) {
		return nil, nil
	}
	return made, err
}

func (s *Scrubber) bury(ctx context.Context, location deck.Location, stale []deck.Generation, o *Outcome) {
	for _, g := range stale {
		if _, err := s.Deck.BuryGeneration(ctx, location, g, s.burial()); err != nil {
			o.fail("generation %s: %v", g, err)
			continue
		}
		o.Generations++
	}
}

// joined derives the joined runs again whose traces have changed, and buries their old generations.
func (s *Scrubber) joined(ctx context.Context, changed map[string]bool, yield func(Outcome) bool) (more bool, err error) {
	type old struct {
		location deck.Location
		stale    []deck.Generation
		out      Outcome
	}
	var olds []old
	for location, err := range s.Deck.Locations(ctx, deck.AreaJoined) {
		if err != nil {
			return false, err
		}
		o := old{location: location, out: Outcome{Location: location.Prefix()}}
		state, err := s.Deck.State(ctx, location)
		if err != nil {
			o.out.fail("list: %v", err)
		}
		all := false
		if current, ok := state.Current(); ok {
			all = s.anyChanged(ctx, location, current, changed, &o.out)
		}
		if o.stale = s.stale(ctx, location, state, &o.out, all); len(o.stale) > 0 || !o.out.empty() {
			olds = append(olds, o)
		}
	}
	if len(olds) == 0 {
		return true, nil
	}
	if !s.DryRun {
		for w, err := range s.Writer.JoinDeck(ctx, derive.DeckJoin{}) {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			for i := range olds {
				o := &olds[i]
				if err != nil && i == 0 {
					o.out.fail("join: %v", err)
				}
				ref, parseErr := deck.ParseRef(w.URL)
				if err != nil || parseErr != nil || ref.Location != o.location {
					continue
				}
				o.out.Tapes = append(o.out.Tapes, w.URL)
				if slices.Contains(o.stale, ref.Generation) {
					o.out.fail("the rules find something in the joined tape that they do not find in its evidence")
					o.stale = slices.DeleteFunc(o.stale, func(g deck.Generation) bool { return g == ref.Generation })
				}
			}
		}
	}
	for i := range olds {
		o := &olds[i]
		if s.DryRun {
			o.out.Generations = len(o.stale)
		} else {
			s.bury(ctx, o.location, o.stale, &o.out)
		}
		if !yield(o.out) {
			return false, nil
		}
	}
	return true, nil
}

// anyChanged tells whether a trace of a joined run was rewritten.
func (s *Scrubber) anyChanged(ctx context.Context, location deck.Location, g deck.GenerationState, changed map[string]bool, o *Outcome) bool {
	for _, run := range g.Runs {
		body, err := s.Deck.ReadFile(ctx, location, g.Generation, run.Root, deck.TapeFile)
		var t *tape.Tape
		if err == nil {
			t, err = tape.ReadSealed(body)
		}
		if err != nil {
			o.fail("%s/%s: %v", g.Generation, run.Root, err)
			continue
		}
		if slices.ContainsFunc(t.Sources.TraceIDs, func(id string) bool { return changed[location.Tenant+"/"+id] }) {
			return true
		}
	}
	return false
}

// quarantine masks what the rules find in evidence that was held back. Reports hold locations and rules only.
func (s *Scrubber) quarantine(ctx context.Context, _ map[string]bool, yield func(Outcome) bool) (more bool, err error) {
	var found []Object
	for o, err := range Store(ctx, s.Deck.Store(), deck.QuarantineArea+"/", s.Gate) {
		if err != nil {
			return false, err
		}
		if !o.Clear() {
			found = append(found, o)
		}
	}
	for _, object := range found {
		o := Outcome{Location: object.Key, Values: map[string]int64{}}
		for _, hit := range object.Hits {
			o.Values[hit.Rule]++
		}
		if err := s.remask(ctx, object); err != nil {
			o.fail("%v", err)
		} else {
			o.Parts++
		}
		if !yield(o) {
			return false, nil
		}
	}
	return true, nil
}

func (s *Scrubber) remask(ctx context.Context, object Object) error {
	if object.Err != nil || s.DryRun {
		return object.Err
	}
	if !strings.HasSuffix(object.Key, deck.PartSuffix) {
		return s.Deck.Store().Delete(ctx, object.Key)
	}
	body, err := s.Deck.Store().Get(ctx, object.Key)
	if err != nil {
		return err
	}
	td, err := unpack(body)
	if err != nil {
		return err
	}
	dropped := s.Redactor.Purge(td)
	if len(s.Gate.ScanTraces(td)) > 0 {
		return errors.New("values are left after redaction")
	}
	rewritten, err := evidence.Rewrite(td)
	if err != nil {
		return err
	}
	location, _, err := deck.ParseLocation(strings.TrimPrefix(object.Key, deck.QuarantineArea+"/"))
	if err != nil {
		return err
	}
	report := fmt.Sprintf(`{"kind":"tape-quarantine","layout":"1","place":%q,"what":"scrubbed","dropped":%d}`+"\n", location.Prefix(), len(dropped))
	if _, err := s.Deck.PutQuarantine(ctx, location, []byte(report), rewritten); err != nil {
		return err
	}
	return s.Deck.Store().Delete(ctx, object.Key)
}

// abandoned takes away what writers that died have left, whatever it holds.
func (s *Scrubber) abandoned(ctx context.Context, _ map[string]bool, yield func(Outcome) bool) (more bool, err error) {
	for found, err := range deck.Abandoned(ctx, s.Deck.Store(), "") {
		if err != nil {
			return false, err
		}
		o := Outcome{Location: found.Key, Abandoned: true}
		if !s.DryRun {
			if err := s.Deck.Store().(deck.Leaver).RemoveAbandoned(ctx, found.Key); err != nil {
				o.fail("%v", err)
			}
		}
		if !yield(o) {
			return false, nil
		}
	}
	return true, nil
}
