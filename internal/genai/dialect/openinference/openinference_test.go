// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference_test

import (
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestFlattenedMessagesAreReadInTheirOrder(t *testing.T) {
	var kv []string
	for i := 11; i >= 0; i-- {
		kv = append(kv, fmt.Sprintf("llm.input_messages.%d.message.role", i), "user", fmt.Sprintf("llm.input_messages.%d.message.content", i), fmt.Sprint(i))
	}
	messages, ok := openinference.Messages(genaitest.Flat(kv...).Unflatten("llm.input_messages."))
	if !ok || len(messages) != 12 {
		t.Fatalf("%v", genaitest.Messages(messages))
	}
	for i, m := range messages {
		if m.Role != tape.RoleUser || m.Parts[0].Text != fmt.Sprint(i) {
			t.Errorf("message %d is %v", i, genaitest.Messages(messages[i:i+1]))
		}
	}
}
