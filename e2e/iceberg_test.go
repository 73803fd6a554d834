// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && unix

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// icebergPython is a Python that has the packages that the tests of Iceberg tables ask, named by a variable.
// Where the variable required is 1, its absence is a failure.
func icebergPython(t *testing.T, variable, required, packages string) string {
	t.Helper()
	python := os.Getenv(variable)
	if python == "" && os.Getenv(required) == "1" {
		t.Fatalf("%s is not set; .ci/run sets it", variable)
	}
	if python == "" {
		t.Skipf("%s does not name a python3 with %s; .ci/run makes one", variable, packages)
	}
	return python
}

// scanned is what a scan of the table says.
type scanned struct {
	Gone   bool   // a reel left the deck while it was read
	Rows   int    // of the table
	Runs   int    // by the view of examples/iceberg
	Traces string // of the runs that were asked for
}

// TestAnIcebergTableIsWholeInEveryScan: PyIceberg scans a deck again and again, on a folder and on MinIO,
// while one program compacts and another one erases a run. By the view that is shipped, each scan counts each
// run once. In the end it counts what `tapedeck stats` does, and knows nothing of the erased run.
func TestAnIcebergTableIsWholeInEveryScan(t *testing.T) {
	python := icebergPython(t, "TAPEDECK_TEST_ICEBERG", "TAPEDECK_REQUIRE_SERVICES", "pyiceberg and duckdb")
	t.Run("folder", func(t *testing.T) {
		catalog := "sqlite:///" + filepath.Join(t.TempDir(), "catalog.db")
		wholeInEveryScan(t, python, filepath.Join(t.TempDir(), "deck"), catalog, map[string]string{"type": "sql", "uri": catalog})
	})
	t.Run("REST catalog", func(t *testing.T) {
		catalog := icebergServer(t)
		wholeInEveryScan(t, python, filepath.Join(t.TempDir(), "deck"), catalog, map[string]string{"type": "rest", "uri": catalog})
	})
	t.Run("MinIO", func(t *testing.T) {
		service := decktest.MinIO(t)
		u, err := url.Parse(service.URL)
		if err != nil {
			t.Fatal(err)
		}
		catalog := "sqlite:///" + filepath.Join(t.TempDir(), "catalog.db")
		wholeInEveryScan(t, python, service.URL, catalog, map[string]string{"type": "sql", "uri": catalog, "s3.endpoint": u.Query().Get("endpoint"), "s3.region": u.Query().Get("region"),
			"s3.access-key-id": os.Getenv("AWS_ACCESS_KEY_ID"), "s3.secret-access-key": os.Getenv("AWS_SECRET_ACCESS_KEY")})
	})
}

// icebergServer starts the REST catalog that Iceberg's own tests use, and returns its address.
func icebergServer(t *testing.T) string {
	t.Helper()
	jars := os.Getenv("TAPEDECK_TEST_ICEBERG_REST")
	if jars == "" && os.Getenv("TAPEDECK_REQUIRE_SPARK") == "1" { // there is a JVM
		t.Fatal("TAPEDECK_TEST_ICEBERG_REST is not set; .ci/run sets it")
	}
	if jars == "" {
		t.Skip("TAPEDECK_TEST_ICEBERG_REST does not name a folder with the jars of a REST catalog; .ci/run makes one, where java and mvn are")
	}
	at, folder := freeAddress(t), t.TempDir()
	cmd := exec.Command("java", "-cp", filepath.Join(jars, "*"), "org.apache.iceberg.rest.RESTCatalogServer")
	_, port, _ := strings.Cut(at, ":")
	cmd.Env = append(os.Environ(), "CATALOG_REST_PORT="+port, "CATALOG_WAREHOUSE=file://"+folder, "CATALOG_IO__IMPL=org.apache.iceberg.hadoop.HadoopFileIO",
		"CATALOG_URI=jdbc:sqlite:"+filepath.Join(folder, "catalog.db")+"?busy_timeout=10000&journal_mode=WAL")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	address := "http://" + at
	for range 300 {
		if answer, err := http.Get(address + "/v1/config"); err == nil {
			_ = answer.Body.Close()
			return address
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the REST catalog does not answer")
	return ""
}

// icebergDeck fills a deck of reels, and registers it as a table. It returns the trace id of a run, and the
// command that syncs the table.
func icebergDeck(t *testing.T, address, catalog string, runs int) (trace, sync string) {
	t.Helper()
	d, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	_, err = manyruns.Write(t.Context(), d, manyruns.Options{Runs: runs, PerReel: 50, Kinds: 16, Days: 2})
	if err = errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	icebergCommand(t, program(t, "tapedeck-iceberg"), address, "--catalog", catalog)
	listed := tapedeck(t, "ls", address, "--columns", "trace_id", "--format", "json", "--limit", "1")
	var run struct {
		TraceID string `json:"trace_id"`
	}
	if err := json.Unmarshal([]byte(listed), &run); err != nil {
		t.Fatalf("%v: %s", err, listed)
	}
	return run.TraceID, program(t, "tapedeck-iceberg") + " '" + address + "' --catalog '" + catalog + "' --before-removal"
}

// icebergCommand runs a command beside a test, which fails where the command does.
func icebergCommand(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}

func wholeInEveryScan(t *testing.T, python, address, catalog string, opened map[string]string) {
	const runs = 1000
	gone, sync := icebergDeck(t, address, catalog, runs)
	config := map[string]any{"catalog": opened, "view": "../examples/iceberg/runs-duckdb.sql", "trace": gone}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "testdata/iceberg_scan.py", string(text))
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(answers)
	scan := func() (s scanned) {
		t.Helper()
		if _, err := io.WriteString(ask, "scan\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		return s
	}
	if s := scan(); s.Runs != runs || s.Traces != gone {
		t.Fatalf("before anything has happened: %+v", s)
	}
	done, command := make(chan struct{}), program(t, "tapedeck")
	go func() {
		defer close(done)
		erased := make(chan struct{})
		go func() {
			defer close(erased)
			icebergCommand(t, command, "gc", address, "--erase", gone, "--yes", "--before-removal", sync)
		}()
		icebergCommand(t, command, "compact", address, "--grace", "3s", "--before-removal", sync)
		<-erased
	}()
	scans, missed := 0, 0
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
		}
		s := scan()
		scans++
		switch {
		case s.Gone:
			missed++ // the erasure does not wait for scans that are on their way
		case s.Runs != runs && s.Runs != runs-1 || (s.Traces == "") != (s.Runs == runs-1):
			t.Errorf("scan %d: %+v of %d runs", scans, s, runs)
		}
	}
	icebergCommand(t, program(t, "tapedeck-iceberg"), address, "--catalog", catalog, "--keep-snapshots", "0s")
	var stats struct{ Runs int }
	if err := json.Unmarshal([]byte(tapedeck(t, "stats", address, "--json")), &stats); err != nil {
		t.Fatal(err)
	}
	if s := scan(); s.Runs != stats.Runs || s.Runs != runs-1 || s.Rows != stats.Runs || s.Traces != "" {
		t.Errorf("in the end: %+v, and tapedeck counts %d", s, stats.Runs)
	}
	if err := errors.Join(ask.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	t.Logf("%d scans, %d of which met the removal of a reel", scans, missed)
	if scans < 3 || missed > scans/2 {
		t.Errorf("%d scans, %d of which met the removal of a reel", scans, missed)
	}
}

// TestSparkReadsAnIcebergTable by the view that is shipped: position deletes, a compaction and an erasure
// count.
func TestSparkReadsAnIcebergTable(t *testing.T) {
	python := icebergPython(t, "TAPEDECK_TEST_ICEBERG_SPARK", "TAPEDECK_REQUIRE_SPARK", "pyspark")
	const runs = 400
	address, catalog := filepath.Join(t.TempDir(), "deck"), filepath.Join(t.TempDir(), "catalog.db")
	gone, sync := icebergDeck(t, address, "sqlite:///"+catalog, runs)
	var results []scanned
	ask := func() {
		t.Helper()
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), python, "testdata/iceberg_spark.py", os.Getenv("TAPEDECK_TEST_ICEBERG_JARS"), catalog, "../examples/iceberg/runs-spark.sql", gone)
		out, err := cmd.Output()
		var s scanned
		if err != nil || json.Unmarshal(out, &s) != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Logf("%+v in %.0f s", s, time.Since(began).Seconds())
		results = append(results, s)
	}
	ask()
	tapedeck(t, "gc", address, "--erase", gone, "--yes", "--before-removal", sync)
	tapedeck(t, "compact", address, "--grace", "0s", "--before-removal", sync)
	ask()
	if results[0] != (scanned{Rows: runs, Runs: runs, Traces: gone}) || results[1] != (scanned{Rows: runs - 1, Runs: runs - 1}) {
		t.Errorf("%+v", results)
	}
}
