// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"iter"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// turn is a model call in its conversation.
type turn struct {
	f       *part
	n       *spantree.Node
	service string
	sent    []*chat.Message // without instructions
	done    bool            // another call goes on with it
}

func compareTurns(a, b *turn) int { return spantree.CompareNodes(a.n, b.n) }

func compareEnds(a, b *turn) int { return cmp.Or(cmp.Compare(a.n.End, b.n.End), compareTurns(a, b)) }

func endsAt(t *turn, at uint64) int { return cmp.Compare(t.n.End, at) }

// turns are the model calls of all parts.
func (s *stitcher) turns() iter.Seq[*turn] {
	return func(yield func(*turn) bool) {
		for _, f := range s.all {
			for _, t := range f.turns {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// turnsOf are the model calls of the parts of a run, in an order.
func turnsOf(run []*part, order func(a, b *turn) int) (turns []*turn) {
	for _, f := range run {
		turns = append(turns, f.turns...)
	}
	slices.SortStableFunc(turns, order)
	return turns
}

// looseTurns are the model calls of parts without the span of an agent, in order of time.
func (s *stitcher) looseTurns() []*turn {
	loose := slices.DeleteFunc(slices.Clone(s.all), func(f *part) bool { return f.OwnRun() })
	return turnsOf(loose, compareTurns)
}

// unsaid reports that an answer asked for tools and holds no call, or that it was recorded without a text or
// a call.
func (t *turn) unsaid() bool {
	empty := !t.n.Failed() && len(t.n.Obs.Response) > 0 && !slices.ContainsFunc(t.n.Obs.Response[0].Parts, chat.IsContent)
	return empty || spantree.LosesCalls(t.n)
}

// retries reports a request whose last message ends with what the framework says of a step that failed.
func (t *turn) retries() bool {
	return len(t.sent) > 0 && chat.WithoutTail(t.sent[len(t.sent)-1]) != t.sent[len(t.sent)-1].ID
}

// asksForTools reports an answer with a call of a tool that runs.
func (t *turn) asksForTools() bool {
	return slices.ContainsFunc(t.n.Asks(), func(p *genai.Part) bool { return !slices.Contains(t.n.Obs.OutputTools, p.Name) })
}
