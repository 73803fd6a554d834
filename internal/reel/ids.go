// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// An id index says in which of some reels ids can be found, so that a look-up opens those alone. It is made by whoever makes reels of others, and is a help and nothing else: reels never
// change, so what an index says of a reel by its digest is true for ever, a reel that no index speaks of is opened, and an index that is gone, or damaged, is as none.
//
//	magic, length of the head, CRC-32C of the head   8, 4, 4 bytes
//	head: the number of reels, their digests         4, 32 each
//	      for the trace ids, and then all other ids:
//	      the number of entries                      4
//	      first key and CRC-32C of each block        8, 4
//	blocks of 4096 entries, the last one shorter:
//	      key, and the number of the reel            8, 2
//
// Numbers are big-endian, so entries are in the order of their bytes. The key of a trace id is its first half, that of another id its 64-bit xxHash. So two ids may have one key: then a reel is opened in vain.
const (
	idFolder    = Area + "/_ids/" // engines overlook folders that begin so
	idSuffix    = ".ids"
	idType      = "application/octet-stream"
	idMagic     = "TDRIDS1\n"
	idPrologue  = len(idMagic) + 8
	idEntry     = 10
	idBlock     = 4096
	idSections  = 2
	idMostReels = math.MaxUint16

	// maxIDs bounds the entries of an index: 160 MB. Making one takes twice that.
	maxIDs = 16 << 20
	// maxIDBlocks is how many blocks a look-up reads: what begins with a few digits may lie anywhere.
	maxIDBlocks = 64
	// mostLookUps is how many ids a program looks up by way of indexes. One that looks up more opens all reels, and has their filters in memory from then on.
	mostLookUps = 16
	// fewReels need no index: to read one costs as much.
	fewReels = 2
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// idObject is an id index as a listing shows it.
type idObject struct {
	digest string
	size   int64
}

func (o idObject) key() string { return idFolder + o.digest + idSuffix }

// ParseIDs tells whether a key is that of an id index, and its digest.
func ParseIDs(key string) (digest string, ok bool) {
	digest, prefix := strings.CutPrefix(key, idFolder)
	digest, suffix := strings.CutSuffix(digest, idSuffix)
	return digest, prefix && suffix && isDigest(digest)
}

// idIndex is the head of an id index.
type idIndex struct {
	reels    []string // digests
	sections [idSections]idSection
}

// idSection is the ids of one kind.
type idSection struct {
	entries int
	offset  int64 // of the first block
	first   []uint64
	sums    []uint32
}

// keysOf are the keys that a value, or what begins with it, can have, and the section that they are in. Of other columns an index knows nothing.
func keysOf(column, value string, prefix bool) (section int, from, to uint64, ok bool) {
	switch {
	case column == "trace_id":
		digits := value[:min(16, len(value))]
		low, high := digits+strings.Repeat("0", 16-len(digits)), digits+strings.Repeat("f", 16-len(digits))
		var b [16]byte
		if _, err := hex.Decode(b[:], []byte(low+high)); err != nil || digits == "" {
			return 0, 0, 0, false
		}
		return 0, binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), true
	case slices.Contains(idColumns, column) && !prefix:
		key := xxhash.Sum64([]byte(value))
		return 1, key, key, true
	}
	return 0, 0, 0, false
}

// parseIDHead reads the head of an index of so many bytes. more is how many bytes it takes if begin has fewer.
func parseIDHead(begin []byte, size int64) (x *idIndex, more int64, err error) {
	if len(begin) < idPrologue || string(begin[:len(idMagic)]) != idMagic {
		return nil, 0, corrupt("not an id index")
	}
	length := int64(binary.BigEndian.Uint32(begin[len(idMagic):]))
	if length > size-int64(idPrologue) {
		return nil, 0, corrupt("an id index with a head of %d bytes", length)
	}
	if int64(len(begin)) < int64(idPrologue)+length {
		return nil, int64(idPrologue) + length, nil
	}
	head := begin[idPrologue:][:length]
	if crc32.Checksum(head, crcTable) != binary.BigEndian.Uint32(begin[len(idMagic)+4:]) {
		return nil, 0, corrupt("a damaged id index")
	}
	take := func(n int) []byte {
		if n > len(head) {
			return nil
		}
		b := head[:n]
		head = head[n:]
		return b
	}
	number := func() (n int64) {
		if b := take(4); b != nil {
			return int64(binary.BigEndian.Uint32(b))
		}
		return -1
	}
	x = &idIndex{}
	n := number()
	if n < 0 || n > idMostReels || int64(len(head)) < n*sha256.Size {
		return nil, 0, corrupt("an id index that does not hold together")
	}
	for range n {
		x.reels = append(x.reels, hex.EncodeToString(take(sha256.Size)))
	}
	offset := int64(idPrologue) + length
	for i := range x.sections {
		s := &x.sections[i]
		entries := number()
		blocks := (entries + idBlock - 1) / idBlock
		if entries < 0 || int64(len(head)) < blocks*12 {
			return nil, 0, corrupt("an id index that does not hold together")
		}
		s.entries, s.offset = int(entries), offset
		for range blocks {
			b := take(12)
			s.first, s.sums = append(s.first, binary.BigEndian.Uint64(b)), append(s.sums, binary.BigEndian.Uint32(b[8:]))
		}
		offset += entries * idEntry
	}
	if len(head) > 0 || offset != size {
		return nil, 0, corrupt("an id index that does not hold together")
	}
	return x, 0, nil
}

// find returns the reels in which keys from one to another can be found; all of them where that would take too much.
func (x *idIndex) find(ctx context.Context, fetch Fetch, section int, from, to uint64) (found []string, err error) {
	s := &x.sections[section]
	// Blocks are in order, and a key may go on from one into the next.
	first := max(0, sort.Search(len(s.first), func(i int) bool { return s.first[i] >= from })-1)
	last := sort.Search(len(s.first), func(i int) bool { return s.first[i] > to })
	if last-first > maxIDBlocks {
		return x.reels, nil
	}
	if first >= last {
		return nil, nil
	}
	at, end := first*idBlock*idEntry, min(last*idBlock, s.entries)*idEntry
	body, err := fetch(ctx, s.offset+int64(at), int64(end-at))
	if err != nil {
		return nil, err
	}
	if len(body) != end-at {
		return nil, corrupt("an id index that ends too early")
	}
	hit := map[uint16]bool{}
	for block := range slices.Chunk(body, idBlock*idEntry) {
		if crc32.Checksum(block, crcTable) != s.sums[first] {
			return nil, corrupt("a damaged id index")
		}
		first++
		for e := range slices.Chunk(block, idEntry) {
			if key := binary.BigEndian.Uint64(e); key >= from && key <= to {
				hit[binary.BigEndian.Uint16(e[8:])] = true
			}
		}
	}
	for n := range hit {
		if int(n) >= len(x.reels) {
			return nil, corrupt("an id index that does not hold together")
		}
		found = append(found, x.reels[n])
	}
	return found, nil
}

// lookUp is what was asked of the id indexes.
type lookUp struct {
	section  int
	from, to uint64
}

// near are the reels among some in which a value of a column, or what begins with it, can be found, as far as the id indexes know.
func (c *Catalog) near(ctx context.Context, objects []Object, column, value string, prefix bool) []Object {
	section, from, to, ok := keysOf(column, value, prefix)
	if !ok {
		return objects
	}
	ask := lookUp{section, from, to}
	c.mu.Lock()
	indexes := c.indexes
	shut := 0
	for _, o := range objects {
		if c.files[o.Key()] == nil {
			shut++
		}
	}
	known := c.answers[ask]
	if known == nil && (shut <= fewReels || len(indexes) == 0 || len(c.answers) >= mostLookUps) {
		c.mu.Unlock()
		return objects
	}
	c.mu.Unlock()
	if known == nil {
		known = make(map[string]bool)
		answers := make([]map[string]bool, len(indexes))
		g := errgroup.Group{}
		g.SetLimit(opened)
		for i, o := range indexes {
			g.Go(func() error {
				answers[i], _ = c.ask(ctx, o, ask) // without an answer the reels are opened
				return nil
			})
		}
		_ = g.Wait()
		for _, answer := range answers {
			for digest, there := range answer {
				known[digest] = there
			}
		}
		c.mu.Lock()
		if slices.Equal(indexes, c.indexes) && ctx.Err() == nil {
			c.answers[ask] = known
		}
		c.mu.Unlock()
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		there, spoken := known[o.Digest]
		return spoken && !there
	})
}

// ask asks one index: of each reel that it speaks of, whether it can hold what is looked for.
func (c *Catalog) ask(ctx context.Context, o idObject, l lookUp) (map[string]bool, error) {
	fetch := c.fetch(o.key())
	if o.size <= firstTail { // head and blocks with one request
		body, err := fetch(ctx, 0, o.size)
		if err == nil && int64(len(body)) != o.size {
			err = corrupt("an id index that ends too early")
		}
		if err != nil {
			return nil, err
		}
		fetch = func(_ context.Context, offset, length int64) ([]byte, error) { return body[offset:][:length], nil }
	}
	x, err := c.idHead(ctx, o, fetch)
	if err != nil {
		return nil, err
	}
	found, err := x.find(ctx, fetch, l.section, l.from, l.to)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]bool, len(x.reels))
	for _, digest := range x.reels {
		answer[digest] = false
	}
	for _, digest := range found {
		answer[digest] = true
	}
	return answer, nil
}

// fetch reads ranges of an object of the deck.
func (c *Catalog) fetch(key string) Fetch {
	return func(ctx context.Context, offset, length int64) ([]byte, error) {
		return deck.GetRange(ctx, c.store, key, offset, length)
	}
}

// idHead reads the head of an index. It is kept with the indexes of reels.
func (c *Catalog) idHead(ctx context.Context, o idObject, fetch Fetch) (*idIndex, error) {
	begin := c.cache.read(o.digest)
	if x, more, err := parseIDHead(begin, o.size); err == nil && more == 0 {
		return x, nil
	}
	begin, err := fetch(ctx, 0, min(o.size, firstTail))
	if err != nil {
		return nil, err
	}
	x, more, err := parseIDHead(begin, o.size)
	if err == nil && x == nil {
		if begin, err = fetch(ctx, 0, more); err != nil {
			return nil, err
		}
		x, _, err = parseIDHead(begin, o.size)
	}
	if err == nil && x == nil {
		err = corrupt("an id index that ends too early")
	}
	if err == nil {
		c.cache.write(o.digest, begin[:x.sections[0].offset])
	}
	return x, err
}

// Indexed is what Index has done.
type Indexed struct {
	Written, Removed int
	Bytes            int64 // of those that were written
}

// Index brings the id indexes of the deck up to date: each speaks of reels that are there, and of reels that compactions have made each is spoken of, but for one. Sizes of indexes double from one to
// the next, up to the largest, so there are few. want chooses among the reels that are added; with nil, all, indexes that are there are put together, too. It may be called by several programs at
// once, and be stopped anywhere.
func (c *Catalog) Index(ctx context.Context, want func(Name) bool) (done Indexed, err error) {
	const most = 20 // what others do meanwhile is for the next call
	for range most {
		again, err := c.index(ctx, want, &done)
		if err != nil || !again {
			return done, err
		}
	}
	return done, nil
}

// Tidy lets the id indexes forget reels that this program has written again, or taken away.
func (c *Catalog) Tidy(ctx context.Context) error {
	c.mu.Lock()
	changed := c.changed && len(c.indexes) > 0
	c.changed = false
	c.mu.Unlock()
	if !changed {
		return nil
	}
	_, err := c.Index(ctx, nil)
	return err
}

// index writes one index, if there is one to write.
func (c *Catalog) index(ctx context.Context, want func(Name) bool, done *Indexed) (again bool, err error) {
	c.Stale()
	objects, err := c.List(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	olds := slices.SortedFunc(slices.Values(c.indexes), func(a, b idObject) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.digest, b.digest)) })
	c.mu.Unlock()
	there := map[string]bool{}
	for _, o := range objects {
		there[o.Digest] = o.Level > 0
	}
	// An index that speaks of what is gone, or of nothing that others do not speak of, is made again.
	var taken []idObject
	spoken := map[string]bool{}
	heads := map[idObject]*idIndex{}
	for _, o := range slices.Backward(olds) {
		x, err := c.idHead(ctx, o, c.fetch(o.key()))
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil && !errors.Is(err, deck.ErrCorrupt) && !errors.Is(err, deck.ErrNotFound):
			return false, err
		case err != nil: // what it speaks of is read
			taken = append(taken, o)
			continue
		case slices.ContainsFunc(x.reels, func(digest string) bool { return !there[digest] }), !slices.ContainsFunc(x.reels, func(digest string) bool { return !spoken[digest] }):
			taken = append(taken, o)
		}
		heads[o] = x
		for _, digest := range x.reels {
			spoken[digest] = true
		}
	}
	var missing []Object
	for _, o := range objects {
		if o.Level > 0 && !spoken[o.Digest] && (want == nil || want(o.Name)) {
			missing = append(missing, o)
		}
	}
	switch {
	case want != nil:
		taken = nil
	case len(taken) == 0 && len(missing) < fewReels:
		sum := int64(0)
		for i := range olds {
			if sum += olds[i].size; i > 0 && olds[i].size <= 2*olds[i-1].size && sum <= maxIDs*idEntry {
				taken = olds[:i+1]
				break
			}
		}
	}
	if len(taken) == 0 && len(missing) < fewReels {
		return false, nil
	}
	for _, o := range olds {
		if head := heads[o]; head != nil && !slices.Contains(taken, o) {
			for _, digest := range head.reels {
				there[digest] = false // it goes on speaking of it
			}
		}
	}
	w := idWriter{catalog: c, wanted: there, numbers: map[string]int{}, made: map[string]bool{}, done: done}
	for _, o := range taken {
		if head := heads[o]; head != nil {
			if err := w.takeIndex(ctx, o, head); err != nil {
				return false, err
			}
		}
	}
	for _, o := range missing {
		if err := w.takeReel(ctx, o); err != nil {
			return false, err
		}
	}
	if err := w.flush(ctx); err != nil {
		return false, err
	}
	for _, o := range taken {
		if w.made[o.digest] {
			continue
		}
		if err := c.store.Delete(ctx, o.key()); err != nil {
			return false, err
		}
		done.Removed++
	}
	return true, nil
}

// idWriter puts entries together. It holds what it puts together, and the index that this becomes.
type idWriter struct {
	catalog *Catalog
	wanted  map[string]bool // digests of reels
	reels   []string
	numbers map[string]int // of reels
	runs    [idSections][][]byte
	entries int
	made    map[string]bool // indexes
	done    *Indexed
}

// number is that of a reel in the index that is made.
func (w *idWriter) number(digest string) uint16 {
	n, ok := w.numbers[digest]
	if !ok {
		n = len(w.reels)
		w.numbers[digest] = n
		w.reels = append(w.reels, digest)
	}
	return uint16(n)
}

// takeIndex adds what an index says of reels that are there, and that nothing was said of yet.
func (w *idWriter) takeIndex(ctx context.Context, o idObject, head *idIndex) error {
	if err := w.room(ctx, head.sections[0].entries+head.sections[1].entries, len(head.reels)); err != nil {
		return err
	}
	body, err := w.catalog.store.Get(ctx, o.key())
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != o.digest {
		return nil // damaged: what it speaks of is read by the next call
	}
	to := make([]int, len(head.reels))
	for i, digest := range head.reels {
		to[i] = -1
		if _, said := w.numbers[digest]; !said && w.wanted[digest] {
			to[i] = int(w.number(digest))
		}
	}
	for i := range head.sections {
		s := &head.sections[i]
		run := make([]byte, 0, s.entries*idEntry)
		for e := range slices.Chunk(body[s.offset:][:s.entries*idEntry], idEntry) {
			from := int(binary.BigEndian.Uint16(e[8:]))
			if from >= len(to) {
				return corrupt("an id index that does not hold together")
			}
			if to[from] >= 0 {
				run = binary.BigEndian.AppendUint16(append(run, e[:8]...), uint16(to[from]))
			}
		}
		w.add(i, run)
	}
	return nil
}

// add adds entries that are in the order of keys.
func (w *idWriter) add(section int, run []byte) {
	w.runs[section] = append(w.runs[section], run)
	w.entries += len(run) / idEntry
}

// takeReel adds the ids of a reel.
func (w *idWriter) takeReel(ctx context.Context, o Object) error {
	f, err := w.catalog.openOne(ctx, o)
	if err != nil {
		return err
	}
	if err := w.room(ctx, 2*f.Rows(), 1); err != nil {
		return err
	}
	var keys [idSections][]uint64
	for _, s := range f.all() {
		near, err := f.ahead(ctx, s, idColumns, maxBlock)
		if err != nil {
			return err
		}
		for _, column := range idColumns {
			v, err := near.read(ctx, column, s)
			if err != nil {
				return err
			}
			for i, text := range v.texts {
				if v.null[i] || len(text) == 0 {
					continue
				}
				section, key, _, ok := keysOf(column, string(text), false)
				if !ok {
					return corrupt("a trace id that is none")
				}
				keys[section] = append(keys[section], key)
			}
		}
	}
	n := w.number(o.Digest)
	for section, keys := range keys {
		slices.Sort(keys)
		run := make([]byte, 0, len(keys)*idEntry)
		for _, key := range slices.Compact(keys) {
			run = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(run, key), n)
		}
		w.add(section, run)
	}
	return nil
}

// room writes what there is if so many entries, or reels, more are too many.
func (w *idWriter) room(ctx context.Context, entries, reels int) error {
	if w.entries > 0 && w.entries+entries > maxIDs || len(w.reels)+reels > idMostReels {
		return w.flush(ctx)
	}
	return nil
}

// flush writes an index of what there is.
func (w *idWriter) flush(ctx context.Context) error {
	if len(w.reels) == 0 {
		return nil
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(w.reels)))
	for _, digest := range w.reels {
		sum, err := hex.DecodeString(digest)
		if err != nil {
			return err
		}
		head = append(head, sum...)
	}
	blocks := make([]byte, 0, w.entries*idEntry)
	for section := range w.runs {
		start := len(blocks)
		for e := range mergeRuns(w.runs[section]) {
			blocks = append(blocks, e...)
		}
		w.runs[section] = nil
		head = binary.BigEndian.AppendUint32(head, uint32((len(blocks)-start)/idEntry))
		for block := range slices.Chunk(blocks[start:], idBlock*idEntry) {
			head = append(head, block[:8]...)
			head = binary.BigEndian.AppendUint32(head, crc32.Checksum(block, crcTable))
		}
	}
	body := make([]byte, 0, idPrologue+len(head)+len(blocks))
	body = append(body, idMagic...)
	body = binary.BigEndian.AppendUint32(body, uint32(len(head)))
	body = binary.BigEndian.AppendUint32(body, crc32.Checksum(head, crcTable))
	body = append(append(body, head...), blocks...)
	sum := sha256.Sum256(body)
	o := idObject{hex.EncodeToString(sum[:]), int64(len(body))}
	if _, err := w.catalog.store.PutNew(ctx, o.key(), body, idType); err != nil {
		return fmt.Errorf("write id index: %w", err)
	}
	w.done.Written++
	w.done.Bytes += o.size
	w.made[o.digest] = true
	w.reels, w.numbers, w.entries = nil, map[string]int{}, 0
	return nil
}

// mergeRuns yields the entries of sorted runs in order, each once.
func mergeRuns(runs [][]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		// The run whose entry comes first is in front: a heap of few.
		runs = slices.DeleteFunc(slices.Clone(runs), func(r []byte) bool { return len(r) == 0 })
		less := func(i, j int) bool { return bytes.Compare(runs[i][:idEntry], runs[j][:idEntry]) < 0 }
		down := func(i int) {
			for {
				least := i
				for child := 2*i + 1; child <= 2*i+2 && child < len(runs); child++ {
					if less(child, least) {
						least = child
					}
				}
				if least == i {
					return
				}
				runs[i], runs[least] = runs[least], runs[i]
				i = least
			}
		}
		for i := len(runs) / 2; i >= 0; i-- {
			down(i)
		}
		var last []byte
		for len(runs) > 0 {
			e := runs[0][:idEntry]
			if !bytes.Equal(e, last) {
				if !yield(e) {
					return
				}
				last = e
			}
			if runs[0] = runs[0][idEntry:]; len(runs[0]) == 0 {
				runs[0] = runs[len(runs)-1]
				runs = runs[:len(runs)-1]
			}
			if len(runs) > 0 {
				down(0)
			}
		}
	}
}
