// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestWazaIsReadAsWritten(t *testing.T) { genaitest.SaysAsRecorded(t, genai.Read, "eval") }

func TestWithoutPayloadsNothingIsInvented(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("github.com/microsoft/waza", "waza.tool_call", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "view",
		"waza.tool.arguments.sha256", "ab", "waza.tool.arguments.length", "17", "waza.tool.success", "true")), "class: tool\ndialect: waza\nname: view\nkind: function\n")
}
