// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package tape is the format of one recorded agent run: its types, canonical form and digests, reading, writing and verifying.
// The contract is docs/tape-format.md; names of fields, labels and codes are part of it.
package tape

import (
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Kind and SchemaVersion are the first two fields of every tape. A reader accepts every MINOR of its MAJOR.
const (
	Kind          = "agent-tape"
	SchemaVersion = "1.1"
)

// Tape is one agent run. Fields that the telemetry does not hold are absent (zero).
type Tape struct {
	Kind          string
	SchemaVersion string
	// TapeID is "sha256:" and the hex digest of the canonical form of the tape without tape_id.
	TapeID   string
	Producer Producer
	Run      Run
	Config   Config
	Input    Input
	// Tools pools the tool definitions that were offered to a model; see ToolID.
	Tools map[string]Tool
	// Messages pools every message once, however often it was resent; see Message.ID.
	Messages   map[string]Message
	Events     []Event
	Output     Output
	Verdicts   []Verdict // what was judged, in order of time
	Usage      RunUsage
	Fidelity   Fidelity
	Redaction  Redaction
	Sources    Sources
	Extensions exactjson.Value // object: namespace → anything
	Unknown    Unknown
}

// Unknown holds the members of an object that this version does not know, in recorded order. They are written back after the
// known ones.
type Unknown []exactjson.Member

// Producer says which program with which configuration wrote the tape.
type Producer struct {
	Name    string
	Version string
	// ConfigDigest covers everything configured that changes output.
	ConfigDigest string
	Unknown      Unknown
}

// Run identifies the run and says how it ended.
type Run struct {
	RunID          string // <trace_id>-<root_span_id>
	Tenant         string
	TraceID        string // 32 hex
	RootSpanID     string // 16 hex
	ConversationID string
	InvocationID   string
	CorrelationID  string
	WorkflowID     string
	TaskID         string
	ReplayRunID    string
	Service        Service
	Agent          Agent
	StartedAt      time.Time
	EndedAt        time.Time
	DurationMS     int64
	Status         RunStatus
	Error          *Error
	UserID         string
	Resumes        *Resumes
	Joined         []string
	Unknown        Unknown
}

// RunStatus is how a run ended.
type RunStatus string

// The ends of a run.
const (
	StatusOK          RunStatus = "ok"
	StatusError       RunStatus = "error"
	StatusInterrupted RunStatus = "interrupted"
	StatusIncomplete  RunStatus = "incomplete"
)

// Service is the service that emitted the root span.
type Service struct {
	Name        string
	Namespace   string
	Version     string
	InstanceID  string
	Environment string
	Unknown     Unknown
}

// Agent describes an agent as the telemetry names it.
type Agent struct {
	Name        string
	ID          string
	Version     string
	Description string
	Unknown     Unknown
}

// Error is a failure as recorded.
type Error struct {
	Type    string
	Message string
	Unknown Unknown
}

// Resumes names the run that this run continues.
type Resumes struct {
	Key     string
	RunID   string
	Unknown Unknown
}

// Config holds the settings that all model calls of the run share.
type Config struct {
	Model              string
	Provider           string
	ResponseModel      string
	Temperature        exactjson.Value
	TopP               exactjson.Value
	TopK               exactjson.Value
	Seed               exactjson.Value
	MaxTokens          exactjson.Value
	FrequencyPenalty   exactjson.Value
	PresencePenalty    exactjson.Value
	StopSequences      exactjson.Value
	ExecutionMode      string
	SystemPromptSHA256 string
	Provenance         Provenance
	Unknown            Unknown
}

// Input is what the caller sent into the run.
type Input struct {
	UserMessage  *string
	SystemPrompt *string
	// Messages are the ids of the initial conversation, history included.
	Messages   []string
	A2A        *A2A
	Provenance Provenance
	Unknown    Unknown
}

// A2A is the inbound A2A request, as far as the trace gives it.
type A2A struct {
	Method  string
	Params  exactjson.Value
	Headers map[string]string
	Missing []string
	Unknown Unknown
}

// Tool is a tool definition as offered to a model.
type Tool struct {
	Name        string
	Description string
	Parameters  exactjson.Value
	Unknown     Unknown
}

// Message is one message of a conversation.
type Message struct {
	Role    Role
	Name    string
	Parts   []Part
	Unknown Unknown
}

// Role is one of the four roles that every dialect maps onto.
type Role string

// The roles of messages.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// PartType says which fields of a Part are used.
type PartType string

// The types of message parts.
const (
	PartText       PartType = "text"        // Text, Refusal
	PartReasoning  PartType = "reasoning"   // Text
	PartToolCall   PartType = "tool_call"   // ID, Name, Args, ArgsText
	PartToolResult PartType = "tool_result" // ID, Name, Result, IsError
	PartMedia      PartType = "media"       // MIMEType, URI, SHA256, Size
	PartExternal   PartType = "external"    // URI
	PartData       PartType = "data"        // Value: anything else, verbatim
)

// Part is one part of a message.
type Part struct {
	Type     PartType
	Text     string
	Refusal  bool // the text is why the model does not answer
	ID       string
	Name     string
	Args     exactjson.Value
	ArgsText string // the recorded text of the arguments, when it is not the canonical form of Args
	Result   exactjson.Value
	IsError  bool
	MIMEType string
	URI      string
	SHA256   string
	Size     int64
	Value    exactjson.Value
	Unknown  Unknown
}

// EventType says which fields of an Event are used.
type EventType string

// The types of events.
const (
	EventModelCall EventType = "model_call"
	EventToolCall  EventType = "tool_call"
	EventAgentCall EventType = "agent_call"
	EventRetrieval EventType = "retrieval"
)

// Event is one real call: of a model, a tool, an agent or a retriever.
type Event struct {
	Seq        int
	Type       EventType
	SpanIDs    []string // outermost first
	Parent     int      // seq of the enclosing agent_call, 0 at top level
	Caller     string
	StartedAt  time.Time
	DurationMS int64
	Status     EventStatus
	Error      *Error
	Provenance Provenance

	// model_call
	Model     string
	Provider  string
	Operation string
	Params    exactjson.Value // object
	Request   *Request
	Response  *Response
	Usage     *Usage
	Streaming bool

	// tool_call
	ToolCallID   string
	Name         string // also retrieval
	Server       *Server
	ToolKind     ToolKind // "kind"
	Args         exactjson.Value
	ExecutedArgs exactjson.Value
	ArgsHash     string
	Result       exactjson.Value
	ResultSHA256 string
	OtherResults []OtherResult
	Envelope     []string
	IsError      bool
	Waiting      Waiting // what the call waits for; it has no result then, and did not fail
	RequestedBy  int     // seq of the model call

	// agent_call
	Agent    *Agent
	Relation Relation
	Via      int // seq of the delegating tool call
	Input    exactjson.Value
	Output   exactjson.Value

	// retrieval
	Query     exactjson.Value
	Documents exactjson.Value // array

	Unknown Unknown
}

// OtherResult is another record of what a tool returned.
type OtherResult struct {
	Result  exactjson.Value
	From    ResultSource
	Seq     int // the model call whose request shows it
	Unknown Unknown
}

// ResultSource says which record holds another result.
type ResultSource string

// The sources of other results.
const (
	FromRequest ResultSource = "request" // a later model request shows it
	FromSpan    ResultSource = "span"    // another payload of the same span holds it
)

// EventStatus is how a call ended.
type EventStatus string

// The ends of a call.
const (
	EventOK    EventStatus = "ok"
	EventError EventStatus = "error"
)

// Waiting is what a tool call waits for at the end of the record.
type Waiting string

// What tool calls wait for.
const (
	WaitingApproval Waiting = "approval" // somebody has to allow the call
	WaitingInput    Waiting = "input"    // somebody has to answer a question
	WaitingResult   Waiting = "result"   // the call runs elsewhere, and its result comes later
	WaitingResume   Waiting = "resume"   // the run has to be resumed; for what, no record says
)

// ToolKind says who runs a tool.
type ToolKind string

// The kinds of tools.
const (
	ToolFunction ToolKind = "function"
	ToolMCP      ToolKind = "mcp"
	ToolBuiltin  ToolKind = "builtin"
	ToolServer   ToolKind = "server"
	ToolAgent    ToolKind = "agent"
)

// Relation says how an agent came to run inside another.
type Relation string

// The relations of agents.
const (
	RelationSubAgent Relation = "sub_agent"
	RelationHandoff  Relation = "handoff"
)

// Request is what a model call sent: ids into the pools.
type Request struct {
	Messages []string
	Tools    []string
	Unknown  Unknown
}

// Response is what a model call got back.
type Response struct {
	Message       string // id into the pool
	FinishReasons []string
	ID            string
	Model         string
	Unknown       Unknown
}

// Usage counts the tokens of one model call; nil is not reported.
type Usage struct {
	InputTokens        *int64
	OutputTokens       *int64
	CacheReadTokens    *int64
	CacheWriteTokens   *int64
	ReasoningTokens    *int64
	InputIncludesCache *bool
	Unknown            Unknown
}

// Server is the MCP server that a tool call went to and the tool's name there.
type Server struct {
	Name    string
	Tool    string
	Unknown Unknown
}

// Output is what the run answered.
type Output struct {
	Text       *string
	Message    string
	Status     string
	Error      *Error
	Provenance Provenance
	Unknown    Unknown
}

// Verdict is a judgement of the run or of something in it.
type Verdict struct {
	Name        string
	Value       exactjson.Value
	Label       string
	Explanation string
	Judge       string // kind of who judged, as recorded: HUMAN, LLM, CODE or another
	ID          string // of the judge's result, stable when it judges again
	Of          VerdictTarget
	Seq         int    // of the event
	SpanID      string // of the span that is named
	At          time.Time
	Error       *Error          // why there is no result
	Metadata    exactjson.Value // what else was recorded of it
	Unknown     Unknown
}

// ValueText is the value as text, "" where none was recorded.
func (v *Verdict) ValueText() string {
	switch v.Value.Kind() {
	case exactjson.Absent, exactjson.Null:
		return ""
	case exactjson.String:
		return v.Value.Str()
	}
	return v.Value.JSON()
}

// Passed is what the label says, as pass or fail; said is false for any other word and for none.
func (v *Verdict) Passed() (passed, said bool) {
	switch strings.ToLower(v.Label) {
	case "pass", "passed":
		return true, true
	case "fail", "failed":
		return false, true
	}
	return false, false
}

// VerdictTarget says what is judged.
type VerdictTarget string

// What a verdict judges.
const (
	OfRun     VerdictTarget = "run"
	OfEvent   VerdictTarget = "event"
	OfSession VerdictTarget = "session" // that the run is part of
	OfSpan    VerdictTarget = "span"    // which is no event of the run
)

// RunUsage sums the calls of the run. Token sums are absent when no model call reported any.
type RunUsage struct {
	InputTokens  *int64
	OutputTokens *int64
	ModelCalls   int
	ToolCalls    int
	CostUSD      exactjson.Value
	Unknown      Unknown
}

// Redaction says what was redacted before anything was stored.
type Redaction struct {
	Policy        string
	ProfileDigest string
	KeyID         string
	Rules         map[string]int64
	Count         int64
	Unknown       Unknown
}

// Sources says what the tape was made from.
type Sources struct {
	Dialects []string
	Scopes   []Scope
	TraceIDs []string
	Spans    int
	Logs     int
	Noise    map[string]int64 // items left out, by reason
	Unknown  Unknown
}

// Scope is an instrumentation scope and how many items of the run came from it.
type Scope struct {
	Name    string
	Version string
	Count   int
	Unknown Unknown
}

// Unanswered reports a tool call that was asked for, and of which no record says what came of it: it waits,
// or it has the status of a failure and none of its signs.
func Unanswered(e *Event) bool {
	return e != nil && e.Type == EventToolCall && (e.Waiting != "" || e.Status == EventError && !e.IsError && e.Error == nil) && e.Result.IsAbsent()
}

// InsideAnswers returns the calls, by seq, of tools that the provider ran within a model call. The answer
// holds them as done, and asks no client for anything. It is nil where there is none.
func (t *Tape) InsideAnswers() (inside map[int]bool) {
	type call struct{ id, name string }
	asked := map[string]map[call]bool{} // by the id of the answer: what it asks a client for
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != EventToolCall || e.ToolKind != ToolServer || e.RequestedBy < 1 || e.RequestedBy > len(t.Events) {
			continue
		}
		by := t.Events[e.RequestedBy-1].Response
		if by == nil {
			continue
		}
		answer, known := t.Messages[by.Message]
		if !known {
			continue
		}
		of := asked[by.Message]
		if of == nil {
			of = map[call]bool{}
			for k := range answer.Parts {
				if p := &answer.Parts[k]; p.Type == PartToolCall {
					of[call{p.ID, p.Name}] = true
				}
			}
			asked[by.Message] = of
		}
		if !of[call{e.ToolCallID, e.Name}] {
			if inside == nil {
				inside = map[int]bool{}
			}
			inside[e.Seq] = true
		}
	}
	return inside
}

// wordSeparators makes one of the ways in which providers separate words.
var wordSeparators = strings.NewReplacer("-", "_", " ", "_")

// AsksForTools recognises the finish reason of an answer that asks for tools, as the providers spell it.
func AsksForTools(reason string) bool {
	switch strings.ToLower(wordSeparators.Replace(reason)) {
	case "tool_calls", "tool_call", "tool_use", "function_call", "toolcalls", "tooluse":
		return true
	}
	return false
}
