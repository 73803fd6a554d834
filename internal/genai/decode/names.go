// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import "strings"

// NameAfter returns what follows the first of the prefixes that a span name begins with, "" when it begins with none.
func NameAfter(name string, prefixes ...string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// ToolOfSpan returns the name of a tool whose span is named after it, without what says that it is a tool: tool: 'search', search.tool.
func ToolOfSpan(span string) string {
	if before, name, ok := strings.Cut(span, ":"); ok && strings.Contains(strings.ToLower(before), "tool") {
		return strings.Trim(strings.TrimSpace(name), "'\"")
	}
	return strings.TrimSuffix(span, ".tool")
}

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
	if name == "unknown" {
		return ""
	}
	return name
}
