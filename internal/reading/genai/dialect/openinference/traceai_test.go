// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestEmptyObjectsOfTraceAIForSmolagentsMayBeAnything(t *testing.T) {
	for name, c := range map[string]struct {
		scope, in, out string
		args, result   tape.Label
	}{
		"whole":             {"traceai_smolagents", `{"args":{},"x":1,"sanitize_inputs_outputs":true}`, `{"rows":[1]}`, "", ""},
		"no arguments":      {"traceai_smolagents", `{"args":{},"sanitize_inputs_outputs":true}`, `"two"`, "", ""},
		"an empty argument": {"traceai_smolagents", `{"args":{},"x":{},"sanitize_inputs_outputs":true}`, `{"rows":[{"a":{}}]}`, tape.Lossy, tape.Lossy},
		"nothing":           {"traceai_smolagents", `{"args":{},"x":1,"sanitize_inputs_outputs":true}`, `{}`, "", tape.Lossy},
		"an object's text":  {"traceai_smolagents", `{"args":{},"x":1,"sanitize_inputs_outputs":true}`, `{"_value":"two"}`, "", tape.Lossy},
		"another package":   {"openinference.instrumentation.smolagents", `{"args":[],"x":{},"sanitize_inputs_outputs":true}`, `{"rows":{}}`, "", ""},
	} {
		o := genai.Read(genaitest.Span(c.scope, "LookTool", "gen_ai.span.kind", "TOOL", "openinference.span.kind", "TOOL", "gen_ai.tool.name", "look", "input.value", c.in, "output.value", c.out))
		if o.Class != genai.Tool || o.Args.Label != c.args || o.Result.Label != c.result {
			t.Errorf("%s: %v, arguments %s %q, result %s %q", name, o.Class, o.Args.Value.JSON(), o.Args.Label, o.Result.Value.JSON(), o.Result.Label)
		}
	}
}
