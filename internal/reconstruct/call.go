// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// call is one real call, reported by one or more spans, or recovered without one.
type call struct {
	kind  tape.EventType
	nodes []*node // outermost first
	obs   *genai.Observation
	start uint64
	end   uint64
	agent *call // the enclosing nested agent, nil at the run's own level
	seq   int
	rank  uint64 // what order goes by: the start, or that of an equal call
	part  int    // index of the part of a joined run whose span reports the call
	// within is the tool of another part that made the call, where no span of an agent stands between the
	// two.
	within *node
	// shift is what was added to start and end, because the clock of the part is behind.
	shift uint64

	// model calls
	request   []*message
	response  *message
	repeated  *message // what the next request shows as the response
	recovered bool     // a later request alone shows the response
	completed bool     // the request shows messages of which only the place was recorded
	enriched  bool     // the response was recorded in part, a later request shows it whole
	asked     []*asked // tool calls that the response asks for

	// tool calls
	by    *asked
	holds *call // the nested agent that a delegation runs
	// unnamed says that the name is that of a class, see nameClasses.
	unnamed bool
	// maybe says that the call may not have failed. Several spans tell no more than that a call failed and
	// that one of the failures ended the agent.
	maybe bool
	// others are the results in other payloads of the span, where nothing decides between them.
	others []exactjson.Value

	// agent calls
	relation tape.Relation
	via      *call

	notes []genai.Note
}

// asked is one tool call that a response asks for, and what later requests show of its result.
type asked struct {
	model *call
	index int
	part  genai.Part
	tool  *call
	shown *genai.Part // the result in a later request
	by    *call       // the model call whose request shows it
	// shared says that another call of the answer has the same id, see markShared.
	shared bool
}

// newCall is the call that a span reports.
func (c *collector) newCall(kind tape.EventType, n *node, agent *call) *call {
	return &call{kind: kind, nodes: []*node{n}, obs: n.obs, start: n.start, end: n.end, agent: agent, part: c.part, notes: n.obs.Notes}
}

// hiddenModel is a model call without a span. The detail says where the call is known from.
func hiddenModel(o genai.Observation, agent *call, when uint64, detail string) *call {
	o.Class = genai.Model
	return &call{
		kind: tape.EventModelCall, obs: &o, agent: agent, start: when, end: when,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: detail}},
	}
}

// another is a model call without a span, of the same model and agent as t. Its request and answer stand
// elsewhere.
func (t *call) another(when uint64, request []*message, said *message, detail string) *call {
	m := hiddenModel(genai.Observation{
		Operation: t.obs.Operation, Model: t.obs.Model, Provider: t.obs.Provider,
		RequestLabel: tape.Recovered, ResponseLabel: tape.Recovered,
	}, t.agent, when, detail)
	m.shift, m.request, m.response = t.shift, request, said
	return m
}

// note adds a finding to a call. The list may be that of the report and is not written into.
func (t *call) note(code tape.Code, field, detail string) {
	t.notes = append(slices.Clip(t.notes), genai.Note{Code: code, Field: field, Detail: detail})
}

// addReport adds further spans that report the same call, with the findings of their reports.
func (t *call) addReport(nodes []*node, notes []genai.Note) {
	t.nodes = append(slices.Clip(t.nodes), nodes...)
	t.notes = append(slices.Clip(t.notes), notes...)
	t.note(tape.CodeDuplicateReport, "", "several spans report this call")
}

// join adds a further report of the same call. What the reports of the outer spans leave open, the inner one
// fills.
func (t *call) join(n *node) {
	t.obs = genai.Merge(t.obs, n.obs)
	t.obs.Notes = nil
	t.addReport([]*node{n}, n.obs.Notes)
}

// reporter is the writer of a report: the instrumentation, and whether it wrote a span or a log record.
type reporter struct {
	scope scopeKey
	log   bool
}

// reporter returns the writer of the outermost report of a call, the zero value for a call without one.
func (t *call) reporter() reporter {
	if len(t.nodes) == 0 {
		return reporter{}
	}
	return reporter{t.nodes[0].scope, t.nodes[0].spans == 0}
}

// isFailure reports a record that says that the call failed.
func isFailure(o *genai.Observation) bool { return o.Failed || o.StatusError }

// failedCall reports a call whose record says that it failed.
func failedCall(t *call) bool { return isFailure(t.obs) }
