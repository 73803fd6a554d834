// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

// keywords finds all of some thousand words in one pass over a text, without regard to case.
//
// Each word is represented by four of its bytes. The pass looks the hash of every four bytes of the text up in a table that fits into
// the first-level cache; only what is in the table is compared. The look-ups do not depend on each other, where an automaton waits for
// one memory access per byte, and their cost does not depend on the number of words. What is compared is first the four bytes, with those
// beside them: most texts hold the four bytes of some words within other words.
type keywords struct {
	present [1 << 12]uint32 // by the upper 12 bits of the hash of four bytes: the bits that the next 5 bits name, and the 5 behind them, are set if a word has the bytes
	grams   []gramEntry     // by hash, in the first free place from there on; their number is a power of two
	words   []keyword       // those of a gram one behind the other
}

// gramEntry is four bytes that stand in words.
type gramEntry struct {
	gram          uint32
	first, n      uint16 // its words
	before, after uint16 // a bit for the lower half of each byte that stands beside it in a word; all of them where a word begins or ends
}

type keyword struct {
	word string // lower case
	at   int    // where the gram stands in the word
	id   int
}

// wordAt is a word in a text.
type wordAt struct{ at, id int }

// gramLen is how many bytes of a word are looked up.
const gramLen = 4

var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if isUpper(byte(i)) {
			t[i] |= 0x20
		}
	}
	return t
}()

func gramHash(gram uint32) uint32 { return gram * 2654435761 }

// The two bits that four bytes have in a word of present.
func firstBit(hash uint32) uint32  { return 1 << (hash >> 15 & 31) }
func secondBit(hash uint32) uint32 { return 1 << (hash >> 10 & 31) }

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
	byGram := map[uint32][]keyword{}
	var order []uint32
	for id, w := range words {
		// The rarest four bytes of the word, or rare ones of an earlier word: the fewer they are, the fewer of a text are looked up in vain.
		best, at := 1<<30, 0
		for i := 0; i+gramLen <= len(w); i++ {
			f := frequency(w[i : i+gramLen])
			if f < rareGram && len(byGram[binary.LittleEndian.Uint32([]byte(w[i:i+gramLen]))|folded&0xffffffff]) > 0 {
				f -= rareGram
			}
			if f < best {
				best, at = f, i
			}
		}
		gram := binary.LittleEndian.Uint32([]byte(w[at:at+gramLen])) | folded&0xffffffff
		if byGram[gram] == nil {
			order = append(order, gram)
		}
		byGram[gram] = append(byGram[gram], keyword{word: w, at: at, id: id})
	}
	k.grams = make([]gramEntry, 4<<bits.Len(uint(len(order))))
	for _, gram := range order {
		e := gramEntry{gram: gram, first: uint16(len(k.words)), n: uint16(len(byGram[gram]))}
		for _, w := range byGram[gram] {
			e.before |= maskOf(w.word, w.at-1)
			e.after |= maskOf(w.word, w.at+gramLen)
		}
		k.words = append(k.words, byGram[gram]...)
		h := gramHash(gram)
		k.present[h>>20] |= firstBit(h) | secondBit(h)
		i := h >> 12
		for ; k.entry(i).n > 0; i++ {
		}
		*k.entry(i) = e
	}
	return k
}

// maskOf is what gramEntry holds for the byte of a word at i.
func maskOf(word string, i int) uint16 {
	if i < 0 || i >= len(word) {
		return 1<<16 - 1
	}
	return 1 << (word[i] & 15)
}

// rareGram is a frequency that four bytes have which stand in no common word, whatever their letters.
const rareGram = 90

// frequency is a rough order of how common four bytes are in text and JSON.
func frequency(gram string) int {
	f := 100 * commonGrams()[gram]
	for i := range len(gram) {
		f += commonBytes[gram[i]]
	}
	return f
}

// commonBytes is higher for the bytes that are more common, and 0 for those that are rare.
var commonBytes = func() (t [256]int) {
	const order = " etaoinsrhldcu\"mfpgwybv,.:-_k01x2/j3q4z5"
	for i := range len(order) {
		t[order[i]] = len(order) - i + 1
	}
	return t
}()

// commonGrams counts the four bytes of commonText. It is made once: the words of one detector have ten thousands of them.
var commonGrams = sync.OnceValue(func() map[string]int {
	n := map[string]int{}
	for i := range len(commonText) - gramLen + 1 {
		n[commonText[i:i+gramLen]]++
	}
	return n
})

// commonText holds words that stand in most texts of agents.
const commonText = " the of and to in is you that it he was for on are as with his they be at one have this from or had by hot but some what there we can out other were all " +
	"your when up use word how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day " +
	"could go come did my no most who over know than call first people may down been now find any new work part take get place made where after back only name value string object " +
	"array number null true false line lines file files error errors function return class import public private static const type data list user users content message messages " +
	"assistant system tool tools result results output input request response status code test tests running session query database select rows table update insert delete create " +
	"text read write path index length start end begin while until because between should must never always without within through before against during under question answer " +
	"region regions asked task tasks context event events server client version package module interface struct string values keys token tokens model agent stream report summary " +
	"description required properties parameters arguments default option options example using used given found not are step steps next previous current following information "

// next finds words in s from a place on, and appends them in the order in which their grams stand. It returns where it goes on: behind the end of s, or
// earlier when some words were found.
func (k *keywords) next(s string, i int, found []wordAt) (int, []wordAt) {
	const enough = 24
	for ; i+8 <= len(s); i += 4 {
		// Four windows of four bytes from one load.
		x := load(s, i) | folded
		a, b, c, d := gramHash(uint32(x)), gramHash(uint32(x>>8)), gramHash(uint32(x>>16)), gramHash(uint32(x>>24))
		atA, atB, atC, atD := k.present[a>>20], k.present[b>>20], k.present[c>>20], k.present[d>>20]
		if atA&firstBit(a) == 0 && atB&firstBit(b) == 0 && atC&firstBit(c) == 0 && atD&firstBit(d) == 0 {
			continue
		}
		if atA&secondBit(a) == 0 && atB&secondBit(b) == 0 && atC&secondBit(c) == 0 && atD&secondBit(d) == 0 {
			continue
		}
		if len(found) >= enough {
			return i, found
		}
		for j := range 4 {
			found = k.at(s, i+j, uint32(x>>(8*j)), found)
		}
	}
	for ; i+gramLen <= len(s); i++ {
		found = k.at(s, i, (uint32(s[i])|uint32(s[i+1])<<8|uint32(s[i+2])<<16|uint32(s[i+3])<<24)|folded&0xffffffff, found)
	}
	return len(s), found
}

// at looks the gram that stands at i up.
func (k *keywords) at(s string, i int, gram uint32, found []wordAt) []wordAt {
	h := gramHash(gram)
	if both := firstBit(h) | secondBit(h); k.present[h>>20]&both != both {
		return found
	}
	e := k.entry(h >> 12)
	for j := h>>12 + 1; e.gram != gram; j++ {
		if e.n == 0 {
			return found
		}
		e = k.entry(j)
	}
	if i > 0 && e.before>>(s[i-1]&15)&1 == 0 || i+gramLen < len(s) && e.after>>(s[i+gramLen]&15)&1 == 0 {
		return found
	}
	for _, w := range k.words[e.first : e.first+e.n] {
		if at := i - w.at; at >= 0 && len(s)-at >= len(w.word) && equalLowered(s[at:at+len(w.word)], w.word) {
			found = append(found, wordAt{at, w.id})
		}
	}
	return found
}

// entry is a place of the table.
func (k *keywords) entry(i uint32) *gramEntry { return &k.grams[i&uint32(len(k.grams)-1)] }

// any says whether one of the words stands in s.
func (k *keywords) any(s string) bool {
	var store [32]wordAt
	for i := 0; i < len(s); {
		var found []wordAt
		if i, found = k.next(s, i, store[:0]); len(found) > 0 {
			return true
		}
	}
	return false
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
