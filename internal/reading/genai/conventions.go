// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// namespaces are those of the GenAI conventions.
var namespaces = []string{"gen_ai.", "mcp.", "openai.", "aws.bedrock.", "a2a."}

// heldNowhere are names that a dialect reads for what they say of other attributes. No member of a tape holds
// their values.
var heldNowhere = map[string]bool{
	"gen_ai.prompt.name": true, "gen_ai.tool.type": true, "gen_ai.workflow.name": true, "gen_ai.request.previous_response.id": true, "mcp.method.name": true,
}

// spelt are names that the dialects put together, and no literal of theirs is.
var spelt = []string{
	"gen_ai.tool.response", "gen_ai.tool.message", "gen_ai.tool.call.args", "gen_ai.tool.call.input", "gen_ai.tool.call.output",
	"gen_ai.tool.call.response", "gen_ai.tool.call.message",
}

// restated are names whose values the tape holds in another form: times and durations of their span.
var restated = map[string]bool{
	"gen_ai.event.start_time": true, "gen_ai.event.end_time": true, "gen_ai.client.operation.duration": true, "gen_ai.execute_tool.duration": true,
}

// Kept returns the attributes of an item that a tape keeps as they were recorded: those of the conventions
// that no dialect reads, and those of which no member of a tape holds the value. They are sorted by name. Of
// several with one name the last counts.
func Kept(m pcommon.Map) (kept []Attribute) {
	operation := decode.Attributes(m).Text(operationName)
	for key, v := range m.All() {
		if !isConvention(key) || !isKept(key, v) && !isUnreadOn(operation, key) || key == total && hasParts(m) || v.AsString() == "" {
			continue
		}
		kept = append(kept, Attribute{key, v})
	}
	slices.Reverse(kept)
	slices.SortStableFunc(kept, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(kept, func(a, b Attribute) bool { return a.Name == b.Name })
}

// Attribute is an attribute of an item.
type Attribute struct {
	Name  string
	Value pcommon.Value
}

// IsKeptEvent reports the name of an event of the conventions that no dialect reads. A tape keeps such an
// event as it was recorded.
func IsKeptEvent(name string) bool { return isConvention(name) && !isRead(name) }

// isConvention reports a name in one of the namespaces.
func isConvention(name string) bool {
	return slices.ContainsFunc(namespaces, func(n string) bool { return len(name) > len(n) && strings.HasPrefix(name, n) })
}

// isKept includes all of memories, and the operation of a memory.
func isKept(key string, v pcommon.Value) bool {
	return heldNowhere[key] || strings.HasPrefix(key, "gen_ai.memory.") || !restated[key] && !isRead(key) ||
		key == operationName && strings.Contains(v.Str(), "_memory")
}

const operationName = "gen_ai.operation.name"

// isUnreadOn reports a name that dialects read on the spans of other operations alone.
func isUnreadOn(operation, name string) bool {
	switch operation {
	case "embeddings", "create_agent", "plan":
		return name != operationName
	case "retrieval":
		return strings.HasPrefix(name, "gen_ai.request.") || strings.HasPrefix(name, "gen_ai.provider.")
	case "invoke_agent", "invoke_workflow":
		return strings.HasPrefix(name, "gen_ai.request.") && name != "gen_ai.request.model" || name == "gen_ai.output.type"
	}
	return false
}

// isRead reports a name that a dialect reads.
func isRead(name string) bool {
	if namesRead[name] || slices.Contains(spelt, name) {
		return true
	}
	if param, ok := strings.CutPrefix(name, "gen_ai.request."); ok {
		return decode.ParamNames[param] != ""
	}
	for _, list := range []string{"gen_ai.prompt.", "gen_ai.completion."} { // by number
		if rest, ok := strings.CutPrefix(name, list); ok {
			return rest[0] >= '0' && rest[0] <= '9'
		}
	}
	return strings.HasPrefix(name, "gen_ai.tool.call.arguments.") || strings.HasPrefix(name, "gen_ai.tool.call.result.")
}

// total is a sum. Where its parts are there, the tape holds them.
const total = "gen_ai.usage.total_tokens"

func hasParts(m pcommon.Map) bool {
	return slices.ContainsFunc([]string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"},
		decode.Attributes(m).Has)
}
