// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/parquet-go/parquet-go/bloom/xxhash"
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
