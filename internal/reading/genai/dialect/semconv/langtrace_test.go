// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

// Langtrace wraps the functions of the AI SDK, which call the model and the tools until there is an answer.
func TestSpanOfLangtraceForAFunctionOfTheAISDKStandsForALoop(t *testing.T) {
	const tools = `{"get_weather":{"description":"Tell the weather.","parameters":{"jsonSchema":{"type":"object"}}}}`
	for name, c := range map[string]struct {
		sdk, kind, tools, said, want string
		loop                         bool
	}{
		"a stream":          {"@langtrase/typescript-sdk", "framework", tools, `\"One m\"\"oment.\"`, "One moment.", true},
		"no tools":          {"@langtrase/typescript-sdk", "framework", "", "Hi.", "Hi.", false},
		"a provider's SDK":  {"@langtrase/typescript-sdk", "llm", tools, `He said \"no\"`, `He said "no"`, false},
		"quotes at the end": {"@langtrase/typescript-sdk", "framework", tools, `\"No\" and \"yes\"`, `"No" and "yes"`, true},
		"another SDK":       {"other", "framework", tools, `\"a\"\"b\"`, `"a""b"`, false},
	} {
		o := genai.Read(genaitest.Span("x", "ai.streamText", "langtrace.sdk.name", c.sdk, "langtrace.service.type", c.kind, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1",
			"gen_ai.request.tools", c.tools, "gen_ai.prompt", "hi", "gen_ai.completion", `[{"role":"assistant","content":"`+c.said+`"}]`))
		loop := slices.ContainsFunc(o.Notes, func(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden && n.Field == "response" })
		if loop != c.loop || len(o.Response) != 1 || o.Response[0].Parts[0].Text != c.want {
			t.Errorf("%s: loop %v, said %v", name, loop, o.Response)
		}
		if c.sdk != "other" && c.tools != "" && (len(o.Tools) != 1 || o.Tools[0].Name != "get_weather" || o.Tools[0].Parameters.Get("type").Str() != "object") {
			t.Errorf("%s: tools %v", name, o.Tools)
		}
	}
}
