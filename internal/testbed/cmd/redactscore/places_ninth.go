// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// ninthPlaces are those of the eighth set. A text that is JSON stands in three of them as what it is: the arguments of a call, JSON in a member, a native value.
var ninthPlaces = func() []place {
	places := slices.Clone(eighthPlaces)
	at := func(name string, put func(td ptrace.Traces, k *kind, text string, document any)) {
		i := slices.IndexFunc(places, func(p place) bool { return p.name == name })
		other := places[i].put
		places[i].put = func(g *generator, td ptrace.Traces, k *kind, v string) []string {
			text := strings.TrimSpace(strings.Replace(k.text, "\x00", inner(v), 1))
			var document any
			if json.Unmarshal([]byte(text), &document) != nil {
				return other(g, td, k, v)
			}
			put(td, k, text, document)
			return []string{v, inner(v), inner(inner(v))}
		}
	}
	at("JSON arguments", func(td ptrace.Traces, k *kind, text string, _ any) {
		k.attribute(td, "gen_ai.tool.call.arguments", text)
	})
	at("JSON in JSON", func(td ptrace.Traces, k *kind, text string, _ any) {
		k.attribute(td, "gen_ai.output.messages", quote([]any{map[string]any{"role": "tool", "content": []any{map[string]any{"type": "text", "text": text}}}}))
	})
	at("kvlist", func(td ptrace.Traces, k *kind, _ string, document any) {
		if err := spanOf(td).Attributes().PutEmpty("tool.arguments").FromRaw(document); err != nil {
			panic(err) // what JSON holds has a native form
		}
	})
	return places
}()
