// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// acme is what docs/dialects.md shows: a made-up instrumentation, the row and its two functions.
var acme = &dialect.Dialect{
	ID:     "acme",
	Name:   "Acme Agents",
	Scopes: []string{"com.acme.agents"},
	Marks:  []string{"acme."},
	Root:   "`acme.run`",
	Rooted: true,
	Switch: "`ACME_TRACE_CONTENT=1`",
	Classify: func(s *dialect.Source) (dialect.Class, bool) {
		switch s.Span.Name() {
		case "acme.run":
			return dialect.Agent, true
		case "acme.think":
			return dialect.Model, false
		case "acme.act":
			return dialect.Tool, false
		}
		return dialect.Structure, false
	},
	Read: func(s *dialect.Source, o *dialect.Draft) {
		a := decode.Attributes(s.Span.Attributes())
		switch o.Class {
		case dialect.Agent:
			o.Agent.Name = a.Text("acme.agent")
		case dialect.Model:
			o.Model = a.Text("acme.model")
			o.Request, _ = decode.Messages(a.JSON("acme.messages"), tape.RoleUser)
			o.Response, _ = decode.Messages(a.JSON("acme.answer"), tape.RoleAssistant)
		case dialect.Tool:
			o.Name, o.CallID = a.Text("acme.tool"), a.Text("acme.call")
			o.Args = decode.Args(a.JSON("acme.args"))
			o.Result = decode.Result(a.JSON("acme.result"), false)
		}
	},
}

// register adds a dialect for one test. It comes last, behind the conventions.
func register(t *testing.T, d *dialect.Dialect) {
	t.Helper()
	bit := uint64(1) << len(Dialects)
	before := Dialects
	Dialects = append(slices.Clip(before), d)
	for _, s := range d.Scopes {
		scopeIndex[s] |= bit | producer
	}
	for _, m := range d.Marks {
		markIndex[m] |= bit | producer
	}
	t.Cleanup(func() {
		Dialects = before
		for _, s := range d.Scopes {
			scopeIndex[s] &^= bit | producer
		}
		for _, m := range d.Marks {
			markIndex[m] &^= bit | producer
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
	read := func(span ptrace.Span) *dialect.Report {
		return Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: scope, Span: span})
	}
	if run := acmeSpan("acme.run", map[string]any{"acme.agent": "clerk"}); !IsEvidence(scope, run) || !isRunSpan(scope, run) || read(run).Agent.Name != "clerk" {
		t.Errorf("%+v", read(run))
	}
	o := read(act)
	if o.Class != dialect.Tool || o.Name != "stock" || o.CallID != "c1" || o.Args.Value.JSON() != `{"sku":7}` || o.Result.Value.JSON() != `"99"` {
		t.Errorf("%+v", o)
	}
	o = read(acmeSpan("acme.think", map[string]any{"acme.model": "m1", "acme.messages": `[{"role":"user","content":"how many?"}]`,
		"acme.answer": `[{"role":"assistant","content":"99"}]`}))
	if o.Class != dialect.Model || o.Model != "m1" || len(o.Request) != 1 || o.Request[0].Role != tape.RoleUser || o.Response[0].Parts[0].Text != "99" {
		t.Errorf("%+v", o)
	}
	if got := o.Dialects; !slices.Equal(got, []string{"acme"}) {
		t.Errorf("read by %v", got)
	}
}
