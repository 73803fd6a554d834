// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"unsafe"

	"github.com/tapedeck/tapedeck/internal/reading/textsum"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
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
	minClean     = 32  // shorter values are remembered with their name, see brief
	shortValues  = 32  // of a name: what it is called, such as a type, takes more than a few values
)

// CleanTableBytes is the most that a detector uses to remember texts.
const CleanTableBytes = cleanShards * cleanBuckets * cleanWays * 32

type cleanTable struct {
	seeds  [2]maphash.Seed
	salt   cleanKey // of the sums of short values: names are shared by detectors, and are not forgotten
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
	return &cleanTable{seeds: cleanSeeds, salt: cleanKey{rand.Uint64(), rand.Uint64()}}
}

// Remember switches the memory of texts in which nothing was found on or off, and forgets those that are remembered. Every new detector remembers. The
// switch does not change what is found; it is there to measure, and to compare. Remember must not be called while the detector is in use.
func (r *Detector) Remember(on bool) {
	switch {
	case !on || len(r.user) > 0 || len(r.allow.paths) > 0: // the verdict on a text hangs on its path
		r.clean = nil
	case r.clean != nil:
		r.clean.forget()
	default:
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
	cleanMark  = cleanLines + 1                       // the whole blocks before the end of an element of an array: where that is
	cleanBegin = cleanLines + 2                       // the begin of a text, up to the end of an element

	cleanSeveral = cleanLines + 3 // documents of their own, one behind the other
)

// cleanKey returns the key of a text under a name, zero if it is not remembered.
func (p *Walk) cleanKey(use cleanUse, s string, k *Name) (key cleanKey) {
	t := p.r.clean
	p.blocks = p.blocks[:0]
	if t == nil || brief(s, k) {
		return key
	}
	sums := textsum.Behind(textsum.Sum{}, s, &p.blocks)
	if use == cleanLeaf && p.nested == 0 && len(s) >= minSummed {
		p.summed = append(p.summed, summedText{unsafe.StringData(s), len(s), sums})
	}
	return p.cleanKeyOf(use, sums, len(s), k)
}

// minSummed is from how many bytes on the sums of a value are kept for Walk.Sums.
const minSummed = 256

// summedText is a value and its sums. It is told from others by where it lies: it is not changed, and not freed while this is kept.
type summedText struct {
	at     *byte
	length int
	sums   textsum.Sum
}

// Sums is textsum.Of, which knows the values that were searched since ForgetSums.
func (p *Walk) Sums(s string) textsum.Sum {
	for i := range p.summed {
		if t := &p.summed[i]; t.length == len(s) && t.at == unsafe.StringData(s) {
			return t.sums
		}
	}
	return textsum.Of(s)
}

// ForgetSums begins with another span.
func (p *Walk) ForgetSums() {
	clear(p.summed)
	p.summed = p.summed[:0]
}

// cleanKeyOf is cleanKey for a text whose sums and length are known.
func (p *Walk) cleanKeyOf(use cleanUse, sums textsum.Sum, length int, k *Name) (key cleanKey) {
	// Behind the sum of the text all that a verdict depends on, each in its place; of the name of a service whether it stands beside the text, and which.
	var space [128]byte
	said := k.sums()
	context := append(space[:0], make([]byte, 8)...)
	context = binary.LittleEndian.AppendUint64(context, uint64(length))
	context = binary.LittleEndian.AppendUint64(context, said[0])
	context = binary.LittleEndian.AppendUint64(context, said[1])
	context = append(context, byte(use), byte(nestedFor(p.nested, length)), bit(p.sure), bit(k.service), bit(k.service && p.nested+len(p.path) > 0))
	if k.service {
		context = append(context, p.path.lastName()...)
	}
	for i := range key {
		binary.LittleEndian.PutUint64(context, sums[i])
		key[i] = maphash.Bytes(p.r.clean.seeds[i], context) | 1
	}
	return key
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// sums are those of what a name says of its value, under the secrets of the tables.
func (k *Name) sums() [2]uint64 {
	if known := k.summed.Load(); known != nil {
		return *known
	}
	said := k.ofValue()
	sums := [2]uint64{maphash.Comparable(cleanSeeds[0], said), maphash.Comparable(cleanSeeds[1], said)}
	k.summed.Store(&sums)
	return sums
}

// knownClean says whether a text is known, and counts it as it was counted when it was searched.
func (p *Walk) knownClean(key cleanKey) bool {
	e, known := p.known(key)
	p.count(e)
	return known
}

// known looks for an entry, first in the memory that is trusted: it has met most texts.
func (p *Walk) known(key cleanKey) (e cleanEntry, known bool) {
	if p.trusted != nil {
		if e, known = p.trusted.find(key); known {
			return e, true
		}
	}
	return p.r.clean.find(key)
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

// forget forgets all entries, and keeps the memory for others.
func (t *cleanTable) forget() {
	t.salt = cleanKey{rand.Uint64(), rand.Uint64()}
	for i := range t.shards {
		clear(t.shards[i].buckets)
	}
}

// Short values repeat with their names: a model, a role, the kind of an operation. To look for one in the
// table costs nearly as much as to search it. So its name remembers it, by the same hash. All else that a
// verdict depends on is the same there: the value does not lie deep in JSON, all rules apply, and the name
// that stands beside it is this one.

// brief says whether a text is remembered with its name, if at all. JSON costs more to search. Values without
// a name, such as names of spans, are too many for the places of one name.
func brief(s string, k *Name) bool { return len(s) < minClean && k != NoName && !looksLikeJSON(s) }

// shortKey is the key of a short value under a name, zero if it is not remembered with it.
func (p *Walk) shortKey(s string, k *Name) (key cleanKey) {
	t := p.r.clean
	if t == nil || !brief(s, k) || nestedFor(p.nested, len(s)) > 0 || p.sure {
		return key
	}
	// What is searched beside the value is not what k says.
	if k.service && (k.text == "" || p.path.lastName() != k.text) {
		return key
	}
	for i := range key {
		key[i] = (maphash.String(t.seeds[i], s) ^ t.salt[i]) | 1
	}
	return key
}

// holds says whether nothing was found in a short value.
func (k *Name) holds(key cleanKey) bool {
	at := &k.short[key[0]>>1%shortValues]
	return key != (cleanKey{}) && at[0].Load() == key[0] && at[1].Load() == key[1]
}

// learnShort remembers a short value that was searched once, as one text, if nothing was found since before.
func (p *Walk) learnShort(key cleanKey, before counted, s string, k *Name) {
	if e, ok := p.counted().since(before); ok && key != (cleanKey{}) && e.leaves == 1 && int(e.bytes) == len(s) && int(e.searched) == len(s) {
		at := &k.short[key[0]>>1%shortValues]
		at[0].Store(key[0])
		at[1].Store(key[1])
	}
}

// counted is what a walk had counted before a text was searched.
type counted struct {
	leaves, bytes, found int64
	budget, cuts         int
}

func (p *Walk) counted() counted {
	return counted{p.rep.Leaves, p.rep.Bytes, p.rep.found, p.budget, p.cuts}
}

// learnClean remembers a text if nothing was found since before. What was counted since is counted again when the text is met again.
func (p *Walk) learnClean(key cleanKey, before counted) {
	if key == (cleanKey{}) {
		return
	}
	if e, ok := p.counted().since(before); ok {
		e.sum = key
		p.r.clean.put(e)
	}
}

// since is what was counted since before. It is false if something was found since.
func (now counted) since(before counted) (e cleanEntry, ok bool) {
	e = cleanEntry{leaves: uint32(now.leaves - before.leaves), bytes: uint32(now.bytes - before.bytes), searched: uint32(before.budget - now.budget)}
	return e, now.found == before.found && now.cuts == before.cuts && e.bytes < 1<<31 && e.searched < 1<<31
}

// put remembers an entry, unless it is the one that was met last.
func (t *cleanTable) put(e cleanEntry) {
	shard := &t.shards[e.sum[0]>>58]
	shard.Lock()
	defer shard.Unlock()
	if shard.buckets == nil {
		shard.buckets = make([][cleanWays]cleanEntry, cleanBuckets)
	}
	bucket := &shard.buckets[e.sum[0]>>1%cleanBuckets]
	if bucket[0].sum != e.sum {
		copy(bucket[1:], bucket[:cleanWays-1])
	}
	bucket[0] = e
}

// A conversation that is sent again has grown: the array of its messages begins with the elements that are known. So begins of texts are remembered too, up
// to the ends of elements of an array: of each block of the text the last one. Where that is stands in an entry of its own under the whole blocks before
// it.
//
// The array may be the text, or lie in it behind few other things: {"model": "…", "messages": [ …, [[ …. What stands before the array is read again, so it
// may say anything about the array and about what follows. Of the arrays in one another the elements of any may be the last that is known, as long as all
// arrays around it are at their first element.
//
// Such a begin says nothing about the elements behind it: in it nothing was found, no stream goes on behind it, and it does not announce the next element.

// element is the end of an element of an array.
type element struct {
	open, end, index int        // where its array begins, where it ends itself, its number
	entry            cleanEntry // what was counted from the begin of the array on
}

// elements are the ends of elements of arrays that a text begins with.
type elements struct {
	known  element          // where the reading goes on behind the begin of its array; the zero element if nothing is known
	blocks []textsum.Sum    // the sums of the text behind each whole block; nil: nothing is remembered any more
	key    *Name            // under which the text stands
	nested int              // how deep it lies
	before counted          // what was counted before it
	last   element          // the last end, which is not remembered yet
	tokens []jsonscan.Token // those of the text, none if it has not been read, or has too many
}

// elementsOf returns what is known of a text that may be JSON and has just been asked for as a whole.
func (p *Walk) elementsOf(s string, k *Name) elements {
	of := elements{key: k, nested: p.nested, before: p.counted()}
	if len(p.blocks) == 0 {
		return of
	}
	of.blocks = slices.Clone(p.blocks)
	for n := len(of.blocks); n > 0; n-- {
		mark, ok := p.known(p.markKey(&of, n))
		if end := n*textsum.Block + int(mark.leaves); ok && end < len(s) && s[end] == ',' {
			if e, ok := p.known(p.beginKey(&of, s, end)); ok {
				of.known = element{int(mark.searched), end, int(mark.bytes), e}
				of.last = of.known
				break
			}
		}
	}
	return of
}

// skip brings a scanner of a text behind the elements that are known.
func (e *element) skip(r *jsonscan.Scanner) {
	for e.end > 0 {
		switch t := r.Next(); {
		case t.Kind == jsonscan.Open && t.Start == e.open:
			r.Skip(e.end)
			return
		case t.Kind == jsonscan.Bad || t.Kind == jsonscan.End: // not in a text that begins like one that was read
			return
		}
	}
}

// markKey is the key under which it stands where the last element ends that begins in the first n blocks, beginKey that of the text up to there.
func (p *Walk) markKey(of *elements, n int) cleanKey {
	return p.cleanKeyOf(cleanMark, of.blocks[n-1], n*textsum.Block, of.key)
}

func (p *Walk) beginKey(of *elements, s string, end int) cleanKey {
	n := end / textsum.Block
	return p.cleanKeyOf(cleanBegin, textsum.Behind(of.blocks[n-1], s[n*textsum.Block:end], nil), end, of.key)
}

// ended notes the end of an element of the array top, which lies in outside. It remembers the one before, if
// that was the last of its block.
func (p *Walk) ended(of *elements, s string, end int, outside, top *frame) {
	now := p.counted()
	if _, ok := now.since(of.before); !ok { // now or of any later element
		p.learnBegin(of, s)
		of.blocks = nil
		return
	}
	for _, piece := range p.pieces[top.pieces:] {
		if piece.flow != flowNone { // now or of any later element of this array
			top.first = false
			return
		}
	}
	p.pieces = p.pieces[:top.pieces] // none of them is one
	e, _ := now.since(top.before)
	index := p.path[len(p.path)-1].index
	switch {
	case top.announced != nil, top.titles != nil, p.pem.open > 0, len(p.pem.lines) > 0: // it says something about the next element
		return
	case top.collect != nil, top.lists && outside.object: // columns of rows, and rows whose columns may be named behind them
		return
	case index == 0 && top.open < of.last.open: // what is in this element has ended at the same place, and may be what grows
		return
	case of.last.end/textsum.Block < end/textsum.Block:
		p.learnBegin(of, s)
	case top.open > of.last.open && of.last.end > 0: // behind the array that began before, in the same block
		return
	}
	of.last = element{top.open, end, index, e}
}

// learnBegin remembers the text up to the last end that was noted.
func (p *Walk) learnBegin(of *elements, s string) {
	end := of.last.end
	if n := end / textsum.Block; n > 0 && n <= len(of.blocks) && end > of.known.end {
		nested := p.nested
		p.nested = of.nested
		e := of.last.entry
		e.sum = p.beginKey(of, s, end)
		p.r.clean.put(e)
		p.r.clean.put(cleanEntry{sum: p.markKey(of, n), leaves: uint32(end - n*textsum.Block), bytes: uint32(of.last.index), searched: uint32(of.last.open)})
		p.nested = nested
	}
}
