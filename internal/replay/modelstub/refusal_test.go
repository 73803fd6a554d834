// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
)

func TestARefusalIsServedAsOneWhereTheAPIHasAMember(t *testing.T) {
	runs, err := chat.Decode([]byte(`{"messages":[{"role":"user","content":"How?"},{"role":"assistant","content":null,"refusal":"I cannot help."}]}`+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := []any{msg("user", "How?")}
	for _, c := range []struct {
		path, member string
		body         map[string]any
	}{
		{"/v1/chat/completions", "refusal", map[string]any{"model": "m", "messages": asked}},
		{"/v1/responses", "refusal", map[string]any{"model": "m", "input": asked}},
		{"/v1/messages", "text", map[string]any{"model": "m", "max_tokens": 9, "messages": asked}},
	} {
		s := server(t, runs[0].Tape, Options{}, Config{})
		resp, body := post(t, s.URL+c.path, c.body)
		want := `"` + c.member + `":"I cannot help."`
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s in %s", c.path, resp.Status, want, body)
		}
		if c.member == "text" {
			continue
		}
		c.body["stream"] = true
		s = server(t, runs[0].Tape, Options{}, Config{})
		_, body = post(t, s.URL+c.path, c.body)
		refused := ""
		for _, v := range data(t, body) {
			refused += v.Get("choices").At(0).Get("delta").Get("refusal").Str()
			if v.Get("type").Str() == "response.refusal.delta" {
				refused += v.Get("delta").Str()
			}
		}
		if refused != "I cannot help." {
			t.Errorf("%s streams %q: %s", c.path, refused, body)
		}
	}
}
