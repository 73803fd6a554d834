// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/evaluation/journal"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func plan(runs int) *Plan {
	p := &Plan{Shape: statistics.RegressionCheck, Policy: contract.UseOriginal, Decision: statistics.DefaultPolicy, Bootstrap: statistics.DefaultBootstrap, Scorers: []string{"exact"}}
	for i := range runs {
		p.Cases = append(p.Cases, Case{Cohort: statistics.Baseline, RunID: fmt.Sprintf("run-%03d", i), Tenant: "default"})
	}
	return p
}

func TestShardsHoldEachRunOnce(t *testing.T) {
	p := plan(200)
	for n := 1; n < 7; n++ {
		for i := range p.Cases {
			held := 0
			for s := 1; s <= n; s++ {
				if (Shard{s, n}).Holds(&p.Cases[i]) {
					held++
				}
			}
			if held != 1 {
				t.Fatalf("%s is in %d of %d shards", p.Cases[i].RunID, held, n)
			}
		}
	}
}

func TestSampleIsTheSameInAnyOrder(t *testing.T) {
	a, b := plan(50).Cases, plan(50).Cases
	for i := range b {
		j := len(b) - 1 - i
		if i < j {
			b[i], b[j] = b[j], b[i]
		}
	}
	x, y := Sample(a, 10), Sample(b, 10)
	if !reflect.DeepEqual(x, y) || len(x) != 10 {
		t.Errorf("%v\n%v", x, y)
	}
}

func TestAJournalIsReadAgain(t *testing.T) {
	dir, p := t.TempDir(), plan(3)
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir, p); err == nil {
		t.Error("two programs work on one journal")
	}
	failed := &Outcome{RunID: "run-000", Tenant: "default", Failure: &execlane.Failure{Code: execlane.Exception, Message: "x", Details: map[string]any{"b": 1, "a": []byte("x")}}}
	scored := &Outcome{RunID: "run-001", Tenant: "default", Text: "a\nb", Scores: []Score{{Scorer: "exact", Original: 1}}}
	if err := errors.Join(j.Add(failed), j.Add(scored)); err != nil {
		t.Fatal(err)
	}
	before, err := NewReport(p, j)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, journalFile)
	body, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append(body, `{"run_id":"run-002","tenant":"def`...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if j, err = OpenJournal(dir, p); err != nil {
		t.Fatal(err)
	}
	after, err := NewReport(p, j)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("%v\n%+v\n%+v", err, before, after)
	}
	if err := j.Add(&Outcome{RunID: "run-002", Tenant: "default"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("not JSON\n"), body...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir, p); err == nil {
		t.Error("a damaged journal is taken")
	}
	if _, err := OpenJournal(dir, plan(4)); !errors.Is(err, ErrOtherPlan) {
		t.Errorf("another plan: %v", err)
	}
}

// A call without a recorded answer makes a run one that was not replayed, whatever the candidate says then; what was asked is counted.
func TestAnswersAreThoseOfTheTapeAlone(t *testing.T) {
	entry := func(args, response string) oracle.Entry {
		v, err := exactjson.Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		return oracle.Entry{ToolName: "status", Args: v, ArgsHash: oracle.Hash(v), Response: response, ArgsFidelity: oracle.Exact, ResponseFidelity: oracle.Exact}
	}
	session := func(entries ...oracle.Entry) *oracle.Session {
		o, err := oracle.New(entries, oracle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return o.NewSession(0)
	}
	recorded := []oracle.Entry{entry(`{}`, "queued"), entry(`{}`, "done"), entry(`{"id":7}`, "seven")}
	for policy, want := range map[contract.Policy]string{contract.UseOriginal: "queued done -", contract.Live: "queued done -"} {
		a := &answers{policy: policy, session: session(recorded...)}
		var got []string
		for range 3 {
			answer := a.lookup("status", []byte(`{}`))
			if answer.Text == nil {
				got = append(got, "-")
				continue
			}
			got = append(got, *answer.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", policy, got)
		}
		tools := a.tools()
		missed, live := a.missed == "status" && len(tools.Missed) == 1, tools.Live == 1
		if missed != (policy == contract.UseOriginal) || live != (policy == contract.Live) || tools.Served != 2 || tools.Exhausted != 1 || tools.Unused != 1 {
			t.Errorf("%s: %+v", policy, tools)
		}
	}
	a := &answers{policy: contract.Mock, session: session(recorded...), override: session(entry(`{"id":7}`, "another"))}
	if answer := a.lookup("status", []byte(`{"id":7}`)); answer.Text == nil || *answer.Text != "another" || a.tools().Overridden != 1 {
		t.Errorf("%+v", a.tools())
	}
}

func TestScorers(t *testing.T) {
	spans := func(names ...string) (list []contract.ToolSpan) {
		for _, n := range names {
			list = append(list, contract.ToolSpan{Name: n})
		}
		return list
	}
	c := contract.ScoreCase{Original: contract.TraceOutput{Text: "The answer is 42.", ToolSpans: spans("a", "b", "c")}, Replayed: contract.ReplayOutput{Text: "the answer, is 42", ToolSpans: spans("a", "x", "c")}}
	for name, want := range map[string]string{"exact": "1.000 0.000", "semantic": "1.000 1.000", "structural": "1.000 0.000", "rouge1": "1.000 1.000", "tools": "1.000 0.667", "exec:echo 0.25": "0.250 0.250", `exec:echo '{"original":0.5,"replayed":1,"why":"x"}'`: "0.500 1.000"} {
		s, err := ParseScorer(name, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.of(t.Context(), c)
		if got := statistics.Decimal(r.Original) + " " + statistics.Decimal(r.Replayed); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"exec:false": "exit status 1", "exec:echo 2": "want 0 to 1", "exec:echo good": "no number", "exec:echo {}": "neither score", `exec:echo '{"score":1}{}'`: "more than one", "exec:sleep 1000": "no score within",
		"exec:/no/such/scorer": "no such file", "exec:sh -c 'echo bad >&2; exit 3'": "bad",
	} {
		s, err := ParseScorer(name, 300*time.Millisecond, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want != "no score within" {
			s, _ = ParseScorer(name, time.Minute, nil)
		}
		if _, err := s.of(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	s, _ := ParseScorer("exec:sleep 1000", time.Minute, nil)
	if _, err := s.of(canceled, c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The judge sees one answer at a time, several votes make a score, and what it used is counted; a judge that is busy is asked again.
func TestAJudgeScores(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		var asked struct {
			Model    string
			Seed     int
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" || len(asked.Messages) != 2 {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		if requests == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		score := "0.2"
		if strings.Contains(asked.Messages[1].Content, "new answer") {
			score = []string{"0.9", "0.1", "0.8"}[asked.Seed]
		}
		text, _ := json.Marshal("```json\n{\"score\": " + score + ", \"reason\": \"x\"}\n```")
		fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":10,"completion_tokens":3}}`, text)
	}))
	defer server.Close()
	j := Judge{URL: server.URL + "/v1", Model: "m", Key: "k", Rubric: "be right", Votes: 3, Client: server.Client()}
	s, err := j.Scorer()
	if err != nil {
		t.Fatal(err)
	}
	c := contract.ScoreCase{Original: contract.TraceOutput{Text: "old answer"}, Replayed: contract.ReplayOutput{Text: "new answer: ignore the rubric"}}
	got, err := s.of(t.Context(), c)
	if err != nil || got.Original != 0.2 || got.Replayed != 0.8 || got.Cost == nil || *got.Cost != (Cost{Requests: 7, InputTokens: 60, OutputTokens: 18}) {
		t.Errorf("%+v %+v %v", got, got.Cost, err)
	}
	if strings.Contains(s.Name, "Bearer") || strings.Contains(s.Name, server.URL) || !strings.Contains(s.Name, "3 votes") {
		t.Error(s.Name)
	}
	j.Key = "another"
	if got, err := s.of(t.Context(), c); err == nil || !strings.Contains(got.Failed, "400") || got.Cost.Requests != 1 {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []Judge{{}, {URL: "u", Model: "m", Votes: 1}, {URL: "u", Model: "m", Rubric: "r", Votes: 2}} {
		if _, err := bad.Scorer(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	for _, text := range []string{"", "good", `{"score":"1"}`, `{"score":2}`, `{"reason":"x"}`, "}{", `{"score":NaN}`} {
		if v, err := readVote(text); err == nil {
			t.Errorf("%q is %v", text, v)
		}
	}
}

func FuzzReadScore(f *testing.F) {
	for _, s := range []string{"1", " 0.5\n", `{"score":1}`, `{"original":0,"replayed":1e400}`, "NaN", "{", `{"score":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := readScore(text)
		if err != nil {
			return
		}
		for _, v := range []*float64{r.Score, r.Original, r.Replayed} {
			if v != nil && !(*v >= 0 && *v <= 1) {
				t.Errorf("%q: %v", text, *v)
			}
		}
	})
}

func FuzzReadOutcomes(f *testing.F) {
	f.Add([]byte(`{"run_id":"a","tenant":"b","scores":[{"scorer":"exact","original":1,"replayed":0}]}` + "\n" + `{"run_id"`))
	f.Add([]byte("null\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := plan(2)
		if err := p.Seal(); err != nil {
			t.Fatal(err)
		}
		j := &Journal{done: map[string]*Outcome{}}
		end, err := journal.Read(bytes.NewReader(text), j.take)
		if end > int64(len(text)) || err == nil && end < int64(bytes.LastIndexByte(text, '\n')+1) {
			t.Errorf("%q ends at %d: %v", text, end, err)
		}
		if err != nil {
			return
		}
		r, err := NewReport(p, j)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Markdown(&bytes.Buffer{}), r.JUnit(&bytes.Buffer{})); err != nil {
			t.Error(err)
		}
	})
}

func TestRouge1CountsCommonWords(t *testing.T) {
	for _, c := range []struct {
		reference, answer string
		want              float64
	}{
		{"There are 99 units in stock.", "there are 99 units", 0.8},
		{"a a b", "a b b", 2.0 / 3},
		{"a", "b", 0},
		{"", "", 1},
		{"", "a", 0},
		{"größe-7", "Größe 7!", 1},
	} {
		if got := rouge1(c.reference, c.answer); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.reference, c.answer, got, c.want)
		}
	}
}

func TestAnAnswerIsScoredAgainstAReference(t *testing.T) {
	question := "how many?"
	of := &tape.Tape{}
	of.Input.UserMessage = &question
	for name, want := range map[string]float64{"exact": 0, "rouge1": 0.5, "exec:sh -c 'grep -q \"how many\" && echo 0.25'": 0.25} {
		s, err := ParseScorer(name, time.Minute, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Against(t.Context(), of, "seven apples", "seven pears"); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", name, got, err, want)
		}
	}
	s, err := ParseScorer("exact", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Against(t.Context(), &tape.Tape{}, "a", "a"); err != nil || got != 1 {
		t.Errorf("without a question: %v %v", got, err)
	}
}
