// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"encoding/hex"
	"hash/maphash"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
)

var seed = maphash.MakeSeed()

// stateOfNode is everything of a span that a rule can change. Reports are replaced and not written.
type stateOfNode struct {
	obs                   *genai.Report
	source                *genai.Source
	up                    *Node
	parent                pcommon.SpanID
	start, end            uint64
	spans, twins, kids    int
	adopted, missing, top bool
}

func (n *Node) summed() rule.Item {
	return rule.Item{Of: n, Sum: maphash.Comparable(seed, stateOfNode{n.Obs, n.Source, n.Up, n.Parent, n.Start, n.End, n.Spans, n.twins, len(n.Kids), n.Adopted, n.Missing, n.Sole})}
}

// Items sums up spans.
func Items(nodes []*Node) []rule.Item {
	items := make([]rule.Item, len(nodes))
	for i, n := range nodes {
		items[i] = n.summed()
	}
	return items
}

// ItemsBelow sums up a span and those below it.
func ItemsBelow(n *Node) (items []rule.Item) {
	Walk(n, func(n *Node) bool {
		items = append(items, n.summed())
		return true
	})
	return items
}

// Claims are the values of a span that rules decide about.
func Claims(of any) []rule.Claim {
	n, ok := of.(*Node)
	if !ok {
		return nil
	}
	claims := []rule.Claim{{Field: "span", Value: n.SpanID()}}
	if n.Up != nil {
		claims = append(claims, rule.Claim{Field: "parent", Value: hex.EncodeToString(n.Up.ID[:])})
	}
	if n.Obs != nil {
		claims = append(claims, rule.Claim{Field: "class", Value: classNames[n.Obs.Class]}, rule.Claim{Field: "model", Value: n.Obs.Model})
	}
	return claims
}

var classNames = map[genai.Class]string{
	genai.Agent: "agent", genai.Model: "model call", genai.Tool: "tool call", genai.Retrieval: "retrieval", genai.Structure: "step", genai.Entry: "entry", genai.Noise: "noise",
}
