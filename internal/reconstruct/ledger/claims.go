// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// stateOfCall is everything of a call that a rule can change, as far as it can be compared: reports, messages
// and parts are replaced and not written.
type stateOfCall struct {
	obs                                *genai.Report
	response                           *chat.Message
	by                                 *Asked
	agent, holds, via                  *Call
	request                            **chat.Message
	sent, asked, spans, notes, others  int
	start, end                         uint64
	relation                           tape.Relation
	recovered, enriched, unnamed, open bool
}

var seed = maphash.MakeSeed()

func (t *Call) sum() uint64 {
	s := stateOfCall{
		obs: t.Obs, response: t.Response, by: t.By, agent: t.Agent, holds: t.Holds, via: t.Via, sent: len(t.Request), asked: len(t.Asked),
		spans: len(t.Nodes), notes: len(t.Notes), others: len(t.Others), start: t.Start, end: t.End, relation: t.Relation,
		recovered: t.Recovered, enriched: t.Enriched, unnamed: t.Unnamed, open: t.Maybe,
	}
	if len(t.Request) > 0 {
		s.request = &t.Request[0]
	}
	sum := maphash.Comparable(seed, s)
	for _, a := range t.Asked {
		if a.Shown != nil || a.Tool != nil {
			sum = sum*31 + maphash.Comparable(seed, [2]any{a.Shown, a.Tool})
		}
	}
	return sum
}

// Items sums up the calls of the run.
func Items(c *Ledger) []rule.Item {
	items := make([]rule.Item, 0, len(c.Models)+len(c.Tools)+len(c.Agents)+len(c.Retrievals))
	for _, list := range [][]*Call{c.Models, c.Tools, c.Agents, c.Retrievals} {
		for _, k := range list {
			items = append(items, rule.Item{Of: k, Sum: k.sum()})
		}
	}
	return items
}

// Claims are the values of a call that rules decide about.
func Claims(of any) []rule.Claim {
	k, ok := of.(*Call)
	if !ok {
		return nil
	}
	var spans []string
	for _, n := range k.Nodes {
		spans = append(spans, n.SpanID())
	}
	claims := []rule.Claim{
		{Field: "span_ids", Value: strings.Join(spans, ", ")},
		{Field: "name", Value: k.Obs.Name},
		{Field: "args", Value: rule.Shortened(k.Obs.Args.Value.JSON())},
		{Field: "result", Value: rule.Shortened(k.Obs.Result.Value.JSON())},
		{Field: "caller", Value: callName(k.Agent)},
		{Field: "started_at", Value: fmt.Sprint(k.Start)},
	}
	if k.Kind == tape.EventModelCall {
		claims = append(claims, rule.Claim{Field: "request.messages", Value: sentIDs(k.Request)})
		if k.Response != nil {
			claims = append(claims, rule.Claim{Field: "response.message", Value: k.Response.ID + " " + rule.Shortened(chat.TextOf(k.Response))})
		}
	}
	if k.By != nil {
		claims = append(claims, rule.Claim{Field: "requested_by", Value: fmt.Sprintf("call %d of the answer of %s", k.By.Index+1, callName(k.By.Model))})
		if k.By.Shown != nil {
			claims = append(claims, rule.Claim{Field: "shown", Value: rule.Shortened(k.By.Shown.Result.JSON())})
		}
	}
	if k.Via != nil {
		claims = append(claims, rule.Claim{Field: "via", Value: callName(k.Via)})
	}
	return slices.DeleteFunc(claims, func(c rule.Claim) bool { return c.Value == "" || c.Value == "null" })
}

func sentIDs(request []*chat.Message) string {
	ids := make([]string, len(request))
	for i, m := range request {
		ids[i] = m.ID
	}
	return strings.Join(ids, " ")
}

// callName names a call by its first span, or by its name where it has none.
func callName(k *Call) string {
	switch {
	case k == nil:
		return ""
	case len(k.Nodes) > 0:
		return "span " + k.Nodes[0].SpanID()
	}
	return k.Obs.Name
}
