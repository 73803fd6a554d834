// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package weave_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestWeaveMirrorsTheConventions(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("weave", "execute_tool f", "weave.operation.name", "execute_tool", "weave.tool.name", "f", "weave.tool.call.arguments", `{"a":1}`, "weave.tool.call.result", "r", "wandb.thread_id", "t1")),
		"class: tool\ndialect: weave\nconversation: t1\nname: f\nargs: {\"a\":1}\nresult: \"r\"\n")
}
