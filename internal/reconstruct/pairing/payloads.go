// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// SettlePayloads decides between the arguments and results of payloads that came under one span id and
// disagree: by what the conversation shows, else by the payload that ended last. Where nothing decides the
// value is disputed.
//
// Needs: several payloads of the span of a tool that hold different values.
// Refuses: nothing.
// Seen in: exporters that send a span again after it changed.
func SettlePayloads(c *ledger.Ledger) {
	for _, t := range c.Tools {
		var payloads []spantree.Payload
		for _, n := range t.Nodes {
			payloads = append(payloads, n.Payloads...)
		}
		if len(payloads) == 0 {
			continue
		}
		o := t.Obs.Draft()
		args, others, _ := choosePayload(payloads, func(o *genai.Report) genai.Content { return o.Args }, func(v exactjson.Value) bool {
			return t.By != nil && t.By.Part.Label == "" && chat.EqualArgs(v, t.By.Part.Args, chat.SameValue)
		})
		if len(others) > 0 {
			o.Args = args
		}
		result, others, decided := choosePayload(payloads, func(o *genai.Report) genai.Content { return o.Result }, func(v exactjson.Value) bool {
			return t.By != nil && t.By.Shown != nil && t.By.Shown.Label == "" && oracle.SameAnswer(v, t.By.Shown.Result)
		})
		if len(others) > 0 {
			o.Result = result
		}
		if !decided {
			t.Others = others
		}
		t.Obs = o.Seal()
	}
}

// choosePayload chooses one of the distinct contents of a field, and labels it as disputed if nothing
// decides. others are the contents that were not chosen. The order of the payloads does not matter.
func choosePayload(payloads []spantree.Payload, of func(*genai.Report) genai.Content, shown func(exactjson.Value) bool) (chosen genai.Content, others []exactjson.Value, decided bool) {
	type candidate struct {
		content genai.Content
		end     uint64 // the latest of those that hold it
	}
	var all []candidate
	for _, p := range payloads {
		if c := of(p.Obs); c.Present() {
			all = append(all, candidate{c, p.End})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.end, a.end), strings.Compare(a.content.Value.JSON(), b.content.Value.JSON()))
	})
	var distinct []candidate
	for _, c := range all {
		if !slices.ContainsFunc(distinct, func(d candidate) bool { return chat.SameValue(d.content.Value, c.content.Value) }) {
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
