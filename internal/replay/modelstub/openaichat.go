// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var openAIChat = &protocol{
	name: "openai-chat",
	unsupported: func(body exactjson.Value) string {
		if n, given := body.Get("n").Int(); given && n > 1 {
			return "n greater than 1"
		}
		if !body.Get("audio").IsEmpty() {
			return "audio"
		}
		return ""
	},
	whole: func(r *reply) any {
		return object{
			"id": r.id("chatcmpl-"), "object": "chat.completion", "created": r.created(), "model": r.model(),
			"choices": []object{{"index": 0, "message": r.chatMessage(), "finish_reason": r.chatFinish(), "logprobs": nil}},
			"usage":   r.chatUsage(),
		}
	},
	events:   chatEvents,
	failure:  openAIFailure,
	done:     true,
	upstream: "/v1/chat/completions",
}

func openAIFailure(_ int, kind, message string) any {
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": kind}}
}

func (r *reply) chatFinish() string {
	return r.finish("stop", "tool_calls", "length", "content_filter")
}

func (r *reply) chatMessage() object {
	r.leave()
	m := object{"role": "assistant", "content": nil, "refusal": nil}
	refusal, text := r.refusal()
	if refusal != "" {
		m["refusal"] = refusal
	}
	if text != "" || len(r.calls()) == 0 && refusal == "" {
		m["content"] = text
	}
	if reasoning := r.texts(tape.PartReasoning); reasoning != "" {
		m["reasoning_content"] = reasoning
	}
	if calls := r.calls(); len(calls) > 0 {
		list := []object{}
		for _, c := range calls {
			list = append(list, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": argsText(c)}})
		}
		m["tool_calls"] = list
	}
	return m
}

func (r *reply) chatUsage() object {
	u := r.usage(true)
	return object{
		"prompt_tokens": u.in, "completion_tokens": u.out, "total_tokens": u.in + u.out,
		"prompt_tokens_details": object{"cached_tokens": u.read}, "completion_tokens_details": object{"reasoning_tokens": u.reasoning},
	}
}

// wantsUsage reports whether a request asks a stream to end with the counts of tokens.
func wantsUsage(body exactjson.Value) bool {
	return body.Get("stream_options").Get("include_usage").True()
}

func chatEvents(r *reply) []event { return chatEventsWith(r, wantsUsage(r.body)) }

func chatEventsWith(r *reply, usage bool) (list []event) {
	head := object{"id": r.id("chatcmpl-"), "object": "chat.completion.chunk", "created": r.created(), "model": r.model()}
	chunk := func(choices []object, usage any) {
		c := object{"choices": choices}
		for name, value := range head {
			c[name] = value
		}
		if usage != nil {
			c["usage"] = usage
		}
		list = append(list, event{data: c})
	}
	delta := func(d object) { chunk([]object{{"index": 0, "delta": d, "finish_reason": nil}}, nil) }
	r.leave()
	delta(object{"role": "assistant", "content": ""})
	if reasoning := r.texts(tape.PartReasoning); reasoning != "" {
		for _, piece := range r.pieces(reasoning) {
			delta(object{"reasoning_content": piece})
		}
	}
	refusal, text := r.refusal()
	if text != "" {
		for _, piece := range r.pieces(text) {
			delta(object{"content": piece})
		}
	}
	if refusal != "" {
		for _, piece := range r.pieces(refusal) {
			delta(object{"refusal": piece})
		}
	}
	for i, c := range r.calls() {
		delta(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}})
		for _, piece := range r.pieces(argsText(c)) {
			delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}})
		}
	}
	chunk([]object{{"index": 0, "delta": object{}, "finish_reason": r.chatFinish()}}, nil)
	if usage {
		chunk([]object{}, r.chatUsage())
	}
	return list
}
