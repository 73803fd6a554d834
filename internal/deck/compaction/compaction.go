// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package compaction makes of the many small reels that writers leave in a deck fewer and larger ones: sorted, without what is there twice or was taken away, with the
// tapes of all evidence. Nobody has to be asked and nothing is locked: a reader sees the same before, meanwhile and after, whoever else compacts, writes or is killed
// in between. docs/deck.md says why.
package compaction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
)

// Options of a compaction.
type Options struct {
	// MaxBytes is about the size of the reels that are made; 0 is DefaultMaxBytes. One is in memory until it is durable.
	MaxBytes int64
	// OlderThan leaves alone the reels of days that have not ended that long ago; 0 takes all.
	OlderThan time.Duration
	// Shard, from 1, of Shards shares of the tenants and days; 0 of 0 is everything.
	Shard, Shards int
	// Rederive makes the tapes again that an older revision of the derivation has made.
	Rederive bool
	// Sign signs the tapes that are derived; nil signs none.
	Sign *signature.Signer
	// DryRun says what would be done.
	DryRun bool
	// Grace is how long reels stay after what they were made into is durable: longer than a listing takes.
	Grace time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Report is told of each merge; nil is nobody.
	Report func(Merge)
}

// DefaultMaxBytes bounds what a compaction needs in memory at about three times as much.
const DefaultMaxBytes = 128 << 20

// DefaultGrace is far longer than the listing of a deck takes.
const DefaultGrace = 10 * time.Second

// Validate reports options that cannot work.
func (o Options) Validate() error {
	switch {
	case o.MaxBytes != 0 && (o.MaxBytes < 1<<20 || o.MaxBytes > deck.MaxObjectBytes):
		return errors.New("the size of a reel must be between 1 MiB and 512 MiB")
	case o.OlderThan < 0 || o.Grace < 0:
		return errors.New("a duration must not be less than nothing")
	case o.Shards != 0 && (o.Shard < 1 || o.Shard > o.Shards) || o.Shards == 0 && o.Shard != 0:
		return errors.New("a shard is i/n, with i from 1 to n")
	}
	return nil
}

// Merge is one step of a compaction. The order of its fields is part of the contract.
type Merge struct {
	Tenant   string   `json:"tenant"`
	Date     string   `json:"date"`
	Inputs   []string `json:"inputs"`
	Outputs  []string `json:"outputs,omitempty"`
	Rows     int      `json:"rows"`              // written
	Dropped  int      `json:"dropped"`           // rows that were there in another one
	Buried   int      `json:"buried,omitempty"`  // rows that tombstones took away
	Moved    int      `json:"moved,omitempty"`   // traces that were brought to another area
	Derived  int      `json:"derived,omitempty"` // traces whose tapes were made
	Failed   int      `json:"failed,omitempty"`  // traces whose tapes could not be made; their evidence is kept
	BytesIn  int64    `json:"bytes_in"`
	BytesOut int64    `json:"bytes_out"`
	Failures []error  `json:"-"`
}

// Sums are those of a compaction. The order of its fields is part of the contract.
type Sums struct {
	DryRun   bool  `json:"dry_run"`
	Reels    int   `json:"reels"` // of the deck, when it began
	Merges   int   `json:"merges"`
	Inputs   int   `json:"inputs"`
	Outputs  int   `json:"outputs"`
	Rows     int   `json:"rows"`
	Dropped  int   `json:"dropped"`
	Buried   int   `json:"buried"`
	Moved    int   `json:"moved"`
	Derived  int   `json:"derived"`
	Failed   int   `json:"failed"`
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
}

func (s *Sums) add(m Merge) {
	s.Merges++
	s.Inputs, s.Outputs = s.Inputs+len(m.Inputs), s.Outputs+len(m.Outputs)
	s.Rows, s.Dropped, s.Buried = s.Rows+m.Rows, s.Dropped+m.Dropped, s.Buried+m.Buried
	s.Moved, s.Derived, s.Failed = s.Moved+m.Moved, s.Derived+m.Derived, s.Failed+m.Failed
	s.BytesIn, s.BytesOut = s.BytesIn+m.BytesIn, s.BytesOut+m.BytesOut
}

// ErrLayout is returned for a deck that has no reels.
var ErrLayout = errors.New("a deck of files has nothing to compact; gc takes away what newer tapes have replaced")

// compaction is one on its way.
type compaction struct {
	Options
	deck    *deck.Deck
	catalog *reel.Catalog
	tombs   *reel.Tombs
	gone    map[string]bool // keys that were merged
	full    map[string]bool // keys that a merge of small reels has made without making fewer: they are small and stay so
	forced  map[string]bool // keys that are to be merged whatever their size; false: they were
	due     []removal
	sums    Sums
}

// removal is a reel that goes when its time has come.
type removal struct {
	key string
	at  time.Time
}

// Run compacts a deck of reels. An error leaves the deck as whole as it was: called again, it goes on.
func Run(ctx context.Context, d *deck.Deck, o Options) (Sums, error) {
	if err := o.Validate(); err != nil {
		return Sums{}, err
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &compaction{Options: o, deck: d, catalog: view.Catalog(d), gone: map[string]bool{}, full: map[string]bool{}, forced: map[string]bool{}}
	c.sums.DryRun = o.DryRun
	if c.catalog == nil {
		return c.sums, ErrLayout
	}
	defer c.catalog.Stale()
	objects, err := c.list(ctx)
	if err != nil {
		return c.sums, err
	}
	c.sums.Reels = len(objects)
	for _, p := range c.partitions(objects) {
		if err := c.partition(ctx, p); err != nil {
			return c.sums, fmt.Errorf("compact tenant %s, %s: %w", p.tenant, p.date, err)
		}
	}
	for _, key := range c.unsettled() { // in partitions of other days, or of other shards
		n, _ := reel.ParseName(key)
		if err := c.partition(ctx, partition{n.Tenant, n.Date}); err != nil {
			return c.sums, fmt.Errorf("compact tenant %s, %s: %w", n.Tenant, n.Date, err)
		}
	}
	if err := c.remove(ctx, true); err != nil || o.DryRun {
		return c.sums, err
	}
	var own func(reel.Name) bool // with several shards each adds what is its own, and whoever compacts everything puts the indexes together
	if o.Shards > 1 {
		own = func(n reel.Name) bool { return c.own(partition{n.Tenant, n.Date}) }
	}
	if _, err := c.catalog.Index(ctx, own); err != nil {
		return c.sums, fmt.Errorf("write id index: %w", err)
	}
	return c.sums, nil
}

// own tells whether a partition is of this shard.
func (c *compaction) own(p partition) bool {
	h := fnv.New32a()
	h.Write([]byte(p.tenant + "/" + p.date))
	return c.Shards < 2 || int(h.Sum32()%uint32(c.Shards)) == c.Shard-1
}

// list lists the reels as they are now, without those that were merged, and the tombstones.
func (c *compaction) list(ctx context.Context) ([]reel.Object, error) {
	tombs, err := reel.LoadTombs(ctx, view.Raw(c.deck))
	if err != nil {
		return nil, err
	}
	c.tombs = tombs
	c.catalog.Stale()
	objects, err := c.catalog.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o reel.Object) bool { return c.gone[o.Key()] }), nil
}

// partition is the reels that are merged with each other.
type partition struct{ tenant, date string }

func (p partition) holds(o reel.Object) bool { return o.Tenant == p.tenant && o.Date == p.date }

// partitions are those that this compaction is about, in order.
func (c *compaction) partitions(objects []reel.Object) (list []partition) {
	for _, o := range objects {
		list = append(list, partition{o.Tenant, o.Date})
	}
	slices.SortFunc(list, func(a, b partition) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.date, b.date)) })
	return slices.DeleteFunc(slices.Compact(list), func(p partition) bool {
		day, err := time.Parse(time.DateOnly, p.date)
		if err != nil || c.OlderThan > 0 && c.Now().Sub(day.AddDate(0, 0, 1)) < c.OlderThan {
			return true
		}
		return !c.own(p)
	})
}

// unsettled are the reels that are to be merged still.
func (c *compaction) unsettled() (keys []string) {
	for key, waits := range c.forced {
		if waits {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// partition merges until there is nothing to merge.
func (c *compaction) partition(ctx context.Context, p partition) error {
	const most = 5
	looked := false
	for vanished := 0; ; {
		if err := c.remove(ctx, false); err != nil {
			return err
		}
		objects, err := c.list(ctx)
		if err != nil {
			return err
		}
		if !looked {
			err = c.look(ctx, p, objects)
		}
		if err == nil {
			looked = true
			group := c.next(p, objects)
			if len(group) == 0 {
				return nil
			}
			err = c.merge(ctx, group, objects)
		}
		switch {
		case errors.Is(err, deck.ErrNotFound) && vanished < most:
			vanished++ // somebody else has merged it
		case err != nil:
			return err
		}
	}
}

// look finds reels that have to be merged whatever their size.
func (c *compaction) look(ctx context.Context, p partition, objects []reel.Object) error {
	for _, o := range objects {
		if !p.holds(o) || o.Level == 0 {
			continue
		}
		if _, known := c.forced[o.Key()]; known {
			continue
		}
		revision := 0
		if c.Rederive {
			revision = generation.Revision
		}
		stale, err := c.catalog.Outdated(ctx, o, c.tombs, revision)
		if err != nil {
			return err
		}
		if stale {
			c.forced[o.Key()] = true
		}
	}
	return nil
}

// maxFanIn is how many reels are merged at once, and fanInBytes by how much their sizes together may exceed that of a reel that is made.
const (
	maxFanIn = 64
	fanIn    = 4
)

// next chooses what is merged next: what writers have left, together with what is small; then what is small in one area. Each merge takes away reels of level 0, or makes fewer, or its
// outputs are not merged again, so this ends.
func (c *compaction) next(p partition, objects []reel.Object) (group []reel.Object) {
	var candidates []reel.Object
	fresh := false
	small := map[deck.Area]int{}
	for _, o := range objects {
		if !p.holds(o) {
			continue
		}
		forced := c.forced[o.Key()]
		switch {
		case o.Level == 0 || forced:
			fresh = true
		case o.Size < c.MaxBytes/2 && !c.full[o.Key()]:
			small[o.Area]++
		default:
			continue
		}
		candidates = append(candidates, o)
	}
	if !fresh {
		area := deck.Area("")
		for a, n := range small {
			if n > 1 && (area == "" || a < area) {
				area = a
			}
		}
		candidates = slices.DeleteFunc(candidates, func(o reel.Object) bool { return o.Area != area })
	}
	first := func(o reel.Object) int {
		if o.Level == 0 || c.forced[o.Key()] {
			return 0
		}
		return 1
	}
	slices.SortFunc(candidates, func(a, b reel.Object) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Key(), b.Key()))
	})
	var size int64
	for _, o := range candidates {
		if len(group) == maxFanIn || len(group) > 1 && size+o.Size > fanIn*c.MaxBytes {
			break
		}
		size += o.Size
		group = append(group, o)
	}
	return group
}

// merge merges a group of reels.
func (c *compaction) merge(ctx context.Context, group, objects []reel.Object) error {
	in := func(list []reel.Object, o reel.Object) bool {
		return slices.ContainsFunc(list, func(x reel.Object) bool { return x.Name == o.Name })
	}
	others := slices.DeleteFunc(slices.Clone(objects), func(o reel.Object) bool { return o.Tenant != group[0].Tenant || in(group, o) })
	m := &reel.Merger{Catalog: c.catalog, Tombs: c.tombs, MaxBytes: c.MaxBytes, Derive: c.rows, DryRun: c.DryRun}
	if c.Rederive {
		m.Revision = generation.Revision
	}
	done, err := m.Merge(ctx, group, others)
	if err != nil {
		return err
	}
	if err := c.catalog.Settle(ctx, c.tombs, done.Outputs); err != nil {
		return err
	}
	report := Merge{Tenant: group[0].Tenant, Date: group[0].Date, Rows: done.Rows, Dropped: done.Dropped, Buried: done.Buried, Moved: done.Moved, Derived: done.Derived,
		Failed: len(done.Failures), Failures: done.Failures}
	inVain := len(done.Outputs) >= len(group) && !slices.ContainsFunc(group, func(o reel.Object) bool { return o.Level == 0 || c.forced[o.Key()] })
	for _, o := range done.Outputs {
		if inVain {
			c.full[o.Key()] = true
		}
		report.Outputs = append(report.Outputs, o.Key())
		report.BytesOut += o.Size
	}
	var replaced []string
	for _, o := range group {
		key := o.Key()
		report.Inputs = append(report.Inputs, key)
		report.BytesIn += o.Size
		c.gone[key] = true
		if c.forced[key] {
			c.forced[key] = false
		}
		if !c.DryRun && !in(done.Outputs, o) {
			replaced = append(replaced, key)
		}
	}
	if err := c.catalog.Announce(ctx, replaced); err != nil {
		return err
	}
	at := c.Now().Add(c.Grace)
	for _, key := range replaced {
		c.due = append(c.due, removal{key, at})
	}
	for _, o := range done.Misplaced {
		if _, known := c.forced[o.Key()]; !known {
			c.forced[o.Key()] = true
		}
	}
	c.sums.add(report)
	if c.Report != nil {
		c.Report(report)
	}
	return nil
}

// rows makes the tapes of a trace.
func (c *compaction) rows(ctx context.Context, t *reel.Trace) ([]reel.Row, error) {
	return view.Rows(ctx, t, generation.Options{Sign: c.Sign})
}

// remove takes away the reels whose time has come; all waits for it.
func (c *compaction) remove(ctx context.Context, all bool) error {
	for len(c.due) > 0 {
		first := c.due[0]
		if wait := first.at.Sub(c.Now()); wait > 0 {
			if !all {
				return nil
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			}
		}
		if err := view.Raw(c.deck).Delete(ctx, first.key); err != nil {
			return err
		}
		c.due = c.due[1:]
	}
	return nil
}
