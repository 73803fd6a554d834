// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// maxLayers bounds how many model spans around each other are looked through for the calls that they stand
// for.
const maxLayers = 4

// summedUp returns the model calls below a model span that stands for several and is none itself.
//
// Needs: two model spans below it, of which one begins when the other has ended.
// Refuses: failed attempts of one call; pieces of a streamed answer; calls of an agent or a tool below the
// span.
// Seen in: agents that speak to each other within each other; frameworks whose span covers their loop.
func summedUp(n *node) []*node { return summedUpWithin(n, maxLayers) }

func summedUpWithin(n *node, layers int) []*node {
	inner := withoutAttempts(modelsBelow(n))
	for i := 1; i < len(inner); i++ {
		if inner[i].start >= inner[i-1].end && inner[i-1].end > inner[i-1].start {
			return inner
		}
	}
	if len(inner) == 1 && layers > 0 {
		return summedUpWithin(inner[0], layers-1)
	}
	return nil
}

// modelsBelow are the next model spans below one, in order, without the pieces of its answer.
func modelsBelow(n *node) (inner []*node) {
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			if m.obs.Class == genai.Model && !isPiece(m.obs, n.obs) {
				inner = append(inner, m)
			}
			return m.obs.Class != genai.Model && m.obs.Class != genai.Tool && m.obs.Class != genai.Agent
		})
	}
	slices.SortFunc(inner, compareNodes)
	return inner
}

// withoutAttempts leaves out failed model spans: they are attempts of one call. One that goes on with what
// the first answered call said is a call of its own.
func withoutAttempts(models []*node) []*node {
	first := slices.IndexFunc(models, func(m *node) bool { return !isFailure(m.obs) })
	return slices.DeleteFunc(slices.Clone(models), func(m *node) bool {
		return isFailure(m.obs) && !(first >= 0 && len(m.request()) > 0 && loopsOver(models[first], m))
	})
}

// handContent gives the model calls below a span what that span alone recorded of them: the model, and the
// content where none of them recorded any. The answer is the last call's. So is the request, where it shows
// what a tool between them returned; it then shows the earlier turns as well.
func handContent(n *node, inner []*node) {
	recorded := slices.ContainsFunc(inner, func(m *node) bool { return len(m.obs.Request)+len(m.obs.Response) > 0 })
	for _, m := range inner {
		o := *m.obs
		decode.FillString(&o.Model, n.obs.Model)
		m.obs = &o
	}
	if recorded {
		return
	}
	sent, last := n.obs.Request, inner[len(inner)-1]
	last.handResponse(n.obs.Response, n.obs.ResponseLabel)
	if !slices.ContainsFunc(n.kids, func(k *node) bool { return k.obs.Class == genai.Tool && showsResult(sent, k.obs.CallID) }) {
		inner[0].handRequest(n, sent, n.obs.RequestLabel)
		return
	}
	last.handRequest(n, sent, n.obs.RequestLabel)
	_, turns := answersSinceUser(sent)
	switch {
	case len(turns) == len(inner) && len(n.obs.Response) == 0: // the request holds the last answer too
		last.handResponse(sent[turns[len(turns)-1]:][:1:1], tape.Recovered)
	case len(turns) == len(inner)-1:
	default:
		turns = turns[:min(len(turns), 1)]
	}
	for i, at := range turns {
		inner[i].handRequest(n, sent[:at:at], tape.Recovered)
	}
}

// handRequest gives a model call a request that the span around it recorded.
func (n *node) handRequest(from *node, request []genai.Message, label tape.Label) {
	o := *n.obs
	o.Request, o.RequestLabel = request, label
	decode.FillList(&o.System, from.obs.System)
	decode.FillList(&o.Tools, from.obs.Tools)
	n.obs, n.messages = &o, nil
}

func (n *node) handResponse(response []genai.Message, label tape.Label) {
	o := *n.obs
	o.Response, o.ResponseLabel = response, label
	n.obs = &o
}

// answersSinceUser are the places of the answers behind the last message of a user. since is the place right
// behind that, 0 if there is none.
func answersSinceUser(messages []genai.Message) (since int, answers []int) {
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

// showsResult reports messages with the result of the call of an id.
func showsResult(messages []genai.Message, id string) bool {
	return id != "" && slices.ContainsFunc(messages, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult && p.ID == id })
	})
}

// nest joins a model span with the one around it, as of a framework around that of the provider's client.
// Messages come from the outermost span; ids, usage, finish and times from the innermost.
func (t *call) nest(n *node) {
	merged := genai.MergeModel(t.obs, n.obs)
	if len(t.obs.Request) == 0 && t.obs.RequestLabel == "" && len(n.obs.Request) > 0 && len(n.obs.Response) > 0 {
		// the answer to the request that is known
		merged.Response, merged.ResponseLabel = n.obs.Response, n.obs.ResponseLabel
	}
	t.obs, t.start, t.end = merged, n.start, n.end
	t.addReport([]*node{n}, n.obs.Notes)
}
