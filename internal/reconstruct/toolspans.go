// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
)

// toolSpans are the spans of tools outside of some parts, under the names that are looked for.
type toolSpans struct {
	byName map[string][]*node // in order of their start
	of     map[*node]*part
}

// toolSpansBeside are those that have the name of a wanted tool of the parts.
func (s *stitcher) toolSpansBeside(parts []*part, wanted func(*node) bool) toolSpans {
	spans := toolSpans{map[string][]*node{}, map[*node]*part{}}
	if len(parts) == 0 || len(parts) == len(s.all) {
		return spans
	}
	within, names := map[*part]bool{}, map[string]bool{}
	for _, f := range parts {
		within[f] = true
		for _, n := range f.tools {
			names[n.obs.Name] = names[n.obs.Name] || n.obs.Name != "" && wanted(n)
		}
	}
	for _, f := range s.all {
		if within[f] {
			continue
		}
		for _, n := range f.tools {
			if names[n.obs.Name] {
				spans.byName[n.obs.Name] = append(spans.byName[n.obs.Name], n)
				spans.of[n] = f
			}
		}
	}
	for _, list := range spans.byName {
		slices.SortStableFunc(list, compareNodes)
	}
	return spans
}

// around lists those of other traces than a part's that lie around one of its tools in time, in order of their start.
func (t toolSpans) around(f *part, n *node) (fit []*node) {
	list := t.byName[n.obs.Name]
	before, _ := slices.BinarySearchFunc(list, n.start+clockSlack+1, func(a *node, at uint64) int { return cmp.Compare(a.start, at) })
	for _, a := range list[max(0, before-maxOpenTurns):before] {
		if n.end <= a.end+clockSlack && !sameTrace(t.of[a], f) {
			fit = append(fit, a)
		}
	}
	return fit
}

// twins lists those around a tool that may report the same call: those of another instrumentation, and those of a framework
// around a function of the program.
func (t toolSpans) twins(f *part, n *node) []*node {
	return slices.DeleteFunc(t.around(f, n), func(a *node) bool { return a.scope == n.scope && !callsFunction(a, n) && !namedAnew(a, n) })
}

// callsFunction reports a span of a tool that knows the id of its call, and one within its time that knows none: a function of
// the program does not learn it. Where a program has one scope for all its spans, that tells them from the same call of
// another run.
func callsFunction(around, n *node) bool {
	return around.obs.CallID != "" && n.obs.CallID == "" && n.within(around)
}

// namedAnew reports two spans of a tool of one scope under two names, one within the time of the other, that tell the same of
// it: what a program writes of its function within the span of the framework, which does not learn the id of a call in a
// stream. Equal calls beside each other have one name.
func namedAnew(around, n *node) bool {
	same, alike := tellsSame(around, n)
	return same && alike && around.obs.CallID == "" && n.obs.CallID == "" && around.source.Span.Name() != n.source.Span.Name() && n.within(around)
}

// reportedAgain finds the tools of parts without a model that report a call which a span elsewhere reports already: of another
// instrumentation, or under another name, around it in time, and telling the same of it. Such a span executed no other call,
// however well one fits that nobody executed: a model may ask once more for what it had done, and the program end there.
func (s *stitcher) reportedAgain(parts []*part) map[*node]bool {
	again := map[*node]bool{}
	spans := s.toolSpansBeside(parts, func(n *node) bool { return n.obs.CallID == "" })
	for _, f := range parts {
		for _, n := range f.tools {
			again[n] = n.obs.CallID == "" && slices.ContainsFunc(spans.around(f, n), func(a *node) bool {
				same, alike := tellsSame(a, n)
				return same && alike && otherReporter(a, n)
			})
		}
	}
	return again
}

// tellsSame reports two spans of tools in which nothing that both tell of the call differs, and whether there is any of it. What
// a framework told the model of a failure may be all that its span shows of it.
func tellsSame(a, b *node) (same, alike bool) {
	if a.obs.CallID != "" && b.obs.CallID != "" && a.obs.CallID != b.obs.CallID {
		return false, false
	}
	if a.obs.Args.Present() && b.obs.Args.Present() {
		if !equalArgs(a.obs.Args.Value, b.obs.Args.Value, sameValue) {
			return false, false
		}
		alike = a.obs.Args.Value.Len() > 0
	}
	x, y := textResult(a.obs.Result.Value), textResult(b.obs.Result.Value)
	switch {
	case a.failed() && b.failed():
		same = a.obs.Error == nil || b.obs.Error == nil || sameWords(a.obs.Error.Message, b.obs.Error.Message)
	case a.failed():
		same = !b.obs.Result.Present() || tellsFailure(y, a)
	case b.failed():
		same = !a.obs.Result.Present() || tellsFailure(x, b)
	case a.obs.Result.Present() && b.obs.Result.Present():
		same, alike = x == y, alike || len(x) >= minQuoted
	default:
		same = true
	}
	return same, same && alike
}

// otherReporter reports two spans that one instrumentation does not write of calls beside each other: of two
// instrumentations, or under two names.
func otherReporter(a, b *node) bool {
	return a.scope != b.scope || a.source.Span.Name() != b.source.Span.Name()
}
