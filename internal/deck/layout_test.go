// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
)

const (
	trace1 = "4bf92f3577b34da6a3ce929d0e0e4736"
	trace2 = "4bf92f3599999999a3ce929d0e0e4736"
	root1  = "00f067aa0ba902b7"
	root2  = "53995c3f42cd8ad8"
)

func TestLocationHasThePathOfTheTapeFormat(t *testing.T) {
	for want, p := range map[string]deck.Location{
		"runs/default/4b/" + trace1:        {Area: deck.AreaRuns, Tenant: "default", TraceID: trace1},
		"joined/default/4b/" + trace1:      {Area: deck.AreaJoined, Tenant: "default", TraceID: trace1},
		"undecided/default/4b/" + trace1:   {Area: deck.AreaUndecided, Tenant: "default", TraceID: trace1},
		"replays/r-1/default/4b/" + trace1: {Area: deck.AreaReplays, ReplayRunID: "r-1", Tenant: "default", TraceID: trace1},
	} {
		if got := p.Prefix(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		got, rest, err := deck.ParseLocation(want + "/parts/x")
		if err != nil || got != p || rest != "parts/x" {
			t.Errorf("parsed %+v, rest %q, error %v", got, rest, err)
		}
	}
}

func TestSafeNameLeavesPlainNamesAndEscapesTheRest(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, want := range map[string]string{
		"default":                              "default",
		"acme-prod.eu_1":                       "acme-prod.eu_1",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf6": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		long:                                   long,
		"Acme":                                 "acme.",
		"acme/../x":                            "acme____x.",
		"..":                                   "x__.",
		".":                                    "x_.",
		"parts":                                "parts_.",
		"con":                                  "con_.",
		"a__0x41__":                            "a___x41__.",
		"a/_0X41":                              "a___x41.",
		"con.log":                              "con_log.",
		"trailing.":                            "trailing_.",
		"-rf":                                  "x-rf.",
		"":                                     "x.",
		"ünï":                                  "x__n__.",
		long + "a":                             strings.Repeat("a", 40) + ".",
		"acme.0123456789abcdef":                "acme_0123456789abcdef.",
	} {
		got := deck.SafeName(name)
		if escaped := got != name; escaped {
			sum := sha256.Sum256([]byte(name))
			if wantFull := want + hex.EncodeToString(sum[:8]); got != wantFull {
				t.Errorf("%q: got %q, want %q", name, got, wantFull)
			}
		} else if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestSafeNamesOfDifferentNamesDifferAlsoWithoutCase(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"acme", "Acme", "ACME", "acme ", " acme", "acme.", "acme/", "acme_", "con", "CON", "parts", "Parts", "", ".", "..", "ä", "a\u0308",
		deck.SafeName("Acme"), deck.SafeName(deck.SafeName("Acme")), strings.Repeat("x", 65), strings.Repeat("x", 66)} {
		seg := strings.ToLower(deck.SafeName(name))
		if other, ok := seen[seg]; ok {
			t.Errorf("%q and %q are both %s", name, other, seg)
		}
		seen[seg] = name
	}
}

func TestParsedPlaceWithAnEscapedTenantKeepsItsKey(t *testing.T) {
	p := deck.Location{Area: deck.AreaReplays, ReplayRunID: "Run 1", Tenant: "Ünsafe/Tenant", TraceID: trace1}
	key := p.Prefix()
	got, rest, err := deck.ParseLocation(key)
	if err != nil || rest != "" {
		t.Fatal(rest, err)
	}
	if got.Prefix() != key {
		t.Errorf("got %s, want %s", got.Prefix(), key)
	}
	// Somebody who calls himself like the escaped form lands elsewhere.
	p.Tenant = got.Tenant
	if p.Prefix() == key {
		t.Error("a tenant can take the name of another one's folder")
	}
}

func TestParsePlaceRefusesOtherKeys(t *testing.T) {
	for _, key := range []string{
		"", "/", "tapedeck.json", "runs", "runs/default", "runs/default/4b", "runs/default/4c/" + trace1, "runs/default/4b/" + trace1[:31],
		"runs/default/4B/" + strings.ToUpper(trace1), "runs/Default/4b/" + trace1, "runs//4b/" + trace1, "runs/../4b/" + trace1,
		"replays/default/4b/" + trace1, "quarantine/default/4b/" + trace1, "runs/parts/4b/" + trace1, "runs/con.x/4b/" + trace1,
	} {
		if p, _, err := deck.ParseLocation(key); err == nil || !deck.IsPermanent(err) {
			t.Errorf("%q is place %v, error %v", key, p, err)
		}
	}
}

func TestPlaceValidateNamesWhatIsWrong(t *testing.T) {
	for want, p := range map[string]deck.Location{
		"unknown area":  {Area: "x", Tenant: "t", TraceID: trace1},
		"replay_run_id": {Area: deck.AreaReplays, Tenant: "t", TraceID: trace1},
		"no tenant":     {Area: deck.AreaRuns, TraceID: trace1},
		"trace id":      {Area: deck.AreaRuns, Tenant: "t", TraceID: strings.ToUpper(trace1)},
	} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) || !deck.IsPermanent(err) {
			t.Errorf("%v: %v", p.Area, err)
		}
	}
	bad := deck.Location{Area: deck.AreaRuns, ReplayRunID: "r", Tenant: "t", TraceID: trace1}
	if bad.Validate() == nil {
		t.Error("a production run with a replay_run_id is valid")
	}
}

func TestGenerationNamesSortByItemsAndParse(t *testing.T) {
	parts := []string{strings.Repeat("a", 64), strings.Repeat("b", 64)}
	g := deck.NewGeneration(12, parts, []byte("producer"))
	if d := cmp.Diff("g0000000012-", g.String()[:12]); d != "" || len(g.Digest) != 64 {
		t.Error(d, g)
	}
	if other := deck.NewGeneration(12, []string{parts[1], parts[0], parts[1]}, []byte("producer")); other != g {
		t.Error("order or repetition of parts changes the generation")
	}
	for _, other := range []deck.Generation{
		deck.NewGeneration(12, parts[:1], []byte("producer")),
		deck.NewGeneration(12, parts, []byte("producer 2")),
		deck.NewGeneration(12, []string{parts[0] + parts[1]}, []byte("producer")),
	} {
		if other.Digest == g.Digest {
			t.Error("different inputs, one digest")
		}
	}
	got, ok := deck.ParseGeneration(g.String())
	if !ok || got != g {
		t.Errorf("parsed %v, %v", got, ok)
	}
	large := deck.Generation{Items: 123456789012, Digest: g.Digest}
	if got, ok := deck.ParseGeneration(large.String()); !ok || got != large || large.Compare(g) <= 0 {
		t.Error("numbers above the padding do not work")
	}
	for _, bad := range []string{"", "g", "parts", "g12-" + g.Digest, "g0000000012", "0000000012-" + g.Digest, "g0000000012-" + strings.ToUpper(g.Digest), "g-000000012-" + g.Digest, "g0000000012-" + g.Digest[:63]} {
		if _, ok := deck.ParseGeneration(bad); ok {
			t.Errorf("%q parses", bad)
		}
	}
}

func FuzzParsePlaceAndPrefixAreInverse(f *testing.F) {
	f.Add("runs/default/4b/" + trace1)
	f.Add("replays/r-1/default/4b/" + trace1 + "/parts/x")
	f.Add("joined/acme.0123456789abcdef/4b/" + trace1 + "/")
	f.Add("undecided/x_.0123456789abcdef/4b/" + trace1)
	f.Fuzz(func(t *testing.T, key string) {
		p, rest, err := deck.ParseLocation(key)
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		again := p.Prefix()
		if rest != "" {
			again += "/" + rest
		}
		if again != strings.TrimSuffix(key, "/") {
			t.Fatalf("%q becomes %q", key, again)
		}
	})
}

func FuzzSafeNameIsOneSegmentThatParses(f *testing.F) {
	for _, s := range []string{"default", "Acme Corp", "..", "con", "a.0123456789abcdef", "", strings.Repeat("x", 100), "a/b", "\x00", "x.", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		seg := deck.SafeName(name)
		if err := deck.CheckKey(seg); err != nil || strings.Contains(seg, "/") || len(seg) > 64 || seg != strings.ToLower(seg) {
			t.Fatalf("%q becomes %q: %v", name, seg, err)
		}
		if name == "" {
			return
		}
		p := deck.Location{Area: deck.AreaRuns, Tenant: name, TraceID: trace1}
		got, rest, err := deck.ParseLocation(p.Prefix())
		if err != nil || rest != "" || got.Prefix() != p.Prefix() {
			t.Fatalf("%q: parsed %v, %v", name, got, err)
		}
		if seg == name && got != p {
			t.Fatalf("plain name %q: parsed %+v", name, got)
		}
	})
}
