// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jsonscan

import (
	"math/rand/v2"
	"testing"
)

func TestPlainRunEndsWhereTheFirstSpecialByteStands(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alphabet := []byte("a~ \x1f\x20\x21\x22\x23\x5b\x5c\x5d\x7f\x80\xa2\xdc\xff\x00")
	for range 200_000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = 'x'
			if r.IntN(6) == 0 {
				b[i] = alphabet[r.IntN(len(alphabet))]
			}
		}
		from := r.IntN(len(b) + 1)
		wantEnd, wantASCII := from, true
		for wantEnd < len(b) && b[wantEnd] >= ' ' && b[wantEnd] != '"' && b[wantEnd] != '\\' {
			wantASCII = wantASCII && b[wantEnd] < 0x80
			wantEnd++
		}
		if end, ascii := PlainRun(string(b), from); end != wantEnd || ascii != wantASCII {
			t.Fatalf("PlainRun(%q, %d) = %d, %t; want %d, %t", b, from, end, ascii, wantEnd, wantASCII)
		}
	}
}
