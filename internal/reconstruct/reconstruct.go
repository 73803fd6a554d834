// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Options are what a tape depends on besides its evidence.
type Options struct {
	Producer tape.Producer
	Tenant   string
	// Redaction is what tapes say of evidence that no marker speaks of.
	Redaction tape.Redaction
	// Replay says what tells replays from production; nil is segregation.Default.
	Replay *segregation.Rules
}

func (o Options) replay() *segregation.Rules {
	if o.Replay == nil {
		return segregation.Default
	}
	return o.Replay
}

// Trace rebuilds the runs of one trace, in order of their start. The tapes are not sealed yet: what is written beside them is not
// known here. A trace without model calls, tool calls or user input holds no run, nor one of which nothing but the step that handed on the user's message came;
// reason then says why.
func Trace(t evidence.Trace, opts Options) (tapes []*tape.Tape, reason string) {
	frags, _, described, unassigned, reason := fragments(t)
	index := newDescribed(described)
	for _, f := range frags {
		f.describe(index)
		if f.isBody() {
			reason = "the body of a node of a graph, whose run lies in other traces"
			continue
		}
		b := &builder{fragment: f, calls: settled(f)}
		tapes = append(tapes, b.build(opts))
	}
	if unassigned > 0 && len(tapes) > 0 {
		sayUnassigned(tapes[0], unassigned)
	}
	if len(tapes) > 0 {
		sayReplay(tapes, t.Set.Verdict(opts.replay()))
	}
	return tapes, reason
}

// fragments finds the runs of one trace, and what it tells of agents apart from them. apart are messages on their way, and agents that did nothing but send them.
func fragments(t evidence.Trace) (frags, apart []*fragment, described []*description, unassigned int, reason string) {
	nodes, unassigned := load(t.Set)
	if len(nodes) == 0 {
		return nil, nil, nil, unassigned, "no spans of an agent run"
	}
	forgiveBorrowed(nodes)
	names := map[string]bool{}
	seen, handed := redactionsOf(t.Set), false
	for _, f := range stitch(divide(link(nodes), t.TraceID)) {
		run := f.isRun()
		handed = handed || f.handsOn()
		if !run && !f.relays() {
			continue
		}
		f.seen = seen
		f.cut = t.Cut
		if !run {
			apart = append(apart, f)
		} else {
			f.own = f.own || names[f.rootID()]
			names[f.rootID()] = true
			frags = append(frags, f)
		}
	}
	switch {
	case len(frags) == 0 && len(apart) > 0:
		reason = "messages between agents, whose run lies in other traces"
	case len(frags) == 0 && handed:
		reason = "a step that handed on what the user said, and nothing that an agent did with it"
	case len(frags) == 0:
		reason = "neither model calls nor tool calls nor user input"
	}
	return frags, apart, descriptions(nodes, t, seen), unassigned, reason
}

func sayUnassigned(t *tape.Tape, n int) {
	b := &builder{tape: t}
	b.finding(tape.CodeUnassignedRecords, 0, "", plural(n, "log record")+" of the trace name no span that came")
	t.Fidelity.SortFindings()
}

// holdsConversation reports a span, or one below it, whose recorded state holds an answer to somebody.
func holdsConversation(h *node) bool { return conversationOf(h) != nil }

// conversationOf is a conversation that a span, or one below it, recorded as its state: it begins with somebody else and ends with an answer. It is nil
// when there is none.
func conversationOf(h *node) []genai.Message {
	return recorded(h, func(messages []genai.Message) bool { return messages[len(messages)-1].Role == tape.RoleAssistant })
}

// brokeOff reports a recorded conversation that ends with the results of tools: a loop that was cut at a number of steps (Haystack's agents).
func brokeOff(h *node) bool {
	return recorded(h, func(messages []genai.Message) bool {
		return messages[len(messages)-1].Role == tape.RoleTool && slices.ContainsFunc(messages, decode.HasCalls)
	}) != nil
}

func recorded(h *node, wanted func([]genai.Message) bool) (state []genai.Message) {
	walk(h, func(n *node) bool {
		if state == nil && n.obs.OutputData.Present() && n.obs.OutputData.Label != tape.Truncated && (n.obs.Class == genai.Agent || n.obs.Class == genai.Structure) {
			messages := conversationIn(n.obs.OutputData)
			if len(messages) > 1 && messages[0].Role != tape.RoleAssistant && wanted(messages) {
				state = messages
			}
		}
		return state == nil
	})
	return state
}

// keptBeginning reports a span, or one below it, that recorded a conversation as its state of which the end was cut off.
func keptBeginning(h *node) (kept bool) {
	walk(h, func(n *node) bool {
		kept = kept || n.obs.OutputData.Label == tape.Truncated && (n.obs.Class == genai.Agent || n.obs.Class == genai.Structure) &&
			(decode.HasRole(decode.Transcript(n.obs.OutputData.Value), tape.RoleUser) || decode.HasRole(decode.Transcript(n.obs.InputData.Value), tape.RoleUser))
		return !kept
	})
	return kept
}

// handsOn reports a span, with nothing below it, that gave back the very messages it was given, whose last is what the user says. An agent answers with a
// message of its own: this is a step that hands the question on, and nothing of what was done with it is on record. LangGraph's `__start__` is one; LangSmith's
// bridge for JavaScript exports no other step of a run.
func (f *fragment) handsOn() bool {
	n := f.root
	if n == nil || len(f.heads) != 1 || f.heads[0] != n || len(n.kids) > 0 || n.obs.Failed || n.obs.StatusError || !n.obs.InputData.Value.Equal(n.obs.OutputData.Value) {
		return false
	}
	messages := decode.Transcript(n.obs.OutputData.Value)
	return len(messages) > 0 && messages[len(messages)-1].Role == tape.RoleUser
}

// isRun reports a fragment with a model call, a tool call, user input or a conversation that its run span kept. A span that was handed one task and failed with the error of a client of a
// model's API asked a model: it is a run too (a crew of CrewAI whose first model call threw, of which nothing else is recorded).
func (f *fragment) isRun() bool {
	if f.handsOn() {
		return false
	}
	if f.root != nil && (lastUserText(f.root.obs.Input) != "" || !f.root.obs.WeakAgent && given(f.root.obs.InputData) != "") {
		return true
	}
	if f.root != nil && genai.FailedInModelClient(f.root.span) && onlyTask(f.root.obs.InputData.Value) != "" {
		return true
	}
	for _, h := range f.heads {
		if h.obs.Class == genai.Model || h.obs.Class == genai.Tool || holdsCall(h) || holdsConversation(h) || brokeOff(h) || keptBeginning(h) {
			return true
		}
	}
	return f.root != nil && len(f.root.obs.Output) > 0 && f.kept() != nil || f.answersByPost() || f.stepped().answer != nil
}
func (b *builder) build(opts Options) *tape.Tape {
	b.calls.converse()
	b.ordered = b.calls.order()
	b.openEnvelopes()
	b.tape = &tape.Tape{
		Kind:          tape.Kind,
		SchemaVersion: tape.SchemaVersion,
		Producer:      opts.Producer,
		Redaction:     opts.Redaction,
		Tools:         map[string]tape.Tool{},
		Messages:      map[string]tape.Message{},
	}
	nodes := b.nodes()
	b.harness = harnessOf(b.speakers(nodes))
	b.identify(nodes, opts.Tenant, b.fragment.traces[0])
	b.events()
	b.times()
	b.input()
	b.config()
	b.finish()
	b.usage()
	b.sources(nodes, b.fragment.traces)
	b.extensions(b.speakers(nodes))
	b.ambiguousKeys()
	b.gaps(nodes)
	b.redaction(nodes)
	if b.fragment.cut != "" {
		b.finding(tape.CodeEvidenceCut, 0, "", b.fragment.cut)
	}
	oracle.Assess(b.tape)
	b.tape.Fidelity.SortFindings()
	return b.tape
}

// nodes lists the spans of the run, entry spans above it included, in order.
func (b *builder) nodes() []*node {
	nodes := slices.Clone(b.fragment.entry)
	for _, h := range b.fragment.heads {
		walk(h, func(n *node) bool {
			nodes = append(nodes, n)
			return true
		})
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes
}

// gaps says what the spans themselves say is missing.
func (b *builder) gaps(nodes []*node) {
	lost, unnamed, cuts := 0, 0, 0
	for _, n := range nodes {
		cuts += n.obs.Cuts
		switch {
		case n.adopted && n.parent.IsEmpty():
			unnamed++
		case n.adopted:
			lost++
		}
		if !isCall(n) && n.obs.Class != genai.Agent {
			b.notes(0, n.obs.Notes)
		}
	}
	if n := b.fragment.root; n != nil {
		b.notes(0, n.obs.Notes)
	}
	if cuts > 0 {
		b.finding(tape.CodeTruncated, 0, "", plural(cuts, "value")+" may have been cut where a limit on the length of values ends them; none of these is claimed to be whole")
	}
	if cuts > 0 && b.keepsCut(nodes) {
		b.finding(tape.CodeTruncated, 0, "events", "the conversation that the run kept was cut, and no span of a model call tells how it goes on: calls may be missing")
	}
	if lost > 0 {
		b.finding(tape.CodeSpanGap, 0, "", fmt.Sprintf("the parent of %s is no part of the evidence; placed by time", plural(lost, "span")))
	}
	if unnamed > 0 {
		b.finding(tape.CodeSpanGap, 0, "", plural(unnamed, "span")+" of a trace without parents, placed by time and content")
	}
}

// keepsCut reports a run without a span of a model call that kept its conversation, and not all of it came.
func (b *builder) keepsCut(nodes []*node) bool {
	return !slices.ContainsFunc(b.calls.models, func(m *call) bool { return len(m.nodes) > 0 }) && slices.ContainsFunc(nodes, func(n *node) bool {
		return n.obs.OutputData.Label == tape.Truncated && len(decode.Transcript(n.obs.OutputData.Value)) > 0
	})
}

// ambiguousKeys says which equal calls of one caller overlap in time without ids that tell them apart.
func (b *builder) ambiguousKeys() {
	type key struct{ caller, name, hash string }
	last := map[key]*call{}
	for i, k := range b.ordered {
		e := b.tape.Events[i]
		if k.kind != tape.EventToolCall || e.ArgsHash == "" {
			continue
		}
		id := key{e.Caller, e.Name, e.ArgsHash}
		if before := last[id]; before != nil && len(before.nodes) > 0 && len(k.nodes) > 0 && overlap(before, k) && (e.ToolCallID == "" || k.by != nil && k.by.shared) {
			b.finding(tape.CodeAmbiguousKey, k.seq, "args_hash", "an equal call of the same caller ran at the same time")
		}
		last[id] = k
	}
}
