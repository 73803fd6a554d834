// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// payload is what one of several payloads under one span id says.
type payload struct {
	obs *genai.Observation
	end uint64
}

// settlePayloads decides between the arguments and results of payloads that came under one span id and disagree: by
// what the conversation shows, else by the payload that ended last. Where nothing decides the value is disputed.
//
// Needs: several payloads of the span of a tool that hold different values.
// Refuses: nothing.
// Seen in: exporters that send a span again after it changed.
func (c *collector) settlePayloads() {
	for _, t := range c.tools {
		var payloads []payload
		for _, n := range t.nodes {
			payloads = append(payloads, n.payloads...)
		}
		if len(payloads) == 0 {
			continue
		}
		o := *t.obs
		args, others, _ := settle(payloads, func(o *genai.Observation) genai.Content { return o.Args }, func(v exactjson.Value) bool {
			return t.by != nil && t.by.part.Label == "" && equalArgs(v, t.by.part.Args, sameValue)
		})
		if len(others) > 0 {
			o.Args = args
		}
		result, others, decided := settle(payloads, func(o *genai.Observation) genai.Content { return o.Result }, func(v exactjson.Value) bool {
			return t.by != nil && t.by.shown != nil && t.by.shown.Label == "" && oracle.SameAnswer(v, t.by.shown.Result)
		})
		if len(others) > 0 {
			o.Result = result
		}
		if !decided {
			t.others = others
		}
		t.obs = &o
	}
}

// settle chooses one of the distinct contents of a field, and labels it as disputed if nothing decides. others are the
// contents that were not chosen. The order of the payloads does not matter.
func settle(payloads []payload, of func(*genai.Observation) genai.Content, shown func(exactjson.Value) bool) (chosen genai.Content, others []exactjson.Value, decided bool) {
	type candidate struct {
		content genai.Content
		end     uint64 // the latest of those that hold it
	}
	var all []candidate
	for _, p := range payloads {
		if c := of(p.obs); c.Present() {
			all = append(all, candidate{c, p.end})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.end, a.end), strings.Compare(a.content.Value.JSON(), b.content.Value.JSON()))
	})
	var distinct []candidate
	for _, c := range all {
		if !slices.ContainsFunc(distinct, func(d candidate) bool { return sameValue(d.content.Value, c.content.Value) }) {
			distinct = append(distinct, c)
		}
	}
	if len(distinct) < 2 {
		return chosen, nil, true
	}
	at := slices.IndexFunc(distinct, func(d candidate) bool { return shown(d.content.Value) })
	decided = at >= 0 || distinct[0].end > distinct[1].end
	chosen = distinct[max(at, 0)].content
	if !decided {
		chosen.Label = tape.Disputed
	}
	for i, d := range distinct {
		if i != max(at, 0) {
			others = append(others, d.content.Value)
		}
	}
	return chosen, others, decided
}
