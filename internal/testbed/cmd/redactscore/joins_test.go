// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// cutsOf are the places at which a text is cut, all of them inside of the value.
func cutsOf(text, v string) (cuts []int) {
	at := strings.Index(text, v)
	for _, part := range []int{1, 2, 3} {
		cut := at + len(v)*part/4
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		if cut > 0 && cut < len(text) {
			cuts = append(cuts, cut)
		}
	}
	return cuts
}

// eachCut calls visit with a text that holds a value of every kind, cut at several places.
func eachCut(visit func(k *kind, name, v, first, second string)) {
	n := 0
	for i, k := range kindsOf() {
		g := newGenerator(uint64(i) + 1)
		v := k.value(g)
		text := "the " + k.assigned(g, v)
		if k.text != "" {
			text = k.around(v)
		}
		for _, cut := range cutsOf(text, v) {
			if n++; n%*campaign == 0 {
				visit(&k, k.name+" at "+strconv.Itoa(cut), v, text[:cut], text[cut:])
			}
		}
	}
}

// neighbours is a run in which two texts stand one behind the other wherever a tape, an oracle or the telemetry has lists of things that are no stream.
func neighbours(n uint64, first, second string) ptrace.Traces {
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	id := pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, byte(n >> 8), byte(n)}
	const start = 1_700_000_000_000_000_000
	at := pcommon.Timestamp(start)
	add := func(name, operation string) ptrace.Span {
		s := spans.AppendEmpty()
		s.SetName(name)
		s.SetTraceID(id)
		s.SetSpanID(pcommon.SpanID{8, 7, 6, 5, 4, 3, 2, byte(spans.Len())})
		if spans.Len() > 1 {
			s.SetParentSpanID(spans.At(0).SpanID())
		}
		at += 1_000_000
		s.SetStartTimestamp(at)
		at += 1_000_000
		s.SetEndTimestamp(at)
		s.Attributes().PutStr("gen_ai.operation.name", operation)
		return s
	}
	root := add("invoke_agent helper", "invoke_agent")
	root.Attributes().PutStr("gen_ai.agent.name", "helper")
	object := map[string]any{}
	results := []func(text string) string{
		func(text string) string { return text },
		func(text string) string { return quote(map[string]any{"text": text}) },
		func(text string) string {
			return quote(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
		},
		func(text string) string {
			return quote(map[string]any{"content": []any{map[string]any{"type": "text", "text": quote(map[string]any{"results": []any{map[string]any{"line": text, "rank": 1}}})}}})
		},
		func(text string) string { return quote([]any{text}) },
		func(text string) string { return quote(map[string]any{"delta": text}) },
	}
	asked, answers := []any{}, []any{}
	for i := range 2 * len(results) {
		result := results[i/2]([]string{first, second}[i%2])
		call := "call_" + strconv.Itoa(i)
		asked = append(asked, map[string]any{"type": "tool_call", "id": call, "name": "probe", "arguments": object})
		answers = append(answers, map[string]any{"type": "tool_call_response", "id": call, "response": result})
	}
	chat := add("chat gpt-x", "chat")
	chat.Attributes().PutStr("gen_ai.provider.name", "openai")
	chat.Attributes().PutStr("gen_ai.request.model", "gpt-x")
	said := func(role string, parts ...any) any { return map[string]any{"role": role, "parts": parts} }
	text := func(text string) any { return map[string]any{"type": "text", "content": text} }
	question := []any{said("user", text(first)), said("user", text(second)), said("user", text("Hello"))}
	chat.Attributes().PutStr("gen_ai.input.messages", quote(question))
	chat.Attributes().PutStr("gen_ai.output.messages", quote([]any{map[string]any{"role": "assistant", "parts": asked, "finish_reason": "tool_call"}}))
	for _, message := range []string{first, second} {
		e := chat.Events().AppendEmpty()
		e.SetName("gen_ai.user.message")
		e.Attributes().PutStr("content", message)
	}
	for i := range asked {
		tool := add("execute_tool probe", "execute_tool")
		tool.Attributes().PutStr("gen_ai.tool.name", "probe")
		tool.Attributes().PutStr("gen_ai.tool.call.id", "call_"+strconv.Itoa(i))
		tool.Attributes().PutStr("gen_ai.tool.call.arguments", "{}")
		tool.Attributes().PutStr("gen_ai.tool.call.result", answers[i].(map[string]any)["response"].(string))
	}
	last := add("chat gpt-x", "chat")
	chat.Attributes().CopyTo(last.Attributes())
	last.Attributes().PutStr("gen_ai.input.messages", quote(append(question, said("assistant", asked...), said("tool", answers...))))
	last.Attributes().PutStr("gen_ai.output.messages", quote([]any{map[string]any{"role": "assistant", "parts": []any{text("Hi")}, "finish_reason": "stop"}}))
	root.SetStartTimestamp(start)
	root.SetEndTimestamp(at + 1_000_000)
	return td
}

// The halves of a secret are two texts where no stream is: at the end of one call's result and at the beginning of the next one's, in messages, in events.
// Nothing finds them together: redaction replaces what it replaces in each alone, and no run is lost to quarantine.
func TestTextsThatAreNoStreamAreNotJoined(t *testing.T) {
	r, _, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	n, tapes := uint64(0), 0
	eachCut(func(_ *kind, name, _, first, second string) {
		n++
		count := func(first, second string) int64 {
			var rep redact.Report
			r.Traces(neighbours(n, first, second), &rep)
			return rep.Total()
		}
		const other = "nothing"
		if alone, together := count(first, other)+count(other, second), count(first, second); alone != together {
			t.Errorf("%s: redaction replaced %d values in the halves and %d in both: %q %q", name, alone, together, first, second)
		}
		td := neighbours(n, first, second)
		r.Traces(td, nil)
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, r.Marker().String())
		set := evidence.NewSet()
		set.AddTraces(td)
		d, err := deck.Open(t.Context(), "mem://joins-"+strconv.FormatUint(n, 10))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Drop("joins-" + strconv.FormatUint(n, 10))
		w := derive.NewWriter(d, derive.Options{Options: generation.Options{Formats: generation.KnownFormats()}, Gate: gate})
		for _, tr := range set.Split() {
			of, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
			if q := (*derive.QuarantineError)(nil); errors.As(err, &q) {
				eachObject(t, d, func(key string, body []byte) {
					if strings.HasPrefix(key, "quarantine/") {
						t.Errorf("%s: %q %q: %s", name, first, second, body)
					}
				})
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			tapes += len(of)
		}
	})
	if n == 0 || tapes == 0 {
		t.Errorf("%d pairs of halves gave %d tapes", n, tapes)
	}
}

// The same halves as deltas of one stream are one text, in every form in which streams are recorded.
func TestDeltasOfOneStreamAreOneText(t *testing.T) {
	r, gate, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]func(pieces []string) any{
		"deltas": func(pieces []string) any {
			list := []any{}
			for _, p := range pieces {
				list = append(list, map[string]any{"id": "chatcmpl-1", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": p}}}})
			}
			return list
		},
		"arguments": func(pieces []string) any {
			list := []any{}
			for i, p := range pieces {
				call := map[string]any{"index": 0, "function": map[string]any{"arguments": p}}
				if i == 0 {
					call["id"] = "call_1"
				}
				list = append(list, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"tool_calls": []any{call}}}}})
			}
			return list
		},
		"blocks": func(pieces []string) any {
			list := []any{}
			for _, p := range pieces {
				list = append(list, map[string]any{"type": "content_block_delta", "index": 1, "delta": map[string]any{"type": "text_delta", "text": p}})
			}
			return list
		},
		"numbered": func(pieces []string) any { // the number is that of the delta
			list := []any{}
			for i, p := range pieces {
				list = append(list, map[string]any{"id": "evt_" + strconv.Itoa(i), "index": i, "delta": p})
			}
			return list
		},
		"calls": func(pieces []string) any {
			list := []any{}
			for _, p := range pieces {
				list = append(list, map[string]any{"type": "tool-call-delta", "toolCallId": "call_1", "toolName": "probe", "argsTextDelta": p})
			}
			return list
		},
		"parts": func(pieces []string) any { // of one message
			list := []any{}
			for _, p := range pieces {
				list = append(list, map[string]any{"type": "text", "text": p})
			}
			return []any{map[string]any{"role": "assistant", "content": list}}
		},
		"two streams at once": func(pieces []string) any {
			list := []any{}
			for _, p := range pieces {
				for index, text := range []string{"some other words ", p} {
					list = append(list, map[string]any{"choices": []any{map[string]any{"index": index, "delta": map[string]any{"content": text}}}})
				}
			}
			return list
		},
	}
	n, found := 0, 0
	eachCut(func(k *kind, name, v, first, second string) {
		whole := r.String("content", first+second, nil)
		if strings.Contains(whole, v) { // no rule finds it
			return
		}
		if k.name == "composer github" || k.name == "sse deltas" { // found only where the text is read as a document: that of a stream is not
			return
		}
		for form, stream := range streams {
			n++
			body, err := json.Marshal(map[string]any{"recorded": stream([]string{first, second})})
			if err != nil {
				t.Fatal(err)
			}
			var back struct{ Recorded any }
			out := r.String("response", string(body), nil)
			if err := json.Unmarshal([]byte(out), &back); err != nil {
				t.Fatal(err)
			}
			var texts []string
			var each func(v any)
			each = func(v any) {
				switch v := v.(type) {
				case []any:
					for _, e := range v {
						each(e)
					}
				case map[string]any:
					for name, e := range v {
						if text, ok := e.(string); ok && (name == "content" || name == "arguments" || name == "text" || name == "delta" || name == "argsTextDelta") {
							if text != "some other words " {
								texts = append(texts, text)
							}
						} else {
							each(e)
						}
					}
				}
			}
			each(back.Recorded)
			if joined := strings.Join(texts, ""); strings.Contains(joined, v) {
				t.Errorf("%s as %s: %q is left; by itself it becomes %q", name, form, joined, whole)
			} else {
				found++
			}
			if hits := gate.ScanString("response", out); len(hits) > 0 {
				t.Errorf("%s as %s: the gate finds %v", name, form, hits)
			}
		}
	})
	if n == 0 || found == 0 {
		t.Errorf("%d of %d", found, n)
	}
}
