// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// suspectFrames marks results that are a text in a frame.
//
// Needs: a result that the span or the conversation shows, but not both: nothing proves where the frame ends.
// Refuses: a failure; a value that is damaged already.
// Seen in: programs that put a header or a tag around what a tool answered.
func (b *Builder) suspectFrames() {
	for _, k := range b.Ordered {
		if k.Kind != tape.EventToolCall || k.Obs.Handoff {
			continue
		}
		result, shown := k.Obs.Result, (*genai.Part)(nil)
		if k.By != nil {
			shown = k.By.Shown
		}
		if !result.Present() && shown != nil && shown.Label == "" && !shown.IsError {
			result = genai.Content{Value: shown.Result, Envelope: shown.Envelope}
		} else if !result.Present() || result.Label != "" || shown != nil {
			continue
		}
		if result.Suspected = frameOf(result.Value); result.Suspected == "" {
			continue
		}
		result.Label = tape.Lossy
		o := k.Obs.Draft()
		o.Result = result
		k.Obs = o.Seal()
		if shown != nil {
			part := *shown
			part.Label = tape.Lossy
			k.By.Shown = &part
		}
	}
}

// textHeader is what a program puts before the answer of a tool: lines of a name and a value each, then the
// name of what follows.
var textHeader = regexp.MustCompile(`^(?:[A-Z][A-Za-z ]{0,40}: [^\n]{1,80}\n)+(Output|Result|Response|Content):\n`)

// frameOf names the frame around a text, or around the text that is the only member of a value: a header, or
// a tag of several words around all of it, which no markup language has. It returns "" where there is none.
func frameOf(v exactjson.Value) string {
	if name, inner, ok := sole(v); ok && slices.Contains(valueNames, name) {
		v = inner
	}
	text := strings.TrimSpace(v.Str())
	if strings.Contains(text, ":\n") { // of which the pattern has one: a long text without is not matched
		if m := textHeader.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	if end := strings.IndexByte(text, '>'); end > 1 && end <= chat.MaxBesides && text[0] == '<' {
		tag := text[1:end]
		if strings.ContainsAny(tag, "_-") && !strings.ContainsAny(tag, " /!?\"'=") && strings.HasSuffix(text, "</"+tag+">") {
			return tag
		}
	}
	return ""
}
