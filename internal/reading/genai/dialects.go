// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package genai holds the table of all dialects. It recognises the dialects of a span or log record. It reads
// the item into a report: what the item says about a run, in terms that do not depend on the dialect. It
// assigns log records to spans. It does not assemble runs.
//
// The types are those of package dialect. The decoders are in package decode. Each vendor has a folder below
// dialect.
package genai

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/anthropic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/braintrust"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/codex"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/copilot"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/flue"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/google"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/haystack"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/koog"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/laminar"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langfuse"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langsmith"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langtrace"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langwatch"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/litellm"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/livekit"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/llamaindex"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/mastra"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/microsoft"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/mlflow"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/monocle"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openlit"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openllmetry"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/pydantic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/sentry"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/springai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/strands"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/transcript"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/trpcagent"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/trulens"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/vercel"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/voltagent"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/waza"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/weave"
)

// Dialects is the table of all dialects; docs/dialects.md is generated from it. The order counts: the first
// that recognises a span is its dialect, so one that also follows a convention stands before it. There is
// room for 62, see the bits in recognise.go.
var Dialects = []*dialect.Dialect{
	semconv.Tee, forge.Dialect, transcript.ClaudeCode, anthropic.ClaudeCode, anthropic.ClaudeAPI, transcript.GeminiCLI, google.GeminiCLI, google.QwenCode, transcript.Codex, codex.Dialect, transcript.OpenCode, copilot.Dialect, waza.Dialect,
	langfuse.Dialect, langsmith.Dialect, langwatch.Dialect, langtrace.Dialect, laminar.Dialect, braintrust.Dialect, mlflow.Dialect, weave.Dialect, trulens.Dialect, monocle.Dialect, sentry.Dialect,
	vercel.AI, vercel.GenAI, pydantic.AI, pydantic.Logfire, google.ADK, strands.Dialect, mastra.Dialect, google.Genkit, trpcagent.Dialect,
	microsoft.AgentFramework, microsoft.DotnetAI, microsoft.SemanticKernel, microsoft.AutoGen, springai.Dialect, livekit.Dialect,
	voltagent.Dialect, flue.Dialect, haystack.Dialect, llamaindex.Dialect, koog.Dialect, anthropic.ClaudeAgent, openinference.Dialect, openlit.Dialect,
	litellm.Dialect, openllmetry.Dialect, semconv.Python, google.GenAI, generic.Dialect, semconv.Dialect, generic.Unknown,
}

// ContentSettings returns the variables that turn on the capture of content for all dialects at once, each
// once, in the order of the table.
func ContentSettings() (list []dialect.Setting) {
	for _, d := range Dialects {
		for _, s := range d.Settings {
			if !s.Yields && !s.Optional && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}
