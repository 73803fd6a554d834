// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"time"

	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var messageRecord = bind.New("message", func(m *Message) *[]exactjson.Member { return members(&m.Unknown) },
	bind.Of("role", func(m *Message) *Role { return &m.Role }, bind.Enum(RoleSystem, RoleUser, RoleAssistant, RoleTool)).Required(),
	bind.Of("name", func(m *Message) *string { return &m.Name }, text),
	bind.Of("parts", func(m *Message) *[]Part { return &m.Parts }, bind.List(partRecord.Codec())).Always(),
)

var partRecord = bind.New("part", func(p *Part) *[]exactjson.Member { return members(&p.Unknown) },
	bind.Of("type", func(p *Part) *PartType { return &p.Type }, bind.String[PartType]()).Required(),
).Variants(func(p *Part) string { return string(p.Type) }).
	Variant(string(PartText), partText,
		bind.Of("refusal", func(p *Part) *bool { return &p.Refusal }, bind.Bool())).
	Variant(string(PartReasoning), partText).
	Variant(string(PartToolCall),
		partID,
		partName.Always(),
		bind.Of("args", func(p *Part) *exactjson.Value { return &p.Args }, anyJSON),
		bind.Of("args_text", func(p *Part) *string { return &p.ArgsText }, text)).
	Variant(string(PartToolResult),
		partID,
		partName,
		bind.Of("result", func(p *Part) *exactjson.Value { return &p.Result }, anyJSON),
		bind.Of("is_error", func(p *Part) *bool { return &p.IsError }, bind.Bool())).
	Variant(string(PartMedia),
		bind.Of("mime_type", func(p *Part) *string { return &p.MIMEType }, text),
		partURI,
		bind.Of("sha256", func(p *Part) *string { return &p.SHA256 }, bind.Match[string](hex64Pattern)),
		bind.Of("size", func(p *Part) *int64 { return &p.Size }, count)).
	Variant(string(PartExternal), partURI.Required()).
	Variant(string(PartData), bind.Of("value", func(p *Part) *exactjson.Value { return &p.Value }, anyJSON))

var (
	partText = bind.Of("text", func(p *Part) *string { return &p.Text }, text).Always()
	partID   = bind.Of("id", func(p *Part) *string { return &p.ID }, text)
	partName = bind.Of("name", func(p *Part) *string { return &p.Name }, text)
	partURI  = bind.Of("uri", func(p *Part) *string { return &p.URI }, text)
)

var eventRecord = bind.New("event", func(e *Event) *[]exactjson.Member { return members(&e.Unknown) },
	bind.Of("seq", func(e *Event) *int { return &e.Seq }, bind.Int[int]()).Required(),
	bind.Of("type", func(e *Event) *EventType { return &e.Type }, bind.String[EventType]()).Required(),
	bind.Of("span_ids", func(e *Event) *[]string { return &e.SpanIDs }, bind.List(bind.Match[string](spanIDPattern))),
	bind.Of("parent", func(e *Event) *int { return &e.Parent }, bind.Int[int]()),
	bind.Of("caller", func(e *Event) *string { return &e.Caller }, text),
	bind.Of("started_at", func(e *Event) *time.Time { return &e.StartedAt }, bind.Time()),
	bind.Of("duration_ms", func(e *Event) *int64 { return &e.DurationMS }, count).AlwaysIf(func(e *Event) bool { return !e.StartedAt.IsZero() }),
	bind.Of("status", func(e *Event) *EventStatus { return &e.Status }, bind.Enum(EventOK, EventError)).Required(),
	bind.Of("error", func(e *Event) **Error { return &e.Error }, bind.Pointer(errorRecord.Codec())),
	bind.Of("provenance", func(e *Event) *Provenance { return &e.Provenance }, labels),
).Variants(func(e *Event) string { return string(e.Type) }).
	Variant(string(EventModelCall),
		bind.Of("model", func(e *Event) *string { return &e.Model }, text),
		bind.Of("provider", func(e *Event) *string { return &e.Provider }, text),
		bind.Of("operation", func(e *Event) *string { return &e.Operation }, text),
		bind.Of("params", func(e *Event) *exactjson.Value { return &e.Params }, bind.Any("object")),
		bind.Of("request", func(e *Event) **Request { return &e.Request }, bind.Pointer(requestRecord.Codec())),
		bind.Of("response", func(e *Event) **Response { return &e.Response }, bind.Pointer(responseRecord.Codec())),
		bind.Of("usage", func(e *Event) **Usage { return &e.Usage }, bind.Pointer(usageRecord.Codec())),
		bind.Of("streaming", func(e *Event) *bool { return &e.Streaming }, bind.Bool())).
	Variant(string(EventToolCall),
		bind.Of("tool_call_id", func(e *Event) *string { return &e.ToolCallID }, text),
		bind.Of("name", func(e *Event) *string { return &e.Name }, text).Always(),
		bind.Of("server", func(e *Event) **Server { return &e.Server }, bind.Pointer(serverRecord.Codec())),
		bind.Of("kind", func(e *Event) *ToolKind { return &e.ToolKind }, bind.Enum(ToolFunction, ToolMCP, ToolBuiltin, ToolServer, ToolAgent)),
		bind.Of("args", func(e *Event) *exactjson.Value { return &e.Args }, anyJSON),
		bind.Of("executed_args", func(e *Event) *exactjson.Value { return &e.ExecutedArgs }, anyJSON),
		bind.Of("args_hash", func(e *Event) *string { return &e.ArgsHash }, bind.Match[string](digestPattern)),
		bind.Of("result", func(e *Event) *exactjson.Value { return &e.Result }, anyJSON),
		bind.Of("result_sha256", func(e *Event) *string { return &e.ResultSHA256 }, bind.Match[string](hex64Pattern)),
		bind.Of("other_results", func(e *Event) *[]OtherResult { return &e.OtherResults }, bind.List(otherResultRecord.Codec())),
		bind.Of("envelope", func(e *Event) *[]string { return &e.Envelope }, texts),
		bind.Of("is_error", func(e *Event) *bool { return &e.IsError }, bind.Bool()).Always(),
		bind.Of("waiting", func(e *Event) *Waiting { return &e.Waiting }, bind.Enum(WaitingApproval, WaitingInput, WaitingResult, WaitingResume)),
		bind.Of("requested_by", func(e *Event) *int { return &e.RequestedBy }, bind.Int[int]())).
	Variant(string(EventAgentCall),
		bind.Of("agent", func(e *Event) **Agent { return &e.Agent }, bind.Pointer(agentRecord.Codec())),
		bind.Of("relation", func(e *Event) *Relation { return &e.Relation }, bind.Enum(RelationSubAgent, RelationHandoff)),
		bind.Of("via", func(e *Event) *int { return &e.Via }, bind.Int[int]()),
		bind.Of("input", func(e *Event) *exactjson.Value { return &e.Input }, anyJSON),
		bind.Of("output", func(e *Event) *exactjson.Value { return &e.Output }, anyJSON)).
	Variant(string(EventRetrieval),
		bind.Of("name", func(e *Event) *string { return &e.Name }, text),
		bind.Of("query", func(e *Event) *exactjson.Value { return &e.Query }, anyJSON),
		bind.Of("documents", func(e *Event) *exactjson.Value { return &e.Documents }, bind.Any("array")))

var requestRecord = bind.New("request", func(r *Request) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("messages", func(r *Request) *[]string { return &r.Messages }, texts).Always(),
	bind.Of("tools", func(r *Request) *[]string { return &r.Tools }, texts),
)

var responseRecord = bind.New("response", func(r *Response) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("message", func(r *Response) *string { return &r.Message }, text),
	bind.Of("finish_reasons", func(r *Response) *[]string { return &r.FinishReasons }, texts),
	bind.Of("id", func(r *Response) *string { return &r.ID }, text),
	bind.Of("model", func(r *Response) *string { return &r.Model }, text),
)

var usageRecord = bind.New("usage", func(u *Usage) *[]exactjson.Member { return members(&u.Unknown) },
	bind.Of("input_tokens", func(u *Usage) **int64 { return &u.InputTokens }, number),
	bind.Of("output_tokens", func(u *Usage) **int64 { return &u.OutputTokens }, number),
	bind.Of("cache_read_tokens", func(u *Usage) **int64 { return &u.CacheReadTokens }, number),
	bind.Of("cache_write_tokens", func(u *Usage) **int64 { return &u.CacheWriteTokens }, number),
	bind.Of("reasoning_tokens", func(u *Usage) **int64 { return &u.ReasoningTokens }, number),
	bind.Of("input_includes_cache", func(u *Usage) **bool { return &u.InputIncludesCache }, bind.Pointer(bind.Bool())),
)

var serverRecord = bind.New("server", func(s *Server) *[]exactjson.Member { return members(&s.Unknown) },
	bind.Of("name", func(s *Server) *string { return &s.Name }, text),
	bind.Of("tool", func(s *Server) *string { return &s.Tool }, text),
)

var otherResultRecord = bind.New("other_result", func(r *OtherResult) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("result", func(r *OtherResult) *exactjson.Value { return &r.Result }, anyJSON),
	bind.Of("from", func(r *OtherResult) *ResultSource { return &r.From }, bind.Enum(FromRequest, FromSpan)).Required(),
	bind.Of("seq", func(r *OtherResult) *int { return &r.Seq }, bind.Int[int]()),
)
