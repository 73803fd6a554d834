// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestMicrosoftSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"microsoft/agentframework", "microsoft/semantickernel"} {
		saysAsRecorded(t, Read, name)
	}
}

func TestDotnetResultsAreDecodedOnce(t *testing.T) {
	for text, want := range map[string]string{`"3"`: `"3"`, `{"a":1}`: `"{\"a\":1}"`} {
		s := spanSource("Experimental.Microsoft.Extensions.AI", "execute_tool add", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "add", "gen_ai.tool.call.result", text)
		if got := Read(s).Result.Value.JSON(); got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestTRPCAgentSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"trpcagent/tools", "trpcagent/error"} {
		saysAsRecorded(t, Read, name)
	}
}
