// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	keptKey  = "conventions" // of the extension
	mostKept = 256           // values of one attribute
)

// Conventions keeps the attributes that no member holds: extensions.conventions has a list for each, of the
// event and the value. Of a span that is no event it has the value alone.
func Conventions(b *value.Builder, nodes []*spantree.Node) {
	var seqs map[string]int
	kept := map[string][]exactjson.Value{}
	keep := func(name string, n *spantree.Node, v exactjson.Value) {
		if seqs == nil {
			seqs = seqsOf(b.Tape)
		}
		if len(kept[name]) < mostKept {
			kept[name] = append(kept[name], keptOf(seqs[n.SpanID()], v))
		}
	}
	for _, n := range nodes {
		if n.Spans == 0 {
			continue
		}
		for key, v := range n.Span.Attributes().All() {
			if genai.IsKept(key, v) {
				keep(key, n, decode.JSONOf(v))
			}
		}
		for _, event := range n.Span.Events().All() {
			if event.Name() == judgement {
				keep(judgement, n, attributesOf(event))
			}
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
