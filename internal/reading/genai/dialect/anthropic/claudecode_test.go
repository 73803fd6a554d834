// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestClaudeCodeArgumentsThatWereRedactedAreNotTakenForCut(t *testing.T) {
	size := int64(400)
	for text, want := range map[string]tape.Label{
		`{"token":"[REDACTED:jwt:kkb7zrhoj7k2qn7fgkthcp2zbq]"}`: "",
		`{"token":"short"}`: tape.Truncated,
	} {
		if got := claudeCodeArgs(exactjson.StringValue(text), &size); got.Label != want {
			t.Errorf("%s: %q, want %q", text, got.Label, want)
		}
	}
}

// A system message within the conversation does not stand in place of the instructions.
func TestInstructionsBesideASystemMessage(t *testing.T) {
	for body, want := range map[string]string{
		`{"system":[{"type":"text","text":"Be kind."}],"messages":[{"role":"user","content":"hi"},{"role":"system","content":"Agents: none."}]}`: "system user system",
		`{"system":"Be kind.","messages":[{"role":"user","content":"hi"}]}`:                                                                      "user",
		`{"messages":[{"role":"user","content":"hi"},{"role":"system","content":"Agents: none."}]}`:                                              "user system",
	} {
		v, err := exactjson.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		var o dialect.Draft
		ReadRequest(v, &o)
		var roles []string
		for _, m := range o.Request {
			roles = append(roles, string(m.Role))
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
