// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestOnlyModelAndSystemPromptOfAFreeCallAreOthers(t *testing.T) {
	prompt := "P"
	up := &Upstream{Model: "new", SystemPrompt: &prompt}
	for _, c := range []struct {
		protocol               *protocol
		path, body, want, then string
	}{
		{openAIChat, "/v1/chat/completions", `{"model":"m","seed":12345678901234567890,"messages":[{"role":"developer","content":"D"},{"role":"user","content":"u"}]}`,
			`{"model":"new","seed":12345678901234567890,"messages":[{"role":"system","content":"P"},{"role":"user","content":"u"}]}`, "/v1/chat/completions"},
		{openAIResponses, "/v1/responses", `{"model":"m","input":"u"}`, `{"model":"new","input":"u","instructions":"P"}`, "/v1/responses"},
		{openAIResponses, "/v1/responses", `{"instructions":"I","input":[{"role":"system","content":"S"},{"role":"user","content":"u"}],"model":"m"}`,
			`{"instructions":"P","input":[{"role":"user","content":"u"}],"model":"new"}`, "/v1/responses"},
		{anthropicMessages, "/v1/messages", `{"system":[{"type":"text","text":"S"}],"model":"m","messages":[]}`, `{"system":"P","model":"new","messages":[]}`, "/v1/messages"},
		{geminiGenerate, "/v1beta/models/m:streamGenerateContent", `{"system_instruction":{"parts":[]},"contents":[]}`,
			`{"contents":[],"systemInstruction":{"parts":[{"text":"P"}]}}`, "/v1beta/models/new:streamGenerateContent"},
	} {
		body, err := exactjson.Parse(c.body)
		if err != nil {
			t.Fatal(err)
		}
		got, path := up.rewrite(c.protocol, body, c.path)
		if string(got) != c.want || path != c.then {
			t.Errorf("%s: %s %s\nwant %s %s", c.protocol.name, path, got, c.then, c.want)
		}
		if got, path := (&Upstream{}).rewrite(c.protocol, body, c.path); string(got) != c.body || path != c.path {
			t.Errorf("%s: unchanged: %s %s", c.protocol.name, path, got)
		}
	}
}
