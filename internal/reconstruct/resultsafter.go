// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// resultsAfter takes the results that follow, in a later request, the message that asked. asked counts the calls of the
// run by id.
//
// Needs: a request that repeats the message, or what stands for it, see answerIn.
// Refuses: the id of another call; results by place, unless there are as many as calls.
// Seen in: most frameworks.
func (c *collector) resultsAfter(i int, asked map[string]int) {
	m := c.models[i]
	for _, next := range c.models[i+1 : min(len(c.models), i+1+maxPredecessors)] {
		at := answerIn(next.request, m)
		if at < 0 {
			continue
		}
		results := slices.Collect(toolResults(beforeAnswer(next.request[at+1:])))
		ids := next.resentIDs(at, m, asked)
		if misnumbered(m, ids, results, next.request, asked) {
			for k, a := range m.asked {
				a.show(results[k], next)
			}
			return
		}
		for _, r := range results {
			for k, a := range m.asked {
				if r.ID != "" && (r.ID == a.part.ID || r.ID == ids[k]) && a.shown == nil {
					a.show(r, next)
					break
				}
			}
		}
		showByPosition(m, results, next)
		return
	}
}

// resentIDs are the ids that the calls of m have in the request that resends its response, as it was recorded: some
// packages give them others there. Ids that other calls of the run have are theirs.
func (t *call) resentIDs(at int, m *call, asked map[string]int) []string {
	ids := make([]string, len(m.asked))
	for k, a := range m.asked {
		ids[k] = a.part.ID
	}
	for _, n := range t.nodes {
		recorded := n.request()
		if len(recorded) != len(t.request) {
			continue
		}
		var resent []string
		for _, p := range callsOf(recorded[at].parts) {
			resent = append(resent, p.ID)
		}
		if len(resent) == len(ids) && !slices.ContainsFunc(resent, func(id string) bool { return asked[id] > 0 && !slices.Contains(ids, id) }) {
			return resent
		}
	}
	return ids
}

// misnumbered reports results with numbers of their own: some packages number calls and results anew, each by its place
// in a message. There are as many as calls, with the same names, and their ids differ in a number at the end alone. The
// number must tell nothing: no call of the run has the id, or it comes back within the request.
func misnumbered(m *call, resent []string, results []*genai.Part, request []*message, asked map[string]int) bool {
	if len(results) != len(m.asked) {
		return false
	}
	for k, a := range m.asked {
		r := results[k]
		if stem(resent[k]) == "" || stem(resent[k]) != stem(r.ID) || a.shown != nil || r.Name != "" && r.Name != a.part.Name {
			return false
		}
	}
	foreign := slices.DeleteFunc(slices.Clone(results), func(r *genai.Part) bool { return slices.Contains(resent, r.ID) })
	return len(foreign) > 0 && !slices.ContainsFunc(foreign, func(r *genai.Part) bool {
		return asked[r.ID] > 0 && resultsOf(r.ID, request) < 2
	})
}

// stem is an id without the number at its end.
func stem(id string) string { return strings.TrimRight(id, "0123456789") }

// answerIn finds the last message of the response of m in a later request, -1 where it is not there.
func answerIn(request []*message, m *call) int {
	at := len(m.request)
	if at < len(request) && commonPrefix(m.request, request) == at {
		following := request[at:]
		if n := resentParts(following, m.response); n > 1 {
			return at + n - 1
		}
		if same, _ := following[0].equal(m.response); same || m.recovered || sameCalls(following[0], m.response) ||
			hasToolCall(m.response) && repeatsCalls(m.response, following) {
			return at
		}
		if n := leftOut(following, m.response); n >= 0 {
			return at + n - 1
		}
	}
	if at := indexFrom(request, m.response, at); at >= 0 {
		return at
	}
	return indexFrom(request, m.response, 0)
}

// resentParts counts the messages in which a response was resent, 0 where they say something else.
func resentParts(following []*message, response *message) (n int) {
	whole := turnAt(following)
	if whole == nil || whole.id != response.id {
		return 0
	}
	for parts := 0; parts < len(whole.parts); n++ {
		parts += len(following[n].parts)
	}
	return n
}

// leftOut counts the messages that stand for the response at the beginning of what follows its request, -1 where they
// say something else. Some packages do not record calls in a message that is resent. Nothing stands before the results
// then, or the text of the response, or none, or what the package writes for calls and results.
func leftOut(following []*message, response *message) int {
	n := 0
	if following[0].tape.Role == tape.RoleAssistant {
		text := textOf(following[0])
		standIn := strings.HasPrefix(text, "[")
		if hasToolCall(following[0]) || !saysNothing(following[0]) && text != textOf(response) && (textOf(response) != "" || standIn) {
			return -1
		}
		n = 1
	}
	if !hasToolCall(response) || n == len(following) || following[n].tape.Role != tape.RoleTool {
		return -1
	}
	return n
}

// indexFrom finds a message in a list, from a place on; -1 if it is not there.
func indexFrom(messages []*message, m *message, from int) int {
	for i := from; i < len(messages); i++ {
		if messages[i].id == m.id {
			return i
		}
	}
	return -1
}
