// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

// An instrumentation that cannot read an answer ends the span of the call with what it raised itself.
func TestFailureOfTheInstrumentationIsNoneOfTheCall(t *testing.T) {
	const site = `/env/lib/python3.11/site-packages/`
	for frames, failed := range map[string]bool{
		"openlit/instrumentation/groq/groq.py":                                              false,
		"openlit/instrumentation/groq/groq.py pydantic/main.py":                             false, // response.x_groq
		"opentelemetry/instrumentation/openai/shared/chat_wrappers.py groq/_base_client.py": true,
		"openlit/instrumentation/groq/groq.py groq/_base_client.py":                         true,
		"openlit/instrumentation/groq/groq.py groq/_models.py pydantic/main.py":             true,
		"pydantic/main.py": true,
		"app.py":           true,
		"":                 true,
	} {
		s := genaitest.Span("openlit.otel.tracing", "chat m", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m")
		s.Span.Status().SetCode(ptrace.StatusCodeError)
		e := s.Span.Events().AppendEmpty()
		e.SetName("exception")
		stack := "Traceback (most recent call last):\n"
		for _, file := range strings.Fields(frames) {
			stack += `  File "` + site + file + "\", line 224, in wrapper\n    response.x_groq[\"id\"])\n    ^^^^^\n"
		}
		e.Attributes().PutStr("exception.stacktrace", stack+"AttributeError: no\n")
		noted := func() bool {
			return slices.ContainsFunc(genai.Read(s).Notes, func(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden })
		}
		if noted() == failed {
			t.Errorf("%q: noted %v", frames, !failed)
		}
		s.Span.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		if noted() {
			t.Errorf("%q: what failed in a tool is its failure", frames)
		}
	}
}
