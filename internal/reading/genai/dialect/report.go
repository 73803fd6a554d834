// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Class says what kind of thing an item reports.
type Class uint8

// The classes. The first four alone become events. Structure spans hold a tree together. Entry spans stand
// above a run and carry ids. Noise is left out and counted.
const (
	Unclassified Class = iota
	Agent
	Model
	Tool
	Retrieval
	Structure
	Entry
	Noise
)

// Report is what one item says of a run. A field is zero if the item does not say it.
//
// A report is one of five kinds, by its class: a model call, a tool call, the run of an agent, a retrieval or
// a step. It holds the part of its kind, and parts of other kinds where the item speaks of these as well. Any
// other part is the empty one, which all reports share. So nobody may write into a report: Report.With makes
// a changed copy.
type Report struct {
	Base
	*ModelCall
	*ToolCall
	*AgentRun
	*InOut
	*RetrievalCall
	*Step
}

// Base is what reports of every kind hold.
type Base struct {
	Class    Class
	Dialects []string // that read something from the item, primary first
	Quirks   Quirks
	// Operation is what the item calls the thing that it reports: chat, create_agent.
	Operation string
	Identity
	Failure
	// Inbound is what the item says of the A2A request that started the run; nil: nothing.
	Inbound *Inbound
	// Extra holds per-producer extras: namespace → members.
	Extra map[string][]exactjson.Member
	Notes []Note
	Cuts  int // texts that a limit may have cut
}

// Identity names the agent, the run and the user that an item belongs to.
type Identity struct {
	Agent          tape.Agent
	ConversationID string
	InvocationID   string
	CorrelationID  string
	WorkflowID     string
	TaskID         string
	UserID         string
}

// Failure says how a call or a run went wrong.
type Failure struct {
	// Failed says that the call or run failed by a flag of the dialect, StatusError that the span says so,
	// which is not always true. Error is what either says.
	Failed      bool
	StatusError bool
	Error       *tape.Error
	// Waiting is what the call or the run waits for; empty: for nothing. A pause is no failure.
	Waiting tape.Waiting
}

// ModelCall is a request to a model and its answer. Reports of agents hold the model and the settings of
// their calls.
type ModelCall struct {
	Model         string
	Provider      string
	Params        []exactjson.Member
	System        []decode.Part
	Request       []decode.Message
	RequestLabel  tape.Label       // truncated, masked … for the whole list
	Unsigned      []decode.Message // of which the record does not tell who wrote them
	Shuffled      bool             // nothing tells which of the messages of users was the last
	Response      []decode.Message
	ResponseLabel tape.Label
	Tools         []tape.Tool
	Offered       []string // names of tools, of which nothing else was recorded
	OutputTools   []string // names of tools that stand for structured output and are never executed
	FinishReasons []string
	ResponseID    string
	PreviousID    string // of the response that the request goes on after, where the provider keeps the conversation
	ResponseModel string
	Usage         tape.Usage
	Streaming     bool
	// Turn is the number of the turn of a model call. It is set if the run has no span of its own while
	// several runs lie side by side. The first turn begins a run and encloses the others of that run.
	Turn int
}

// ToolCall is a call of a tool. Reports of retrievals have its name alone.
type ToolCall struct {
	Name     string
	CallID   string
	ToolKind tape.ToolKind
	Server   *tape.Server
	Args     decode.Content
	Result   decode.Content
	Handoff  bool // a transfer of control, not a call that an oracle answers
	// HandedOver is what the framework tells the model of this transfer, whatever the next agent answers. It
	// is absent where the framework is not known to tell one thing.
	HandedOver exactjson.Value
	Function   bool // any function of the program: a tool if a response asked for it
	MCPLeg     bool // an MCP client or server span below the framework's own tool span
}

// AgentRun is the run of an agent.
type AgentRun struct {
	// RunSpan marks the dialect's own span for one whole run, which outranks wrappers around it.
	RunSpan bool
	// WeakAgent marks an agent span that counts only where no better one lies above or below (a chain at the
	// top of a trace).
	WeakAgent bool
	// Body marks an agent span that is what runs in a node of a graph: alone in a trace it is no run.
	Body bool
	// Held is the model call that another package wrote on the span of an agent, the last one of several;
	// nil: there is none.
	Held *Report
	// Exchanges are the model calls that stand as events on the span of the loop that made them, in order of
	// time.
	Exchanges []Exchange
}

// Exchange is one model call of several on one span: a span of its own, made of the events, and what it says.
type Exchange struct {
	Span ptrace.Span
	Said *Report
}

// InOut is what went into an agent or a step and what came out: as messages, and as recorded.
type InOut struct {
	Input      []decode.Message
	Output     []decode.Message
	InputData  decode.Content
	OutputData decode.Content
}

// RetrievalCall is a search for documents.
type RetrievalCall struct {
	Query     decode.Content
	Documents []exactjson.Value
}

// Step is a span that is no call: it holds a tree together, carries ids or is noise.
type Step struct {
	NoiseReason string
	// Relay marks a message on its way from one part of the program to another: made, sent or handed over.
	// Who gets it links to the span that made it. Posted is what it says, where the span holds that.
	Relay  bool
	Posted []decode.Posted
	// Summary marks a span that sums up the model calls below it: its Request is that of the first, its Usage
	// the sum. It stands for them where none were recorded.
	Summary bool
	// Guardrail marks a check of what the run was asked, or of what it is about to answer; what lies below is
	// no conversation of the run. Tripped says that the check refused it.
	Guardrail bool
	Tripped   bool
	Called    *Called // the function of the program that the step ran; nil: it says nothing of one
}

// Note is a remark on the reading of an item. It becomes a finding.
type Note struct {
	Code   tape.Code
	Field  string
	Detail string
}

// The empty parts, which all reports share.
var (
	noModelCall     ModelCall
	noToolCall      ToolCall
	noAgentRun      AgentRun
	noInOut         InOut
	noRetrievalCall RetrievalCall
	noStep          Step
)

func (m *ModelCall) isEmpty() bool {
	u := &m.Usage
	counted := u.InputTokens != nil || u.OutputTokens != nil || u.CacheReadTokens != nil || u.CacheWriteTokens != nil || u.ReasoningTokens != nil ||
		u.InputIncludesCache != nil || u.Unknown != nil
	asked := m.Params != nil || m.System != nil || m.Request != nil || m.RequestLabel != "" || m.Unsigned != nil || m.Shuffled || m.Tools != nil || m.Offered != nil || m.OutputTools != nil
	return !counted && !asked && len(m.Model)+len(m.Provider)+len(m.ResponseID)+len(m.PreviousID)+len(m.ResponseModel) == 0 && m.Response == nil && m.ResponseLabel == "" && m.FinishReasons == nil && !m.Streaming && m.Turn == 0
}

func (t *ToolCall) isEmpty() bool {
	return t.Name == "" && t.CallID == "" && t.ToolKind == "" && t.Server == nil && isNothing(&t.Args) && isNothing(&t.Result) && !t.Handoff && t.HandedOver.IsAbsent() && !t.Function && !t.MCPLeg
}

func (a *AgentRun) isEmpty() bool {
	return !a.RunSpan && !a.WeakAgent && !a.Body && a.Held == nil && a.Exchanges == nil
}

func (x *InOut) isEmpty() bool {
	return x.Input == nil && x.Output == nil && isNothing(&x.InputData) && isNothing(&x.OutputData)
}

func (r *RetrievalCall) isEmpty() bool { return isNothing(&r.Query) && r.Documents == nil }

func (s *Step) isEmpty() bool {
	return s.NoiseReason == "" && !s.Guardrail && !s.Tripped && !s.Relay && s.Posted == nil && !s.Summary && s.Called == nil
}

func isNothing(c *decode.Content) bool {
	return c.Value.IsAbsent() && c.Text == "" && c.Label == "" && !c.Masked && c.Envelope == nil && c.Suspected == "" && !c.Told
}
