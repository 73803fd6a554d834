// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

// keyPair writes a key of a fixed seed and its public half, and returns both files and the id.
func keyPair(t *testing.T, seed byte) (private, public, id string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	pkix, err2 := x509.MarshalPKIXPublicKey(key.Public())
	s, err3 := signature.NewSigner(key)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
	for path, block := range map[string]*pem.Block{private: {Type: "PRIVATE KEY", Bytes: pkcs8}, public: {Type: "PUBLIC KEY", Bytes: pkix}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public, s.KeyID()
}

// problems are the codes that verify finds in a deck, with the keys, each once and sorted.
func problems(t *testing.T, dir string, publics ...string) (codes []string) {
	t.Helper()
	args := []string{"verify", dir, "--json"}
	for _, p := range publics {
		args = append(args, "--verify-key", p)
	}
	got := tapedeck(t, args...)
	for _, line := range strings.Split(strings.TrimSpace(got.stdout), "\n") {
		var v replay.Verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(got)
		}
		for _, p := range v.Problems {
			codes = append(codes, p.Code)
		}
	}
	slices.Sort(codes)
	codes = slices.Compact(codes)
	if want := map[bool]int{true: exitOK, false: exitPartial}[len(codes) == 0]; got.code != want {
		t.Fatalf("code %d with %v: %s", got.code, codes, got.stderr)
	}
	return codes
}

func wantProblems(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: verify finds %v, not %v", what, got, want)
	}
}

// Missing, by another key, altered: each is found, in both layouts.
func TestVerifyDemandsSignaturesOfTheKeys(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			private, public, id := keyPair(t, 1)
			private2, public2, _ := keyPair(t, 2)
			derive := func(dir string, more ...string) {
				t.Helper()
				args := append([]string{"derive", forge, spans, logs, "--to", dir, "--redact", "off", "--layout", layout}, more...)
				if got := tapedeck(t, args...); got.code != exitOK {
					t.Fatal(got)
				}
			}
			dir := t.TempDir() + "/deck"
			derive(dir, "--sign-key", private)
			wantProblems(t, "without a key", problems(t, dir))
			wantProblems(t, "signed", problems(t, dir, public))
			wantProblems(t, "signed by one of two", problems(t, dir, public2, public))
			wantProblems(t, "by another key", problems(t, dir, public2), "signature_key")
			if got := tapedeck(t, "verify", dir, "--verify-key", public2); !strings.Contains(got.stdout, "but by "+id) {
				t.Errorf("whose signature it is: %s", got.stdout)
			}
			// While keys are changed: written again with the new key, old readers and new ones are content. In reels one signature stays.
			derive(dir, "--sign-key", private2)
			if layout == "files" {
				wantProblems(t, "old key", problems(t, dir, public))
				wantProblems(t, "new key", problems(t, dir, public2))
			}
			wantProblems(t, "both keys", problems(t, dir, public, public2))

			bare := t.TempDir() + "/deck"
			derive(bare)
			wantProblems(t, "unsigned", problems(t, bare, public), "signature_missing")
			derive(bare, "--sign-key", private)
			wantProblems(t, "signed later", problems(t, bare, public))
			// The tape does not change by being signed.
			if a, b := tapedeck(t, "verify", dir, "--json"), tapedeck(t, "verify", bare, "--json"); ids(a.stdout) != ids(b.stdout) || ids(a.stdout) == "" {
				t.Errorf("other tapes: %s, %s", a.stdout, b.stdout)
			}
			// Nothing of a deck takes a signature for a secret or for something that does not belong there.
			if got := tapedeck(t, "verify", "--secrets", dir); got.code != exitOK {
				t.Errorf("%+v", got)
			}
			// It goes with the run from one layout into the other and back.
			there, back := t.TempDir()+"/deck", t.TempDir()+"/deck"
			for _, hop := range [][2]string{{bare, there}, {there, back}} {
				if got := tapedeck(t, "import", hop[0], "--to", hop[1]); got.code != exitOK || strings.Contains(got.stdout, `"beside_reels":1`) {
					t.Fatal(got)
				}
				wantProblems(t, "carried", problems(t, hop[1], public))
			}
		})
	}
}

func ids(verdicts string) string {
	var all []string
	for _, line := range strings.Split(strings.TrimSpace(verdicts), "\n") {
		var v replay.Verdict
		if json.Unmarshal([]byte(line), &v) == nil {
			all = append(all, v.TapeID)
		}
	}
	return strings.Join(all, " ")
}

// unsigned are the problems that verify finds without a key as well: evidence that cannot be read.
func unsigned(want []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(problem string) bool { return problem != "evidence" })
}

// Whoever may write the deck but has no key cannot change tape, oracle, evidence or signature unseen, not even where the digests fit each other.
func TestWhatIsAlteredBehindASignatureIsFound(t *testing.T) {
	private, public, id := keyPair(t, 1)
	name := signature.FileName(id)
	for what, c := range map[string]struct {
		alter func(t *testing.T, dir, folder string)
		want  []string
	}{
		"the signature": {func(t *testing.T, _, folder string) {
			alter(t, filepath.Join(folder, name), func(s string) string { return strings.Replace(s, `"signature":"`, `"signature":"AAAA`, 1) })
		}, []string{"signature"}},
		"a bit of it": {func(t *testing.T, _, folder string) {
			alter(t, filepath.Join(folder, name), func(s string) string {
				at := strings.Index(s, `"signature":"`) + len(`"signature":"`)
				c := byte('A')
				if s[at] == c {
					c = 'B'
				}
				return s[:at] + string(c) + s[at+1:]
			})
		}, []string{"signature"}},
		"the signature is that of another run": {func(t *testing.T, dir, folder string) {
			other, err := filepath.Glob(filepath.Join(dir, "runs/default/*/*/*", name))
			if err != nil || len(other) != 2 {
				t.Fatal(other, err)
			}
			from := other[0]
			if filepath.Dir(from) == folder {
				from = other[1]
			}
			body, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), body, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, []string{"signature"}},
		"the tape, sealed again": {func(t *testing.T, _, folder string) {
			alter(t, filepath.Join(folder, "tape.json"), func(s string) string {
				p, err := tape.Read([]byte(s))
				if err != nil {
					t.Fatal(err)
				}
				p.Run.Service.Name = "another"
				if err := p.Seal(); err != nil {
					t.Fatal(err)
				}
				return string(p.AppendJSON(nil))
			})
		}, []string{"signature"}},
		"the signature is gone": {func(t *testing.T, _, folder string) {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}, []string{"signature_missing"}},
		"a part is gone": {func(t *testing.T, _, folder string) {
			if err := os.Remove(partOf(t, folder)); err != nil {
				t.Fatal(err)
			}
		}, []string{"signature_evidence"}},
		"a part was altered": {func(t *testing.T, _, folder string) {
			if err := os.WriteFile(partOf(t, folder), deck.Pack([]byte("something else")), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"evidence", "signature_evidence"}},
		"a part was added": {func(t *testing.T, dir, folder string) {
			d, err := deck.Open(context.Background(), "file://"+dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			trace := filepath.Base(filepath.Dir(folder))
			if _, _, err := d.PutPart(context.Background(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}, []byte("more")); err != nil {
				t.Fatal(err)
			}
		}, []string{"evidence", "signature_evidence"}},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			got := tapedeck(t, "derive", forge, spans, logs, "--to", dir, "--redact", "off", "--sign-key", private)
			if got.code != exitOK {
				t.Fatal(got)
			}
			folder := filepath.Dir(strings.TrimPrefix(lines(t, got.stdout)[0].URL, "file://"))
			wantProblems(t, "before", problems(t, dir, public))
			c.alter(t, dir, folder)
			wantProblems(t, "without a key", problems(t, dir), unsigned(c.want)...)
			wantProblems(t, what, problems(t, dir, public), c.want...)
		})
	}
}

// Whoever else has the key can sign as well.
func TestAKeyThatOthersHaveIsSaidOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	private, _, _ := keyPair(t, 1)
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o644: 1} {
		if err := os.Chmod(private, mode); err != nil {
			t.Fatal(err)
		}
		got := tapedeck(t, "derive", forge, spans, logs, "--to", t.TempDir(), "--redact", "off", "--sign-key", private)
		if got.code != exitOK || strings.Count(got.stderr, "can be read by everybody") != want {
			t.Errorf("%04o: %v", mode, got)
		}
	}
}

// The same in a deck of reels, whose digests whoever may write it can make fit.
func TestWhatIsAlteredInReelsBehindASignatureIsFound(t *testing.T) {
	private, public, _ := keyPair(t, 1)
	made := t.TempDir() + "/deck"
	if got := tapedeck(t, "derive", forge, spans, logs, "--to", made, "--redact", "off", "--layout", "reels", "--sign-key", private); got.code != exitOK {
		t.Fatal(got)
	}
	other := ""
	for e, err := range view.Catalog(opened(t, made)).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e[0].TraceID != forgeRun[:32] {
			other = e[0].Signature
		}
	}
	for what, c := range map[string]struct {
		alter func(row *reel.Row)
		want  []string
	}{
		"nothing": {func(*reel.Row) {}, nil},
		"the tape, sealed again": {func(row *reel.Row) {
			p, err := tape.Read(row.Tape)
			if err != nil {
				t.Fatal(err)
			}
			p.Run.Service.Name = "another"
			if err := p.Seal(); err != nil {
				t.Fatal(err)
			}
			row.Tape, row.TapeID = p.AppendJSON(nil), p.TapeID
			row.TapeBytes = int64(len(row.Tape))
		}, []string{"signature"}},
		"the signature is that of another run": {func(row *reel.Row) { row.Signature = other }, []string{"signature"}},
		"the signature is gone":                {func(row *reel.Row) { row.Signature = "" }, []string{"signature_missing"}},
		"other evidence under its own digest": {func(row *reel.Row) {
			row.Evidence = []byte("something else")
			row.EvidenceBytes, row.Part = int64(len(row.Evidence)), deck.PartDigest(row.Evidence)
			row.Parts = []string{row.Part}
		}, []string{"evidence", "signature"}},
		"other evidence under the digest that was signed": {func(row *reel.Row) {
			row.Evidence = []byte("something else")
			row.EvidenceBytes = int64(len(row.Evidence))
		}, []string{"evidence", "signature_evidence"}},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir() + "/deck"
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			d := opened(t, dir)
			rows := 0
			of := func(k reel.TraceKey) bool { return k.TraceID == forgeRun[:32] }
			if err := view.Catalog(d).Rewrite(t.Context(), of, func(row *reel.Row) bool {
				if row.TraceID == forgeRun[:32] && row.Tape != nil {
					c.alter(row)
					rows++
				}
				return true
			}); err != nil || rows != 1 {
				t.Fatal(rows, err)
			}
			wantProblems(t, "without a key", problems(t, dir), unsigned(c.want)...)
			wantProblems(t, what, problems(t, dir, public), c.want...)
		})
	}
}

// alter changes a file.
func alter(t *testing.T, path string, change func(string) string) {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after := change(string(body))
	if after == string(body) {
		t.Fatal("nothing is altered")
	}
	if err := os.WriteFile(path, []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func partOf(t *testing.T, folder string) string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(folder), "*.otlp.zst"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	return parts[0]
}

// Reels of programs that knew no signatures have no column for them. They are read, say so, and get signed tapes by a compaction that derives them.
func TestReelsFromBeforeSignaturesAreRead(t *testing.T) {
	_, public, _ := keyPair(t, 1)
	dir := t.TempDir() + "/deck"
	if err := os.CopyFS(dir, os.DirFS("testdata/reels-unsigned")); err != nil {
		t.Fatal(err)
	}
	wantProblems(t, "as it was", problems(t, dir))
	wantProblems(t, "with a key", problems(t, dir, public), "signature_missing")
	if got := tapedeck(t, "ls", dir); got.code != exitOK || !strings.Contains(got.stdout, forgeRun[:8]) {
		t.Errorf("%+v", got)
	}
}

// A trace that comes in pieces has tapes of all of it by the compaction, which signs them with its own key, and leaves the signatures of others alone.
func TestACompactionSignsWhatItDerives(t *testing.T) {
	private, public, _ := keyPair(t, 1)
	private2, public2, _ := keyPair(t, 2)
	body, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		t.Fatal(err)
	}
	scope := whole["resourceSpans"].([]any)[0].(map[string]any)["scopeSpans"].([]any)[0].(map[string]any)
	all := scope["spans"].([]any)
	dir := t.TempDir() + "/deck"
	for _, piece := range [][]any{slices.Concat(all[:10], all[11:]), all[10:11]} {
		scope["spans"] = piece
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		got := tapedeck(t, "derive", write(t, "piece.json", string(text)), "--to", dir, "--redact", "off", "--layout", "reels", "--sign-key", private)
		if got.code == exitFailed && !strings.Contains(got.stderr, "no run") {
			t.Fatal(got)
		}
	}
	if got := tapedeck(t, "derive", spans, logs, "--to", dir, "--redact", "off", "--sign-key", private); got.code != exitOK {
		t.Fatal(got)
	}
	wantProblems(t, "derived when it is read", problems(t, dir, public), "signature_missing")
	if got := tapedeck(t, "compact", dir, "--grace", "0s", "--sign-key", private2); got.code != exitOK || !strings.Contains(got.stdout, `"derived":1`) {
		t.Fatal(got)
	}
	wantProblems(t, "both", problems(t, dir, public, public2))
	wantProblems(t, "the key of the compaction", problems(t, dir, public2), "signature_key")
	if got := tapedeck(t, "compact", dir, "--sign-key", public); got.code != exitFailed || !strings.Contains(got.stderr, "--sign-key") {
		t.Errorf("%+v", got)
	}
}

// What is signed already is not lost to an equal row without a signature, whichever was there first, nor by merging them.
func TestASignedTapeStaysSigned(t *testing.T) {
	private, public, _ := keyPair(t, 1)
	for _, first := range []string{"signed", "unsigned"} {
		dir := t.TempDir() + "/deck"
		for _, now := range []bool{first == "signed", first != "signed"} {
			args := []string{"derive", forge, "--to", dir, "--redact", "off", "--layout", "reels"}
			if now {
				args = append(args, "--sign-key", private)
			}
			if got := tapedeck(t, args...); got.code != exitOK {
				t.Fatal(got)
			}
			if got := tapedeck(t, "compact", dir, "--grace", "0s"); got.code != exitOK {
				t.Fatal(got)
			}
		}
		wantProblems(t, first+" first", problems(t, dir, public))
		if got := tapedeck(t, "compact", dir, "--grace", "0s"); got.code != exitOK {
			t.Fatal(got)
		}
		wantProblems(t, first+" first, merged again", problems(t, dir, public))
	}
}
