// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// connect is how the folder of a deck is opened; docs/queries.md says how a bucket is.
const connect = "import duckdb\ndb = duckdb.connect()\n"

// runSQL gives the statements of its argument, a list in JSON, to DuckDB, and prints the rows of each as one line of JSON.
const runSQL = `
import json, sys
for statement in json.loads(sys.argv[1]):
    print(json.dumps(db.execute(statement).fetchall(), default=str))
`

// queriesPython is the Python that docs/queries.md is tested with: it has duckdb, pyarrow, pandas and fsspec.
func queriesPython(t *testing.T, modules string) string {
	t.Helper()
	python := cmp.Or(os.Getenv("TAPEDECK_TEST_DUCKDB"), "python3")
	if out, err := exec.Command(python, "-c", "import "+modules).CombinedOutput(); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatalf("%s: %v\n%s", python, err, out)
		}
		t.Skipf("TAPEDECK_TEST_DUCKDB does not name a python3 with the packages %s; .ci/run makes one", modules)
	}
	return python
}

// queryBlocks are the examples of docs/queries.md in a language.
func queryBlocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// queriedDeck fills a deck of reels in which runs are there twice, one trace in another piece, and a replay
// and a run with verdicts beside them.
func queriedDeck(t *testing.T, address string) {
	t.Helper()
	const judged = "../../testdata/conventions/sdk-verdicts.jsonl"
	for _, files := range [][]string{append(recordings(t), judged), append(recordings(t)[:7:7], replayOfForge(t))} {
		if got := tapedeck(t, append([]string{"derive", "--redact", "off", "--no-join", "--layout", "reels", "--to", address}, files...)...); got.code != exitOK {
			t.Fatal(got)
		}
	}
}

func statsOf(t *testing.T, address string) (stats deckStats) {
	t.Helper()
	if err := json.Unmarshal([]byte(tapedeck(t, "stats", address, "--json").stdout), &stats); err != nil {
		t.Fatal(err)
	}
	return stats
}

// TestDuckDBAnswersTheDocumentedQueries, on a folder and on a bucket, with nothing of this project in the way.
func TestDuckDBAnswersTheDocumentedQueries(t *testing.T) {
	folder := t.TempDir()
	queriedDeck(t, folder)
	inFolder := askDuckDB(t, queriesPython(t, "duckdb"), connect, folder, folder)
	t.Run("MinIO", func(t *testing.T) {
		python := queriesPython(t, "duckdb, pyarrow, fsspec")
		service := decktest.MinIO(t)
		queriedDeck(t, service.URL)
		address, err := url.Parse(service.URL)
		if err != nil {
			t.Fatal(err)
		}
		endpoint, err := url.Parse(address.Query().Get("endpoint"))
		if err != nil {
			t.Fatal(err)
		}
		opened := strings.ReplaceAll(queryBlocks(t, "python")[0], "HOST:PORT", endpoint.Host)
		inBucket := askDuckDB(t, python, opened, "s3://"+address.Host+strings.TrimSuffix(address.Path, "/"), service.URL)
		if diff := gocmp.Diff(inFolder, inBucket); diff != "" {
			t.Errorf("the folder and the bucket answer differently:\n%.3000s", diff)
		}
	})
}

// askDuckDB asks all queries of the document, and checks what they count by what tapedeck does. It returns the answers.
func askDuckDB(t *testing.T, python, connect, inSQL, address string) []string {
	t.Helper()
	var statements []string
	for _, block := range queryBlocks(t, "sql") {
		statements = append(statements, strings.ReplaceAll(block, "DECK", inSQL))
	}
	statements = append(statements, "SELECT count(*) FROM all_runs", "SELECT count(*) FROM reels", "SELECT count(*), sum(input_tokens), sum(tool_calls) FROM runs", "SELECT run_id, tape_id FROM runs ORDER BY run_id")
	list, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", connect+runSQL, string(list)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	rows := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(rows) != len(statements) || len(rows) < 11 {
		t.Fatalf("%d statements, %d answers", len(statements), len(rows))
	}
	answer := func(i int) (list [][]any) {
		if err := json.Unmarshal([]byte(rows[i]), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for i := range rows {
		if len(answer(i)) == 0 && !strings.HasPrefix(statements[i], "CREATE") {
			t.Errorf("no rows for\n%s", statements[i])
		}
	}
	stats := statsOf(t, address)
	if everything := answer(len(rows) - 4)[0][0].(float64); everything != float64(stats.Runs)+1 {
		t.Errorf("%v runs of all areas, %d of production and a replay", everything, stats.Runs)
	}
	n := len(rows)
	if all := answer(n - 3)[0]; all[0].(float64) <= float64(stats.Runs) {
		t.Errorf("%v rows: nothing is there twice", all)
	}
	if sums := answer(n - 2)[0]; sums[0].(float64) != float64(stats.Runs) || sums[1].(float64) != float64(stats.InputTokens) || sums[2].(float64) != float64(stats.ToolCalls) {
		t.Errorf("DuckDB counts %v, tapedeck %d runs, %d tokens, %d calls", sums, stats.Runs, stats.InputTokens, stats.ToolCalls)
	}
	var want, got []string
	for _, row := range answer(n - 1) {
		got = append(got, row[0].(string)+" "+row[1].(string))
	}
	listed := tapedeck(t, "ls", address, "--columns", "run_id,tape_id", "--format", "json", "--sort", "run_id")
	for line := range strings.Lines(listed.stdout) {
		var run struct {
			RunID  string `json:"run_id"`
			TapeID string `json:"tape_id"`
		}
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			t.Fatal(err)
		}
		want = append(want, run.RunID+" "+run.TapeID)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("ls and DuckDB know other tapes:\n%.2000s", diff)
	}
	// Where calls fail is known to tapes, which the answer was made of: the same from what `show` prints.
	calls, failed := 0.0, 0.0
	for i, statement := range statements {
		if strings.Contains(statement, "AS calls, round") {
			for _, row := range answer(i) {
				calls += row[1].(float64)
				failed += row[1].(float64) * row[2].(float64)
			}
		}
	}
	if calls != float64(stats.ToolCalls) || failed == 0 {
		t.Errorf("the tapes have %v calls of tools, %v of which failed; tapedeck counts %d", calls, failed, stats.ToolCalls)
	}
	return rows
}

// TestPandasCountsTheRuns by the documented lines.
func TestPandasCountsTheRuns(t *testing.T) {
	python := queriesPython(t, "pyarrow, pandas")
	folder := t.TempDir()
	queriedDeck(t, folder)
	program := strings.ReplaceAll(queryBlocks(t, "python")[1], "DECK", folder)
	if lines := strings.Count(program, "\n"); lines != 4 {
		t.Errorf("%d lines", lines)
	}
	program += "print(len(rows), len(runs), int(runs.input_tokens.sum()), (runs.status == 'error').sum())\n"
	out, err := exec.Command(python, "-c", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	var rows, runs, tokens, failed int
	if _, err := fmt.Sscan(string(out), &rows, &runs, &tokens, &failed); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	stats := statsOf(t, folder)
	if runs != stats.Runs || int64(tokens) != stats.InputTokens || failed != stats.Status["error"] || rows <= runs || failed == 0 {
		t.Errorf("%s: tapedeck counts %d runs, %d tokens, %v", out, stats.Runs, stats.InputTokens, stats.Status)
	}
}
