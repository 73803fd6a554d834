// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// resultsVersion is the version of results.json that is written; versions before 1.2 have no snapshot_path.
const resultsVersion = "1.4"

// isResults tells a results.json: the evaluation with its tasks and their runs.
func isResults(v exactjson.Value) bool {
	return v.Get("kind").IsAbsent() && v.Get("tasks").Kind() == exactjson.Array && (v.Get("eval_id").Kind() == exactjson.String || v.Get("eval_name").Kind() == exactjson.String)
}

// same are the members that a run of a results.json and its snapshot both have: the path in the snapshot, and where the other one stands.
var same = []struct{ snapshot, of, results string }{
	{"evalId", "eval", "eval_id"}, {"evalName", "eval", "eval_name"}, {"skill", "eval", "skill"},
	{"task.testId", "task", "test_id"}, {"task.displayName", "task", "display_name"}, {"task.group", "task", "group"}, {"task.golden", "task", "golden"},
	{"task.runNumber", "run", "run_number"}, {"toolEvents", "run", "tool_events"}, {"commandInvocations", "run", "command_invocations"},
	{"result.status", "run", "status"}, {"result.finalOutput", "run", "final_output"}, {"result.errorMsg", "run", "error_msg"}, {"result.durationMs", "run", "duration_ms"}, {"result.validations", "run", "validations"},
	{"engine.type", "config", "engine_type"}, {"engine.modelId", "config", "model_id"}, {"engine.timeoutSec", "config", "timeout_sec"}, {"engine.judgeModel", "config", "judge_model"},
}

// readResults reads the runs of a results.json. A run with a snapshot_path is read from its snapshot, where o.Sibling has it; else from what the results say of it
// themselves. What the two say otherwise of the same thing, and what of the results no tape holds, is a loss.
func readResults(v exactjson.Value, o interop.Options) (runs []interop.Run, err error) {
	if err := checkVersion(v.Get("schemaVersion").Str()); err != nil {
		return nil, fmt.Errorf("read waza results: %w", err)
	}
	for i, t := range v.Get("tasks").Members() {
		task := t.Value
		if task.Kind() != exactjson.Object || task.Get("runs").Kind() > exactjson.Null && task.Get("runs").Kind() != exactjson.Array {
			return nil, fmt.Errorf("read waza results: tasks.%d: not an object with runs", i)
		}
		for j, r := range task.Get("runs").Members() {
			place := fmt.Sprintf("tasks.%d.runs.%d", i, j)
			if r.Value.Kind() != exactjson.Object {
				return nil, fmt.Errorf("read waza results: %s: not an object", place)
			}
			run, err := readResult(place, map[string]exactjson.Value{"eval": v, "config": v.Get("config"), "task": task, "run": r.Value}, o)
			if err != nil {
				return nil, fmt.Errorf("read waza results: %s: %w", place, err)
			}
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("read waza results: %w: they hold no run", interop.ErrNotFormat)
	}
	return runs, nil
}

func readResult(place string, of map[string]exactjson.Value, o interop.Options) (run interop.Run, err error) {
	said := exactjson.ObjectValue(set("schemaVersion", exactjson.StringValue(version)), set("kind", exactjson.StringValue(documentKind)))
	for _, m := range same {
		if value := of[m.of].Get(m.results); value.Kind() > exactjson.Null {
			said = put(said, strings.Split(m.snapshot, "."), value)
		}
	}
	var more []interop.Loss
	document := render(said)
	if path := of["run"].Get("snapshot_path").Str(); path != "" && o.Sibling != nil {
		data, err := o.Sibling(path)
		if err != nil {
			more = append(more, interop.Loss{Path: place + ".snapshot_path", What: interop.Dropped, Reason: "the snapshot cannot be read; the run is what the results say of it"})
		} else {
			s, err := Read(data)
			if err != nil {
				return run, fmt.Errorf("its snapshot: %w", err)
			}
			document = data
			for _, m := range same {
				want, have := at(said, m.snapshot), at(s.doc, m.snapshot)
				if m.of == "config" || want.IsEmpty() || want.Equal(have) {
					continue
				}
				l := interop.Loss{Path: place + "." + m.results, What: interop.Changed, Reason: "the snapshot says otherwise, and is taken"}
				if have.IsAbsent() {
					l.What, l.Reason = interop.Dropped, "the snapshot does not hold it, and is taken"
				}
				more = append(more, l)
			}
		}
	}
	list, err := Decode(document, o)
	if err != nil {
		return run, err
	}
	run = list[0]
	for _, m := range of["run"].Members() {
		known := m.Name == "snapshot_path" || slices.ContainsFunc(same, func(s struct{ snapshot, of, results string }) bool { return s.of == "run" && s.results == m.Name })
		if !known {
			more = append(more, interop.Loss{Path: place + "." + m.Name, What: interop.Dropped, Reason: "a tape has no member for it"})
		}
	}
	run.Losses = append(run.Losses, more...)
	return run, nil
}

// put returns the object with the value at a path.
func put(object exactjson.Value, path []string, v exactjson.Value) exactjson.Value {
	if len(path) > 1 {
		v = put(object.Get(path[0]), path[1:], v)
	}
	return with(object, set(path[0], v))
}

// at is the value at a dotted path.
func at(v exactjson.Value, path string) exactjson.Value {
	for _, name := range strings.Split(path, ".") {
		v = v.Get(name)
	}
	return v
}

// Exported is a snapshot that was written, for a results.json.
type Exported struct {
	Path     string // as it is to stand there
	Snapshot []byte
	Usage    tape.RunUsage
}

// ErrEvaluations is returned for snapshots of more than one evaluation: a results.json holds one.
var ErrEvaluations = errors.New("the runs are of several evaluations")

// Results writes the results.json of an evaluation. Scores stand there where graders gave some: the mean over the graders of a run, the runs of a task and the
// tasks; weighted_score weighs the graders.
func Results(list []Exported) ([]byte, error) {
	var eval exactjson.Value
	tasks := map[string][]result{}
	timestamp := ""
	for i, e := range list {
		s, err := Read(e.Snapshot)
		if err != nil {
			return nil, err
		}
		own := exactjson.ObjectValue()
		for _, m := range same {
			if value := at(s.doc, m.snapshot); m.of == "eval" && !value.IsAbsent() {
				own = with(own, set(m.results, value))
			}
		}
		if i == 0 {
			eval = own
		} else if !own.Equal(eval) {
			return nil, ErrEvaluations
		}
		timestamp = max(timestamp, s.doc.Get("createdAt").Str())
		id := at(s.doc, "task.testId").Str()
		tasks[id] = append(tasks[id], result{s.doc, e})
	}
	if len(list) == 0 {
		return nil, errors.New("there is no run")
	}
	var all summary
	var written []exactjson.Value
	runsPerTest := 0
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		runs := tasks[id]
		slices.SortStableFunc(runs, func(a, b result) int { return cmp.Compare(a.number(), b.number()) })
		runsPerTest = max(runsPerTest, len(runs))
		written = append(written, taskOf(runs, &all))
	}
	member := func(name string) exactjson.Value {
		if v := eval.Get(name); !v.IsAbsent() {
			return v
		}
		return exactjson.StringValue("")
	}
	first := tasks[slices.Sorted(maps.Keys(tasks))[0]][0].doc
	config := exactjson.ObjectValue(set("runs_per_test", exactjson.IntValue(int64(runsPerTest))))
	for _, m := range same {
		if value := at(first, m.snapshot); m.of == "config" && !value.IsAbsent() && everywhere(tasks, m.snapshot, value) {
			config = with(config, set(m.results, value))
		}
	}
	return append(render(exactjson.ObjectValue(
		set("schemaVersion", exactjson.StringValue(resultsVersion)), set("eval_id", member("eval_id")), set("skill", member("skill")), set("eval_name", member("eval_name")),
		set("timestamp", exactjson.StringValue(timestamp)), set("config", config), set("summary", all.value()), set("metrics", exactjson.ObjectValue()), set("tasks", exactjson.ArrayValue(written...)),
	)), '\n'), nil
}

// everywhere tells whether all snapshots hold a value.
func everywhere(tasks map[string][]result, path string, v exactjson.Value) bool {
	for _, runs := range tasks {
		for _, r := range runs {
			if !at(r.doc, path).Equal(v) {
				return false
			}
		}
	}
	return true
}

// result is a snapshot, of a results.json.
type result struct {
	doc exactjson.Value
	Exported
}

func (r *result) number() int64 {
	n, _ := at(r.doc, "task.runNumber").Int()
	return n
}

// ranks order the statuses: a task has that of its worst run.
var ranks = []string{"skipped", "passed", "failed", "error"}

func taskOf(runs []result, all *summary) exactjson.Value {
	worst, scores, weighted := 0, []float64{}, []float64{}
	var list []exactjson.Value
	for i := range runs {
		r := &runs[i]
		status := at(r.doc, "result.status").Str()
		worst = max(worst, slices.Index(ranks, status))
		members := []exactjson.Member{}
		for _, m := range same {
			if value := at(r.doc, m.snapshot); m.of == "run" && !value.IsAbsent() {
				members = append(members, set(m.results, value))
			}
		}
		if u := r.Usage; u.InputTokens != nil && u.OutputTokens != nil {
			usage := exactjson.ObjectValue(set("input_tokens", exactjson.IntValue(*u.InputTokens)), set("output_tokens", exactjson.IntValue(*u.OutputTokens)))
			members = append(members, set("session_digest", exactjson.ObjectValue(set("usage", usage))))
		}
		list = append(list, exactjson.ObjectValue(append(members, set("snapshot_path", exactjson.StringValue(r.Path)))...))
		if mean, by, graded := scoreOf(at(r.doc, "result.validations")); graded {
			scores, weighted = append(scores, mean), append(weighted, by)
		}
		took, _ := at(r.doc, "result.durationMs").Int()
		all.took += took
	}
	all.tasks++
	all.of[worst]++
	if len(scores) > 0 {
		all.scores, all.weighted = append(all.scores, meanOf(scores)), append(all.weighted, meanOf(weighted))
	}
	members := []exactjson.Member{}
	for _, m := range same {
		if value := at(runs[0].doc, m.snapshot); m.of == "task" && !value.IsAbsent() {
			members = append(members, set(m.results, value))
		}
	}
	return exactjson.ObjectValue(append(members, set("status", exactjson.StringValue(ranks[worst])), set("runs", exactjson.ArrayValue(list...)))...)
}

// scoreOf is the mean of what graders gave, plain and by weight.
func scoreOf(validations exactjson.Value) (mean, weighted float64, graded bool) {
	var scores []float64
	var sum, weights float64
	for _, m := range validations.Members() {
		score, ok := m.Value.Get("score").Float()
		if !ok {
			continue
		}
		weight, _ := m.Value.Get("weight").Float()
		scores, sum, weights = append(scores, score), sum+score*weight, weights+weight
	}
	if len(scores) == 0 {
		return 0, 0, false
	}
	if mean = meanOf(scores); weights > 0 {
		return mean, sum / weights, true
	}
	return mean, mean, true
}

func meanOf(list []float64) float64 {
	sum := 0.0
	for _, f := range list {
		sum += f
	}
	return sum / float64(len(list))
}

// summary counts tasks by status, in the order of ranks.
type summary struct {
	tasks            int64
	of               [4]int64
	scores, weighted []float64
	took             int64
}

func (s *summary) value() exactjson.Value {
	members := []exactjson.Member{
		set("total_tests", exactjson.IntValue(s.tasks)), set("succeeded", exactjson.IntValue(s.of[1])), set("failed", exactjson.IntValue(s.of[2])), set("errors", exactjson.IntValue(s.of[3])),
		set("skipped", exactjson.IntValue(s.of[0])), set("success_rate", exactjson.FloatValue(float64(s.of[1])/float64(s.tasks))),
	}
	if len(s.scores) > 0 {
		mean, squares := meanOf(s.scores), 0.0
		for _, f := range s.scores {
			squares += (f - mean) * (f - mean)
		}
		for _, m := range []struct {
			name string
			f    float64
		}{
			{"aggregate_score", mean}, {"weighted_score", meanOf(s.weighted)}, {"min_score", slices.Min(s.scores)}, {"max_score", slices.Max(s.scores)}, {"std_dev", math.Sqrt(squares / float64(len(s.scores)))},
		} {
			members = append(members, set(m.name, exactjson.FloatValue(m.f)))
		}
	}
	return exactjson.ObjectValue(append(members, set("duration_ms", exactjson.IntValue(s.took)))...)
}
