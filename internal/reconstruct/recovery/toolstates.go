// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// keptTurn is the conversation of an agent in a recorded state, with the answers since its user spoke.
type keptTurn struct {
	by       *spantree.Node
	messages []genai.Message
	answers  []int
	asks     map[string]bool // ids of the calls that the answers ask for
}

// RecoverAroundTools makes the model calls of a run whose only calls are those of tools, and of the agents in
// it: one for each answer since the user spoke, in the state with the most answers.
//
// Needs: tool calls with drawn ids; a whole state whose answers ask for all of them.
// Refuses: states that lack one of the calls: they are those of agents around or below, or of an earlier
// time.
// Seen in: Langfuse's handler for LangChain before 5.1, which loses a generation whose answer is a list of
// parts.
func RecoverAroundTools(c *ledger.Ledger) {
	ids, agents := idsByAgent(c)
	if len(c.Models)+len(c.Retrievals) > 0 || len(agents) == 0 || len(agents) > chat.MaxTranscripts {
		return
	}
	turns := map[*ledger.Call]*keptTurn{}
	for _, n := range c.ReadStates() {
		turn := readTurn(n)
		if turn == nil {
			continue
		}
		for _, agent := range agents {
			best := turns[agent]
			if (best == nil || len(turn.answers) > len(best.answers) || len(turn.answers) == len(best.answers) && spantree.CompareNodes(n, best.by) < 0) && turn.asksForAll(ids[agent]) {
				turns[agent] = turn
			}
		}
	}
	for _, agent := range agents {
		turn := turns[agent]
		if turn == nil {
			continue
		}
		began := slices.MinFunc(c.States, spantree.CompareNodes).Start // of the run itself
		if agent != nil {
			began = agent.Start
		}
		place := placeSince(c, agent, 0, began)
		for _, k := range turn.answers {
			c.Models = append(c.Models, answeredIn(turn.by, turn.messages, k, agent, place(chat.NewMessage(turn.messages[k]))))
		}
	}
}

// idsByAgent are the drawn ids of the tool calls of each agent, and the agents in order.
func idsByAgent(c *ledger.Ledger) (ids map[*ledger.Call][]string, agents []*ledger.Call) {
	ids = map[*ledger.Call][]string{}
	for _, t := range c.Tools {
		if len(t.Obs.CallID) < decode.MinDrawnID {
			continue
		}
		if ids[t.Agent] == nil {
			agents = append(agents, t.Agent)
		}
		ids[t.Agent] = append(ids[t.Agent], t.Obs.CallID)
	}
	return ids, agents
}

// readTurn reads a whole state in which a user spoke, nil if it is none.
func readTurn(n *spantree.Node) *keptTurn {
	turn := &keptTurn{by: n, messages: ledger.ReadState(n).Messages, asks: map[string]bool{}}
	since, answers := ledger.AnswersSinceUser(turn.messages)
	if since == 0 || n.Obs.OutputData.Label != "" {
		return nil
	}
	turn.answers = answers
	for _, k := range answers {
		maps.Copy(turn.asks, chat.DrawnIDs(turn.messages[k].Parts))
	}
	return turn
}

func (t *keptTurn) asksForAll(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !t.asks[id] })
}
