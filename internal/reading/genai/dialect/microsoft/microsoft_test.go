// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package microsoft_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestMicrosoftSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"microsoft/agentframework", "microsoft/semantickernel"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}

func TestDotnetResultsAreDecodedOnce(t *testing.T) {
	for text, want := range map[string]string{`"3"`: `"3"`, `{"a":1}`: `"{\"a\":1}"`} {
		s := genaitest.Span("Experimental.Microsoft.Extensions.AI", "execute_tool add", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "add", "gen_ai.tool.call.result", text)
		if got := genai.Read(s).Result.Value.JSON(); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}
