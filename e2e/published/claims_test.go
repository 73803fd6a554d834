// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build published

package published

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// tapeEvent is what these tests look at in an event of a tape.
type tapeEvent struct {
	Seq        int
	Type, Name string
	ToolCallID string `json:"tool_call_id"`
	Result     any
}

// report is what these tests look at in the report of a replay.
type report struct {
	Verdict  string
	Headline string
	Checks   []struct {
		Name, Detail string
		OK           bool
	}
	Tools []struct {
		Seq         int
		Name, Layer string
	}
	Model struct {
		Calls []struct {
			Outcome string
			Seq     int
			Labels  []string
			Nearest *struct {
				Seq                   int
				Place, Recorded, Live string
			}
		}
		Unused []json.RawMessage
	}
	Evidence struct {
		Watched  bool `json:"programs_watched"`
		Programs []struct{ Path string }
		Files    []struct{ Path, Operation, In string }
	}
	Copy *struct {
		Ran        int
		AsRecorded int `json:"as_recorded"`
	}
	Comparison comparison
	Runs       []struct { // of a command that makes several
		Headline   string
		Comparison comparison
	}
}

type comparison struct {
	First *struct{ A, B *struct{ Seq int } }
}

// failed are the checks that did not hold, as the report says them.
func (r report) failed() string {
	var lines []string
	for _, c := range r.Checks {
		if !c.OK {
			lines = append(lines, c.Name+": "+c.Detail)
		}
	}
	return strings.Join(lines, "\n")
}

// headline is those of all runs, of which one is not as recorded.
func (r report) headline() string {
	all := r.Headline
	for _, run := range r.Runs {
		all += run.Headline
	}
	return all
}

// places are the events of the recording at which the report sees a difference.
func (r report) places() (seqs []int) {
	all := []comparison{r.Comparison}
	for _, run := range r.Runs {
		all = append(all, run.Comparison)
	}
	for _, c := range all {
		if c.First != nil && c.First.A != nil {
			seqs = append(seqs, c.First.A.Seq)
		}
	}
	for _, c := range r.Model.Calls {
		if c.Nearest != nil {
			seqs = append(seqs, c.Nearest.Seq)
		}
	}
	return seqs
}

// failure is what a tool says that failed; each script has one.
var failure = regexp.MustCompile(`(?i)no such file|not found|does not exist|ENOENT|error|failed|not permitted`)

// recorded runs the program under tapedeck record, and compares the tapes with what the model saw.
func (r *run) recorded() {
	r.t.Helper()
	out, code := r.tapedeck("record", append([]string{"record", "--to", r.deck, "--task", r.Name, "--workspace", "."}, r.Record...)...)
	r.t.Logf("record: exit code %d, %s", code, r.summary())
	if code != 0 {
		r.t.Errorf("record: exit code %d\n%s", code, tail(r.read("record.err"), 800))
		return
	}
	for line := range strings.Lines(string(out)) {
		var made struct{ Grade string }
		if err := json.Unmarshal([]byte(line), &made); err != nil {
			r.t.Errorf("%v: %s", err, line)
		}
		r.row.Grade = append(r.row.Grade, made.Grade)
	}
	r.recordedApp = r.readFile(filepath.Join(r.ws, "src", "app.py"))
	r.secretsOf(r.deck)
	failures, unseen := 0, map[string]int{}
	for _, call := range r.model.truth {
		if failure.MatchString(call.Result) {
			failures++
		}
		if call.Answered {
			unseen[call.Name]++
		}
	}
	last := r.model.requests[len(r.model.requests)-1]
	for _, q := range r.model.requests {
		if len(q.NotOffered) > 0 {
			r.t.Errorf("the program has no tool %v: the script is not one for it", q.NotOffered)
		}
		if r.Texts && failure.Match(encoded(q.Body["messages"])) {
			failures++
		}
		if q.Main {
			last = q
		}
	}
	if failures == 0 {
		r.t.Error("no tool failed: the script is to have one that does")
	}
	if last.Turn < len(r.Turns)-1 && !r.Texts {
		r.t.Errorf("the program came to turn %d of %d", last.Turn+1, len(r.Turns))
	}
	// The tapes hold no call of a tool that the model did not ask for.
	for _, e := range r.events() {
		if e.Type == "tool_call" && r.model.truth[e.ToolCallID] == nil && unseen[e.Name] == 0 && !r.Texts {
			r.t.Errorf("event %d says that %s was called, and the model did not ask for it", e.Seq, e.Name)
		}
	}
}

// events are those of all tapes in the deck.
func (r *run) events() (all []tapeEvent) {
	for _, path := range r.tapes() {
		var tape struct{ Events []tapeEvent }
		if err := json.Unmarshal([]byte(r.readFile(path)), &tape); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, tape.Events...)
	}
	return all
}

func (r *run) tapes() (paths []string) {
	r.walk(r.deck, func(path string) {
		if filepath.Base(path) == "tape.json" {
			paths = append(paths, path)
		}
	})
	return paths
}

func (r *run) walk(dir string, each func(path string)) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			each(path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) readFile(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

// secretsOf looks for what was planted in every file of a deck, unpacked where it is packed.
func (r *run) secretsOf(deck string) {
	r.walk(deck, func(path string) {
		data := []byte(r.readFile(path))
		if strings.HasSuffix(path, ".zst") {
			z, err := zstd.NewReader(bytes.NewReader(data))
			if err != nil {
				r.t.Fatal(err)
			}
			defer z.Close()
			var b bytes.Buffer
			if _, err := b.ReadFrom(z); err != nil {
				r.t.Fatal(err)
			}
			data = b.Bytes()
		}
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				r.t.Errorf("%s holds the planted %s", path, secret)
			}
		}
	})
}

// files are the files of the workspace with their digests, but for what git keeps for itself.
func (r *run) files() map[string][32]byte {
	all := map[string][32]byte{}
	r.walk(r.ws, func(path string) {
		if !strings.Contains(path, string(filepath.Separator)+".git"+string(filepath.Separator)) {
			all[path] = sha256.Sum256([]byte(r.readFile(path)))
		}
	})
	return all
}

// replay runs the program again, and holds each claim of the report against the log of the model and the
// files.
func (r *run) replay(name string, flags ...string) (rep report, code int) {
	r.t.Helper()
	r.fresh()
	asked, before := len(r.model.requests), r.files()
	out, code := r.tapedeck(name, append(append([]string{"replay", r.Name, "--deck", r.deck, "--json"}, r.Replay...), flags...)...)
	if err := json.Unmarshal(out, &rep); err != nil {
		r.t.Errorf("%s: exit code %d, no report: %v\n%s", name, code, err, tail(r.read(name+".err"), 800))
		return rep, code
	}
	if n := len(r.model.requests) - asked; n > 0 {
		r.t.Errorf("%s: %d requests left the replay and reached the model", name, n)
	}
	if (code == 0) != (rep.failed() == "") {
		r.t.Errorf("%s: exit code %d, and what did not hold is %q", name, code, rep.failed())
	}
	live, hits := map[string]int{}, 0
	for _, tool := range rep.Tools {
		live[tool.Layer]++
	}
	for _, c := range rep.Model.Calls {
		if c.Outcome == "hit" || c.Outcome == "recorded_error" {
			hits++
		}
	}
	if changed := !maps.Equal(before, r.files()); changed && live["live"]+live["unknown"] == 0 {
		r.t.Errorf("%s: files of the workspace changed, and the report says that no tool ran live: %v", name, live)
	}
	if rep.Copy != nil && rep.Copy.Ran != live["replayed-live"] {
		r.t.Errorf("%s: %d tools ran in the copy, and %d calls say so", name, rep.Copy.Ran, live["replayed-live"])
	}
	if truth := r.modelCalls(); code == 0 && (hits != truth || len(rep.Model.Unused) > 0) {
		r.t.Errorf("%s: %d of %d model calls were served, and the replay is as recorded", name, hits, truth)
	}
	// The one file that every script of a coding agent changes: in the copy as in the recording.
	edited := slices.ContainsFunc(rep.Evidence.Files, func(f struct{ Path, Operation, In string }) bool { return f.Path == "src/app.py" })
	if wrote := strings.Contains(r.recordedApp, "VERSION = 2"); code == 0 && rep.Copy != nil && wrote != edited {
		r.t.Errorf("%s: src/app.py was changed in the recording: %v, in the copy: %v", name, wrote, edited)
	}
	counted := slices.ContainsFunc(rep.Evidence.Programs, func(p struct{ Path string }) bool { return filepath.Base(p.Path) == "wc" })
	if code == 0 && rep.Evidence.Watched && counted != (r.counts() && live["replayed-live"]+live["live"] > 0) {
		r.t.Errorf("%s: a shell counted lines: %v; the report has tools %v", name, counted, live)
	}
	var layers []string
	for _, layer := range slices.Sorted(maps.Keys(live)) {
		layers = append(layers, fmt.Sprintf("%d %s", live[layer], layer))
	}
	if name == "replay" {
		r.row.Layers, r.row.Exit, r.row.Hooks = cmp.Or(strings.Join(layers, ", "), "no tool call"), code, live["oracle"] > 0
	}
	return rep, code
}

// counts tells whether the script has a shell count lines.
func (r *run) counts() bool {
	return strings.Contains(string(encoded(r.Turns)), "wc -l ")
}

// modelCalls is how often the model was asked while the program was recorded.
func (r *run) modelCalls() (n int) {
	for _, q := range r.model.requests {
		if q.API != "" {
			n++
		}
	}
	return n
}

// replayed replays the program by the documented command.
func (r *run) replayed() {
	rep, code := r.replay("replay")
	r.t.Logf("replay: exit code %d, %s\n%s", code, r.row.Layers, rep.failed())
	switch {
	case r.Fails == "" && code != 0:
		r.t.Errorf("exit code %d:\n%s", code, rep.failed())
	case r.Fails != "" && code == 0:
		r.t.Error("it replays now: take fails and why out of its row")
	case !strings.Contains(rep.failed()+r.read("replay.err"), r.Fails):
		r.t.Errorf("it fails in another way than by %q:\n%s", r.Fails, rep.failed())
	}
}

// changed replays a recording in which one answer of a tool is another, and wants it found at its event.
func (r *run) changed() {
	from, to := "4 notes.txt", "5 notes.txt"
	if len(r.Change) == 2 {
		from, to = r.Change[0], r.Change[1]
	}
	var want []int
	for _, path := range r.tapes() {
		events := r.change(path, from, to)
		want = append(want, events...)
	}
	if len(want) == 0 {
		r.t.Fatalf("no recorded answer holds %q", from)
	}
	rep, code := r.replay("changed", "--allow-unverified")
	places := rep.places()
	r.t.Logf("changed: events %v, exit code %d, found at %v\n%s", want, code, places, rep.failed())
	if code != 1 {
		r.t.Errorf("changed: exit code %d, want 1", code)
	}
	if len(places) == 0 || !slices.Contains(want, places[0]) || !strings.Contains(rep.failed(), fmt.Sprintf("event %d", places[0])) {
		r.t.Errorf("changed: event %d was changed, and the report names %v", want[0], places)
	} else if headline := rep.headline(); !strings.Contains(headline, fmt.Sprintf("event %d", places[0])) || !strings.Contains(headline, strings.TrimSpace(to)) {
		r.t.Errorf("changed: %q became %q at event %d, and the headline is %q", from, to, places[0], headline)
	} else {
		r.row.Changed = fmt.Sprintf("event %d", places[0])
	}
}

// change changes the recorded result of a call in a tape, or without tools a recorded message, and returns
// the event of the call and the next one.
func (r *run) change(path, from, to string) (events []int) {
	d := json.NewDecoder(strings.NewReader(r.readFile(path)))
	d.UseNumber()
	var tape map[string]any
	if err := d.Decode(&tape); err != nil {
		r.t.Fatal(err)
	}
	for _, e := range list(tape["events"]) {
		e := object(e)
		seq, _ := e["seq"].(json.Number).Int64()
		if len(events) == 1 {
			return append(events, r.write(path, tape, int(seq))...)
		}
		if result := string(encoded(e["result"])); e["type"] == "tool_call" && strings.Contains(result, from) {
			var changed any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(result, from, to)), &changed); err != nil {
				r.t.Fatal(err)
			}
			e["result"] = changed
			events = append(events, int(seq))
		}
	}
	if len(events) > 0 {
		return append(events, r.write(path, tape, 0)...)
	}
	for id, message := range object(tape["messages"]) { // what an agent without tools tells its model of the files
		if text := string(encoded(message)); strings.Contains(text, from) {
			var changed any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(text, from, to)), &changed); err != nil {
				r.t.Fatal(err)
			}
			object(tape["messages"])[id] = changed
			for _, e := range list(tape["events"]) {
				if seq, _ := object(e)["seq"].(json.Number).Int64(); slices.Contains(list(object(object(e)["request"])["messages"]), any(id)) && (len(events) == 0 || int(seq) < events[0]) {
					events = append([]int{int(seq)}, events...)
				}
			}
		}
	}
	if len(events) > 0 {
		r.write(path, tape, 0)
	}
	return events
}

func (r *run) write(path string, tape any, next int) []int {
	if err := os.WriteFile(path, encoded(tape), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return []int{next}
}
