// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The protocols below are those of OpenAI and Anthropic as other providers serve them.

// anthropicVertex are the messages of Anthropic at the path of a publisher's model.
var anthropicVertex = &protocol{
	name: "anthropic-vertex", unsupported: anthropicMessages.unsupported, whole: anthropicMessages.whole, events: anthropicEvents, failure: anthropicMessages.failure, named: true,
}

// openRouterChat tells what the model thought in fields of its own, and ends each stream with the counts of
// tokens.
var openRouterChat = &protocol{
	name:        "openrouter-chat",
	unsupported: openAIChat.unsupported,
	whole: func(r *reply) any {
		o := openAIChat.whole(r).(object)
		o["provider"] = "tapedeck"
		choice := o["choices"].([]object)[0]
		choice["native_finish_reason"] = choice["finish_reason"]
		openRouterThought(choice["message"].(object))
		return o
	},
	events: func(r *reply) []event {
		list := chatEventsWith(r, true)
		for _, e := range list {
			o := e.data.(object)
			o["provider"] = "tapedeck"
			for _, choice := range o["choices"].([]object) {
				choice["native_finish_reason"] = choice["finish_reason"]
				openRouterThought(choice["delta"].(object))
			}
		}
		return list
	},
	failure: func(status int, kind, message string) any {
		return object{"error": object{"code": status, "message": message, "metadata": object{"type": kind}}}
	},
	done:     true,
	upstream: "/api/v1/chat/completions",
}

func openRouterThought(m object) {
	if thought, ok := m["reasoning_content"]; ok {
		delete(m, "reasoning_content")
		m["reasoning"], m["reasoning_details"] = thought, []object{{"type": "reasoning.text", "text": thought, "index": 0, "format": "unknown"}}
	}
}

// mistralChat streams each call whole, and the counts of tokens with the end. What the model thought is a
// part of the content.
var mistralChat = &protocol{
	name: "mistral-chat",
	read: func(body exactjson.Value) exactjson.Value {
		return eachMessage(body, "messages", func(m exactjson.Value) exactjson.Value {
			if m.Get("content").Kind() != exactjson.Array {
				return m
			}
			var kept []exactjson.Value
			for _, part := range m.Get("content").Members() {
				if part.Value.Get("type").Str() != "thinking" { // thoughts are not compared
					kept = append(kept, part.Value)
				}
			}
			return withMember(m, "content", exactjson.ArrayValue(kept...))
		})
	},
	unsupported: openAIChat.unsupported,
	whole: func(r *reply) any {
		m := r.mistralMessage()
		return object{
			"id": r.id("cmpl-"), "object": "chat.completion", "created": r.created(), "model": r.model(),
			"choices": []object{{"index": 0, "message": m, "finish_reason": r.chatFinish()}}, "usage": r.chatUsage(),
		}
	},
	events: func(r *reply) (list []event) {
		m := r.mistralMessage()
		add := func(delta object, finish any) object {
			o := object{
				"id": r.id("cmpl-"), "object": "chat.completion.chunk", "created": r.created(), "model": r.model(),
				"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
			}
			list = append(list, event{data: o})
			return o
		}
		add(object{"role": "assistant", "content": ""}, nil)
		if thought := r.texts(tape.PartReasoning); thought != "" {
			for _, piece := range r.pieces(thought) {
				add(object{"content": []object{mistralThought(piece)}}, nil)
			}
		}
		if text := r.texts(tape.PartText); text != "" {
			for _, piece := range r.pieces(text) {
				add(object{"content": piece}, nil)
			}
		}
		last := object{"content": ""}
		if calls, ok := m["tool_calls"]; ok {
			last["tool_calls"] = calls
		}
		add(last, r.chatFinish())["usage"] = r.chatUsage()
		return list
	},
	failure: func(status int, kind, message string) any {
		return object{"object": "error", "message": message, "type": kind, "param": nil, "code": itoa(status), "detail": []object{}}
	},
	done:     true,
	upstream: "/v1/chat/completions",
}

func mistralThought(text string) object {
	return object{"type": "thinking", "thinking": []object{{"type": "text", "text": text}}}
}

func (r *reply) mistralMessage() object {
	r.leave()
	text := r.texts(tape.PartText)
	m := object{"role": "assistant", "content": text}
	if thought := r.texts(tape.PartReasoning); thought != "" {
		m["content"] = []object{mistralThought(thought), {"type": "text", "text": text}}
	}
	list := []object{}
	for i, c := range r.calls() {
		list = append(list, object{"id": c.ID, "type": "function", "index": i, "function": object{"name": c.Name, "arguments": argsText(c)}})
	}
	if len(list) > 0 {
		m["tool_calls"] = list
	}
	return m
}

// withMember returns an object with one member set; an absent value changes nothing.
func withMember(o exactjson.Value, name string, value exactjson.Value) exactjson.Value {
	if value.IsAbsent() || o.Kind() != exactjson.Object {
		return o
	}
	members := make([]exactjson.Member, 0, o.Len()+1)
	for _, m := range o.Members() {
		if m.Name != name {
			members = append(members, m)
		}
	}
	return exactjson.ObjectValue(append(members, exactjson.Member{Name: name, Value: value})...)
}

// eachMessage returns a request with each message of a list changed.
func eachMessage(body exactjson.Value, list string, change func(exactjson.Value) exactjson.Value) exactjson.Value {
	messages := body.Get(list)
	if messages.Kind() != exactjson.Array {
		return body
	}
	changed := make([]exactjson.Value, 0, messages.Len())
	for _, m := range messages.Members() {
		changed = append(changed, change(m.Value))
	}
	return withMember(body, list, exactjson.ArrayValue(changed...))
}
