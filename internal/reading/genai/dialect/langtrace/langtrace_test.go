// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langtrace_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

const scope = "langtrace_python_sdk.instrumentation.langchain_core.instrumentation"

// The outermost method of a model tells its answer. What is empty was left out: the text of messages, and of the arguments also numbers.
func TestTheOutermostMethodIsTheModelCall(t *testing.T) {
	const (
		in   = `[[{"content":"Be brief.","type":"system"},{"content":"Store 1.","type":"human"},{"type":"ai","tool_calls":[{"name":"put","args":{"s":"a"},"id":"c0"}]},{"type":"tool","tool_call_id":"c0","status":"success"}],{"metadata":{}}]`
		raw  = `"additional_kwargs":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"put","arguments":"{\"n\":1}"}}]},`
		said = `"response_metadata":{"model_name":"m-1","finish_reason":"tool_calls"},"type":"ai","tool_calls":[{"name":"put","id":"c1"}]}`
	)
	for out, want := range map[string]tape.Label{"{" + raw + said: "", "{" + said: tape.Lossy} {
		o := genai.Read(genaitest.Span(scope, "BaseChatModel.invoke", "langchain.task.name", "chatmodel", "langchain.inputs", in, "langchain.outputs", out))
		if o.Class != genai.Model || len(o.Request) != 4 || len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.ResponseModel != "m-1" {
			t.Fatalf("%+v", o)
		}
		if call := o.Response[0].Parts[0]; call.ID != "c1" || call.Name != "put" || call.Label != want {
			t.Errorf("call %+v, want %q", call, want)
		}
		if asked := o.Request[2]; len(asked.Parts) != 1 || asked.Parts[0].Label != tape.Lossy || o.Request[3].Parts[0].ID != "c0" {
			t.Errorf("%+v", o.Request)
		}
	}
}

func TestWhatIsNoModelCall(t *testing.T) {
	for name, c := range map[string]struct {
		scope, task string
		want        genai.Class
	}{
		"BaseChatModel.generate":                    {scope, "chatmodel", genai.Structure},
		"RunnableSequence.invoke":                   {scope, "runnable", genai.Structure},
		"langgraph.graph.state.StateGraph.add_node": {"langtrace_python_sdk.instrumentation.langgraph.instrumentation", "", genai.Noise},
	} {
		keys := []string{"langchain.task.name", c.task, "langchain.inputs", `[[{"content":"q","type":"human"}]]`}
		if c.task == "" {
			keys = []string{"langgraph.task.name", "add_node"}
		}
		if o := genai.Read(genaitest.Span(c.scope, name, keys...)); o.Class != c.want || len(o.Request) > 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}
