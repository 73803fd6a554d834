// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// FinishedForTools reports a model call whose finish reason says that it asked for tools.
func FinishedForTools(n *Node) bool {
	return slices.ContainsFunc(n.Obs.FinishReasons, tape.AsksForTools)
}

// LosesCalls reports a model call that asked for tools, as its finish reason says, and of whose calls none
// was recorded.
func LosesCalls(n *Node) bool { return FinishedForTools(n) && len(n.Asks()) == 0 }

// SameModel reports that two records name the same model: the requested one, or the one that answered where
// one of them names no other.
func SameModel(a, b *genai.Report) bool {
	if a.Model == b.Model {
		return true
	}
	return (a.Model == "" || b.Model == "") && cmp.Or(a.ResponseModel, a.Model) == cmp.Or(b.ResponseModel, b.Model)
}

// maxLayers bounds how many model spans around each other are looked through for the calls that they stand
// for.
const maxLayers = 4

// SummedUp returns the model calls below a model span that stands for several and is none itself.
//
// Needs: two model spans below it, of which one begins when the other has ended.
// Refuses: failed attempts of one call; pieces of a streamed answer; calls of an agent or a tool below the
// span.
// Seen in: agents that speak to each other within each other; frameworks whose span covers their loop.
func SummedUp(n *Node) []*Node { return summedUpWithin(n, maxLayers) }

func summedUpWithin(n *Node, layers int) []*Node {
	inner := withoutAttempts(modelsBelow(n))
	for i := 1; i < len(inner); i++ {
		if inner[i].Start >= inner[i-1].End && inner[i-1].End > inner[i-1].Start {
			return inner
		}
	}
	if len(inner) == 1 && layers > 0 {
		return summedUpWithin(inner[0], layers-1)
	}
	return nil
}

// modelsBelow are the next model spans below one, in order, without the pieces of its answer.
func modelsBelow(n *Node) (inner []*Node) {
	for _, k := range n.Kids {
		Walk(k, func(m *Node) bool {
			if m.Obs.Class == genai.Model && !IsPiece(m.Obs, n.Obs) {
				inner = append(inner, m)
			}
			return m.Obs.Class != genai.Model && m.Obs.Class != genai.Tool && m.Obs.Class != genai.Agent
		})
	}
	slices.SortFunc(inner, CompareNodes)
	return inner
}

// withoutAttempts leaves out failed model spans: they are attempts of one call. One that goes on with what
// the first answered call said is a call of its own.
func withoutAttempts(models []*Node) []*Node {
	first := slices.IndexFunc(models, func(m *Node) bool { return !IsFailure(m.Obs) })
	return slices.DeleteFunc(slices.Clone(models), func(m *Node) bool {
		return IsFailure(m.Obs) && !(first >= 0 && len(m.Request()) > 0 && LoopsOver(models[first], m))
	})
}

// LoopsOver reports a model span that stands for a loop and for the first call in it: the one inside it is a
// later call.
//
// Needs: an inner request that repeats the outer one and holds an answer since; without any request, two
// spans of one name and instrumentation that tell the same answer.
// Refuses: an answer in the inner request that is the answer of both: the program appended it to the list it
// had sent.
// Seen in: streams that end with the loop that reads them.
func LoopsOver(outer, inner *Node) bool {
	sent, again := chat.AfterSystem(outer.Request()), chat.AfterSystem(inner.Request())
	if len(sent)+len(again) == 0 {
		return SameAnswer(outer, inner) && outer.Scope == inner.Scope && outer.Source.Span.Name() == inner.Source.Span.Name() && Below(inner, outer)
	}
	if len(sent) == 0 || len(again) <= len(sent) || chat.CommonPrefix(sent, again) != len(sent) || again[len(sent)].Tape.Role != tape.RoleAssistant {
		return false
	}
	return !SameAnswer(outer, inner) || !chat.AsksAs(again[len(sent)], outer.Obs.Response)
}

// SameAnswer reports two model calls with the id of one answer.
func SameAnswer(a, b *Node) bool {
	return a.Obs.ResponseID != "" && a.Obs.ResponseID == b.Obs.ResponseID
}

// SameAgent returns the span of an agent below n that stands for the same agent: the only one, or the first
// one of several under the same name, or under any name where n has none. A call beside the agents
// contradicts that.
func SameAgent(n *Node) *Node {
	var agents []*Node
	calls := false
	for _, k := range n.Kids {
		Walk(k, func(m *Node) bool {
			if m.Obs.Class == genai.Agent && !m.Obs.WeakAgent && HoldsCall(m) {
				agents = append(agents, m)
				return false
			}
			calls = calls || IsCall(m)
			return !IsCall(m)
		})
	}
	if len(agents) == 0 || calls {
		return nil
	}
	first := slices.MinFunc(agents, CompareNodes)
	if name := n.Obs.Agent.Name; len(agents) == 1 || name == "" || name == first.Obs.Agent.Name {
		return first
	}
	return nil
}

// IsPiece reports a model span that is a piece of the call around it: a chunk of a stream, or a step that
// tells nothing.
//
// Needs: a call around it with a request and an answer; no content but parts of that answer.
// Refuses: a span that names a model, an id of an answer, a request, tokens, a finish reason or a failure.
// Seen in: instrumentations that write a span for each chunk.
func IsPiece(o, whole *genai.Report) bool {
	if len(whole.Request) == 0 || len(whole.Response) == 0 || o.Model != "" || !Silent(o) {
		return false
	}
	answer := whole.Response[len(whole.Response)-1].Parts
	return !slices.ContainsFunc(o.Response, func(m genai.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p genai.Part) bool {
			return !slices.ContainsFunc(answer, func(q genai.Part) bool { return isPartOf(&p, &q) })
		})
	})
}

// isPartOf reports a part of an answer that a piece of the answer tells, in whole or in part. The words of a
// chunk may spell out a call.
func isPartOf(p, whole *genai.Part) bool {
	switch {
	case whole.Type == tape.PartToolCall && p.Type == tape.PartText:
		return chat.TellsOneCall(whole) && strings.Contains(p.Text, whole.ID)
	case p.Type != whole.Type:
		return false
	case p.Type == tape.PartText:
		return strings.Contains(whole.Text, p.Text)
	default:
		return p.Type == tape.PartToolCall && p.ID == whole.ID && p.Name == whole.Name
	}
}

// Silent reports a model span without a request and without what comes with an answer.
func Silent(o *genai.Report) bool {
	return len(o.Request) == 0 && o.RequestLabel == "" && !chat.UsageKnown(o.Usage) && len(o.FinishReasons) == 0 && o.ResponseID == "" &&
		o.ResponseModel == "" && !IsFailure(o)
}

// QuotesCalls reports a text that names all calls that a model call was answered with: by their ids, or by
// their names and arguments.
func QuotesCalls(n *Node, m *chat.Message) bool {
	calls := n.Asks()
	if len(calls) == 0 {
		return false
	}
	text := chat.TextOf(m)
	return text != "" && !slices.ContainsFunc(calls, func(p *genai.Part) bool {
		if len(p.ID) >= chat.MinQuoted && strings.Contains(text, p.ID) {
			return false
		}
		return p.Name == "" || p.Args.Len() == 0 || !strings.Contains(text, p.Name) ||
			slices.ContainsFunc(p.Args.Members(), func(a exactjson.Member) bool { return a.Value.Text() == "" || !strings.Contains(text, a.Value.Text()) })
	})
}

// RepeatsAnswer reports that a request repeats, right after the messages of the one before it, what that one
// was answered. Any message will do if the answer was not recorded.
func RepeatsAnswer(before, n *Node, sent []*chat.Message) bool {
	answer := before.Answer()
	if answer == nil {
		return true
	}
	following := sent[len(chat.AfterSystem(before.Request())):]
	said := following[0]
	if same, _ := answer.Equal(said); same || QuotesCalls(before, said) {
		return true
	}
	if said.Tape.Role != tape.RoleAssistant { // a result follows what asked for it, whether that was recorded or not
		return chat.AnswersCalls(chat.IdsOf(before.Asks()), following) || said.Tape.Role == tape.RoleTool && LosesCalls(before)
	}
	text, asks := chat.TextOf(answer), chat.HasToolCall(answer)
	switch {
	case n.Obs.RequestLabel != "", asks && chat.RepeatsCalls(answer, following): // the request is not what was sent, or names the calls
		return true
	case (text == "" || text == chat.TextOf(said)) && chat.TakesApart(said, answer): // the calls of a stream were recorded as one
		return true
	case text != chat.TextOf(said):
		return false
	case text != "":
		return true
	case asks: // the message that asked was recorded without its calls, before what they returned
		return !chat.HasToolCall(said) && len(following) > 1 && following[1].Tape.Role == tape.RoleTool
	}
	return chat.HasToolCall(said) || FinishedForTools(before)
}
