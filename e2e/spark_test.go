// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// sparkSubmit is a job of examples/spark, or of the test, in a Spark of its own.
func sparkSubmit(t *testing.T, master string, args ...string) *exec.Cmd {
	t.Helper()
	python := os.Getenv("TAPEDECK_TEST_SPARK")
	if python == "" {
		if os.Getenv("TAPEDECK_REQUIRE_SPARK") == "1" {
			t.Fatal("TAPEDECK_TEST_SPARK names no python with pyspark")
		}
		t.Skip("TAPEDECK_TEST_SPARK does not name a python3 with pyspark, pyarrow and pandas; .ci/run makes one where there is a JVM")
	}
	jobs, err := filepath.Abs("../examples/spark")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Glob(filepath.Join(jobs, "*.py"))
	if err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	all := append([]string{"--master", master, "--py-files", strings.Join(modules, ","), "--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=WARN", "--conf", "spark.local.dir=" + scratch,
		"--conf", "spark.sql.shuffle.partitions=4", "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"}, args...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(python), "spark-submit"), all...)
	cmd.Dir = scratch
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "SPARK_HOME=") }), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "PYSPARK_PYTHON="+python, "TAPEDECK="+program(t, "tapedeck"), "SPARK_LOCAL_IP=127.0.0.1", "TZ=UTC",
		"TAPEDECK_TEST_SPARK_JOB="+scratch, "TAPEDECK_CACHE=off")
	return cmd
}

func job(name string) string {
	path, err := filepath.Abs(filepath.Join("../examples/spark", name))
	if err != nil {
		panic(err)
	}
	return path
}

// said is the output of a job.
func said(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		text := stderr.String()
		t.Fatalf("%v\n%s\n%s", err, out, text[max(0, len(text)-6000):])
	}
	return string(out)
}

// sparkRecordings are telemetry files of real programs.
func sparkRecordings(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../testdata/corpus/agents/*/tool_error_retry.otlp.json")
	if err != nil || len(all) < 20 {
		t.Fatal(all, err)
	}
	return append(all[:20], "../testdata/conventions/sdk-verdicts.jsonl")
}

func deriveReels(t *testing.T, to string, files ...string) {
	t.Helper()
	output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), append([]string{"derive", "--redact", "off", "--no-gate", "--no-join", "--layout", "reels", "--to", to}, files...)...))
}

// storedTapes are the digests of the tapes in the reels of a deck, by run, and how many rows have each.
func storedTapes(t *testing.T, address string) (tapes map[string]string, rows map[string]int) {
	t.Helper()
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tapes, rows = map[string]string{}, map[string]int{}
	objects, err := view.Catalog(d).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := view.Catalog(d).Texts(t.Context(), o, func(column string, m *reel.Meta, text []byte) {
			if column == "tape" && m.RunID != "" {
				sum := sha256.Sum256(text)
				tapes[m.RunID] = fmt.Sprintf("revision %d: %s", m.Revision, hex.EncodeToString(sum[:]))
				rows[m.RunID]++
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return tapes, rows
}

// killExecutor kills an executor of a job as a machine that is lost does, with all that it has started.
func killExecutor(t *testing.T, cmd *exec.Cmd) (killed bool) {
	t.Helper()
	mark := []byte(cmd.Dir)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(line), "environ"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil && bytes.Contains(text, []byte("CoarseGrainedExecutorBackend")) && bytes.Contains(environ, mark) {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// TestSparkDerivesADeckAgainThroughAKill: reels of an older revision, and traces in several reels, by two
// executors of which one is killed. Each run is there once, byte for byte what the command line makes of it,
// and calling it again makes no other object. TAPEDECK_TEST_SPARK_RUNS is the number of runs.
func TestSparkDerivesADeckAgainThroughAKill(t *testing.T) {
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("TAPEDECK_TEST_SPARK_RUNS"), "2000"))
	if err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	cmd := sparkSubmit(t, "local-cluster[2,1,1024]", "--executor-memory", "1g", job("rederive.py"), from, "--to", to)
	d, err := deck.OpenLayout(t.Context(), from, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: runs, PerReel: min(5000, max(1, runs/20)), Days: 2, Revision: 1}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files := sparkRecordings(t)
	deriveReels(t, from, files...)
	deriveReels(t, from, files[:7]...)

	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	killed, over := false, error(nil)
	until(t, "an executor to kill, behind the first reel", func() bool {
		select {
		case over = <-ended:
			return true
		default:
		}
		made, _ := filepath.Glob(filepath.Join(to, "reels/*/*/*/*.parquet"))
		if len(made) > 0 {
			killed = killExecutor(t, cmd)
		}
		return killed
	})
	if killed {
		over = <-ended
	}
	if text := stderr.String(); over != nil || !killed || !strings.Contains(text, "Lost executor") {
		t.Fatalf("killed %v: %v\n%s\n%s", killed, over, stdout.String(), text[max(0, len(text)-6000):])
	}
	t.Logf("%s", stdout.String())

	got, rows := storedTapes(t, to)
	output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "compact", from, "--rederive", "--grace", "0s"))
	want, _ := storedTapes(t, from)
	if diff := gocmp.Diff(want, got); diff != "" || len(want) < runs+20 {
		t.Errorf("of %d runs other tapes:\n%.2000s", len(want), diff)
	}
	for run, n := range rows {
		if n != 1 {
			t.Errorf("run %s is there %d times", run, n)
		}
	}
	var stats, reference struct{ Runs int }
	for address, into := range map[string]*struct{ Runs int }{to: &stats, from: &reference} {
		if err := json.Unmarshal([]byte(output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "stats", address, "--json"))), into); err != nil {
			t.Fatal(err)
		}
	}
	if stats != reference || stats.Runs != len(want) {
		t.Errorf("%+v in the deck that Spark has made, %+v in the other one, %d tapes", stats, reference, len(want))
	}
}

// TestSparkWorksOverADeck: the documented queries answer what DuckDB and tapedeck answer, on a folder and on
// MinIO; every job of examples/spark finds what is there.
func TestSparkWorksOverADeck(t *testing.T) {
	service := decktest.MinIO(t)
	cmd := sparkSubmit(t, "local[2]", "--driver-class-path", filepath.Join(os.Getenv("TAPEDECK_TEST_SPARK_S3"), "*"), "--conf", "spark.hadoop.fs.s3a.endpoint="+service.Endpoint, "--conf", "spark.hadoop.fs.s3a.path.style.access=true",
		"--conf", "spark.hadoop.fs.s3a.endpoint.region=us-east-1", "--conf", "spark.hadoop.fs.s3a.access.key="+os.Getenv("AWS_ACCESS_KEY_ID"), "--conf", "spark.hadoop.fs.s3a.secret.key="+os.Getenv("AWS_SECRET_ACCESS_KEY"),
		"testdata/spark/jobs.py")
	folder, secret, damaged, cases := filepath.Join(t.TempDir(), "deck"), filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "damaged"), filepath.Join(t.TempDir(), "case.yaml")
	files := sparkRecordings(t)
	for _, to := range []string{folder, service.URL} {
		deriveReels(t, to, files...)
		deriveReels(t, to, files[:7]...)
	}
	spans, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(t.TempDir(), "planted.json")
	const key = "AKIA" + "Q3EGRIJZXOLMWYTB"
	if err := errors.Join(os.WriteFile(planted, bytes.ReplaceAll(spans, []byte("fetch_record"), []byte("fetch_record "+key)), 0o600),
		os.WriteFile(cases, []byte("version: 1\nexpect: {status: ok}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	deriveReels(t, secret, planted)
	damage(t, damaged, files[0])

	statements, views := documentedQueries(t), 0
	for _, s := range statements {
		if strings.HasPrefix(s, "CREATE") {
			views++
		}
	}
	statements = append(statements, "SELECT count(*), sum(input_tokens), sum(tool_calls), count_if(status = 'ok') FROM runs", "SELECT run_id, tape_id FROM runs ORDER BY run_id")
	again := strings.Replace(service.URL, "/decks/one", "/decks/again", 1)
	inSpark := func(address string) string {
		path, _, _ := strings.Cut(address, "?")
		return strings.Replace(path, "s3://", "s3a://", 1)
	}
	asked, err := json.Marshal(map[string]any{"decks": map[string]string{"folder": folder, "bucket": inSpark(service.URL)}, "statements": statements[views:], "cases": cases,
		"secret": secret, "damaged": damaged, "to": again})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/spark/jobs.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args[:len(cmd.Args)-1], script, string(asked))
	answers := map[string]string{}
	for line := range strings.Lines(said(t, cmd)) {
		if line, ok := strings.CutPrefix(line, "SAID "); ok {
			var a struct {
				Name  string
				Value json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			answers[a.Name] = string(a.Value)
		}
	}
	if diff := gocmp.Diff(askDuckDB(t, folder, statements)[views:], split(t, answers["folder"])); diff != "" {
		t.Errorf("DuckDB and Spark answer differently:\n%.4000s", diff)
	}
	if diff := gocmp.Diff(answers["folder"], answers["bucket"]); diff != "" {
		t.Errorf("the folder and the bucket answer differently:\n%.2000s", diff)
	}
	var stats struct {
		Runs      int
		InTokens  int64          `json:"input_tokens"`
		ToolCalls int            `json:"tool_calls"`
		Status    map[string]int `json:"status"`
	}
	if err := json.Unmarshal([]byte(output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "stats", folder, "--json"))), &stats); err != nil {
		t.Fatal(err)
	}
	counts := split(t, answers["folder"])[len(statements)-views-2]
	if want := fmt.Sprintf("[[%d, %d, %d, %d]]", stats.Runs, stats.InTokens, stats.ToolCalls, stats.Status["ok"]); counts != want || stats.Runs < 20 {
		t.Errorf("Spark counts %s, tapedeck %s", counts, want)
	}
	for name, want := range map[string]string{
		"insight": `"fetch_record", `, "verify damaged": "schema run.status", "redact secret": `"aws-access-token"`, "suite check": `, true]`,
	} {
		if !strings.Contains(answers[name], want) {
			t.Errorf("%s: %.1000s", name, answers[name])
		}
	}
	if strings.Contains(answers["verify"], ": ") || strings.Count(answers["verify"], `", "", `) > 0 || answers["redact"] != "[]" || strings.Contains(answers["redact secret"], key) {
		t.Errorf("verify: %.1000s\nredact: %.1000s", answers["verify"], answers["redact"])
	}
	if !strings.Contains(answers["suite check"], "false]") || answers["rederive below"] != "[]" {
		t.Errorf("suite check: %.1000s\nbelow: %s", answers["suite check"], answers["rederive below"])
	}
	list := func(address string) string {
		return output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "ls", address, "--area", "all", "--columns", "run_id,tape_id,area,parts", "--sort", "run_id"))
	}
	if diff := gocmp.Diff(list(service.URL), list(again)); diff != "" {
		t.Errorf("the deck that Spark has made on MinIO has other runs:\n%.2000s", diff)
	}
}

// documentedQueries are the SQL of docs/queries.md, the views before the queries.
func documentedQueries(t *testing.T) (statements []string) {
	t.Helper()
	doc, err := os.ReadFile("../docs/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(doc), -1) {
		for _, s := range regexp.MustCompile(`;[^\n]*\n`).Split(m[1], -1) {
			if s = strings.TrimSpace(s); s != "" {
				statements = append(statements, s)
			}
		}
	}
	if len(statements) < 15 {
		t.Fatalf("%q", statements)
	}
	return statements
}

// askDuckDB gives statements to DuckDB.
func askDuckDB(t *testing.T, folder string, statements []string) []string {
	t.Helper()
	list, err := json.Marshal(statements)
	if err != nil {
		t.Fatal(err)
	}
	const program = `import duckdb, json, sys
db = duckdb.connect()
print(json.dumps([db.execute(s.replace("DECK", sys.argv[2])).fetchall() for s in json.loads(sys.argv[1])], default=str))`
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("TAPEDECK_TEST_DUCKDB"), "python3"), "-c", program, string(list), folder)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	return split(t, output(t, cmd))
}

// split are the answers of a list, each as JSON.
func split(t *testing.T, list string) (answers []string) {
	t.Helper()
	var values []json.RawMessage
	if err := json.Unmarshal([]byte(list), &values); err != nil {
		t.Fatalf("%v: %.500s", err, list)
	}
	for _, v := range values {
		answers = append(answers, string(v))
	}
	return answers
}

// damage writes a deck in which a tape is not what its digest says.
func damage(t *testing.T, address, file string) {
	t.Helper()
	good := filepath.Join(t.TempDir(), "good")
	deriveReels(t, good, file)
	d, err := deck.Open(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var row reel.Row
	objects, err := view.Catalog(d).List(t.Context())
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	if err := view.Catalog(d).Texts(t.Context(), objects[0], func(column string, m *reel.Meta, text []byte) {
		switch row.Meta = *m; column {
		case "tape":
			row.Tape = bytes.Replace(text, []byte(`"status":"`), []byte(`"status":"not `), 1)
		case "evidence":
			row.Evidence = bytes.Clone(text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	to, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	body, err := reel.Encode([]reel.Row{row})
	if err == nil {
		err = to.Begin(t.Context())
	}
	if err == nil {
		_, err = reel.Put(t.Context(), to, reel.NameOf(objects[0].Area, row.Tenant, time.Now(), 0, body), body)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSparkReplaysAnExperimentAndASuite: an experiment in three tasks gives the report of one process, and a
// suite a verdict on each case.
func TestSparkReplaysAnExperimentAndASuite(t *testing.T) {
	folder, suite, out := filepath.Join(t.TempDir(), "deck"), filepath.Join(t.TempDir(), "suite"), t.TempDir()
	runner, err := filepath.Abs("testdata/spark/runner.py")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--runner", "exec:" + os.Getenv("TAPEDECK_TEST_SPARK") + " " + runner, "--regression-check"}
	cmd := sparkSubmit(t, "local[2]", append([]string{job("experiment.py"), folder, "--shards", "3", "--out", out, "--"}, flags...)...)
	deriveReels(t, folder, sparkRecordings(t)...)
	one := exec.CommandContext(t.Context(), program(t, "tapedeck"), append([]string{"experiment", folder, "--quiet"}, flags...)...)
	want, _ := one.Output()
	got, _ := cmd.Output()
	if diff := gocmp.Diff(string(want), string(got)); diff != "" || one.ProcessState.ExitCode() != cmd.ProcessState.ExitCode() || len(want) == 0 {
		t.Errorf("exit %d, want %d:\n%s", cmd.ProcessState.ExitCode(), one.ProcessState.ExitCode(), diff)
	}
	if parts, _ := filepath.Glob(filepath.Join(out, "part-*", "outcomes.jsonl")); len(parts) != 3 {
		t.Errorf("%v", parts)
	}

	runs := strings.Fields(output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "ls", folder, "--format", "refs", "--limit", "2")))
	for i, ref := range runs {
		output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "suite", "add", ref, "--name", "case-"+strconv.Itoa(i), "--suite", suite))
	}
	cases := sparkSubmit(t, "local[2]", job("suite_run.py"), suite, "--input", "arg", "--", "true")
	text, _ := cases.Output()
	if len(runs) != 2 || !strings.HasSuffix(string(text), "0 of 2 cases passed\n") || !strings.Contains(string(text), "case-1") || cases.ProcessState.ExitCode() < 1 {
		t.Errorf("a command that does nothing passes: exit %d\n%.2000s", cases.ProcessState.ExitCode(), text)
	}
}
