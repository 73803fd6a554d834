// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic

import (
	"testing"

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
