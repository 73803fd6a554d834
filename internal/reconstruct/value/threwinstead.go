// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"regexp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// threwInstead reports a last answer of a model that did not become that of the run: the run threw in place
// of it.
//
// Needs: a run span that says error and holds no answer.
// Refuses: a run that somebody ended, which throws through all spans and may have given its answer before.
// Seen in: programs that check an answer before they return it.
func threwInstead(o *outputFacts, _ claim) bool {
	e := o.run.Error
	if !o.run.StatusError || o.run.Failed || !o.final || e == nil || e.Message == "" || o.told != "" || o.run.OutputData.Present() ||
		wasEnded.MatchString(e.Type+" "+e.Message) || o.interrupted() {
		return false
	}
	return o.refusedBelow() || o.threwBehind()
}

// wasEnded is what is thrown through a program that is told to stop.
var wasEnded = regexp.MustCompile(`(?i)GeneratorExit|Cancel|Abort|Interrupt|StopIteration|StopAsyncIteration|closed|disconnect`)

// refusedBelow reports that the program around the last model call threw, and that the same error went up
// through every span to that of the run.
func (o *outputFacts) refusedBelow() bool {
	between, top := 0, false
	for n := range o.last.Above(nil) {
		if top = n == o.root; top || n.Obs.Error == nil || n.Obs.Error.Message != o.run.Error.Message {
			break
		}
		between++
	}
	return top && between > 0
}

// threwBehind reports that the run span holds an exception that did not come up from below: everything there,
// agents that ended with the answer among it, ended well before. It is what the caller of the run got in
// place of the answer.
func (o *outputFacts) threwBehind() bool {
	kids := o.root.Kids
	return holdsException(o.root) && slices.ContainsFunc(kids, spantree.IsAgent) && (len(o.last.Nodes) == 0 || o.last.Nodes[0].Up != o.root) &&
		!slices.ContainsFunc(kids, func(n *spantree.Node) bool { return n.Failed() || n.End > o.root.End })
}

// holdsException reports a span with an exception and where it was thrown.
func holdsException(n *spantree.Node) bool {
	for _, e := range n.Span.Events().All() {
		if trace, there := e.Attributes().Get("exception.stacktrace"); e.Name() == "exception" && there && trace.Str() != "" {
			return true
		}
	}
	return false
}
