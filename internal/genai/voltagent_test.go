// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestVoltAgentIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, Read, "voltagent/agent") }
