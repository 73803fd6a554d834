// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// BenchmarkTraces redacts requests of 100 spans of about 2 KB without secrets, as nearly all are. CPU seconds per million spans are
// the cpu-ns/span divided by a thousand. The copy of a request is what "copy" measures.
func BenchmarkTraces(b *testing.B) {
	g := agentload.New(1)
	td := ptrace.NewTraces()
	for range 5 {
		g.Trace(agentload.Short).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	size := (&ptrace.ProtoMarshaler{}).TracesSize(td)
	run := func(b *testing.B, r *Redactor) {
		b.ReportAllocs()
		began := cpuTime()
		for b.Loop() {
			to := ptrace.NewTraces()
			td.CopyTo(to)
			if r != nil {
				r.Traces(to, nil)
			}
		}
		used := float64(cpuTime() - began)
		b.ReportMetric(used/float64(b.N*td.SpanCount()), "cpu-ns/span")
		b.ReportMetric(float64(size*b.N)/used*1e3, "cpu-MB/s")
	}
	b.Run("copy", func(b *testing.B) { run(b, nil) })
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
		b.Run(c.name, func(b *testing.B) { run(b, r) })
	}
}

// cpuTime is what the process has used, in nanoseconds: machines that are shared have no other measure.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
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
