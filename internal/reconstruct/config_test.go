// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

func TestRunOfAToolAloneSaysWhichModelAndThatItFailed(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user(`[{"role":"user","content":"first"},{"role":"assistant","content":"yes?"},{"role":"user","content":"quote"}]`)),
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"too long"}],"finish_reason":"error"}]`)
	tr.tool("f", 2, 1, 10, 20, "c1", `{}`, `1`)
	tp := tr.runs(t)[0]
	if tp.Config.Model != "m1" {
		t.Errorf("model %q", tp.Config.Model)
	}
	if tp.Run.Status != tape.StatusError {
		t.Errorf("status %s: the answer is marked as an error", tp.Run.Status)
	}
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "quote" {
		t.Errorf("user message %v", tp.Input.UserMessage)
	}
}
