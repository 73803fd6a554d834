// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// TestAHeldRunStaysUntilItIsReleased: in both layouts, whatever asks for it to go.
func TestAHeldRunStaysUntilItIsReleased(t *testing.T) {
	for name, address := range decksOf(t) {
		t.Run(name, func(t *testing.T) {
			all := lines(t, tapedeck(t, "derive", "--redact", "off", "--no-join", "--to", address, recordings(t)[0], forge).stdout)
			held := all[0]
			if got := tapedeck(t, "gc", address, "--hold", held.RunID); got.code != exitFailed || !strings.Contains(got.stderr, "--reason") {
				t.Error(got)
			}
			if got := tapedeck(t, "gc", address, "--hold", held.RunID, "--reason", "case 1234"); got.code != exitOK || !strings.Contains(got.stdout, `"reason":"case 1234"`) {
				t.Fatal(got)
			}
			if got := tapedeck(t, "gc", address, "--holds"); got.code != exitOK || strings.Count(got.stdout, "tape-hold") != 1 || !strings.Contains(got.stdout, held.RunID) {
				t.Error(got)
			}
			shown := tapedeck(t, "show", held.RunID, "--deck", address, "--json")
			if got := tapedeck(t, "gc", address, "--days", "1", "--yes"); got.code != exitOK || !strings.Contains(got.stdout, `"held":1`) || strings.Contains(got.stdout, held.RunID) {
				t.Error(got)
			}
			for _, args := range [][]string{{"gc", address, "--erase", held.RunID, "--yes"}, {"gc", address, "--erase", held.TraceID, "--yes"}} {
				if got := tapedeck(t, args...); got.code != exitFailed || !strings.Contains(got.stderr, "case 1234") || !strings.Contains(got.stderr, "released") {
					t.Error(args, got)
				}
			}
			// Rules that find something in the run: scrub says what keeps it from writing it again.
			rules, key := write(t, "rules.yaml", "rules:\n  - name: words\n    pattern: '[a-z]{4,}'\n"), keyFile(t)
			if got := tapedeck(t, "scrub", address, "--redact", rules, "--redaction-key-file", key); got.code != exitPartial || !strings.Contains(got.stderr, "case 1234") {
				t.Error(got)
			}
			if name == "reels" {
				if got := tapedeck(t, "compact", address, "--grace", "0s"); got.code != exitOK {
					t.Error(got)
				}
			}
			if again := tapedeck(t, "show", held.RunID, "--deck", address, "--json"); again.stdout != shown.stdout || again.code != exitOK {
				t.Error("the held run is another one, or gone:", again)
			}
			if got := tapedeck(t, "gc", address, "--release", held.RunID, "--reason", "another case"); got.code != exitFailed || !strings.Contains(got.stderr, "no hold") {
				t.Error(got)
			}
			if got := tapedeck(t, "gc", address, "--release", held.RunID); got.code != exitOK || !strings.Contains(got.stdout, `"released":true`) {
				t.Error(got)
			}
			if got := tapedeck(t, "gc", address, "--erase", held.RunID, "--yes"); got.code != exitOK || !strings.Contains(got.stdout, `"removed":true`) {
				t.Error(got)
			}
			if got := tapedeck(t, "show", held.RunID, "--deck", address); got.code == exitOK {
				t.Error("it is there still")
			}
			if got := tapedeck(t, "verify", address, "--erased"); got.code != exitOK || !strings.Contains(got.stdout, `"clear":true`) {
				t.Error(got)
			}
		})
	}
}

// decksOf are addresses of decks that do not exist yet, by layout.
func decksOf(t *testing.T) map[string]string {
	t.Helper()
	decks := map[string]string{"files": filepath.Join(t.TempDir(), "a"), "reels": filepath.Join(t.TempDir(), "b")}
	for name, address := range decks {
		l := map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels}[name]
		d, err := deck.OpenLayout(t.Context(), address, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return decks
}

// TestVerifyErasedFindsWhatIsLeft: in names, in content, in reels of any level, in quarantine, and in what dead writers have left.
func TestVerifyErasedFindsWhatIsLeft(t *testing.T) {
	for name, address := range decksOf(t) {
		t.Run(name, func(t *testing.T) {
			made := lines(t, tapedeck(t, "derive", "--redact", "off", "--no-join", "--to", address, recordings(t)[0], forge).stdout)
			victim := made[0]
			d, err := deck.Open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			l := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: victim.TraceID}
			if _, err := d.PutQuarantine(t.Context(), l, []byte(`{"kind":"tape-quarantine"}`), nil); err != nil {
				t.Fatal(err)
			}
			if name == "reels" {
				if got := tapedeck(t, "compact", address, "--grace", "0s"); got.code != exitOK {
					t.Error(got)
				}
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if got := tapedeck(t, "gc", address, "--erase", victim.TraceID, "--yes"); got.code != exitOK {
				t.Fatal(got)
			}
			clear := func(want bool, where string) {
				t.Helper()
				got := tapedeck(t, "verify", address, "--erased")
				if (got.code == exitOK) != want || (got.code == exitPartial) == want || !strings.Contains(got.stdout, `"erased":1`) || !strings.Contains(got.stdout, where) {
					t.Errorf("want clear %t, %s: %+v", want, where, got)
				}
			}
			clear(true, `"clear":true`)
			plant := func(key, body, where string) {
				t.Helper()
				at := filepath.Join(address, filepath.FromSlash(key))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
				clear(false, where)
				if err := os.Remove(at); err != nil {
					t.Fatal(err)
				}
			}
			id := make([]byte, 16)
			for i := range id {
				id[i] = unhex(victim.TraceID[2*i])<<4 | unhex(victim.TraceID[2*i+1])
			}
			plant("quarantine/default/x.json", `{"about":"`+strings.ToUpper(victim.TraceID)+`"}`, `"where":"content"`)
			plant("anything/"+victim.TraceID, "x", `"where":"name"`)
			plant("x.otlp.zst", string(deck.Pack(append([]byte("evidence "), id...))), `"where":"content"`)
			plant("runs/default/.tapedeck-tmp-DEAD", "a"+victim.TraceID, `"where":"content"`)
			if name == "files" {
				return
			}
			// A late delivery: nobody sees it, verify does, and the next compaction takes it away.
			if d, err = deck.Open(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			row := reel.Row{Evidence: append([]byte("evidence "), id...)}
			row.Tenant, row.TraceID, row.Area, row.Part = "default", victim.TraceID, "runs", deck.PartDigest(row.Evidence)
			w := reel.NewWriter(d, reel.Limits{MaxBytes: 1 << 20, MaxRuns: 1, MaxWait: time.Minute})
			if err := w.Add(t.Context(), []reel.Row{row}, nil, false); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			clear(false, `"where":"evidence"`)
			if got := tapedeck(t, "compact", address, "--grace", "0s"); got.code != exitOK || !strings.Contains(got.stdout, `"buried":1`) {
				t.Error(got)
			}
			clear(true, `"clear":true`)
		})
	}
}

func unhex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}
