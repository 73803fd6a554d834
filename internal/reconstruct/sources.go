// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sources says what the tape was made from.
func (b *builder) sources(nodes []*node, traceIDs []string) {
	s := &b.tape.Sources
	s.TraceIDs = traceIDs
	dialects := map[string]bool{}
	scopes := map[scopeKey]int{}
	for _, n := range nodes {
		s.Spans += n.spans
		s.Logs += n.logs
		if n.spans > 0 {
			scopes[n.scope] += n.spans
		}
		for _, d := range n.obs.Dialects {
			dialects[d] = true
		}
	}
	s.Dialects = slices.Sorted(maps.Keys(dialects))
	for key, count := range scopes {
		s.Scopes = append(s.Scopes, tape.Scope{Name: key.name, Version: key.version, Count: count})
	}
	slices.SortFunc(s.Scopes, func(x, y tape.Scope) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	if len(b.calls.noise) > 0 {
		s.Noise = b.calls.noise
	}
}

// extensions merges the producers' extras; the run's own span and what stands above it speak first.
func (b *builder) extensions(nodes []*node) {
	merged := map[string][]exactjson.Member{}
	for _, n := range nodes {
		for ns, members := range n.obs.Extra {
			for _, m := range members {
				if !slices.ContainsFunc(merged[ns], func(x exactjson.Member) bool { return x.Name == m.Name }) {
					merged[ns] = append(merged[ns], m)
				}
			}
		}
	}
	if b.harness != nil {
		merged[harness.Key] = b.harness
	}
	var out []exactjson.Member
	for _, ns := range slices.Sorted(maps.Keys(merged)) {
		slices.SortFunc(merged[ns], func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		out = append(out, exactjson.Member{Name: ns, Value: exactjson.ObjectValue(merged[ns]...)})
	}
	if out != nil {
		b.tape.Extensions = exactjson.ObjectValue(out...)
	}
}

// harnessOf is what the harness that started the agent says of the run, on the first resource that holds it. It is the same on all resources of
// a run, and may be long, so it is read once.
func harnessOf(nodes []*node) []exactjson.Member {
	seen := map[pcommon.Map]bool{}
	for _, n := range nodes {
		if seen[n.resource] {
			continue
		}
		seen[n.resource] = true
		if v, ok := n.resource.Get(harness.Key); ok {
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
