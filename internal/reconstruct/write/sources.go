// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Sources says what the tape was made from.
func Sources(b *value.Builder, nodes []*spantree.Node, traceIDs []string) {
	s := &b.Tape.Sources
	s.TraceIDs = traceIDs
	dialects := map[string]bool{}
	scopes := map[spantree.ScopeKey]int{}
	for _, n := range nodes {
		s.Spans += n.Spans
		s.Logs += n.Logs
		if n.Spans > 0 {
			scopes[n.Scope] += n.Spans
		}
		for _, d := range n.Obs.Dialects {
			dialects[d] = true
		}
	}
	s.Dialects = slices.Sorted(maps.Keys(dialects))
	for key, count := range scopes {
		s.Scopes = append(s.Scopes, tape.Scope{Name: key.Name, Version: key.Version, Count: count})
	}
	slices.SortFunc(s.Scopes, func(x, y tape.Scope) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	if len(b.Calls.Noise) > 0 {
		s.Noise = b.Calls.Noise
	}
}

// Extensions merges the producers' extras; the run's own span and what stands above it speak first.
func Extensions(b *value.Builder, nodes []*spantree.Node) {
	merged := map[string][]exactjson.Member{}
	for _, n := range nodes {
		for ns, members := range n.Obs.Extra {
			for _, m := range members {
				if !slices.ContainsFunc(merged[ns], func(x exactjson.Member) bool { return x.Name == m.Name }) {
					merged[ns] = append(merged[ns], m)
				}
			}
		}
	}
	if b.Harness != nil {
		merged[harness.Key] = b.Harness
	}
	var out []exactjson.Member
	for _, ns := range slices.Sorted(maps.Keys(merged)) {
		slices.SortFunc(merged[ns], func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		out = append(out, exactjson.Member{Name: ns, Value: exactjson.ObjectValue(merged[ns]...)})
	}
	if out != nil {
		b.Tape.Extensions = exactjson.ObjectValue(out...)
	}
}

// HarnessOf is what the harness that started the agent says of the run, on the first resource that holds it.
// It is the same on all resources of a run, and may be long, so it is read once.
func HarnessOf(nodes []*spantree.Node) []exactjson.Member {
	seen := map[pcommon.Map]bool{}
	for _, n := range nodes {
		if seen[n.Resource] {
			continue
		}
		seen[n.Resource] = true
		if v, ok := n.Resource.Get(harness.Key); ok {
			known := decode.JSONOf(v)
			if parsed, ok := decode.Structure(known); ok { // of a variable, which holds texts
				known = parsed
			}
			if known.Kind() == exactjson.Object && known.Len() > 0 {
				return slices.Clone(known.Members())
			}
		}
	}
	return nil
}
