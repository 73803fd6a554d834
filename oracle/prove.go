// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Prove replays the tool calls of a tape against the oracle made from it, and compares every answer with the result that the tape's own
// later requests show. It depends on the events and messages only, never on tape_id. Of fidelity it reads the findings
// unanswered_tool_call.
//
// Expected is every tool call in a recorded model response, and every tool_call event that no such call asked for. These are not expected:
//
//   - a requested call that has no event, that no later request answers and whose name is not among the recorded offered tools. It is
//     structured output. When the offered tools are not recorded, such a call is expected.
//   - a call of a tool that the parameter output_tools names.
//   - a call that nobody executed, or that the framework executes itself, see unasked.
//
// Served counts the calls that the oracle answers. A served call is one of these:
//
//   - verified: the next request that shows its result shows the same content.
//   - mismatched: that request shows other content.
//   - unverifiable: no request shows its result; or it is shown cut, lossy, masked or external; or the recorded arguments or response are
//     not what they were; or there is too little content to tell.
//
// An unverifiable call counts as recorded too when the tool's own record holds arguments and response whole.
func Prove(t *tape.Tape) tape.Proof { return proofOf(judge(newCalls(forClients(t)))) }

func proofOf(calls []judged) tape.Proof {
	var proof tape.Proof
	for _, v := range calls {
		proof.Expected++
		if !v.served {
			continue
		}
		proof.Served++
		switch {
		case v.contradicted():
			proof.Mismatched++
		case !v.verified():
			proof.Unverifiable++
			if v.recorded {
				proof.Recorded++
			}
		}
	}
	proof.Conclude()
	return proof
}

// judged is what became of one expected call.
type judged struct {
	want
	of        *tape.Tape // on which it was made
	served    bool
	entry     *Entry      // the answer; of a call that is not served, what its event holds, if anything
	shown     *tape.Part  // what a later request shows, nil when none does
	by        *tape.Event // the model call of that request
	compared  bool        // both are what they were
	agreement agreement
	whole     bool // the recorded arguments and answer are what they were
	recorded  bool // the record of the tool itself holds both
}

func (v *judged) contradicted() bool { return v.compared && v.agreement == contradicts }

func (v *judged) verified() bool { return v.compared && v.whole && v.agreement < surrounds }

// sure reports a call that gets an answer which is known to be right.
func (v *judged) sure() bool { return v.served && !v.contradicted() && (v.verified() || v.recorded) }

// judge replays the calls of a tape in their order.
func judge(of *calls) []judged {
	entries := recordedIn(of.t)
	calls := judgeBy(of, entries)
	if anyUntold(of.t, entries) && tell(entries, calls) {
		calls = judgeBy(of, entries)
	}
	return calls
}

func judgeBy(of *calls, entries []Entry) []judged {
	p := newProver(of)
	replay := newState(build(entries, Options{}))
	var own map[int]*Entry // by seq of the event, for calls that are not served
	expected := p.expected()
	calls := make([]judged, len(expected))
	for i, w := range expected {
		v := &calls[i]
		v.want, v.of = w, of.t
		answer := replay.answer(&Query{Caller: w.caller, Unnamed: true, ToolName: w.tool, ArgsHash: w.hash})
		v.served, v.entry = answer.Outcome.Served(), answer.Entry
		if !v.served {
			if own == nil {
				own = bySeq(entries)
			}
			if v.entry = nil; w.event != nil && own[w.event.Seq].ResponseFidelity.served() {
				v.entry = own[w.event.Seq]
			}
		}
		if v.entry == nil {
			continue
		}
		sure := false
		if v.shown, v.by, sure = p.shown(w); v.shown != nil && sure && v.entry.ResponseFidelity != Lossy {
			v.compared, v.agreement = true, p.compare(v.entry, v.shown)
		}
		v.whole = p.whole(v.entry)
	}
	p.inAnyOrder(calls)
	p.readUnnamed(calls)
	for i := range calls {
		calls[i].recorded = p.recorded(&calls[i])
	}
	return calls
}

// inAnyOrder takes the results of calls in one turn, which no id tells apart, in the order in which they agree with what the tools themselves recorded, where each of them
// agrees with one: some frameworks show results in the order in which the calls ended (Genkit, with models that give no ids; LlamaIndex, where the calls have ids and a record of the results has none). Results that
// name their tools are of the calls of that tool.
func (p *prover) inAnyOrder(calls []judged) {
	type turn struct {
		model, by int
		tool      string
	}
	turns := map[turn][]*judged{}
	contradicted := map[turn]bool{}
	for i := range calls {
		v := &calls[i]
		if v.id != "" && !v.shared && (v.shown == nil || v.shown.ID != "") || v.model == nil || v.event == nil || !v.compared || len(v.event.SpanIDs) == 0 || v.event.Provenance["result"] != "" || v.shared && v.entry.Seq != v.event.Seq {
			continue
		}
		k := turn{v.model.Seq, v.by.Seq, v.tool}
		if v.shown.Name == "" {
			k.tool = ""
		}
		turns[k] = append(turns[k], v)
		contradicted[k] = contradicted[k] || v.agreement == contradicts
	}
	for k, list := range turns {
		if !contradicted[k] || len(list) > maxUnnamed {
			continue
		}
		shown := make([]*tape.Part, len(list))
		taken := make([]bool, len(list))
		found := 0
		for i, v := range list {
			for j, other := range list {
				if !taken[j] && p.compare(v.entry, other.shown) < surrounds {
					shown[i], taken[j] = other.shown, true
					found++
					break
				}
			}
		}
		if found < len(list) {
			continue
		}
		for i, v := range list {
			v.shown, v.agreement = shown[i], p.compare(v.entry, shown[i])
		}
	}
}

// want is one expected call.
type want struct {
	caller, tool, hash string
	event              *tape.Event // nil when the tape has none for the requested call
	// where it was requested; model is nil when no recorded response holds the call
	model *tape.Event
	index int // among the tool calls of the response
	id    string
	// shared says that another call of the response has the id: it tells nothing.
	shared bool
	// argless says that the response was recorded without the arguments, or with damaged ones of a call with this id, so that those of the event stand for them.
	argless bool
}

type prover struct {
	t        *tape.Tape
	calls    *calls
	models   []*tape.Event   // in order
	requests map[int]request // by seq of the model call
	idUses   map[string]int  // how many requested calls and unrequested events have this call id
	unasked  map[int]bool    // by seq of the tool event
}

func newProver(of *calls) *prover {
	t := of.t
	p := &prover{t: t, calls: of, requests: map[int]request{}, idUses: map[string]int{}}
	talks := map[string]*conversation{} // the latest of each caller
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		p.models = append(p.models, e)
		if e.Request == nil {
			continue
		}
		c := talks[e.Caller]
		if c == nil || !c.extendedBy(e.Request.Messages) {
			c = &conversation{}
			talks[e.Caller] = c
		}
		known := len(c.messages)
		c.extend(of, e.Request.Messages)
		p.requests[e.Seq] = request{c, len(c.exchanges), e.Request.Messages[known:]}
	}
	p.unasked = unasked(of)
	return p
}

// structuredOutput reports that a recorded parameter names the tool as a form of the answer: nobody executes it.
func structuredOutput(m *tape.Event, tool string) bool {
	return slices.ContainsFunc(m.Params.Get("output_tools").Members(), func(n exactjson.Member) bool { return n.Value.Str() == tool })
}

// expected lists the expected calls: those with an event in event order, then the others.
func (p *prover) expected() []want {
	asked := map[int][]*tape.Event{} // seq of the model call → its tool events
	for i := range p.t.Events {
		if e := &p.t.Events[i]; e.Type == tape.EventToolCall {
			asked[e.RequestedBy] = append(asked[e.RequestedBy], e)
		}
	}
	byEvent := map[int]int{} // seq → place in wants
	var wants, eventless []want
	for _, m := range p.models {
		calls := p.calls.response(m)
		if len(calls) == 0 {
			continue
		}
		left := slices.Clone(asked[m.Seq])
		events := make([]*tape.Event, len(calls))
		shared := sharedIDs(calls)
		// The best match of every call comes before the second best of any. An id of several calls is none; what the tool itself was handed tells the call then.
		for _, fits := range []func(requested, *tape.Event) bool{
			func(c requested, e *tape.Event) bool { return c.ID != "" && !shared[c.ID] && c.ID == e.ToolCallID },
			func(c requested, e *tape.Event) bool {
				return shared[c.ID] && e.Name == c.Name && c.ID == e.ToolCallID && !e.ExecutedArgs.IsAbsent() && Hash(e.ExecutedArgs) == c.hash
			},
			func(c requested, e *tape.Event) bool {
				return e.Name == c.Name && !differ(c.ID, e.ToolCallID) && e.ArgsHash == c.hash
			},
			func(c requested, e *tape.Event) bool { return e.Name == c.Name && !differ(c.ID, e.ToolCallID) },
		} {
			for i, c := range calls {
				if events[i] != nil {
					continue
				}
				if at := slices.IndexFunc(left, func(e *tape.Event) bool { return fits(c, e) }); at >= 0 {
					events[i] = left[at]
					left = slices.Delete(left, at, at+1)
				}
			}
		}
		for i, c := range calls {
			w := want{caller: m.Caller, tool: c.Name, hash: c.hash, event: events[i], model: m, index: i, id: c.ID, shared: c.ID != "" && shared[c.ID]}
			if c.ID != "" {
				p.idUses[c.ID]++
			}
			if e := events[i]; e != nil {
				w.caller = e.Caller
				if c.Args.IsAbsent() || c.hash != e.ArgsHash && c.ID != "" && c.ID == e.ToolCallID && !w.shared && damaged(m.Provenance["response.message"]) {
					w.hash, w.argless = e.ArgsHash, true
				}
				byEvent[e.Seq] = len(wants)
				wants = append(wants, w)
			} else if !structuredOutput(m, c.Name) {
				eventless = append(eventless, w)
			}
		}
	}
	var all []want
	for i := range p.t.Events {
		e := &p.t.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		w := want{}
		if at, asked := byEvent[e.Seq]; asked {
			w = wants[at]
		} else {
			w = want{caller: e.Caller, tool: e.Name, hash: e.ArgsHash, event: e, id: e.ToolCallID}
			if e.ToolCallID != "" {
				p.idUses[e.ToolCallID]++
			}
		}
		if !p.unasked[e.Seq] {
			all = append(all, w)
		}
	}
	for _, w := range eventless {
		if shown, _, _ := p.shown(w); shown != nil || !p.structuredOutput(w) {
			all = append(all, w)
		}
	}
	return all
}

// sharedIDs are the ids that several calls of a response have.
func sharedIDs(calls []requested) (shared map[string]bool) {
	if len(calls) < 2 {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range calls {
		if seen[c.ID] {
			if shared == nil {
				shared = map[string]bool{}
			}
			shared[c.ID] = true
		}
		seen[c.ID] = true
	}
	return shared
}

// damaged reports the label of a message that is not what was said: what stands in it for arguments may be a mark of a limit or of a mask.
func damaged(l tape.Label) bool { return l == tape.Lossy || l == tape.Masked || l == tape.Truncated }

// structuredOutput reports that the tools were recorded and the call is to none of them.
func (p *prover) structuredOutput(w want) bool {
	if w.model.Request == nil || len(w.model.Request.Tools) == 0 {
		return false
	}
	return !slices.ContainsFunc(w.model.Request.Tools, func(id string) bool { return p.t.Tools[id].Name == w.tool })
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// shown returns the result that the next request shows for the call, and the model call of that request; nil when none does. sure is
// false when it is shown in a way that proves nothing.
func (p *prover) shown(w want) (result *tape.Part, by *tape.Event, sure bool) {
	after := 0
	switch {
	case w.model != nil:
		after = w.model.Seq
	case w.event != nil:
		after = w.event.Seq
	}
	repeats := 0 // later responses that are the same message as the one with the call
	for _, r := range p.models {
		if r.Seq <= after {
			continue
		}
		if x := p.find(w, r, repeats); x != nil && x.result != nil {
			return x.result, r, shownExactly(r, x.position)
		}
		if w.model != nil && r.Caller == w.model.Caller && r.Response != nil && r.Response.Message == w.model.Response.Message {
			repeats++
		}
	}
	return nil, nil, false
}

// find returns the exchange of the call in the request of r.
func (p *prover) find(w want, r *tape.Event, repeats int) *exchange {
	shows, recorded := p.requests[r.Seq]
	if !recorded {
		return nil
	}
	if w.model != nil {
		// The newest occurrence of the response among the messages is this call's, but for the repeats since.
		skip, group := repeats, -1
		for x := shows.lastIn(w.model.Response.Message); x != nil; x = x.inMessage {
			if x.order >= shows.until {
				continue
			}
			if group >= 0 && x.group != group {
				skip--
			}
			group = x.group
			if skip == 0 && x.index == w.index {
				return x
			}
		}
	}
	if w.id != "" && p.idUses[w.id] == 1 {
		// The response stands there in another spelling, or was cut off, or is not recorded.
		for x := shows.lastWith(w.id); x != nil; x = x.withID {
			if x.order < shows.until && (x.call == nil || x.call.Name == w.tool) {
				return x
			}
		}
	}
	if w.event != nil && r.Caller == w.caller {
		return p.findByContent(w, r, shows)
	}
	return nil
}

// findByContent finds a call that neither its response nor its id leads to. The n-th equal call on the tape is the n-th equal call of the
// conversation, provided that the conversation shows all of them.
func (p *prover) findByContent(w want, r *tape.Event, shows request) *exchange {
	var same []*exchange
	for _, x := range shows.withContent(call{tool: w.tool, hash: w.hash}) {
		if x.order < shows.until {
			same = append(same, x)
		}
	}
	if len(same) == 0 {
		return nil
	}
	n, before := -1, 0
	for i := range p.t.Events {
		e := &p.t.Events[i]
		if e.Type == tape.EventToolCall && e.Seq < r.Seq && e.Caller == w.caller && e.Name == w.tool && e.ArgsHash == w.hash {
			if e == w.event {
				n = before
			}
			before++
		}
	}
	if n < 0 || before != len(same) || differ(same[n].call.ID, w.id) {
		return nil
	}
	return same[n]
}

// shownExactly reports whether the provenance of the request leaves the message at that position as it was sent. A list that is
// truncated as a whole keeps complete leading messages only.
func shownExactly(r *tape.Event, pos int) bool {
	const field = "request.messages"
	own := field + "." + exactjson.IntValue(int64(pos)).Text()
	for path, label := range r.Provenance {
		whole := path == "request" || path == field
		if !whole && path != own && !strings.HasPrefix(path, own+".") {
			continue
		}
		switch label {
		case tape.Lossy, tape.Masked, tape.External, tape.Missing, tape.Inferred:
			return false
		case tape.Truncated:
			if !whole {
				return false
			}
		}
	}
	return true
}

// compare compares an entry with what a model was shown of it. Of a failed call both have to agree with that: what is answered, and the error.
func (p *prover) compare(e *Entry, shown *tape.Part) agreement {
	raw, _, _ := eventOf(p.t, e).Answer()
	if !e.IsError || e.Response == raw {
		return p.compareAnswer(e, shown)
	}
	failure := *e
	failure.Response, failure.ResponseFormat = raw, tape.FormatText
	return max(p.compareAnswer(&failure, shown), agreementOf(exactjson.StringValue(e.Response), shown.Result))
}

func (p *prover) compareAnswer(e *Entry, shown *tape.Part) agreement {
	if p.sameError(e, shown.Result) {
		return agrees
	}
	if shown.Result.IsAbsent() || shown.Result.Str() == "[tool-result: "+e.ToolName+"]" { // an exporter's word for it (Mastra's for Laminar)
		return undecided
	}
	answer := exactjson.StringValue(e.Response)
	event := eventOf(p.t, e)
	if e.ResponseFormat == tape.FormatJSON && !event.Result.IsAbsent() {
		answer = event.Result // its members stand in their own order
	}
	found := agreementOf(answer, shown.Result)
	if e.IsError && event.Result.IsAbsent() && sayFailure(shown.Result, event) {
		return min(found, undecided)
	}
	return found
}

// eventOf returns the event of an entry that was made from the tape. The numbers of a tape that is not sound may be anything.
func eventOf(t *tape.Tape, e *Entry) *tape.Event {
	if e.Seq > 0 && e.Seq <= len(t.Events) && t.Events[e.Seq-1].Seq == e.Seq {
		return &t.Events[e.Seq-1]
	}
	return &t.Events[slices.IndexFunc(t.Events, func(o tape.Event) bool { return o.Type == tape.EventToolCall && o.Seq == e.Seq })]
}

// sameError compares the answer of a failed call with what the framework showed of it: the text of the error with words of its own
// around it. A recorded exception may in turn hold more than was shown, its stack trace or its class for one; its first line is the message.
func (p *prover) sameError(e *Entry, shown exactjson.Value) bool {
	text := plain(shown).Str()
	if !e.IsError || e.Response == "" || text == "" {
		return false
	}
	told := func(message string) bool {
		return strings.Contains(text, message) && wordsOf(exactjson.StringValue(message), 0).weight() >= enough
	}
	if text == e.Response || told(e.Response) || saysError(text, e.Response) || strings.HasSuffix(text, "Error executing tool "+e.ToolName+": "+e.Response) {
		return true
	}
	message, _, _ := strings.Cut(e.Response, "\n")
	class := ""
	if whole, of := tape.BeforeStack(e.Response); whole != "" {
		message, class = whole, of
	} else if of, rest, ok := strings.Cut(message, ": "); ok && !strings.ContainsAny(of, " \t") && (strings.HasSuffix(of, "Error") || strings.HasSuffix(of, "Exception")) {
		message, class = rest, of
	}
	exception := eventOf(p.t, e).Result.IsAbsent()
	return exception && (strings.Contains(e.Response, text) || told(message) || class != "" && (told(class+": "+message) || saysError(text, message)))
}

// saysError reports a text that is a message behind the word for an error or its class, which may go on in another line: "Error: timeout\n Please fix your mistakes."
func saysError(text, message string) bool {
	class, rest, ok := strings.Cut(text, ": ")
	rest, same := strings.CutPrefix(rest, message)
	return ok && same && (rest == "" || rest[0] == '\n') && !strings.ContainsAny(class, " \t\n") && (strings.HasSuffix(class, "Error") || strings.HasSuffix(class, "Exception"))
}

// plain decodes JSON texts and takes off what merely carries a value: a list of one text block, or an object of nothing but its
// result. Envelopes of single frameworks are off the tape already.
func plain(v exactjson.Value) exactjson.Value {
	for range maxLayers {
		inner := carried(v)
		if inner.IsAbsent() {
			break
		}
		v = inner
	}
	return v
}

// layersOf lists a value and what it carries, the outermost first.
func layersOf(v exactjson.Value) []exactjson.Value {
	layers := []exactjson.Value{v}
	for range maxLayers {
		if v = carried(v); v.IsAbsent() {
			break
		}
		layers = append(layers, v)
	}
	return layers
}

// maxLayers bounds how often a value carries another one.
const maxLayers = 8

// carried is the value that a value merely carries, absent where that is none.
func carried(v exactjson.Value) exactjson.Value {
	switch v.Kind() {
	case exactjson.String:
		if decoded, err := exactjson.Parse(v.Text()); err == nil {
			return decoded
		}
	case exactjson.Array:
		if v.Len() == 1 && v.At(0).Get("type").Str() == "text" && v.At(0).Len() == 2 {
			return v.At(0).Get("text")
		}
	case exactjson.Object:
		if v.Len() == 1 {
			return v.First("result", "output", "content")
		}
	}
	return exactjson.Value{}
}
