// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// uiMessages opens a message as the AI SDK holds it for a user interface: one message of the assistant is all steps of a run, and one part of it is
// a call together with its result. ok is false for any other message.
func uiMessages(v exactjson.Value) (messages []Message, ok bool) {
	body := v.Get("parts")
	if body.Kind() != exactjson.Array || RoleOf(v.Get("role").Str()) != tape.RoleAssistant || !slices.ContainsFunc(body.Members(), isUITool) {
		return nil, false
	}
	var step, results []Part
	end := func() {
		if len(step) > 0 {
			messages = append(messages, Message{Role: tape.RoleAssistant, Parts: step})
		}
		if len(results) > 0 {
			messages = append(messages, Message{Role: tape.RoleTool, Parts: results})
		}
		step, results = nil, nil
	}
	for _, m := range body.Members() {
		p := m.Value
		if name, call, is := uiTool(p); is {
			if ranAtProvider(call) {
				step = append(step, DataPart(call))
				continue
			}
			step = append(step, CallPart(TextOfID(call.Get("toolCallId")), name, call.First("input", "args")))
			switch call.Get("state").Str() {
			case "output-available", "result":
				result := call.Get("output") // null is an answer too
				if result.IsAbsent() {
					result = call.Get("result")
				}
				results = append(results, ResultPart(TextOfID(call.Get("toolCallId")), name, result, false))
			case "output-error":
				results = append(results, ResultPart(TextOfID(call.Get("toolCallId")), name, call.Get("errorText"), true))
			}
			continue
		}
		if p.Get("type").Str() == "step-start" {
			end()
			continue
		}
		if len(results) > 0 { // what follows a result is another step, marked or not
			end()
		}
		part, _ := PartOf(p)
		step = append(step, part)
	}
	end()
	return messages, true
}

func isUITool(m exactjson.Member) bool {
	_, _, is := uiTool(m.Value)
	return is
}

// uiTool reads a part that is a call: {type: "tool-NAME" or "dynamic-tool", toolCallId, state, input, output}, and before version 5
// {type: "tool-invocation", toolInvocation: {toolCallId, toolName, state, args, result}}. Parts that say "tool-call" or "tool-result" and name their tool are
// those of a message for a model.
func uiTool(p exactjson.Value) (name string, call exactjson.Value, ok bool) {
	kind := p.Get("type").Str()
	inner := p.Get("toolInvocation")
	switch rest, static := strings.CutPrefix(kind, "tool-"); {
	case kind == "tool-invocation" && inner.Kind() == exactjson.Object:
		p = inner
		name = p.Get("toolName").Str()
	case kind == "dynamic-tool":
		name = p.Get("toolName").Str()
	case static && p.Get("toolName").IsAbsent():
		name = rest
	}
	return name, p, name != "" && p.Get("toolCallId").Str() != "" && p.Get("state").Kind() == exactjson.String
}
