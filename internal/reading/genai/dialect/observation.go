// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Class says what kind of thing an item reports.
type Class uint8

// The classes. The first four alone become events. Structure spans hold a tree together. Entry spans stand above a run and carry
// ids. Noise is left out and counted.
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

// Source is one recorded item, a span or a log record that travels as a span, with its resource and scope.
type Source struct {
	Resource     pcommon.Map
	ScopeName    string
	ScopeVersion string
	Span         ptrace.Span
	// Logs are the log records (as evidence spans) that name this span as theirs, in time order.
	Logs []ptrace.Span
	// Also are further spans of the same call that have nothing to say but what they add to it.
	Also []ptrace.Span

	// Notes are what assigning its log records brought up.
	Notes []Note
	// Limited says that texts of its trace were cut by a limit, and are marked; see genai.Limits.
	Limited bool
	// Addition says that the span is one of another source's Also.
	Addition bool
	// Lists are the message lists that were read of the same trace; nil: none is remembered.
	Lists *decode.Lists
	// Dialects are those that speak of the item, primary first; package genai fills them when it first needs them. Scope and span
	// are not to change afterwards.
	Dialects []*Dialect
}

// Observation is what one item says of a run. A field is zero if the item does not say it.
type Observation struct {
	Class    Class
	Dialects []string // that read something from it, primary first
	Quirks   Quirks
	// RunSpan marks the dialect's own span for one whole run, which outranks wrappers around it.
	RunSpan bool
	// WeakAgent marks an agent span that counts only where no better one lies above or below (a chain at the top of a trace).
	WeakAgent bool
	// Body marks an agent span that is what runs in a node of a graph: alone in a trace it is no run.
	Body        bool
	NoiseReason string
	// Relay marks a Structure span of a message on its way from one part of the program to another: made, sent or handed over. Who gets it links to the span
	// that made it. Posted is what it says, where the span holds that.
	Relay  bool
	Posted []decode.Posted
	// Summary marks a Structure span that sums up the model calls below it: its Request is that of the first, its Usage the sum. It
	// stands for them where none were recorded.
	Summary bool
	// Turn is the number of the turn of a model call. It is set if the run has no span of its own while several runs lie side by side.
	// The first turn begins a run and encloses the others of that run.
	Turn int

	Agent          tape.Agent
	ConversationID string
	InvocationID   string
	CorrelationID  string
	WorkflowID     string
	TaskID         string
	UserID         string

	// Held is the model call that another package wrote on the span of an agent, the last one of several; nil: there is none.
	Held *Observation
	// Exchanges are the model calls that stand as events on the span of the loop that made them, in the order of their time.
	Exchanges []Exchange

	// Agent spans: what went in and came out. Input holds the messages given to the agent; OutputText its final answer.
	Input      []decode.Message
	Output     []decode.Message
	InputData  decode.Content
	OutputData decode.Content
	// EndsWithTools says that agents of this kind end with tools: their results are the answer when the model is not asked again.
	EndsWithTools bool
	// HandsAll says that the caller of this agent is handed what its models say as they say it: all of it is what the agent answered.
	HandsAll bool

	// Model calls.
	Model         string
	Provider      string
	Operation     string
	Params        []exactjson.Member
	System        []decode.Part
	SystemApart   bool // this producer leaves instructions, or some of them, out of the messages that it records
	TextAlone     bool // where an answer has a text, this producer records nothing of it but that: calls beside it are lost
	Request       []decode.Message
	RequestLabel  tape.Label       // truncated, masked … for the whole list
	Unsigned      []decode.Message // of which the record does not tell who wrote them
	Shuffled      bool             // nothing tells which of the messages of users was the last
	Response      []decode.Message
	ResponseLabel tape.Label
	Tools         []tape.Tool
	Offered       []string // names of tools, of which nothing else was recorded
	FinishReasons []string
	ResponseID    string
	ResponseModel string
	Usage         tape.Usage
	Streaming     bool
	// OutputTools are names of tools that stand for structured output and are never executed.
	OutputTools []string
	// OutputWhole says that what such a tool is called with is the answer as a whole, and no envelope of it.
	OutputWhole bool

	// Tool calls and retrievals.
	Name     string
	CallID   string
	ToolKind tape.ToolKind
	Server   *tape.Server
	Args     decode.Content
	Result   decode.Content
	Handoff  bool // a transfer of control, not a call that an oracle answers
	// HandedOver is what the framework tells the model of this transfer, whatever the agent that it goes to answers; absent: the producer's framework is not known to tell one thing.
	HandedOver exactjson.Value
	Function   bool    // any function of the program: a tool if a response asked for it
	Called     *Called // of a span that is a step of the program: the function that it ran; nil: it says nothing of one
	MCPLeg     bool    // an MCP client or server span below the framework's own tool span
	Query      decode.Content
	Documents  []exactjson.Value

	// Failed says that the call or run failed by a flag of the dialect; StatusError that the span says so, which is not always
	// true. Error is what either says.
	Failed      bool
	StatusError bool
	Error       *tape.Error
	// Interrupted says that the run waits for a person or a resume.
	Interrupted bool
	// Inbound is what the item says of the A2A request that started the run; nil: nothing.
	Inbound *Inbound

	// Extra holds per-producer extras: namespace → members.
	Extra map[string][]exactjson.Member

	Notes []Note
	Cuts  int // texts that a limit may have cut

	// Lists are those of the source, for reading.
	Lists *decode.Lists
}

// Exchange is one model call of several on one span: a span of its own, made of the events, and what it says.
type Exchange struct {
	Span ptrace.Span
	Said *Observation
}

// Called is a function of the program as the decorator of an instrumentation recorded it, which does not know a tool from any other step.
type Called struct {
	Name          string
	In, Out       exactjson.Value
	Encoded       bool // what was returned is written as JSON
	Texts         bool // numbers in it are written as texts
	Tool          bool // the span says that it is one of a tool
	InCut, OutCut bool // a limit cut it
}

// AsTool reads an observation with a called function as that of a tool call.
func (o *Observation) AsTool() *Observation {
	t := &Observation{Class: Tool, Dialects: o.Dialects, Name: o.Called.Name, Failed: o.Failed, StatusError: o.StatusError, Error: o.Error, Interrupted: o.Interrupted,
		ConversationID: o.ConversationID, UserID: o.UserID, Notes: o.Notes}
	ReadWholeTool(t, o.Called.In, o.Called.Out, o.Called.Encoded)
	if o.Called.Texts {
		for _, c := range []*decode.Content{&t.Args, &t.Result} {
			if c.Label == "" && holdsDigits(c.Value) {
				c.Label = tape.Lossy
			}
		}
	}
	if o.Called.InCut && t.Args.Label == "" {
		t.Args.Label = tape.Truncated
	}
	if o.Called.OutCut && t.Result.Label == "" {
		t.Result.Label = tape.Truncated
	}
	t.Result.LabelMasks() // members of what was returned, as Logfire scrubs them
	if t.Result.Value.Kind() == exactjson.Null && (t.Failed || t.StatusError) {
		t.Result = decode.Content{} // what threw returned nothing
	}
	return t
}

// holdsDigits reports a value with a text that may have been a number.
func holdsDigits(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		n, err := exactjson.Parse(v.Str())
		return err == nil && n.Kind() == exactjson.Number
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return holdsDigits(m.Value) })
}

// Note is a remark on the reading of an item. It becomes a finding.
type Note struct {
	Code   tape.Code
	Field  string
	Detail string
}

// AddNote records something about a field.
func (o *Observation) AddNote(code tape.Code, field, detail string) {
	o.Notes = append(o.Notes, Note{Code: code, Field: field, Detail: detail})
}

// Fill takes from other the fields that o lacks. Message lists are taken as a whole.
func (o *Observation) Fill(other *Observation) {
	if o.Class == Unclassified {
		o.Class, o.RunSpan, o.WeakAgent, o.NoiseReason = other.Class, other.RunSpan, other.WeakAgent, other.NoiseReason
		o.Body = other.Body
	}
	o.Quirks |= other.Quirks
	decode.FillString(&o.Agent.Name, other.Agent.Name)
	decode.FillString(&o.Agent.ID, other.Agent.ID)
	decode.FillString(&o.Agent.Version, other.Agent.Version)
	decode.FillString(&o.Agent.Description, other.Agent.Description)
	decode.FillString(&o.ConversationID, other.ConversationID)
	decode.FillString(&o.InvocationID, other.InvocationID)
	decode.FillString(&o.CorrelationID, other.CorrelationID)
	decode.FillString(&o.WorkflowID, other.WorkflowID)
	decode.FillString(&o.TaskID, other.TaskID)
	decode.FillString(&o.UserID, other.UserID)
	decode.FillList(&o.Input, other.Input)
	decode.FillList(&o.Output, other.Output)
	decode.FillContent(&o.InputData, other.InputData)
	decode.FillContent(&o.OutputData, other.OutputData)
	decode.FillString(&o.Model, other.Model)
	decode.FillString(&o.Provider, other.Provider)
	decode.FillString(&o.Operation, other.Operation)
	for _, p := range other.Params {
		o.AddParam(p.Name, p.Value)
	}
	decode.FillList(&o.System, other.System)
	o.SystemApart = o.SystemApart || other.SystemApart
	o.TextAlone = o.TextAlone || other.TextAlone
	decode.FillList(&o.Unsigned, other.Unsigned)
	if len(o.Request) == 0 && o.RequestLabel == "" {
		o.Request, o.RequestLabel = other.Request, other.RequestLabel
	}
	if o.ResponseLabel == tape.Missing && len(other.Response) > 0 {
		o.Response, o.ResponseLabel = other.Response, other.ResponseLabel
	} else if o.ResponseLabel == "" && !slices.ContainsFunc(o.Response, hasParts) && (len(o.Response) == 0 || slices.ContainsFunc(other.Response, hasParts)) {
		o.Response, o.ResponseLabel = other.Response, other.ResponseLabel
	}
	decode.FillList(&o.Tools, other.Tools)
	decode.FillList(&o.Offered, other.Offered)
	decode.FillList(&o.FinishReasons, other.FinishReasons)
	decode.FillString(&o.ResponseID, other.ResponseID)
	decode.FillString(&o.ResponseModel, other.ResponseModel)
	decode.FillUsage(&o.Usage, other.Usage)
	o.Streaming = o.Streaming || other.Streaming
	decode.FillList(&o.OutputTools, other.OutputTools)
	o.OutputWhole = o.OutputWhole || other.OutputWhole
	decode.FillString(&o.Name, other.Name)
	decode.FillString(&o.CallID, other.CallID)
	if o.ToolKind == "" {
		o.ToolKind = other.ToolKind
	}
	if o.Server == nil {
		o.Server = other.Server
	}
	decode.FillContent(&o.Args, other.Args)
	decode.FillContent(&o.Result, other.Result)
	o.Handoff = o.Handoff || other.Handoff
	if o.HandedOver.IsAbsent() {
		o.HandedOver = other.HandedOver
	}
	o.Function = o.Function || other.Function
	if o.Called == nil {
		o.Called = other.Called
	}
	o.MCPLeg = o.MCPLeg || other.MCPLeg
	decode.FillContent(&o.Query, other.Query)
	decode.FillList(&o.Documents, other.Documents)
	o.Failed = o.Failed || other.Failed
	o.StatusError = o.StatusError || other.StatusError
	if o.Error == nil {
		o.Error = other.Error
	}
	o.Interrupted = o.Interrupted || other.Interrupted
	o.EndsWithTools = o.EndsWithTools || other.EndsWithTools
	o.HandsAll = o.HandsAll || other.HandsAll
	o.Summary = o.Summary || other.Summary
	o.Relay = o.Relay || other.Relay
	decode.FillList(&o.Posted, other.Posted)
	o.Turn = max(o.Turn, other.Turn)
	if o.Inbound == nil {
		o.Inbound = other.Inbound
	}
	for ns, members := range other.Extra {
		if o.Extra == nil {
			o.Extra = map[string][]exactjson.Member{}
		}
		if _, there := o.Extra[ns]; !there {
			o.Extra[ns] = members
		}
	}
	o.Notes = append(o.Notes, other.Notes...)
}

// AddParam records a request parameter once; empty values are not parameters.
func (o *Observation) AddParam(name string, v exactjson.Value) {
	if v.IsEmpty() || decode.IsAddress(v) { // OpenAI's package marks what was not given with an object
		return
	}
	for _, p := range o.Params {
		if p.Name == name {
			return
		}
	}
	o.Params = append(o.Params, exactjson.Member{Name: name, Value: v})
}

// hasParts reports a message that says something.
func hasParts(m decode.Message) bool { return len(m.Parts) > 0 }
