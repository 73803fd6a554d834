// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelstub answers the model calls of a replay from a tape, over the protocols of providers (OpenAI, Anthropic, Gemini, Bedrock,
// Ollama, Cohere, Mistral, OpenRouter), whole and streamed. A request gets what the recorded request with the same
// conversation was answered, or a typed miss; nothing is guessed. What the protocol demands and the tape does not hold is made up, and
// declared with each answer.
package modelstub

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Options say how live conversations are compared with recorded ones.
type Options struct {
	// Rules take volatile values out of both sides: fields system_prompt, user_message, text (of answers), args and result.
	Rules *normalise.Rules
	// Verifier may be nil: redacted texts then agree only with themselves.
	Verifier oracle.TokenVerifier
	// Mask hides secrets in what reports show of live texts; nil shows them as they are.
	Mask func(text string) string
	// Before is the sequence number of the first event that is not recorded for this replay, 0 for none: model calls from it on are not
	// served, and are free once all before it were asked for. A handler sends free calls to its Upstream.
	Before int
}

// free reports whether a turn lies behind the fork.
func (o *Options) free(n *turn) bool { return o.Before > 0 && n.event.Seq >= o.Before }

func (o *Options) mask(text string) string {
	if o.Mask == nil {
		return text
	}
	return o.Mask(text)
}

// Stub is a tape, ready to be asked. What it answers does not change, and it is safe for concurrent use; its sessions hold what has been served.
type Stub struct {
	tape    *tape.Tape
	options Options
	turns   []*turn
	seen    memory
	space   space
}

// turn is a recorded model call.
type turn struct {
	event   *tape.Event
	sent    conversation
	tools   []string // names of the offered tools, sorted
	written forms
}

// New returns a stub of the tape, which must not change any more.
func New(t *tape.Tape, o Options) *Stub {
	s := &Stub{tape: t, options: o}
	results := map[string][]*tape.Event{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
			key := e.Name + "\x00" + e.ToolCallID
			results[key] = append(results[key], e)
		}
	}
	asked := asked(t)
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		n := &turn{event: e, sent: recorded(t, e, asked, results)}
		if e.Request != nil {
			for _, id := range e.Request.Tools {
				n.tools = append(n.tools, t.Tools[id].Name)
			}
			slices.Sort(n.tools)
		}
		s.turns = append(s.turns, n)
	}
	return s
}

// asked are the calls that recorded answers asked for, by their ids; nil for an id that means several calls.
func asked(t *tape.Tape) map[string]*tape.Part {
	byID := map[string]*tape.Part{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall || e.Response == nil {
			continue
		}
		parts := t.Messages[e.Response.Message].Parts
		for j := range parts {
			p := &parts[j]
			if p.Type != tape.PartToolCall || p.ID == "" {
				continue
			}
			if known, twice := byID[p.ID]; twice && (known == nil || known.Name != p.Name || !known.Args.Equal(p.Args)) {
				p = nil
			}
			byID[parts[j].ID] = p
		}
	}
	return byID
}

// Outcome is how a request ended.
type Outcome string

// The outcomes.
const (
	Hit           Outcome = "hit"            // the recorded answer
	RecordedError Outcome = "recorded_error" // the recorded call had failed: its error
	NoTurn        Outcome = "no_turn"        // no recorded request has this conversation
	Exhausted     Outcome = "exhausted"      // it is recorded, and was served as often as it was recorded
	Unservable    Outcome = "unservable"     // it is recorded, and its answer is not, or is cut
	Unsupported   Outcome = "unsupported"    // the endpoint or an option of the request has no stub
	Live          Outcome = "live"           // behind the fork: a real model was asked
)

// Outcomes lists the outcomes in the order of reports and documents.
var Outcomes = []Outcome{Hit, RecordedError, NoTurn, Exhausted, Unservable, Unsupported, Live}

// Served reports whether the request got what was recorded.
func (o Outcome) Served() bool { return o == Hit || o == RecordedError }

// Request is a live model call in terms of the tape.
type Request struct {
	API      string // the name of the protocol
	Model    string
	Messages []tape.Message
	Tools    []string // names of the offered tools
	Stream   bool
	// Previous is the id of the answer that the conversation continues, for protocols that keep it at the provider.
	Previous string
	// Instructed says that the first message is not part of that conversation: the next request brings its own.
	Instructed bool
}

// Answer is the outcome of a request.
type Answer struct {
	Outcome Outcome
	Call    int // number of the request in its session, from 1
	Labels  []Label
	Nearest *Difference // of a miss: the recorded request that agrees furthest

	turn    *turn
	message tape.Message
	reason  string // of unservable
}

// Seq is the sequence number of the recorded model call, 0 without one.
func (a *Answer) Seq() int {
	if a.turn == nil {
		return 0
	}
	return a.turn.event.Seq
}

// Session is one replay: what of the tape has been served. Sessions share nothing. A session is safe for concurrent use.
type Session struct {
	stub *Stub

	mu       sync.Mutex
	used     []bool
	calls    []*Call
	previous map[string][]tape.Message // by id of an answer: the conversation that it ended
	beside   []*Beside
}

// NewSession returns a session in which nothing has been served.
func (s *Stub) NewSession() *Session {
	return &Session{stub: s, used: make([]bool, len(s.turns)), previous: map[string][]tape.Message{}}
}

// Answer answers a request and counts it.
func (s *Session) Answer(r Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Previous != "" {
		before, known := s.previous[r.Previous]
		if !known && s.beyond() {
			return s.count(r, Answer{Outcome: Live}) // the provider has the conversation
		}
		if !known {
			return s.count(r, Answer{Outcome: NoTurn, Nearest: &Difference{Place: "previous_response_id", Live: r.Previous}})
		}
		r.Messages = append(slices.Clone(before), r.Messages...)
	}
	live := liveOf(r.Messages)
	return s.count(r, s.answer(&r, &live, s.stub.agreements(&live)))
}

func liveOf(messages []tape.Message) (live conversation) {
	for i := range messages {
		live.add(&messages[i], false)
	}
	return live
}

// answerSeen is Answer for a request that was compared before.
func (s *Session) answerSeen(v *sight) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := v.read.request
	return s.count(r, s.answer(&r, &v.live, v.found))
}

func (s *Session) count(r Request, a Answer) Answer {
	a.Call = len(s.calls) + 1
	s.calls = append(s.calls, newCall(r, &a))
	return a
}

// candidate is a recorded turn and how it agrees.
type candidate struct {
	index  int
	labels map[Label]bool
}

func (s *Session) answer(r *Request, live *conversation, found []agreement) Answer {
	var fits, spent []candidate
	var nearest *Difference
	depth := -1
	for i, n := range s.stub.turns {
		x := found[i]
		agrees := x.agrees
		if !agrees && n.sent.unknown && len(n.sent.entries) == 0 && s.next(n.event.Caller) == i && live.answers() == s.answersBefore(i) {
			agrees = true // nothing is recorded: the order alone
		}
		switch {
		case agrees && s.stub.options.free(n):
			return Answer{Outcome: Live}
		case agrees && s.used[i]:
			spent = append(spent, candidate{i, x.labels})
		case agrees:
			fits = append(fits, candidate{i, x.labels})
		case x.differs != nil && (x.depth > depth || x.depth == depth && !s.used[i] && s.used[s.indexOf(nearest.Seq)]):
			at := *x.differs
			depth, nearest = x.depth, &at
			nearest.Seq = n.event.Seq
		}
	}
	if len(fits) == 0 {
		if s.beyond() {
			return Answer{Outcome: Live}
		}
		if len(spent) > 0 {
			return Answer{Outcome: Exhausted, turn: s.stub.turns[spent[0].index]}
		}
		return Answer{Outcome: NoTurn, Nearest: nearest}
	}
	// content first: of those that agree, what agrees in most respects; then the order of the recording
	slices.SortStableFunc(fits, func(a, b candidate) int { return cmp.Compare(len(a.labels), len(b.labels)) })
	best := fits[0]
	best.labels = maps.Clone(best.labels)
	if len(fits) > 1 && len(fits[1].labels) == len(best.labels) {
		best.labels[ByPosition] = true
	}
	if s.next(s.stub.turns[best.index].event.Caller) != best.index {
		best.labels[OutOfOrder] = true
	}
	s.used[best.index] = true
	return s.serve(r, best)
}

// beyond reports that all that lies before the fork was asked for.
func (s *Session) beyond() bool {
	if s.stub.options.Before == 0 {
		return false
	}
	for i, n := range s.stub.turns {
		if !s.used[i] && !s.stub.options.free(n) {
			return false
		}
	}
	return true
}

func (s *Session) indexOf(seq int) int {
	return slices.IndexFunc(s.stub.turns, func(n *turn) bool { return n.event.Seq == seq })
}

// next is the first turn of a caller that has not been served, -1 for none.
func (s *Session) next(caller string) int {
	for i, n := range s.stub.turns {
		if !s.used[i] && n.event.Caller == caller {
			return i
		}
	}
	return -1
}

// answersBefore counts the answers that a caller got before a turn.
func (s *Session) answersBefore(at int) (n int) {
	for _, before := range s.stub.turns[:at] {
		if before.event.Caller == s.stub.turns[at].event.Caller && before.event.Status != tape.EventError {
			n++
		}
	}
	return n
}

// serve takes the answer of a turn.
func (s *Session) serve(r *Request, c candidate) Answer {
	n := s.stub.turns[c.index]
	e := n.event
	a := Answer{Outcome: Hit, turn: n}
	if r.Model != "" && e.Model != "" && r.Model != e.Model && (e.Response == nil || r.Model != e.Response.Model) {
		c.labels[ModelDiffers] = true
	}
	if e.Request != nil && !cut(e.Provenance, "request.tools", false) {
		offered := slices.Sorted(slices.Values(r.Tools))
		if len(n.tools) > 0 && !slices.Equal(n.tools, offered) {
			c.labels[ToolsDiffer] = true
		}
	}
	switch {
	case e.Status == tape.EventError && (e.Response == nil || e.Response.Message == ""):
		a.Outcome = RecordedError
	case e.Response == nil || e.Response.Message == "":
		a.message = s.stub.rebuilt(e)
		if len(a.message.Parts) == 0 {
			a.Outcome, a.reason = Unservable, "missing"
		}
		c.labels[CallsRebuilt] = a.Outcome == Hit
	case cut(e.Provenance, "response", false):
		a.Outcome, a.reason = Unservable, "truncated"
	default:
		a.message = s.stub.tape.Messages[e.Response.Message]
	}
	for path, label := range e.Provenance {
		if label == tape.Redacted && strings.HasPrefix(path, "response") {
			c.labels[AnswerRedacted] = true
		}
	}
	for _, l := range labelOrder {
		if c.labels[l] {
			a.Labels = append(a.Labels, l)
		}
	}
	a.message.Parts = slices.Clone(a.message.Parts)
	calls := 0
	for i := range a.message.Parts {
		if p := &a.message.Parts[i]; p.Type == tape.PartToolCall {
			calls++
			if p.ID == "" {
				p.ID = "call_" + itoa(e.Seq) + "_" + itoa(calls) // the same each time
			}
		}
	}
	return a
}

// rebuilt makes the answer of the calls that the tape says it asked for, where the answer itself is not recorded.
func (s *Stub) rebuilt(asked *tape.Event) tape.Message {
	m := tape.Message{Role: tape.RoleAssistant}
	for i := range s.tape.Events {
		e := &s.tape.Events[i]
		if e.Type == tape.EventToolCall && e.RequestedBy == asked.Seq && !e.Args.IsAbsent() {
			m.Parts = append(m.Parts, tape.Part{Type: tape.PartToolCall, ID: e.ToolCallID, Name: e.Name, Args: e.Args})
		}
	}
	return m
}

// keep remembers the conversation that an answer ended, for the protocol whose clients name it by the id of the answer.
func (s *Session) keep(p *protocol, r *reply, sent []tape.Message) {
	if p != openAIResponses {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.request.Instructed {
		sent = sent[1:]
	}
	s.previous[r.id(responsePrefix)] = append(append(slices.Clone(s.previous[r.request.Previous]), sent...), r.message)
}
