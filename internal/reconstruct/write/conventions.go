// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// keptAttributes are those of the GenAI conventions that no member of a tape holds. They are kept as they were
// recorded, see testdata/conventions.tsv.
var keptAttributes = map[string]bool{
	"gen_ai.prompt.name": true, "gen_ai.prompt.version": true, "gen_ai.request.reasoning.level": true, "gen_ai.conversation.compacted": true,
	"gen_ai.request.encoding_formats": true, "gen_ai.embeddings.dimension.count": true, "gen_ai.response.time_to_first_chunk": true,
	"gen_ai.data_source.id": true, "gen_ai.tool.description": true, "gen_ai.tool.type": true, "gen_ai.workflow.name": true,
	"gen_ai.openai.response.service_tier": true, "gen_ai.openai.response.system_fingerprint": true,
	"openai.response.service_tier": true, "openai.response.system_fingerprint": true, "openai.api.type": true,
	"gen_ai.request.previous_response.id": true, "mcp.method.name": true, "mcp.session.id": true, "mcp.resource.uri": true, "mcp.protocol.version": true,
}

const (
	keptKey    = "conventions" // of the extension
	mostKept   = 256           // values of one attribute
	longestKey = 48            // longer names are none of these
)

// Conventions keeps the attributes that no member holds: extensions.conventions has a list for each, of the
// event and the value. Of a span that is no event it has the value alone.
func Conventions(b *value.Builder, nodes []*spantree.Node) {
	var seqs map[string]int
	kept := map[string][]exactjson.Value{}
	for _, n := range nodes {
		if n.Spans == 0 {
			continue
		}
		for key, v := range n.Span.Attributes().All() {
			if len(key) > longestKey || !isConvention(key) || !isKept(key, v) || len(kept[key]) == mostKept {
				continue
			}
			if seqs == nil {
				seqs = seqsOf(b.Tape)
			}
			kept[key] = append(kept[key], keptOf(seqs[n.SpanID()], decode.JSONOf(v)))
		}
		for _, event := range n.Span.Events().All() {
			if event.Name() != judgement || len(kept[judgement]) == mostKept {
				continue
			}
			if seqs == nil {
				seqs = seqsOf(b.Tape)
			}
			kept[judgement] = append(kept[judgement], keptOf(seqs[n.SpanID()], attributesOf(event)))
		}
	}
	if len(kept) == 0 {
		return
	}
	var members []exactjson.Member
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		members = append(members, exactjson.Member{Name: key, Value: exactjson.ArrayValue(kept[key]...)})
	}
	all := append(slices.Clone(b.Tape.Extensions.Members()), exactjson.Member{Name: keptKey, Value: exactjson.ObjectValue(members...)})
	slices.SortFunc(all, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
	b.Tape.Extensions = exactjson.ObjectValue(all...)
}

// judgement is the event of a verdict on what a span did.
const judgement = "gen_ai.evaluation.result"

// isKept reports an attribute of the list, all of memories, and the operation of a memory.
func isKept(key string, v pcommon.Value) bool {
	return keptAttributes[key] || strings.HasPrefix(key, "gen_ai.memory.") || key == "gen_ai.operation.name" && strings.Contains(v.Str(), "_memory")
}

// keptOf is a value and the event that it belongs to, 0 for none.
func keptOf(seq int, v exactjson.Value) exactjson.Value {
	if seq == 0 {
		return exactjson.ObjectValue(exactjson.Member{Name: "value", Value: v})
	}
	return exactjson.ObjectValue(exactjson.Member{Name: "seq", Value: exactjson.IntValue(int64(seq))}, exactjson.Member{Name: "value", Value: v})
}

func attributesOf(event ptrace.SpanEvent) exactjson.Value {
	var members []exactjson.Member
	for key, v := range event.Attributes().All() {
		members = append(members, exactjson.Member{Name: key, Value: decode.JSONOf(v)})
	}
	slices.SortFunc(members, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
	return exactjson.ObjectValue(members...)
}

func isConvention(key string) bool {
	return strings.HasPrefix(key, "gen_ai.") || strings.HasPrefix(key, "mcp.") || strings.HasPrefix(key, "openai.")
}

// seqsOf lists the events by their spans.
func seqsOf(t *tape.Tape) map[string]int {
	seqs := map[string]int{}
	for i := range t.Events {
		for _, id := range t.Events[i].SpanIDs {
			seqs[id] = t.Events[i].Seq
		}
	}
	return seqs
}
