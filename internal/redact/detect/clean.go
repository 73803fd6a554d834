// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

// Agent telemetry repeats the same texts: system prompts, definitions of tools, the conversation that every turn sends anew. A detector remembers texts in
// which it has found nothing, by a hash, so that a text that comes again costs its hash.
//
// The detector remembers a verdict on a text together with all it depends on. The verdict depends on what the name above the text says, how deep the text
// lies in JSON, and which rules were applied. It depends on the name itself where that is of a service, because more is looked for beside one. A verdict
// never depends on a neighbour: what stands in several strings is found in their joined text, which is a text of its own here. Rules and allowances that
// apply at some paths only switch the table off.
//
// The hash has 128 bits under secrets that the process draws at random. Nobody can make a text that is taken for another, and none is by chance. The table
// has a fixed size, is shared by all walks of its detector, and holds no text.

const (
	cleanShards  = 64
	cleanBuckets = 512 // of a shard
	cleanWays    = 4   // entries of a bucket; the one that was not met for longest makes room
	minClean     = 32  // shorter texts are searched faster than remembered
)

// CleanTableBytes is the most that a detector uses to remember texts.
const CleanTableBytes = cleanShards * cleanBuckets * cleanWays * 32

type cleanTable struct {
	seeds  [2]maphash.Seed
	shards [cleanShards]struct {
		sync.Mutex
		buckets [][cleanWays]cleanEntry // made when the first text comes
	}
}

// cleanEntry is a text in which nothing was found.
type cleanEntry struct {
	sum           cleanKey
	leaves, bytes uint32 // what Report counts for it
	searched      uint32 // what it took of the budget
}

func newCleanTable() *cleanTable {
	return &cleanTable{seeds: cleanSeeds}
}

// Remember switches the memory of texts in which nothing was found on or off, and forgets those that are remembered. Every new detector remembers. The
// switch does not change what is found; it is there to measure, and to compare. Remember must not be called while the detector is in use.
func (r *Detector) Remember(on bool) {
	r.clean = nil
	if on && len(r.user) == 0 && len(r.allow.paths) == 0 { // or the verdict on a text hangs on its path
		r.clean = newCleanTable()
	}
}

// Remembers says whether the verdict on a text depends on nothing but the text and what is around it in its span.
func (r *Detector) Remembers() bool { return r.clean != nil }

// cleanKey is the hash of a text and of what its verdict depends on; the zero key is that of no text.
type cleanKey [2]uint64

// cleanUse says what a text was searched as.
type cleanUse uint8

const (
	cleanLeaf   cleanUse = iota // a value
	cleanRaw                    // a value as it stands in JSON, with its escapes
	cleanStream                 // the joined pieces of a stream, of each sureness

	cleanLines = cleanStream + cleanUse(flowText) + 1 // the documents of a stream, one behind the other
)

// cleanKey returns the key of a text under a name, zero if it is not remembered.
func (p *Walk) cleanKey(use cleanUse, s string, k *Name) (key cleanKey) {
	t := p.r.clean
	if t == nil || len(s) < minClean {
		return key
	}
	context := cleanContext{length: len(s), use: use, nested: nestedFor(p.nested, len(s)), sure: p.sure, facts: k.facts}
	if k.service {
		context.named, context.name = p.nested+len(p.path) > 0, p.path.lastName()
	}
	sums := t.sums(s)
	for i := range key {
		context.sum = sums[i]
		key[i] = maphash.Comparable(t.seeds[i], context) | 1
	}
	return key
}

// sums hashes a text under both secrets, a part after the other, so that the second hash finds the part in the first-level cache.
func (t *cleanTable) sums(s string) (sums [2]uint64) {
	const part, prime = 8 << 10, 0x9e3779b97f4a7c15
	for {
		n := min(len(s), part)
		for i := range sums {
			sums[i] = bits.RotateLeft64(sums[i]*prime, 29) + maphash.String(t.seeds[i], s[:n])
		}
		if s = s[n:]; s == "" {
			return sums
		}
	}
}

// cleanContext is all that a verdict depends on.
type cleanContext struct {
	sum    uint64 // of the text
	length int
	use    cleanUse
	nested int
	sure   bool
	facts  facts
	// Of the name of a service, whether it stands beside the text, and which.
	named bool
	name  string
}

// knownClean says whether a text is known, and counts it as it was counted when it was searched.
func (p *Walk) knownClean(key cleanKey) bool {
	e, known := p.r.clean.find(key)
	if !known && p.trusted != nil {
		e, known = p.trusted.find(key)
	}
	p.count(e)
	return known
}

// count counts what a text was counted as that is known.
func (p *Walk) count(e cleanEntry) {
	p.rep.Leaves += int64(e.leaves)
	p.rep.Bytes += int64(e.bytes)
	p.budget -= int(e.searched)
}

// find looks for an entry.
func (t *cleanTable) find(key cleanKey) (e cleanEntry, found bool) {
	if key == (cleanKey{}) {
		return e, false
	}
	shard := &t.shards[key[0]>>58]
	shard.Lock()
	defer shard.Unlock()
	if shard.buckets == nil {
		return e, false
	}
	bucket := &shard.buckets[key[0]>>1%cleanBuckets]
	for i := range bucket {
		if e := bucket[i]; e.sum == key {
			copy(bucket[1:i+1], bucket[:i])
			bucket[0] = e
			return e, true
		}
	}
	return e, false
}

// counted is what a walk had counted before a text was searched.
type counted struct {
	leaves, bytes, found int64
	budget, cuts         int
}

func (p *Walk) counted() counted {
	return counted{p.rep.Leaves, p.rep.Bytes, p.rep.found, p.budget, p.cuts}
}

// learnClean remembers a text if nothing was found since before. what was counted since is counted again when the text is met again.
func (p *Walk) learnClean(key cleanKey, before counted) {
	now := p.counted()
	if key == (cleanKey{}) || now.found != before.found || now.cuts != before.cuts {
		return
	}
	e := cleanEntry{key, uint32(now.leaves - before.leaves), uint32(now.bytes - before.bytes), uint32(before.budget - now.budget)}
	if e.bytes >= 1<<31 || e.searched >= 1<<31 {
		return
	}
	shard := &p.r.clean.shards[key[0]>>58]
	shard.Lock()
	defer shard.Unlock()
	if shard.buckets == nil {
		shard.buckets = make([][cleanWays]cleanEntry, cleanBuckets)
	}
	bucket := &shard.buckets[key[0]>>1%cleanBuckets]
	copy(bucket[1:], bucket[:cleanWays-1])
	bucket[0] = e
}
