// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package phoenix

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// TestAttributesAreWrittenAsOTLPHasThem: joined names, lists of plain values, and JSON texts of what Phoenix
// decoded.
func TestAttributesAreWrittenAsOTLPHasThem(t *testing.T) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{"llm.input_messages":[{"message.role":"user","message.contents":[{"text":"x"}]},{"message.role":"tool"}],"tags":["a",1],"none":null,
	 "metadata.versions.@langchain/core":"1.2","metadata.step":2,"metadata.step.of":3,"tool.parameters":{"id":9007199254740993,"a":null},"llm.token_count.total":697.0,"score":1.0,"input":{"value":"{}"}}`), &values); err != nil {
		t.Fatal(err)
	}
	m := pcommon.NewMap()
	attributes(values, m)
	want := map[string]any{
		"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.contents.0.text": "x", "llm.input_messages.1.message.role": "tool",
		"tags": []any{"a", int64(1)}, "metadata": `{"step":2,"step.of":3,"versions":{"@langchain/core":"1.2"}}`, "tool.parameters": `{"id":9007199254740993,"a":null}`,
		"llm.token_count.total": int64(697), "score": 1.0, "input.value": "{}",
	}
	if diff := cmp.Diff(want, m.AsRaw()); diff != "" {
		t.Error(diff)
	}
}

func TestTimesOfDataFramesAreToldByTheirSize(t *testing.T) {
	for text, want := range map[string]pcommon.Timestamp{
		`1795313788132`: 1795313788132000000, `1795313788132000`: 1795313788132000000, `1795313788132000000`: 1795313788132000000,
		`"2026-11-22T02:02:12.127705+00:00"`: 1795312932127705000, `-1`: 0, `1e300`: 0, `null`: 0, `"x"`: 0,
	} {
		if got := at(json.RawMessage(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
