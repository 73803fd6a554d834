// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const recordings = "../../../../testdata/imports/"

// recorded returns the plain text of a recording.
func recorded(t testing.TB, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(recordings, name))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

const (
	claudeParallel = "claude-code/claude-code-2.1.332/parallel.jsonl.zst"
	codexParallel  = "codex/codex-0.171.0/parallel.jsonl.zst"
	geminiParallel = "gemini-cli/gemini-cli-0.61.0/parallel.jsonl.zst"
)

var options = reconstruct.Options{Producer: tape.Producer{Name: "tapedeck"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}

// made is what is made of files, and how many lines were refused.
func made(t testing.TB, files ...string) (tapes []*tape.Tape, refused int) {
	t.Helper()
	set := evidence.NewSet()
	for _, text := range files {
		for doc, err := range foreign.Read(strings.NewReader(text), "in", otlpfile.Options{}) {
			var known *otlpfile.Error
			if err != nil {
				if refused++; !errors.As(err, &known) {
					t.Errorf("%T %v", err, err)
				}
				continue
			}
			set.AddTraces(doc.Traces)
			set.AddLogs(doc.Logs)
		}
	}
	return reconstruct.All(set.Split(), options), refused
}

func ids(tapes []*tape.Tape) (list []string) {
	for _, made := range tapes {
		list = append(list, made.TapeID)
	}
	slices.Sort(list)
	return list
}

// TestTranscriptThatGrew: what was read before and what was added give the tapes of the whole, in any order
// and read twice.
func TestTranscriptThatGrew(t *testing.T) {
	for _, name := range []string{claudeParallel, codexParallel, geminiParallel} {
		whole := recorded(t, name)
		lines := strings.SplitAfter(whole, "\n")
		want, _ := made(t, whole)
		for _, n := range []int{1, 12, 20, len(lines) - 2} {
			part := strings.Join(lines[:n], "")
			for _, files := range [][]string{{part, whole}, {whole, part}, {whole, whole, part}} {
				if got, _ := made(t, files...); !slices.Equal(ids(got), ids(want)) {
					t.Errorf("%s: %d lines before the rest give other tapes", name, n)
				}
			}
		}
	}
}

// TestEveryPrefixIsRead: a session that goes on, or whose last line is cut.
func TestEveryPrefixIsRead(t *testing.T) {
	for _, name := range []string{claudeParallel, codexParallel, geminiParallel} {
		whole := recorded(t, name)
		lines := strings.SplitAfter(whole, "\n")
		for n := range lines {
			part := strings.Join(lines[:n], "") + lines[n][:len(lines[n])/2]
			tapes, _ := made(t, part)
			if len(tapes) > 1 {
				t.Errorf("%s: %d tapes of %d lines", name, len(tapes), n)
			}
			for _, cut := range tapes {
				if n < len(lines)-10 && cut.Run.Status == tape.StatusOK && cut.Output.Text != nil && strings.HasPrefix(*cut.Output.Text, "VERSION is now 2") {
					t.Errorf("%s: %d lines make a whole run", name, n)
				}
			}
		}
	}
}

// TestRequestsAreThoseThatTheServerSaw compares the texts of each request with those that the model server
// logged.
func TestRequestsAreThoseThatTheServerSaw(t *testing.T) {
	for kind, group := range map[string]string{"claude-code": "claude-code-2.1.332", "codex": "codex-0.171.0", "gemini-cli": "gemini-cli-0.61.0", "opencode": "opencode-1.18.33"} {
		for scenario, calls := range map[string]int{"plain": 1, "parallel": 4, "errors": 0, "secret": 0, "subagent": 5, "resume": 0, "compact": 4, "fork": 4, "fail": 2, "anthropic": 4, "openai": 4, "thinking": 2, "unknown": 3} {
			if kind == "gemini-cli" && (scenario == "subagent" || scenario == "compact") || kind != "opencode" && slices.Contains([]string{"fork", "fail", "anthropic", "openai", "thinking", "unknown"}, scenario) {
				continue // not recorded
			}
			var seen []string
			for _, text := range strings.Split(strings.TrimSpace(recorded(t, "runs/"+group+"/"+scenario+".server.jsonl.zst")), "\n") {
				v, err := exactjson.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				request := v.Get("request")
				messages := request.Get("messages").Members()
				switch kind {
				case "gemini-cli":
					messages = request.Get("contents").Members()
				case "codex":
					messages = request.Get("input").Members()[1:] // the first one holds the instructions
				case "opencode":
					messages = slices.DeleteFunc(slices.Clone(request.First("messages", "input").Members()), func(m exactjson.Member) bool {
						return slices.Contains([]string{"system", "developer"}, m.Value.Get("role").Str())
					})
				}
				seen = append(seen, strings.Join(textsOf(messages), "\x00"))
			}
			n := 0
			for _, made := range tapesOf(t, kind, group, scenario) {
				for _, e := range made.Events {
					if e.Type != tape.EventModelCall || e.Request == nil || len(e.Request.Messages) == 0 {
						continue
					}
					n++
					var texts []string
					for i, id := range e.Request.Messages {
						if m := made.Messages[id]; i > 0 || m.Role != tape.RoleSystem || kind == "codex" {
							texts = append(texts, textsIn(m)...)
						}
					}
					if !slices.Contains(seen, strings.Join(texts, "\x00")) {
						t.Errorf("%s/%s: the server did not see the request of event %d: %.300q", kind, scenario, e.Seq, texts)
					}
				}
			}
			if n < max(calls, 1) {
				t.Errorf("%s/%s: %d requests", kind, scenario, n)
			}
		}
	}
}

func tapesOf(t *testing.T, kind, group, scenario string) []*tape.Tape {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(recordings, kind, group, scenario+".json*.zst"))
	if len(paths) == 0 {
		var err error
		if paths, _, err = foreign.Files(filepath.Join(recordings, kind, group, scenario+".files")); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for _, path := range paths {
		rel, _ := filepath.Rel(recordings, path)
		texts = append(texts, recorded(t, rel))
	}
	tapes, refused := made(t, texts...)
	if refused > 0 {
		t.Errorf("%s/%s: %d lines are refused", kind, scenario, refused)
	}
	return tapes
}

// textsOf are the texts of messages as a provider is sent them: what was said, and the ids of calls and
// results.
func textsOf(messages []exactjson.Member) (texts []string) {
	for _, m := range messages {
		v := m.Value
		if id := v.First("call_id", "tool_call_id").Str(); id != "" {
			texts = append(texts, id)
			continue
		}
		for _, said := range []string{v.Get("reasoning_content").Str(), v.Get("content").Str()} {
			if said != "" {
				texts = append(texts, said)
			}
		}
		for _, c := range v.Get("tool_calls").Members() {
			texts = append(texts, c.Value.Get("id").Str())
		}
		for _, p := range v.First("content", "parts").Members() {
			if call := p.Value.First("functionCall", "functionResponse"); !call.IsAbsent() {
				p.Value = call
			}
			for _, key := range []string{"text", "id", "tool_use_id", "encrypted_content"} {
				if said := p.Value.Get(key).Str(); said != "" {
					texts = append(texts, said)
				}
			}
		}
	}
	return texts
}

func textsIn(m tape.Message) (texts []string) {
	for _, p := range m.Parts {
		switch p.Type {
		case tape.PartToolCall, tape.PartToolResult:
			texts = append(texts, p.ID)
		case tape.PartData:
			texts = append(texts, p.Value.Get("encrypted_content").Str())
		default:
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// TestTranscriptsWithoutRequests: earlier versions of Claude Code wrote no requests, and the lines of an
// agent beside those of the session. Requests are put together, and said to be lossy; calls and results are
// whole.
func TestTranscriptsWithoutRequests(t *testing.T) {
	without := func(recording string) string {
		var b strings.Builder
		for _, l := range strings.SplitAfter(recorded(t, recording), "\n") {
			if !strings.Contains(l, `"type":"api-request`) {
				b.WriteString(strings.ReplaceAll(l, `"agentId":`, `"anAgentId":`))
			}
		}
		return b.String()
	}
	const session = "claude-code/claude-code-2.1.332/subagent.files/fc2a644a-daac-459f-bbec-b59424ecf588"
	for name, text := range map[string]string{
		"parallel": without(claudeParallel), "subagent": without(session+".jsonl.zst") + without(session+"/subagents/agent-a0f50810439b7f982.jsonl.zst"),
	} {
		tapes, refused := made(t, text)
		if len(tapes) != 1 || refused > 0 {
			t.Errorf("%s: %d tapes, %d lines are refused", name, len(tapes), refused)
			continue
		}
		for _, e := range tapes[0].Events {
			if e.Type == tape.EventModelCall && e.Provenance["request.messages"] != tape.Lossy || e.Type == tape.EventToolCall && len(e.Provenance) > 0 {
				t.Errorf("%s: event %d %v", name, e.Seq, e.Provenance)
			}
		}
		if tools := tapes[0].Usage.ToolCalls; tools != map[string]int{"parallel": 5, "subagent": 3}[name] {
			t.Errorf("%s: %d tool calls", name, tools)
		}
		if !slices.ContainsFunc(tapes[0].Fidelity.Findings, func(f tape.Finding) bool { return f.Field == "input.system_prompt" }) {
			t.Errorf("%s: nothing says that there are no instructions", name)
		}
	}
}

// TestTranscriptOfOneObject: earlier versions of Gemini CLI wrote a session as one object. Its messages are
// those that the lines come to, without the results that stand beside their calls.
func TestTranscriptOfOneObject(t *testing.T) {
	text := recorded(t, geminiParallel)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	written := map[string]string{}
	var order []string
	for _, l := range lines[1:] {
		v, err := exactjson.Parse(l)
		if err != nil {
			t.Fatal(err)
		}
		id := v.Get("id").Str()
		if id == "" || strings.Contains(l, `"content":[{"functionResponse"`) {
			continue
		}
		if written[id] == "" {
			order = append(order, id)
		}
		written[id] = l
	}
	var messages []string
	for _, id := range order {
		messages = append(messages, written[id])
	}
	object := strings.TrimSuffix(lines[0], "}") + ",\n  \"messages\": [\n" + strings.Join(messages, ",\n") + "\n  ]\n}\n"
	want, _ := made(t, text)
	got, refused := made(t, object)
	if len(got) != 1 || refused > 0 {
		t.Fatalf("%d tapes, %d lines are refused", len(got), refused)
	}
	last := func(made *tape.Tape) (e tape.Event) {
		for _, e = range slices.Backward(made.Events) {
			if e.Type == tape.EventModelCall {
				return e
			}
		}
		return e
	}
	texts := func(made *tape.Tape) (list []string) {
		for _, id := range last(made).Request.Messages {
			list = append(list, textsIn(made.Messages[id])...)
		}
		return slices.DeleteFunc(list, func(text string) bool { return strings.HasPrefix(text, "<session_context>") })
	}
	if len(got[0].Events) != len(want[0].Events) || *got[0].Output.Text != *want[0].Output.Text || got[0].Fidelity.Grade != want[0].Fidelity.Grade {
		t.Errorf("%d events, not %d", len(got[0].Events), len(want[0].Events))
	}
	if a, b := texts(got[0]), texts(want[0]); !slices.Equal(a, b) || len(a) < 8 {
		t.Errorf("the last request holds %q, not %q", a, b)
	}
	if both, _ := made(t, object, text); len(both) != 1 || len(both[0].Events) != len(want[0].Events) {
		t.Errorf("%d tapes of both forms", len(both))
	}
}

// TestSecretsInFilesThatWereRead: transcripts hold whole files. What is in them is replaced as anywhere, and
// the run replays all the same.
func TestSecretsInFilesThatWereRead(t *testing.T) {
	secrets := []string{"ghp_Zk3vQ9rT7mW2xY8bN4cL6dF1gH5jK0pSaR2e", "korrekt-Pferd-99!Batterie", "AKIAQX7RN4TBWZ2LMVPD", "jane.roe@corp-mail.example"}
	redactor, err := redact.New(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude-code/claude-code-2.1.332/secret.jsonl.zst", "codex/codex-0.171.0/secret.jsonl.zst", "gemini-cli/gemini-cli-0.61.0/secret.jsonl.zst", "opencode/opencode-1.18.33/secret.json.zst"} {
		text := recorded(t, name)
		set := evidence.NewSet()
		for doc, err := range foreign.Read(strings.NewReader(text), "in", otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			redactor.Logs(doc.Logs, nil)
			written, err := (&plog.JSONMarshaler{}).MarshalLogs(doc.Logs)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if strings.Contains(string(written), secret) {
					t.Errorf("%s: %s is in the evidence", name, secret)
				}
			}
			set.AddLogs(doc.Logs)
		}
		tapes := reconstruct.All(set.Split(), options)
		if len(tapes) != 1 || tapes[0].Fidelity.Grade != tape.GradeOffline {
			t.Errorf("%s: %d tapes", name, len(tapes))
		}
		for _, secret := range secrets {
			if !strings.Contains(text, secret) {
				t.Errorf("%s holds no %s", name, secret)
			}
		}
	}
}

// TestHostileTranscripts: lines that nobody would write end in a bounded time with what else there is.
func TestHostileTranscripts(t *testing.T) {
	claude, codex, gemini := recorded(t, claudeParallel), recorded(t, codexParallel), recorded(t, geminiParallel)
	flood := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	message := func(i int, kind, parent, rest string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":"u%d","parentUuid":%q,"sessionId":"s","timestamp":"2026-11-28T22:33:%02d.000Z"%s}`, kind, i, parent, i/1000%60, rest)
	}
	for name, text := range map[string]string{
		"depth":        strings.Replace(claude, `"attachment":{`, `"attachment":{"deep":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`,`, 1),
		"invalid text": strings.Replace(claude, "Now the edit.", "\xff\xfe\x80", 1),
		"names":        strings.Replace(claude, `"sessionId":"`, `"agentId":"../../../etc/passwd","toolUseResult":{"agentId":"../../x"},"sessionId":"`, 20),
		"own parent": flood(5000, func(i int) string {
			return message(i, "assistant", fmt.Sprintf("u%d", i), `,"message":{"id":"m","content":[]}`)
		}),
		"long chain": flood(20000, func(i int) string { return message(i, "user", fmt.Sprintf("u%d", i-1), `,"message":{"content":"x"}`) }) +
			flood(5000, func(i int) string {
				return message(100000+i, "assistant", "u19999", fmt.Sprintf(`,"message":{"id":"m%d","content":[{"type":"text","text":"y"}]}`, i))
			}),
		"requests": flood(3000, func(i int) string {
			return fmt.Sprintf(`{"type":"api-request","sessionId":"s","id":"r%d","base":"r%d","keep":%d,"tail":["h%d"]}`, i, i-1, i, i) + "\n" +
				message(i, "assistant", fmt.Sprintf("u%d", i-1), fmt.Sprintf(`,"requestRef":"r%d","message":{"id":"m%d","content":[{"type":"text","text":"y"}]}`, i, i))
		}),
		"items": codex + flood(20000, func(i int) string {
			return fmt.Sprintf(`{"timestamp":"2026-11-28T22:36:08.000Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"output_text","text":"a"}]}}`, []string{"assistant", "user"}[i%2])
		}),
		"turns": codex + flood(3000, func(i int) string {
			return fmt.Sprintf(`{"timestamp":"2026-11-28T22:36:08.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t%d"}}`, i) + "\n" +
				`{"timestamp":"2026-11-28T22:36:08.000Z","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}}` + "\n" +
				`{"timestamp":"2026-11-28T22:36:08.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"o"}}`
		}),
		"messages": gemini + flood(20000, func(i int) string {
			return fmt.Sprintf(`{"id":"m%d","type":%q,"timestamp":"2026-11-28T22:36:08.000Z","content":"a"}`, i/2, []string{"user", "gemini", "gemini"}[i%3])
		}),
		"histories": gemini + flood(3000, func(i int) string {
			return fmt.Sprintf(`{"$set":{"messages":[{"id":"m%d","type":"user","content":"a"},{"id":"m%d","type":"user","content":"a"}]}}`, i, i) + "\n" +
				fmt.Sprintf(`{"$rewindTo":"m%d"}`, i-i%2)
		}),
		"messages in messages": `{"sessionId":"../../x","projectHash":"p","messages":[` + strings.Repeat(`{"sessionId":"s","messages":[`, 3000) + strings.Repeat("]}", 3000) + "]}",
		"types":                strings.NewReplacer(`"content":[`, `"content":{"a":[`, `"payload":{`, `"payload":[{`, `"toolCalls":[`, `"toolCalls":{"a":[`).Replace(claude + codex + gemini),
	} {
		begun := time.Now()
		tapes, refused := made(t, text)
		t.Logf("%s: %d tapes, %d refused, %v", name, len(tapes), refused, time.Since(begun).Round(time.Millisecond))
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s takes %v", name, took)
		}
	}
}

func fuzz(f *testing.F, recording string) {
	lines := strings.SplitAfter(recorded(f, recording), "\n")
	f.Add([]byte(strings.Join(lines, "")))
	for n := range lines {
		if n > 0 && len(lines[n]) < 4<<10 {
			f.Add([]byte(lines[0] + lines[n]))
		}
	}
	f.Fuzz(readTwice)
}

func readTwice(t *testing.T, text []byte) {
	if len(text) > 256<<10 {
		return
	}
	once, _ := made(t, string(text))
	if again, _ := made(t, string(text), string(text)); !slices.Equal(ids(once), ids(again)) {
		t.Error("read twice, it gives other tapes")
	}
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, claudeParallel) }

func FuzzCodex(f *testing.F) { fuzz(f, codexParallel) }

func FuzzGeminiCLI(f *testing.F) { fuzz(f, geminiParallel) }
