// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// NameAfter returns what follows the first of the prefixes that a span name begins with, "" when it begins with none.
func NameAfter(name string, prefixes ...string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// toolSpan is what stands before the name of a tool in the name of its span.
var toolSpan = regexp.MustCompile(`^(?i:execute[_ ]tool|tools/call|call[_ ]tool|run[_ ]tool|tool[_ ]call|tool)[ ./]([\w./-]+)$`)

// toolWord is the word in the name of a span that says that a tool is named behind it. A toolbar is none.
var toolWord = regexp.MustCompile(`(?i:\btools?\b|_tools?\b|\btools?_)|[a-z]Tools?\b|\b[Tt]ools?[A-Z]`)

// ToolOfSpan returns the name of a tool whose span is named after it, without what says that it is a tool: tool: 'search', execute_tool search, search.tool.
func ToolOfSpan(span string) string {
	if before, name, ok := strings.Cut(span, ":"); ok && toolWord.MatchString(before) {
		return strings.Trim(strings.TrimSpace(name), "'\"")
	}
	if m := toolSpan.FindStringSubmatch(span); m != nil && !toolStep[m[1]] {
		return m[1]
	}
	return strings.TrimSuffix(span, ".tool")
}

// toolStep are words that stand behind "tool" in the names of spans that are not named after one.
var toolStep = map[string]bool{"call": true, "use": true, "execution": true, "invocation": true, "run": true, "execute": true, "invoke": true, "result": true, "calls": true}

var providerAliases = map[string]string{"openai": "openai", "anthropic": "anthropic", "azure": "azure.ai.openai", "xai": "x_ai"}

// frameworks stand in the provider's place with some instrumentations.
var frameworks = map[string]bool{
	"langchain": true, "langgraph": true, "strands-agents": true, "strands": true, "mastra": true, "haystack": true, "autogen": true, "spring_ai": true, "crewai": true,
	"microsoft.agent_framework": true, "trpc.go.agent": true, "gcp.vertex.agent": true, "unknown": true,
}

// Provider returns the tape's name of a model provider, "" when the name is that of a framework.
func Provider(name string) string {
	name = strings.ToLower(name)
	if frameworks[name] {
		return ""
	}
	if alias, ok := providerAliases[name]; ok {
		return alias
	}
	return name
}

// ModelName returns the name of a model, "" for a placeholder.
func ModelName(name string) string {
	if name == "unknown" || chatClasses[name] {
		return ""
	}
	return name
}

var dated = regexp.MustCompile(`-(?:\d{4}-\d{2}-\d{2}|\d{8})$`)

// IsDated reports the name of a model with its date, as a provider's answer names it when it was asked for by a name without one.
func IsDated(name string) bool {
	return name != "" && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' && dated.MatchString(name)
}

// chatClasses are LangChain's classes of chat models. Handlers that find no name in the parameters write the class instead.
var chatClasses = map[string]bool{
	"ChatOllama": true, "ChatOpenAI": true, "AzureChatOpenAI": true, "ChatAnthropic": true, "ChatAnthropicMessages": true, "ChatGoogleGenerativeAI": true, "ChatVertexAI": true,
	"ChatBedrock": true, "ChatBedrockConverse": true, "BedrockChat": true, "ChatGroq": true, "ChatMistralAI": true, "ChatCohere": true, "ChatFireworks": true, "ChatTogetherAI": true,
	"ChatTogether": true, "ChatXAI": true, "ChatDeepSeek": true, "ChatPerplexity": true, "ChatWatsonx": true, "ChatCerebras": true, "ChatHuggingFace": true, "ChatLlamaCpp": true,
	"ChatDatabricks": true, "ChatNVIDIA": true, "ChatOpenRouter": true,
}

// OllamaModels adds to names the models that the responses of Ollama name which a value holds: it answers under the name that it was asked for.
func OllamaModels(v exactjson.Value, names map[string]bool) {
	budget := maxTranscriptValues
	var look func(v exactjson.Value, depth int)
	look = func(v exactjson.Value, depth int) {
		if budget--; budget < 0 || depth > maxTranscriptDepth {
			return
		}
		if name := v.Get("model").Str(); name != "" && !v.Get("done_reason").IsAbsent() && !v.Get("total_duration").IsAbsent() {
			names[name] = true
			return
		}
		for _, m := range v.Members() {
			look(m.Value, depth+1)
		}
	}
	if inner, ok := Structure(v); ok {
		look(inner, 0)
	}
}
