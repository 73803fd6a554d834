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

// candidate is one of several contents that the payloads of a span hold for the same field.
type candidate struct {
	content genai.Content
	end     uint64
}

// settlePayloads decides between the arguments and results of payloads that came under one span id and disagree. What the conversation
// shows wins, else what the payload that ended last says. Otherwise nothing decides, and the value is disputed.
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
		if args, others, decided := settle(payloads, func(o *genai.Observation) genai.Content { return o.Args }, func(v exactjson.Value) bool {
			return t.by != nil && t.by.part.Label == "" && equalArgs(v, t.by.part.Args, sameValue)
		}); len(others) > 0 {
			o.Args = args
			if !decided {
				o.Args.Label = tape.Disputed
			}
		}
		if result, others, decided := settle(payloads, func(o *genai.Observation) genai.Content { return o.Result }, func(v exactjson.Value) bool {
			return t.by != nil && t.by.shown != nil && t.by.shown.Label == "" && oracle.SameAnswer(v, t.by.shown.Result)
		}); len(others) > 0 {
			o.Result = result
			if !decided {
				o.Result.Label = tape.Disputed
				t.others = others
			}
		}
		t.obs = &o
	}
}

// settle chooses one of the distinct contents of a field. others are the contents that were not chosen; decided says that there was a reason
// for the choice. The order of the payloads does not matter.
func settle(payloads []payload, of func(*genai.Observation) genai.Content, shown func(exactjson.Value) bool) (chosen genai.Content, others []exactjson.Value, decided bool) {
	var all []candidate
	for _, p := range payloads {
		if c := of(p.obs); c.Present() {
			all = append(all, candidate{c, p.end})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.end, a.end), strings.Compare(a.content.Value.JSON(), b.content.Value.JSON()))
	})
	var distinct []candidate // each with the latest end of those that hold it
	for _, c := range all {
		if !slices.ContainsFunc(distinct, func(d candidate) bool { return sameValue(d.content.Value, c.content.Value) }) {
			distinct = append(distinct, c)
		}
	}
	if len(distinct) == 0 {
		return chosen, nil, true
	}
	at := slices.IndexFunc(distinct, func(d candidate) bool { return shown(d.content.Value) })
	decided = at >= 0 || len(distinct) == 1 || distinct[0].end > distinct[1].end
	at = max(at, 0)
	for i, d := range distinct {
		if i != at {
			others = append(others, d.content.Value)
		}
	}
	return distinct[at].content, others, decided
}
