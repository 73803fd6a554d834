// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
)

// What another detector has found clean is not searched, wherever it stands now; what it has not seen is.
func TestATrustedDetectorIsAsked(t *testing.T) {
	wide := masking(t)
	narrow, err := New(Options{Enabled: func(r Rule) bool { return r.Class != Guess }, Replace: wide.replacement})
	if err != nil {
		t.Fatal(err)
	}
	narrow.work = &atomic.Int64{}
	narrow.Trust(func() *Detector { return wide })
	text := strings.Repeat("how many units of the article are in stock today? ", 20)
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	file := encode(map[string]any{"messages": map[string]any{"m1": map[string]any{"parts": []any{map[string]any{"type": "text", "text": text}}}}})
	look := func() int64 {
		narrow.work.Store(0)
		if hits := narrow.Scan(func(w *Walk) { w.Value("", file) }); len(hits) > 0 {
			t.Fatalf("found %v", hits)
		}
		return narrow.work.Load()
	}
	wide.Walk(nil).Value("gen_ai.input.messages", encode([]any{map[string]any{"role": "user", "content": text}}))
	known := look()
	narrow.Trust(func() *Detector { return nil })
	narrow.Remember(true)
	if fresh := look(); known >= fresh/2 {
		t.Errorf("%d bytes were looked at of a text that is known, %d of one that is not", known, fresh)
	}
}

// A verdict holds at another depth only where the depth does not matter.
func TestATextIsSearchedAtTheDepthAtWhichItLies(t *testing.T) {
	const secret = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"
	doc := `{"note":"` + strings.Repeat("a text without anything in it ", 2) + `","token":"` + secret + `"}`
	d, forgetful := masking(t), masking(t)
	forgetful.Remember(false)
	clean := strings.ReplaceAll(doc, secret, "of our esteem")
	for depth := range maxNested + 4 {
		for _, text := range []string{clean, doc, clean} {
			if len(text) > 1<<20 {
				return
			}
			want := len(forgetful.Scan(func(w *Walk) { w.Value("body", text) }))
			if got := len(d.Scan(func(w *Walk) { w.Value("body", text) })); got != want {
				t.Fatalf("depth %d: %d hits, %d without a memory", depth, got, want)
			}
			if (want > 0) != strings.Contains(text, "ghp_") {
				t.Fatalf("depth %d: %d hits", depth, want)
			}
		}
		for _, text := range []*string{&doc, &clean} {
			b, err := json.Marshal(map[string]string{"in": *text})
			if err != nil {
				t.Fatal(err)
			}
			*text = string(b)
		}
	}
}
