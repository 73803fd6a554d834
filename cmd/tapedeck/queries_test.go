// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// runSQL gives the statements of its argument, a list in JSON, to DuckDB, and prints the rows of each as one line of JSON.
const runSQL = `
import duckdb, json, sys
c = duckdb.connect()
for statement in json.loads(sys.argv[1]):
    print(json.dumps(c.execute(statement).fetchall(), default=str))
`

// TestDuckDBAnswersTheDocumentedQueries, on a folder, with nothing of this project in the way.
func TestDuckDBAnswersTheDocumentedQueries(t *testing.T) {
	python := cmp.Or(os.Getenv("TAPEDECK_TEST_DUCKDB"), "python3")
	if err := exec.Command(python, "-c", "import duckdb").Run(); err != nil {
		if os.Getenv("TAPEDECK_TEST_DUCKDB") != "" {
			t.Fatalf("%s: %v", python, err)
		}
		t.Skip("TAPEDECK_TEST_DUCKDB does not name a python3 with the package duckdb; .ci/run makes one")
	}
	doc, err := os.ReadFile("../../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, reels := bothLayouts(t)
	// Everything again, and one trace in another piece: rows that are there twice are one.
	if got := tapedeck(t, append([]string{"derive", "--redact", "off", "--no-join", "--to", reels}, recordings(t)[:7]...)...); got.code != exitOK {
		t.Fatal(got)
	}
	var statements []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		statements = append(statements, strings.ReplaceAll(m[1], "DECK", reels))
	}
	statements = append(statements, "SELECT count(*) FROM reels", "SELECT count(*), sum(input_tokens), sum(tool_calls) FROM runs", "SELECT run_id, tape_id FROM runs ORDER BY run_id")
	list, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", runSQL, string(list)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	rows := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(rows) != len(statements) || len(rows) < 10 {
		t.Fatalf("%d statements, %d answers", len(statements), len(rows))
	}
	answer := func(i int) (list [][]any) {
		if err := json.Unmarshal([]byte(rows[i]), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for i := 2; i < len(rows); i++ {
		if len(answer(i)) == 0 {
			t.Errorf("no rows for\n%s", statements[i])
		}
	}
	var stats deckStats
	if err := json.Unmarshal([]byte(tapedeck(t, "stats", reels).stdout), &stats); err != nil {
		t.Fatal(err)
	}
	n := len(rows)
	if all := answer(n - 3)[0]; all[0].(float64) <= float64(stats.Runs) {
		t.Errorf("%v rows: nothing is there twice", all)
	}
	if sums := answer(n - 2)[0]; sums[0].(float64) != float64(stats.Runs) || sums[1].(float64) != float64(stats.InputTokens) || sums[2].(float64) != float64(stats.ToolCalls) {
		t.Errorf("DuckDB counts %v, tapedeck %d runs, %d tokens, %d calls", sums, stats.Runs, stats.InputTokens, stats.ToolCalls)
	}
	for _, row := range answer(n - 1) {
		if got := tapedeck(t, "ls", reels, "--is", "run_id="+row[0].(string), "--is", "tape_id="+row[1].(string), "--format", "refs"); strings.Count(got.stdout, "\n") != 1 {
			t.Errorf("ls does not know the tape %v", row)
		}
	}
}
