// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openlit_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestOpenLITIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/events")
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/openai")
}

func TestOpenLITPromptLinesAreLossyWhenThereAreSeveral(t *testing.T) {
	messages := decode.PromptLines("system: be brief\nuser: first line\nsecond line")
	if len(messages) != 2 || messages[1].Parts[0].Text != "first line\nsecond line" || messages[0].Parts[0].Label != "lossy" {
		t.Errorf("got %+v", messages)
	}
}

func TestOpenLITStateOfAGraphIsReadWhereItIsWhole(t *testing.T) {
	state := `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"end"}}]}`
	for out, want := range map[string]int{state: 1, state[:len(state)-9]: 0} {
		o := genai.Read(genaitest.Span("@openlit/instrumentation-langchain", "invoke_workflow a", "gen_ai.operation.name", "invoke_workflow", "gen_ai.workflow.output", out))
		if len(o.Output) != want {
			t.Errorf("%d bytes: %d messages, want %d", len(out), len(o.Output), want)
		}
	}
}
