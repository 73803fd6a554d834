// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// handContent gives the model calls below a span what that span alone recorded of them: the model, and the
// content where none of them recorded any. The answer is the last call's. So is the request, where it shows
// what a tool between them returned; it then shows the earlier turns as well.
func handContent(n *spantree.Node, inner []*spantree.Node) {
	recorded := slices.ContainsFunc(inner, func(m *spantree.Node) bool { return len(m.Obs.Request)+len(m.Obs.Response) > 0 })
	for _, m := range inner {
		o := m.Obs.Draft()
		decode.FillString(&o.Model, n.Obs.Model)
		m.Obs = o.Seal()
	}
	if recorded {
		return
	}
	sent, last := n.Obs.Request, inner[len(inner)-1]
	if decode.LoopAt(n.Obs.Response) > 0 {
		handLoop(n, inner)
		return
	}
	handResponse(last, n.Obs.Response, n.Obs.ResponseLabel)
	if !slices.ContainsFunc(n.Kids, func(k *spantree.Node) bool { return k.Obs.Class == genai.Tool && chat.ShowsResult(sent, k.Obs.CallID) }) {
		handRequest(inner[0], n, sent, n.Obs.RequestLabel)
		return
	}
	handRequest(last, n, sent, n.Obs.RequestLabel)
	_, turns := AnswersSinceUser(sent)
	switch {
	case len(turns) == len(inner) && len(n.Obs.Response) == 0: // the request holds the last answer too
		handResponse(last, sent[turns[len(turns)-1]:][:1:1], tape.Recovered)
	case len(turns) == len(inner)-1:
	default:
		turns = turns[:min(len(turns), 1)]
	}
	for i, at := range turns {
		handRequest(inner[i], n, sent[:at:at], tape.Recovered)
	}
}

// handLoop gives the model calls below a span the turns that its output holds, where there are as many. Else
// the first has the request and the last the answer behind all results.
func handLoop(n *spantree.Node, inner []*spantree.Node) {
	sent, said := n.Obs.Request, n.Obs.Response
	handRequest(inner[0], n, sent, n.Obs.RequestLabel)
	handResponse(inner[len(inner)-1], decode.LastAnswers(said), n.Obs.ResponseLabel)
	_, turns := AnswersSinceUser(said)
	if len(turns) != len(inner) {
		return
	}
	for i, at := range turns {
		handResponse(inner[i], said[at:at+1], cmp.Or(n.Obs.ResponseLabel, tape.Recovered))
		if i > 0 {
			handRequest(inner[i], n, slices.Concat(sent, said[:at]), tape.Recovered)
		}
	}
}

// handRequest gives a model call a request that the span around it recorded.
func handRequest(n *spantree.Node, from *spantree.Node, request []genai.Message, label tape.Label) {
	o := n.Obs.Draft()
	o.Request, o.RequestLabel = request, label
	decode.FillList(&o.System, from.Obs.System)
	decode.FillList(&o.Tools, from.Obs.Tools)
	n.Obs, n.Messages = o.Seal(), nil
}

func handResponse(n *spantree.Node, response []genai.Message, label tape.Label) {
	o := n.Obs.Draft()
	o.Response, o.ResponseLabel = response, label
	n.Obs = o.Seal()
}

// AnswersSinceUser are the places of the answers behind the last message of a user. since is the place right
// behind that, 0 if there is none.
func AnswersSinceUser(messages []genai.Message) (since int, answers []int) {
	for i, m := range messages {
		switch m.Role {
		case tape.RoleUser:
			since, answers = i+1, nil
		case tape.RoleAssistant:
			answers = append(answers, i)
		}
	}
	return since, answers
}

// nest joins a model span with the one around it, as of a framework around that of the provider's client.
// Messages come from the outermost span; ids, usage, finish and times from the innermost.
func (t *Call) nest(n *spantree.Node) {
	merged := genai.MergeModel(t.Obs, n.Obs)
	if len(t.Obs.Request) == 0 && t.Obs.RequestLabel == "" && len(n.Obs.Request) > 0 && len(n.Obs.Response) > 0 {
		// the answer to the request that is known
		merged.Response, merged.ResponseLabel = n.Obs.Response, n.Obs.ResponseLabel
	}
	t.Obs, t.Start, t.End = merged, n.Start, n.End
	t.AddReport([]*spantree.Node{n}, n.Obs.Notes)
}
