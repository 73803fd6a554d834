// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var cohereChat = &protocol{
	name:        "cohere-chat",
	read:        readCohere,
	unsupported: noOptions,
	whole: func(r *reply) any {
		return object{"id": r.id("tapedeck-"), "message": r.cohereMessage(), "finish_reason": r.cohereFinish(), "usage": r.cohereUsage()}
	},
	events:   cohereEvents,
	failure:  cohereFailure,
	named:    true,
	upstream: "/v2/chat",
}

func cohereFailure(_ int, kind, message string) any { return object{"message": message, "type": kind} }

// readCohere takes what was said before calls for a text, and the documents that a result is wrapped in for
// the result.
func readCohere(body exactjson.Value) exactjson.Value {
	return eachMessage(body, "messages", func(m exactjson.Value) exactjson.Value {
		if plan := m.Get("tool_plan"); plan.Str() != "" && m.Get("content").IsEmpty() {
			m = withMember(m, "content", plan)
		}
		content := m.Get("content")
		if m.Get("role").Str() != "tool" || content.Kind() != exactjson.Array || content.Len() == 0 {
			return m
		}
		var parts []exactjson.Value
		for _, part := range content.Members() {
			data := part.Value.Get("document").Get("data")
			if data.IsAbsent() {
				return m
			}
			parts = append(parts, data)
		}
		if len(parts) == 1 {
			return withMember(m, "content", parts[0])
		}
		return withMember(m, "content", exactjson.ArrayValue(parts...))
	})
}

func (r *reply) cohereFinish() string {
	return r.finish("COMPLETE", "TOOL_CALL", "MAX_TOKENS", "ERROR")
}

func (r *reply) cohereUsage() object {
	u := r.usage(true)
	counts := object{"input_tokens": u.in, "output_tokens": u.out}
	return object{"billed_units": counts, "tokens": counts}
}

func cohereCall(c tape.Part, args string) object {
	return object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": args}}
}

// cohereMessage is the answer. What is said before calls is their plan.
func (r *reply) cohereMessage() object {
	r.leave()
	m := object{"role": "assistant"}
	content := []object{}
	if thinking := r.texts(tape.PartReasoning); thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": thinking})
	}
	text, calls := r.texts(tape.PartText), r.calls()
	if len(calls) > 0 {
		if text != "" {
			m["tool_plan"] = text
		}
		list := []object{}
		for _, c := range calls {
			list = append(list, cohereCall(c, argsText(c)))
		}
		m["tool_calls"] = list
	} else {
		content = append(content, object{"type": "text", "text": text})
	}
	if len(content) > 0 {
		m["content"] = content
	}
	return m
}

func cohereEvents(r *reply) (list []event) {
	add := func(kind string, o object) {
		o["type"] = kind
		list = append(list, event{kind, o})
	}
	message := func(kind string, index int, m object) {
		add(kind, object{"index": index, "delta": object{"message": m}})
	}
	r.leave()
	add("message-start", object{"id": r.id("tapedeck-"), "delta": object{"message": object{"role": "assistant", "content": []object{}, "tool_plan": "", "tool_calls": []object{}, "citations": []object{}}}})
	blocks := 0
	block := func(kind, text string) {
		message("content-start", blocks, object{"content": object{"type": kind, kind: ""}})
		for _, piece := range r.pieces(text) {
			message("content-delta", blocks, object{"content": object{kind: piece}})
		}
		add("content-end", object{"index": blocks})
		blocks++
	}
	if thinking := r.texts(tape.PartReasoning); thinking != "" {
		block("thinking", thinking)
	}
	text, calls := r.texts(tape.PartText), r.calls()
	switch {
	case len(calls) == 0:
		block("text", text)
	case text != "":
		for _, piece := range r.pieces(text) {
			add("tool-plan-delta", object{"delta": object{"message": object{"tool_plan": piece}}})
		}
	}
	for i, c := range calls {
		message("tool-call-start", i, object{"tool_calls": cohereCall(c, "")})
		for _, piece := range r.pieces(argsText(c)) {
			message("tool-call-delta", i, object{"tool_calls": object{"function": object{"arguments": piece}}})
		}
		add("tool-call-end", object{"index": i})
	}
	add("message-end", object{"id": r.id("tapedeck-"), "delta": object{"finish_reason": r.cohereFinish(), "usage": r.cohereUsage()}})
	return list
}
