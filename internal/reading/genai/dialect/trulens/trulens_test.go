// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package trulens_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestTruLensIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "trulens/rag")
}
