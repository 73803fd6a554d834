// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// What was set already is no advice, and what turns content off is named.
func TestAdviceIsNotCircular(t *testing.T) {
	var claude, codex *genai.Dialect
	for _, d := range genai.Dialects {
		switch d.ID {
		case "claude-code":
			claude = d
		case "codex":
			codex = d
		}
	}
	all := []string{"CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1", "OTEL_LOG_USER_PROMPTS=1", "OTEL_LOG_ASSISTANT_RESPONSES=1", "OTEL_LOG_TOOL_DETAILS=1", "OTEL_LOG_TOOL_CONTENT=1"}
	off := append([]string{"OTEL_LOG_USER_PROMPTS=0"}, all[2:]...)
	for name, c := range map[string]struct {
		dialect *genai.Dialect
		given   *Given
		fix     func(*Diagnosis, *genai.Dialect) string
		has     string
		hasNot  string
	}{
		"nothing is known":        {claude, nil, contentSwitch, "OTEL_LOG_TOOL_CONTENT=1", "no setting"},
		"all is set":              {claude, &Given{Env: all}, contentSwitch, "no setting is missing", "OTEL_LOG"},
		"the program is known":    {claude, &Given{Env: all, Dialect: "claude-code"}, contentSwitch, "no setting is missing", "OTEL_LOG"},
		"one is not set":          {claude, &Given{Env: all[1:]}, contentSwitch, "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1", "no setting"},
		"one is off":              {claude, &Given{Env: off, Dialect: "claude-code"}, contentSwitch, "OTEL_LOG_USER_PROMPTS=0, which turns content off", "no setting"},
		"no setting brings it":    {codex, &Given{Dialect: "codex", Lacks: "Codex does not"}, contentSwitch, "no setting: Codex does not", "[otel]"},
		"another program":         {codex, &Given{Dialect: "claude-code", Lacks: "x"}, contentSwitch, "[otel]", "no setting"},
		"a value is cut":          {claude, &Given{Env: all}, lengthLimit, "no setting", "RAW_API_BODIES"},
		"a value is cut, unknown": {claude, nil, lengthLimit, "OTEL_LOG_RAW_API_BODIES=file:DIR", "no setting"},
		"bodies lie in files":     {claude, &Given{Env: all}, external, "unset OTEL_LOG_RAW_API_BODIES", "=1"},
		"no tape":                 {claude, &Given{Env: all}, noTape, "no setting is missing", "OTEL_LOG"},
	} {
		if got := c.fix(&Diagnosis{given: c.given}, c.dialect); !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestAdviceWithoutADialectNamesAVariable: also who is told apart by nothing gets a setting to try.
func TestAdviceWithoutADialectNamesAVariable(t *testing.T) {
	for _, d := range []*genai.Dialect{nil, {Switch: "depends on the program"}} {
		if got := contentSwitch(&Diagnosis{}, d); !strings.Contains(got, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY") {
			t.Errorf("%v: %s", d, got)
		}
	}
}
