// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

// lineWriter is a writer that gives what is written to it line by line.
type lineWriter struct {
	mu   sync.Mutex
	text bytes.Buffer
	came chan string
}

func newLines() *lineWriter { return &lineWriter{came: make(chan string, 100)} }

func (l *lineWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	for line := range strings.Lines(string(b)) {
		l.came <- strings.TrimSuffix(line, "\n")
	}
	return len(b), nil
}

func (l *lineWriter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// researched is a recorded run of an agent.
const researched = agents + "langchain-openinference/research_chain.otlp.json"

var tailClock = func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

// TestTailShowsWhatBecomesVisibleInADeck looks at a deck of either layout before and behind each of two runs.
func TestTailShowsWhatBecomesVisibleInADeck(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			dir := t.TempDir()
			derive := func(file string) {
				t.Helper()
				if got := tapedeck(t, "derive", file, "--to", dir, "--redact", "off", "--layout", layout, "--no-join"); got.code != exitOK {
					t.Fatalf("%+v", got)
				}
			}
			derive(researched)
			d, err := replay.OpenDeck(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			out, stderr := newLines(), &bytes.Buffer{}
			filter := &runFilter{now: tailClock}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			passes, shown := 0, 0
			p := &runPrinter{out: out, now: tailClock}
			w := &deckTail{deck: d, catalog: catalog.Catalog{Deck: d}, filter: filter, show: p.show, end: func() { p.end(stderr) }, stderr: stderr, every: time.Millisecond, lines: 10}
			w.wait = func(ctx context.Context, _ time.Duration) bool {
				passes++
				switch n := strings.Count(out.String(), "\n"); {
				case passes == 1:
					shown = n
					derive(forge)
				case n > shown: // what a view of reels has listed is true for a moment
					cancel()
				case passes > 2000:
					t.Error("the run never came")
					cancel()
				}
				return waiting(ctx, 5*time.Millisecond)
			}
			if err := w.run(ctx); err != nil {
				t.Fatal(err)
			}
			all := strings.Split(strings.TrimSpace(out.String()), "\n")
			if shown != 1 || len(all) != 2 {
				t.Fatalf("%d lines at first, then:\n%s", shown, out)
			}
			golden(t, "tail-deck.txt", out.String())
			for _, line := range all { // other commands take the ids
				id, _, _ := strings.Cut(line, " ")
				if got := tapedeck(t, "show", id, "--deck", dir); got.code != exitOK {
					t.Errorf("show %s: %+v", id, got)
				}
			}
			if want := "tapedeck: 2 lines; none was open\n"; stderr.String() != want {
				t.Errorf("%q", stderr)
			}
		})
	}
}

func TestTailShowsTheLastRunsOfADeckAndFilters(t *testing.T) {
	dir := t.TempDir()
	tapedeck(t, "derive", researched, forge, "--to", dir, "--redact", "off", "--no-join")
	d, err := replay.OpenDeck(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []struct {
		lines int
		where string
		want  []string // agents
	}{
		{10, "", []string{"stock-helper", "main_agent"}},
		{1, "", []string{"main_agent"}},
		{0, "", nil},
		{10, "model_calls > 3", []string{"main_agent"}},
		{10, "tool_calls > 1000", nil},
	} {
		filter, out := &runFilter{now: tailClock}, &bytes.Buffer{}
		filter.Where = c.where
		p := &runPrinter{out: out, json: true, now: tailClock}
		w := &deckTail{deck: d, catalog: catalog.Catalog{Deck: d}, filter: filter, show: p.show, stderr: t.Output(), lines: c.lines,
			seen: map[tapeKey]bool{}, said: map[string]bool{}}
		for i := range 2 { // what was there at first is not shown by a later look
			if err := w.pass(t.Context(), i == 0); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			var s shownRun
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				t.Fatal(err)
			}
			if got = append(got, s.Agent); s.RunID == "" || !strings.HasPrefix(s.RunID, s.ID) || s.URL == "" || s.Area != "runs" {
				t.Errorf("%s", line)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d lines where %q:\n%s", c.lines, c.where, diff)
		}
	}
}

// listened starts a tail on two loopback ports. end interrupts it, and returns what it said.
func listened(t *testing.T, tail *agentTail) (addresses []string, out *lineWriter, end func() string) {
	t.Helper()
	var listeners []net.Listener
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners, addresses = append(listeners, l), append(addresses, l.Addr().String())
	}
	out = newLines()
	stderr := newLines()
	tail.print, tail.stderr, tail.tenant = &runPrinter{out: out, now: tailClock}, stderr, "default"
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tail.run(ctx, listeners, 20*time.Millisecond, time.Hour) }()
	return addresses, out, func() string {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		said := stderr.String()
		for _, address := range addresses {
			said = strings.ReplaceAll(said, address, "ADDRESS")
		}
		return said
	}
}

// spansOf is a recorded run of which only some spans came.
func spansOf(t *testing.T, file string, wanted func(ptrace.Span) bool) ptrace.Traces {
	t.Helper()
	td, err := otlpsend.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := evidence.NewSet()
	set.AddTraces(td)
	return set.Excerpt(func(i evidence.Item) bool { return wanted(i.Span) })
}

func every(ptrace.Span) bool { return true }

func TestTailShowsRunsThatAgentsSendAndWhatIsOpenAtTheEnd(t *testing.T) {
	addresses, out, end := listened(t, &agentTail{})
	if err := otlpsend.GRPC(t.Context(), addresses[0], spansOf(t, forge, every)); err != nil {
		t.Fatal(err)
	}
	first := <-out.came
	without := spansOf(t, researched, func(s ptrace.Span) bool { return s.ParentSpanID() != pcommon.SpanID{} })
	if err := otlpsend.HTTP(t.Context(), "http://"+addresses[1], without); err != nil {
		t.Fatal(err)
	}
	said := end()
	golden(t, "tail-listen.txt", out.String()+"---\n"+said)
	if strings.Contains(first, "unfinished") || !strings.Contains(out.String(), "unfinished") || !strings.Contains(said, "not complete: ") {
		t.Errorf("%s\n%s", out, said)
	}
}

// TestTailShowsARunAgainWhenMoreOfItComes sends the last model call of a run behind the rest.
func TestTailShowsARunAgainWhenMoreOfItComes(t *testing.T) {
	addresses, out, end := listened(t, &agentTail{})
	late := func(s ptrace.Span) bool {
		return slices.Contains([]string{"9df4299a7ea257bf", "5eea42fa93d59720", "6c77490d3cfccd39"}, s.SpanID().String())
	}
	for i, wanted := range []func(ptrace.Span) bool{func(s ptrace.Span) bool { return !late(s) }, late} {
		if err := otlpsend.HTTP(t.Context(), "http://"+addresses[i], spansOf(t, researched, wanted)); err != nil {
			t.Fatal(err)
		}
		line := <-out.came
		if want := []string{" 1203/37 ", " 1795/52 "}[i]; !strings.Contains(line, want) || !strings.HasPrefix(line, "5666c55d ") {
			t.Errorf("%s: want %s", line, want)
		}
	}
	end()
}

// TestTailRedactsAndKeepsWhatRecordKeeps compares the deck of --deck with that of derive.
func TestTailRedactsAndKeepsWhatRecordKeeps(t *testing.T) {
	const secret = "sk-proj-" + "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"
	td := spansOf(t, researched, every)
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				for k, v := range span.Attributes().All() {
					if v.Type() == pcommon.ValueTypeStr && strings.Contains(v.Str(), "26.8 times") {
						span.Attributes().PutStr(k, strings.ReplaceAll(v.Str(), "About 26.8 times", secret+" 26.8 times"))
					}
				}
			}
		}
	}
	body, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "run.json", string(body))
	key := keyFile(t)
	kept, derived := t.TempDir(), t.TempDir()
	if got := tapedeck(t, "derive", file, "--to", derived, "--redaction-key-file", key, "--no-join"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	f := tailFlags{redactionFlags: redactionFlags{redact: "default"}, filter: runFilter{now: tailClock}, keep: kept, quiet: 20 * time.Millisecond, idle: time.Hour, every: time.Second}
	t.Setenv(keyVariable, readAll(t, key))
	out, stderr := newLines(), newLines()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.listen(ctx, []string{"127.0.0.1:0"}, &runPrinter{out: out, now: tailClock}, stderr) }()
	_, address, _ := strings.Cut(<-stderr.came, "http://")
	if err := otlpsend.GRPC(t.Context(), address, td); err != nil {
		t.Fatal(err)
	}
	line := <-out.came
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String()+stderr.String(), secret) || !strings.Contains(line, "«redacted") && !strings.Contains(line, "26.8 times") {
		t.Errorf("%s\n%s", out, stderr)
	}
	if !strings.Contains(stderr.String(), "redacted values: ") {
		t.Error(stderr)
	}
	if diff := cmp.Diff(tapesBelow(t, derived), tapesBelow(t, kept)); diff != "" {
		t.Errorf("(-derive +tail):\n%s", diff)
	}
}

// tapesBelow is what lies in a deck, by key.
func tapesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	d, err := replay.OpenDeck(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for o, err := range d.Store().List(t.Context(), "runs/") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Store().Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Key+" "+string(body))
	}
	if len(all) == 0 {
		t.Fatal("the deck is empty")
	}
	return slices.Sorted(slices.Values(all))
}

func TestTailRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"tail"}, "tail needs one DECK, its address in TAPEDECK_DECK, or --listen; see tapedeck tail --help"},
		{[]string{"tail", "a", "b"}, "tail needs one DECK, its address in TAPEDECK_DECK, or --listen; see tapedeck tail --help"},
		{[]string{"tail", "--listen", "0.0.0.0:4317"}, "--listen 0.0.0.0:4317 is not a loopback address; --allow-remote lets other machines send"},
		{[]string{"tail", "--listen", "127.0.0.1:0", "--to", "mem://x"}, replay.ErrMem.Error()},
		{[]string{"tail", "nodeck"}, "there is no deck at nodeck: no such folder"},
		{[]string{"tail", "x", "--to", "y"}, "--to keeps what --listen receives; to watch a deck: tapedeck tail y"},
		{[]string{"tail", "x", "--every", "0s"}, "--every and --settle must be positive, and --idle not less than --settle"},
		{[]string{"tail", "x", "--lines", "-1"}, "--lines must not be negative"},
	} {
		t.Setenv(deckVariable, "")
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
}
