// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestResultsOfSeveralCallsAreNoResultOfOne(t *testing.T) {
	const one, two = `{"message":{"role":"tool","content":"a","tool_id":"c1"}}`, `{"message":{"role":"tool","content":"b","tool_id":"c2"}}`
	for text, want := range map[string]bool{
		`{"choices":[` + one + `,` + two + `]}`:                                    true,
		`{"choices":[` + one + `]}`:                                                false,
		`{"choices":[` + one + `,{"message":{"role":"assistant","content":"x"}}]}`: false,
		`{"choices":["red","blue"]}`:                                               false,
		`plain`:                                                                    false,
	} {
		if got := decode.RepeatsResults(exactjson.StringValue(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
