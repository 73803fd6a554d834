// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"errors"
	"testing"
)

func TestTheAnswerOfAnAgentIsRead(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"id":"t","status":{"state":"completed","message":{"role":"agent","parts":[{"kind":"text","text":"Seven"},{"type":"text","text":"."}]}}}}`: "Seven.",
		`{"result":{"kind":"message","parts":[{"text":"Seven."}]}}`:                                            "Seven.",
		`{"result":{"artifacts":[{"parts":[{"text":"a"}]},{"parts":[{"data":{}}]},{"parts":[{"text":"b"}]}]}}`: "a\nb",
		`{"result":{"status":{"state":"completed"}}}`:                                                          "",
		"event: x\ndata: {\"result\":{\"artifact\":{\"parts\":[{\"text\":\"Se\"}]}}}\n\ndata: {\"result\":{\"artifact\":{\"parts\":[{\"text\":\"ven\"}]},\"append\":true}}\n\ndata: {\"result\":{\"status\":{\"state\":\"completed\"}}}\n": "Seven",
		"data: {\"result\":{\"status\":{\"message\":{\"parts\":[{\"text\":\"Seven\"}]}}}}\n": "Seven",
		// 1.0 names what the result is.
		`{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"Seven"}]}]}}}`: "Seven",
		`{"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Sev"},{"text":"en"}]}}}`:                                                                         "Seven",
		"data: {\"result\":{\"task\":{\"id\":\"t\"}}}\n\ndata: {\"result\":{\"artifactUpdate\":{\"artifact\":{\"parts\":[{\"text\":\"Se\"}]}}}}\n\n" +
			"data: {\"result\":{\"artifactUpdate\":{\"artifact\":{\"parts\":[{\"text\":\"ven\"}]},\"append\":true,\"lastChunk\":true}}}\n\ndata: {\"result\":{\"statusUpdate\":{\"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}\n": "Seven",
		"data: {\"result\":{\"statusUpdate\":{\"status\":{\"message\":{\"parts\":[{\"text\":\"Seven\"}]}}}}}\n": "Seven",
	} {
		if got, err := Answer(body); err != nil || got != want {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	for _, body := range []string{"", "no", "{", `{"result":"x"}`, `{"error":{"code":-32600,"message":"m"}}`, "data: {}\n"} {
		if got, err := Answer(body); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(`{"result":{"parts":[{"text":"Seven."}]}}`)
	f.Add("data: {\"result\":{}}\n")
	f.Add(`{"result":{"task":{"artifacts":[{"parts":[{"text":"Seven."}]}]}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if got, err := Answer(body); err != nil && (got != "" || !errors.Is(err, ErrAnswer)) {
			t.Errorf("%q, %v", got, err)
		}
	})
}
