// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var bedrockConverse = &protocol{
	name: "bedrock-converse",
	read: func(body exactjson.Value) exactjson.Value {
		return withMember(body, "tools", body.Get("toolConfig").Get("tools"))
	},
	unsupported: func(body exactjson.Value) string {
		if !body.Get("promptVariables").IsEmpty() { // the prompt lies at the provider
			return "promptVariables"
		}
		return ""
	},
	whole: func(r *reply) any {
		return object{
			"output":  object{"message": object{"role": "assistant", "content": r.converseBlocks()}},
			"metrics": r.converseMetrics(), "stopReason": r.converseFinish(), "usage": r.converseUsage(),
		}
	},
	events:  converseEvents,
	failure: bedrockFailure,
	framing: awsEvents,
}

// anthropicBedrock are the messages of Anthropic as the body of InvokeModel. The events of a stream are
// packed once more.
var anthropicBedrock = &protocol{
	name:        "anthropic-bedrock",
	unsupported: anthropicMessages.unsupported,
	whole:       anthropicMessages.whole,
	events: func(r *reply) (list []event) {
		for _, e := range anthropicEvents(r) {
			list = append(list, event{"chunk", object{"bytes": bytes.TrimRight(encode(e.data), "\n")}}) // as base64
		}
		return list
	},
	failure: bedrockFailure,
	framing: awsEvents,
}

// bedrockRoute tells what InvokeModel is asked for by the model: who made it decides what the body looks
// like.
func bedrockRoute(r route) route {
	if r.p != anthropicBedrock {
		return r
	}
	switch {
	case strings.Contains(r.model, "anthropic.") || strings.Contains(r.model, "claude"):
	case strings.Contains(r.model, "titan-embed"):
		r.p, r.beside = nil, embedTitan
	case strings.Contains(r.model, "cohere.embed"):
		r.p, r.beside = nil, embedCohere
	case strings.Contains(r.model, "rerank"):
		r.p, r.beside = nil, rerank
	default:
		r.p = nil
	}
	return r
}

// bedrockErrors are the names of errors, by their status.
var bedrockErrors = map[int]string{
	http.StatusBadRequest: "ValidationException", http.StatusUnauthorized: "AccessDeniedException", http.StatusForbidden: "AccessDeniedException", http.StatusNotFound: "ResourceNotFoundException",
	http.StatusRequestTimeout: "ModelTimeoutException", http.StatusTooManyRequests: "ThrottlingException", http.StatusInternalServerError: "InternalServerException",
	http.StatusServiceUnavailable: "ServiceUnavailableException",
}

// bedrockFailure is an error as the SDKs of AWS read it: by __type, where no header names it.
func bedrockFailure(status int, kind, message string) any {
	if known := bedrockErrors[status]; known != "" && !strings.HasSuffix(kind, "Exception") {
		kind = known
	}
	return object{"__type": kind, "message": message}
}

func (r *reply) converseFinish() string {
	return r.finish("end_turn", "tool_use", "max_tokens", "content_filtered")
}

func (r *reply) converseUsage() object {
	u := r.usage(false)
	return object{
		"inputTokens": u.in, "outputTokens": u.out, "totalTokens": u.in + u.out + u.read + u.written, "cacheReadInputTokens": u.read, "cacheWriteInputTokens": u.written,
	}
}

func (r *reply) converseMetrics() object { return object{"latencyMs": r.event().DurationMS} }

// converseBlocks are the parts of the answer in their order. Thinking carries a signature that only the
// provider can make.
func (r *reply) converseBlocks() []object {
	r.leave()
	list := []object{}
	for _, p := range r.message.Parts {
		switch p.Type {
		case tape.PartText:
			list = append(list, object{"text": p.Text})
		case tape.PartReasoning:
			r.makeUp("thinking signature")
			list = append(list, object{"reasoningContent": object{"reasoningText": object{"text": p.Text, "signature": "tapedeck"}}})
		case tape.PartToolCall:
			list = append(list, object{"toolUse": object{"toolUseId": p.ID, "name": p.Name, "input": r.argsObject(p)}})
		}
	}
	return list
}

func converseEvents(r *reply) (list []event) {
	add := func(kind string, o object) { list = append(list, event{kind, o}) }
	r.leave()
	add("messageStart", object{"role": "assistant"})
	i := 0
	for _, p := range r.message.Parts {
		delta := func(o object) { add("contentBlockDelta", object{"contentBlockIndex": i, "delta": o}) }
		switch p.Type {
		case tape.PartText:
			for _, piece := range r.pieces(p.Text) {
				delta(object{"text": piece})
			}
		case tape.PartReasoning:
			for _, piece := range r.pieces(p.Text) {
				delta(object{"reasoningContent": object{"text": piece}})
			}
			r.makeUp("thinking signature")
			delta(object{"reasoningContent": object{"signature": "tapedeck"}})
		case tape.PartToolCall:
			add("contentBlockStart", object{"contentBlockIndex": i, "start": object{"toolUse": object{"toolUseId": p.ID, "name": p.Name}}})
			for _, piece := range r.pieces(string(r.argsObject(p))) {
				delta(object{"toolUse": object{"input": piece}})
			}
		default:
			continue
		}
		add("contentBlockStop", object{"contentBlockIndex": i})
		i++
	}
	add("messageStop", object{"stopReason": r.converseFinish()})
	add("metadata", object{"metrics": r.converseMetrics(), "usage": r.converseUsage()})
	return list
}

// awsMessage is an event in the framing of AWS: a length, headers and a payload, each with a sum.
func awsMessage(b *bytes.Buffer, e event) {
	m := eventstream.Message{Payload: bytes.TrimRight(encode(e.data), "\n")}
	for _, h := range [][2]string{{":event-type", e.name}, {":content-type", wholeJSON}, {":message-type", "event"}} {
		m.Headers.Set(h[0], eventstream.StringValue(h[1]))
	}
	if err := eventstream.NewEncoder().Encode(b, m); err != nil {
		panic(err) // short names, and pieces of an answer
	}
}
