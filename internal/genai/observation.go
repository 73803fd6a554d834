// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Class says what kind of thing an item reports.
type Class uint8

// The classes. Only the first four become events; Structure spans hold a tree together, Entry spans stand above a run and carry
// ids, Noise is left out and counted.
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

// Source is one item as it arrived, with what surrounds it.
type Source struct {
	Resource     pcommon.Map
	ScopeName    string
	ScopeVersion string
	Span         ptrace.Span
	// Logs are the log records (as evidence spans) that name this span as theirs, in time order.
	Logs []ptrace.Span
	// Also are further spans of the same call that have nothing to say but what they add to it.
	Also []ptrace.Span

	notes    []Note     // what assigning its log records brought up
	addition bool       // one of another source's Also
	dialects []*Dialect // see dialectsOf
}

// Observation is what one item says. Fields that it does not say are zero.
type Observation struct {
	Class    Class
	Dialects []string // that read something from it, primary first
	// RunSpan marks the dialect's own span for one whole run, which outranks wrappers around it.
	RunSpan bool
	// WeakAgent marks an agent span that counts only where no better one lies above or below (a chain at the top of a trace).
	WeakAgent   bool
	NoiseReason string
	// Summary marks a Structure span that sums up the model calls below it: its Request is that of the first, its Usage the sum. It
	// stands for them where none were recorded.
	Summary bool

	Agent          tape.Agent
	ConversationID string
	InvocationID   string
	CorrelationID  string
	WorkflowID     string
	TaskID         string
	UserID         string

	// Agent spans: what went in and came out. Input holds the messages given to the agent; OutputText its final answer.
	Input      []Message
	Output     []Message
	InputData  Content
	OutputData Content

	// Model calls.
	Model         string
	Provider      string
	Operation     string
	Params        []exactjson.Member
	System        []Part
	Request       []Message
	RequestLabel  tape.Label // truncated, masked … for the whole list
	Response      []Message
	ResponseLabel tape.Label
	Tools         []tape.Tool
	FinishReasons []string
	ResponseID    string
	ResponseModel string
	Usage         tape.Usage
	Streaming     bool
	// OutputTools are names of tools that stand for structured output and are never executed.
	OutputTools []string

	// Tool calls and retrievals.
	Name      string
	CallID    string
	ToolKind  tape.ToolKind
	Server    *tape.Server
	Args      Content
	Result    Content
	Handoff   bool // a transfer of control, not a call that an oracle answers
	MCPLeg    bool // an MCP client or server span below the framework's own tool span
	Query     Content
	Documents []exactjson.Value

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
}

// Note is something that reading the item brought up; it becomes a finding.
type Note struct {
	Code   tape.Code
	Field  string
	Detail string
}

// Content is a recorded value that may have been cut, masked or wrapped on its way.
type Content struct {
	// Value is the decoded value: JSON where the dialect writes JSON, else a string. Absent when nothing was recorded.
	Value exactjson.Value
	// Text is the recorded text when the value was decoded from one.
	Text string
	// Label is truncated, masked (as a whole), lossy or external; "" is exact.
	Label tape.Label
	// Masked says that the producer masked a part of a lossy value.
	Masked bool
	// Envelope names what was taken off around the value, outermost first.
	Envelope []string
}

// Present reports whether something was recorded.
func (c Content) Present() bool { return !c.Value.IsAbsent() }

// Message is one message of a request or response.
type Message struct {
	Role  tape.Role
	Name  string
	Parts []Part
	// FinishReason as the message itself says it.
	FinishReason string
}

// Part is a message part with what happened to it on the way.
type Part struct {
	tape.Part
	Label    tape.Label
	Masked   bool // see Content
	Envelope []string
	// Injected says that the framework put the part into a user's message.
	Injected bool
}

func textPart(text string) Part { return Part{Part: tape.Part{Type: tape.PartText, Text: text}} }

// note records something about a field.
func (o *Observation) note(code tape.Code, field, detail string) {
	o.Notes = append(o.Notes, Note{Code: code, Field: field, Detail: detail})
}

// fill takes from other what o lacks, field by field. Message lists are taken whole or not at all.
func (o *Observation) fill(other *Observation) {
	if o.Class == Unclassified {
		o.Class, o.RunSpan, o.WeakAgent, o.NoiseReason = other.Class, other.RunSpan, other.WeakAgent, other.NoiseReason
	}
	str(&o.Agent.Name, other.Agent.Name)
	str(&o.Agent.ID, other.Agent.ID)
	str(&o.Agent.Version, other.Agent.Version)
	str(&o.Agent.Description, other.Agent.Description)
	str(&o.ConversationID, other.ConversationID)
	str(&o.InvocationID, other.InvocationID)
	str(&o.CorrelationID, other.CorrelationID)
	str(&o.WorkflowID, other.WorkflowID)
	str(&o.TaskID, other.TaskID)
	str(&o.UserID, other.UserID)
	list(&o.Input, other.Input)
	list(&o.Output, other.Output)
	content(&o.InputData, other.InputData)
	content(&o.OutputData, other.OutputData)
	str(&o.Model, other.Model)
	str(&o.Provider, other.Provider)
	str(&o.Operation, other.Operation)
	for _, p := range other.Params {
		o.param(p.Name, p.Value)
	}
	list(&o.System, other.System)
	if len(o.Request) == 0 && o.RequestLabel == "" {
		o.Request, o.RequestLabel = other.Request, other.RequestLabel
	}
	if len(o.Response) == 0 && o.ResponseLabel == "" {
		o.Response, o.ResponseLabel = other.Response, other.ResponseLabel
	}
	list(&o.Tools, other.Tools)
	list(&o.FinishReasons, other.FinishReasons)
	str(&o.ResponseID, other.ResponseID)
	str(&o.ResponseModel, other.ResponseModel)
	fillUsage(&o.Usage, other.Usage)
	o.Streaming = o.Streaming || other.Streaming
	list(&o.OutputTools, other.OutputTools)
	str(&o.Name, other.Name)
	str(&o.CallID, other.CallID)
	if o.ToolKind == "" {
		o.ToolKind = other.ToolKind
	}
	if o.Server == nil {
		o.Server = other.Server
	}
	content(&o.Args, other.Args)
	content(&o.Result, other.Result)
	o.Handoff = o.Handoff || other.Handoff
	o.MCPLeg = o.MCPLeg || other.MCPLeg
	content(&o.Query, other.Query)
	list(&o.Documents, other.Documents)
	o.Failed = o.Failed || other.Failed
	o.StatusError = o.StatusError || other.StatusError
	if o.Error == nil {
		o.Error = other.Error
	}
	o.Interrupted = o.Interrupted || other.Interrupted
	o.Summary = o.Summary || other.Summary
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

func str(dst *string, src string) {
	if *dst == "" {
		*dst = src
	}
}

func list[T any](dst *[]T, src []T) {
	if len(*dst) == 0 {
		*dst = src
	}
}

// content takes src where dst holds nothing, or where dst is damaged and src is not. The same text read by another dialect, which
// does not know the damage, is no better.
func content(dst *Content, src Content) {
	if !src.Present() {
		return
	}
	if !dst.Present() || dst.Label != "" && src.Label == "" && dst.recorded() != src.recorded() {
		*dst = src
	}
}

// recorded is the text that was recorded.
func (c Content) recorded() string {
	if c.Text != "" {
		return c.Text
	}
	return c.Value.Text()
}

func fillUsage(dst *tape.Usage, src tape.Usage) {
	for _, f := range []struct{ dst, src **int64 }{
		{&dst.InputTokens, &src.InputTokens},
		{&dst.OutputTokens, &src.OutputTokens},
		{&dst.CacheReadTokens, &src.CacheReadTokens},
		{&dst.CacheWriteTokens, &src.CacheWriteTokens},
		{&dst.ReasoningTokens, &src.ReasoningTokens},
	} {
		if *f.dst == nil {
			*f.dst = *f.src
		}
	}
	if dst.InputIncludesCache == nil {
		dst.InputIncludesCache = src.InputIncludesCache
	}
}

// param records a request parameter once; empty values are not parameters.
func (o *Observation) param(name string, v exactjson.Value) {
	if v.IsEmpty() {
		return
	}
	for _, p := range o.Params {
		if p.Name == name {
			return
		}
	}
	o.Params = append(o.Params, exactjson.Member{Name: name, Value: v})
}

// Merge returns what two reports of the same call say together; the outer one speaks first.
func Merge(outer, inner *Observation) *Observation {
	o := *outer
	o.fill(inner)
	return &o
}

// MergeModel returns what two reports of the same model call say together: messages from the outer one, ids, usage and finish from
// the inner one.
func MergeModel(outer, inner *Observation) *Observation {
	o := *outer
	if inner.ResponseID != "" {
		o.ResponseID = inner.ResponseID
	}
	if inner.ResponseModel != "" {
		o.ResponseModel = inner.ResponseModel
	}
	if len(inner.FinishReasons) > 0 {
		o.FinishReasons = inner.FinishReasons
	}
	u := inner.Usage
	fillUsage(&u, o.Usage)
	o.Usage = u
	o.fill(inner)
	return &o
}
