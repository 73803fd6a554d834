// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// candidateIndex finds the join candidates: runs that may be fragments of one run. It reads tapes only. Candidates may turn out not to
// belong together. Runs that are no candidates cannot be joined. Every rule of reconstruct.Join needs two fragments that have one of these
// in common:
//
//   - the run-level id;
//   - the opening of a conversation, of runs without a run span, and of runs that ended waiting for tools or began with their results;
//   - the id, or the name and arguments, of a tool call, or the id of the conversation, where one of the two holds tool calls only, or no
//     user message and no run span;
//   - a text that is the answer of a run without a run span and in the other the result of a tool;
//   - the question and the answer, where no span reports the model calls of one of the two.
//
// It keeps some 16 bytes per id and no text.
type candidateIndex struct {
	seed        maphash.Seed
	location    []int            // of each fragment; in ascending order
	group       groups           // of fragments
	first       map[uint64]int   // key → the fragment that had it first
	conditional []conditionalKey // keys that count only when a fragment has them that could not stand alone
	asked       map[uint64]bool
}

type conditionalKey struct {
	key      uint64
	fragment int
}

func newCandidateIndex() *candidateIndex {
	return &candidateIndex{seed: maphash.MakeSeed(), first: map[uint64]int{}, asked: map[uint64]bool{}}
}

func (k *candidateIndex) key(kind, tenant, id string) uint64 {
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, s := range []string{kind, tenant, id} {
		h.WriteString(s) //nolint:errcheck // never fails
		h.WriteByte(0)   //nolint:errcheck // never fails
	}
	return h.Sum64()
}

// add takes in the tape of a run that lies in a location.
func (k *candidateIndex) add(location int, t *tape.Tape) {
	fragment := len(k.group)
	k.group = append(k.group, fragment)
	k.location = append(k.location, location)
	tenant := t.Run.Tenant
	if t.Run.InvocationID != "" {
		k.share(fragment, k.key("run", tenant, t.Run.InvocationID))
	}
	rootless := slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeNoRoot })
	models := modelCalls(t)
	for i, e := range models {
		if !rootless && (i < len(models)-1 || !asksForTools(t, e)) && (i > 0 || !takesUp(t, e)) {
			continue
		}
		if id := opening(t, e); id != "" {
			k.share(fragment, k.key("opening", tenant, id))
		}
	}
	ids := map[uint64]bool{}
	take := func(counts bool, kind string, id ...string) {
		if id[len(id)-1] != "" {
			key := k.key(kind, tenant, strings.Join(id, "\x00"))
			ids[key] = true
			if counts {
				k.asked[key] = true
			}
		}
	}
	asked, answer := "", ""
	if t.Input.UserMessage != nil {
		asked = *t.Input.UserMessage
	}
	if t.Output.Text != nil {
		answer = strings.TrimSpace(*t.Output.Text)
	}
	dependent := len(models) == 0 || rootless && asked == ""
	take(dependent, "conversation", t.Run.ConversationID)
	take(rootless, "says", answer)
	take(hidden(t), "answers", asked, answer)
	for _, e := range t.Events {
		take(dependent, "call", e.ToolCallID)
		take(dependent, "args", e.Name, e.ArgsHash)
		if dependent && e.ArgsHash != "" {
			inside(e.Args, maxEnvelopes, func(v exactjson.Value) { take(true, "args", e.Name, tape.ArgsHash(v)) })
		}
		take(false, "says", strings.TrimSpace(e.Result.Str()))
	}
	for _, m := range t.Messages {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartToolCall:
				take(dependent, "call", p.ID)
			case tape.PartToolResult:
				take(false, "says", strings.TrimSpace(p.Result.Str()))
			}
		}
	}
	for key := range ids {
		k.conditional = append(k.conditional, conditionalKey{key, fragment})
	}
}

// maxEnvelopes is how deep arguments may lie in envelopes.
const maxEnvelopes = 4

// inside calls f for the objects inside of an object.
func inside(v exactjson.Value, depth int, f func(exactjson.Value)) {
	for _, m := range v.Members() {
		if m.Value.Kind() == exactjson.Object && depth > 0 {
			f(m.Value)
			inside(m.Value, depth-1, f)
		}
	}
}

// hidden reports that no span reports a call of the run.
func hidden(t *tape.Tape) bool {
	return !slices.ContainsFunc(t.Events, func(e tape.Event) bool { return len(e.SpanIDs) > 0 })
}

// modelCalls lists the model calls of a run in order of their start.
func modelCalls(t *tape.Tape) []tape.Event {
	var out []tape.Event
	for _, e := range t.Events {
		if e.Type == tape.EventModelCall {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b tape.Event) int { return a.StartedAt.Compare(b.StartedAt) })
	return out
}

// asksForTools reports a model call that was answered with tool calls.
func asksForTools(t *tape.Tape, e tape.Event) bool {
	return e.Response != nil && slices.ContainsFunc(t.Messages[e.Response.Message].Parts, func(p tape.Part) bool { return p.Type == tape.PartToolCall })
}

// takesUp reports a model call whose request does not end with exactly one message of the user: it ends with an answer, with a result, or
// with several messages of the user. Some packages tell the model the results of its calls in that way.
func takesUp(t *tape.Tape, e tape.Event) bool {
	if e.Request == nil || len(e.Request.Messages) == 0 {
		return false
	}
	role := func(fromEnd int) tape.Role {
		if n := len(e.Request.Messages) - fromEnd; n >= 0 {
			return t.Messages[e.Request.Messages[n]].Role
		}
		return ""
	}
	return role(1) == tape.RoleAssistant || role(1) == tape.RoleTool || role(1) == tape.RoleUser && role(2) == tape.RoleUser
}

// opening is the id of the first message of a request that is no system prompt.
func opening(t *tape.Tape, e tape.Event) string {
	if e.Request == nil {
		return ""
	}
	for _, id := range e.Request.Messages {
		if t.Messages[id].Role != tape.RoleSystem {
			return id
		}
	}
	return ""
}

func (k *candidateIndex) share(fragment int, key uint64) {
	if first, there := k.first[key]; there {
		k.group.unite(first, fragment)
	} else {
		k.first[key] = fragment
	}
}

// candidates returns groups of locations whose runs may belong together, in order of their first. No location is in two groups: runs that are
// joined from the same first trace are written together.
func (k *candidateIndex) candidates() [][]int {
	for _, l := range k.conditional {
		if k.asked[l.key] {
			k.share(l.fragment, l.key)
		}
	}
	size := map[int]int{}
	for f := range k.group {
		size[k.group.find(f)]++
	}
	var locations groups
	related := map[int]bool{}
	for f, location := range k.location {
		for location >= len(locations) {
			locations = append(locations, len(locations))
		}
		if root := k.group.find(f); size[root] > 1 {
			related[location] = true
			locations.unite(k.location[root], location)
		}
	}
	members := map[int][]int{}
	for location := range locations {
		if related[location] {
			root := locations.find(location)
			members[root] = append(members[root], location)
		}
	}
	var out [][]int
	for location := range locations {
		if members[location] != nil {
			out = append(out, members[location])
		}
	}
	return out
}

// groups holds for each number an earlier one of its group, or itself.
type groups []int

func (g groups) find(n int) int {
	for g[n] != n {
		g[n] = g[g[n]]
		n = g[n]
	}
	return n
}

func (g groups) unite(a, b int) {
	a, b = g.find(a), g.find(b)
	g[max(a, b)] = min(a, b)
}
