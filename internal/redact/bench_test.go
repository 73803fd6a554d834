// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// BenchmarkTraces redacts requests of 100 spans of about 2 KB without secrets, as nearly all are. CPU seconds per million spans are
// the cpu-ns/span divided by a thousand. The copy of a request is what "copy" measures. Nothing is remembered, as if no text came twice.
func BenchmarkTraces(b *testing.B) {
	g := agentload.New(1)
	td := ptrace.NewTraces()
	for range 5 {
		g.Trace(agentload.Short).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	b.Run("copy", func(b *testing.B) { measure(b, nil, td) })
	for _, c := range []struct {
		name  string
		rules []string
	}{
		{"rules=10", firstRules(10)},
		{"rules=100", firstRules(100)},
		{"rules=all", nil},
	} {
		p := Default().WithKey(testKey(b))
		p.Disable = c.rules
		r, err := New(p)
		if err != nil {
			b.Fatal(err)
		}
		r.Remember(false)
		b.Run(c.name, func(b *testing.B) { measure(b, r, td) })
	}
}

// BenchmarkResend redacts runs of 50 turns, each of which sends the whole conversation again: a message is new once. first forgets all texts before each
// run, again has met the run before, searched remembers nothing. In requests the conversation lies in an object, as providers take it.
func BenchmarkResend(b *testing.B) {
	b.Run("messages", func(b *testing.B) { resend(b, "%s") })
	b.Run("requests", func(b *testing.B) { resend(b, `{"model":"gpt-4o","temperature":0,"messages":%s,"stream":false}`) })
}

func resend(b *testing.B, around string) {
	g := agentload.New(1)
	var runs []ptrace.Traces
	for range 8 {
		run := g.Trace(agentload.Long)
		for _, s := range run.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			if v, ok := s.Attributes().Get("gen_ai.input.messages"); ok {
				v.SetStr(fmt.Sprintf(around, v.Str()))
			}
		}
		runs = append(runs, run)
	}
	b.Run("copy", func(b *testing.B) { measure(b, nil, runs...) })
	for _, c := range []struct {
		name             string
		remember, forget bool
	}{{"searched", false, false}, {"first", true, true}, {"again", true, false}} {
		r := testRedactor(b)
		r.Remember(c.remember)
		b.Run(c.name, func(b *testing.B) {
			if c.forget {
				measureForgetting(b, r, runs...)
			} else {
				measure(b, r, runs...)
			}
		})
	}
}

// BenchmarkRecorded redacts the recorded traces in a process that has a gate, so the spans in which nothing
// is found are noted. first forgets all texts before each round, again has met them all.
func BenchmarkRecorded(b *testing.B) {
	recorded, err := agentload.Recorded("../../testdata/corpus")
	if err != nil {
		b.Fatal(err)
	}
	all := ptrace.NewTraces()
	for _, td := range recorded {
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	b.Run("copy", func(b *testing.B) { measure(b, nil, all) })
	r := testRedactor(b)
	ProofOf(r.profile)
	b.Run("first", func(b *testing.B) { measureForgetting(b, r, all) })
	met := ptrace.NewTraces()
	all.CopyTo(met)
	r.Traces(met, nil)
	b.Run("again", func(b *testing.B) { measure(b, r, all) })
}

func measureForgetting(b *testing.B, r *Redactor, list ...ptrace.Traces) {
	forget := func() { r.Remember(true) }
	measureWith(b, forget, func(to ptrace.Traces) { r.Traces(to, nil) }, list...)
}

func measure(b *testing.B, r *Redactor, list ...ptrace.Traces) {
	measureWith(b, func() {}, func(to ptrace.Traces) {
		if r != nil {
			r.Traces(to, nil)
		}
	}, list...)
}

func measureWith(b *testing.B, prepare func(), redact func(ptrace.Traces), list ...ptrace.Traces) {
	b.ReportAllocs()
	used, spans, size, i := time.Duration(0), 0, 0, 0
	for b.Loop() {
		td := list[i%len(list)]
		i++
		prepare()
		began := cputime.Used()
		to := ptrace.NewTraces()
		td.CopyTo(to)
		redact(to)
		used += cputime.Used() - began
		spans += td.SpanCount()
		size += (&ptrace.ProtoMarshaler{}).TracesSize(td)
	}
	b.ReportMetric(float64(used)/float64(spans), "cpu-ns/span")
	b.ReportMetric(float64(size)/float64(used)*1e3, "cpu-MB/s")
}

// firstRules returns the rules that must be disabled so that n are left: those that cost most are among them.
func firstRules(n int) (disable []string) {
	keep := map[string]bool{
		"email": true, "payment-card": true, "phone": true, detect.RuleAssignment: true, detect.RuleSecretKey: true,
		"jwt": true, "private-key": true, "github-token": true, "aws-access-key-id": true, "openai-key": true,
	}
	for _, r := range detect.Rules() {
		if !keep[r.Name] && len(keep) < n {
			keep[r.Name] = true
		}
	}
	for _, r := range detect.Rules() {
		if !keep[r.Name] {
			disable = append(disable, r.Name)
		}
	}
	return disable
}
