// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// toolContent are the attributes in which the dialects keep arguments and results of tool spans; a trailing * is a prefix.
var toolContent = []string{
	"gen_ai.tool.call.arguments", "gen_ai.tool.input", "gen_ai.tool.args", "gen_ai.tool.call.result", "gen_ai.tool.output", "gen_ai.input.messages", "gen_ai.output.messages",
	"gen_ai.prompt*", "gen_ai.completion*", "ai.toolCall.args", "ai.toolCall.input", "ai.toolCall.result", "ai.toolCall.output", "forge.tool.args", "forge.tool.result",
	"input.value", "output.value", "tool.parameters", "tool_arguments", "tool_response", "input", "output", "gcp.vertex.agent.*", "traceloop.entity.input", "traceloop.entity.output",
	"langfuse.observation.input", "langfuse.observation.output", "mlflow.spanInputs", "mlflow.spanOutputs", "lmnr.span.input", "lmnr.span.output", "genkit:input", "genkit:output",
	"flue.tool.arguments", "flue.tool.result", "spring.ai.tool.call.arguments", "spring.ai.tool.call.result", "haystack.agent.step.tool.*", "anthropic.tool_use.*", "anthropic.tool_result.*",
	"mastra.tool_call.input", "mastra.tool_call.output", "tool_input", "tool_output", "tool.input", "tool.output", "function_args", "langwatch.input", "langwatch.output",
	"mastra.metadata.input", "mastra.metadata.output", "langsmith.metadata.*", "log.record.body", "full_command", "file_path", "arguments", "result",
}

func holdsToolContent(key string) bool {
	return slices.ContainsFunc(toolContent, func(k string) bool {
		prefix, open := strings.CutSuffix(k, "*")
		return key == k || open && strings.HasPrefix(key, prefix)
	})
}

// stripped returns the evidence without what tool spans hold of arguments and results: attributes, span events, log records.
func stripped(t *testing.T, set *evidence.Set) *evidence.Set {
	t.Helper()
	read := func(item evidence.Item, span ptrace.Span) *genai.Report {
		return genai.Read(&genai.Source{
			Resource: item.Resource.Resource().Attributes(), ScopeName: item.Scope.Scope().Name(), ScopeVersion: item.Scope.Scope().Version(), Span: span,
		})
	}
	tools := map[pcommon.SpanID]bool{}
	for _, item := range set.Items() {
		if read(item, item.Span).Class == genai.Tool {
			tools[item.Span.SpanID()] = true
		}
	}
	out := evidence.NewSet()
	for _, item := range set.Items() {
		if item.Scope.Scope().Name() == genai.LogScope && tools[item.Span.ParentSpanID()] {
			continue
		}
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		item.Resource.Resource().CopyTo(rs.Resource())
		ss := rs.ScopeSpans().AppendEmpty()
		item.Scope.Scope().CopyTo(ss.Scope())
		span := ss.Spans().AppendEmpty()
		item.Span.CopyTo(span)
		if tools[item.Span.SpanID()] {
			span.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool { return holdsToolContent(key) })
			span.Events().RemoveIf(func(e ptrace.SpanEvent) bool { return e.Name() != "exception" })
			if o := read(item, span); o.Args.Present() || o.Result.Present() {
				t.Errorf("the tool span %q of scope %s still holds content in %v: toolContent lacks the keys of it", span.Name(), item.Scope.Scope().Name(), slices.Collect(keys(span.Attributes())))
			}
		}
		out.AddTraces(td)
	}
	return out
}

func keys(m pcommon.Map) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m.All() {
			if !yield(k) {
				return
			}
		}
	}
}

// answer is what an oracle serves for a call, as far as two recordings of it must agree.
type answer struct{ tool, args, response string }

func answerOf(e oracle.Entry) answer {
	return answer{e.ToolName, e.ArgsHash, plainJSON(exactjson.StringValue(e.Response), 0)}
}

// plainJSON is the canonical form of a value, however often it was encoded.
func plainJSON(v exactjson.Value, depth int) string {
	if v.Kind() == exactjson.String && depth < 4 {
		if inner, err := exactjson.Parse(strings.TrimSpace(v.Str())); err == nil && inner.Kind() != exactjson.Number {
			return plainJSON(inner, depth+1)
		}
	}
	if v.Kind() == exactjson.Array && v.Len() == 1 && v.At(0).Get("text").Kind() == exactjson.String {
		return plainJSON(v.At(0).Get("text"), depth+1)
	}
	c, err := v.Canonical()
	if err != nil {
		return v.JSON()
	}
	return c
}

// shownLater reports that a request after the call holds the call's result under its id, whole and only once, and that the
// response that asked for it holds its arguments.
func shownLater(tp *tape.Tape, e *tape.Event) bool {
	if e.ToolCallID == "" || e.RequestedBy == 0 || e.ExecutedArgs.Kind() != exactjson.Absent {
		return false
	}
	uses, asked := 0, false
	for i := range tp.Events {
		o := &tp.Events[i]
		if o.Type == tape.EventToolCall && o.ToolCallID == e.ToolCallID {
			uses++
		}
	}
	for _, p := range tp.Messages[responseOf(tp, e.RequestedBy)].Parts {
		asked = asked || p.Type == tape.PartToolCall && p.ID == e.ToolCallID && !p.Args.IsAbsent()
	}
	if uses != 1 || !asked || tp.Events[e.RequestedBy-1].Provenance["response.message"] != "" {
		return false
	}
	for i := range tp.Events {
		m := &tp.Events[i]
		if m.Type != tape.EventModelCall || m.Seq < e.Seq || m.Request == nil || m.Provenance["request.messages"] != "" {
			continue
		}
		for _, id := range m.Request.Messages {
			for _, p := range tp.Messages[id].Parts {
				if p.Type == tape.PartToolResult && p.ID == e.ToolCallID {
					return true
				}
			}
		}
	}
	return false
}

func responseOf(tp *tape.Tape, seq int) string {
	if r := tp.Events[seq-1].Response; r != nil {
		return r.Message
	}
	return ""
}

func TestContentOfToolSpansIsRecoveredFromLaterMessages(t *testing.T) {
	type count struct{ calls, shown, recovered, rewritten int }
	groups := map[string]*count{}
	for _, run := range runs(t) {
		set, err := run.Evidence()
		if err != nil {
			t.Fatal(err)
		}
		n := groups[run.Group]
		if n == nil {
			n = &count{}
			groups[run.Group] = n
		}
		name := run.Group + "/" + run.Scenario
		have := map[answer]int{}    // what the stripped spans still give
		answers := map[answer]int{} // what may be given
		loose := map[answer]bool{}  // calls whose response a framework rewrote on the way to the model
		failed := map[answer]int{}  // calls that their own span calls failed: its exception answers, not what the model was told
		for _, tp := range tapesOf(stripped(t, set)) {
			for _, e := range oracle.FromTape(tp) {
				switch {
				case e.IsError:
					failed[answer{tool: e.ToolName, args: e.ArgsHash}]++
				case e.Servable():
					have[answerOf(e)]++
				}
			}
		}
		var want []answer
		for _, tp := range tapesOf(set) {
			rewritten := map[int]bool{}
			for _, f := range tp.Fidelity.Findings {
				if f.Code == tape.CodeResultRewritten || f.Code == tape.CodeArgsDiffer {
					rewritten[f.Seq] = true
				}
			}
			for _, e := range oracle.FromTape(tp) {
				n.calls++
				if rewritten[e.Seq] || !e.Servable() || e.IsError {
					n.rewritten++
					loose[answer{tool: e.ToolName, args: e.ArgsHash}] = true
					continue
				}
				answers[answerOf(e)]++
				if shownLater(tp, &tp.Events[e.Seq-1]) {
					n.shown++
					want = append(want, answerOf(e))
				}
			}
		}
		for a, served := range have {
			if served > answers[a] && !loose[answer{tool: a.tool, args: a.args}] && !open[name+" (stripped)"] {
				t.Errorf("%s: %s is answered %.200q for arguments %.15s, %d times, truly %d times", name, a.tool, a.response, a.args, served, answers[a])
			}
		}
		for _, a := range want {
			if key := (answer{tool: a.tool, args: a.args}); have[a] == 0 && failed[key] > 0 {
				failed[key]--
				n.rewritten++
				continue
			}
			if have[a] == 0 {
				t.Errorf("%s: the answer of %s is shown later and was not recovered: %.200q", name, a.tool, a.response)
				continue
			}
			have[a]--
			n.recovered++
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		n := groups[group]
		t.Logf("%-34s %3d tool calls, %3d shown by a later request, %3d recovered, %3d rewritten or failed", group, n.calls, n.shown, n.recovered, n.rewritten)
	}
}
