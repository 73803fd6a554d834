// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package runner

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "  ": nil, "a b": {"a", "b"}, " a\t'b c'\n": {"a", "b c"}, `a"b c"d ''`: {"ab cd", ""}, `a\ b "\"\\\x" '\'`: {"a b", `"\\x`, `\`}, "$HOME *": {"$HOME", "*"},
	} {
		if got, err := Split(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`a "b`, `'`, `a\`} {
		if got, err := Split(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, reference := range []string{"", "exec", "exec:", "exec:  ", `exec:a "b`, "python:a", "python:a:", "python::b", "python:a:b:c", "python:a b:c", "python:a:b.c", "python:../a:b", "node:a"} {
		if _, err := Parse(reference); err == nil {
			t.Errorf("%q is taken", reference)
		}
	}
}

const functions = `
__version__ = "7"
from types import SimpleNamespace

def plain(trace_input, config, tool_cache):
    print("a log")
    return "plain: " + trace_input.user_message + " " + str(config.model)

async def later(trace_input, config, tool_cache):
    return {"text": "later: " + trace_input.user_message, "tool_spans": [{"name": "t", "args": {"a": 1}}]}

def asks(trace_input, config, tool_cache):
    first = tool_cache.lookup("search", {"q": "\u00e9"})
    try:
        tool_cache.lookup("other", {})
    except Exception as e:
        return SimpleNamespace(text="%s, then %s" % (first, type(e).__name__))

def misses(trace_input, config, tool_cache):
    return tool_cache.lookup("other", {})

def fails(trace_input, config, tool_cache):
    raise ValueError("no such thing")
`

func TestPythonFunctionsAreRunners(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "functions.py"), []byte(functions), 0o600); err != nil {
		t.Fatal(err)
	}
	for attribute, want := range map[string]string{"plain": "plain: hi m-2", "later": "later: hi", "asks": "42, then Miss", "misses": "tool_cache_miss: ", "fails": "runner_exception: no such thing"} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			config, err := Parse("python:functions:" + attribute)
			if err != nil {
				t.Fatal(err)
			}
			config.Dir, config.Hello, config.ReplayTimeout = dir, time.Minute, time.Minute
			lane, err := execlane.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if id := lane.Identity(); id.Name != "functions:"+attribute || id.Version != "7" || strings.Contains(strings.Join(id.Argv, ""), "import") {
				t.Errorf("%+v", id)
			}
			model := "m-2"
			for range 2 {
				result, err := lane.Replay(t.Context(), contract.TraceInput{UserMessage: "hi"}, contract.ReplayConfig{Model: &model}, func(tool string, args json.RawMessage) execlane.Answer {
					if key, _ := contract.ToolKey(tool, string(args)); key == `search::{"q":"\u00e9"}` {
						return execlane.Answer{JSON: json.RawMessage("42")}
					}
					return execlane.Answer{}
				})
				got := result.Output.Text
				var failed *execlane.Failure
				if errors.As(err, &failed) {
					got = failed.Error()
				} else if err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if err := lane.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`node "a b" 'c'\ d`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := Split(text)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		if again, err := Split(strings.Join(quoted, " ")); err != nil || !reflect.DeepEqual(again, words) {
			t.Errorf("%q: %q, then %q %v", text, words, again, err)
		}
	})
}
