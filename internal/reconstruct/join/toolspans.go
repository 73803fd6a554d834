// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// toolSpans are the spans of tools outside of some parts, under the names that are looked for.
type toolSpans struct {
	byName map[string][]*spantree.Node // in order of their start
	of     map[*spantree.Node]*part
}

// toolSpansBeside are those that have the name of a wanted tool of the parts.
func (s *stitcher) toolSpansBeside(parts []*part, wanted func(*spantree.Node) bool) toolSpans {
	spans := toolSpans{map[string][]*spantree.Node{}, map[*spantree.Node]*part{}}
	if len(parts) == 0 || len(parts) == len(s.all) {
		return spans
	}
	within, names := map[*part]bool{}, map[string]bool{}
	for _, f := range parts {
		within[f] = true
		for _, n := range f.tools {
			names[n.Obs.Name] = names[n.Obs.Name] || n.Obs.Name != "" && wanted(n)
		}
	}
	for _, f := range s.all {
		if within[f] {
			continue
		}
		for _, n := range f.tools {
			if names[n.Obs.Name] {
				spans.byName[n.Obs.Name] = append(spans.byName[n.Obs.Name], n)
				spans.of[n] = f
			}
		}
	}
	for _, list := range spans.byName {
		slices.SortStableFunc(list, spantree.CompareNodes)
	}
	return spans
}

// around lists those of other traces than a part's that lie around one of its tools in time, in order of
// their start.
func (t toolSpans) around(f *part, n *spantree.Node) (fit []*spantree.Node) {
	list := t.byName[n.Obs.Name]
	before, _ := slices.BinarySearchFunc(list, n.Start+spantree.ClockSlack+1, func(a *spantree.Node, at uint64) int { return cmp.Compare(a.Start, at) })
	for _, a := range list[max(0, before-maxOpenTurns):before] {
		if n.End <= a.End+spantree.ClockSlack && !sameTrace(t.of[a], f) {
			fit = append(fit, a)
		}
	}
	return fit
}

// twins lists those around a tool that may report the same call: those of another instrumentation, and those
// of a framework around a function of the program.
func (t toolSpans) twins(f *part, n *spantree.Node) []*spantree.Node {
	return slices.DeleteFunc(t.around(f, n), func(a *spantree.Node) bool { return a.Scope == n.Scope && !callsFunction(a, n) && !namedAnew(a, n) })
}

// callsFunction reports a span of a tool that knows the id of its call, and one within its time that knows
// none: a function of the program does not learn it. Where a program has one scope for all its spans, that
// tells them from the same call of another run.
func callsFunction(around, n *spantree.Node) bool {
	return around.Obs.CallID != "" && n.Obs.CallID == "" && n.Within(around)
}

// namedAnew reports two spans of a tool of one scope under two names, one within the time of the other, that
// tell the same of it: what a program writes of its function within the span of the framework, which does not
// learn the id of a call in a stream. Equal calls beside each other have one name.
func namedAnew(around, n *spantree.Node) bool {
	same, alike := tellsSame(around, n)
	return same && alike && around.Obs.CallID == "" && n.Obs.CallID == "" && around.Source.Span.Name() != n.Source.Span.Name() && n.Within(around)
}

// reportedAgain finds the tools of parts without a model that report a call which a span elsewhere reports
// already: of another instrumentation, or under another name, around it in time, and telling the same of it.
// Such a span executed no other call, however well one fits that nobody executed: a model may ask once more
// for what it had done, and the program end there.
func (s *stitcher) reportedAgain(parts []*part) map[*spantree.Node]bool {
	again := map[*spantree.Node]bool{}
	spans := s.toolSpansBeside(parts, func(n *spantree.Node) bool { return n.Obs.CallID == "" })
	for _, f := range parts {
		for _, n := range f.tools {
			again[n] = n.Obs.CallID == "" && slices.ContainsFunc(spans.around(f, n), func(a *spantree.Node) bool {
				same, alike := tellsSame(a, n)
				return same && alike && otherReporter(a, n)
			})
		}
	}
	return again
}

// tellsSame reports two spans of tools in which nothing that both tell of the call differs, and whether there
// is any of it. What a framework told the model of a failure may be all that its span shows of it.
func tellsSame(a, b *spantree.Node) (same, alike bool) {
	if a.Obs.CallID != "" && b.Obs.CallID != "" && a.Obs.CallID != b.Obs.CallID {
		return false, false
	}
	if a.Obs.Args.Present() && b.Obs.Args.Present() {
		if !chat.EqualArgs(a.Obs.Args.Value, b.Obs.Args.Value, chat.SameValue) {
			return false, false
		}
		alike = a.Obs.Args.Value.Len() > 0
	}
	x, y := chat.TextResult(a.Obs.Result.Value), chat.TextResult(b.Obs.Result.Value)
	switch {
	case a.Failed() && b.Failed():
		same = a.Obs.Error == nil || b.Obs.Error == nil || chat.SameWords(a.Obs.Error.Message, b.Obs.Error.Message)
	case a.Failed():
		same = !b.Obs.Result.Present() || tellsFailure(y, a)
	case b.Failed():
		same = !a.Obs.Result.Present() || tellsFailure(x, b)
	case a.Obs.Result.Present() && b.Obs.Result.Present():
		same, alike = x == y, alike || len(x) >= chat.MinQuoted
	default:
		same = true
	}
	return same, same && alike
}

// otherReporter reports two spans that one instrumentation does not write of calls beside each other: of two
// instrumentations, or under two names.
func otherReporter(a, b *spantree.Node) bool {
	return a.Scope != b.Scope || a.Source.Span.Name() != b.Source.Span.Name()
}
