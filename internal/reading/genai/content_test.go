// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestContentIsToldFromMeasures(t *testing.T) {
	for _, c := range []struct {
		key     string
		value   any
		in, out bool
	}{
		{"vendor.tool.input", "x", true, false}, {"tool_args", `{"a":1}`, true, false}, {"gen_ai.input.messages", "hi", true, false}, {"vendor.messages", "hi", true, true},
		{"llm.output_messages.0.message.content", "hi", false, true}, {"vendor.result", []any{"a"}, false, true}, {"vendor.output", map[string]any{"a": "b"}, false, true},
		{"gen_ai.usage.input_tokens", "12", false, false}, {"waza.prompt.sha256", "ab", false, false}, {"gen_ai.request.model", "m", false, false}, {"input.mime_type", "text/plain", false, false},
		{"vendor.input", "{}", false, false}, {"vendor.input", " ", false, false}, {"vendor.output", 7, false, false}, {"vendor.output", []any{}, false, false}, {"http.route", "/x", false, false},
		// content switched off: who spoke and in which parts is left
		{"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text"}]}]`, false, false},
		{"gen_ai.output.messages", ` [{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"get_stock"}],"finish_reason":"tool_call"}]`, false, false},
		{"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"call_1","name":"get_stock","arguments":{"name":"SKU-7"}}]}]`, false, true},
		{"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, true, false},
		{"vendor.input", `[{"name":"SKU-7"}]`, true, false}, {"vendor.input", `["user"]`, true, false},
	} {
		in, out := HoldsContent(acmeSpan("s", map[string]any{c.key: c.value}))
		if in != c.in || out != c.out {
			t.Errorf("%s=%v: in %t, out %t", c.key, c.value, in, out)
		}
	}
}
