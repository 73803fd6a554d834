// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/binary"
	"slices"
	"strings"
)

// keywords finds all of some hundred words in one pass over a text, without regard to case.
//
// Each word is represented by four of its bytes. The pass looks the hash of every four bytes of the text up in a table that fits into
// the first-level cache; only what is in the table is compared. The look-ups do not depend on each other, where an automaton waits for
// one memory access per byte, and their cost does not depend on the number of words.
type keywords struct {
	present [1 << (gramBits - 5)]uint32 // a bit for each hash of four bytes: a word has them
	slots   [1 << gramBits]uint16       // hash → 1 + index of buckets
	buckets [][]keyword
}

type keyword struct {
	gram uint32
	word string // lower case
	at   int    // where the gram stands in the word
	id   int
}

const (
	gramBits = 17
	gramLen  = 4
)

var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if isUpper(byte(i)) {
			t[i] |= 0x20
		}
	}
	return t
}()

func gramHash(gram uint32) uint32 { return gram * 2654435761 >> (32 - gramBits) }

// folded is the bit that makes letters lower case. Other bytes change too; what is found is compared again.
const folded = 0x2020202020202020

// load reads eight bytes, of which the first is the lowest. The compiler makes one load of it.
func load(s string, i int) uint64 {
	w := s[i : i+8] // one check of bounds instead of eight
	return uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
		uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
}

// newKeywords indexes words, which are in lower case and at least four bytes long. The id of a word is its place.
func newKeywords(words []string) *keywords {
	k := &keywords{}
	for id, w := range words {
		// The rarest four bytes of the word: those whose bytes are rarest in text.
		best, at := 1<<30, 0
		for i := 0; i+gramLen <= len(w); i++ {
			if f := frequency(w[i : i+gramLen]); f < best {
				best, at = f, i
			}
		}
		gram := binary.LittleEndian.Uint32([]byte(w[at:at+gramLen])) | folded&0xffffffff
		k.present[gramHash(gram)>>5] |= 1 << (gramHash(gram) & 31)
		slot := &k.slots[gramHash(gram)]
		if *slot == 0 {
			k.buckets = append(k.buckets, nil)
			*slot = uint16(len(k.buckets))
		}
		b := &k.buckets[*slot-1]
		*b = append(*b, keyword{gram: gram, word: w, at: at, id: id})
	}
	return k
}

// frequency is a rough order of how common four bytes are in text and JSON.
func frequency(gram string) (f int) {
	for i := range len(gram) {
		switch at := strings.IndexByte(" etaoinsrhldcu\"mfpgwybv,.:-_k01x2/j3q4z5", gram[i]); {
		case at >= 0:
			f += 41 - at
		}
	}
	return f
}

// each calls found with the place and id of every word in s, ordered by where the words' grams stand.
func (k *keywords) each(s string, found func(at, id int)) {
	i := 0
	for ; i+8 <= len(s); i += 4 {
		// Four windows of four bytes from one load, and one branch for all of them.
		x := load(s, i) | folded
		a, b, c, d := gramHash(uint32(x)), gramHash(uint32(x>>8)), gramHash(uint32(x>>16)), gramHash(uint32(x>>24))
		if (k.present[a>>5]>>(a&31)|k.present[b>>5]>>(b&31)|k.present[c>>5]>>(c&31)|k.present[d>>5]>>(d&31))&1 == 0 {
			continue
		}
		for j, h := range [...]uint32{a, b, c, d} {
			if k.present[h>>5]>>(h&31)&1 != 0 {
				k.at(s, i+j, uint32(x>>(8*j)), found)
			}
		}
	}
	for ; i+gramLen <= len(s); i++ {
		k.at(s, i, (uint32(s[i])|uint32(s[i+1])<<8|uint32(s[i+2])<<16|uint32(s[i+3])<<24)|folded&0xffffffff, found)
	}
}

// at looks the gram that stands at i up.
func (k *keywords) at(s string, i int, gram uint32, found func(at, id int)) {
	slot := k.slots[gramHash(gram)]
	if slot == 0 {
		return
	}
	for b := range k.buckets[slot-1] {
		e := &k.buckets[slot-1][b]
		if at := i - e.at; e.gram == gram && at >= 0 && len(s)-at >= len(e.word) && equalLowered(s[at:at+len(e.word)], e.word) {
			found(at, e.id)
		}
	}
}

func equalLowered(s, lower string) bool {
	for i := range len(lower) {
		if lowered[s[i]] != lower[i] {
			return false
		}
	}
	return true
}

// lengthened turns keywords of fewer than four bytes into longer ones, by every byte that may follow.
func lengthened(word, next string) (words []string) {
	if len(word) >= gramLen {
		return []string{word}
	}
	for i := range len(next) {
		words = append(words, lengthened(word+string(next[i]), next)...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}
