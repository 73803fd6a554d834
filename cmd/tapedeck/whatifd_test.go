// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/runner"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// whatifdPython is a Python that has whatifd 0.3.0.
func whatifdPython(t *testing.T) string {
	t.Helper()
	python := cmp.Or(os.Getenv("TAPEDECK_TEST_WHATIFD"), "python3")
	if err := exec.Command(python, "-c", "import whatifd").Run(); err != nil {
		if os.Getenv("TAPEDECK_TEST_WHATIFD") != "" {
			t.Fatalf("%s: %v", python, err)
		}
		t.Skip("TAPEDECK_TEST_WHATIFD does not name a python3 with the package whatifd; .ci/run makes one")
	}
	return python
}

// replayAll lets whatifd replay each line with a runner that asks for every call of the tape, and prints how many were answered as the tape has it.
const replayAll = `
import json, sys
sys.path.insert(0, "../../examples/whatifd")
import tapes
from whatifd.contract import ReplayConfig, ReplayOutput, ToolCache
from whatifd.replay.kernel import replay_one_trace
recorded = json.load(sys.stdin)
for t in tapes.read(sys.argv[1]):
    calls = recorded.pop(t.trace_id)
    if t.skip_reason:
        print("skipped"); continue
    last = {ToolCache._key(c["tool"], c["args"]): c["response"] for c in calls}
    def runner(asked, config, cache):
        for c in calls:
            assert cache.lookup(c["tool"], c["args"]) == last[ToolCache._key(c["tool"], c["args"])]
        return ReplayOutput(text=str(len(calls)))
    r = replay_one_trace(trace_id=t.trace_id, cohort=t.cohort, trace_input=tapes.trace_input(t), config=ReplayConfig(), tool_cache=tapes.cache(t), runner=runner, timeout_seconds=600)
    print(type(r).__name__, getattr(getattr(r, "output", None), "text", r))
for run in recorded:
    print(run, "is not among the traces")
`

// recordedCalls are the calls of the tapes of a deck that an oracle answers, by run, as JSON.
func recordedCalls(t *testing.T, address string) []byte {
	t.Helper()
	type call struct {
		Tool     string          `json:"tool"`
		Args     json.RawMessage `json:"args"`
		Response string          `json:"response"`
	}
	calls := map[string][]call{}
	finder := replay.Finder{Limit: 1, Warn: t.Logf}
	for one, err := range finder.LoadRuns(t.Context(), address) {
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := finder.Take(one.At, one.Files[tape.TapeFile])
		if err != nil {
			t.Fatal(err)
		}
		of := []call{}
		for _, e := range oracle.FromTape(recorded) {
			if e.Servable() && e.Args.Kind() == exactjson.Object {
				of = append(of, call{e.ToolName, json.RawMessage(e.Args.JSON()), e.Response})
			}
		}
		calls[recorded.Run.RunID] = of
	}
	body, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestWhatifdReplaysTapes(t *testing.T) {
	python := whatifdPython(t)
	folder := t.TempDir()
	address, file := filepath.Join(folder, "deck"), filepath.Join(folder, "traces.jsonl")
	recorded, err := filepath.Glob("../../testdata/corpus/agents/*/*.otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, append([]string{"derive", "--redact", "off", "--to", address}, recorded...)...); got.code == exitFailed {
		t.Fatal(got)
	}
	if err := os.WriteFile(file, []byte(tapedeck(t, "export", "--allow-dirty", "--format", "whatifd", address).stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", replayAll, file)
	cmd.Stdin = bytes.NewReader(recordedCalls(t, address))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	replayed, calls := 0, 0
	for line := range strings.Lines(string(out)) {
		n := 0
		switch _, err := fmt.Sscanf(line, "ReplaySuccess %d", &n); {
		case err == nil:
			replayed++
			calls += n
		case line != "skipped\n":
			t.Errorf("%s", line)
		}
	}
	if replayed < 100 || calls < 200 {
		t.Errorf("%d runs with %d calls", replayed, calls)
	}
}

// compareAll prints what whatifd makes of lists of deltas and of arguments of calls.
const compareAll = `
import json, sys
from whatifd.contract import ToolCache
from whatifd.statistical import BOOTSTRAP_SEED, paired_percentile_bootstrap
given = json.load(sys.stdin)
for deltas in given["deltas"]:
    r = paired_percentile_bootstrap([float(d) for d in deltas], seed=BOOTSTRAP_SEED)
    print(repr((r.median, r.ci_lower, r.ci_upper)))
for args in given["args"]:
    print(ToolCache._key("tool", json.loads(args)))
`

// Statistics and keys are those of whatifd for any input, to the last digit.
func TestWhatifdCountsTheSame(t *testing.T) {
	python := whatifdPython(t)
	random := rand.New(rand.NewPCG(seed.Of(t), 0))
	var given struct {
		Deltas [][]float64 `json:"deltas"`
		Args   []string    `json:"args"`
	}
	var want strings.Builder
	for range 40 {
		deltas := make([]float64, 1+random.IntN(60))
		for i := range deltas {
			deltas[i] = []float64{random.Float64()*2 - 1, float64(random.IntN(21)-10) / 10, 0}[random.IntN(3)]
		}
		given.Deltas = append(given.Deltas, deltas)
		r, err := statistics.DefaultBootstrap.Interval(deltas)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "(%s, %s, %s)\n", contract.PythonFloat(r.Median), contract.PythonFloat(r.Lower), contract.PythonFloat(r.Upper))
	}
	for range 400 {
		args := `{"` + randomText(random) + `":` + randomJSON(random, 3) + `,"z":` + randomJSON(random, 3) + `}`
		key, err := contract.ToolKey("tool", args)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		given.Args = append(given.Args, args)
		want.WriteString(key + "\n")
	}
	body, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", compareAll)
	cmd.Stdin = bytes.NewReader(body)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	got, wanted := strings.Split(string(out), "\n"), strings.Split(want.String(), "\n")
	if len(got) != len(wanted) {
		t.Fatalf("%d lines, want %d", len(got), len(wanted))
	}
	for i := range got {
		if got[i] != wanted[i] {
			t.Errorf("line %d: %s\nhere %s", i, got[i], wanted[i])
		}
	}
}

// randomText is the inside of a JSON string.
func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(4) {
		b.WriteString([]string{"a", "Z", " ", `\n`, `\u0007`, `\ud83d\ude00`, "\u00e9", "\uff61", "\U0001F600", `\/`, `\\`, `\"`, "<", "\u007f", "\u2028"}[random.IntN(15)])
	}
	return b.String()
}

func randomJSON(random *rand.Rand, depth int) string {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch random.IntN(kinds) {
	case 0:
		return []string{"null", "true", "false"}[random.IntN(3)]
	case 1:
		return fmt.Sprint(random.Int64() >> random.IntN(63))
	case 2:
		return fmt.Sprintf("%d.%de%d", random.IntN(1000), random.IntN(1000), random.IntN(40)-20)
	case 3:
		return []string{"-0", "-0.0", "1E400", "1e15", "1e16", "0.0001", "0.00001", "123456789012345678901234567890"}[random.IntN(8)]
	case 4:
		return `"` + randomText(random) + `"`
	case 5:
		return "[" + randomJSON(random, depth-1) + "," + randomJSON(random, depth-1) + "]"
	}
	return `{"` + randomText(random) + `":` + randomJSON(random, depth-1) + `,"b":` + randomJSON(random, depth-1) + `}`
}

// A runner written for whatifd, with its classes, is a runner of an experiment.
const whatifdRunner = `
from whatifd.contract import ReplayConfig, ReplayOutput, ToolSpan, TraceInput

def run(trace_input: TraceInput, config: ReplayConfig, tool_cache) -> ReplayOutput:
    assert isinstance(trace_input, TraceInput) and isinstance(config, ReplayConfig) and config.model == "candidate"
    return ReplayOutput(text="same", tool_spans=[ToolSpan(name="t", input="q", output="r", args={"a": 1})])
`

func TestRunnersOfWhatifdAreRunners(t *testing.T) {
	python := whatifdPython(t)
	t.Setenv(runner.PythonVariable, python)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "written_for_whatifd.py"), []byte(whatifdRunner), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", folder)
	_, args := experimentDeck(t)
	for i := range args {
		if args[i] == "--runner" {
			args[i+1] = "python:written_for_whatifd:run"
		}
	}
	if got := tapedeck(t, "exec-check", "python:written_for_whatifd:run"); got.code == exitOK {
		t.Error("the probe has no model, which this runner wants")
	}
	r := reportOf(t, tapedeck(t, append(args, "--change", "model=candidate")...).stdout)
	for _, c := range r.Cases {
		if c.State != experiment.Unchanged {
			t.Errorf("%s is %s: %+v", c.RunID, c.State, c.Of)
		}
	}
}

// validates is a scorer that reads each case with whatifd's own type, which refuses members that it does not
// know and null where it wants a list or an object.
const validates = `
import sys
from whatifd.contract import ScoreCase
case = ScoreCase.model_validate_json(sys.stdin.read())
assert all(s.kind == "tool" for s in case.original_output.tool_spans)
print(1 if case.replayed_output.text else 0)
`

func TestWhatifdReadsEveryCaseThatAScorerIsAsked(t *testing.T) {
	python := whatifdPython(t)
	scorer := filepath.Join(t.TempDir(), "validates.py")
	if err := os.WriteFile(scorer, []byte(validates), 0o600); err != nil {
		t.Fatal(err)
	}
	_, args := experimentDeck(t)
	for i := range args {
		if args[i] == "--scorer" {
			args[i+1] = "exec:" + python + " " + scorer
		}
	}
	r := reportOf(t, tapedeck(t, append(args, "--limit-failures", "20", "--limit-baseline", "20")...).stdout)
	scored := 0
	for _, c := range r.Cases {
		switch c.State {
		case experiment.Unchanged, experiment.Improved, experiment.Regressed:
			scored++
		case experiment.NotScored:
			t.Errorf("%s: %+v", c.RunID, c.Of)
		}
	}
	if scored == 0 {
		t.Error("no case was scored")
	}
}

// glue plugs what tapedeck exports into whatifd's own command line, which knows its sources and scorers by the names of their packages: whatifd_phoenix
// yields the tapes, whatifd_inspect_ai scores by a function. The runner asks for the recorded calls, and for one that is not recorded where tails says so.
const glue = `
import collections, hashlib, json, os, sys
sys.path.insert(0, os.environ["TAPES_MODULE"])
import tapes
from whatifd.adapters.stub import StubScorer, StubTraceSource
from whatifd.contract import ReplayOutput

FILE = os.environ["TAPES_FILE"]
COHORTS = json.loads(os.environ["TAPES_COHORTS"])  # of runs
DELTAS = json.loads(os.environ["TAPES_DELTAS"])  # by cohort

class PhoenixTraceSource(StubTraceSource):
    def __init__(self, spans_provider, cohort_classifier):
        super().__init__(specs=[])
    def iter_traces(self):
        return (t.model_copy(update={"cohort": COHORTS[t.trace_id]}) for t in tapes.read(FILE) if t.trace_id in COHORTS)

def InspectAIScorer(score_fn, **_):
    return StubScorer(score_fn=score_fn)

def spans():
    return []

def tails(text):
    return hashlib.sha256(text.encode()).digest()[0]

def score(case):
    deltas = DELTAS[case.cohort]
    return deltas[tails(case.replayed_output.text) % len(deltas)]

def asked():
    calls = collections.defaultdict(list)
    for t in tapes.read(FILE):
        names = [(s.name, json.dumps(s.args, sort_keys=True)) for s in t.tool_spans if s.output is not None and s.args is not None]
        calls[t.user_message.unwrap(reason="test")].append([n for n in names if names.count(n) == 1])
    return {m: c[0] for m, c in calls.items() if len(c) == 1}

CALLS = asked()

def run(trace_input, config, tool_cache):
    message = trace_input.user_message
    said = [str(tool_cache.lookup(name, json.loads(args))) for name, args in CALLS.get(message, [])]
    if tails(message) % 7 == 0:
        tool_cache.lookup("no_such_tool", {"q": message})
    return ReplayOutput(text="\n".join([config.system_prompt, message, *said]))
`

// scoreHere says of a ScoreCase what score says: as a difference to the recorded answer.
const scoreHere = `
import hashlib, json, os, sys
case = json.load(sys.stdin)
deltas = json.loads(os.environ["TAPES_DELTAS"])[case["cohort"]]
delta = deltas[hashlib.sha256(case["replayed_output"]["text"].encode()).digest()[0] % len(deltas)]
print(json.dumps({"original": 0.25, "replayed": 0.25 + delta}))
`

// whatifd's own command line, with our export as its source, and an experiment over the deck with the same runner come to the same numbers and the same verdict.
func TestWhatifdAndAnExperimentComeToTheSame(t *testing.T) {
	python := whatifdPython(t)
	folder, address := t.TempDir(), filepath.Join(t.TempDir(), "deck")
	d, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: 300, Kinds: 150, Seed: 5}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples/whatifd")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("TAPES_FILE", write("traces.jsonl", tapedeck(t, "export", "--format", "whatifd", address).stdout))
	t.Setenv("TAPES_MODULE", examples)
	t.Setenv("PYTHONPATH", folder)
	t.Setenv(runner.PythonVariable, python)
	write("glue.py", glue)
	write("whatifd_phoenix.py", "from glue import PhoenixTraceSource\n")
	write("whatifd_inspect_ai.py", "from glue import InspectAIScorer\n")
	rules := map[string]string{statistics.Failure: "agent=reviewer", statistics.Baseline: "agent=router"}
	cohorts := map[string]string{}
	for cohort, rule := range rules {
		for line := range strings.Lines(tapedeck(t, "ls", address, "--is", rule, "--format", "json", "--columns", "run_id").stdout) {
			var row struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			cohorts[row.RunID] = cohort
		}
	}
	setJSON := func(name string, v any) {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, string(body))
	}
	setJSON("TAPES_COHORTS", cohorts)
	// Deltas are exact in binary.
	for _, of := range []struct {
		name, runner, prompt string
		deltas               map[string][]float64
		want                 statistics.State
	}{
		{"with tools", "python:glue:run", "Be brief.", map[string][]float64{
			statistics.Failure: {-0.25, 0, 0.03125, 0.125, 0.5, -0.0625}, statistics.Baseline: {-0.25, 0, 0.03125, 0.125, 0.5, 0.0625, 0.25, -0.0625, 0.75, 0.375},
		}, statistics.DontShip},
		{"its example", "python:minimal_agent.replay:run", "Be kind.", map[string][]float64{
			statistics.Failure: {-0.25, 0.125, 0.5, 0.0625, 0.25, 0.75, 0.375}, statistics.Baseline: {0, 0.03125, -0.03125, 0.125},
		}, statistics.Ship},
	} {
		t.Run(of.name, func(t *testing.T) {
			setJSON("TAPES_DELTAS", of.deltas)
			if of.name == "its example" {
				t.Setenv("PYTHONPATH", folder+string(os.PathListSeparator)+whatifdExamples(t, python))
			}
			config := write("config.json", `{"source":{"adapter":"phoenix","spans_provider":"python:glue:spans"},"target":{"runner":"`+of.runner+`"},
				"selection":{"failure_cohort":{"limit":1000},"baseline_cohort":{"limit":1000}},"change":{"system_prompt":"`+of.prompt+`"},
				"scorer":{"adapter":"inspect_ai","cache_mode":"off","score_fn":"python:glue:score","judge_provider":"none","judge_model_id":"none","rubric_id":"r","rubric_text":"r"},
				"decision":{},"reporting":{},"timeouts":{"replay_seconds":600}}`)
			cmd := exec.Command(filepath.Join(filepath.Dir(python), "whatifd"), "fork", "-c", config, "--output-json", filepath.Join(folder, "report.json"), "--output-md", filepath.Join(folder, "report.md"))
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			body, readErr := os.ReadFile(filepath.Join(folder, "report.json"))
			if readErr != nil {
				t.Fatalf("%v, %v: %s", readErr, err, out)
			}
			var want struct {
				Verdict string `json:"verdict_state"`
				Cohorts []struct {
					Name             string
					Selected, Scored int
					Improved         int     `json:"improved_count"`
					Unchanged        int     `json:"unchanged_count"`
					Regressed        int     `json:"regressed_count"`
					Median           *string `json:"median_delta"`
					Lower            *string `json:"ci_lower"`
					Upper            *string `json:"ci_upper"`
				} `json:"cohort_results"`
				Findings []statistics.Finding `json:"decision_findings"`
			}
			if err := json.Unmarshal(body, &want); err != nil {
				t.Fatal(err)
			}
			text := func(s *string) string {
				if s == nil {
					return ""
				}
				return *s
			}
			var theirs, ours []string
			for _, c := range want.Cohorts {
				theirs = append(theirs, fmt.Sprint(c.Name, " selected ", c.Selected, " scored ", c.Scored, " better ", c.Improved, " same ", c.Unchanged, " worse ", c.Regressed, " median ", text(c.Median), " ", text(c.Lower), " ", text(c.Upper)))
				if c.Scored < 5 || of.name == "with tools" && c.Scored == c.Selected {
					t.Errorf("too little to tell: %+v", c)
				}
			}
			for _, f := range want.Findings {
				theirs = append(theirs, f.Code+": "+f.Message)
			}
			got := tapedeck(t, "experiment", address, "--failures", rules[statistics.Failure], "--baseline", rules[statistics.Baseline], "--quiet", "--json", "--redact", "off",
				"--runner", of.runner, "--change", "system_prompt="+of.prompt, "--scorer", "exec:"+python+" -S "+strconv.Quote(write("score.py", scoreHere)))
			r := reportOf(t, got.stdout)
			for _, c := range r.Verdict.Cohorts {
				ours = append(ours, fmt.Sprint(c.Name, " selected ", c.Selected, " scored ", c.Scored, " better ", c.Improved, " same ", c.Unchanged, " worse ", c.Regressed, " median ", c.Median, " ", c.Lower, " ", c.Upper))
			}
			for _, f := range r.Findings {
				ours = append(ours, f.Code+": "+f.Message)
			}
			slices.Sort(theirs)
			slices.Sort(ours)
			if !slices.Equal(theirs, ours) || len(want.Cohorts) != len(rules) || want.Verdict != string(of.want) || r.State != of.want || cmd.ProcessState.ExitCode() != got.code {
				t.Errorf("whatifd: %s (%d)\n%s\nhere: %s (%d)\n%s\n%.1000s", want.Verdict, cmd.ProcessState.ExitCode(), strings.Join(theirs, "\n"), r.State, got.code, strings.Join(ours, "\n"), out)
			}
			for _, v := range r.Validity {
				if (v.Failures["tool_cache_miss"] > 0) != (of.name == "with tools") {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

// whatifdExamples is the folder with the example runners of whatifd's source package.
func whatifdExamples(t *testing.T, python string) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(filepath.Dir(python)), "examples")
	if _, err := os.Stat(filepath.Join(dir, "minimal_agent", "replay.py")); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("whatifd's example runner is not beside its Python; .ci/run puts it there")
	}
	return dir
}
