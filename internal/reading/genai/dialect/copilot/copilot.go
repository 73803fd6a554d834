// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package copilot reads the GitHub Copilot CLI.
package copilot

import (
	"regexp"
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
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
	Classify: classify,
	Read: func(s *dialect.Source, o *dialect.Draft) {
		a := decode.Attributes(s.Span.Attributes())
		o.InvocationID = a.Text("github.copilot.interaction_id", "github.copilot.turn_id")
		o.Extra = decode.Extras(a, "github.copilot", "github.copilot.cost", "github.copilot.aiu", "github.copilot.turn_count")
		semconv.Read(s, o, false)
		if o.Class == dialect.Agent {
			o.Agent.Version = decode.Attributes(s.Resource).Text("service.version")
		}
		for _, list := range []*[]decode.Message{&o.Request, &o.Response, &o.Input, &o.Output} {
			*list = asSaid(*list)
		}
	},
}

// classify leaves out the span of a model call that the runtime began twice. It tells no answer, no tokens,
// no reason of an end and no failure.
func classify(s *dialect.Source) (dialect.Class, bool) {
	class, root := semconv.Classify(s)
	if class == dialect.Model && s.Span.Status().Code() == ptrace.StatusCodeUnset && !dialect.HasPrefixed(s.Span, "gen_ai.response.") && !dialect.HasPrefixed(s.Span, "gen_ai.usage.") &&
		!dialect.HasPrefixed(s.Span, "gen_ai.output.") && !dialect.HasPrefixed(s.Span, "error.") && dialect.HasPrefixed(s.Span, "github.copilot.turn_id") {
		return dialect.Structure, root
	}
	return class, root
}

// asSaid takes out what the runtime of the SDK (1.0) adds to a conversation: every message, and every part of
// one, may come twice, and a line of its own stands before what the user said.
func asSaid(messages []decode.Message) []decode.Message {
	for i := range messages {
		messages[i].Parts = single(messages[i].Parts, samePart)
	}
	messages = single(messages, func(a, b decode.Message) bool {
		return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, samePart)
	})
	for i, m := range messages {
		if m.Role != tape.RoleUser {
			continue
		}
		var parts []decode.Part
		for _, p := range m.Parts {
			if before := datetime.FindString(p.Text); before != "" && len(before) < len(p.Text) {
				injected := decode.TextPart(before)
				injected.Injected = true
				parts = append(parts, injected)
				p.Text = p.Text[len(before):]
			}
			parts = append(parts, p)
		}
		messages[i].Parts = parts
	}
	return messages
}

// datetime is what stands before the words of a user.
var datetime = regexp.MustCompile(`^<current_datetime>[^<]*</current_datetime>\s*`)

// single returns a list without repetitions where every element comes twice in a row, and other lists as they
// are.
func single[T any](list []T, same func(a, b T) bool) []T {
	if len(list)%2 == 1 {
		return list
	}
	var once []T
	for i := 0; i < len(list); i += 2 {
		if !same(list[i], list[i+1]) {
			return list
		}
		once = append(once, list[i])
	}
	return once
}

// samePart reports two parts that say the same.
func samePart(a, b decode.Part) bool {
	return a.Type == b.Type && a.ID == b.ID && a.Name == b.Name && a.Text == b.Text && a.Args.Equal(b.Args) && a.Result.Equal(b.Result)
}
