// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// keptTurn is the conversation of an agent in a recorded state, with the answers since its user spoke.
type keptTurn struct {
	by       *node
	messages []genai.Message
	answers  []int
	asks     map[string]bool // ids of the calls that the answers ask for
}

// recoverAroundTools makes the model calls of a run whose only calls are those of tools, and of the agents in
// it: one for each answer since the user spoke, in the state with the most answers.
//
// Needs: tool calls with drawn ids; a whole state whose answers ask for all of them.
// Refuses: states that lack one of the calls: they are those of agents around or below, or of an earlier
// time.
// Seen in: Langfuse's handler for LangChain before 5.1, which loses a generation whose answer is a list of
// parts.
func (c *collector) recoverAroundTools() {
	ids, agents := c.idsByAgent()
	if len(c.models)+len(c.retrievals) > 0 || len(agents) == 0 || len(agents) > maxTranscripts {
		return
	}
	turns := map[*call]*keptTurn{}
	for _, n := range c.readStates() {
		turn := readTurn(n)
		if turn == nil {
			continue
		}
		for _, agent := range agents {
			best := turns[agent]
			if (best == nil || len(turn.answers) > len(best.answers) || len(turn.answers) == len(best.answers) && compareNodes(n, best.by) < 0) && turn.asksForAll(ids[agent]) {
				turns[agent] = turn
			}
		}
	}
	for _, agent := range agents {
		turn := turns[agent]
		if turn == nil {
			continue
		}
		began := slices.MinFunc(c.states, compareNodes).start // of the run itself
		if agent != nil {
			began = agent.start
		}
		place := c.placeSince(agent, 0, began)
		for _, k := range turn.answers {
			c.models = append(c.models, answeredIn(turn.by, turn.messages, k, agent, place(newMessage(turn.messages[k]))))
		}
	}
}

// idsByAgent are the drawn ids of the tool calls of each agent, and the agents in order.
func (c *collector) idsByAgent() (ids map[*call][]string, agents []*call) {
	ids = map[*call][]string{}
	for _, t := range c.tools {
		if len(t.obs.CallID) < decode.MinDrawnID {
			continue
		}
		if ids[t.agent] == nil {
			agents = append(agents, t.agent)
		}
		ids[t.agent] = append(ids[t.agent], t.obs.CallID)
	}
	return ids, agents
}

// readTurn reads a whole state in which a user spoke, nil if it is none.
func readTurn(n *node) *keptTurn {
	turn := &keptTurn{by: n, messages: readState(n).messages, asks: map[string]bool{}}
	since, answers := answersSinceUser(turn.messages)
	if since == 0 || n.obs.OutputData.Label != "" {
		return nil
	}
	turn.answers = answers
	for _, k := range answers {
		maps.Copy(turn.asks, drawnIDs(turn.messages[k].Parts))
	}
	return turn
}

func (t *keptTurn) asksForAll(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !t.asks[id] })
}
