// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// readLangtrace reads what Langtrace's SDK for TypeScript writes in its own way. Of the AI SDK it wraps the
// functions that call the model and the tools until there is an answer. One span stands for the loop then: it
// holds the prompt without the instructions, and the last answer.
func readLangtrace(a decode.Attributes, o *dialect.Draft) {
	if len(o.Tools) == 0 {
		o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.request.tools"))
	}
	for _, m := range o.Response {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartText {
				p.Text = joinQuoted(p.Text)
			}
		}
	}
	if a.Text("langtrace.service.type") != "framework" {
		return
	}
	o.Quirks |= dialect.OmitsSystem
	if len(o.Tools) > 0 {
		o.AddNote(tape.CodeModelCallHidden, "response", "one span stands for every model call of the loop; it holds the prompt and the last answer")
	}
}

// joinQuoted joins the pieces of a stream that stand in a row as JSON strings. Other texts stay as they are.
func joinQuoted(text string) string {
	if !strings.HasPrefix(text, `"`) || !strings.HasSuffix(text, `"`) || len(text) < 2 {
		return text
	}
	var whole strings.Builder
	for rest := text; rest != ""; {
		end := 1
		for ; end < len(rest) && rest[end] != '"'; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		if end >= len(rest) {
			return text
		}
		piece, err := exactjson.Parse(rest[:end+1])
		if err != nil || piece.Kind() != exactjson.String {
			return text
		}
		whole.WriteString(piece.Str())
		if rest = rest[end+1:]; rest != "" && rest[0] != '"' {
			return text
		}
	}
	return whole.String()
}
