// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// spanName is the name of a span of one instrumentation.
type spanName struct {
	scope spantree.ScopeKey
	name  string
}

// spanNameOf returns the name of the first span of a call, and whether something else than that named the
// tool.
func spanNameOf(t *ledger.Call) (k spanName, named bool) {
	if len(t.Nodes) == 0 || t.Nodes[0].Spans == 0 || t.Obs.Name == "" {
		return spanName{}, false
	}
	k = spanName{t.Nodes[0].Scope, t.Nodes[0].Source.Span.Name()}
	return k, !strings.Contains(k.name, t.Obs.Name)
}

// NameClasses names tool calls whose spans are named after a class: the name is that of the only tool that
// has arguments of these names under this class. Else the name is missing.
//
// Needs: another span of the class whose result names its tool.
// Refuses: a call that a response asked for, which gives it the name.
// Seen in: LangChain under Traceloop, whose tools that failed are known by their class alone; smolagents
// under MLflow.
func NameClasses(c *ledger.Ledger) {
	told := toolsOfClasses(c)
	for _, t := range c.Tools {
		k, named := spanNameOf(t)
		called := NamesClass(t)
		if t.By != nil || !called && (named || told[k] == nil || !strings.HasSuffix(k.name, " "+t.Obs.Name)) {
			continue
		}
		detail := "the span names the class of the tool"
		if names := told[k][argumentNames(t)]; !called && len(names) == 1 && t.Obs.Args.Present() {
			o := t.Obs.Draft()
			o.Name = names[0]
			t.Obs = o.Seal()
			detail += "; the name is that of the only tool of this class with arguments of these names"
		} else {
			t.Unnamed = true
		}
		t.Note(tape.CodeContentAbsent, "name", detail)
	}
}

// toolsOfClasses are the tools of each class: by the name of the span, then by the names of the arguments.
func toolsOfClasses(c *ledger.Ledger) map[spanName]map[string][]string {
	told := map[spanName]map[string][]string{}
	for _, t := range c.Tools {
		k, named := spanNameOf(t)
		if !named || !strings.Contains(k.name, " ") {
			continue
		}
		if told[k] == nil {
			told[k] = map[string][]string{}
		}
		if names := argumentNames(t); !slices.Contains(told[k][names], t.Obs.Name) {
			told[k][names] = append(told[k][names], t.Obs.Name)
		}
	}
	return told
}

// argumentNames are the names of the arguments that a call received, in order.
func argumentNames(t *ledger.Call) string {
	var names []string
	for _, m := range t.Obs.Args.Value.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\x00")
}
