// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// weave reads W&B Weave's attributes that repeat the GenAI conventions under its own name.
var weave = &Dialect{
	ID:       "weave",
	Name:     "W&B Weave",
	Marks:    []string{"weave.", "wandb."},
	Root:     "the outermost `invoke_agent`",
	Switch:   "on by default",
	classify: func(s *Source) (Class, bool) { return classifySemconv(weaveSource(s)) },
	read: func(s *Source, o *Observation) {
		a := attributes(s.Span.Attributes())
		o.ConversationID = a.str("wandb.thread_id")
		if o.Class != Noise {
			readSemconv(weaveSource(s), o, false)
		}
		if in := a.json("input.value", "weave.input"); o.Class == Agent && len(o.Input) == 0 && !in.IsAbsent() {
			readWholeAgent(o, in, exactjson.Value{})
		}
	},
}

// weaveSource gives a span's mirrored attributes their conventional names.
func weaveSource(s *Source) *Source {
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
