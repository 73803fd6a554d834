// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Mutation changes how a run was recorded, as instrumentations that nobody has seen yet may record it. It depends on nothing but the
// recording, so each mutated run is the same at any time.
type Mutation struct {
	Name    string
	Meaning string
	change  func(*recording)
}

// Mutations are all of them.
var Mutations = []Mutation{
	{"unknown vendor", "scopes have a name that nobody knows, attributes and events of vendors are renamed; the keys of the conventions stay", unknownVendor},
	{"no tool spans", "the spans of tools are not recorded, what lay below them lies below what was above", noToolSpans},
	{"generic tool names", "the spans of tools and their attributes name a class (`RunnableTool`) instead of the tool", genericNames},
	{"foreign call ids", "the spans of tools have call ids that no message has", foreignIDs},
	{"unknown envelope", "arguments and results of tool spans lie in envelopes that nobody knows", envelopes},
	{"every span twice", "each span is reported a second time, with ids of its own, in a tree of its own below the same parent", twice},
	{"model calls wrapped", "above each span of a model call lies another one of an unknown scope with the same content", wrapped},
	{"no root", "the root never arrives; the parents of what lay below it are unknown, and that the run is `incomplete` is as right", noRoot},
	{"two traces", "the second half of the run lies in a trace of its own, without a parent; the span of a tool stays where it has no id and no conversation holds its arguments or result, because nothing would tell whose call it is", twoTraces},
	{"content in span events", "messages, arguments and results lie in an event of the span instead of its attributes", contentInEvents},
	{"content in log records", "messages, arguments and results lie in a log record of the span instead of its attributes", contentInLogs},
	{"two traces, clock behind", "the second half of the run lies in a trace of its own, and its clock is two seconds behind", clockBehind},
	{"no parents", "no span names a parent", noParents},
	{"other words in messages", "members of message lists have the names of another provider's style (`toolCallId`, `toolCalls`), roles are `human`, `ai` and `function`, texts are lists of parts; no tool spans", otherWords},
	{"items instead of messages", "message lists are items: calls and their results stand beside the messages, as the Responses API writes them; no tool spans", itemLists},
	{"results as user messages", "messages with the result of a tool have the role of the user; the id of the call stays; no tool spans", userResults},
	{"tools' clock behind", "tools and what lies below them are recorded by a clock that is 30 seconds behind, as that of another service may be", toolsBehind},
	{"times in seconds", "all times are rounded down to the second", roundedTimes(1_000_000_000)},
	{"times in milliseconds", "all times are rounded down to the millisecond", roundedTimes(1_000_000)},
	{"no call ids on tools", "the spans of tools have no call ids", noCallIDs},
	{"structured values", "objects and lists are structured attributes, not JSON texts", structured},
	{"bytes", "texts are bytes", asBytes},
	{"values cut at 256 characters", "every text of an attribute ends behind 256 characters, as the limit of an SDK leaves it; nothing marks the place", cutAt(256, false)},
	{"values cut at 1000 bytes", "every text of an attribute ends behind 1000 bytes, as the processor of a collector leaves it; nothing marks the place", cutAt(1000, true)},
}

// Pairs are all mutations one after the other, two at a time: what no recording does alone, and real instrumentations do at once. The vendor
// is made unknown last, because the others are told where to change something by what the vendor says.
func Pairs() (pairs []Mutation) {
	order := append(slices.Clone(Mutations[1:]), Mutations[0])
	for i, a := range order {
		for _, b := range order[i+1:] {
			pairs = append(pairs, Mutation{a.Name + ", " + b.Name, a.Meaning + "; " + b.Meaning, func(r *recording) {
				a.change(r)
				if !r.changed {
					return
				}
				r.changed = false
				r.index()
				b.change(r)
			}})
		}
	}
	return pairs
}

// Apply returns the run as the mutation would have recorded it. ok is false when the mutation finds nothing to change.
func (m Mutation) Apply(r Run) (mutated Run, ok bool, err error) {
	rec, err := r.read()
	if err != nil {
		return Run{}, false, err
	}
	rec.index()
	m.change(rec)
	if !rec.changed {
		return Run{}, false, nil
	}
	before := r.held
	r.recording = rec
	r.held = sync.OnceValue(rec.telemetry)
	r.truth = rec.remaining(r, before)
	return r, true, nil
}

// read reads the files of a run, to be changed.
func (r Run) read() (*recording, error) {
	rec := &recording{truth: r.truth, traces: ptrace.NewTraces(), logs: plog.NewLogs()}
	for _, path := range r.Files {
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				return nil, err
			}
			document.Traces.ResourceSpans().MoveAndAppendTo(rec.traces.ResourceSpans())
			document.Logs.ResourceLogs().MoveAndAppendTo(rec.logs.ResourceLogs())
		}
	}
	return rec, nil
}

// genericTool is the name that tools have after genericNames.
const genericTool = "RunnableTool"

// endLost is a member of the truth that says that nothing which is left shows how the run ended.
const endLost = "end_lost"

// remaining is the truth that can be told from what the mutation left. Where nothing says any more which tool a call was for, the generic name
// is as right; the name alone does not say it: a list of the tools that were offered holds it as well. Where the run span or the answer is nowhere
// any more, how the run ended is not known. Of an answer of several texts the last one is left.
func (r *recording) remaining(run Run, before func() *telemetry) value {
	var members []exactjson.Member
	lost := r.rootless
	for _, m := range run.truth.Members() {
		if answer := m.Value.Str(); m.Name == "final_output" && answer != "" && !run.held().holds(m.Value) && before().holds(m.Value) {
			lost = true
			m.Value = lastOf(answer, len(answer)/2, maps.Keys(run.held().texts))
		} else if m.Name == "final_output" && answer != "" && r.rootless {
			m.Value = lastOf(answer, len(answer)/4, r.answers())
		}
		if m.Name == "tool_calls" && r.renamed {
			var calls []value
			for _, c := range m.Value.Members() {
				call := c.Value
				if !slices.ContainsFunc(namesOf(call), func(n string) bool { return run.held().names(n, call) }) {
					call = exactjson.ObjectValue(append(slices.Clone(call.Members()), exactjson.Member{Name: "recorded_name", Value: exactjson.StringValue(genericTool)})...)
				}
				calls = append(calls, call)
			}
			m.Value = exactjson.ArrayValue(calls...)
		}
		members = append(members, m)
	}
	if lost {
		members = append(members, exactjson.Member{Name: endLost, Value: exactjson.BoolValue(true)})
	}
	return exactjson.ObjectValue(members...)
}

// lastOf is the last of several texts of an answer, at least so long, or the answer itself.
func lastOf(answer string, least int, texts iter.Seq[string]) value {
	last := ""
	for text := range texts {
		if text = squeeze(text); len(text) > len(last) && strings.HasSuffix(squeeze(answer), text) {
			last = text
		}
	}
	if len(last) < least || last == squeeze(answer) {
		last = answer
	}
	return exactjson.StringValue(last)
}

// answers are the texts with which model calls answered, those aside that sum up others.
func (r *recording) answers() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range r.of(dialect.Model) {
			for _, m := range s.obs.Response {
				text := ""
				for _, p := range m.Parts {
					text += p.Text
				}
				if !yield(text) {
					return
				}
			}
		}
	}
}
