// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBothWaysOfDecodingAStringAgree: what is searched is decoded by one of them, and what is found there is
// replaced by the other one.
func TestBothWaysOfDecodingAStringAgree(t *testing.T) {
	pieces := []string{`\"`, `\\`, `\/`, `\b`, `\f`, `\n`, `\r`, `\t`, `\u0041`, `\u00e9`, `\u2028`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u0000`, "a", "é", "😀", "password=", " "}
	random := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		inner := b.String()
		got, want := unquoted(inner), inner
		if v := unquote(inner); v != nil {
			want = v.text
		} else if strings.Contains(inner, `\`) {
			t.Fatalf("%q has an escape, and no view", inner)
		}
		if got != want {
			t.Fatalf("%q is %q and %q", inner, got, want)
		}
		var decoded string
		if err := json.Unmarshal([]byte(`"`+inner+`"`), &decoded); err != nil {
			t.Fatal(err)
		}
		// A half of a pair stays as it is written.
		if lone := strings.Contains(decoded, "\ufffd"); got != decoded && !lone {
			t.Fatalf("%q is %q, by encoding/json %q", inner, got, decoded)
		}
	}
}
