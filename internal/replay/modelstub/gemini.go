// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var geminiGenerate = &protocol{
	name: "gemini-generate-content",
	unsupported: func(body exactjson.Value) string {
		if n, given := body.Get("generationConfig").Get("candidateCount").Int(); given && n > 1 {
			return "candidateCount greater than 1"
		}
		if !body.Get("cachedContent").IsEmpty() { // lies at the provider
			return "cachedContent"
		}
		return ""
	},
	whole: func(r *reply) any {
		return r.generated(r.geminiParts(false), r.finish("STOP", "STOP", "MAX_TOKENS", "SAFETY"))
	},
	events: func(r *reply) (list []event) {
		parts := r.geminiParts(true)
		for i, p := range parts {
			finish := ""
			if i == len(parts)-1 {
				finish = r.finish("STOP", "STOP", "MAX_TOKENS", "SAFETY")
			}
			list = append(list, event{data: r.generated([]object{p}, finish)})
		}
		return list
	},
	failure: func(status int, kind, message string) any {
		return object{"error": object{"code": status, "message": message, "status": kind}}
	},
	upstream: "/v1beta/models/", // and the model
}

// geminiParts are the parts of the answer, at least one; for a stream texts are cut into pieces.
func (r *reply) geminiParts(stream bool) []object {
	r.leave(func(v exactjson.Value) bool { return geminiTool(v) != nil })
	list := []object{}
	for _, p := range r.message.Parts {
		switch p.Type {
		case tape.PartText, tape.PartReasoning:
			pieces := []string{p.Text}
			if stream {
				pieces = r.pieces(p.Text)
			}
			for _, piece := range pieces {
				part := object{"text": piece}
				if p.Type == tape.PartReasoning {
					part["thought"] = true
				}
				list = append(list, part)
			}
		case tape.PartToolCall:
			list = append(list, object{"functionCall": object{"id": p.ID, "name": p.Name, "args": r.argsObject(p)}})
		case tape.PartData:
			if part := geminiTool(p.Value); part != nil {
				list = append(list, part)
			}
		}
	}
	if len(list) == 0 {
		list = append(list, object{"text": ""})
	}
	return list
}

func (r *reply) generated(parts []object, finish string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	o := object{
		"candidates": []object{candidate}, "modelVersion": r.model(), "responseId": r.id("response-"), "createTime": time.Unix(r.created(), 0).UTC().Format(time.RFC3339),
	}
	if finish != "" {
		candidate["finishReason"] = finish
		u := r.usage(true)
		o["usageMetadata"] = object{
			"promptTokenCount": u.in, "candidatesTokenCount": u.out, "totalTokenCount": u.in + u.out + u.reasoning, "cachedContentTokenCount": u.read, "thoughtsTokenCount": u.reasoning,
		}
	}
	return o
}
