// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

// patience bounds everything that is waited for. It is no measurement: nothing here fails because a machine is slow.
const patience = 2 * time.Minute

// Run from the folder of the package, so the root of the repository is one up.
const repository = ".."

const (
	slim = "otelcol-tapedeck"
	full = "otelcol-tapedeck-full"

	// asItIs lets a collector keep the layout that a deck has. A new one is of files: tests that look at single objects want that.
	asItIs = "--set=exporters.tape.layout="
	local  = "examples/local/collector.yaml"
	s3     = "examples/s3/collector.yaml"
)

// soon makes agentrun pass a trace on shortly after its root has ended: the tests wait for it many times.
const soon = "--set=processors.agentrun.quiet_period=300ms"

// program is the path of a built program.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("TAPEDECK_BIN")
	if dir == "" {
		t.Fatal("TAPEDECK_BIN does not name the directory of the built programs: use make e2e")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// tapedeck runs the command line and returns its output; it must succeed.
func tapedeck(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state(t)) // there lies the key of the collectors of this test
	return output(t, cmd)
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.String())
	}
	return string(out)
}

// redactionKey is what the examples that share a key need.
const redactionKey = "TAPEDECK_REDACTION_KEY=a key for tests, 0123456789abcdef"

// collect starts a collector that writes into the deck at url and stops it when the test ends, unless the test has done so.
func collect(t *testing.T, name, config, url string, args ...string) *collectorproc.Process {
	t.Helper()
	return run(t, program(t, name), []string{"TAPEDECK_DECK=" + url}, append([]string{"--config", example(t, config)}, args...)...)
}

// example is the absolute path of a file of examples/.
func example(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join(repository, path))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

var (
	statesMu sync.Mutex
	states   = map[*testing.T]string{}
)

// state is a folder with a key where local collectors and commands generate theirs: all of a test make the same tokens, those of
// redactionKey.
func state(t *testing.T) string {
	t.Helper()
	statesMu.Lock()
	defer statesMu.Unlock()
	dir, ok := states[t]
	if !ok {
		dir = t.TempDir()
		states[t] = dir
		_, key, _ := strings.Cut(redactionKey, "=")
		if err := os.Mkdir(filepath.Join(dir, "tapedeck"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tapedeck", "redaction.key"), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// keys is the environment that gives every collector of a test the same redaction key.
func keys(t *testing.T) []string {
	t.Helper()
	return []string{redactionKey, "TAPEDECK_STATE=" + filepath.Join(state(t), "tapedeck")}
}

// run starts a collector. What its example keeps in a spool lies in a folder of its own, unless env names one.
func run(t *testing.T, binary string, env []string, args ...string) *collectorproc.Process {
	t.Helper()
	return startProcess(t, collectorproc.Options{Binary: binary, Args: args, Env: append([]string{"TAPEDECK_SPOOL=" + t.TempDir()}, env...)})
}

// startProcess starts a collector in a folder of its own and kills it when the test ends.
func startProcess(t *testing.T, opts collectorproc.Options) *collectorproc.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	opts.Dir = t.TempDir()
	opts.Env = append(keys(t), opts.Env...)
	p, err := collectorproc.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %s\n%s", opts.Binary, strings.Join(opts.Args, " "), p.Log())
		}
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// stop ends a collector as an orchestrator does and fails the test if it does not end in order.
func stop(t *testing.T, p *collectorproc.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
}

// drained waits until agentrun has accepted that many spans in all and passed every one of them on.
func drained(t *testing.T, p *collectorproc.Process, accepted int) {
	t.Helper()
	until(t, fmt.Sprintf("%d spans to be accepted and passed on", accepted), func() bool {
		m := metrics(t, p)
		return m["processor_agentrun_accepted_items"] == accepted && m["processor_agentrun_emitted_items"] == accepted
	})
	m := metrics(t, p)
	if held, dropped := m["processor_agentrun_held_items"], m["processor_agentrun_dropped_items"]; held != 0 || dropped != 0 {
		t.Errorf("all %d spans were passed on, yet %d are held and %d dropped", accepted, held, dropped)
	}
}

// metrics reads the collector's own integer metrics, summed over their attributes, without the prefix, the unit and the
// suffix that the Prometheus format adds.
func metrics(t *testing.T, p *collectorproc.Process) map[string]int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	sums := map[string]int{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		series, value, ok := cutLast(lines.Text(), " ")
		if !ok || strings.HasPrefix(series, "#") {
			continue
		}
		name, _, _ := strings.Cut(series, "{")
		name = strings.TrimSuffix(strings.TrimPrefix(name, "otelcol_"), "_total")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			sums[name] += int(n)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return sums
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// until polls until done.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	untilWithin(t, patience, what, done)
}

func untilWithin(t *testing.T, patience time.Duration, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
