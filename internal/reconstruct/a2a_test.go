// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sentRequest is a request that was really sent to Forge, from ground_truth.json.
type sentRequest struct {
	Case    string            `json:"case"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    struct {
		Method string     `json:"method"`
		Params sentParams `json:"params"`
		Task   sentParams `json:"task"` // the REST route
	} `json:"body"`
	Models []struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	} `json:"llm_requests_as_sent"`
}

type sentParams struct {
	ID      string `json:"id"`
	Message struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"message"`
}

func (s *sentRequest) params() sentParams {
	if s.Body.Method == "" {
		return s.Body.Task
	}
	return s.Body.Params
}

// asked is the message as the agent gave it to the model.
func (s *sentRequest) asked() string {
	messages := s.Models[0].Messages
	return messages[len(messages)-1].Content
}

func sentRequests(t *testing.T) []sentRequest {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(corpus, "forge", "ground_truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var sent []sentRequest
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if len(sent) < 15 {
		t.Fatalf("only %d requests", len(sent))
	}
	return sent
}

// forgeTape rebuilds the run of a recorded Forge request.
func forgeTape(t *testing.T, scenario string) *tape.Tape {
	t.Helper()
	return onlyRun(t, forgeEvidence(t, scenario))
}

func forgeEvidence(t *testing.T, scenario string) *evidence.Set {
	t.Helper()
	set := evidence.NewSet()
	for d, err := range otlpfile.ReadFile(filepath.Join(corpus, "forge", scenario+".otlp.json"), nil, otlpfile.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		set.AddTraces(d.Traces)
	}
	return set
}

func onlyRun(t *testing.T, set *evidence.Set) *tape.Tape {
	t.Helper()
	tapes := reconstruct.All(set.Split(), options)
	if len(tapes) != 1 {
		t.Fatalf("%d tapes", len(tapes))
	}
	return tapes[0]
}

// TestInboundRequestIsWhatWasSent: whatever a tape says of its request is what was sent, or is labelled; whatever was sent and is not on
// the tape is named as missing.
func TestInboundRequestIsWhatWasSent(t *testing.T) {
	for _, sent := range sentRequests(t) {
		t.Run(sent.Case, func(t *testing.T) { checkInbound(t, sent, forgeTape(t, sent.Case)) })
		t.Run(sent.Case+" with its audit records", func(t *testing.T) {
			tp := onlyRun(t, withAudit(t, forgeEvidence(t, sent.Case), nil))
			checkInbound(t, sent, tp)
			if slices.ContainsFunc(tp.Input.A2A.Missing, func(s string) bool { return strings.HasPrefix(s, "headers.X-") || s == "method" }) {
				t.Errorf("missing %v", tp.Input.A2A.Missing)
			}
		})
	}
}

func checkInbound(t *testing.T, sent sentRequest, tp *tape.Tape) {
	t.Helper()
	a, labels := tp.Input.A2A, tp.Input.Provenance
	if a == nil {
		t.Fatal("no request on the tape")
	}
	missing := func(field string) bool { return slices.Contains(a.Missing, field) }
	if want := sent.Body.Method; want != "" && (a.Method != want || labels["a2a.method"] != "") {
		t.Errorf("method %q (%s), sent was %q", a.Method, labels["a2a.method"], want)
	} else if want == "" && (a.Method != strings.TrimPrefix(sent.Path, "/") || labels["a2a.method"] != tape.Inferred || !missing("method") && tp.Sources.Logs == 0) {
		t.Errorf("method %q (%s) of a run over REST", a.Method, labels["a2a.method"])
	}
	message := a.Params.Get("message")
	if got := a.Params.Get("id").Str(); got != sent.params().ID {
		t.Errorf("task %q, sent was %q", got, sent.params().ID)
	}
	if got := message.Get("parts").At(0).Get("text").Str(); got != sent.asked() {
		t.Errorf("the message is %q, the model got %q", got, sent.asked())
	}
	if !missing("params.message.parts") || labels["a2a.params.message.parts"] != tape.Inferred || message.Get("parts").Len() != 1 {
		t.Errorf("%d parts were sent, and how many is recorded nowhere: %v", len(sent.params().Message.Parts), labels)
	}
	if got := message.Get("role").Str(); got != sent.params().Message.Role || labels["a2a.params.message.role"] != tape.Inferred {
		t.Errorf("role %q", got)
	}
	for _, h := range forge.InboundHeaders {
		got, there := a.Headers[h.Name]
		want, was := sent.Headers[h.Name]
		switch {
		case there && got != want:
			t.Errorf("header %s: %q, sent was %q", h.Name, got, want)
		case there == missing("headers."+h.Name) && (there || was):
			t.Errorf("header %s: on the tape %v, sent %v, missing %v", h.Name, there, was, a.Missing)
		}
	}
	if _, there := a.Headers["traceparent"]; there {
		t.Error("a replay with this header would write into the recorded trace")
	}
}

// TestInboundMessageIsNotGuessed: of a message list that was cut, the messages kept are complete, and the last of them is not what the
// user asked last.
func TestInboundMessageIsNotGuessed(t *testing.T) {
	set := forgeEvidence(t, "happy")
	list := exactjson.ArrayValue(message("system", "S"), message("user", "an earlier question"), message("assistant", "an earlier answer"),
		message("user", strings.Repeat("x", 5000))).JSON()
	setAttribute(set, "llm.completion", "gen_ai.input.messages", list[:4069]+"…[truncated:"+exactjson.IntValue(int64(len(list))).Text()+"]")
	tp := onlyRun(t, set)
	if tp.Input.UserMessage != nil || tp.Input.Provenance["user_message"] != tape.Truncated {
		t.Errorf("user message %v (%s)", tp.Input.UserMessage, tp.Input.Provenance["user_message"])
	}
	if a := tp.Input.A2A; !a.Params.Get("message").IsAbsent() || !slices.Contains(a.Missing, "params.message") || a.Params.Get("id").Str() != "t-happy" {
		t.Errorf("params %s, missing %v", a.Params.JSON(), a.Missing)
	}
}

// TestInboundMessageThatAGuardRewrote: the agent saw the masked message; the one that was sent is recorded nowhere.
func TestInboundMessageThatAGuardRewrote(t *testing.T) {
	set := forgeEvidence(t, "happy")
	setAttribute(set, "guardrail.input", "forge.guardrail.decision", "masked")
	tp := onlyRun(t, set)
	if got := tp.Input.Provenance["a2a.params.message.parts.0.text"]; got != tape.Masked || !slices.Contains(tp.Input.A2A.Missing, "params.message.parts.0.text") {
		t.Errorf("label %q, missing %v", got, tp.Input.A2A.Missing)
	}
}

func TestScheduledRunHasNoInboundRequest(t *testing.T) {
	set := forgeEvidence(t, "happy")
	for _, item := range set.Items() {
		if item.Span.Name() == "a2a.tasks/send" {
			item.Span.SetName("schedule.fire")
			item.Span.Attributes().Clear()
			item.Span.Attributes().PutStr("forge.schedule.id", "nightly")
		}
	}
	if a := onlyRun(t, set).Input.A2A; a != nil {
		t.Errorf("request %+v", a)
	}
}

func message(role, text string) exactjson.Value {
	return exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue(role)}, exactjson.Member{Name: "content", Value: exactjson.StringValue(text)})
}

// setAttribute changes an attribute of the first span of a name.
func setAttribute(set *evidence.Set, span, name, value string) {
	for _, item := range set.Items() {
		if item.Span.Name() == span {
			item.Span.Attributes().PutStr(name, value)
			return
		}
	}
}
