// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var openAIResponses = &protocol{
	name: "openai-responses",
	unsupported: func(body exactjson.Value) string {
		for _, option := range []string{"conversation", "prompt"} { // their content lies at the provider
			if !body.Get(option).IsEmpty() {
				return option
			}
		}
		if body.Get("background").True() {
			return "background"
		}
		return ""
	},
	whole:    func(r *reply) any { return r.response("completed", r.items()) },
	events:   responseEvents,
	failure:  openAIFailure,
	named:    true,
	echoes:   true,
	upstream: "/v1/responses",
}

const responsePrefix = "resp_"

// items are what the answer consists of.
func (r *reply) items() []object {
	r.leave(func(v exactjson.Value) bool { return r.responseTool(v) != nil || isServerResult(v) })
	list := []object{}
	own := func(prefix string) string {
		r.makeUp("item ids")
		return prefix + "tapedeck" + itoa(r.Seq()) + "_" + itoa(len(list))
	}
	if text := r.texts(tape.PartReasoning); text != "" {
		list = append(list, object{"type": "reasoning", "id": own("rs_"), "summary": []object{{"type": "summary_text", "text": text}}})
	}
	for _, p := range r.message.Parts {
		if item := r.responseTool(p.Value); p.Type == tape.PartData && item != nil {
			if item["id"] = p.Value.Get("id").Str(); item["id"] == "" {
				item["id"] = own("ws_")
			}
			list = append(list, item)
		}
	}
	if said := r.contents(); len(said) > 0 {
		list = append(list, object{"type": "message", "id": own("msg_"), "role": "assistant", "status": "completed", "content": said})
	}
	for _, c := range r.calls() {
		if r.custom(c) {
			list = append(list, object{"type": "custom_tool_call", "id": own("ctc_"), "call_id": c.ID, "name": c.Name, "input": argsText(c), "status": "completed"})
			continue
		}
		list = append(list, object{"type": "function_call", "id": own("fc_"), "call_id": c.ID, "name": c.Name, "arguments": argsText(c), "status": "completed"})
	}
	return list
}

// custom reports the call of a custom tool, which takes a text: it is offered as one, or has a text that is
// no JSON for its arguments, as no function does.
func (r *reply) custom(c tape.Part) bool {
	for _, m := range r.body.Get("tools").Members() {
		if m.Value.Get("name").Str() == c.Name {
			return m.Value.Get("type").Str() == "custom"
		}
	}
	return c.Args.Kind() == exactjson.String && !strings.HasPrefix(strings.TrimSpace(c.Args.Str()), "{") // else arguments that are cut or broken
}

// contents are the parts of the message of an answer: its text and its refusal.
func (r *reply) contents() (list []object) {
	refusal, text := r.refusal()
	if text != "" || refusal == "" && len(r.calls()) == 0 {
		list = append(list, outputText(text))
	}
	if refusal != "" {
		list = append(list, object{"type": "refusal", "refusal": refusal})
	}
	return list
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

// echoed are the settings of a request that an answer repeats, with the values of a request without them.
var echoed = []struct {
	name  string
	value any
}{
	{"instructions", nil}, {"metadata", object{}}, {"parallel_tool_calls", true}, {"temperature", 1}, {"tool_choice", "auto"}, {"tools", []object{}}, {"top_p", 1},
	{"max_output_tokens", nil}, {"previous_response_id", nil}, {"reasoning", object{"effort": nil, "summary": nil}}, {"text", object{"format": object{"type": "text"}}},
	{"truncation", "disabled"}, {"store", true},
}

func (r *reply) response(status string, items []object) object {
	o := object{"id": r.id(responsePrefix), "object": "response", "created_at": r.created(), "model": r.model(), "status": status, "error": nil, "incomplete_details": nil, "output": items, "usage": nil}
	for _, setting := range echoed {
		o[setting.name] = setting.value
		if given := r.body.Get(setting.name); !given.IsEmpty() {
			o[setting.name] = json.RawMessage(given.JSON())
		}
	}
	if status != "completed" {
		return o
	}
	u := r.usage(true)
	o["usage"] = object{
		"input_tokens": u.in, "output_tokens": u.out, "total_tokens": u.in + u.out,
		"input_tokens_details": object{"cached_tokens": u.read}, "output_tokens_details": object{"reasoning_tokens": u.reasoning},
	}
	if why := r.finish("", "", "max_output_tokens", "content_filter"); why != "" {
		o["status"], o["incomplete_details"] = "incomplete", object{"reason": why}
	}
	return o
}

// contentEvents are the events of one part of a message.
func (r *reply) contentEvents(part object, add func(kind string, o object)) {
	kind, member := "output_text", "text"
	more := func(o object) object { o["logprobs"] = []object{}; return o }
	empty := outputText("")
	if part["type"] == "refusal" {
		kind, member, empty = "refusal", "refusal", object{"type": "refusal", "refusal": ""}
		more = func(o object) object { return o }
	}
	text, _ := part[member].(string)
	add("content_part.added", object{"part": empty})
	for _, piece := range r.pieces(text) {
		add(kind+".delta", more(object{"delta": piece}))
	}
	add(kind+".done", more(object{member: text}))
	add("content_part.done", object{"part": part})
}

func responseEvents(r *reply) (list []event) {
	add := func(kind string, o object) {
		o["type"], o["sequence_number"] = "response."+kind, len(list)
		list = append(list, event{"response." + kind, o})
	}
	items := r.items()
	add("created", object{"response": r.response("in_progress", []object{})})
	add("in_progress", object{"response": r.response("in_progress", []object{})})
	for i, item := range items {
		at := func(o object) object {
			o["output_index"], o["item_id"] = i, item["id"]
			return o
		}
		begun := object{}
		for name, value := range item {
			begun[name] = value
		}
		switch item["type"] {
		case "reasoning":
			begun["summary"] = []object{}
			add("output_item.added", object{"output_index": i, "item": begun})
			text := r.texts(tape.PartReasoning)
			add("reasoning_summary_part.added", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			for _, piece := range r.pieces(text) {
				add("reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": piece}))
			}
			add("reasoning_summary_text.done", at(object{"summary_index": 0, "text": text}))
			add("reasoning_summary_part.done", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": text}}))
		case "message":
			begun["content"], begun["status"] = []object{}, "in_progress"
			add("output_item.added", object{"output_index": i, "item": begun})
			for k, part := range r.contents() {
				r.contentEvents(part, func(kind string, o object) {
					o["content_index"] = k
					add(kind, at(o))
				})
			}
		case "custom_tool_call":
			begun["input"], begun["status"] = "", "in_progress"
			add("output_item.added", object{"output_index": i, "item": begun})
			input, _ := item["input"].(string)
			for _, piece := range r.pieces(input) {
				add("custom_tool_call_input.delta", at(object{"delta": piece}))
			}
			add("custom_tool_call_input.done", at(object{"input": input}))
		case "function_call":
			begun["arguments"], begun["status"] = "", "in_progress"
			add("output_item.added", object{"output_index": i, "item": begun})
			arguments, _ := item["arguments"].(string)
			for _, piece := range r.pieces(arguments) {
				add("function_call_arguments.delta", at(object{"delta": piece}))
			}
			add("function_call_arguments.done", at(object{"arguments": arguments, "name": item["name"]}))
		default: // a tool of the provider
			add("output_item.added", object{"output_index": i, "item": begun})
		}
		add("output_item.done", object{"output_index": i, "item": item})
	}
	end := r.response("completed", items)
	add(end["status"].(string), object{"response": end})
	return list
}
