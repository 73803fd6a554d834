// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

// copilot reads the GitHub Copilot CLI, which writes the conventions under a scope of its own.
var copilot = &Dialect{
	ID:       "copilot-cli",
	Name:     "GitHub Copilot CLI",
	Scopes:   []string{"github.copilot", "@github/copilot"},
	Marks:    []string{"github.copilot."},
	Root:     "`invoke_agent`",
	Rooted:   true,
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	classify: classifySemconv,
	read: func(s *Source, o *Observation) {
		a := attributes(s.Span.Attributes())
		o.InvocationID = a.str("github.copilot.interaction_id", "github.copilot.turn_id")
		o.Extra = extras(a, "github.copilot", "github.copilot.cost", "github.copilot.aiu", "github.copilot.turn_count")
		if o.Class == Agent {
			o.Agent.Version = attributes(s.Resource).str("service.version")
		}
	},
}
