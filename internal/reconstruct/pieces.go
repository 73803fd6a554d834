// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// isPiece reports a model span that is a piece of the call around it: a chunk of a stream, or a step that
// tells nothing.
//
// Needs: a call around it with a request and an answer; no content but parts of that answer.
// Refuses: a span that names a model, an id of an answer, a request, tokens, a finish reason or a failure.
// Seen in: instrumentations that write a span for each chunk.
func isPiece(o, whole *genai.Observation) bool {
	if len(whole.Request) == 0 || len(whole.Response) == 0 || o.Model != "" || !silent(o) {
		return false
	}
	answer := whole.Response[len(whole.Response)-1].Parts
	return !slices.ContainsFunc(o.Response, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool {
			return !slices.ContainsFunc(answer, func(q genai.Part) bool { return isPartOf(&p, &q) })
		})
	})
}

// isPartOf reports a part of an answer that a piece of the answer tells, in whole or in part. The words of a
// chunk may spell out a call.
func isPartOf(p, whole *genai.Part) bool {
	switch {
	case whole.Type == tape.PartToolCall && p.Type == tape.PartText:
		return tellsOneCall(whole) && strings.Contains(p.Text, whole.ID)
	case p.Type != whole.Type:
		return false
	case p.Type == tape.PartText:
		return strings.Contains(whole.Text, p.Text)
	default:
		return p.Type == tape.PartToolCall && p.ID == whole.ID && p.Name == whole.Name
	}
}

// silent reports a model span without a request and without what comes with an answer.
func silent(o *genai.Observation) bool {
	return len(o.Request) == 0 && o.RequestLabel == "" && !usageKnown(o.Usage) && len(o.FinishReasons) == 0 && o.ResponseID == "" &&
		o.ResponseModel == "" && !isFailure(o)
}
