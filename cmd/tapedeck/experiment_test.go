// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// candidateVariable makes the test program a part of an experiment: a runner, a check, or the program itself.
const candidateVariable = "TAPEDECK_TEST_CANDIDATE"

func runCandidate(mode string) int {
	switch mode {
	case "program":
		if err := os.Unsetenv(candidateVariable); err != nil {
			return 70
		}
		return run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	if os.Getenv(keyVariable) != "" {
		return 9 // the key is nobody else's
	}
	fmt.Println(`{"v":1,"type":"hello","protocol":"whatifd-exec/1","runner_name":"scripted","runner_version":"1","capabilities":[]}`)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var f struct {
			Type  string
			ID    string              `json:"request_id"`
			Input contract.TraceInput `json:"trace_input"`
		}
		if json.Unmarshal(in.Bytes(), &f) != nil || f.Type == "shutdown" {
			return 0
		}
		if f.Type == "replay_request" {
			text := "" // of a probe of exec-check, for which it asks no tool
			if id, _ := f.Input.Metadata["run_id"].(string); id != "" {
				text = fate(id)
			}
			if text == "secret" {
				text = "same, and the key is AKIA" + "Q3EGRIJZXOLMWYTB"
			}
			fmt.Printf(`{"v":1,"type":"replay_response","request_id":%q,"output":{"text":%q}}`+"\n", f.ID, text)
		}
	}
	return 0
}

// fate is what the scripted change does to a run: the digest of its id says it.
func fate(run string) string {
	switch sha256.Sum256([]byte(run))[0] % 16 {
	case 0:
		return "broken"
	case 1:
		return "secret"
	case 2, 3:
		return "same"
	}
	return "changed" // mends a failure, changes nothing for the baseline
}

// check scores: a failure is bad unless it was mended, the baseline is good unless it was broken.
const check = `[ -z "$TAPEDECK_REDACTION_KEY" ] || exit 9
read -r case
good=1
case "$case" in *'"cohort":"failure"'*) good=0;; esac
case "$case" in
*'"replayed_output":{"text":"changed"'*) echo '{"original":'$good',"replayed":1}';;
*'"replayed_output":{"text":"broken"'*) echo '{"original":'$good',"replayed":0}';;
*) echo '{"original":'$good',"replayed":'$good'}';;
esac
`

// experimentDeck is a deck of many runs, and the part of a command line that makes an experiment of two of their agents.
func experimentDeck(t *testing.T) (address string, args []string) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "deck")
	d, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: 420, Kinds: 40, Seed: 3}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return address, scriptedExperiment(t, address, "--failures", "agent=reviewer", "--baseline", "agent=router")
}

// corpusExperiment is an experiment over the recorded runs of real agents: those that failed, and a hundred of those that did not.
func corpusExperiment(t *testing.T) []string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "deck")
	recorded, err := filepath.Glob(agents + "*/*.otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, append([]string{"derive", "--redact", "off", "--to", address}, recorded...)...); got.code == exitFailed {
		t.Fatal(got)
	}
	return scriptedExperiment(t, address, "--failures", "status=error", "--baseline", "status=ok", "--limit-baseline", "100")
}

// scriptedExperiment is a command line with the scripted runner and its check.
func scriptedExperiment(t *testing.T, address string, cohorts ...string) []string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "check.sh")
	if err := os.WriteFile(script, []byte(check), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(append([]string{"experiment", address}, cohorts...), "--quiet", "--json",
		"--runner", "exec:env "+candidateVariable+"=runner "+strconv.Quote(os.Args[0]), "--scorer", "exec:sh "+strconv.Quote(script))
}

func reportOf(t *testing.T, text string) (r experiment.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v: %.500s", err, text)
	}
	return r
}

// The change mends k runs and breaks m that are known beforehand: the report names exactly these, and the verdict turns where the documents say.
func TestExperimentNamesWhatIsMendedAndBroken(t *testing.T) {
	t.Setenv(keyVariable, "7d1f0c9be34a58266e90d7a1c2b3f4485960718293a4b5c6d7e8f90a1b2c3d4e")
	args := corpusExperiment(t)
	folder := t.TempDir()
	junit, markdown, html := filepath.Join(folder, "report.xml"), filepath.Join(folder, "report.md"), filepath.Join(folder, "report.html")
	got := tapedeck(t, append(args, "--junit", junit, "--markdown", markdown, "--html", html)...)
	if got.stdout == "" {
		t.Fatal(got)
	}
	r := reportOf(t, got.stdout)
	if len(r.Cases) < 110 {
		t.Fatalf("%d cases", len(r.Cases))
	}
	counts := map[string]int{}
	for _, c := range r.Cases {
		want := experiment.Unchanged
		switch f := fate(c.RunID); {
		case !asked(t, &c.Case):
			want = experiment.NotReplayed
		case c.Cohort == "failure" && f == "changed":
			want = experiment.Improved
		case c.Cohort == "baseline" && f == "broken":
			want = experiment.Regressed
		}
		if counts[c.State]++; c.State != want {
			t.Errorf("%s (%s) is %s, want %s", c.RunID, c.Cohort, c.State, want)
		}
	}
	broken := float64(counts[experiment.Regressed])
	improved := float64(counts[experiment.Improved])
	var baseline, failures float64
	for _, c := range r.Verdict.Cohorts {
		if c.Name == "baseline" {
			baseline = float64(c.Scored)
		} else {
			failures = float64(c.Scored)
		}
	}
	if broken == 0 || counts[experiment.Improved] == 0 {
		t.Fatalf("%v", counts)
	}
	for _, limit := range []struct {
		share   float64
		verdict string
		code    int
	}{{broken / baseline, "ship", exitOK}, {(broken - 1) / baseline, "dont_ship", exitPartial}} {
		flipped := tapedeck(t, append(args, "--max-regression", strconv.FormatFloat(limit.share, 'g', -1, 64))...)
		if v := reportOf(t, flipped.stdout); string(v.State) != limit.verdict || flipped.code != limit.code {
			t.Errorf("a limit of %v: %s, exit %d; want %s", limit.share, v.State, flipped.code, limit.verdict)
		}
	}
	if strings.Contains(got.stdout, "AKIA"+"Q3EGRIJZXOLMWYTB") || !strings.Contains(got.stdout, "REDACTED") {
		t.Errorf("a key that the candidate said is in the report, or none was said: %.200s", got.stdout[max(strings.Index(got.stdout, "same, and"), 0):])
	}
	for _, limit := range []struct {
		share   float64
		verdict string
	}{{improved / failures, "ship"}, {(improved + 1) / failures, "dont_ship"}} {
		flipped := tapedeck(t, append(args, "--max-regression", "1", "--min-improvement", strconv.FormatFloat(limit.share, 'g', -1, 64))...)
		if v := reportOf(t, flipped.stdout); string(v.State) != limit.verdict {
			t.Errorf("an improvement of %v asked: %s, want %s", limit.share, v.State, limit.verdict)
		}
	}
	for _, file := range []string{junit, markdown, html} {
		body, err := os.ReadFile(file)
		if err != nil || len(body) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// asked tells whether the tape of a run holds what the user asked.
func asked(t *testing.T, c *experiment.Case) bool {
	t.Helper()
	recorded, err := openCase(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return recorded.Input.UserMessage != nil
}

// However often it is killed, an experiment comes to the same bytes, and replays no run twice that has an outcome.
func TestAKilledExperimentGoesOn(t *testing.T) {
	args := corpusExperiment(t)
	want := tapedeck(t, args...)
	state := filepath.Join(t.TempDir(), "state")
	args = append(args, "--state", state)
	outcomes := func() int {
		body, err := os.ReadFile(filepath.Join(state, "outcomes.jsonl"))
		if err != nil {
			return 0
		}
		return bytes.Count(body, []byte{'\n'})
	}
	for kill := range 3 {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), candidateVariable+"=program")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		goal := outcomes() + 10
		for outcomes() < goal {
			select {
			case err := <-ended:
				t.Fatalf("it ended before it was killed: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		_ = cmd.Process.Kill()
		<-ended
		if kill == 1 { // what was being written
			f, err := os.OpenFile(filepath.Join(state, "outcomes.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(`{"run_id":"4bf92f`)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := outcomes()
	got := tapedeck(t, args...)
	if got.stdout != want.stdout || got.code != want.code {
		t.Errorf("exit %d, want %d; the reports differ:\n%.1000s\n%.1000s", got.code, want.code, got.stdout, want.stdout)
	}
	if r := reportOf(t, want.stdout); before < 20 || outcomes() != len(r.Cases) {
		t.Errorf("%d outcomes before, %d after, of %d runs", before, outcomes(), len(r.Cases))
	}
	if other := tapedeck(t, append(args, "--change", "model=other")...); other.code != exitFailed || !strings.Contains(other.stderr, "the change differ") {
		t.Errorf("another change goes on in the same folder: %v", other)
	}
}

// Three processes replay a part each, as the examples have it; their report is that of one process.
func TestShardsOfAnExperiment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are scripts of a shell")
	}
	address, args := experimentDeck(t)
	want := tapedeck(t, args...)
	environ := append(os.Environ(), candidateVariable+"=program")
	rest := slices.DeleteFunc(slices.Clone(args[2:]), func(a string) bool { return a == "--quiet" || a == "--json" })
	work := t.TempDir()
	script := exec.Command("../../examples/shards/run.sh", append([]string{address, work}, rest...)...)
	script.Env = append(environ, "TAPEDECK="+os.Args[0])
	out, err := script.Output()
	if string(out) != want.stdout || script.ProcessState.ExitCode() != want.code {
		t.Errorf("%v: exit %d, want %d:\n%.1000s\n%.1000s", err, script.ProcessState.ExitCode(), want.code, out, want.stdout)
	}
	part := tapedeck(t, "experiment", "merge", "--json", filepath.Join(work, "part-1"))
	if r := reportOf(t, part.stdout); part.code != exitNoVerdict || string(r.State) != "inconclusive" {
		t.Errorf("a part is %s, exit %d", r.State, part.code)
	}

	body, err := os.ReadFile("../../examples/shards/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Spec struct {
			Completions int
			Template    struct {
				Spec struct{ Containers []struct{ Command []string } }
			}
		}
	}
	if err := yaml.Unmarshal(body, &job); err != nil {
		t.Fatal(err)
	}
	command, state, bin := job.Spec.Template.Spec.Containers[0].Command, t.TempDir(), t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(bin, "tapedeck")); err != nil {
		t.Fatal(err)
	}
	const runner = `--runner "exec:node agent.js" --scorer "exec:./check.sh"`
	if !strings.Contains(command[2], runner) {
		t.Fatalf("%s", command[2])
	}
	quoted := ""
	for _, a := range rest {
		quoted += " '" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	command[2] = strings.Replace(command[2], runner, quoted, 1)
	for index := range job.Spec.Completions {
		pod := exec.Command(command[0], command[1:]...)
		pod.Env = append(environ, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "DECK="+address, "STATE="+state, "JOB_COMPLETION_INDEX="+strconv.Itoa(index))
		if out, err := pod.CombinedOutput(); err != nil {
			t.Fatalf("pod %d: %v\n%s", index, err, out)
		}
	}
	merge := []string{"experiment", "merge", "--json"}
	for index := range job.Spec.Completions {
		merge = append(merge, filepath.Join(state, fmt.Sprint("part-", index+1)))
	}
	if got := tapedeck(t, merge...); got.stdout != want.stdout || got.code != want.code {
		t.Errorf("the job: exit %d, want %d:\n%.1000s\n%s", got.code, want.code, got.stdout, got.stderr)
	}
}

func TestExperimentRefuses(t *testing.T) {
	_, args := experimentDeck(t)
	for want, more := range map[string][]string{
		"want exec:COMMAND or python":                {"--runner", "node agent.js"},
		"no runner":                                  {"--runner", "exec:/no/such/runner"},
		"unknown: want exact":                        {"--scorer", "better"},
		"--rubric: it is not given":                  {"--scorer", "judge"},
		"a judge needs a model":                      {"--scorer", "judge", "--rubric", "main.go"},
		"want COLUMN=VALUE":                          {"--failures", "agent"},
		"a run is in two cohorts":                    {"--failures", "agent=router", "--failures", "status=ok"},
		"no run is in the experiment":                {"--failures", "agent=x", "--baseline", "agent=x"},
		"--shard needs --state":                      {"--shard", "1/2"},
		"is no shard":                                {"--shard", "3/2", "--state", t.TempDir()},
		"want system_prompt, model":                  {"--change", "temperature=1"},
		"invalid character":                          {"--change", "overrides.a={x"},
		"--tool-policy must be":                      {"--tool-policy", "guess"},
		"mock needs --override":                      {"--tool-policy", "mock"},
		"--workers must be positive":                 {"--workers", "0"},
		"must be between 0 and 1":                    {"--epsilon", "NaN"},
		"--failure: ":                                {"--failures-where", "statu = 'error'"},
		"--timeout and --score-timeout":              {"--timeout", "0s"},
		"no such file":                               {"--change", "system_prompt=@/no/such/file"},
		"so no failure could become better":          nil,
		"what makes an answer better has to be said": nil,
	} {
		line := append([]string{}, args...)
		switch {
		case strings.HasPrefix(want, "so no failure"):
			line[len(line)-1] = "exact"
		case strings.HasPrefix(want, "what makes"):
			line = line[:len(line)-2]
		case want == "no runner":
			want = "the runner cannot be used"
		case more[0] == "--failures" || more[0] == "--runner" || more[0] == "--scorer":
			for i := range line { // these would be added to what is there
				if line[i] == more[0] {
					line = append(line[:i], line[i+2:]...)
					break
				}
			}
			if want == "no run is in the experiment" {
				for i := range line {
					if line[i] == "--baseline" {
						line = append(line[:i], line[i+2:]...)
						break
					}
				}
			}
		}
		got := tapedeck(t, append(line, more...)...)
		if got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: exit %d, %s; want %q", more, got.code, got.stderr, want)
		}
	}
}

func TestExecCheck(t *testing.T) {
	runner := "exec:env " + candidateVariable + "=runner " + strconv.Quote(os.Args[0])
	if got := tapedeck(t, "exec-check", runner); got.code != exitOK || !strings.Contains(got.stdout, "skipped  text from a tool: the runner called no tool") {
		t.Error(got)
	}
	if got := tapedeck(t, "exec-check", "--json", "exec:true"); got.code != exitPartial || !strings.Contains(got.stdout, `"conforms":false`) {
		t.Error(got)
	}
	if got := tapedeck(t, "exec-check", "exec:"); got.code != exitFailed || !strings.Contains(got.stderr, "no command") {
		t.Error(got)
	}
}

// A condition chooses the runs of a cohort in place of the default, and the report says it.
func TestCohortsByACondition(t *testing.T) {
	_, args := experimentDeck(t)
	args = slices.Replace(slices.Clone(args), 2, 6, "--failures-where", "agent = 'reviewer' AND status = 'error'", "--baseline-where", "agent = 'router'", "--baseline", "status=ok")
	r := reportOf(t, tapedeck(t, args...).stdout)
	rules := ""
	for _, s := range r.Cohorts {
		rules += s.Cohort + ": " + s.Rule + "; "
	}
	if rules != "baseline: status=ok and (agent = 'router'); failure: (agent = 'reviewer' AND status = 'error'); " || len(r.Cases) < 20 {
		t.Errorf("%s %d runs", rules, len(r.Cases))
	}
	if line := progress(5, 10, &experiment.Outcome{Text: "x"}); line != "\r\x1b[K[###############---------------] 5 of 10: replayed" {
		t.Errorf("%q", line)
	}
}
