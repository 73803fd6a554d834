// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// Redaction changes the length by which Forge's cut is told from a tool that prints its marker.
func TestCutByForgeIsKnownAfterRedaction(t *testing.T) {
	const token, marker = "[REDACTED:email:aaaaaaaaaaaaaaaaaaaaaaaaaa]", "…[truncated:5000]"
	for name, c := range map[string]struct {
		text string
		want tape.Label
	}{
		"as cut":          {strings.Repeat("x", 4069) + marker, tape.Truncated},
		"redacted":        {strings.Repeat("x", 3000) + token + strings.Repeat("x", 800) + marker, tape.Truncated},
		"printed":         {strings.Repeat("x", 3000) + marker, ""},
		"of small values": {token + "…[truncated:50]", ""},
	} {
		if got := decode.LabelOf(c.text); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if body := token + " and more"; !begins(body, "jane.doe@corp") || begins(body, strings.Repeat("y", maxDivided+1)) || begins("a "+body, "b") {
		t.Error("a prefix that was cut within a redacted value")
	}
}
