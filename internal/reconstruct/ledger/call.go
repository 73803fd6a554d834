// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Call is one real call, reported by one or more spans, or recovered without one.
type Call struct {
	Kind  tape.EventType
	Nodes []*spantree.Node // outermost first
	Obs   *genai.Report
	Start uint64
	End   uint64
	Agent *Call // the enclosing nested agent, nil at the run's own level
	Seq   int
	Rank  uint64 // what order goes by: the start, or that of an equal call
	Part  int    // index of the part of a joined run whose span reports the call
	// Within is the tool of another part that made the call, where no span of an agent stands between the
	// two.
	Within *spantree.Node
	// Shift is what was added to start and end, because the clock of the part is behind.
	Shift uint64

	Turn
	Execution
	Delegation

	Notes []genai.Note

	own [1]*spantree.Node // room for Nodes: most calls are reported once
}

// Turn is what a model call was sent and what it answered.
type Turn struct {
	Request   []*chat.Message
	Response  *chat.Message
	Repeated  *chat.Message // what the next request shows as the response
	Recovered bool          // a later request alone shows the response
	Completed bool          // the request shows messages of which only the place was recorded
	Enriched  bool          // the response was recorded in part, a later request shows it whole
	Asked     []*Asked      // tool calls that the response asks for
}

// Execution is what became of a tool call.
type Execution struct {
	By    *Asked
	Holds *Call // the nested agent that a delegation runs
	// Unnamed says that the name is that of a class, see NameClasses.
	Unnamed bool
	// Maybe says that the call may not have failed. Several spans tell no more than that a call failed and
	// that one of the failures ended the agent.
	Maybe bool
	// Others are the results in other payloads of the span, where nothing decides between them.
	Others []exactjson.Value
}

// Delegation is how an agent came to run.
type Delegation struct {
	Relation tape.Relation
	Via      *Call
}

// Asked is one tool call that a response asks for, and what later requests show of its result.
type Asked struct {
	Model *Call
	Index int
	Part  genai.Part
	Tool  *Call
	Shown *genai.Part // the result in a later request
	By    *Call       // the model call whose request shows it
	// shared says that another call of the answer has the same id, see markShared.
	Shared bool
}

// NewCall is the call that a span reports.
func (c *Ledger) NewCall(kind tape.EventType, n *spantree.Node, agent *Call) *Call {
	k := &Call{Kind: kind, Obs: n.Obs, Start: n.Start, End: n.End, Agent: agent, Part: c.part, Notes: n.Obs.Notes, own: [1]*spantree.Node{n}}
	k.Nodes = k.own[:]
	return k
}

// HiddenModel is a model call without a span. The detail says where the call is known from.
func HiddenModel(fill func(*genai.Draft), agent *Call, when uint64, detail string) *Call {
	return &Call{
		Kind: tape.EventModelCall, Obs: genai.NewReport(genai.Model, fill), Agent: agent, Start: when, End: when,
		Notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: detail}},
	}
}

// Another is a model call without a span, of the same model and agent as t. Its request and answer stand
// elsewhere.
func (t *Call) Another(when uint64, request []*chat.Message, said *chat.Message, detail string) *Call {
	m := HiddenModel(func(o *genai.Draft) {
		o.Operation, o.Model, o.Provider = t.Obs.Operation, t.Obs.Model, t.Obs.Provider
		o.RequestLabel, o.ResponseLabel = tape.Recovered, tape.Recovered
	}, t.Agent, when, detail)
	m.Shift, m.Request, m.Response = t.Shift, request, said
	return m
}

// Note adds a finding to a call. The list may be that of the report and is not written into.
func (t *Call) Note(code tape.Code, field, detail string) {
	t.Notes = append(slices.Clip(t.Notes), genai.Note{Code: code, Field: field, Detail: detail})
}

// AddReport adds further spans that report the same call, with the findings of their reports.
func (t *Call) AddReport(nodes []*spantree.Node, notes []genai.Note) {
	t.Nodes = append(slices.Clip(t.Nodes), nodes...)
	t.Notes = append(slices.Clip(t.Notes), notes...)
	t.Note(tape.CodeDuplicateReport, "", "several spans report this call")
}

// Join adds a further report of the same call. What the reports of the outer spans leave open, the inner one
// fills.
func (t *Call) Join(n *spantree.Node) {
	t.Obs = genai.Merge(t.Obs, n.Obs)
	t.Obs = t.Obs.With(func(o *genai.Draft) { o.Notes = nil })
	t.AddReport([]*spantree.Node{n}, n.Obs.Notes)
}

// Reporter is the writer of a report: the instrumentation, and whether it wrote a span or a log record.
type Reporter struct {
	scope spantree.ScopeKey
	log   bool
}

// Reporter returns the writer of the outermost report of a call, the zero value for a call without one.
func (t *Call) Reporter() Reporter {
	if len(t.Nodes) == 0 {
		return Reporter{}
	}
	return Reporter{t.Nodes[0].Scope, t.Nodes[0].Spans == 0}
}

// FailedCall reports a call whose record says that it failed.
func FailedCall(t *Call) bool { return spantree.IsFailure(t.Obs) }

func Finish(m genai.Message) []string {
	if m.FinishReason == "" {
		return nil
	}
	return []string{m.FinishReason}
}
