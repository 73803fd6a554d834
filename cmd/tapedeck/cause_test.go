// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/cause"
)

// fruits are what the model of counted has counted, one after the other.
var fruits = []string{"apples", "pears", "plums", "figs"}

// counted records the agent with a model that has all fruits counted, and then says the words that come with the last one.
func counted(t *testing.T, stock map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(countingModel))
	t.Cleanup(s.Close)
	text, err := json.Marshal(stock)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(agentVariable, "live")
	t.Setenv(stockVariable, string(text))
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--", os.Args[0])
	all := lines(t, got.stdout)
	if got.code != exitOK || len(all) != 1 || all[0].ToolCalls != len(fruits) {
		t.Fatalf("%+v", got)
	}
	return all[0].URL
}

func countingModel(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []chatMessage }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	results := []string{}
	for _, m := range body.Messages {
		if m.Role == "tool" {
			results = append(results, *m.Content)
		}
	}
	message, finish := map[string]any{"role": "assistant", "content": "In stock: " + strings.Join(results, ", ") + "."}, "stop"
	if n := len(results); n < len(fruits) {
		message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": fmt.Sprint("call_", n), "type": "function", "function": map[string]any{"name": "count", "arguments": `{"of":"` + fruits[n] + `"}`}}}}, "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
}

func causeOf(t *testing.T, args ...string) (int, causeReport) {
	t.Helper()
	t.Setenv(agentVariable, "oracle")
	got := commanded(t, append([]string{"cause", "--json", "--quiet", "--input", "stdin", "--lockdown", "off"}, append(args, "--", os.Args[0])...)...)
	var r causeReport
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got.code, r
}

func numbersOf(answers []cause.Answer) (list []int) {
	for _, a := range answers {
		list = append(list, a.Number)
	}
	return list
}

func TestTheAnswerThatMakesARunGoWrongIsFound(t *testing.T) {
	good := counted(t, map[string]string{"apples": "seven", "pears": "two", "plums": "one", "figs": "nine"})
	bad := counted(t, map[string]string{"apples": "eight", "pears": "three", "plums": "none", "figs": "ten"})
	notNone := "sh " + write(t, "notnone.sh", "! grep -q '\"result\":\"none\"' \"$1\"\n") + " {tape}"
	// From the tapes alone: the model says what it said, call by call.
	code, r := causeOf(t, good, bad, "--check", notNone)
	if code != exitOK || r.Verdict != cause.One || len(r.Cause) != 1 || r.Cause[0].Good != "one" || r.Cause[0].Bad != "none" || !*r.Alone || !*r.Back {
		t.Fatalf("code %d: %+v", code, r)
	}
	if len(r.Differ) != 5 || r.Replays > r.Bound || r.Bound != 3+6 { // four results, and the answer
		t.Errorf("%d replays of at most %d: %v", r.Replays, r.Bound, numbersOf(r.Differ))
	}
	// A model that reads what it is shown: without a check, by its answer.
	model := httptest.NewServer(http.HandlerFunc(countingModel))
	t.Cleanup(model.Close)
	one := counted(t, map[string]string{"apples": "seven", "pears": "two", "plums": "none", "figs": "nine"})
	code, r = causeOf(t, "--good", bad, "--good", good, "--bad", one, "--model-url", model.URL)
	if code != exitOK || r.Verdict != cause.One || r.Cause[0].Bad != "none" || len(r.Differ) != 1 || r.Replays > r.Bound {
		t.Errorf("code %d: %+v", code, r)
	}
	// The answer of the model is what the outcome is judged by: it would be found whatever made the model say so, and is no cause.
	code, r = causeOf(t, good, one)
	if notes := strings.Join(r.Notes, "; "); code != exitPartial || r.Verdict != cause.Trivial || r.Cause[0].Type != "model_call" || !strings.Contains(notes, "--model-url") || !strings.Contains(notes, "tool_call count") {
		t.Errorf("code %d: %+v", code, r)
	}
	// The results of tools alone change nothing where the model is answered from the tape.
	if code, r = causeOf(t, good, one, "--answers", "tools"); code != exitPartial || r.Verdict != cause.None || len(r.Cause) != 0 {
		t.Errorf("code %d: %+v", code, r)
	}
}

func TestWhatIsNoCauseIsSaid(t *testing.T) {
	good := counted(t, map[string]string{"apples": "seven", "pears": "two", "plums": "one", "figs": "nine"})
	bad := counted(t, map[string]string{"apples": "eight", "pears": "two", "plums": "none", "figs": "nine"})
	if code, r := causeOf(t, good, bad, "--check", "true"); code != exitPartial || r.Verdict != cause.None || r.Replays != 2 {
		t.Errorf("code %d: %+v", code, r)
	}
	if code, r := causeOf(t, good, bad, "--check", "false"); code != exitPartial || r.Verdict != cause.NotRepeated {
		t.Errorf("code %d: %+v", code, r)
	}
	// A check that says good and bad in turns, whatever it is asked.
	counts := filepath.Join(t.TempDir(), "counts")
	flaky := "sh " + write(t, "flaky.sh", "echo >> \"$1\"; n=$(wc -l < \"$1\"); [ $((n % 2)) -eq 1 ]\n") + " " + counts
	if code, r := causeOf(t, good, bad, "--check", flaky, "--repeat", "2"); code != exitPartial || r.Verdict != cause.Flaky || len(r.Notes) == 0 {
		t.Errorf("code %d: %+v", code, r)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{good, bad}, "no command behind"},
		{[]string{good, "--", "true"}, "takes a good and a bad run"},
		{[]string{"--good", good, "--", "true"}, "takes a good and a bad run"},
		{[]string{good, bad, "--answers", "mine", "--", "true"}, "is unknown"},
		{[]string{good, bad, "--answers", "all", "--model-url", "http://127.0.0.1:1", "--", "true"}, "only answers of tools"},
		{[]string{good, bad, "--repeat", "0", "--", "true"}, "must be positive"},
		{[]string{good, good, "--", "true"}, "--check has to say"},
		{[]string{good, bad, "--", "/nonexistent/agent"}, "could not be run"},
	} {
		if got := tapedeck(t, append([]string{"cause"}, c.args...)...); got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

// TestCauseSaysFirstWhatItCanFind: nothing, the first difference, or an answer in so many replays.
func TestCauseSaysFirstWhatItCanFind(t *testing.T) {
	for _, c := range []struct {
		answers int
		which   cause.Which
		check   string
		want    string
	}{
		{0, cause.All, "", "no cause can be found: no recorded answer"},
		{3, cause.All, "", "only the first difference can be named; --check judges by something else"},
		{3, cause.All, "./check.sh", "3 recorded answers differ: at most 8 replays"},
		{3, cause.Tools, "", "3 recorded answers differ: at most 8 replays"},
		{1, cause.All, "", "1 recorded answers differ: at most 6 replays"},
	} {
		f := causeFlags{check: c.check, answers: string(c.which)}
		if got := f.prospect(&cause.Pair{Answers: make([]cause.Answer, c.answers)}); !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
