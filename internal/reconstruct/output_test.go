// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"
)

// cutTo is a value as an SDK with a limit of so many characters keeps it: no mark says so, but that several values end there.
func cutTo(limit int, value string) string {
	if r := []rune(value); len(r) > limit {
		return string(r[:limit])
	}
	return value
}

// The last response was cut behind the text of the answer: what the run span tells whole, and the same, is the answer.
func TestAnswerThatTheRunSpanTellsWhole(t *testing.T) {
	response := `{"id":"r1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"content":"seven warm engines","role":"assistant","annotations":["` + strings.Repeat("x", 400) + `"]}}]}`
	for name, c := range map[string]struct{ root, want string }{
		"the same": {`"seven warm engines"`, "seven warm engines"},
		"nothing":  {``, ""},
	} {
		tr := newTrace()
		attrs := []any{"mlflow.spanType", `"AGENT"`, "mlflow.spanInputs", `{"question":"q"}`}
		if c.root != "" {
			attrs = append(attrs, "mlflow.spanOutputs", c.root)
		}
		tr.in("mlflow", "assistant", 1, 0, 0, 100, attrs...)
		for i := range 2 {
			tr.in("mlflow", "Completions", 2+i, 1, 10+20*i, 20+20*i, "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.spanInputs", cutTo(256, `{"messages":[{"role":"user","content":"q"}],"model":"m1","tools":[{"x":"`+strings.Repeat("y", 400+i)+`"}]}`), "mlflow.spanOutputs", cutTo(256, response))
		}
		got := ""
		if text := the(t, tr.runs(t)).Output.Text; text != nil {
			got = *text
		}
		if got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
