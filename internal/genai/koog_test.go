// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestKoogIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, Read, "koog/langfuse") }
