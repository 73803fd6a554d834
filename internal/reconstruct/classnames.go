// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// spanName is the name of a span of one instrumentation.
type spanName struct {
	scope scopeKey
	name  string
}

// spanNameOf returns the name of the first span of a call, and whether something else than that named the
// tool.
func spanNameOf(t *call) (k spanName, named bool) {
	if len(t.nodes) == 0 || t.nodes[0].spans == 0 || t.obs.Name == "" {
		return spanName{}, false
	}
	k = spanName{t.nodes[0].scope, t.nodes[0].source.Span.Name()}
	return k, !strings.Contains(k.name, t.obs.Name)
}

// nameClasses names tool calls whose spans are named after a class: the name is that of the only tool that
// has arguments of these names under this class. Else the name is missing.
//
// Needs: another span of the class whose result names its tool.
// Refuses: a call that a response asked for, which gives it the name.
// Seen in: LangChain under Traceloop, whose tools that failed are known by their class alone; smolagents
// under MLflow.
func (c *collector) nameClasses() {
	told := c.toolsOfClasses()
	for _, t := range c.tools {
		k, named := spanNameOf(t)
		called := namesClass(t)
		if t.by != nil || !called && (named || told[k] == nil || !strings.HasSuffix(k.name, " "+t.obs.Name)) {
			continue
		}
		detail := "the span names the class of the tool"
		if names := told[k][argumentNames(t)]; !called && len(names) == 1 && t.obs.Args.Present() {
			o := *t.obs
			o.Name = names[0]
			t.obs = &o
			detail += "; the name is that of the only tool of this class with arguments of these names"
		} else {
			t.unnamed = true
		}
		t.note(tape.CodeContentAbsent, "name", detail)
	}
}

// toolsOfClasses are the tools of each class: by the name of the span, then by the names of the arguments.
func (c *collector) toolsOfClasses() map[spanName]map[string][]string {
	told := map[spanName]map[string][]string{}
	for _, t := range c.tools {
		k, named := spanNameOf(t)
		if !named || !strings.Contains(k.name, " ") {
			continue
		}
		if told[k] == nil {
			told[k] = map[string][]string{}
		}
		if names := argumentNames(t); !slices.Contains(told[k][names], t.obs.Name) {
			told[k][names] = append(told[k][names], t.obs.Name)
		}
	}
	return told
}

// argumentNames are the names of the arguments that a call received, in order.
func argumentNames(t *call) string {
	var names []string
	for _, m := range t.obs.Args.Value.Members() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\x00")
}
