// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	keptKey    = "conventions" // of the extension
	leftOutKey = "left_out"    // in it; no name of the conventions is without a dot
	otherNames = "…"           // in that: all names beyond mostNames
)

// Bounds of what a tape keeps as it was recorded.
const (
	mostKept   = 256     // values of one name
	mostNames  = 128     // names, and as many that are counted
	mostBytes  = 1 << 18 // of all values, as JSON
	longestKey = 128     // bytes of a name
)

// Conventions keeps the attributes and events that no member holds: extensions.conventions has a list for
// each name, of the event and the value. Of a span that is no event it has the value alone. What is beyond
// the bounds is counted by name.
func Conventions(b *value.Builder, nodes []*spantree.Node) {
	k := &keeper{tape: b.Tape, values: map[string][]exactjson.Value{}, leftOut: map[string]int64{}, resources: map[[2]string]bool{}}
	for _, n := range nodes {
		k.node(n)
	}
	if len(k.values) == 0 && len(k.leftOut) == 0 {
		return
	}
	var members []exactjson.Member
	for _, key := range slices.Sorted(maps.Keys(k.values)) {
		members = append(members, exactjson.Member{Name: key, Value: exactjson.ArrayValue(k.values[key]...)})
	}
	if len(k.leftOut) > 0 {
		var counts []exactjson.Member
		for _, key := range slices.Sorted(maps.Keys(k.leftOut)) {
			counts = append(counts, exactjson.Member{Name: key, Value: exactjson.IntValue(k.leftOut[key])})
		}
		members = append(members, exactjson.Member{Name: leftOutKey, Value: exactjson.ObjectValue(counts...)})
	}
	all := append(slices.Clone(b.Tape.Extensions.Members()), exactjson.Member{Name: keptKey, Value: exactjson.ObjectValue(members...)})
	slices.SortFunc(all, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
	b.Tape.Extensions = exactjson.ObjectValue(all...)
}

// keeper gathers what a tape keeps as it was recorded.
type keeper struct {
	tape    *tape.Tape
	seqs    map[string]int // events by span, made when first needed
	values  map[string][]exactjson.Value
	leftOut map[string]int64
	bytes   int
	text    []byte // room for a value as JSON
	// resources are the attributes of resources that are kept, with their values.
	resources map[[2]string]bool
}

// none are the attributes of what is no span.
var none = pcommon.NewMap()

// node keeps what a span, its events and its log records say.
func (k *keeper) node(n *spantree.Node) {
	span := none
	if n.Spans > 0 {
		span = n.Span.Attributes()
		k.attributes(n, span, none)
		for _, event := range n.Span.Events().All() {
			k.event(n, event.Name(), event.Attributes(), span)
		}
	}
	for _, record := range n.Source.Logs {
		k.event(n, record.Name(), record.Attributes(), span)
	}
	if n.Source.Resource != (pcommon.Map{}) {
		k.resource(n.Source.Resource)
	}
}

// resource keeps what a resource says, once for all spans that have it.
func (k *keeper) resource(attributes pcommon.Map) {
	for _, a := range genai.Kept(attributes) {
		if said := [2]string{a.Name, a.Value.AsString()}; !k.resources[said] {
			k.resources[said] = true
			k.keep(0, a.Name, decode.JSONOf(a.Value))
		}
	}
}

// thrown is the event of what a call threw. It is the error of a call that failed.
const thrown = "gen_ai.client.operation.exception"

// event keeps an event as a whole, or the attributes of one that a dialect reads. Verdicts are a member of
// the tape.
func (k *keeper) event(n *spantree.Node, name string, attributes, span pcommon.Map) {
	if name == genai.VerdictEvent {
		return
	}
	if genai.IsKeptEvent(name) || name == thrown && n.Obs.Error == nil {
		k.keep(k.seqOf(n), name, attributesOf(attributes))
		return
	}
	k.attributes(n, attributes, span)
}

// attributes keeps those that the span does not say too.
func (k *keeper) attributes(n *spantree.Node, attributes, span pcommon.Map) {
	for _, a := range genai.Kept(attributes) {
		if said, there := span.Get(a.Name); !there || !said.Equal(a.Value) {
			k.keep(k.seqOf(n), a.Name, decode.JSONOf(a.Value))
		}
	}
}

// seqOf is the event of a span, 0 for none.
func (k *keeper) seqOf(n *spantree.Node) int {
	if k.seqs == nil {
		k.seqs = SeqsOf(k.tape)
	}
	return k.seqs[n.SpanID()]
}

func (k *keeper) keep(seq int, name string, v exactjson.Value) {
	k.text = v.AppendJSON(k.text[:0])
	size := len(k.text)
	_, known := k.values[name]
	if len(name) > longestKey || !known && len(k.values) >= mostNames || len(k.values[name]) >= mostKept || k.bytes+size > mostBytes {
		if _, counted := k.leftOut[name]; len(name) > longestKey || !counted && len(k.leftOut) >= mostNames {
			name = otherNames
		}
		k.leftOut[name]++
		return
	}
	k.bytes += size
	k.values[name] = append(k.values[name], keptOf(seq, v))
}

// keptOf is a value and the event that it belongs to, 0 for none.
func keptOf(seq int, v exactjson.Value) exactjson.Value {
	if seq == 0 {
		return exactjson.ObjectValue(exactjson.Member{Name: "value", Value: v})
	}
	return exactjson.ObjectValue(exactjson.Member{Name: "seq", Value: exactjson.IntValue(int64(seq))}, exactjson.Member{Name: "value", Value: v})
}

// attributesOf is what an event says, without how a record of it was carried.
func attributesOf(attributes pcommon.Map) exactjson.Value {
	var members []exactjson.Member
	for key, v := range attributes.All() {
		if key != dialect.LogEventName && key != dialect.LogScopeName && !slices.Contains(dialect.LogEnvelope, key) {
			members = append(members, exactjson.Member{Name: key, Value: decode.JSONOf(v)})
		}
	}
	return decode.Unordered(members)
}

// SeqsOf lists the events by their spans.
func SeqsOf(t *tape.Tape) map[string]int {
	seqs := map[string]int{}
	for i := range t.Events {
		for _, id := range t.Events[i].SpanIDs {
			seqs[id] = t.Events[i].Seq
		}
	}
	return seqs
}
