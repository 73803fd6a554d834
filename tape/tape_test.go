// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestSealedTapeIsWrittenInTheOrderOfTheFormat(t *testing.T) {
	tp := full(t)
	got := string(tp.AppendJSON(nil))
	golden(t, "testdata/full.tape.json", got)
	if !strings.HasSuffix(got, "}\n") || strings.Count(got, "\n") != 1 {
		t.Error("a tape is one line")
	}
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	want := full(t)
	got, err := Read(want.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnknownMembersSurviveAtEveryLevel(t *testing.T) {
	v, err := exactjson.Parse(string(full(t).AppendJSON(nil)))
	if err != nil {
		t.Fatal(err)
	}
	// Every object that the format defines gets two members that it does not know, as a later MINOR version would write them.
	// Recorded values and maps with names that are data are not objects of the format.
	var objects int
	var extend func(v exactjson.Value, path string) exactjson.Value
	extend = func(v exactjson.Value, path string) exactjson.Value {
		var members []exactjson.Member
		pool := path == ".tools" || path == ".messages"
		for _, m := range v.Members() {
			at := path + "." + m.Name
			if v.Kind() == exactjson.Array || pool {
				at = path + "*"
			}
			if m.Value.Kind() >= exactjson.Array && !recorded[at] {
				m.Value = extend(m.Value, at)
			}
			members = append(members, m)
		}
		if v.Kind() == exactjson.Array {
			values := make([]exactjson.Value, len(members))
			for i, m := range members {
				values[i] = m.Value
			}
			return exactjson.ArrayValue(values...)
		}
		if !pool {
			objects++
			members = append(members,
				exactjson.Member{Name: "z_new", Value: exactjson.IntValue(1)},
				exactjson.Member{Name: "a_new", Value: exactjson.ObjectValue(exactjson.Member{Name: "n", Value: exactjson.FloatValue(1.5)})})
		}
		return exactjson.ObjectValue(members...)
	}
	extended := extend(v, "")
	if objects < 40 {
		t.Fatalf("only %d objects", objects)
	}
	want := extended.JSON() + "\n"
	tp, err := Read([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(tp.AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	// The canonical form puts them in their sorted places.
	unsealed := *tp
	unsealed.TapeID = ""
	canon, err := tapeRecord.AppendCanonical(nil, &unsealed)
	if err != nil {
		t.Fatal(err)
	}
	id := extended.Get("tape_id")
	members := slices.DeleteFunc(slices.Clone(extended.Members()), func(m exactjson.Member) bool { return m.Value.Equal(id) })
	if want, _ := exactjson.ObjectValue(members...).Canonical(); want != string(canon) {
		t.Error(cmp.Diff(want, string(canon)))
	}
}

// recorded are the places of the full tape that hold recorded values or maps.
var recorded = map[string]bool{
	".extensions": true, ".config.provenance": true, ".input.provenance": true, ".output.provenance": true, ".events*.provenance": true,
	".config.temperature": true, ".config.stop_sequences": true, ".input.a2a.params": true, ".input.a2a.headers": true,
	".tools*.parameters": true, ".messages*.parts*.args": true, ".messages*.parts*.result": true, ".messages*.parts*.value": true,
	".events*.params": true, ".events*.args": true, ".events*.executed_args": true, ".events*.result": true, ".events*.input": true,
	".events*.output": true, ".events*.query": true, ".events*.documents": true, ".redaction.rules": true, ".sources.noise": true,
}

func TestTapeIDIsTheDigestOfTheCanonicalForm(t *testing.T) {
	tp := full(t)
	v, err := exactjson.Parse(string(tp.AppendJSON(nil)))
	if err != nil {
		t.Fatal(err)
	}
	members := slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool { return m.Name == "tape_id" })
	if want := exactjson.ObjectValue(members...).Digest(); tp.TapeID != want {
		t.Errorf("got %s, want %s", tp.TapeID, want)
	}
	// A number out of range has no canonical form.
	tp.Extensions = parse(t, `{"x":{"n":1e999}}`)
	if err := tp.Seal(); err != nil || !strings.HasPrefix(tp.TapeID, "sha256-raw:") {
		t.Errorf("%s, %v", tp.TapeID, err)
	}
	if again, err := Read(tp.AppendJSON(nil)); err != nil {
		t.Error(err)
	} else if id, err := again.ComputeID(); err != nil || id != tp.TapeID {
		t.Errorf("%s, %v", id, err)
	}
}

func TestInvalidTextStillGivesATapeThatCanBeReadBack(t *testing.T) {
	tp := full(t)
	tp.Run.UserID, tp.Events[0].Model = "u\xff", "\xf0\x9f"
	tp.Input.A2A.Headers = map[string]string{"h\xff": "1", "h\xfe": "2", "h\uffff": "3"}
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	text := tp.AppendJSON(nil)
	again, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := again.ComputeID(); err != nil || id != tp.TapeID || string(again.AppendJSON(nil)) != string(text) {
		t.Errorf("%s, %v, want %s", id, err, tp.TapeID)
	}
}

func TestTapeIDIgnoresHowNumbersAreSpelled(t *testing.T) {
	a, b := full(t), full(t)
	a.Config.Temperature, b.Config.Temperature = parse(t, "1"), parse(t, "1.0")
	if a.Seal() != nil || b.Seal() != nil || a.TapeID != b.TapeID {
		t.Errorf("%s, %s", a.TapeID, b.TapeID)
	}
	if !strings.Contains(string(b.AppendJSON(nil)), `"temperature":1.0,`) {
		t.Error("the literal is not kept")
	}
}

func TestSealRefusesWhatReadWouldRefuse(t *testing.T) {
	deep := parse(t, strings.Repeat("[", 512)+strings.Repeat("]", 512))
	tp := full(t)
	tp.Events[0].Params = exactjson.ObjectValue(exactjson.Member{Name: "x", Value: deep})
	if err := tp.Seal(); !errors.Is(err, exactjson.ErrDepth) {
		t.Errorf("got %v", err)
	}
	tp.Events[0].Params = exactjson.ObjectValue(exactjson.Member{Name: "x", Value: deep.At(0)})
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(tp.AppendJSON(nil)); err != nil {
		t.Error(err)
	}
}

func TestReadRejectsOtherDocumentsAndMajors(t *testing.T) {
	text := string(full(t).AppendJSON(nil))
	swap := func(from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("no %s", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	if _, err := Read([]byte(swap(`"kind":"agent-tape"`, `"kind":"cassette"`))); !errors.Is(err, ErrNotTape) {
		t.Errorf("kind: %v", err)
	}
	for _, version := range []string{"2.0", "0.9", "1", "1.x", "", "11.0"} {
		var wrong *VersionError
		if _, err := Read([]byte(swap(`"schema_version":"1.0"`, `"schema_version":"`+version+`"`))); !errors.As(err, &wrong) || wrong.Got != version {
			t.Errorf("version %q: %v", version, err)
		}
	}
	later, err := Read([]byte(swap(`"schema_version":"1.0"`, `"schema_version":"1.7"`)))
	if err != nil || later.SchemaVersion != "1.7" || !strings.Contains(string(later.AppendJSON(nil)), `"1.7"`) {
		t.Errorf("a later MINOR: %v", err)
	}
	for _, c := range []struct{ from, to, path string }{
		{`"caller":"planner"`, `"caller":7`, "events.0.caller"},
		{`"started_at":"2026-11-20T10:00:00.000000001Z"`, `"started_at":"today"`, "run.started_at"},
		{`"started_at":"2026-11-20T10:00:00.000000001Z"`, `"started_at":"0000-01-01T00:00:00+14:00"`, "run.started_at"},
		{`"seq":1`, `"seq":1.5`, "events.0.seq"},
		{`"finish_reasons":[`, `"finish_reasons":[null,`, "events.0.response.finish_reasons.0"},
		{`"name":"ann"`, `"name":["ann"]`, "messages." + userMessage().ID() + ".name"},
		{`"is_error":false`, `"is_error":"no"`, "events.1.is_error"},
		{`"events":[`, `"events":[[],`, "events.0"},
		{`"producer":{`, `"producer":[],"x":{`, "producer"},
	} {
		var wrong *bind.FieldError
		if _, err := Read([]byte(swap(c.from, c.to))); !errors.As(err, &wrong) || wrong.Path != c.path {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	for _, text := range []string{"", "null", "[]", "{", `{"kind":"agent-tape","kind":"agent-tape"}`} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%q is no tape", text)
		}
	}
}

func TestPartsAndEventsHoldTheMembersOfTheirTypeOnly(t *testing.T) {
	p := Part{Type: PartText, Name: "ignored", Args: exactjson.IntValue(1)}
	if got := string(partRecord.AppendJSON(nil, &p)); got != `{"type":"text","text":""}` {
		t.Error(got)
	}
	const foreign = `{"type":"poem","text":"roses","args":1}`
	p, err := partRecord.Decode(parse(t, foreign))
	if err != nil || p.Text != "" || len(p.Unknown) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if got := string(partRecord.AppendJSON(nil, &p)); got != foreign {
		t.Error(got)
	}
}

func TestMessageAndToolIDsAreDigestsOfTheirCanonicalForm(t *testing.T) {
	m := userMessage()
	v := parse(t, string(messageRecord.AppendJSON(nil, &m)))
	if want := "m" + v.Digest()[len("sha256:"):][:32]; m.ID() != want {
		t.Errorf("got %s, want %s", m.ID(), want)
	}
	same := m
	same.Parts = slices.Clone(m.Parts)
	if same.ID() != m.ID() {
		t.Error("equal messages have one id")
	}
	same.Parts[0].Text += " "
	if same.ID() == m.ID() {
		t.Error("different messages have one id")
	}
	tool := Tool{Name: "add", Parameters: parse(t, `{"type":"object","maximum":1.0}`)}
	spelled := Tool{Name: "add", Parameters: parse(t, `{"maximum":1,"type":"object"}`)}
	if tool.ID() != spelled.ID() || len(tool.ID()) != 33 || tool.ID()[0] != 't' {
		t.Errorf("%s, %s", tool.ID(), spelled.ID())
	}
	huge := Message{Role: RoleUser, Parts: []Part{{Type: PartData, Value: parse(t, "1e999")}}}
	if len(huge.ID()) != 33 {
		t.Error(huge.ID())
	}
}

func TestArgsHashPassesTheVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/args_hash_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Raw  string `json:"args_raw"`
		JCS  string `json:"jcs"`
		Hash string `json:"args_hash"`
	}
	if err := json.Unmarshal(b, &vectors); err != nil || len(vectors) == 0 {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := ArgsHash(parse(t, v.Raw)); got != v.Hash {
			t.Errorf("%s: got %s, want %s", v.Raw, got, v.Hash)
		}
		if got := ArgsTextHash(v.Raw); got != v.Hash {
			t.Errorf("text %s: got %s, want %s", v.Raw, got, v.Hash)
		}
		if got, _ := parse(t, v.Raw).Canonical(); got != v.JCS {
			t.Errorf("%s: canonical form %s, want %s", v.Raw, got, v.JCS)
		}
	}
}

func TestArgsHashTellsTextFromJSON(t *testing.T) {
	empty := ArgsHash(exactjson.ObjectValue())
	for _, text := range []string{"", " \n", "null", "{}", " { } "} {
		if got := ArgsTextHash(text); got != empty {
			t.Errorf("%q: got %s", text, got)
		}
	}
	if ArgsHash(exactjson.Value{}) != "" {
		t.Error("absent arguments have no hash")
	}
	for _, text := range []string{"ls -la", `{"a":1,"a":2}`, `{"a":`, `"\ud800"`} {
		if got, want := ArgsTextHash(text), exactjson.RawDigest(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if a, b := ArgsTextHash(`{"id":9007199254740993}`), ArgsTextHash(`{"id":9007199254740992}`); a == b {
		t.Error("two ids have one hash")
	}
	if got, want := ArgsTextHash(`{"n": 1e999}`), exactjson.RawDigest(`{"n":1e999}`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOracleResponseKeepsStrings(t *testing.T) {
	for _, c := range []struct{ result, response, format string }{
		{`"{\"a\" : 1}"`, `{"a" : 1}`, FormatText},
		{`""`, ``, FormatText},
		{`{"b":1.0,"a":[]}`, `{"a":[],"b":1}`, FormatJSON},
		{`null`, `null`, FormatJSON},
		{`[1e999]`, `[1e999]`, FormatJSON},
	} {
		response, format := OracleResponse(parse(t, c.result))
		if response != c.response || format != c.format {
			t.Errorf("%s: %q, %s", c.result, response, format)
		}
		if got := ResultSHA256(parse(t, c.result)); got != textSHA256(c.response) {
			t.Errorf("%s: %s", c.result, got)
		}
	}
	failed := Event{Type: EventToolCall, Status: EventError, Error: &Error{Message: "no such file"}}
	if response, format, ok := failed.Answer(); response != "no such file" || format != FormatText || !ok {
		t.Errorf("%q, %s, %v", response, format, ok)
	}
	if _, _, ok := (&Event{Status: EventOK}).Answer(); ok {
		t.Error("nothing to answer")
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile("testdata/full.tape.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.0"}`))
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.9","new":{"a":[1e999]},"events":[{"type":"x","args":1},{}]}`))
	f.Add([]byte(`{"kind":"agent-tape","schema_version":"1.0","run":{"started_at":"2026-01-01T00:00:00+02:00"},"messages":{"":{"parts":[{}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Read(data)
		if err != nil {
			return
		}
		if err := first.Seal(); err != nil {
			return
		}
		text := first.AppendJSON(nil)
		again, err := Read(text)
		if err != nil {
			t.Fatalf("%s\ncannot be read back: %v", text, err)
		}
		if got := again.AppendJSON(nil); string(got) != string(text) {
			t.Fatal(cmp.Diff(string(text), string(got)))
		}
		if id, err := again.ComputeID(); err != nil || id != first.TapeID {
			t.Fatalf("%s, %v", id, err)
		}
		Verify(again, map[string][]byte{TapeFile: text, OracleFile: data})
	})
}

func BenchmarkSealAndAppend(b *testing.B) {
	tp := long(b)
	b.SetBytes(int64(len(tp.AppendJSON(nil))))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		if err := tp.Seal(); err != nil {
			b.Fatal(err)
		}
		buf = tp.AppendJSON(buf[:0])
	}
}

func BenchmarkRead(b *testing.B) {
	data := long(b).AppendJSON(nil)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMessageID(b *testing.B) {
	m := toolMessage("call_1", exactjson.StringValue(strings.Repeat("a line of a result\n", 50)))
	b.ReportAllocs()
	for b.Loop() {
		m.ID()
	}
}

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
				ExecutedArgs: parse(tb, `{"a":1,"b":2.5,"c":null}`), Result: parse(tb, `{"sum":3.5}`), Envelope: []string{"mcp_text"}, RequestedBy: 1},
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
		Usage:  RunUsage{InputTokens: i(10), OutputTokens: i(0), ModelCalls: 2, ToolCalls: 2, CostUSD: parse(tb, "0.00120")},
		Fidelity: Fidelity{Grade: GradeOffline, Replayable: Replayable{Input: true, Tools: true, Model: true}, Proof: Proof{Expected: 2, Served: 2, OK: &yes},
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
