// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// tamper changes one byte of the result on the tape in a folder, and nothing else.
func tamper(t *testing.T, folder string) {
	t.Helper()
	file := filepath.Join(folder, deck.TapeFile)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(data, []byte(`stock\\\":99`)) + len(`stock\\\":`)
	if data[at] != '9' {
		t.Fatal("the value is not on the tape")
	}
	data[at] = '8'
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestATamperedTapeIsRefusedEverywhere changes one byte of a value and names the tape to every command that uses tapes, in every way in
// which it can be named.
func TestATamperedTapeIsRefusedEverywhere(t *testing.T) {
	dir, folder := newDeck(t)
	other := replayOf(t, []byte(tapedeck(t, "show", folder, "--json").stdout), func(*tape.Tape) {})
	tamper(t, folder)
	file := filepath.Join(folder, deck.TapeFile)
	for _, args := range [][]string{
		{"show", "REF"}, {"show", "REF", "--json"},
		{"oracle", "lookup", "REF", "--tool", "http_request", "--args", "{}"},
		{"oracle", "derive", "REF"}, {"oracle", "lint", "REF"}, {"oracle", "diff", "REF", other}, {"oracle", "diff", other, "REF"}, {"oracle", "learn", "REF", other},
		{"serve", "--listen", "127.0.0.1:0", "--oracle", "REF"},
		{"match", "REF", other}, {"match", other, "REF"},
		{"bisect", "REF", other}, {"bisect", other, "REF"}, {"bisect", "--good", "REF", "--bad", other}, {"diff", "REF", other},
		{"replay", "REF", "--bisect", other}, {"replay", other, "--bisect", "REF"},
		{"export", "REF", "--format", "waza"}, {"export", "REF", "--format", "otlp"}, {"request", "REF"},
	} {
		for _, ref := range [][]string{{file}, {folder}, {fileURL(t, file)}, {forgeRun, "--deck", dir}, {forgeRun[:8], "--deck", dir}} {
			line := slices.Clone(args)
			for i := range line {
				if line[i] == "REF" {
					line[i] = ref[0]
				}
			}
			line = append(line, ref[1:]...)
			got := tapedeck(t, line...)
			if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "the digest does not hold") {
				t.Errorf("%v: %+v", line, got)
			}
			if args[0] == "serve" {
				continue // it would go on
			}
			if got := tapedeck(t, append(line, "--allow-unverified")...); got.code == exitFailed || !strings.Contains(got.stderr, "UNVERIFIED") {
				t.Errorf("%v --allow-unverified: %+v", line, got)
			}
		}
	}
	if got := tapedeck(t, "export", dir, "--format", "chat"); got.code != exitFailed || got.stdout != "" {
		t.Errorf("export of the deck: %+v", got)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitPartial || !strings.Contains(got.stdout, "tape_id") {
		t.Errorf("verify lists what is wrong: %+v", got)
	}
	if got := tapedeck(t, "replay", dir); got.code != exitPartial || !strings.Contains(got.stdout, "tape_id") {
		t.Errorf("replay lists what is wrong: %+v", got)
	}
	// What reads all tapes of a deck says which one it does not believe, and does not build upon it.
	for _, args := range [][]string{{"join", dir}, {"gc", dir}} {
		if got := tapedeck(t, args...); got.code == exitOK || !strings.Contains(got.stderr, "the digest does not hold") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestServeOfADeckRefusesWhatWasTampered(t *testing.T) {
	ask := `"run":"` + forgeRun[:32] + `",` + counter
	t.Run("tape", func(t *testing.T) {
		dir, folder := newDeck(t)
		tamper(t, folder)
		s := startServer(t, "--oracle", dir)
		if status, body := s.call(t, "/v1/tool-calls", "", ask); status != 502 || !strings.Contains(body, "unreadable_run") || !strings.Contains(body, "the digest does not hold") {
			t.Errorf("%d %s", status, body)
		}
		s.end(t)
		s = startServer(t, "--oracle", dir, "--allow-unverified")
		if status, body := s.call(t, "/v1/tool-calls", "", ask); status != 200 {
			t.Errorf("%d %s", status, body)
		}
		if s.end(t); !strings.Contains(s.stderr.String(), "UNVERIFIED") {
			t.Error(s.stderr)
		}
	})
	t.Run("oracle", func(t *testing.T) {
		dir, folder := newDeck(t)
		file := filepath.Join(folder, deck.OracleFile)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.Replace(data, []byte("99"), []byte("98"), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		s := startServer(t, "--oracle", dir)
		if status, body := s.call(t, "/v1/tool-calls", "", ask); status != 502 || !strings.Contains(body, "oracle.json") {
			t.Errorf("%d %s", status, body)
		}
		s.end(t)
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--oracle", file}, {"oracle", "lookup", file, "--tool", "http_request", "--args", "{}"}} {
			if got := tapedeck(t, args...); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "the digest does not hold") {
				t.Errorf("%v: %+v", args, got)
			}
		}
		apart := write(t, "oracle.json", string(data)) // a file that no tape lists is used as it is
		if got := tapedeck(t, "oracle", "lint", apart); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	})
}

// putRun writes the tape of a run into a deck and returns its run id.
func putRun(t *testing.T, dir string, area deck.Area, trace string, change func(*tape.Tape)) string {
	t.Helper()
	tp := &tape.Tape{Run: tape.Run{Tenant: "default", TraceID: trace, RootSpanID: "b7ad6b7169203331", Status: tape.StatusOK}}
	change(tp)
	tp.Run.RunID = tp.Run.TraceID + "-" + tp.Run.RootSpanID
	body := oracle.Append(nil, oracle.FromTape(tp))
	member := func(name string, v exactjson.Value) exactjson.Value {
		return exactjson.ObjectValue(exactjson.Member{Name: name, Value: v})
	}
	files := member(deck.OracleFile, exactjson.StringValue(tape.FileDigest(body)))
	tp.Extensions = exactjson.ObjectValue(append(tp.Extensions.Members(), exactjson.Member{Name: "tapedeck", Value: member("files", files)})...)
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	d, err := deck.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	place := deck.Location{Area: area, Tenant: tp.Run.Tenant, TraceID: trace, ReplayRunID: tp.Run.ReplayRunID}
	bodies := []deck.File{{Name: deck.TapeFile, Body: tp.AppendJSON(nil)}, {Name: deck.OracleFile, Body: body}}
	if _, err := d.PutGeneration(t.Context(), place, deck.NewGeneration(1, nil, []byte("test")), []deck.RunFiles{{Root: tp.Run.RootSpanID, Files: bodies}}); err != nil {
		t.Fatal(err)
	}
	return tp.Run.RunID
}

// aDay is when the runs of these tests begin.
var aDay = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

func traceOf(digit string) string { return strings.Repeat(digit, 32) }

func TestARunIsNamedByEveryIDOfIt(t *testing.T) {
	dir := t.TempDir()
	id := putRun(t, dir, deck.AreaRuns, traceOf("a"), func(tp *tape.Tape) {
		tp.Run.InvocationID, tp.Run.CorrelationID, tp.Run.TaskID, tp.Run.ConversationID = "0011223344556677", "corr-1", "task \"1\"/ü", "c0ffee00-0000-4000-8000-000000000001"
	})
	putRun(t, dir, deck.AreaRuns, traceOf("b"), func(tp *tape.Tape) { tp.Run.TaskID = "another" })
	for _, ref := range []string{id, traceOf("a"), "aaaaaaaa", "0011223344556677", "corr-1", "task \"1\"/ü", "c0ffee00-0000-4000-8000-000000000001"} {
		for _, args := range [][]string{{"show", ref, "--json"}, {"verify", ref, "--json"}, {"oracle", "derive", ref}} {
			got := tapedeck(t, append(args, "--deck", dir)...)
			if args[0] != "oracle" && !strings.Contains(got.stdout, id) || args[0] == "oracle" && got.code != exitOK {
				t.Errorf("%v: %+v", args, got)
			}
		}
		for _, oracle := range [][]string{{dir}, {ref, "--deck", dir}} {
			s := startServer(t, append([]string{"--oracle"}, oracle...)...)
			if status, body := s.call(t, "/v1/tool-calls", "", `"run":`+exactjson.StringValue(ref).JSON()+`,"tool_name":"none","args":{}`); status != 200 || !strings.Contains(body, id) {
				t.Errorf("%s: %d %s", ref, status, body)
			}
			s.end(t)
		}
	}
	for _, ref := range []string{"task", "corr-", "0011223344556678", "nosuch", `\`} {
		if got := tapedeck(t, "show", ref, "--deck", dir); got.code != exitFailed || !strings.Contains(got.stderr, "invocation, task, correlation or conversation id") {
			t.Errorf("%q: %+v", ref, got)
		}
	}
	if got := tapedeck(t, "show", "corr-1", "--deck", dir, "--search-limit", "1"); got.code != exitFailed || !strings.Contains(got.stderr, "the first 1 traces were searched and 1 have it") {
		t.Errorf("the search has no bound: %+v", got)
	}
}

// TestRunsWithTheSameIDAreToldApart: equal run ids in two tenants, and a conversation of several runs.
func TestRunsWithTheSameIDAreToldApart(t *testing.T) {
	dir := t.TempDir()
	for i, tenant := range []string{"acme", "Umbrella Corp"} {
		putRun(t, dir, deck.AreaRuns, traceOf("a"), func(tp *tape.Tape) {
			tp.Run.Tenant, tp.Run.StartedAt, tp.Run.ConversationID = tenant, aDay.AddDate(0, 0, i), "talk"
		})
	}
	run := traceOf("a") + "-b7ad6b7169203331"
	for _, args := range [][]string{
		{"request", "REF"}, {"bisect", "REF", "REF"}, {"diff", "REF", "REF"}, {"match", "REF", "REF"}, {"oracle", "lookup", "REF", "--tool", "t", "--args", "{}"},
		{"oracle", "diff", "REF", "REF"}, {"serve", "--listen", "127.0.0.1:0", "--oracle", "REF"},
	} {
		for _, id := range []string{run, "aaaaaaaa", "talk"} {
			line := slices.Clone(args)
			for i := range line {
				if line[i] == "REF" {
					line[i] = id
				}
			}
			got := tapedeck(t, append(line, "--deck", dir)...)
			for _, want := range []string{"tenant acme, started 2026-11-20T00:00:00Z", "tenant Umbrella Corp, started 2026-11-21T00:00:00Z", "--tenant", ": runs/acme/aaaaaaaa"} {
				if got.code != exitFailed || !strings.Contains(got.stderr, want) {
					t.Errorf("%v: no %q in %+v", line, want, got)
				}
			}
			if strings.Contains(got.stderr, deck.TapeFile) {
				t.Errorf("%v: a path where an id does: %s", line, got.stderr)
			}
			if args[0] == "serve" {
				continue
			}
			if got := tapedeck(t, append(line, "--deck", dir, "--tenant", "Umbrella Corp")...); strings.Contains(got.stderr, "name one") {
				t.Errorf("%v: %+v", line, got)
			}
		}
	}
	for tenant, want := range map[string]int{"": 2, "acme": 1, "Umbrella Corp": 1, "nobody": 0} {
		for _, args := range [][]string{{"verify", dir, "--json"}, {"replay", dir, "--ndjson"}, {"show", run, "--deck", dir, "--json"}, {"verify", "talk", "--deck", dir, "--json"}} {
			if got := tapedeck(t, append(args, "--tenant", tenant)...); strings.Count(got.stdout, "\n") != want {
				t.Errorf("%v of %q: %+v", args, tenant, got)
			}
		}
	}
	s := startServer(t, "--oracle", dir, "--tenant", "acme")
	if status, body := s.call(t, "/v1/tool-calls", "", `"run":"aaaaaaaa","tool_name":"none","args":{}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.end(t)
	file := filepath.Dir(strings.TrimPrefix(json1(t, tapedeck(t, "verify", dir, "--tenant", "acme", "--json").stdout, "url"), "file://"))
	if got := tapedeck(t, "show", file, "--tenant", "other"); got.code != exitFailed || !strings.Contains(got.stderr, "belongs to tenant acme") {
		t.Errorf("%+v", got)
	}
}

// json1 is a member of the first line of JSON.
func json1(t *testing.T, lines, member string) string {
	t.Helper()
	var doc map[string]any
	if err := json.NewDecoder(strings.NewReader(lines)).Decode(&doc); err != nil {
		t.Fatalf("%v: %s", err, lines)
	}
	s, _ := doc[member].(string)
	return s
}

func TestEveryCommandThatTakesAREFTakesATenant(t *testing.T) {
	for _, command := range [][]string{
		{"bisect"}, {"diff"}, {"export"}, {"match"}, {"replay"}, {"request"}, {"resolve"}, {"serve"}, {"show"}, {"verify"}, {"gc"}, {"join"},
		{"oracle", "derive"}, {"oracle", "lookup"}, {"oracle", "lint"}, {"oracle", "diff"}, {"oracle", "learn"},
	} {
		if got := tapedeck(t, append(command, "--help")...); !strings.Contains(got.stdout, "--tenant") {
			t.Errorf("%v has no --tenant", command)
		}
	}
}
