// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

func putRun(t *testing.T, d *deck.Deck, p deck.Location, items int, roots ...string) deck.Generation {
	t.Helper()
	gen := deck.NewGeneration(items, []string{"p"}, nil)
	var runs []deck.RunFiles
	for _, r := range roots {
		runs = append(runs, runFiles(r, "oracle.json"))
	}
	if _, err := d.PutGeneration(t.Context(), p, gen, runs); err != nil {
		t.Fatal(err)
	}
	return gen
}

func TestFindLooksThroughAllAreasAndTenants(t *testing.T) {
	d, _ := memDeck(t)
	at := func(area deck.Area, replay, tenant, trace string) deck.Location {
		return deck.Location{Area: area, ReplayRunID: replay, Tenant: tenant, TraceID: trace}
	}
	runs := at(deck.AreaRuns, "", "default", trace1)
	joined := at(deck.AreaJoined, "", "default", trace1)
	replay := at(deck.AreaReplays, "r-1", "other", trace1)
	old := putRun(t, d, runs, 1, root1)
	gen := putRun(t, d, runs, 2, root1, root2)
	putRun(t, d, joined, 2, root1)
	putRun(t, d, replay, 2, root1)
	putRun(t, d, at(deck.AreaRuns, "", "default", trace2), 1, root1)
	if _, _, err := d.PutPart(t.Context(), at(deck.AreaUndecided, "", "default", "ff"+trace1[2:]), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if old.Compare(gen) >= 0 {
		t.Fatal("generations do not order")
	}
	base := "mem://testfindlooksthroughallareasandtenants/"
	url := func(p deck.Location, root string) string {
		return base + p.Prefix() + "/" + gen.String() + "." + root + "/tape.json"
	}
	all := []string{url(runs, root1), url(runs, root2), url(joined, root1), url(replay, root1)}
	for id, want := range map[string][]string{
		trace1:               all,
		" " + trace1 + "\n":  all,
		trace1[:9]:           all,
		trace1 + "-" + root2: all[1:2],

		"default/" + trace1:                         all[:3],
		"other/" + trace1[:9]:                       all[3:],
		"runs/default/" + trace1 + "-" + root1:      all[:1],
		"joined/default/" + trace1:                  all[2:3],
		"replays/r-1/other/" + trace1 + "-" + root1: all[3:],
		"r-1/other/" + trace1:                       all[3:],
		trace1 + "-" + root1:                        {all[0], all[2], all[3]},
		"4BF92F3577B34DA6A3C":                       all,
		// short ids of one run
		trace1[:9] + "-" + root2:     all[1:2],
		trace1[:9] + "-" + root2[:4]: all[1:2],
	} {
		refs, err := d.Find(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range refs {
			got = append(got, r.URL)
			if body, err := deck.ReadRef(t.Context(), r); err != nil || string(body) != r.Root+"/tape.json" {
				t.Errorf("%s: %s, %v", r.URL, body, err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", id, d)
		}
	}
	for id, want := range map[string]error{
		trace1[:8]:                      deck.ErrAmbiguous,
		"00000000":                      deck.ErrNotFound,
		trace1 + "-0000000000000000":    deck.ErrNotFound,
		"ff" + trace1[2:]:               deck.ErrNotFound, // evidence, no tape
		"4bf92f3":                       deck.ErrBadKey,
		"":                              deck.ErrBadKey,
		trace1[:8] + "-" + root1:        deck.ErrAmbiguous,
		trace1 + "-":                    deck.ErrBadKey,
		trace1 + "-" + root1 + "0":      deck.ErrBadKey,
		trace1[:9] + "-" + "zz":         deck.ErrBadKey,
		trace1 + "0":                    deck.ErrBadKey,
		"../../../../etc/passwd":        deck.ErrBadKey,
		trace1 + "-" + root1 + "-again": deck.ErrBadKey,
	} {
		if refs, err := d.Find(t.Context(), id, ""); !errors.Is(err, want) || !deck.IsPermanent(err) {
			t.Errorf("%q: %v, %v", id, refs, err)
		}
	}
}

func TestRefRoundTripsThroughItsURL(t *testing.T) {
	gen := deck.NewGeneration(2, nil, nil)
	replay := deck.Location{Area: deck.AreaReplays, ReplayRunID: "R 1", Tenant: "runs2", TraceID: trace1}
	for _, rawURL := range []string{
		"mem://round", "mem://round/runs/default/4b", "s3://bucket/a/b?endpoint=http://127.0.0.1:1&region=x",
		"file:///tmp/my%20deck", "file:///", "/tmp/deck%20with percent", "relative/deck",
	} {
		for _, p := range []deck.Location{location1, replay} {
			d, err := deck.New(t.Context(), emptyStore(t), rawURL)
			if err != nil {
				t.Fatal(err)
			}
			want := d.Ref(p, gen, root1, "tape.json")
			got, err := deck.ParseRef(want.URL)
			if err != nil {
				t.Fatalf("%s: %v", want.URL, err)
			}
			if got.URL != want.URL || got.DeckURL != want.DeckURL || got.Key != want.Key || got.RunID() != trace1+"-"+root1 ||
				got.Generation != gen || got.Location.Prefix() != p.Prefix() || !got.InDeck() {
				t.Errorf("%s:\n got %+v\nwant %+v", rawURL, got, want)
			}
			if sib := got.Sibling("oracle.json"); sib.URL != d.Ref(p, gen, root1, "oracle.json").URL {
				t.Errorf("sibling %s", sib.URL)
			}
		}
	}
}

func emptyStore(t *testing.T) deck.Store {
	_, store := memDeck(t)
	return store
}

func TestRefToAFileOnDiskIsRead(t *testing.T) {
	dir := t.TempDir()
	d, err := deck.Open(t.Context(), dir+"/deck?sync=false") // a local path, taken as it is
	if err != nil {
		t.Fatal(err)
	}
	gen := putRun(t, d, location1, 1, root1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	inDeck := filepath.Join(dir, "deck?sync=false", filepath.FromSlash(location1.Prefix()), gen.String()+"."+root1, "tape.json")
	loose := filepath.Join(dir, "copy of tape.json")
	if err := os.WriteFile(loose, []byte("loose"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{inDeck: root1 + "/tape.json", loose: "loose"} {
		ref, err := deck.ParseRef(path)
		if err != nil {
			t.Fatal(err)
		}
		if ref.InDeck() != (path == inDeck) {
			t.Errorf("%s: in deck %v", path, ref.InDeck())
		}
		body, err := deck.ReadRef(t.Context(), ref)
		if err != nil || string(body) != want {
			t.Errorf("%s: %s, %v", path, body, err)
		}
	}
	if _, err := deck.ReadRef(t.Context(), mustRef(t, filepath.Join(dir, "missing.json"))); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("missing file: %v", err)
	}
}

func mustRef(t *testing.T, raw string) deck.Ref {
	t.Helper()
	r, err := deck.ParseRef(raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRefRefusesWhatIsNoFile(t *testing.T) {
	for _, raw := range []string{"", "s3://bucket", "s3://bucket/", "mem:///x/tape.json", "s3://user:pw@bucket/tape.json", "file:///"} {
		if r, err := deck.ParseRef(raw); !errors.Is(err, deck.ErrBadURL) {
			t.Errorf("%q: %+v, %v", raw, r, err)
		}
	}
}

func FuzzParseRefMakesAURLThatParsesAgain(f *testing.F) {
	f.Add("s3://bucket/p/replays/r-1/default/4b/" + trace1 + "/" + deck.NewGeneration(1, nil, nil).String() + "." + root1 + "/tape.json.zst")
	f.Add("s3://bucket/p/runs/default/4b/" + trace1 + "/" + deck.NewGeneration(1, nil, nil).String() + "/" + root1 + "/tape.json?region=x")
	f.Add("file:///tmp/a%2520b/tape.json")
	f.Add("/tmp/x y/tape.json")
	f.Add("mem://a//b/c")
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := deck.ParseRef(raw)
		if err != nil {
			return
		}
		again, err := deck.ParseRef(r.URL)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", raw, r.URL, err)
		}
		if again != r {
			t.Fatalf("%q:\n%+v\n%+v", raw, r, again)
		}
	})
}

func TestDeckWorksOnEveryLocalKindOfStorage(t *testing.T) {
	for name, url := range map[string]string{"file": decktest.FileURL(t), "mem": "mem://every-kind/below"} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { mem.Drop("every-kind") })
			endToEnd(t, url)
		})
	}
}

func TestDeckWorksOnS3(t *testing.T) { endToEnd(t, decktest.S3(t).URL) }

// endToEnd writes a run, opens the deck again, finds and reads it.
func endToEnd(t *testing.T, url string) {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	digest, _, err := d.PutPart(t.Context(), location1, []byte("evidence"))
	if err != nil {
		t.Fatal(err)
	}
	putRun(t, d, location1, 1, root1, root2)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, err = deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if body, err := d.ReadPart(t.Context(), location1, digest); err != nil || string(body) != "evidence" {
		t.Error(string(body), err)
	}
	refs, err := d.Find(t.Context(), trace1[:10], "")
	if err != nil || len(refs) != 2 {
		t.Fatal(refs, err)
	}
	for _, want := range refs {
		ref := mustRef(t, want.URL)
		body, err := deck.ReadRef(t.Context(), ref.Sibling("oracle.json"))
		if err != nil || string(body) != want.Root+"/oracle.json" {
			t.Errorf("%s: %s, %v", ref.URL, body, err)
		}
	}
}
