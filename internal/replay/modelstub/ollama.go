// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var ollamaChat = &protocol{
	name:        "ollama-chat",
	unsupported: noOptions,
	whole:       func(r *reply) any { return r.ollamaLast(object{"message": r.ollamaMessage()}) },
	events: func(r *reply) []event {
		return r.ollamaEvents(func(field, piece string) object {
			m := object{"role": "assistant", "content": ""}
			m[field] = piece
			return object{"message": m}
		}, "content")
	},
	failure:  ollamaFailure,
	framing:  jsonLines,
	streams:  true,
	upstream: "/api/chat",
}

var ollamaGenerate = &protocol{
	name: "ollama-generate",
	unsupported: func(body exactjson.Value) string {
		if !body.Get("suffix").IsEmpty() { // a text with a gap is no conversation
			return "suffix"
		}
		return ""
	},
	whole: func(r *reply) any {
		o := object{"response": r.texts(tape.PartText)}
		if thinking := r.texts(tape.PartReasoning); thinking != "" {
			o["thinking"] = thinking
		}
		r.left = leftOut(r.message, tape.PartText, tape.PartReasoning) // calls too
		return r.ollamaLast(o)
	},
	events: func(r *reply) []event {
		list := r.ollamaEvents(func(field, piece string) object {
			o := object{"response": ""}
			o[field] = piece
			return o
		}, "response")
		r.left = leftOut(r.message, tape.PartText, tape.PartReasoning)
		return list
	},
	failure:  ollamaFailure,
	framing:  jsonLines,
	streams:  true,
	upstream: "/api/generate",
}

func noOptions(exactjson.Value) string { return "" }

func ollamaFailure(_ int, _, message string) any { return object{"error": message} }

func (r *reply) ollamaHead(o object) object {
	o["model"], o["created_at"] = r.model(), time.Unix(r.created(), 0).UTC().Format(time.RFC3339)
	return o
}

// ollamaLast adds what stands in the last object of an answer. The protocol has no id.
func (r *reply) ollamaLast(o object) object {
	u, whole := r.usage(true), r.event().DurationMS*int64(time.Millisecond)
	o = r.ollamaHead(o)
	o["done"], o["done_reason"] = true, r.finish("stop", "stop", "length", "stop")
	o["total_duration"], o["load_duration"], o["prompt_eval_duration"], o["eval_duration"] = whole, 0, 0, whole
	o["prompt_eval_count"], o["eval_count"] = u.in, u.out
	return o
}

func (r *reply) ollamaMessage() object {
	r.leave()
	m := object{"role": "assistant", "content": r.texts(tape.PartText)}
	if thinking := r.texts(tape.PartReasoning); thinking != "" {
		m["thinking"] = thinking
	}
	if calls := r.calls(); len(calls) > 0 {
		m["tool_calls"] = r.ollamaCalls(calls)
	}
	return m
}

func (r *reply) ollamaCalls(calls []tape.Part) []object {
	list := []object{}
	for i, c := range calls {
		list = append(list, object{"id": c.ID, "function": object{"index": i, "name": c.Name, "arguments": r.argsObject(c)}})
	}
	return list
}

// ollamaEvents are the objects of a stream. said makes one with a piece of a text in a field; last is the
// field of the answer itself.
func (r *reply) ollamaEvents(said func(field, piece string) object, last string) (list []event) {
	add := func(o object) {
		o["done"] = false
		list = append(list, event{data: r.ollamaHead(o)})
	}
	r.leave()
	for _, kind := range []struct {
		part  tape.PartType
		field string
	}{{tape.PartReasoning, "thinking"}, {tape.PartText, last}} {
		if text := r.texts(kind.part); text != "" {
			for _, piece := range r.pieces(text) {
				add(said(kind.field, piece))
			}
		}
	}
	if calls := r.calls(); len(calls) > 0 && last == "content" {
		add(object{"message": object{"role": "assistant", "content": "", "tool_calls": r.ollamaCalls(calls)}})
	}
	return append(list, event{data: r.ollamaLast(said(last, ""))})
}
