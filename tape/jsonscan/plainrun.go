// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import "math/bits"

// Most bytes of a tape are plain text inside strings: these look at eight of them at a time.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func load8(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special marks, by the high bit of their place, the bytes below 0x20, quotes and backslashes. The lowest mark is exact; the marks
// above it may be wrong, because a borrow runs upwards.
func special(x uint64) uint64 {
	// With one bit turned over, the quote is the next byte above those below 0x20.
	quote, slash := x^(ones*2), x^(ones*'\\')
	return ((quote - ones*0x21) | (slash - ones)) &^ x & highs // neither turns a high bit over
}

// PlainRun returns the end of the run of bytes from i on that stand for themselves inside a JSON string, and whether all of them are
// ASCII.
func PlainRun(s string, i int) (end int, ascii bool) {
	var seen uint64
	for ; i+8 <= len(s); i += 8 {
		x := load8(s, i)
		if marks := special(x); marks != 0 {
			n := bits.TrailingZeros64(marks) / 8
			return i + n, (seen|x&(1<<(8*n)-1))&highs == 0
		}
		seen |= x
	}
	if rest := len(s) - i; rest > 0 && len(s) >= 8 { // with zeros behind them, which end the run
		x := load8(s, len(s)-8) >> (64 - 8*rest)
		n := bits.TrailingZeros64(special(x)) / 8
		return i + n, (seen|x&(1<<(8*n)-1))&highs == 0
	}
	for ; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return i, seen&highs == 0
}
