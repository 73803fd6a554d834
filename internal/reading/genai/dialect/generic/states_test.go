// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// The steps of a graph tell the state before and after them. One that went on with a conversation by one message of the model asked it.
func TestAStepThatWentOnWithAConversationAskedAModel(t *testing.T) {
	const (
		asked  = `{"@type":"USER","text":"hi"}`
		says   = `{"@type":"AI","text":"yes"}`
		asks   = `{"@type":"AI","text":null,"toolExecutionRequests":[{"id":"c1","name":"look","arguments":"{\"x\":1}"}]}`
		shown  = `{"@type":"TOOL_EXECUTION_RESULT","id":"c1","toolName":"look","text":"7","isError":false}`
		before = `{"messages":[` + asked + `]}`
	)
	for name, c := range map[string]struct {
		before, key, after string
		want               string // its class; "" where it is no evidence
	}{
		"the new message alone":       {before, "zz.state", `{"messages":` + says + `}`, "model"},
		"beside another member":       {before, "zz.state", `{"answer":"yes","messages":[` + says + `]}`, "model"},
		"the whole conversation":      {before, "zz.state", `{"messages":[` + asked + `,` + says + `]}`, "model"},
		"calls":                       {before, "zz.state", `{"messages":[` + asks + `]}`, "model"},
		"the results of tools":        {`{"messages":[` + asked + `,` + asks + `]}`, "zz.update", `{"messages":[` + shown + `]}`, "structure"},
		"nothing new":                 {before, "zz.state", `{}`, "structure"},
		"calls that nobody answered":  {`{"messages":[` + asked + `,` + asks + `]}`, "zz.state", `{"messages":` + says + `}`, "model"},
		"calls after calls":           {`{"messages":[` + asked + `,` + asks + `]}`, "zz.state", `{"messages":` + asks + `}`, "structure"},
		"after an answer another one": {`{"messages":[` + asked + `,` + says + `]}`, "zz.state", `{"messages":` + says + `}`, "structure"},
		"after an answer, calls":      {`{"messages":[` + asked + `,` + says + `]}`, "zz.state", `{"messages":` + asks + `}`, "model"},
		"as Java writes texts": {"{\n\tmessages=[\n\tUserMessage { name = null, contents = [TextContent { text = \"hi\" }] }\n\t]\n}", "zz.state",
			"{\n\tanswer=yes\n\tmessages=AiMessage { text = \"yes\", toolExecutionRequests = [] }\n}", "model"},
		"a state that is no conversation": {`{"rows":[{"@type":"ROW","text":"hi"}]}`, "zz.state", `{"rows":[]}`, ""},
	} {
		s := genaitest.Span("zz", "evaluateNode", "nodeId", "agent")
		tell(s, "start", "zz.state", c.before)
		tell(s, "end", c.key, c.after)
		if !genai.IsEvidence(s.ScopeName, s.Span) {
			if c.want != "" {
				t.Errorf("%s: it is no evidence", name)
			}
			continue
		}
		if got := genaitest.Said(genai.Read(s)); c.want == "" || !strings.HasPrefix(got, "class: "+c.want+"\n") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, c := range map[string]struct {
		event, state string
		ended        bool
		want         bool
	}{
		"it told no end":           {event: "start", state: before, want: true},
		"it ended well":            {event: "start", state: before, ended: true},
		"another event":            {event: "checkpoint", state: before},
		"it is no turn of a model": {event: "start", state: `{"messages":[` + asked + `,` + asks + `]}`},
	} {
		s := genaitest.Span("zz", "evaluateNode")
		tell(s, c.event, "zz.state", c.state)
		if c.ended {
			s.Span.Status().SetCode(ptrace.StatusCodeOk)
		}
		if got := genai.IsEvidence(s.ScopeName, s.Span) && genai.Read(s).Class == genai.Model; got != c.want {
			t.Errorf("a step with nothing after it, %s: a model call %t", name, got)
		}
	}
	s := genaitest.Span("zz", "evaluateNode")
	tell(s, "start", "zz.state", before)
	tell(s, "end", "zz.state", `{"messages":[`+asks+`]}`)
	genaitest.Says(t, genai.Read(s), "class: model\ndialect: unknown\nrequest: user | text \"hi\"\nresponse: assistant | call look c1 {\"x\":1}\n")
}
