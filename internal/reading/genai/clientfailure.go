// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// FailedInModelClient reports a span that failed with what a client of a model's API threw. The class of the
// error says so, or the exception was raised in the code of such a client. The error of a tool that calls
// another API has neither.
func FailedInModelClient(span ptrace.Span) bool {
	if modelErrors.MatchString(decode.Attributes(span.Attributes()).Text("error.type", "exception.type")) {
		return true
	}
	for _, e := range span.Events().All() {
		if e.Name() != "exception" {
			continue
		}
		a := decode.Attributes(e.Attributes())
		if modelErrors.MatchString(a.Text("exception.type")) || modelClients.MatchString(raisedIn(a.Text("exception.stacktrace"))) {
			return true
		}
	}
	return false
}

// modelErrors are error classes of clients of models, by their module, and of frameworks, by what they name:
// openai.BadRequestError, AI_APICallError, ModelHTTPError.
var modelErrors = regexp.MustCompile(`^(openai|anthropic|litellm|groq|mistralai|cohere|ollama|together|google\.genai|zhipuai|dashscope)\.|^AI_(APICall|Retry)Error$|(^|\.)(Chat)?(Model|LLM)[A-Za-z]*(HTTP|API|Service|Request|Response|Provider|Call)[A-Za-z]*(Error|Exception)$`)

// modelClients are the folders of packages that are clients of models and nothing else.
var modelClients = regexp.MustCompile(`/node_modules/(openai|@anthropic-ai/sdk|@google/genai|@ai-sdk/[\w-]+|groq-sdk|@mistralai/mistralai|cohere-ai|together-ai|ollama|@aws-sdk/client-bedrock-runtime|@azure-rest/ai-inference)/` +
	`|/(site|dist)-packages/(openai|anthropic|litellm|groq|mistralai|cohere|ollama|together|google/genai|zhipuai|dashscope)/`)

// raisedIn returns the file in which the exception of a stack was raised: that of the first frame in
// JavaScript, that of the last in Python.
func raisedIn(stack string) string {
	if file := lastFrame(stack); file != "" {
		return file
	}
	_, frames, _ := strings.Cut(stack, "\n    at ")
	first, _, _ := strings.Cut(frames, "\n")
	return first
}
