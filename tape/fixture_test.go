// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// long is a run of 100 turns with results of a few kilobytes, each conversation resent as ids.
func long(tb testing.TB) *Tape {
	tp := full(tb)
	var sent []string
	for turn := range 100 {
		for _, m := range []Message{
			{Role: RoleAssistant, Parts: []Part{{Type: PartToolCall, ID: fmt.Sprint("c", turn), Name: "add", Args: parse(tb, fmt.Sprintf(`{"a":%d,"b":"some text"}`, turn))}}},
			toolMessage(fmt.Sprint("c", turn), exactjson.StringValue(strings.Repeat(`{"title":"a hit","score":0.5}`+"\n", 100))),
		} {
			tp.Messages[m.ID()] = m
			sent = append(sent, m.ID())
		}
		model, call := tp.Events[0], tp.Events[1]
		model.Seq, call.Seq = 2*turn+1, 2*turn+2
		model.Request = &Request{Messages: slices.Clone(sent), Tools: model.Request.Tools}
		call.Result = exactjson.StringValue(strings.Repeat(`{"title":"a hit","score":0.5}`+"\n", 100))
		tp.Events = append(tp.Events, model, call)
	}
	return tp
}

func userMessage() Message {
	return Message{Role: RoleUser, Name: "ann", Parts: []Part{{Type: PartText, Text: "add 1 and 2,\n\"quickly\" ✓"}}}
}

func toolMessage(id string, result exactjson.Value) Message {
	return Message{Role: RoleTool, Parts: []Part{{Type: PartToolResult, ID: id, Name: "add", Result: result}}}
}

// full is a sealed tape that holds every member of the format.
func full(tb testing.TB) *Tape {
	tb.Helper()
	i := func(n int64) *int64 { return &n }
	yes, said, prompt := true, "3", "You add."
	at := func(ms int64) time.Time {
		return time.Date(2026, 11, 20, 10, 0, 0, 1, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	user := userMessage()
	system := Message{Role: RoleSystem, Parts: []Part{{Type: PartText, Text: prompt}}}
	asks := Message{Role: RoleAssistant, Parts: []Part{
		{Type: PartReasoning, Text: "a sum"},
		{Type: PartToolCall, ID: "call_1", Name: "add", Args: parse(tb, `{"a":1,"b":2.50}`), ArgsText: `{ "a": 1, "b": 2.50 }`},
		{Type: PartToolCall, ID: "call_2", Name: "ask_expert", Args: parse(tb, `{"q":"why"}`)},
	}}
	shows := toolMessage("call_1", parse(tb, `{"sum":3.5}`))
	shows2 := Message{Role: RoleTool, Parts: []Part{{Type: PartToolResult, ID: "call_2", Result: exactjson.StringValue("refused"), IsError: true}}}
	odd := Message{Role: RoleUser, Parts: []Part{
		{Type: PartMedia, MIMEType: "image/png", URI: "https://example.com/a.png", SHA256: strings.Repeat("ab", 32), Size: 17},
		{Type: PartExternal, URI: "s3://bucket/key"},
		{Type: PartData, Value: parse(tb, `{"type":"citation","n":9007199254740993}`)},
	}}
	answer := Message{Role: RoleAssistant, Parts: []Part{{Type: PartText, Text: said}}}
	tool := Tool{Name: "add", Description: "adds", Parameters: parse(tb, `{"type":"object"}`)}
	expert := Tool{Name: "ask_expert"}
	tp := &Tape{
		Producer: Producer{Name: "tapedeck", Version: "0.1.0", ConfigDigest: "sha256:" + strings.Repeat("0", 64)},
		Run: Run{
			RunID: strings.Repeat("1", 32) + "-" + strings.Repeat("2", 16), Tenant: "default", TraceID: strings.Repeat("1", 32), RootSpanID: strings.Repeat("2", 16),
			ConversationID: "conv", InvocationID: "inv", CorrelationID: "corr", WorkflowID: "wf", TaskID: "task", ReplayRunID: "replay",
			Service:   Service{Name: "svc", Namespace: "ns", Version: "1", InstanceID: "i-1", Environment: "prod"},
			Agent:     Agent{Name: "planner", ID: "a-1", Version: "2", Description: "plans"},
			StartedAt: at(0), EndedAt: at(900), DurationMS: 900, Status: StatusOK, Error: &Error{Type: "E", Message: "boom"}, UserID: "u",
			Resumes: &Resumes{Key: "k", RunID: "r"}, Joined: []string{"x", "y"},
		},
		Config: Config{
			Model: "m-1", Provider: "p", ResponseModel: "m-1-x", Temperature: parse(tb, "0.70"), TopP: parse(tb, "1"), TopK: parse(tb, "40"),
			Seed: parse(tb, "7"), MaxTokens: parse(tb, "100"), FrequencyPenalty: parse(tb, "0"), PresencePenalty: parse(tb, "0.0"),
			StopSequences: parse(tb, `["END"]`), ExecutionMode: "default", SystemPromptSHA256: textSHA256(prompt),
			Provenance: Provenance{"params.temperature": Inferred},
		},
		Input: Input{UserMessage: &user.Parts[0].Text, SystemPrompt: &prompt, Messages: []string{system.ID(), user.ID()},
			A2A:        &A2A{Method: "tasks/send", Params: parse(tb, `{"id":"t"}`), Headers: map[string]string{"x-b": "2", "x-a": "1"}, Missing: []string{"headers.authorization"}},
			Provenance: Provenance{"user_message": Recovered}},
		Tools:    map[string]Tool{tool.ID(): tool, expert.ID(): expert},
		Messages: map[string]Message{},
		Events: []Event{
			{Seq: 1, Type: EventModelCall, SpanIDs: []string{strings.Repeat("3", 16)}, Caller: "planner", StartedAt: at(0), DurationMS: 100, Status: EventOK,
				Provenance: Provenance{"request.messages": Recovered, "model": Inferred},
				Model:      "m-1", Provider: "p", Operation: "chat", Params: parse(tb, `{"temperature":0.70}`),
				Request:  &Request{Messages: []string{system.ID(), user.ID()}, Tools: []string{tool.ID(), expert.ID()}},
				Response: &Response{Message: asks.ID(), FinishReasons: []string{"tool_calls"}, ID: "resp-1", Model: "m-1-x"},
				Usage:    &Usage{InputTokens: i(10), OutputTokens: i(0), CacheReadTokens: i(1), CacheWriteTokens: i(2), ReasoningTokens: i(3), InputIncludesCache: &yes}, Streaming: true},
			{Seq: 2, Type: EventToolCall, SpanIDs: []string{strings.Repeat("4", 16), strings.Repeat("5", 16)}, Caller: "planner", StartedAt: at(200), Status: EventOK,
				ToolCallID: "call_1", Name: "add", Server: &Server{Name: "math", Tool: "sum"}, ToolKind: ToolMCP, Args: parse(tb, `{"a":1,"b":2.50}`),
				ExecutedArgs: parse(tb, `{"a":1,"b":2.5,"c":null}`), Result: parse(tb, `{"sum":3.5}`), Envelope: []string{"mcp_text"},
				OtherResults: []OtherResult{{Result: exactjson.StringValue("{'sum': 3.5}"), From: FromRequest, Seq: 6}, {Result: exactjson.NullValue, From: FromSpan}}, RequestedBy: 1},
			{Seq: 3, Type: EventToolCall, Caller: "planner", Status: EventError, Error: &Error{Type: "tool_error", Message: "refused"}, Provenance: Provenance{"result": Recovered},
				ToolCallID: "call_2", Name: "ask_expert", ToolKind: ToolAgent, Args: parse(tb, `{"q":"why"}`), Result: exactjson.StringValue("refused"), IsError: true, RequestedBy: 1},
			{Seq: 4, Type: EventAgentCall, SpanIDs: []string{strings.Repeat("6", 16)}, Caller: "planner", StartedAt: at(300), DurationMS: 200, Status: EventOK,
				Agent: &Agent{Name: "expert"}, Relation: RelationSubAgent, Via: 3, Input: exactjson.StringValue("why"), Output: parse(tb, `{"text":"so"}`)},
			{Seq: 5, Type: EventRetrieval, SpanIDs: []string{strings.Repeat("7", 16)}, Parent: 4, Caller: "planner/expert", StartedAt: at(350), DurationMS: 20, Status: EventOK,
				Name: "kb", Query: exactjson.StringValue("why"), Documents: parse(tb, `[{"id":1}]`)},
			{Seq: 6, Type: EventModelCall, SpanIDs: []string{strings.Repeat("8", 16)}, Caller: "planner", StartedAt: at(600), DurationMS: 300, Status: EventOK, Model: "m-1", Operation: "chat",
				Request:  &Request{Messages: []string{system.ID(), user.ID(), asks.ID(), shows.ID(), shows2.ID(), odd.ID()}},
				Response: &Response{Message: answer.ID(), FinishReasons: []string{"stop"}}},
		},
		Output: Output{Text: &said, Message: answer.ID(), Status: "ok", Error: &Error{Message: "late"}, Provenance: Provenance{"text": Recovered}},
		Verdicts: []Verdict{
			{Name: "correctness", Value: parse(tb, "0.20"), Label: "fail", Explanation: "wrong sum", Judge: "LLM", ID: "judge-v2", Of: OfEvent, Seq: 6, SpanID: strings.Repeat("8", 16), At: at(950), Metadata: parse(tb, `{"rubric":2}`)},
			{Name: "tone", Of: OfRun, Error: &Error{Type: "timeout"}},
		},
		Usage: RunUsage{InputTokens: i(10), OutputTokens: i(0), ModelCalls: 2, ToolCalls: 2, CostUSD: parse(tb, "0.00120")},
		Fidelity: Fidelity{Grade: GradeOffline, Replayable: Replayable{Input: true, Tools: true, Model: true}, Proof: Proof{Expected: 2, Served: 2, Verified: 2, OK: &yes},
			Findings: []Finding{{Code: CodeArgsDiffer, Severity: SeverityInfo, Seq: 2, Field: "executed_args", Detail: "the tool received c"}}},
		Redaction:  Redaction{Policy: "default", ProfileDigest: "sha256:" + strings.Repeat("1", 64), KeyID: "k1", Rules: map[string]int64{"email": 2}, Count: 2},
		Sources:    Sources{Dialects: []string{"otel"}, Scopes: []Scope{{Name: "scope", Version: "1", Count: 8}}, TraceIDs: []string{strings.Repeat("1", 32)}, Spans: 8, Logs: 1, Noise: map[string]int64{"http": 3}},
		Extensions: parse(tb, `{"forge":{"iterations":2}}`),
	}
	for _, m := range []Message{system, user, asks, shows, shows2, odd, answer} {
		tp.Messages[m.ID()] = m
	}
	for n := range tp.Events {
		if e := &tp.Events[n]; e.Type == EventToolCall {
			e.ArgsHash, e.ResultSHA256 = ArgsHash(e.Args), ResultSHA256(e.Result)
		}
	}
	if err := tp.Seal(); err != nil {
		tb.Fatal(err)
	}
	return tp
}

func parse(tb testing.TB, text string) exactjson.Value {
	tb.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		tb.Fatalf("%.80q: %v", text, err)
	}
	return v
}
