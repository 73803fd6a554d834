// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var anthropicMessages = &protocol{
	name:        "anthropic-messages",
	unsupported: func(exactjson.Value) string { return "" },
	whole: func(r *reply) any {
		return r.anthropicMessage(r.blocks(), r.anthropicFinish(), r.anthropicUsage())
	},
	events: anthropicEvents,
	failure: func(_ int, kind, message string) any {
		return object{"type": "error", "error": object{"type": kind, "message": message}}
	},
	named:    true,
	upstream: "/v1/messages",
}

func (r *reply) anthropicFinish() string {
	return r.finish("end_turn", "tool_use", "max_tokens", "refusal")
}

func (r *reply) anthropicUsage() object {
	u := r.usage(false)
	return object{"input_tokens": u.in, "output_tokens": u.out, "cache_read_input_tokens": u.read, "cache_creation_input_tokens": u.written}
}

func (r *reply) anthropicMessage(content []object, finish any, usage object) object {
	return object{"id": r.id("msg_"), "type": "message", "role": "assistant", "model": r.model(), "content": content, "stop_reason": finish, "stop_sequence": nil, "usage": usage}
}

// blocks are the parts of the answer in their order. Thinking carries a signature that only the provider can make.
func (r *reply) blocks() []object {
	r.leave(func(v exactjson.Value) bool { return r.anthropicTool(v) != nil })
	list := []object{}
	for _, p := range r.message.Parts {
		switch p.Type {
		case tape.PartText:
			list = append(list, object{"type": "text", "text": p.Text})
		case tape.PartReasoning:
			r.makeUp("thinking signature")
			list = append(list, object{"type": "thinking", "thinking": p.Text, "signature": "tapedeck"})
		case tape.PartToolCall:
			list = append(list, object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": r.argsObject(p)})
		case tape.PartData:
			if block := r.anthropicTool(p.Value); block != nil {
				list = append(list, block)
			}
		}
	}
	return list
}

func anthropicEvents(r *reply) (list []event) {
	add := func(kind string, o object) {
		o["type"] = kind
		list = append(list, event{kind, o})
	}
	blocks := r.blocks()
	usage := r.anthropicUsage()
	begun := r.anthropicUsage()
	begun["output_tokens"] = 0
	add("message_start", object{"message": r.anthropicMessage([]object{}, nil, begun)})
	for i, b := range blocks {
		start := object{}
		for name, value := range b {
			start[name] = value
		}
		delta := func(o object) { add("content_block_delta", object{"index": i, "delta": o}) }
		text := func(field, kind string) {
			whole, _ := b[field].(string)
			start[field] = ""
			if kind == "thinking_delta" {
				start["signature"] = ""
			}
			add("content_block_start", object{"index": i, "content_block": start})
			for _, piece := range r.pieces(whole) {
				delta(object{"type": kind, field: piece})
			}
		}
		switch b["type"] {
		case "text":
			text("text", "text_delta")
		case "thinking":
			text("thinking", "thinking_delta")
			delta(object{"type": "signature_delta", "signature": b["signature"]})
		default:
			input, called := b["input"].(json.RawMessage)
			if called {
				start["input"] = object{}
			}
			add("content_block_start", object{"index": i, "content_block": start})
			if !called { // what a tool of the provider found comes whole
				break
			}
			for _, piece := range r.pieces(string(input)) {
				delta(object{"type": "input_json_delta", "partial_json": piece})
			}
		}
		add("content_block_stop", object{"index": i})
	}
	add("message_delta", object{"delta": object{"stop_reason": r.anthropicFinish(), "stop_sequence": nil}, "usage": usage})
	add("message_stop", object{})
	return list
}
