// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package weave reads W&B Weave.
package weave

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads W&B Weave's attributes that repeat the GenAI conventions under its own name.
var Dialect = &dialect.Dialect{
	ID:       "weave",
	Name:     "W&B Weave",
	Marks:    []string{"weave.", "wandb."},
	Root:     "the outermost `invoke_agent`",
	Switch:   "on by default",
	Classify: func(s *dialect.Source) (dialect.Class, bool) { return semconv.Classify(weaveSource(s)) },
	Read: func(s *dialect.Source, o *dialect.Draft) {
		a := decode.Attributes(s.Span.Attributes())
		o.ConversationID = a.Text("wandb.thread_id")
		if o.Class != dialect.Noise {
			semconv.Read(weaveSource(s), o, false)
		}
		if in := a.JSON("input.value", "weave.input"); o.Class == dialect.Agent && len(o.Input) == 0 && !in.IsAbsent() {
			dialect.ReadWholeAgent(o, in, exactjson.Value{})
		}
	},
}

// weaveSource gives a span's mirrored attributes their conventional names.
func weaveSource(s *dialect.Source) *dialect.Source {
	span := ptrace.NewSpan()
	s.Span.CopyTo(span)
	for key, v := range s.Span.Attributes().All() {
		rest, ok := strings.CutPrefix(key, "weave.")
		if !ok {
			continue
		}
		if !strings.HasPrefix(rest, "gen_ai.") {
			rest = "gen_ai." + rest
		}
		if _, there := span.Attributes().Get(rest); !there {
			v.CopyTo(span.Attributes().PutEmpty(rest))
		}
	}
	copied := *s
	copied.Span = span
	return &copied
}
