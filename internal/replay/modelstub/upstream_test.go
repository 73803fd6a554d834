// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"net/url"
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestOnlyModelAndSystemPromptOfAFreeCallAreOthers(t *testing.T) {
	prompt := "P"
	up := &Upstream{Model: "new", SystemPrompt: &prompt}
	for _, c := range []struct {
		protocol   *protocol
		body, want string
	}{
		{openAIChat, `{"model":"m","seed":12345678901234567890,"messages":[{"role":"developer","content":"D"},{"role":"user","content":"u"}]}`,
			`{"model":"new","seed":12345678901234567890,"messages":[{"role":"system","content":"P"},{"role":"user","content":"u"}]}`},
		{openAIResponses, `{"model":"m","input":"u"}`, `{"model":"new","input":"u","instructions":"P"}`},
		{openAIResponses, `{"instructions":"I","input":[{"role":"system","content":"S"},{"role":"user","content":"u"}],"model":"m"}`,
			`{"instructions":"P","input":[{"role":"user","content":"u"}],"model":"new"}`},
		{anthropicMessages, `{"system":[{"type":"text","text":"S"}],"model":"m","messages":[]}`, `{"system":"P","model":"new","messages":[]}`},
		{geminiGenerate, `{"system_instruction":{"parts":[]},"contents":[]}`,
			`{"contents":[],"systemInstruction":{"parts":[{"text":"P"}]}}`},
	} {
		body, err := exactjson.Parse(c.body)
		if err != nil {
			t.Fatal(err)
		}
		if got := up.rewrite(c.protocol, body); string(got) != c.want {
			t.Errorf("%s: %s\nwant %s", c.protocol.name, got, c.want)
		}
		if got := (&Upstream{}).rewrite(c.protocol, body); string(got) != c.body {
			t.Errorf("%s: unchanged: %s", c.protocol.name, got)
		}
	}
}

// Where a call goes is made of the endpoint, the protocol and the model alone.
func TestTheAddressOfAFreeCallIsMadeAnew(t *testing.T) {
	for _, c := range []struct {
		base, candidate, model string
		protocol               *protocol
		stream, sse            bool
		want                   string
	}{
		{"https://gw.test/base/", "", "m", openAIChat, true, true, "https://gw.test/base/v1/chat/completions"},
		{"https://gw.test/a%2Fb", "", "m", openAIResponses, false, false, "https://gw.test/a%2Fb/v1/responses"},
		{"https://gw.test", "new", "m", anthropicMessages, false, false, "https://gw.test/v1/messages"},
		{"https://gw.test", "", "m", geminiGenerate, false, false, "https://gw.test/v1beta/models/m:generateContent"},
		{"https://gw.test", "new", "m", geminiGenerate, true, true, "https://gw.test/v1beta/models/new:streamGenerateContent?alt=sse"},
		{"https://gw.test", "publisher/new", "m", geminiGenerate, true, false, "https://gw.test/v1beta/models/publisher/new:streamGenerateContent"},
		{"https://gw.test", "", "../../admin?x=1#y", geminiGenerate, false, false, "https://gw.test/v1beta/models/..%2F..%2Fadmin%3Fx=1%23y:generateContent"},
	} {
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		up := &Upstream{URL: base, Model: c.candidate}
		if got := up.target(c.protocol, c.model, c.stream, c.sse).String(); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestAnEndpointIsSentItsOwnKeyAlone(t *testing.T) {
	for _, c := range []struct {
		base string
		want map[*protocol]string // "": none
	}{
		{"https://API.openai.com", map[*protocol]string{openAIChat: "OPENAI_API_KEY", anthropicMessages: "OPENAI_API_KEY", geminiGenerate: "OPENAI_API_KEY"}},
		{"https://api.anthropic.com:443", map[*protocol]string{openAIChat: "ANTHROPIC_API_KEY", anthropicMessages: "ANTHROPIC_API_KEY", geminiGenerate: "ANTHROPIC_API_KEY"}},
		{"https://generativelanguage.googleapis.com", map[*protocol]string{openAIResponses: "GEMINI_API_KEY", geminiGenerate: "GEMINI_API_KEY"}},
		{"https://mine.openai.azure.com/openai", map[*protocol]string{openAIChat: "AZURE_OPENAI_API_KEY"}},
		{"http://127.0.0.1:4000", map[*protocol]string{openAIChat: "OPENAI_API_KEY", openAIResponses: "OPENAI_API_KEY", anthropicMessages: "", geminiGenerate: ""}},
		{"https://api.anthropic.com.attacker.test", map[*protocol]string{openAIChat: "OPENAI_API_KEY", anthropicMessages: ""}},
		{"https://openai.azure.com.attacker.test", map[*protocol]string{anthropicMessages: ""}},
	} {
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range c.want {
			got := append(KeyVariables(base, p.name), "")[0]
			if got != want {
				t.Errorf("%s is sent %q for %s, want %q", c.base, got, p.name, want)
			}
		}
	}
}
