// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// resultsAfter takes the results that follow, in a later request, the message that asked. asked counts the
// calls of the run by id.
//
// Needs: a request that repeats the message, or what stands for it, see answerIn.
// Refuses: the id of another call; results by place, unless there are as many as calls.
// Seen in: most frameworks.
func resultsAfter(c *ledger.Ledger, i int, asked map[string]int) {
	m := c.Models[i]
	for _, next := range c.Models[i+1 : min(len(c.Models), i+1+ledger.MaxPredecessors)] {
		at := answerIn(next.Request, m)
		if at < 0 {
			continue
		}
		results := slices.Collect(chat.ToolResults(chat.BeforeAnswer(next.Request[at+1:])))
		ids := resentIDs(next, at, m, asked)
		if misnumbered(m, ids, results, next.Request, asked) {
			for k, a := range m.Asked {
				a.Show(results[k], next)
			}
			return
		}
		for _, r := range results {
			for k, a := range m.Asked {
				if r.ID != "" && (r.ID == a.Part.ID || r.ID == ids[k]) && a.Shown == nil {
					a.Show(r, next)
					break
				}
			}
		}
		ledger.ShowByPosition(m, results, next)
		return
	}
}

// resentIDs are the ids that the calls of m have in the request that resends its response, as it was
// recorded: some packages give them others there. Ids that other calls of the run have are theirs.
func resentIDs(t *ledger.Call, at int, m *ledger.Call, asked map[string]int) []string {
	ids := make([]string, len(m.Asked))
	for k, a := range m.Asked {
		ids[k] = a.Part.ID
	}
	for _, n := range t.Nodes {
		recorded := n.Request()
		if len(recorded) != len(t.Request) {
			continue
		}
		var resent []string
		for p := range chat.EachCall(recorded[at].Parts) {
			resent = append(resent, p.ID)
		}
		if len(resent) == len(ids) && !slices.ContainsFunc(resent, func(id string) bool { return asked[id] > 0 && !slices.Contains(ids, id) }) {
			return resent
		}
	}
	return ids
}

// misnumbered reports results with numbers of their own: some packages number calls and results anew, each by
// its place in a message. There are as many as calls, with the same names, and their ids differ in a number
// at the end alone. The number must tell nothing: no call of the run has the id, or it comes back within the
// request.
func misnumbered(m *ledger.Call, resent []string, results []*genai.Part, request []*chat.Message, asked map[string]int) bool {
	if len(results) != len(m.Asked) {
		return false
	}
	for k, a := range m.Asked {
		r := results[k]
		if stem(resent[k]) == "" || stem(resent[k]) != stem(r.ID) || a.Shown != nil || r.Name != "" && r.Name != a.Part.Name {
			return false
		}
	}
	foreign := slices.DeleteFunc(slices.Clone(results), func(r *genai.Part) bool { return slices.Contains(resent, r.ID) })
	return len(foreign) > 0 && !slices.ContainsFunc(foreign, func(r *genai.Part) bool {
		return asked[r.ID] > 0 && chat.ResultsOf(r.ID, request) < 2
	})
}

// stem is an id without the number at its end.
func stem(id string) string { return strings.TrimRight(id, "0123456789") }

// answerIn finds the last message of the response of m in a later request, -1 where it is not there.
func answerIn(request []*chat.Message, m *ledger.Call) int {
	at := len(m.Request)
	if at < len(request) && chat.CommonPrefix(m.Request, request) == at {
		following := request[at:]
		if n := resentParts(following, m.Response); n > 1 {
			return at + n - 1
		}
		if same, _ := following[0].Equal(m.Response); same || m.Recovered || chat.SameCalls(following[0], m.Response) ||
			chat.HasToolCall(m.Response) && chat.RepeatsCalls(m.Response, following) {
			return at
		}
		if n := leftOut(following, m.Response); n >= 0 {
			return at + n - 1
		}
	}
	if at := indexFrom(request, m.Response, at); at >= 0 {
		return at
	}
	return indexFrom(request, m.Response, 0)
}

// resentParts counts the messages in which a response was resent, 0 where they say something else.
func resentParts(following []*chat.Message, response *chat.Message) (n int) {
	whole := chat.TurnAt(following)
	if whole == nil || whole.ID != response.ID {
		return 0
	}
	for parts := 0; parts < len(whole.Parts); n++ {
		parts += len(following[n].Parts)
	}
	return n
}

// leftOut counts the messages that stand for the response at the beginning of what follows its request, -1
// where they say something else. Some packages do not record calls in a message that is resent. Nothing
// stands before the results then, or the text of the response, or none, or what the package writes for calls
// and results.
func leftOut(following []*chat.Message, response *chat.Message) int {
	n := 0
	if following[0].Tape.Role == tape.RoleAssistant {
		text := chat.TextOf(following[0])
		standIn := strings.HasPrefix(text, "[")
		if chat.HasToolCall(following[0]) || !chat.SaysNothing(following[0]) && text != chat.TextOf(response) && (chat.TextOf(response) != "" || standIn) {
			return -1
		}
		n = 1
	}
	if !chat.HasToolCall(response) || n == len(following) || following[n].Tape.Role != tape.RoleTool {
		return -1
	}
	return n
}

// indexFrom finds a message in a list, from a place on; -1 if it is not there.
func indexFrom(messages []*chat.Message, m *chat.Message, from int) int {
	for i := from; i < len(messages); i++ {
		if messages[i].ID == m.ID {
			return i
		}
	}
	return -1
}
