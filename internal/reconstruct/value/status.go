// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// ending is a way in which a run ends, and the finding that it comes with.
type ending struct {
	when   func(*outputFacts) bool
	status tape.RunStatus
	code   tape.Code
	field  string
	why    string
}

// endings are asked in their order. A run of which none holds may be unfinished.
var endings = []ending{
	{when: (*outputFacts).interrupted, status: tape.StatusInterrupted, code: tape.CodeInterrupted, field: "run.status", why: "the run waits for a person or a resume"},
	{when: runFailed, status: tape.StatusError},
	{when: answeredDespiteError, code: tape.CodeStatusDisputed, status: tape.StatusOK, field: "run.status", why: "the root span says error, the run has an answer"},
	{when: runSaysError, status: tape.StatusError},
	{when: failedWithoutAnswer, status: tape.StatusError},
	{when: rootExpected, status: tape.StatusIncomplete, code: tape.CodeRootMissing, field: "run.root_span_id", why: "the run span that these calls name never came"},
}

// ended is how the run ended, and the step that failed where that made an error of it.
func (o *outputFacts) ended() (end ending, failed *spantree.Node) {
	for _, end := range endings {
		if end.when(o) {
			return end, nil
		}
	}
	why := o.unfinished()
	if o.out.text == "" && (o.out.withdrawn || why != "" || o.root != nil && o.root.Span.Status().Code() == ptrace.StatusCodeUnset) {
		failed = o.failedAround()
	}
	switch {
	case failed != nil: // also where a span around it, as of a workflow, tells no status
		return ending{status: tape.StatusError}, failed
	case why != "":
		return ending{status: tape.StatusIncomplete, code: tape.CodeUnfinished, field: "run.status", why: why}, nil
	}
	return ending{status: tape.StatusOK}, nil
}

// interrupted reports that the run ended by waiting for a person or a resume.
func (o *outputFacts) interrupted() bool {
	return o.root != nil && (o.run.Interrupted || spantree.AnySpan([]*spantree.Node{o.root}, func(n *spantree.Node) bool {
		return n.Obs.Interrupted && (o.last == nil || n.End >= o.last.End)
	}))
}

func runFailed(o *outputFacts) bool { return o.run.Failed }

func answeredDespiteError(o *outputFacts) bool {
	return o.run.StatusError && o.out.text != "" && o.final
}

func runSaysError(o *outputFacts) bool { return o.run.StatusError }

func failedWithoutAnswer(o *outputFacts) bool { return o.failed && o.out.text == "" }

// rootExpected reports that a run span must exist and has not come: the calls name a parent, and their
// dialect puts every call below a run span.
func rootExpected(o *outputFacts) bool {
	return o.root == nil && slices.ContainsFunc(o.Fragment.Heads, func(n *spantree.Node) bool { return n.Rooted && n.Missing })
}
