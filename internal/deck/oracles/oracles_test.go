// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracles

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	trace = "0af7651916cd43dd8448eb211c80319c"
	root  = "b7ad6b7169203331"
)

// put writes a tape with one call into a deck, with or without an oracle beside it.
func put(t *testing.T, d *deck.Deck, location deck.Location, items int, response string, beside bool) {
	t.Helper()
	args := exactjson.ObjectValue()
	tp := &tape.Tape{Run: tape.Run{RunID: location.TraceID + "-" + root, TraceID: location.TraceID, RootSpanID: root, Tenant: location.Tenant}, Events: []tape.Event{
		{Seq: 1, Type: tape.EventToolCall, Name: "t", Args: args, ArgsHash: tape.ArgsHash(args), Result: exactjson.StringValue(response), Status: tape.EventOK},
	}}
	var files []deck.File
	if beside {
		body := oracle.Append(nil, oracle.FromTape(tp))
		files = append(files, deck.File{Name: deck.OracleFile, Body: body})
		member := func(name string, v exactjson.Value) exactjson.Value {
			return exactjson.ObjectValue(exactjson.Member{Name: name, Value: v})
		}
		tp.Extensions = member("tapedeck", member("files", member(deck.OracleFile, exactjson.StringValue(tape.FileDigest(body)))))
	}
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	files = append(files, deck.File{Name: deck.TapeFile, Body: tp.AppendJSON(nil)})
	generation := deck.NewGeneration(items, []string{strings.Repeat("0", 64)}, []byte("test"))
	if _, err := d.PutGeneration(t.Context(), location, generation, []deck.RunFiles{{Root: root, Files: files}}); err != nil {
		t.Fatal(err)
	}
}

func newLibrary(t *testing.T) (*Library, *deck.Deck) {
	t.Helper()
	d, err := deck.Open(t.Context(), "mem://"+t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return New(d, oracle.Options{}), d
}

func answer(t *testing.T, l *Library, run string) string {
	t.Helper()
	_, o, err := l.Open(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	a, err := o.NewSession(0).Answer(oracle.Query{ToolName: "t", ArgsText: "{}"})
	if err != nil || a.Entry == nil {
		t.Fatal(a, err)
	}
	return a.Entry.Response
}

func TestOpenFindsTheCurrentTape(t *testing.T) {
	l, d := newLibrary(t)
	runs := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
	if _, _, err := l.Open(t.Context(), trace); !errors.Is(err, oraclehttp.ErrNoRun) {
		t.Error(err)
	}
	put(t, d, runs, 1, "first", true)
	for _, name := range []string{trace, trace + "-" + root, trace[:8]} {
		if got := answer(t, l, name); got != "first" {
			t.Errorf("%s: %s", name, got)
		}
	}
	put(t, d, runs, 2, "amended", false) // without an oracle file the tape says it
	if got := answer(t, l, trace); got != "amended" {
		t.Error(got)
	}
	put(t, d, deck.Location{Area: deck.AreaReplays, ReplayRunID: "r", Tenant: "default", TraceID: trace}, 9, "replayed", true)
	if got := answer(t, l, trace); got != "amended" {
		t.Errorf("a replay goes before the run: %s", got)
	}
	put(t, d, deck.Location{Area: deck.AreaJoined, Tenant: "default", TraceID: trace}, 3, "joined", true)
	if got := answer(t, l, trace); got != "joined" {
		t.Error(got)
	}
}

func TestOpenDoesNotChoose(t *testing.T) {
	l, d := newLibrary(t)
	for _, tenant := range []string{"a", "b"} {
		put(t, d, deck.Location{Area: deck.AreaRuns, Tenant: tenant, TraceID: trace}, 1, tenant, true)
	}
	other := trace[:16] + strings.Repeat("f", 16)
	put(t, d, deck.Location{Area: deck.AreaRuns, Tenant: "a", TraceID: other}, 1, "other", true)
	for _, name := range []string{"", trace, trace[:8]} {
		if _, _, err := l.Open(t.Context(), name); !errors.Is(err, oraclehttp.ErrSeveralRuns) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, tenant := range []string{"a", "b"} {
		for _, name := range []string{tenant + "/" + trace, "runs/" + tenant + "/" + trace + "-" + root} {
			if got := answer(t, l, name); got != tenant {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
	if _, _, err := l.Open(t.Context(), trace); !strings.Contains(err.Error(), "runs/a/"+trace+"-"+root+" ") || !strings.Contains(err.Error(), "runs/b/"+trace+"-"+root+" ") {
		t.Errorf("%v does not say how they are named", err)
	}
	l.Tenant = "a"
	if _, _, err := l.Open(t.Context(), "b/"+trace); !errors.Is(err, oraclehttp.ErrNoRun) {
		t.Errorf("another tenant: %v", err)
	}
	for _, name := range []string{"../../etc", "zz", strings.Repeat("0", 32), "c/" + trace, "a/b/" + trace, "joined/a/" + trace, "/" + strings.Repeat("0", 32)} {
		if _, _, err := l.Open(t.Context(), name); !errors.Is(err, oraclehttp.ErrNoRun) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOraclesThatWereUsedLastAreKept(t *testing.T) {
	l, d := newLibrary(t)
	for i := range keepRecent + 3 {
		id := trace[:30] + string("0123456789abcdef"[i/16]) + string("0123456789abcdef"[i%16])
		put(t, d, deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: id}, 1, "r", true)
		_, first, err := l.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, again, err := l.Open(t.Context(), id); err != nil || again != first {
			t.Error("an oracle was loaded twice", err)
		}
	}
	if len(l.recent) != keepRecent {
		t.Errorf("%d oracles are kept", len(l.recent))
	}
}

func TestWhatWasTamperedIsRefused(t *testing.T) {
	for _, name := range []string{deck.TapeFile, deck.OracleFile} {
		t.Run(name, func(t *testing.T) {
			l, d := newLibrary(t)
			put(t, d, deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}, 1, "sun", true)
			refs, err := d.Find(t.Context(), trace, "")
			if err != nil {
				t.Fatal(err)
			}
			key := refs[0].Sibling(name).Key
			body, err := d.Store().Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Store().Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Store().PutNew(t.Context(), key, bytes.Replace(body, []byte("sun"), []byte("fun"), 1), "application/json"); err != nil {
				t.Fatal(err)
			}
			if _, o, err := l.Open(t.Context(), trace); o != nil || !errors.Is(err, tape.ErrAltered) {
				t.Errorf("%v %v", o, err)
			}
			told := 0
			l.Unverified = func(err error) {
				if told++; !errors.Is(err, tape.ErrAltered) {
					t.Error(err)
				}
			}
			if _, o, err := l.Open(t.Context(), trace); o == nil || err != nil || told != 1 {
				t.Errorf("%v %v, told %d times", o, err, told)
			}
		})
	}
}
