// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sentry_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestSentryIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "sentry/langgraph")
	genaitest.SaysAsRecorded(t, genai.Read, "sentry/truncated")
}
