// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package lateverdict brings verdicts to the runs that they judge, where they came in a trace of their own
// and name a run by the id of an answer or of a conversation. What it writes is evidence of the trace of the
// run, a part as any other. Writing it again changes nothing.
package lateverdict

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// Options says what Give looks at, and how it writes.
type Options struct {
	// Tenant limits it to one tenant; "" is all.
	Tenant string
	// Derive are the options of what is derived of the runs. Its gate may be nil: what is written has passed
	// the gate of the deck.
	Derive derive.Options
	// Rehearse writes nothing, but counts.
	Rehearse bool
	// Say is told of what could not be given, Unread of what could not be read; nil is nobody.
	Say, Unread func(error)
}

// Sums are what Give has done.
type Sums struct {
	Traces int // with verdicts on what their own runs do not hold
	Runs   int // that were given verdicts which they did not have
	Failed int // traces that could not be read, and verdicts that could not be written
}

// Bounds. Tests set others.
var (
	mostRuns  = 1000   // that one name stands for: a conversation may have many
	mostGiven = 10_000 // runs that are given verdicts in one call; the next call goes on
)

// batch is how many runs are written together: those of a deck of reels share objects.
const batch = 512

// maxSources bounds the traces whose verdicts are in memory.
const maxSources = 64

// source is a trace with verdicts that name what it does not hold.
type source struct {
	tenant   string // as it stands in keys
	location deck.Location
	names    []string // values of the column judged
}

// Give looks for verdicts that name runs of other traces and gives them to these. Production and replays do
// not mix: a verdict in a replay judges a replay.
func Give(ctx context.Context, d *deck.Deck, o Options) (Sums, error) {
	g := &giver{Options: o, deck: d, loader: derive.NewWriter(d, o.Derive), waiting: map[string][]*source{}, reached: map[string]int{}, read: map[*source]*evidence.Set{}}
	if err := g.find(ctx); err != nil || len(g.waiting) == 0 {
		return g.sums, err
	}
	given := map[target]map[*source][]string{}
	for r, err := range view.Select(ctx, d, view.Query{Want: g.wanted, Columns: []string{"tenant", "trace_id", "conversation_id", "response_ids"}}) {
		if err != nil {
			if !g.fail(g.Unread, err) {
				return g.sums, err
			}
			continue
		}
		g.match(r, given)
	}
	for _, to := range slices.SortedFunc(maps.Keys(given), compareTargets) {
		err := g.give(ctx, to, given[to])
		if err != nil && !g.fail(g.Say, fmt.Errorf("give verdicts to trace %s: %w", to.location.TraceID, err)) {
			return g.sums, err
		}
		if g.sums.Runs == mostGiven {
			g.fail(g.Say, fmt.Errorf("%d runs were given verdicts; call it again for the others", mostGiven))
			break
		}
	}
	return g.sums, g.write(ctx)
}

// target is a trace that gets verdicts.
type target struct {
	tenant   string
	location deck.Location
}

type giver struct {
	Options
	deck    *deck.Deck
	loader  *derive.Writer
	waiting map[string][]*source // by tenant, kind of area and name
	reached map[string]int       // by the same: runs
	read    map[*source]*evidence.Set
	tenant  string        // of what waits to be written
	waits   *evidence.Set // nil for nothing
	count   int           // runs in it
	sums    Sums
}

// fail counts an error about one trace. It reports whether the work goes on.
func (g *giver) fail(say func(error), err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	g.sums.Failed++
	if say != nil {
		say(err)
	}
	return g.sums.Failed < ingest.MaxFailures || !errors.As(err, new(*deck.StoreError))
}

func (g *giver) wanted(l deck.Location) bool { return l.Of(g.Tenant) }

// key is a name within a tenant, of production or of replays.
func key(tenant string, area deck.Area, name string) string {
	kind := "production"
	if area == deck.AreaReplays {
		kind = "replays"
	}
	return tenant + "\x00" + kind + "\x00" + name
}

func (g *giver) wait(l deck.Location, names []string) {
	if len(names) == 0 {
		return
	}
	g.sums.Traces++
	s := &source{l.TenantKey(), l, names}
	for _, name := range names {
		k := key(s.tenant, l.Area, name)
		g.waiting[k] = append(g.waiting[k], s)
	}
}

// find gathers the traces with verdicts on what they do not hold.
func (g *giver) find(ctx context.Context) error {
	judged := func(m *reel.Meta) bool { return len(m.Judged) > 0 }
	query := view.Query{Want: g.wanted, Filter: []string{"judged"}, Test: judged, Columns: []string{"tenant", "trace_id", "judged"}}
	for r, err := range view.Select(ctx, g.deck, query) {
		if err != nil {
			if !g.fail(g.Unread, err) {
				return err
			}
			continue
		}
		g.wait(r.Ref.Location, r.Judged)
	}
	if catalog := view.Catalog(g.deck); catalog != nil {
		return g.findInReels(ctx, catalog)
	}
	return g.findInFiles(ctx)
}

// findInReels looks at rows without a run. Where the trace has a run in another row, its tape says what is
// judged.
func (g *giver) findInReels(ctx context.Context, catalog *reel.Catalog) error {
	traces, err := catalog.Judging(ctx, nil)
	if err != nil {
		return err
	}
	for k, names := range traces {
		locations, err := g.deck.LocationsOf(ctx, k.TraceID, false)
		if err != nil {
			if !g.fail(g.Unread, err) {
				return err
			}
			continue
		}
		for _, l := range locations {
			if l.TenantKey() != k.Tenant || !g.wanted(l) {
				continue
			}
			switch _, has, err := g.deck.Current(ctx, l); {
			case err != nil && !g.fail(g.Unread, fmt.Errorf("trace %s: %w", l.TraceID, err)):
				return err
			case err == nil && !has:
				g.wait(l, names)
			}
		}
	}
	return nil
}

// findInFiles looks at traces without tapes.
func (g *giver) findInFiles(ctx context.Context) error {
	for l, err := range g.deck.Locations(ctx, deck.AreaRuns, deck.AreaUndecided, deck.AreaReplays) {
		if err != nil {
			return err
		}
		if !g.wanted(l) {
			continue
		}
		_, has, err := g.deck.Current(ctx, l)
		if err == nil && !has {
			var s *derive.Stored
			if s, err = g.loader.Load(ctx, l.Tenant, l); err == nil {
				g.wait(l, generation.Judged(s.Set))
			}
		}
		if err != nil && !g.fail(g.Unread, fmt.Errorf("trace %s: %w", l.TraceID, err)) {
			return err
		}
	}
	return nil
}

// match notes what a run is given.
func (g *giver) match(r view.Run, given map[target]map[*source][]string) {
	l := r.Ref.Location
	if l.Area == deck.AreaUndecided {
		return
	}
	names := []string{reel.JudgedConversation(r.ConversationID)}
	for _, id := range r.ResponseIDs {
		names = append(names, reel.JudgedResponse(id))
	}
	if l.Area == deck.AreaJoined {
		l.Area = deck.AreaRuns // where the evidence lies
	}
	for _, name := range names {
		k := key(l.TenantKey(), l.Area, name)
		sources := g.waiting[k]
		if len(sources) == 0 {
			continue
		}
		if g.reached[k]++; g.reached[k] > mostRuns {
			if g.reached[k] == mostRuns+1 {
				g.fail(g.Say, fmt.Errorf("a verdict names a conversation of more than %d runs; the others are not given it", mostRuns))
			}
			continue
		}
		for _, s := range sources {
			if s.location.TraceID == l.TraceID {
				continue
			}
			to := target{r.Tenant, l}
			if given[to] == nil {
				given[to] = map[*source][]string{}
			}
			given[to][s] = append(given[to][s], name)
		}
	}
}

// give gathers the verdicts on what a run has, unless they are there or were taken away.
func (g *giver) give(ctx context.Context, to target, from map[*source][]string) error {
	var id pcommon.TraceID
	if _, err := hex.Decode(id[:], []byte(to.location.TraceID)); err != nil {
		return err
	}
	set := evidence.NewSet()
	for s, names := range from {
		said, err := g.verdictsOf(ctx, to.tenant, s)
		if err != nil {
			return err
		}
		set.AddTraces(said.VerdictsFor(id, func(v genai.Verdict) bool { return slices.Contains(names, generation.JudgedBy(v)) }))
	}
	if set.Len() == 0 {
		return nil
	}
	part, err := set.Canonical()
	if err != nil {
		return err
	}
	state, err := g.deck.State(ctx, to.location)
	if err != nil || slices.Contains(state.Parts, deck.PartDigest(part)) {
		return err
	}
	w, err := g.deck.LocationWriter(ctx, to.location)
	if err != nil || w.Buried() || w.PartBuried(deck.PartDigest(part)) {
		return err
	}
	if g.sums.Runs++; g.Rehearse {
		return nil
	}
	if g.waits != nil && (g.tenant != to.tenant || g.count == batch) {
		if err := g.write(ctx); err != nil {
			return err
		}
	}
	if g.waits == nil {
		g.tenant, g.waits = to.tenant, evidence.NewSet()
	}
	g.waits.Merge(set)
	g.count++
	return nil
}

// verdictsOf reads the evidence of a trace with verdicts.
func (g *giver) verdictsOf(ctx context.Context, tenant string, s *source) (*evidence.Set, error) {
	if set := g.read[s]; set != nil {
		return set, nil
	}
	stored, err := g.loader.Load(ctx, tenant, s.location)
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", s.location.TraceID, err)
	}
	if len(g.read) == maxSources {
		clear(g.read)
	}
	g.read[s] = stored.Set
	return stored.Set, nil
}

// write writes what give has gathered.
func (g *giver) write(ctx context.Context) error {
	if g.waits == nil {
		return nil
	}
	var said []error
	w := &ingest.Writer{Options: g.Derive, Tenant: g.tenant, NoJoin: true, Say: func(format string, args ...any) { said = append(said, fmt.Errorf(format, args...)) }}
	b := ingest.NewBatch(nil, nil)
	b.Set = g.waits
	g.waits, g.count = nil, 0
	if err := w.Write(ctx, g.deck, b); err != nil {
		return err
	}
	if w.Refused > 0 {
		return errors.Join(said...)
	}
	return nil
}

func compareTargets(a, b target) int {
	return cmp.Or(strings.Compare(a.tenant, b.tenant), strings.Compare(a.location.Prefix(), b.location.Prefix()))
}
