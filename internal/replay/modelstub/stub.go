// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelstub answers the model calls of a replay from a tape, over the protocols of providers (OpenAI,
// Anthropic, Gemini, Bedrock, Ollama, Cohere, Mistral, OpenRouter), whole and streamed. A request gets what
// the recorded request with the same conversation was answered, or a typed miss; nothing is guessed. What the
// protocol demands and the tape does not hold is made up, and declared with each answer.
package modelstub

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Options say how live conversations are compared with recorded ones.
type Options struct {
	// Rules take volatile values out of both sides: fields system_prompt, user_message, text (of answers), args and result.
	Rules *normalise.Rules
	// Verifier may be nil: redacted texts then agree only with themselves.
	Verifier oracle.TokenVerifier
	// Volatile finds what differs from run to run although nothing differs, in what programs write around a
	// conversation; nil finds nothing.
	Volatile *normalise.Volatile
	// Names are what volatile values of the recording are called in the one replay that the stub is for; nil:
	// each session has its own.
	Names *normalise.Renaming
	// Served reports that a call of a tool was answered from the recording in the replay: nothing in its
	// result is volatile. Without it all tools are taken to have run. It must be safe for concurrent use.
	Served func(tool, argsHash string) bool
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

// Stub is a tape, or those of the runs that one command made, ready to be asked. What it answers does not
// change, and it is safe for concurrent use; its sessions hold what has been served.
type Stub struct {
	tapes   []*tape.Tape
	options Options
	turns   []*turn
	byCall  map[string]int  // id of a call → the turn that asked for it, or ambiguous
	models  map[string]bool // that were asked, or answered
	lacking bool            // of some turns the tapes do not hold the whole conversation
	seen    memory
	normal  oracle.Normal
	space   space
}

// turn is a recorded model call.
type turn struct {
	event      *tape.Event
	tape       int // place in the tapes of the stub
	sent       conversation
	tools      []string // names of the offered tools, sorted
	toolsKnown bool     // the tape holds which tools were offered

	hasMessage bool
	message    tape.Message // the answer
	rebuilt    bool         // from the calls that followed it
	standsIn   bool         // no record holds what was said
	reason     string       // why it cannot be served

	calls []*tape.Event // that it asked for, as far as events show it
	after int           // the turn after whose calls this one goes on; none
	depth int           // answers that its agent got before it in the same thread
	side  bool          // a title, a summary or the like beside the main conversation

	written forms
}

// New returns a stub of the tape, which must not change any more.
func New(t *tape.Tape, o Options) *Stub { return Family([]*tape.Tape{t}, o) }

// Family returns a stub of the runs that one command made: each session can be served each of their turns
// once.
func Family(tapes []*tape.Tape, o Options) *Stub {
	s := &Stub{tapes: tapes, options: o, byCall: map[string]int{}, models: map[string]bool{}, normal: oracle.Normal{Rules: o.Rules, Verifier: o.Verifier, Volatile: o.Volatile}}
	for i := range tapes {
		s.add(i)
	}
	return s
}

// add adds the turns of a tape.
func (s *Stub) add(number int) {
	t, first := s.tapes[number], len(s.turns)
	results := map[string][]*tape.Event{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
			key := e.Name + "\x00" + e.ToolCallID
			results[key] = append(results[key], e)
		}
	}
	asked, grown := asked(t), newAccumulated()
	uninstructed := slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeContentAbsent && f.Field == "input.system_prompt" })
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		n := &turn{event: e, tape: number, after: none, toolsKnown: len(t.Tools) > 0, sent: recorded(t, e, asked, results, grown)}
		n.sent.uninstructed = uninstructed
		if e.Request != nil {
			for _, id := range e.Request.Tools {
				n.tools = append(n.tools, t.Tools[id].Name)
			}
			slices.Sort(n.tools)
		}
		if e.Response != nil && e.Response.Message != "" {
			n.message, n.hasMessage = t.Messages[e.Response.Message], true
		}
		s.models[e.Model] = true
		if e.Response != nil {
			s.models[e.Response.Model] = true
		}
		s.lacking = s.lacking || n.sent.unknown
		s.turns = append(s.turns, n)
	}
	s.follow(t, first)
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
	StoodIn       Outcome = "stood_in"       // the recorded call asked for no tool, and no record holds what it said: a text that says so
	Unservable    Outcome = "unservable"     // it is recorded, and its answer is not, or is cut
	Unsupported   Outcome = "unsupported"    // the endpoint or an option of the request has no stub
	Live          Outcome = "live"           // behind the fork: a real model was asked
)

// Outcomes lists the outcomes in the order of reports and documents.
var Outcomes = []Outcome{Hit, RecordedError, StoodIn, NoTurn, Exhausted, Unservable, Unsupported, Live}

// Served reports whether the request got what was recorded, or what stands in for it.
func (o Outcome) Served() bool { return o == Hit || o == RecordedError || o == StoodIn }

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
	again   bool   // the same request is recorded once more, and has not been served
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
	offered  bool                // a request had tools
	served   []int               // turns, in the order in which they were served
	shown    map[string]Shown    // by id of a call: what requests that were not served showed of its result
	asked    map[askedCall][]int // calls that were served and not yet made → the tapes of the turns, where there are several
	calls    []*Call
	previous map[string][]tape.Message // by id of an answer: the conversation that it ended
	names    *normalise.Renaming
	beside   []*Beside
}

// NewSession returns a session in which nothing has been served.
func (s *Stub) NewSession() *Session {
	names := s.options.Names
	if names == nil {
		names = &normalise.Renaming{}
	}
	return &Session{stub: s, used: make([]bool, len(s.turns)), shown: map[string]Shown{}, asked: map[askedCall][]int{}, previous: map[string][]tape.Message{}, names: names}
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
	s.offered = s.offered || len(r.Tools) > 0
	a.Call = len(s.calls) + 1
	s.calls = append(s.calls, s.stub.newCall(r, &a))
	return a
}

// candidate is a recorded turn and how it agrees.
type candidate struct {
	index  int
	labels map[Label]bool
	astray bool // its request is not recorded whole, and it does not come next where the live one stands
	unlike int  // whether model and tools differ, counted
}

func (s *Session) answer(r *Request, live *conversation, found []agreement) Answer {
	var fits, spent []candidate
	var at place
	if s.stub.lacking {
		at = s.placeOf(live)
	}
	for i, n := range s.stub.turns {
		x := candidate{index: i, labels: found[i].labels}
		agrees := found[i].agrees && s.names.Allows(found[i].pairs)
		if n.sent.unknown && (agrees || len(n.sent.entries) == 0) {
			stands := s.stands(i, at, live)
			if agrees = (agrees || stands) && s.against(r, i, live) == nil; agrees {
				x.astray = !stands
				x.labels = plus(x.labels, BySequence)
			}
		}
		switch {
		case agrees && s.stub.options.free(n):
			return Answer{Outcome: Live}
		case agrees && s.used[i]:
			spent = append(spent, x)
		case agrees:
			x.unlike = n.unlike(r)
			fits = append(fits, x)
		}
	}
	if len(fits) == 0 {
		s.see(live)
		if s.beyond() {
			return Answer{Outcome: Live}
		}
		if last := len(spent) - 1; last >= 0 && s.triesAgain(s.stub.turns[spent[last].index]) {
			spent[last].labels = plus(spent[last].labels, TriedAgain)
			return s.serve(r, spent[last])
		}
		if len(spent) > 0 {
			return Answer{Outcome: Exhausted, turn: s.stub.turns[spent[0].index]}
		}
		return Answer{Outcome: NoTurn, Nearest: s.nearest(r, live, found)}
	}
	// content first: of those that agree, those of the model and the tools; then what agrees in most
	// respects; then the order of the recording
	order := func(a, b candidate) int {
		if a.astray != b.astray {
			if a.astray {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.unlike, b.unlike), cmp.Compare(len(a.labels), len(b.labels)))
	}
	slices.SortStableFunc(fits, order)
	best := fits[0]
	best.labels = maps.Clone(best.labels)
	if len(fits) > 1 && order(best, fits[1]) == 0 {
		best.labels[ByPosition] = true
	}
	if s.next(best.index) != best.index {
		best.labels[OutOfOrder] = true
	}
	s.used[best.index] = true
	s.names.Take(found[best.index].pairs)
	s.served = append(s.served, best.index)
	a := s.serve(r, best)
	a.again = len(fits) > 1
	return a
}

// plus is a set of labels and one more.
func plus(labels map[Label]bool, more Label) map[Label]bool {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[Label]bool{}
	}
	labels[more] = true
	return labels
}

// nearest says of a miss which recorded request it stands for, and where it differs: the one that comes next
// in the sequence of its agent, else the one that agrees furthest.
func (s *Session) nearest(r *Request, live *conversation, found []agreement) *Difference {
	for i, n := range s.stub.turns {
		if found[i].agrees && !s.names.Allows(found[i].pairs) {
			return s.stub.contradiction(n, s.names, found[i].pairs)
		}
	}
	best, differs := s.expected(r, live, found)
	if best == none {
		for i := range s.stub.turns {
			x := found[i]
			if x.differs != nil && (best == none || x.depth > found[best].depth || x.depth == found[best].depth && !s.used[i] && s.used[best]) {
				best, differs = i, x.differs
			}
		}
	}
	if best == none {
		return nil
	}
	d := *differs
	n := s.stub.turns[best]
	d.Seq, d.Run, d.Rules = n.event.Seq, s.stub.run(n), s.stub.mend(n, live)
	return &d
}

// run is the id of the run of a turn where several are served, else "".
func (s *Stub) run(n *turn) string {
	if len(s.tapes) < 2 {
		return ""
	}
	return s.tapes[n.tape].Run.RunID
}

// maxTries bounds how often a recorded failure is served again.
const maxTries = 10

// triesAgain reports that the last answer was the recorded failure of a turn: an SDK that does not know
// X-Should-Retry asks at once again, as it did behind the recorded failure, which telemetry has once.
func (s *Session) triesAgain(n *turn) bool {
	tries := 0
	for _, c := range slices.Backward(s.calls) {
		if c.Outcome != RecordedError || c.Seq != n.event.Seq {
			break
		}
		tries++
	}
	return tries > 0 && tries <= maxTries
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

// next is the first turn of the agent of a turn that has not been served, none where all were.
func (s *Session) next(at int) int {
	of := s.stub.turns[at]
	for i, n := range s.stub.turns {
		if !s.used[i] && n.tape == of.tape && n.event.Caller == of.event.Caller {
			return i
		}
	}
	return none
}

// answersBefore counts the answers that a caller got before a turn.
func (s *Session) answersBefore(at int) (count int) {
	of := s.stub.turns[at]
	for _, n := range s.stub.turns[:at] {
		if n.tape == of.tape && n.event.Caller == of.event.Caller && n.event.Status != tape.EventError {
			count++
		}
	}
	return count
}

// otherModel reports a request to another model than that of a turn.
func (n *turn) otherModel(r *Request) bool {
	return r.Model != "" && n.event.Model != "" && !asksModel(n.event, r.Model)
}

// otherTools reports a request that offers other tools than that of a turn, as far as these are recorded.
func (n *turn) otherTools(r *Request) bool {
	return n.event.Request != nil && !cut(n.event.Provenance, "request.tools", false) && len(n.tools) > 0 &&
		!slices.Equal(n.tools, slices.Sorted(slices.Values(r.Tools)))
}

// unlike counts what of model and tools differs.
func (n *turn) unlike(r *Request) (count int) {
	for _, differs := range []bool{n.otherModel(r), n.otherTools(r)} {
		if differs {
			count++
		}
	}
	return count
}

// serve takes the answer of a turn.
func (s *Session) serve(r *Request, c candidate) Answer {
	n := s.stub.turns[c.index]
	e := n.event
	a := Answer{Outcome: Hit, turn: n}
	if n.otherModel(r) {
		c.labels[ModelDiffers] = true
	}
	if n.otherTools(r) {
		c.labels[ToolsDiffer] = true
	}
	switch {
	case e.Status == tape.EventError && !n.hasMessage:
		a.Outcome = RecordedError
	case n.reason != "":
		a.Outcome, a.reason = Unservable, n.reason
	case n.standsIn:
		a.Outcome, a.message = StoodIn, n.message
	default:
		a.message = n.message
		c.labels[CallsRebuilt] = n.rebuilt
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
	for i := range a.message.Parts {
		if p := &a.message.Parts[i]; len(s.stub.tapes) > 1 && p.Type == tape.PartToolCall {
			key := askedCall{p.Name, tape.ArgsHash(p.Args)}
			s.asked[key] = append(s.asked[key], n.tape)
		}
	}
	return a
}

// Shown is what a request showed of the result of a tool call.
type Shown struct {
	Tool    string
	Result  exactjson.Value
	IsError bool
}

// maxShown bounds how many results a session keeps.
const maxShown = 1024

// see keeps the results that a request shows which is not served: no record may hold them.
func (s *Session) see(live *conversation) {
	for _, e := range live.entries {
		for _, c := range e.calls {
			if _, known := s.shown[c.id]; c.answered && c.id != "" && !known && len(s.shown) < maxShown {
				s.shown[c.id] = Shown{c.name, c.result, c.isError}
			}
		}
	}
}

// Shown are the results of tool calls, by their ids, in requests that were not served.
func (s *Session) Shown() map[string]Shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.shown)
}

// askedCall is a tool and the digest of arguments.
type askedCall struct{ tool, hash string }

// AskedBy tells to which of several runs a tool call belongs: the one whose turn was served first of those
// that asked for such a call, and whose call has not been told yet. It is nil where no turn did, or where
// there is one run.
func (s *Session) AskedBy(tool, argsHash string) *tape.Tape {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := askedCall{tool, argsHash}
	waiting := s.asked[key]
	if len(waiting) == 0 {
		return nil
	}
	s.asked[key] = waiting[1:]
	return s.stub.tapes[waiting[0]]
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
