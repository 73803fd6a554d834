// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// This file unites the parts of which one only reports the calls of another once more: a client with a trace of its own, or another instrumentation whose spans
// lost the context.

// byResponse unites fragments that report one model call: a client that opens a trace of its own tells the id of the response, and no message that
// the run does not hold. Both reports tell the same time.
func (s *stitcher) byResponse() {
	full := map[string]*turn{}
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			if id := t.n.obs.ResponseID; len(id) >= minQuoted && len(t.n.obs.Request) > 0 {
				full[id] = t
			}
		}
	}
	for _, f := range s.all {
		if f.ownRun() || len(f.tools()) > 0 || len(s.turns[f]) == 0 {
			continue
		}
		owner := map[*fragment]bool{}
		for _, t := range s.turns[f] {
			of := full[t.n.obs.ResponseID]
			if hollow := len(t.n.obs.Request)+len(t.n.obs.Response) == 0; hollow && t.failed() && t.n.obs.ResponseID == "" {
				continue // the others tell whose it is
			}
			if of == nil || len(t.n.obs.Request) > 0 || len(t.n.obs.Response) > 0 || of.n.start > t.n.end || t.n.start > of.n.end {
				owner = nil
				break
			}
			owner[s.find(of.f)] = true
		}
		if of := only(owner); of != nil {
			s.unite(of, f, byContent)
		}
	}
}

// byTwin unites fragments that report model calls once more in traces of their own: another instrumentation, below whose spans the context was lost,
// tells the same last message and the same answer of the same time. Where one of them recorded no answer, as of a stream that it did not read, the whole request tells, if it can be
// that of one call alone. So it does of the record of the answer that the same instrumentation wrote when the stream had been read, where no span stood above both (Logfire).
func (s *stitcher) byTwin() {
	told := map[string][]*turn{}
	keys := map[*turn]string{}
	unanswered := map[string][]*turn{} // by their requests
	recorded := map[*node]bool{}       // those whose answer was found
	costs := map[cost][]*turn{}
	requestOf := func(t *turn) string {
		ids := make([]string, len(t.sent))
		for i, m := range t.sent {
			ids[i] = m.id
		}
		return strings.Join(ids, " ")
	}
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			if len(t.sent) > 0 && len(t.n.obs.Response) == 0 && !t.failed() {
				unanswered[requestOf(t)] = append(unanswered[requestOf(t)], t)
			}
			if c, ok := costOf(t); ok {
				costs[c] = append(costs[c], t)
			}
			if len(t.sent) == 0 || len(t.n.obs.Response) == 0 {
				continue
			}
			if answer := answerKeys(t.n.obs.Response[0]); len(answer) > 0 {
				last := t.sent[len(t.sent)-1]
				keys[t] = strings.Join(append(answer, string(last.tape.Role), textOf(last)), "\x00")
				told[keys[t]] = append(told[keys[t]], t)
			}
		}
	}
	for _, f := range s.all {
		if f.ownRun() || len(f.tools()) > 0 || len(s.turns[f]) == 0 {
			continue
		}
		owner, twins := map[*fragment]bool{}, map[*node]*node{}
		for _, t := range s.turns[f] {
			for _, other := range told[keys[t]][:min(len(told[keys[t]]), maxAskings)] {
				if keys[t] == "" || s.sameTrace(other.f, f) || !sameService(other.f, f) || other.n.scope == t.n.scope || len(other.sent) != len(t.sent) {
					continue
				}
				if other.n.reports == nil && other.n.start <= t.n.start+clockSlack && t.n.end <= other.n.end+clockSlack {
					owner[s.find(other.f)] = true
					twins[t.n] = other.n
				}
			}
			if twins[t.n] != nil {
				continue
			}
			if of := s.partTold(costs, t); of != nil {
				owner[s.find(of.f)] = true
				twins[t.n] = of.n
				continue
			}
			if len(unanswered) == 0 || len(t.sent) == 0 || len(t.n.obs.Response) == 0 {
				continue
			}
			var fit []*turn
			may := unanswered[requestOf(t)]
			for _, other := range may[:min(len(may), maxAskings)] {
				during := other.n.scope != t.n.scope && other.n.start <= t.n.start+clockSlack && t.n.end <= other.n.end+clockSlack
				if !s.sameTrace(other.f, f) && sameService(other.f, f) && other.n.reports == nil && sameModel(other.n.obs, t.n.obs) && (during || recordsAnswer(t.n, other.n) && !recorded[other.n]) {
					fit = append(fit, other)
				}
			}
			if len(fit) == 1 {
				owner[s.find(fit[0].f)] = true
				twins[t.n] = fit[0].n
				recorded[fit[0].n] = true
			}
		}
		if of := only(owner); of != nil && len(twins) == len(s.turns[f]) {
			s.unite(of, f, byContent)
			for n, of := range twins {
				n.reports = of
			}
		}
	}
}

// recordsAnswer reports a record of one moment that may be of the answer to a call of the same instrumentation, which took time and began before.
func recordsAnswer(record, n *node) bool {
	return record.scope == n.scope && record.start == record.end && n.end > n.start && n.start <= record.start && record.up == nil && n.up == nil
}

// cost is what a model call of a conversation took, and how far the conversation had come.
type cost struct {
	service         string
	in, out         int64
	asked, returned int
	question        string
}

// costOf counts what the user said and what tools returned: how answers are divided into messages is each instrumentation's own.
func costOf(t *turn) (c cost, ok bool) {
	u := t.n.obs.Usage
	if len(t.sent) == 0 || u.InputTokens == nil || u.OutputTokens == nil || *u.OutputTokens == 0 || t.failed() {
		return cost{}, false
	}
	c = cost{service: serviceOf(t.n.resource).Name, in: *u.InputTokens, out: *u.OutputTokens}
	for _, m := range t.sent {
		if m.tape.Role == tape.RoleUser {
			c.asked++
			c.question = m.id
		}
		for i := range m.tape.Parts {
			if m.tape.Parts[i].Type == tape.PartToolResult {
				c.returned++
			}
		}
	}
	return c, c.asked > 0
}

// partTold finds the only model call around t in time that took the same tokens of the same model after the same question and as many results, where one of
// the two tells an answer in part: its text without the calls that it asked for, or nothing. Langfuse writes of the Responses API a text alone where there is one. Two calls
// that both fit t, or of which t is one of two, are not known apart.
func (s *stitcher) partTold(costs map[cost][]*turn, t *turn) *turn {
	c, ok := costOf(t)
	if !ok || len(costs[c]) < 2 || len(costs[c]) > maxAskings {
		return nil
	}
	var found *turn
	for _, other := range costs[c] {
		within := other.n.start <= t.n.start+clockSlack && t.n.end <= other.n.end+clockSlack
		switch {
		case other == t || !within:
		case other.n.scope == t.n.scope || s.sameTrace(other.f, t.f) || other.n.reports != nil || !sameModel(other.n.obs, t.n.obs) || found != nil || !mayBeOne(other.n.obs.Response, t.n.obs.Response):
			return nil
		default:
			found = other
		}
	}
	return found
}

// mayBeOne reports that two records of an answer do not contradict each other: where both hold a text, or calls, they are the same.
func mayBeOne(a, b []genai.Message) bool {
	said := func(list []genai.Message) (text string, calls []string) {
		for _, m := range list {
			text += textOf(newMessage(m))
			for _, p := range callsOf(m.Parts) {
				calls = append(calls, p.ID)
			}
		}
		return text, calls
	}
	x, calls := said(a)
	y, others := said(b)
	return (x == "" || y == "" || x == y) && (len(calls) == 0 || len(others) == 0 || slices.Equal(calls, others))
}

// otherReporter reports two spans that one instrumentation does not write of calls beside each other: of two instrumentations, or under two names.
func otherReporter(a, b *node) bool {
	return a.scope != b.scope || a.source.Span.Name() != b.source.Span.Name()
}

// byHollowTwin unites a model call without any content, alone in its trace, with the one call of another instrumentation, or of another name, that took the same tokens of the same
// model at the same time: the spans of a provider's SDK beside those of who instruments it, where a stream lost the context. Where several calls may be
// meant, or several such spans mean one, none is taken. Where one of both does not name the model that answered, the same was asked. A call of which no tokens were recorded (Pipecat's, under
// OpenInference) has to lie around the other.
func (s *stitcher) byHollowTwin() {
	type key struct {
		service string
		in, out int64
	}
	keyOf := func(t *turn) (k key, ok bool) {
		o := t.n.obs
		switch {
		case o.ResponseModel == "" && o.Model == "":
			return key{}, false
		case t.failed() && !usageKnown(o.Usage): // both failed at the same time
			return key{serviceOf(t.n.resource).Name, -1, -1}, true
		case o.Usage.InputTokens == nil || o.Usage.OutputTokens == nil:
			return key{}, false
		}
		return key{serviceOf(t.n.resource).Name, *o.Usage.InputTokens, *o.Usage.OutputTokens}, true
	}
	same := func(a, b *genai.Observation) bool {
		if a.ResponseModel != "" && b.ResponseModel != "" {
			return a.ResponseModel == b.ResponseModel
		}
		return a.Model != "" && a.Model == b.Model
	}
	told := map[key][]*turn{}
	costless := map[string][]*turn{} // by their services
	var hollow []*turn
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			switch k, ok := keyOf(t); {
			case !ok && len(t.sent) > 0 && !t.failed() && !usageKnown(t.n.obs.Usage):
				service := serviceOf(t.n.resource).Name
				costless[service] = append(costless[service], t)
			case !ok:
			case len(t.sent) > 0 && (len(t.n.obs.Response) > 0 || k.in < 0):
				told[k] = append(told[k], t)
			case len(t.sent) == 0 && len(t.n.obs.Response) == 0 && len(s.turns[f]) == 1 && len(f.tools()) == 0 && !f.ownRun():
				hollow = append(hollow, t)
			}
		}
	}
	twin, meant := map[*turn]*turn{}, map[*turn]int{}
	for _, t := range hollow {
		k, _ := keyOf(t)
		var fit []*turn
		may := told[k][:min(len(told[k]), maxAskings)]
		if k.in > 0 { // nothing was sent without a token: a zero is what a stream did not tell (LangChain's of Anthropic)
			untold := told[key{k.service, 0, k.out}]
			may = append(slices.Clip(may), untold[:min(len(untold), maxAskings)]...)
		}
		for _, of := range may {
			if otherReporter(of.n, t.n) && of.n.reports == nil && same(of.n.obs, t.n.obs) && !s.sameTrace(of.f, t.f) && of.n.start <= t.n.end && t.n.start <= of.n.end {
				fit = append(fit, of)
			}
		}
		for _, of := range costless[k.service][:min(len(costless[k.service]), maxAskings)] {
			if k.in >= 0 && of.n.scope != t.n.scope && of.n.reports == nil && same(of.n.obs, t.n.obs) && !s.sameTrace(of.f, t.f) && t.n.within(of.n) {
				fit = append(fit, of)
			}
		}
		if len(fit) == 1 {
			twin[t] = fit[0]
			meant[fit[0]]++
		}
	}
	for _, t := range hollow {
		if of := twin[t]; of != nil && meant[of] == 1 {
			s.unite(of.f, t.f, byContent)
			t.n.reports = of.n
		}
	}
}

// byToolTwin unites a part that holds nothing but tools, and what the program wrote around them, with the run of which another instrumentation reports every one of these calls:
// of the same name, around it in time, and nothing that both tell differs. So lie the spans that a program writes in its functions where the framework runs them in threads
// of its own, and all of its spans where the framework keeps a tracer, and so traces, of its own. Where calls of several runs may be meant, none is taken.
func (s *stitcher) byToolTwin() {
	var parts []*fragment
	wanted := map[string]bool{}
	for _, f := range s.all {
		if s.joined(f) || len(f.modelSpans()) > 0 {
			continue
		}
		if tools := f.tools(); len(tools) > 0 {
			parts = append(parts, f)
			for _, n := range tools {
				wanted[n.obs.Name] = wanted[n.obs.Name] || n.obs.Name != ""
			}
		}
	}
	if len(parts) == 0 || len(parts) == len(s.all) {
		return
	}
	spans := s.toolSpansBeside(parts, wanted)
	around := func(f *fragment, n *node) []*node { // the reports of another instrumentation, and those of a framework around a function of the program
		return slices.DeleteFunc(spans.around(f, n), func(a *node) bool { return a.scope == n.scope && !callsFunction(a, n) && !namedAnew(a, n) })
	}
	for _, f := range parts {
		var owners map[*fragment]bool // those that fit all tools so far, and whether more than names and times says so
		for _, n := range f.tools() {
			fit := map[*fragment]bool{}
			for _, a := range around(f, n) {
				g := s.find(spans.of[a])
				proven, fits := owners[g]
				if owners != nil && !fits {
					continue
				}
				if same, alike := tellsSame(a, n); same {
					fit[g] = fit[g] || proven || alike || sameService(spans.of[a], f)
				}
			}
			owners = fit
		}
		if len(owners) != 1 {
			continue
		}
		for owner, proven := range owners {
			asked, said := f.userText(), owner.userText()
			if same := asked == said && len(asked) >= minQuoted; !same && (!proven || asked != "" && said != "") {
				continue
			}
			told := map[*node]bool{}
			for _, n := range f.tools() {
				for _, a := range slices.Backward(around(f, n)) { // the one that began last, each once
					if same, _ := tellsSame(a, n); same && !told[a] && s.find(spans.of[a]) == owner {
						n.reports, told[a] = a, true
						break
					}
				}
			}
			s.unite(owner, f, byContent)
		}
	}
}

// callsFunction reports a span of a tool that knows the id of its call, and one within its time that knows none: a function of the program does not learn it. Where a program has one
// scope for all its spans, as in Rust, that tells them from the same call of another run.
func callsFunction(around, n *node) bool {
	return around.obs.CallID != "" && n.obs.CallID == "" && n.within(around)
}

// namedAnew reports two spans of a tool of one scope under two names, one within the time of the other, that tell the same of it: what a program writes of its function within the span of
// the framework, which does not learn the id of a call in a stream (Rig's). Equal calls beside each other have one name.
func namedAnew(around, n *node) bool {
	same, alike := tellsSame(around, n)
	return same && alike && around.obs.CallID == "" && n.obs.CallID == "" && around.source.Span.Name() != n.source.Span.Name() && n.within(around)
}

// tellsSame reports two spans of tools in which nothing that both tell of the call differs, and whether there is any of it. What a framework told the model of a failure may be
// all that its span shows of it.
func tellsSame(a, b *node) (same, alike bool) {
	if a.obs.CallID != "" && b.obs.CallID != "" && a.obs.CallID != b.obs.CallID {
		return false, false
	}
	if a.obs.Args.Present() && b.obs.Args.Present() {
		if !equalArgs(a.obs.Args.Value, b.obs.Args.Value, sameValue) {
			return false, false
		}
		alike = a.obs.Args.Value.Len() > 0
	}
	x, y := textResult(a.obs.Result.Value), textResult(b.obs.Result.Value)
	failedA, failedB := a.obs.Failed || a.obs.StatusError, b.obs.Failed || b.obs.StatusError
	switch {
	case failedA && failedB:
		same = a.obs.Error == nil || b.obs.Error == nil || sameWords(a.obs.Error.Message, b.obs.Error.Message)
	case failedA:
		same = !b.obs.Result.Present() || tellsFailure(y, a)
	case failedB:
		same = !a.obs.Result.Present() || tellsFailure(x, b)
	case a.obs.Result.Present() && b.obs.Result.Present():
		same, alike = x == y, alike || len(x) >= minQuoted
	default:
		same = true
	}
	return same, same && alike
}

// failureTold is what stands before a failure where a framework tells of it, in words of its own.
var failureTold = regexp.MustCompile(`^[^{}\[\]"]*(?i:error|fail|exception)`)

// tellsFailure reports a text that holds what a tool that failed said: a few words behind a colon that says so, and a failure without words where the text begins with one.
func tellsFailure(text string, n *node) bool {
	said := failureText(n.obs.Error)
	if len(said) >= minQuoted {
		return strings.Contains(text, said)
	}
	before, ok := strings.CutSuffix(strings.TrimSpace(text), said)
	return ok && (said == "" || strings.HasSuffix(before, ": ")) && failureTold.MatchString(before)
}
