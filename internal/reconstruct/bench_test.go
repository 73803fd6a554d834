// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// BenchmarkCorpus rebuilds the recorded runs, by group and all of them. It reports CPU time per span, garbage
// collection included: the runs are small, and what a stage costs beside its spans counts.
func BenchmarkCorpus(b *testing.B) {
	type input struct {
		traces []evidence.Trace
		spans  int
	}
	groups := map[string][]input{}
	var names []string
	for _, run := range runs(b) {
		set, err := run.Evidence()
		if err != nil {
			b.Fatal(err)
		}
		if groups[run.Group] == nil {
			names = append(names, run.Group)
		}
		one := input{set.Split(), len(set.Items())}
		groups[run.Group] = append(groups[run.Group], one)
		groups["all"] = append(groups["all"], one)
	}
	for _, name := range append(names, "all") {
		b.Run(name, func(b *testing.B) {
			spans := 0
			for _, in := range groups[name] {
				spans += in.spans
			}
			b.ReportAllocs()
			began := cputime.Used()
			b.ResetTimer()
			for range b.N {
				for _, in := range groups[name] {
					for _, tr := range in.traces {
						reconstruct.Trace(tr, options)
					}
				}
			}
			b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(b.N*spans), "cpu-ns/span")
		})
	}
}
