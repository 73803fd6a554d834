// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// acme is what docs/dialects.md shows: a made-up instrumentation, the row and its two functions.
var acme = &Dialect{
	ID:     "acme",
	Name:   "Acme Agents",
	Scopes: []string{"com.acme.agents"},
	Marks:  []string{"acme."},
	Root:   "`acme.run`",
	Rooted: true,
	Switch: "`ACME_TRACE_CONTENT=1`",
	classify: func(s *Source) (Class, bool) {
		switch s.Span.Name() {
		case "acme.run":
			return Agent, true
		case "acme.think":
			return Model, false
		case "acme.act":
			return Tool, false
		}
		return Structure, false
	},
	read: func(s *Source, o *Observation) {
		a := attributes(s.Span.Attributes())
		switch o.Class {
		case Agent:
			o.Agent.Name = a.str("acme.agent")
		case Model:
			o.Model = a.str("acme.model")
			o.Request, _ = messagesOf(a.json("acme.messages"), tape.RoleUser)
			o.Response, _ = messagesOf(a.json("acme.answer"), tape.RoleAssistant)
		case Tool:
			o.Name, o.CallID = a.str("acme.tool"), a.str("acme.call")
			o.Args = argsContent(a.json("acme.args"))
			o.Result = resultContent(a.json("acme.result"), false)
		}
	},
}

// register adds a dialect for one test. It comes last, behind the conventions.
func register(t *testing.T, d *Dialect) {
	t.Helper()
	bit := uint64(1) << len(Dialects)
	before := Dialects
	Dialects = append(slices.Clip(before), d)
	for _, s := range d.Scopes {
		scopeIndex[s] |= bit
	}
	for _, m := range d.Marks {
		markIndex[m] |= bit
	}
	t.Cleanup(func() {
		Dialects = before
		for _, s := range d.Scopes {
			scopeIndex[s] &^= bit
		}
		for _, m := range d.Marks {
			markIndex[m] &^= bit
		}
	})
}

func acmeSpan(name string, attributes map[string]any) ptrace.Span {
	span := ptrace.NewSpan()
	span.SetName(name)
	if err := span.Attributes().FromRaw(attributes); err != nil {
		panic(err)
	}
	return span
}

func TestADialectIsARowAndTwoFunctions(t *testing.T) {
	const scope = "com.acme.agents"
	act := acmeSpan("acme.act", map[string]any{"acme.tool": "stock", "acme.call": "c1", "acme.args": `{"sku":7}`, "acme.result": "99"})
	if IsEvidence(scope, act) {
		t.Fatal("acme is known before it is registered")
	}
	register(t, acme)
	read := func(span ptrace.Span) *Observation {
		return Read(&Source{Resource: pcommon.NewMap(), ScopeName: scope, Span: span})
	}
	if run := acmeSpan("acme.run", map[string]any{"acme.agent": "clerk"}); !IsEvidence(scope, run) || !isRunSpan(scope, run) || read(run).Agent.Name != "clerk" {
		t.Errorf("%+v", read(run))
	}
	o := read(act)
	if o.Class != Tool || o.Name != "stock" || o.CallID != "c1" || o.Args.Value.JSON() != `{"sku":7}` || o.Result.Value.JSON() != `"99"` {
		t.Errorf("%+v", o)
	}
	o = read(acmeSpan("acme.think", map[string]any{"acme.model": "m1", "acme.messages": `[{"role":"user","content":"how many?"}]`,
		"acme.answer": `[{"role":"assistant","content":"99"}]`}))
	if o.Class != Model || o.Model != "m1" || len(o.Request) != 1 || o.Request[0].Role != tape.RoleUser || o.Response[0].Parts[0].Text != "99" {
		t.Errorf("%+v", o)
	}
	if got := o.Dialects; !slices.Equal(got, []string{"acme"}) {
		t.Errorf("read by %v", got)
	}
}

func isRunSpan(scope string, span ptrace.Span) bool {
	runSpan, _ := PlaceInRun(scope, span)
	return runSpan
}
