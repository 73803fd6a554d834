// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// keptAttributes are those of the GenAI conventions that no member of a tape holds. They are kept as they
// were recorded, see internal/reconstruct/testdata/conventions.tsv.
var keptAttributes = map[string]bool{
	"gen_ai.prompt.name": true, "gen_ai.prompt.version": true, "gen_ai.request.reasoning.level": true, "gen_ai.conversation.compacted": true,
	"gen_ai.request.encoding_formats": true, "gen_ai.embeddings.dimension.count": true, "gen_ai.response.time_to_first_chunk": true,
	"gen_ai.data_source.id": true, "gen_ai.tool.description": true, "gen_ai.tool.type": true, "gen_ai.workflow.name": true,
	"gen_ai.openai.response.service_tier": true, "gen_ai.openai.response.system_fingerprint": true,
	"openai.response.service_tier": true, "openai.response.system_fingerprint": true, "openai.api.type": true,
	"gen_ai.request.previous_response.id": true, "mcp.method.name": true, "mcp.session.id": true, "mcp.resource.uri": true, "mcp.protocol.version": true,
}

// longestAttribute is the length of the longest of them; longer names are none.
const longestAttribute = 48

// IsKept reports an attribute that a tape keeps as it was recorded: one of the list, all of memories, and the
// operation of a memory.
func IsKept(key string, v pcommon.Value) bool {
	if len(key) > longestAttribute || !strings.HasPrefix(key, "gen_ai.") && !strings.HasPrefix(key, "mcp.") && !strings.HasPrefix(key, "openai.") {
		return false
	}
	return keptAttributes[key] || strings.HasPrefix(key, "gen_ai.memory.") || key == "gen_ai.operation.name" && strings.Contains(v.Str(), "_memory")
}
