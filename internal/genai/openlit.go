// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// openLIT reads what OpenLIT does beside the GenAI conventions: model spans repeat the calls that were asked for in the attributes of
// tools, wrappers have operations of their own, early versions write the prompt as lines of text.
var openLIT = &Dialect{
	ID:            "openlit",
	Name:          "OpenLIT",
	ScopePrefixes: []string{"openlit", "@openlit/"},
	Root:          "the outermost `invoke_agent`",
	Switch:        "on by default; `capture_message_content=False` turns it off",
	classify:      classifyOpenLIT,
	read:          readOpenLIT,
}

var openLITOperations = map[string]Class{
	"execute_task": Structure, "user_prompt_processing": Structure, "model_request": Structure, "tool_coordination": Structure,
	"vectordb": Noise, "image": Noise, "audio": Noise,
}

func classifyOpenLIT(s *Source) (Class, bool) {
	class, ok := openLITOperations[attributes(s.Span.Attributes()).str("gen_ai.operation.name")]
	if ok {
		return class, false
	}
	return classifySemconv(s)
}

func readOpenLIT(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Model:
		o.Streaming = a.str("gen_ai.request.is_stream") == "true"
		for _, e := range s.Span.Events().All() {
			if text := (attributes(e.Attributes())).str("gen_ai.prompt"); e.Name() == "gen_ai.content.prompt" && !looksJSON(text) {
				o.Request = promptLines(text)
			}
		}
	case Noise:
		o.NoiseReason = a.str("gen_ai.operation.name")
	}
}

// promptLines reads "role: text" lines. A text that itself has such lines cannot be told apart, so that several messages are lossy.
func promptLines(text string) []Message {
	var out []Message
	for line := range strings.SplitSeq(text, "\n") {
		name, rest, ok := strings.Cut(line, ": ")
		role, known := roles[name]
		if ok && known {
			out = append(out, Message{Role: role, Parts: []Part{textPart(rest)}})
			continue
		}
		if len(out) == 0 {
			return []Message{{Role: tape.RoleUser, Parts: []Part{textPart(text)}}}
		}
		out[len(out)-1].Parts[0].Text += "\n" + line
	}
	if len(out) > 1 {
		for _, m := range out {
			m.Parts[0].Label = tape.Lossy
		}
	}
	return out
}
