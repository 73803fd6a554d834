// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package copilot reads the GitHub Copilot CLI.
package copilot

import (
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/semconv"
)

// Dialect reads the GitHub Copilot CLI, which writes the conventions under a scope of its own.
var Dialect = &dialect.Dialect{
	ID:       "copilot-cli",
	Name:     "GitHub Copilot CLI",
	Scopes:   []string{"github.copilot", "@github/copilot"},
	Marks:    []string{"github.copilot."},
	Root:     "`invoke_agent`",
	Rooted:   true,
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	Settings: []dialect.Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "true", Yields: true}},
	Classify: semconv.Classify,
	Read: func(s *dialect.Source, o *dialect.Observation) {
		a := decode.Attributes(s.Span.Attributes())
		o.InvocationID = a.Text("github.copilot.interaction_id", "github.copilot.turn_id")
		o.Extra = decode.Extras(a, "github.copilot", "github.copilot.cost", "github.copilot.aiu", "github.copilot.turn_count")
		if o.Class == dialect.Agent {
			o.Agent.Version = decode.Attributes(s.Resource).Text("service.version")
		}
	},
}
