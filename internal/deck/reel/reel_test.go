// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// fetchOf reads a reel in memory and counts what is read.
func fetchOf(body []byte, read *int64) Fetch {
	return func(_ context.Context, offset, length int64) ([]byte, error) {
		if read != nil {
			*read += length
		}
		return body[offset : offset+length], nil
	}
}

func hexOf(n int, digits int) string { return fmt.Sprintf("%0*x", digits, n) }

// rowOf makes a row that has something in every column.
func rowOf(r *rand.Rand, n int) Row {
	long := func() *int64 { v := r.Int64N(1000); return &v }
	cost := r.Float64()
	part := hexOf(n, 64)
	row := Row{Meta: Meta{
		Tenant: "default", TraceID: hexOf(n*7919%100000, 32), RootSpanID: hexOf(n+1, 16), ConversationID: fmt.Sprintf("conversation-%d", n/3),
		InvocationID: fmt.Sprintf("invocation-%d", n), StartedAt: 1_700_000_000_000_000 + int64(n), EndedAt: 1_700_000_000_500_000 + int64(n), DurationMS: 500,
		Service: fmt.Sprintf("service-%d", n%5), Agent: "agent", Models: []string{"m1", fmt.Sprintf("m%d", n%4)}, Status: "ok", Grade: "offline",
		Verified: long(), Unverifiable: nil, Events: long(), ModelCalls: long(), ToolCalls: long(), Tools: []string{"a", "b", "c"}[: n%3 : n%3],
		InputTokens: long(), CostUSD: &cost, Findings: nil, UserMessage: strings.Repeat("ü", n%600), Dialects: []string{"otel"},
		Area: "runs", Part: part, Parts: []string{part}, Items: int64(n), Producer: `["tapedeck","1","x"]`, Formats: []string{"oracle", "tape"},
		Files: []string{"oracle.json"}, Revision: 7, TapeID: "sha256:" + part, Complete: n%2 == 0,
	}}
	if n%3 == 0 {
		row.Tools = nil
	}
	row.RunID = row.TraceID + "-" + row.RootSpanID
	row.Evidence, row.Tape = make([]byte, 1+r.IntN(4000)), bytes.Repeat([]byte(`{"a":1}`), 1+r.IntN(500))
	for i := range row.Evidence {
		row.Evidence[i] = byte(r.Uint32())
	}
	return row
}

func rowsOf(t testing.TB, n int) []Row {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = rowOf(r, i)
	}
	return rows
}

func encode(t testing.TB, rows []Row) []byte {
	t.Helper()
	body, err := Encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func open(t testing.TB, body []byte) *File {
	t.Helper()
	f, err := Open(t.Context(), fetchOf(body, nil), int64(len(body)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll reads all rows, and the content of the first ones.
func readAll(ctx context.Context, f *File, contents int) (rows []Row, err error) {
	for _, s := range f.all() {
		metas, err := f.metas(ctx, s, nil)
		if err != nil {
			return nil, err
		}
		for i, m := range metas {
			row := Row{Meta: m}
			if contents--; contents < 0 {
				continue
			}
			if row.Evidence, err = f.content(ctx, "evidence", s.group, s.from+int64(i)); err == nil {
				row.Tape, err = f.content(ctx, "tape", s.group, s.from+int64(i))
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func TestRowsComeBackAsTheyWereWritten(t *testing.T) {
	rows := rowsOf(t, 1000)
	rows[17].Evidence = bytes.Repeat([]byte("large"), 5<<20) // more than a row group by itself
	body := encode(t, rows)
	f := open(t, body)
	if len(f.groups) < 3 {
		t.Fatalf("%d row groups", len(f.groups))
	}
	got, err := readAll(t.Context(), f, len(rows))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		rows[i].EvidenceBytes, rows[i].TapeBytes = int64(len(rows[i].Evidence)), int64(len(rows[i].Tape))
	}
	if len(got) != len(rows) {
		t.Fatalf("%d rows of %d", len(got), len(rows))
	}
	for i := range rows {
		if !reflect.DeepEqual(got[i], rows[i]) {
			t.Fatalf("row %d differs: %s", i, cmp.Diff(rows[i].Meta, got[i].Meta))
		}
	}
}

// The reel is read by a program that is not ours, here the library that wrote it.
func TestAReelIsAParquetFile(t *testing.T) {
	rows := rowsOf(t, 50)
	body := encode(t, rows)
	got, err := parquet.Read[Row](bytes.NewReader(body), int64(len(body)))
	if err != nil || len(got) != len(rows) {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i := range rows {
		if got[i].RunID != rows[i].RunID || !bytes.Equal(got[i].Tape, rows[i].Tape) || !slices.Equal(got[i].Models, rows[i].Models) {
			t.Fatalf("row %d differs", i)
		}
	}
}

func TestEqualRowsGiveEqualBytes(t *testing.T) {
	rows := rowsOf(t, 200)
	again := slices.Clone(rows)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	if !bytes.Equal(encode(t, rows), encode(t, again)) {
		t.Fatal("the order of the rows changes the reel")
	}
}

func TestFindReadsWhatItNeeds(t *testing.T) {
	rows := rowsOf(t, 4000)
	body := encode(t, rows)
	var read int64
	f, err := Open(t.Context(), fetchOf(body, &read), int64(len(body)), nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), func(context.Context, int64, int64) ([]byte, error) { return nil, deck.ErrNotFound }, int64(len(body)), f.Tail())
	if err != nil || again.Rows() != len(rows) {
		t.Fatalf("a tail that is known is not enough: %v", err)
	}
	for column, of := range map[string]func(Meta) string{
		"trace_id": func(m Meta) string { return m.TraceID }, "conversation_id": func(m Meta) string { return m.ConversationID },
		"invocation_id": func(m Meta) string { return m.InvocationID },
	} {
		for _, i := range []int{0, 1, 1777, len(rows) - 1} {
			read = 0
			want := 0
			for _, r := range rows {
				if of(r.Meta) == of(rows[i].Meta) {
					want++
				}
			}
			spans, err := f.Find(t.Context(), column, of(rows[i].Meta), false)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, s := range spans {
				metas, err := f.metas(t.Context(), s, []string{column})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range metas {
					if found++; of(m) != of(rows[i].Meta) {
						t.Errorf("%s: found %q", column, of(m))
					}
				}
			}
			if found != want {
				t.Errorf("%s of row %d: found %d rows of %d", column, i, found, want)
			}
			if read > int64(len(body))/20 {
				t.Errorf("%s: a look-up reads %d bytes of %d", column, read, len(body))
			}
		}
		if spans, err := f.Find(t.Context(), column, "not there", false); err != nil || len(spans) > 0 {
			t.Errorf("%s: %v, %v", column, spans, err)
		}
	}
	spans, err := f.Find(t.Context(), "trace_id", rows[5].TraceID[:30], true)
	if err != nil || len(spans) == 0 {
		t.Errorf("no trace by its first digits: %v, %v", spans, err)
	}
}

func TestEncodeRefusesWhatNoReaderTakes(t *testing.T) {
	for name, spoil := range map[string]func(*Row){
		"trace": func(r *Row) { r.TraceID = "../x" }, "part": func(r *Row) { r.Part = "x" }, "root": func(r *Row) { r.RootSpanID = "" },
		"file": func(r *Row) { r.Files = []string{"../x"} }, "area": func(r *Row) { r.Area = "joined" }, "parts": func(r *Row) { r.Parts = nil },
	} {
		rows := rowsOf(t, 1)
		spoil(&rows[0])
		if _, err := Encode(rows); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// unionOf is what matters of a union: without where its rows lie.
func unionOf(tr *Trace) string {
	var b strings.Builder
	fmt.Fprintln(&b, tr.Location, tr.Parts, tr.Dropped)
	if tr.Current != nil {
		fmt.Fprintln(&b, tr.Current.Generation, tr.Current.Formats)
		for _, r := range tr.Current.Runs {
			fmt.Fprintln(&b, r.RunID, r.TapeID)
		}
	}
	return b.String()
}

// TestUnionDependsOnTheSetOfRowsAlone: whatever the order, the duplicates and the split over reels.
func TestUnionDependsOnTheSetOfRowsAlone(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		digests := []string{strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)}
		var rows []*Entry
		for range 1 + r.IntN(8) {
			parts := slices.Clone(digests[:1+r.IntN(3)])
			m := Meta{Tenant: "t", TraceID: strings.Repeat("1", 32), Area: []string{"runs", "undecided", "replays"}[r.IntN(3)], Part: parts[r.IntN(len(parts))],
				Parts: parts, Items: int64(len(parts)), Revision: int64(r.IntN(2)), Producer: "[]", EvidenceBytes: int64(r.IntN(2)) * 9}
			if m.Area == "replays" {
				m.ReplayRunID = fmt.Sprintf("replay-%d", r.IntN(3))
			}
			if r.IntN(4) > 0 {
				m.RootSpanID = hexOf(r.IntN(2), 16)
				m.RunID, m.TapeID = m.TraceID+"-"+m.RootSpanID, fmt.Sprintf("%s-%d-%d", m.RootSpanID, len(parts), m.Revision)
			}
			if m.Keep = []string{"", "error", KeepDropped}[r.IntN(3)]; m.Dropped() {
				m.EvidenceBytes = 0
			}
			rows = append(rows, &Entry{Meta: m})
		}
		want := unionOf(Unite(rows))
		for range 10 {
			again := slices.Clone(rows)
			for range r.IntN(5) {
				copied := *again[r.IntN(len(again))]
				again = append(again, &copied)
			}
			r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
			if got := unionOf(Unite(again)); got != want {
				t.Fatalf("seed %d\n got %s\nwant %s", seed, got, want)
			}
			// What a compaction leaves of it is the same again.
			if got := unionOf(Unite(Unite(again).Entries)); got != want {
				t.Fatalf("seed %d, united twice\n got %s\nwant %s", seed, got, want)
			}
		}
	}
}

func TestUnionTakesTheTapeOfAllEvidence(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	row := func(area, part string, revision int64, parts ...string) *Entry {
		return &Entry{Meta: Meta{Tenant: "t", TraceID: strings.Repeat("1", 32), RootSpanID: hexOf(1, 16), RunID: strings.Repeat("1", 32) + "-" + hexOf(1, 16), Area: area, Part: part,
			Parts: parts, Items: int64(len(parts)), Revision: revision, Producer: "[]", TapeID: fmt.Sprint(len(parts), "-", revision)}}
	}
	if tr := Unite([]*Entry{row("runs", a, 1, a), row("runs", b, 1, b)}); tr.Current != nil || !slices.Equal(tr.Parts, []string{a, b}) {
		t.Errorf("two halves have a tape: %+v", tr.Current)
	}
	tr := Unite([]*Entry{row("undecided", a, 1, a), row("runs", b, 1, b), row("runs", a, 1, a, b), row("runs", a, 2, a, b)})
	if tr.Current == nil || tr.Current.Runs[0].TapeID != "2-2" || tr.Location.Area != deck.AreaRuns {
		t.Errorf("%+v", tr.Current)
	}
	if tr := Unite([]*Entry{row("runs", a, 1, a, b)}); tr.Current != nil {
		t.Error("a tape of evidence that was taken away is shown")
	}
}
