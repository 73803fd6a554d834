// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package trpcagent_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestTRPCAgentSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"trpcagent/tools", "trpcagent/error"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}
