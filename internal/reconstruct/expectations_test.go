// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// expectation is what is right of a run; holds and lacks are texts that the tapes hold, and do not. A member
// of another type holds a sentence for readers.
type expectation map[string]json.RawMessage

func member[T any](e map[string]json.RawMessage, name string) (v T, ok bool) {
	raw, there := e[name]
	return v, there && json.Unmarshal(raw, &v) == nil
}

// TestInputsSayWhatIsExpected derives the inputs that were written after public reports of bugs, and after
// the text of the GenAI conventions.
func TestInputsSayWhatIsExpected(t *testing.T) {
	for folder, least := range map[string]int{"reports": 80, "conventions": 12} {
		paths, err := filepath.Glob(filepath.Join("../../testdata", folder, "*.expect.json"))
		if err != nil || len(paths) < least {
			t.Fatalf("%d inputs in %s, %v", len(paths), folder, err)
		}
		for _, path := range paths {
			input := strings.TrimSuffix(path, ".expect.json")
			t.Run(folder+"/"+filepath.Base(input), func(t *testing.T) {
				body, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				var want expectation
				if err := json.Unmarshal(body, &want); err != nil {
					t.Fatal(err)
				}
				tapes := derived(recorded(t, input, ".otlp.json", ".logs.json", ".jsonl"), rule.Choice{})
				if wrong := want.differences(tapes); len(wrong) > 0 {
					t.Errorf("%s\n%s", strings.Join(wrong, "\n"), saidOf(tapes))
				}
			})
		}
	}
}

// recorded reads the evidence of an input: of the files with its path and one of the ends, those that exist.
func recorded(t *testing.T, input string, ends ...string) *evidence.Set {
	t.Helper()
	set := evidence.NewSet()
	for _, end := range ends {
		path := input + end
		if _, err := os.Stat(path); err != nil {
			continue
		}
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			evidence.ForwardVerdicts(document.Traces)
			set.AddTraces(document.Traces)
			set.AddLogs(document.Logs)
		}
	}
	return set
}

// differences compares tapes with what is right. The longest tape is that of the run.
func (want expectation) differences(tapes []*tape.Tape) (wrong []string) {
	differ := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if n, ok := member[int](want, "runs"); ok && n != len(tapes) {
		differ("%d tapes, want %d", len(tapes), n)
	}
	if len(tapes) == 0 {
		return append(wrong, "no tape")
	}
	tp := slices.MaxFunc(tapes, func(a, b *tape.Tape) int { return cmp.Compare(len(a.Events), len(b.Events)) })
	statuses := []tape.RunStatus{tape.StatusOK, tape.StatusError, tape.StatusInterrupted, tape.StatusIncomplete}
	if status, ok := member[tape.RunStatus](want, "status"); ok && slices.Contains(statuses, status) && tp.Run.Status != status {
		differ("status %s, want %s", tp.Run.Status, status)
	}
	if n, ok := member[int](want, "model_calls"); ok && n != tp.Usage.ModelCalls {
		differ("%d model calls, want %d", tp.Usage.ModelCalls, n)
	}
	if calls, ok := member[[]map[string]json.RawMessage](want, "tool_calls"); ok {
		wrong = append(wrong, callsUnlike(tp, calls)...)
	}
	model := tp.Config.Model
	for _, e := range tp.Events {
		model = cmp.Or(model, e.Model)
	}
	for name, got := range map[string]*string{"answer": tp.Output.Text, "asked": tp.Input.UserMessage, "system": tp.Input.SystemPrompt, "model": &model} {
		text := ""
		if got != nil {
			text = *got
		}
		if s, ok := member[*string](want, name); ok && (s == nil && text != "" || s != nil && !sameJSON(exactjson.StringValue(text), *s)) {
			differ("%s %q, want %s", name, text, want[name])
		}
	}
	if names, ok := member[[]string](want, "tools"); ok {
		for _, name := range names {
			if !offers(tp, name) {
				differ("tool %s is not offered", name)
			}
		}
	}
	if grade, ok := member[string](want, "grade"); ok && gradeDiffers(string(tp.Fidelity.Grade), grade) {
		differ("grade %s, want %s", tp.Fidelity.Grade, grade)
	}
	text := writtenAs(tapes)
	for name, there := range map[string]bool{"holds": true, "lacks": false} {
		texts, _ := member[[]string](want, name)
		for _, one := range texts {
			if strings.Contains(text, one) != there {
				differ("the tapes hold %q: %t, want %t", one, !there, there)
			}
		}
	}
	if code, ok := member[string](want, "no_finding"); ok {
		code, _, _ = strings.Cut(code, " ")
		if slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return string(f.Code) == code }) {
			differ("finding %s", code)
		}
	}
	return wrong
}

// gradeDiffers compares a grade with one, or with "not offline" and reasons behind it.
func gradeDiffers(got, want string) bool {
	if strings.HasPrefix(want, "not offline") {
		return got == "offline" || got == "tools" && strings.Contains(want, "not tools")
	}
	return slices.Contains([]string{"offline", "model", "tools", "partial", "inspect"}, want) && got != want
}

func offers(tp *tape.Tape, name string) bool {
	for _, tool := range tp.Tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

// callsUnlike compares the tool calls with those that took place, in any order.
func callsUnlike(tp *tape.Tape, want []map[string]json.RawMessage) (wrong []string) {
	left := slices.DeleteFunc(slices.Clone(tp.Events), func(e tape.Event) bool { return e.Type != tape.EventToolCall })
	if len(left) != len(want) {
		wrong = append(wrong, fmt.Sprintf("%d tool calls, want %d", len(left), len(want)))
	}
	for _, c := range want {
		i := slices.IndexFunc(left, func(e tape.Event) bool {
			name, named := member[string](c, "name")
			args, hasArgs := c["args"]
			result, hasResult := c["result"]
			failed := len(c["error"]) > 0 && string(c["error"]) != "null" && string(c["error"]) != "false"
			return (!named || e.Name == name) && (!hasArgs || sameJSON(e.Args, string(args))) && (!hasResult || sameJSON(e.Result, string(result))) && (!failed || e.IsError)
		})
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("no call %s %s = %s", c["name"], c["args"], c["result"]))
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	return wrong
}

// sameJSON compares a value with a text that is JSON or a plain text, and texts that hold JSON by what they
// hold.
func sameJSON(got exactjson.Value, want string) bool {
	return opened(got.JSON()) == opened(want)
}

func opened(text string) string {
	for range 4 {
		v, err := exactjson.Parse(text)
		if err != nil {
			break
		}
		if v.Kind() != exactjson.String {
			if canonical, err := v.Canonical(); err == nil {
				return canonical
			}
			break
		}
		text = v.Str()
	}
	return strings.TrimSpace(text)
}

// writtenAs returns tapes as they are written, one below the other.
func writtenAs(tapes []*tape.Tape) string {
	var all []byte
	for _, tp := range tapes {
		all = append(tp.AppendJSON(all), '\n')
	}
	return string(all)
}
