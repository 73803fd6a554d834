// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// wildTapes are made of the telemetry of a published program, as testdata/wild/README.md says.
func wildTapes(t *testing.T, name string) []*tape.Tape {
	t.Helper()
	return tapesOf(t, filepath.Join("testdata/wild", name+".otlp.json.zst"), filepath.Join("testdata/wild", name+".logs.json.zst"))
}

// tapesOf are the tapes of files, those of most model calls first. A file that is not there says nothing.
func tapesOf(t *testing.T, paths ...string) []*tape.Tape {
	t.Helper()
	set := evidence.NewSet()
	for _, path := range paths {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			continue
		}
		for document, err := range foreign.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			set.AddTraces(document.Traces)
			set.AddLogs(document.Logs)
		}
	}
	traces := set.Split()
	tapes := reconstruct.All(traces, spineOptions)
	for _, joined := range reconstruct.Join(traces, spineOptions) {
		tapes = append(tapes, joined.Tape)
	}
	tapes = slices.DeleteFunc(tapes, func(t *tape.Tape) bool { return t.Usage.ModelCalls == 0 })
	slices.SortStableFunc(tapes, func(a, b *tape.Tape) int { return b.Usage.ModelCalls - a.Usage.ModelCalls })
	if len(tapes) == 0 {
		t.Fatalf("%v: no tape", paths)
	}
	return tapes
}

// logged is a request that a published program sent to the scripted server, and what that answered.
type logged struct {
	API     string          `json:"api"`
	Path    string          `json:"path"`
	Model   string          `json:"model"`
	Stream  bool            `json:"stream"`
	Main    bool            `json:"main"`
	Request json.RawMessage `json:"request"`
	Text    string          `json:"text"`
	Calls   []struct {
		Name  string          `json:"name"`
		ID    string          `json:"id"`
		Args  json.RawMessage `json:"args"`
		Input *string         `json:"input"`
	} `json:"calls"`
}

func wildRequests(t *testing.T, name string) []logged {
	t.Helper()
	return requestsOf(t, filepath.Join("testdata/wild", name+".server.jsonl.zst"))
}

func requestsOf(t *testing.T, path string) (list []logged) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var one logged
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		if one.API != "" {
			list = append(list, one)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return list
}

// differs says how an answer differs from what the program was answered: in its calls; "" where it does not.
func (l *logged) differs(m tape.Message) string {
	var got, want []string
	id := func(id string) string {
		if l.API == "gemini" { // Gemini CLI makes ids of its own
			return ""
		}
		return id
	}
	for _, p := range m.Parts {
		if p.Type == tape.PartToolCall {
			got = append(got, id(p.ID)+" "+p.Name)
		}
	}
	for _, c := range l.Calls {
		want = append(want, id(c.ID)+" "+c.Name)
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("asks for %v instead of %v", got, want)
	}
	return ""
}

// served sends the requests of a published program to a server of its tapes, one after the other, and returns
// what each was answered.
func served(t *testing.T, tapes []*tape.Tape, requests []logged) (list []Answer) {
	t.Helper()
	h := NewHandler(Config{Stub: Family(tapes, Options{}), Answered: func(_ string, a *Answer) { list = append(list, *a) }})
	for _, l := range requests {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, l.Path, bytes.NewReader(l.Request)))
	}
	if len(list) != len(requests) {
		t.Fatalf("%d answers to %d requests", len(list), len(requests))
	}
	return list
}

// wild are the published programs and how many requests of each are answered.
var wild = map[string]int{"claude-code": 7, "claude-code-raw": 7, "codex": 5, "copilot": 5, "gemini": 5, "mini": 5}

// wantInOrder demands that each request of the main conversation gets the answer that the program got, in the
// order of the recording, and that no side turn gets one of them.
func wantInOrder(t *testing.T, name string, requests []logged, answers []Answer) {
	t.Helper()
	last := 0
	for i, a := range answers {
		l := &requests[i]
		if !a.Outcome.Served() {
			t.Errorf("%s request %d: %s %s %+v", name, i, a.Outcome, a.reason, a.Nearest)
			continue
		}
		if why := l.differs(a.message); why != "" {
			t.Errorf("%s request %d: event %d %v %s", name, i, a.Seq(), a.Labels, why)
		}
		if !l.Main {
			continue
		}
		if a.Seq() <= last {
			t.Errorf("%s request %d: event %d behind event %d", name, i, a.Seq(), last)
		}
		last = a.Seq()
	}
}

// The requests that published programs sent when they were recorded are answered from the tapes of their
// telemetry, also where that holds no request (Claude Code, Codex) or only what is new (Copilot).
func TestPublishedProgramsAreAnsweredAsRecorded(t *testing.T) {
	for name, want := range wild {
		requests := wildRequests(t, name)
		if len(requests) != want {
			t.Errorf("%s: %d requests", name, len(requests))
		}
		wantInOrder(t, name, requests, served(t, wildTapes(t, name)[:1], requests))
	}
}

// TestWhatAProgramSentIsAnsweredFromItsTranscript: the tape of a transcript replays the published program
// that wrote it.
func TestWhatAProgramSentIsAnsweredFromItsTranscript(t *testing.T) {
	const imports = "../../../testdata/imports"
	for format, version := range map[string]string{"claude-code": "claude-code-2.1.332", "codex": "codex-0.171.0", "gemini-cli": "gemini-cli-0.61.0", "opencode": "opencode-1.18.33"} {
		for _, scenario := range []string{"plain", "parallel", "errors", "secret"} {
			requests := requestsOf(t, filepath.Join(imports, "runs", version, scenario+".server.jsonl.zst"))
			files, _ := filepath.Glob(filepath.Join(imports, format, version, scenario+".json*.zst"))
			tapes := tapesOf(t, files...)
			if format == "opencode" { // its export lacks the call that names the session
				requests = slices.DeleteFunc(requests, func(l logged) bool { return !l.Main })
			}
			if len(tapes) != 1 || len(requests) < tapes[0].Usage.ModelCalls {
				t.Fatalf("%s %s: %d tapes, %d requests", format, scenario, len(tapes), len(requests))
			}
			wantInOrder(t, format+" "+scenario, requests, served(t, tapes, requests))
		}
	}
}

// Programs give calls ids of their own, or none: then what the calls say tells which answer a request goes on
// after.
func TestATurnIsFoundWithoutTheIDsOfCalls(t *testing.T) {
	for name := range wild {
		requests := wildRequests(t, name)
		for i := range requests {
			for _, one := range requests {
				for _, c := range one.Calls {
					requests[i].Request = bytes.ReplaceAll(requests[i].Request, []byte(c.ID), []byte("x"+c.ID[:8]+c.ID[len(c.ID)-3:]))
				}
			}
		}
		wantInOrder(t, name, requests, served(t, wildTapes(t, name)[:1], requests))
	}
}

// A title is no answer to the main conversation, and the reverse: in whatever order they come, and where one
// model is asked for both.
func TestATitleIsNeverServedForTheMainConversation(t *testing.T) {
	for _, name := range []string{"claude-code", "claude-code-raw"} {
		for _, oneModel := range []bool{false, true} {
			tapes := wildTapes(t, name)[:1]
			requests := wildRequests(t, name)
			if requests[0].Main || !requests[1].Main {
				t.Fatal("the first request is not the title")
			}
			if oneModel {
				for i := range tapes[0].Events {
					if e := &tapes[0].Events[i]; e.Type == tape.EventModelCall {
						e.Model, e.Response.Model = "m", "m"
					}
				}
				for i := range requests {
					requests[i].Request = regexp.MustCompile(`"model": ?"[^"]+"`).ReplaceAll(requests[i].Request, []byte(`"model":"m"`))
				}
			}
			title := tapes[0].Events[0].Seq
			// the main conversation alone, begun twice
			answers := served(t, tapes, slices.Concat(requests[1:], requests[1:2]))
			wantInOrder(t, name, requests[1:], answers[:len(answers)-1])
			if a := answers[len(answers)-1]; a.Outcome != Exhausted || a.Seq() == title {
				t.Errorf("%s: begun twice, it gets %s of event %d", name, a.Outcome, a.Seq())
			}
			// the title alone, asked for twice
			answers = served(t, tapes, []logged{requests[0], requests[0]})
			if a := answers[0]; a.Outcome != StoodIn || a.Seq() != title {
				t.Errorf("%s: the title gets %s of event %d", name, a.Outcome, a.Seq())
			}
			if a := answers[1]; a.Outcome.Served() || a.Seq() != title {
				t.Errorf("%s: the second title gets %s of event %d", name, a.Outcome, a.Seq())
			}
			// the title asked of the model of the main conversation
			l := requests[0]
			l.Request = regexp.MustCompile(`"model": ?"[^"]+"`).ReplaceAll(l.Request, []byte(`"model":"`+requests[1].Model+`"`))
			if a := served(t, tapes, []logged{l})[0]; a.Outcome != StoodIn || a.Seq() != title {
				t.Errorf("%s: the title gets %s of event %d, %+v", name, a.Outcome, a.Seq(), a.Nearest)
			}
			// the title last, and in the middle
			for _, at := range []int{3, len(requests)} {
				moved := slices.Insert(slices.Clone(requests[1:]), at-1, requests[0])
				answers := served(t, tapes, moved)
				wantInOrder(t, name, moved, answers)
				if a := answers[at-1]; a.Seq() != title {
					t.Errorf("%s: the title gets %s of event %d", name, a.Outcome, a.Seq())
				}
			}
		}
	}
}

// A request that stands elsewhere than any recorded one is a miss, also where nothing of the recorded
// requests is known.
func TestARequestThatGoesOnElsewhereIsAMiss(t *testing.T) {
	for _, name := range []string{"claude-code", "codex"} {
		requests := wildRequests(t, name)
		last := requests[len(requests)-1]
		second := slices.IndexFunc(requests, func(l logged) bool { return l.Main }) + 1
		answers := served(t, wildTapes(t, name)[:1], []logged{requests[second], requests[second], last})
		if a := answers[0]; !a.Outcome.Served() || requests[second].differs(a.message) != "" {
			t.Errorf("%s: %s %+v", name, a.Outcome, a.Nearest)
		}
		if a := answers[1]; a.Outcome != Exhausted {
			t.Errorf("%s: the same once more gets %s of event %d", name, a.Outcome, a.Seq())
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(requests[second].Request, &body); err != nil {
			t.Fatal(err)
		}
		delete(body, "tools")
		without, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		l := requests[second]
		l.Request = without
		if a := served(t, wildTapes(t, name)[:1], []logged{requests[second-1], l})[1]; a.Outcome != NoTurn || a.Nearest == nil || a.Nearest.Place != "tools" {
			t.Errorf("%s: without tools it gets %s of event %d, %+v", name, a.Outcome, a.Seq(), a.Nearest)
		}
	}
}
