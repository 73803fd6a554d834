// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverUnreported makes a model call of a run without any call. How many calls there were before it, and
// what each was sent, is not known.
//
// Needs: the run's own span, and one of: the error of a client of a model's API; an output of several turns;
// what a model was sent; the model or the tokens that it wrote.
// Refuses: a run that failed otherwise; a span that only looks like an agent and kept nothing that was sent.
// Seen in: instrumentations of frameworks alone, as agno under Traceloop; packages that drop the span of a
// call that threw, as Laminar's for OpenAI in JavaScript.
func RecoverUnreported(c *ledger.Ledger) {
	root := c.Run.Root
	var m *ledger.Call
	switch {
	case root == nil || !ledger.NoCalls(c):
	case decode.LoopAt(root.Obs.Output) > 0:
		c.Models = append(c.Models, turnsOf(c, root)...)
	case spantree.IsFailure(root.Obs):
		m = failedBefore(root)
	default:
		if m = keptBy(root); m == nil && !root.Obs.WeakAgent {
			m = namedBy(root)
		}
	}
	if m != nil {
		c.Models = append(c.Models, m)
	}
}

// failedBefore is the model call with which a run failed, nil if its error is no client's of a model's API.
func failedBefore(root *spantree.Node) *ledger.Call {
	if !genai.FailedInModelClient(root.Span) {
		return nil
	}
	return thrownBehind(root.Obs, root, root.End)
}

// thrownBehind is the model call with which a run failed, of the model that a record names. What was sent is
// not known.
func thrownBehind(o *genai.Report, root *spantree.Node, when uint64) *ledger.Call {
	return ledger.HiddenModel(func(made *genai.Draft) {
		made.Model, made.Provider, made.RequestLabel, made.ResponseLabel = o.Model, o.Provider, tape.Missing, tape.Missing
		made.StatusError, made.Error = true, root.Obs.Error
	}, nil, when, "no span reports this call; the run failed with the error of a client of a model's API")
}

// keptBy is the only model call of a run that kept what it sent, instructions and a question, and answered
// with a text: nothing was said in between. Crews of one agent without tools are such runs.
func keptBy(root *spantree.Node) *ledger.Call {
	sent, answer := decode.OnlyTranscript(root.Obs.OutputData.Value), spantree.OwnAnswer(root)
	if len(sent) < 2 || root.Obs.OutputData.Label != "" || sent[0].Role != tape.RoleSystem || sent[len(sent)-1].Role != tape.RoleUser ||
		decode.HasRole(sent, tape.RoleAssistant) || decode.HasRole(sent, tape.RoleTool) || chat.TextOf(chat.NewMessage(answer)) == "" {
		return nil
	}
	answer.Role = tape.RoleAssistant
	return overRun(root, func(o *genai.Draft) {
		answeredAs(answer, sent)(o)
		o.FinishReasons, o.Usage = nil, root.Obs.Usage
	}, "", "no span reports this call; the state of "+root.Span.Name()+" holds what was sent, and its answer")
}

// namedBy is the model call of a run whose span names the model, or tokens that it wrote. What came of the
// run is the answer.
func namedBy(root *spantree.Node) *ledger.Call {
	o, answer := root.Obs, spantree.OwnAnswer(root)
	if text := chat.Given(o.OutputData); len(o.Output) == 0 && text != "" {
		answer = genai.Message{Parts: []genai.Part{decode.TextPart(text)}}
	}
	if wrote := o.Usage.OutputTokens; o.Model == "" && (wrote == nil || *wrote <= 0) {
		return nil
	}
	return overRun(root, func(made *genai.Draft) {
		made.Operation, made.Model, made.Provider, made.Usage = "chat", o.Model, o.Provider, o.Usage
		made.RequestLabel, made.ResponseLabel = tape.Missing, tape.Missing
		if chat.TextOf(chat.NewMessage(answer)) != "" {
			answer.Role = tape.RoleAssistant
			made.Response, made.ResponseLabel = []genai.Message{answer}, tape.Recovered
		}
	}, "response", "no span reports this call; that of the agent says that a model was asked, and holds what came of it")
}

// turnsOf are the model calls of a run whose span holds all of its turns as one output.
func turnsOf(c *ledger.Ledger, root *spantree.Node) (models []*ledger.Call) {
	o := root.Obs
	_, turns := ledger.AnswersSinceUser(o.Output)
	for i, at := range turns {
		if i > 0 && !c.HasRoom(len(o.Input)+at) {
			models[i-1].Note(tape.CodeModelCallHidden, "", moreTurns)
			break
		}
		m := overRun(root, func(made *genai.Draft) {
			made.Operation, made.Model, made.Provider = "chat", o.Model, o.Provider
			made.Request, made.RequestLabel = slices.Concat(o.Input, o.Output[:at]), tape.Recovered
			made.Response, made.ResponseLabel = o.Output[at:at+1], tape.Recovered
			if i == 0 {
				made.Usage = o.Usage
			}
		}, "", "no span reports this call; the output of the run holds its answer")
		if i > 0 {
			m.Start = root.End
		}
		models = append(models, m)
	}
	return models
}

// overRun is a model call without a span that took as long as the run, for all that is known.
func overRun(root *spantree.Node, fill func(*genai.Draft), field, detail string) *ledger.Call {
	m := ledger.HiddenModel(fill, nil, root.Start, detail)
	m.End, m.Notes[0].Field = root.End, field
	return m
}
