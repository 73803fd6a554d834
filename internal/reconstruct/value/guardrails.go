// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"regexp"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// guarding reports a call of a guardrail within the run: what it says is no conversation of the run. The way
// up costs a bounded number of steps.
func (b *Builder) guarding(k *ledger.Call) bool {
	if len(k.Nodes) == 0 {
		return false
	}
	n := k.Nodes[0].Up
	for range spantree.MaxAbove {
		if n == nil || n == b.Fragment.Root {
			break
		}
		if n.Obs.Guardrail {
			return true
		}
		n = n.Up
	}
	return false
}

// refusals are the errors of a check, in the words of frameworks: a guardrail, or the validator of an answer
// that was tried too often.
var refusals = regexp.MustCompile(`(?i)tripwire|guardrail|exceeded maximum (?:output )?retries|(?:output|answer|result) ?validat(?:ion|or)|OutputParserException|StructuredOutputValidation`)

func refuses(e *tape.Error) bool { return e != nil && refusals.MatchString(e.Type+" "+e.Message) }

// refusedByCheck reports an answer that a check refused: the run ended with its error in place of the answer.
//
// Needs: a run span, or a step around the last event, with the error of a guardrail or a validator; or a
// guardrail that refused, and after which the run asked no model.
// Refuses: a run span with another text as its answer.
// Seen in: OpenAI's Agents SDK under several instrumentations; Pydantic AI, whose validators run out of
// retries.
func refusedByCheck(o *outputFacts, was claim) bool {
	if o.told != "" && o.told != was.text {
		return false
	}
	if o.run.StatusError || o.run.Failed {
		return refuses(o.run.Error) || o.tripped() != nil
	}
	return refuses(spantree.Observed(o.failedAround()).Error) || o.told == "" && o.tripped() != nil
}

// tripped is the guardrail that ended the run.
func (o *outputFacts) tripped() (found *spantree.Node) {
	if o.root == nil {
		return nil
	}
	spantree.Walk(o.root, func(n *spantree.Node) bool {
		if n.Obs.Tripped && (o.last == nil || o.last.Start <= n.End) {
			found = n
		}
		return found == nil
	})
	return found
}
