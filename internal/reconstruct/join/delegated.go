// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// handing is a call of a tool in a run: what it was handed, and between which times its answer came.
type handing struct {
	f          *part
	n          *spantree.Node // its span; nil: none tells of it
	args       exactjson.Value
	start, end uint64
}

// handings are the calls of tools by what these returned, as spelled says, and the texts that they were
// handed.
type handings struct {
	returned map[string][]handing
	tasks    map[string]bool
}

// exchange is what an agent was asked and what it answered at last.
type exchange struct{ task, answer string }

// byDelegation unites the run of an agent with the one that ran it as a tool, where the context of the trace
// was lost on the way.
//
// Needs: a tool of the service, in another trace, that was handed what the agent was asked and returned what
// it answered, word for word, or failed as it did, while the agent ran. Where no span tells of the tool, it
// ran between the answer that asked for it and the next request.
// Refuses: several runs; a tool in the trace of a loop without a span; of loops without a span, few words or
// what another loop says too.
// Seen in: agents as tools of agents; TanStack AI, whose agents have no span.
func (s *stitcher) byDelegation() {
	handed := handings{map[string][]handing{}, map[string]bool{}}
	for _, f := range s.all {
		handed.toTools(f)
	}
	for _, run := range s.runs() {
		handed.between(turnsOf(run, func(a, b *turn) int { return cmp.Compare(a.n.Start, b.n.Start) }))
	}
	exchanges := make([]exchange, len(s.all))
	said := map[exchange][]*part{} // by the first parts of loops without the span of an agent
	for i, f := range s.all {
		e := handed.exchangeOf(f)
		exchanges[i] = e
		if run := s.find(f); f.Root == nil && len(e.task) >= chat.MinQuoted && e.answer != "" && !slices.Contains(said[e], run) {
			said[e] = append(said[e], run)
		}
	}
	for i, f := range s.all {
		if e := exchanges[i]; e.answer != "" {
			s.giveToAgent(f, e.task, atMost(handed.returned[e.answer], maxAskings), f.Root != nil || len(said[e]) == 1)
		}
	}
}

// giveToAgent proposes the runs whose tools may have run an agent. Only the span of a tool may have run one
// whose words others say too.
func (s *stitcher) giveToAgent(f *part, task string, list []handing, unique bool) {
	var runs []*part
	var by []*spantree.Node
	time := f.time()
	for _, h := range list {
		switch {
		case h.start > time.start+spantree.Rounding || time.end > h.end+spantree.Rounding || !isHanded(h.args, task) || !s.sameService(h.f, f):
		case h.n == nil && !unique:
		case h.f != f && !sameTrace(h.f, f):
			runs = append(runs, h.f)
			if h.n != nil {
				by = append(by, h.n)
			}
		case f.Root == nil: // a tool of its own run made these calls, as far as anybody knows
			runs = append(runs, f)
		}
	}
	if run := s.sole(f, runs...); run != nil && run != s.find(f) {
		s.propose(f, fragment.ByCall, run)
		f.AsTool, f.RanBy = true, chat.Only(by)
	}
}

func (h handings) add(text string, one handing) {
	h.returned[text] = append(h.returned[text], one)
	h.tasks[strings.TrimSpace(one.args.Str())] = true
	for _, m := range one.args.Members() {
		h.tasks[strings.TrimSpace(m.Value.Str())] = true
	}
}

// toTools adds the spans of a part's tools. Some write a text that a tool returned as JSON.
func (h handings) toTools(f *part) {
	for _, n := range f.tools {
		text, _ := decode.WholeText(n.Obs.Result.Value)
		if text == "" && n.Obs.Result.Value.Kind() >= exactjson.Array {
			text = n.Obs.Result.Value.JSON()
		}
		if text = spelled(cmp.Or(text, failedWith(n))); text != "" {
			h.add(text, handing{f, n, n.Obs.Args.Value, n.Start, n.End})
		}
	}
}

// between adds each call that one of these model calls asked for, and of which the next request shows the
// result as a text. A loop that was written by hand may have a trace for each turn.
func (h handings) between(turns []*turn) {
	asked := map[string]handing{}
	for _, t := range turns {
		for i := len(t.sent) - 1; i >= 0 && t.sent[i].Tape.Role == tape.RoleTool; i-- {
			for k := range t.sent[i].Parts {
				p := &t.sent[i].Parts[k]
				one, open := asked[p.ID]
				if text := strings.TrimSpace(p.Result.Str()); open && p.Type == tape.PartToolResult && text != "" {
					one.end = t.n.Start
					h.add(spelled(text), one)
				}
			}
		}
		clear(asked)
		for _, r := range t.n.Obs.Response {
			for p := range chat.EachCall(r.Parts) {
				if p.ID != "" {
					asked[p.ID] = handing{f: t.f, args: p.Args, start: t.n.End}
				}
			}
		}
	}
}

// failedWith is how a tool or an agent failed, as what it came to: the first line of its error, "" where it
// did not fail.
func failedWith(n *spantree.Node) string {
	if !n.Failed() || n.Obs.Error == nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(n.Obs.Error.Message), "\n")
	if first = chat.WithoutClass(first); first == "" {
		return ""
	}
	return "failed: " + first
}

// spelled is a text without the white space around it and, where it is JSON of an object or a list, in it:
// some read what a tool returned and write it again.
func spelled(text string) string {
	text = strings.TrimSpace(text)
	if v, ok := decode.ParseStructure(text); ok {
		return v.JSON()
	}
	return text
}

// exchangeOf is what an agent was asked, where a tool was handed that, and what it answered at last, as
// spelled says, or how it failed. Calls without the span of an agent around them tell it as well.
func (h handings) exchangeOf(f *part) exchange {
	task := strings.TrimSpace(f.question())
	switch {
	case task == "" || !h.tasks[task]:
		return exchange{}
	case f.Root == nil:
		return exchange{task, spelled(lastAnswer(f))}
	}
	return exchange{task, spelled(cameTo(f))}
}

// cameTo is how the span of a part tells that it ended. A step of a graph tells nothing, unless it is a graph
// whose model was asked and which failed or answered by a call, or one without the span of a model whose
// state is the whole conversation.
func cameTo(f *part) (answer string) {
	var by *genai.Part
	failed := failedWith(f.Root)
	if failed == "" {
		answer = chat.SpokenText(spantree.OwnAnswer(f.Root))
		if by = chat.Echo(decode.Transcript(f.Root.Obs.OutputData.Value)); by != nil { // the model answered by a call
			answer = chat.SaidBy(by)
		}
	}
	if asked := len(f.turns) > 0; f.OwnRun() {
		answer = cmp.Or(answer, lastAnswer(f), chat.Given(f.Root.Obs.OutputData))
	} else if asked && failed == "" && by == nil || !asked && !holdsExchange(f.Root) {
		return ""
	}
	return cmp.Or(strings.TrimSpace(answer), failed)
}

// lastAnswer is the text of the call of a model that ended last, "" where that asked for tools.
func lastAnswer(f *part) string {
	if len(f.turns) == 0 {
		return ""
	}
	last := slices.MaxFunc(f.turns, func(a, b *turn) int { return cmp.Compare(a.n.End, b.n.End) })
	if response := last.n.Obs.Response; len(response) > 0 && !decode.HasCalls(response[0]) {
		return chat.SpokenText(response[0])
	}
	return ""
}

// holdsExchange reports a span that was given what a user said, alone, and recorded that and what came of it
// as its state.
func holdsExchange(n *spantree.Node) bool {
	given, state := decode.Transcript(n.Obs.InputData.Value), decode.Transcript(n.Obs.OutputData.Value)
	return n.Obs.OutputData.Label == "" && len(given) == 1 && given[0].Role == tape.RoleUser &&
		len(state) > 1 && state[0].Role == tape.RoleUser &&
		chat.SpokenText(state[0]) == chat.SpokenText(given[0]) && state[len(state)-1].Role == tape.RoleAssistant
}

// isHanded reports arguments of which one is the text, or that are the text: some record the only argument
// bare.
func isHanded(args exactjson.Value, text string) bool {
	return strings.TrimSpace(args.Str()) == text ||
		slices.ContainsFunc(args.Members(), func(m exactjson.Member) bool { return strings.TrimSpace(m.Value.Str()) == text })
}
