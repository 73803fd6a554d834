// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestListThatIsWholeButNotJSONIsNotSaidToBeCut(t *testing.T) {
	a := genaitest.Flat("gen_ai.input.messages", `[{'role': 'user', 'content': 'hi'}]`)
	messages, label := semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, &dialect.Observation{})
	if label == tape.Truncated && len(messages) == 0 {
		t.Error("a list in Python's spelling is lost as cut")
	}
	a = genaitest.Flat("gen_ai.input.messages", `[urgent] please answer`)
	messages, label = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, &dialect.Observation{})
	if label == tape.Truncated && len(messages) == 0 {
		t.Error("a plain text that starts with a bracket is lost as cut")
	}
}
