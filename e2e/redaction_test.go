// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

// Nothing that a collector leaves behind holds a planted secret: not its spool, not the deck, compressed or not, not its log, not its own
// metrics; neither when it ends in peace nor when it is killed with open runs.
func TestNoPlantedSecretIsLeftBehind(t *testing.T) {
	deck, spool := decktest.FileURL(t), t.TempDir()
	env := []string{"TAPEDECK_DECK=" + deck, "TAPEDECK_SPOOL=" + spool}
	args := []string{"--config", example(t, local), "--set=service.telemetry.logs.level=debug"}
	p := run(t, program(t, slim), env, args...)
	secrets, runs := plant(t, p)
	left := map[string]string{"metrics of the first collector": telemetry(t, p)}
	if m := metrics(t, p); m["processor_agentrun_held_items"] == 0 {
		t.Fatal("no run was open when the collector was killed: the test shows nothing")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	left["log of the first collector"] = p.Log()
	if n := search(t, left, "killed: ", spool); n == 0 {
		t.Fatal("no token in the spool of the killed collector: the test shows nothing")
	}

	p = run(t, program(t, slim), env, append(args, soon, patient)...)
	until(t, "all runs to be passed on", func() bool {
		return metrics(t, p)["processor_agentrun_held_items"] == 0 && len((at{t, deck}).traces()) >= runs/2
	})
	left["metrics of the second collector"] = telemetry(t, p)
	stop(t, p)
	left["log of the second collector"] = p.Log()
	search(t, left, "", spool)
	root, err := url.Parse(deck)
	if err != nil {
		t.Fatal(err)
	}
	tokens := search(t, left, "", root.Path)
	if tokens == 0 || len(secrets) < 8 {
		t.Fatalf("%d tokens in the deck, %d secrets planted: the test proves nothing", tokens, len(secrets))
	}
	for where, text := range left {
		for _, s := range secrets {
			quoted, _ := json.Marshal(s)
			if strings.Contains(text, s) || strings.Contains(text, strings.Trim(string(quoted), `"`)) {
				t.Errorf("%s holds %.6s…", where, s)
			}
		}
	}
	tapedeck(t, "verify", root.Path, "--secrets")
	for key := range left {
		if strings.Contains(key, "/quarantine/") {
			t.Errorf("%s: redacted evidence went to quarantine", key)
		}
	}
}

// A collector in which nothing redacts does not start, and what is stored all the same goes through the gate.
func TestUnredactedEvidenceDoesNotReachTheDeck(t *testing.T) {
	unredacted := []string{"--set=service.pipelines.traces.processors=[agentrun]", "--set=service.pipelines.logs.processors=[]"}
	t.Run("refused at start", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), program(t, slim), append([]string{"--config", example(t, local)}, unredacted...)...)
		cmd.Env = append(os.Environ(), "TAPEDECK_DECK="+decktest.FileURL(t), "TAPEDECK_SPOOL="+t.TempDir(), redactionKey)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "no agentredaction stands before it") {
			t.Errorf("got %v\n%s", err, out)
		}
	})
	t.Run("held back by the gate", func(t *testing.T) {
		deck := decktest.FileURL(t)
		p := collect(t, slim, local, deck, append(unredacted, "--set=processors.agentrun.redaction=none", soon, patient)...)
		root, err := url.Parse(deck)
		if err != nil {
			t.Fatal(err)
		}
		post(t, "http://"+p.HTTP+"/v1/traces", example(t, "testdata/corpus/agents/genkit/secrets.otlp.json"))
		until(t, "the evidence to be held back", func() bool { return metrics(t, p)["exporter_tape_quarantined_traces"] > 0 })
		stop(t, p)
		left := map[string]string{}
		search(t, left, "", root.Path)
		for path, text := range left {
			if strings.Contains(text, "ghp_FAKE") || strings.HasPrefix(path, filepath.Join(root.Path, "runs")) {
				t.Errorf("%s is in the deck", path)
			}
		}
	})
}

// plant sends the recorded runs with planted secrets and returns those secrets, and how many runs there are.
func plant(t *testing.T, p *collectorproc.Process) (secrets []string, runs int) {
	t.Helper()
	dir := filepath.Join(repository, "testdata", "corpus", "agents")
	files, err := filepath.Glob(filepath.Join(dir, "*", "secrets.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs with secrets: %v", err)
	}
	for _, file := range files {
		switch {
		case strings.HasSuffix(file, ".truth.json"):
			var truth struct{ Secrets []string }
			decode(t, read(t, file), &truth)
			secrets = append(secrets, truth.Secrets...)
			runs++
		case strings.HasSuffix(file, ".logs.json"):
			post(t, "http://"+p.HTTP+"/v1/logs", file)
		default:
			post(t, "http://"+p.HTTP+"/v1/traces", file)
		}
	}
	slices.Sort(secrets)
	return slices.Compact(secrets), runs
}

// telemetry is what a collector says about itself.
func telemetry(t *testing.T, p *collectorproc.Process) string {
	t.Helper()
	answer, err := http.Get("http://" + p.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// search adds the content of all files below a folder, parts unpacked, and counts the tokens in them.
func search(t *testing.T, left map[string]string, prefix, folder string) (tokens int) {
	t.Helper()
	zr, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".zst") {
			if text, err = zr.DecodeAll(text, nil); err != nil {
				return err
			}
		}
		left[prefix+path] = string(text)
		tokens += strings.Count(string(text), "[REDACTED:")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
