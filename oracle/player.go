// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

// Outcome is how a lookup ended. File, endpoint, runner and report use the same table.
type Outcome string

// The outcomes.
const (
	Hit           Outcome = "hit"            // the recorded response
	RecordedError Outcome = "recorded_error" // the recorded response, and the call had failed
	NoEntry       Outcome = "no_entry"       // no such call is recorded
	Exhausted     Outcome = "exhausted"      // the call is recorded, but all its occurrences have been served
	Ambiguous     Outcome = "ambiguous"      // several recorded calls fit and their answers differ
	Unservable    Outcome = "unservable"     // the call is recorded, but cut or incompletely
)

// Served reports whether there is a response.
func (o Outcome) Served() bool { return o == Hit || o == RecordedError }

// Query is a tool call that wants an answer.
type Query struct {
	// Caller is the path of agent names. A query without one also finds calls of any caller.
	Caller   string
	ToolName string
	ArgsHash string
}

// Answer is the outcome of a lookup. Entry is the entry that was served or that could not be, else nil.
type Answer struct {
	Outcome Outcome
	Entry   *Entry
}

// Player answers each recorded call once, in the recorded order: by content first (caller, tool, arguments), then by occurrence.
// It is not safe for concurrent use.
type Player struct {
	waiting map[call][]*Entry // what has not been looked up yet
	callers map[call][]string // tool and hash → callers, in recorded order
	partial map[call]*Entry   // caller and tool → the first entry whose arguments are not known
}

// NewPlayer returns a player at the start of the entries. It refers to the slice.
func NewPlayer(entries []Entry) *Player {
	p := &Player{waiting: map[call][]*Entry{}, callers: map[call][]string{}, partial: map[call]*Entry{}}
	for i := range entries {
		e := &entries[i]
		if !e.ArgsFidelity.served() || e.ArgsHash == "" {
			if key := (call{caller: e.Caller, tool: e.ToolName}); p.partial[key] == nil {
				p.partial[key] = e
			}
			if e.ArgsHash == "" {
				continue
			}
		}
		key, content := callOf(e), call{tool: e.ToolName, hash: e.ArgsHash}
		if _, known := p.waiting[key]; !known {
			p.callers[content] = append(p.callers[content], e.Caller)
		}
		p.waiting[key] = append(p.waiting[key], e)
	}
	return p
}

// Next looks the call up. An entry that is found counts as used, even one that cannot be served.
func (p *Player) Next(q Query) Answer {
	key := call{q.Caller, q.ToolName, q.ArgsHash}
	if _, known := p.waiting[key]; !known && q.Caller == "" {
		var ambiguous bool
		if key, ambiguous = p.anyCaller(key); ambiguous {
			return Answer{Outcome: Ambiguous}
		}
	}
	waiting, known := p.waiting[key]
	switch {
	case !known:
		if partial := p.partial[call{caller: q.Caller, tool: q.ToolName}]; partial != nil {
			return Answer{Outcome: Unservable, Entry: partial}
		}
		return Answer{Outcome: NoEntry}
	case len(waiting) == 0:
		return Answer{Outcome: Exhausted}
	}
	e := waiting[0]
	p.waiting[key] = waiting[1:]
	switch {
	case !e.Servable():
		return Answer{Outcome: Unservable, Entry: e}
	case e.IsError:
		return Answer{Outcome: RecordedError, Entry: e}
	default:
		return Answer{Outcome: Hit, Entry: e}
	}
}

// anyCaller chooses among the callers that have the call left: the first recorded one, unless their next answers differ.
func (p *Player) anyCaller(key call) (chosen call, ambiguous bool) {
	chosen = key
	var first *Entry
	for _, caller := range p.callers[call{tool: key.tool, hash: key.hash}] {
		candidate := call{caller, key.tool, key.hash}
		waiting := p.waiting[candidate]
		switch {
		case len(waiting) == 0:
			if first == nil {
				chosen = candidate
			}
		case first == nil:
			first, chosen = waiting[0], candidate
		case waiting[0].Response != first.Response || waiting[0].IsError != first.IsError || waiting[0].Servable() != first.Servable():
			return key, true
		}
	}
	return chosen, false
}
