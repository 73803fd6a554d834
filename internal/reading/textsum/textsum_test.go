// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package textsum

import (
	"slices"
	"strings"
	"testing"
)

func TestSums(t *testing.T) {
	text := strings.Repeat("the same words again and again, ", 700) // 5 blocks and a rest
	var blocks []Sum
	whole := Behind(Sum{}, text, &blocks)
	if whole != Of(text) || whole != OfBytes([]byte(text)) || whole == (Sum{}) {
		t.Error("one text has two sums, or none")
	}
	if len(blocks) != len(text)/Block {
		t.Fatalf("%d blocks", len(blocks))
	}
	for i, b := range blocks {
		begin := text[:(i+1)*Block]
		if Of(begin) != b {
			t.Errorf("block %d: not the sum of the text up to it", i)
		}
		if Behind(b, text[len(begin):], nil) != whole {
			t.Errorf("block %d: another sum when the text is read from there", i)
		}
	}
	seen := map[Sum]int{}
	for n := range len(text) {
		sum := Of(text[:n])
		if other, known := seen[sum]; known {
			t.Fatalf("the first %d and %d bytes have one sum", other, n)
		}
		seen[sum] = n
	}
	for _, at := range []int{0, 1, Block - 1, Block, 2*Block + 7, len(text) - 1} {
		if changed := text[:at] + "\x00" + text[at+1:]; Of(changed) == whole {
			t.Errorf("byte %d does not count", at)
		}
	}
	swapped := text[Block:2*Block] + text[:Block] // blocks are not added up, they are chained
	if text[:Block] != text[Block:2*Block] && Of(swapped) == blocks[1] || slices.Contains(blocks[1:], blocks[0]) {
		t.Error("the order of blocks does not count")
	}
}
