// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	chatformat "github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
)

// What the stub answers in each of its protocols, whole and streamed, is read back as it stands on the tape.
func TestEveryProtocolOfTheStubIsRead(t *testing.T) {
	line := `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"q"},{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]},{"role":"tool","tool_call_id":"call_a","content":"r"},{"role":"assistant","content":"done"}]}`
	runs, err := chatformat.Decode([]byte(line+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	both := `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"q"}]`
	for name, c := range map[string]struct {
		path, streamed, body string // streamed is the path of a stream, "" where the body says it
		text                 bool   // the protocol has no calls
	}{
		"openai-chat":             {"/v1/chat/completions", "", `{"model":"m",` + both + `}`, false},
		"openai-responses":        {"/v1/responses", "", `{"model":"m","instructions":"Be brief.","input":"q"}`, false},
		"anthropic-messages":      {"/v1/messages", "", `{"model":"m","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"q"}]}`, false},
		"gemini-generate-content": {"/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent?alt=sse", `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"q"}]}]}`, false},
		"bedrock-converse":        {"/model/m/converse", "/model/m/converse-stream", `{"system":[{"text":"Be brief."}],"messages":[{"role":"user","content":[{"text":"q"}]}]}`, false},
		"anthropic-bedrock":       {"/model/anthropic.m/invoke", "/model/anthropic.m/invoke-with-response-stream", `{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"q"}]}`, false},
		"cohere-chat":             {"/v2/chat", "", `{"model":"m",` + both + `}`, false},
		"ollama-chat":             {"/api/chat", "", `{"model":"m",` + both + `}`, false},
		"ollama-generate":         {"/api/generate", "", `{"model":"m","system":"Be brief.","prompt":"q"}`, true},
	} {
		for _, stream := range []bool{false, true} {
			path, body := c.path, c.body
			switch {
			case stream && c.streamed != "":
				path = c.streamed
			case c.streamed == "":
				body = strings.TrimSuffix(body, "}") + map[bool]string{true: `,"stream":true}`, false: `,"stream":false}`}[stream]
			}
			tap := ticking()
			h := tap.Handler(modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(runs[0].Tape, modelstub.Options{})}), "")
			out := httptest.NewRecorder()
			h.ServeHTTP(out, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
			if out.Code != http.StatusOK || len(tap.calls) != 1 || tap.calls[0].api != name {
				t.Errorf("%s, stream %v: %d %s", name, stream, out.Code, out.Body)
				continue
			}
			one, err := readCall(tap.calls[0])
			if err != nil || one.failure != nil || len(one.answer) != 1 {
				t.Errorf("%s, stream %v: %v %+v %d\n%s", name, stream, err, one.failure, len(one.answer), out.Body)
				continue
			}
			got := ""
			for _, p := range one.answer[0].Parts {
				switch p.Type {
				case tape.PartToolCall:
					got += "|" + p.Name + p.Args.JSON()
				default:
					got += "|" + p.Text
				}
			}
			want := `|Let me look.|f{"n":1}`
			if c.text {
				want = "|Let me look."
			}
			if system := strings.TrimSpace(one.systemText()); got != want || system != "Be brief." || one.stream != stream {
				t.Errorf("%s, stream %v: %q %q %v\n%s", name, stream, got, system, one.stream, out.Body)
			}
		}
	}
}
