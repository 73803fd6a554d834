// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A tool that the provider runs within a model call, such as a search of the web, stands in the answer as
// parts of a kind that the tape keeps verbatim. They are served back in a protocol that has such parts.

// leave notes the kinds of parts that the protocol cannot carry. carries tells those of the provider that it
// can.
func (r *reply) leave(carries ...func(exactjson.Value) bool) {
	r.left = nil
	m := tape.Message{}
	for _, p := range r.message.Parts {
		if p.Type != tape.PartData || len(carries) == 0 || !carries[0](p.Value) {
			m.Parts = append(m.Parts, p)
		}
	}
	r.left = leftOut(m, tape.PartText, tape.PartReasoning, tape.PartToolCall)
}

// objectOf is a recorded object that is about to be written.
func objectOf(v exactjson.Value) object {
	o := object{}
	for _, m := range v.Members() {
		o[m.Name] = json.RawMessage(m.Value.JSON())
	}
	return o
}

// anthropicTool is the block of a tool that the provider ran; nil for any other value. OpenTelemetry has
// names of its own for the blocks.
func (r *reply) anthropicTool(v exactjson.Value) object {
	kind := v.Get("type").Str()
	id := v.First("id", "tool_use_id", "call_id", "tool_call_id", "toolCallId").Str()
	switch {
	case kind == "server_tool_use", kind == "mcp_tool_use":
		block := objectOf(v)
		if block["type"] = kind; v.Get("input").Kind() != exactjson.Object {
			block["input"] = json.RawMessage("{}")
		}
		return block
	case strings.HasSuffix(kind, "_tool_result"):
		block := objectOf(v)
		block["type"] = kind
		return block
	case kind == "server_tool_call" && id != "" && v.Get("name").Str() != "":
		r.makeUp("tools of the provider")
		return object{"type": "server_tool_use", "id": id, "name": v.Get("name").Str(), "input": raw(withoutType(v.Get(kind)))}
	case kind == "server_tool_call_response" && id != "" && r.providerTool(id) != "":
		r.makeUp("tools of the provider")
		found := v.Get(kind)
		block := object{"type": r.providerTool(id) + "_tool_result", "tool_use_id": id, "content": withoutType(found)}
		if list := found.Get("results"); list.Kind() == exactjson.Array {
			block["content"] = json.RawMessage(list.JSON())
		}
		return block
	case id == "" || !v.Get("builtin").True() && !v.Get("providerExecuted").True() && !strings.HasPrefix(id, "srvtoolu_"):
		return nil
	case kind == "tool_call" || kind == "tool-call":
		input := v.First("arguments", "args", "input")
		if input.Kind() != exactjson.Object {
			input = exactjson.ObjectValue()
		}
		r.makeUp("tools of the provider")
		return object{"type": "server_tool_use", "id": id, "name": v.First("name", "toolName").Str(), "input": json.RawMessage(input.JSON())}
	case kind == "tool_call_response" || kind == "tool-result" || kind == "tool_result":
		name := v.First("name", "toolName").Str()
		if name == "" {
			name = r.providerTool(id)
		}
		result := v.First("result", "response", "output", "content")
		if name == "" || result.IsAbsent() {
			return nil
		}
		r.makeUp("tools of the provider")
		return object{"type": name + "_tool_result", "tool_use_id": id, "content": json.RawMessage(result.JSON())}
	}
	return nil
}

// providerTool is the name of the tool that the provider ran under an id, as the call says it.
func (r *reply) providerTool(id string) string {
	for _, p := range r.message.Parts {
		if name := p.Value.First("name", "toolName").Str(); p.Type == tape.PartData && name != "" && p.Value.First("id", "toolCallId").Str() == id {
			return name
		}
	}
	return ""
}

// raw is an object as the stream cuts it.
func raw(o object) json.RawMessage {
	text, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}

// withoutType is an object less the member that says what it is.
func withoutType(v exactjson.Value) object {
	o := objectOf(v)
	delete(o, "type")
	return o
}

// geminiTool is the part of code that the provider ran, or of what it printed; nil for any other value.
func geminiTool(v exactjson.Value) object {
	for _, names := range [][2]string{{"executableCode", "executable_code"}, {"codeExecutionResult", "code_execution_result"}} {
		if part := v.First(names[0], names[1]); part.Kind() == exactjson.Object {
			return object{names[0]: json.RawMessage(part.JSON())}
		}
	}
	return nil
}

// responseTools are the items of the Responses API that the provider fills in.
var responseTools = []string{"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_list_tools"}

// responseTool is the item of a tool that the provider ran; nil for any other value. What OpenTelemetry
// records of the call and of its result under names of its own is one item.
func (r *reply) responseTool(v exactjson.Value) object {
	kind := v.Get("type").Str()
	if slices.Contains(responseTools, kind) {
		item := objectOf(v)
		item["type"] = kind
		return item
	}
	asked, id := v.Get(kind), v.Get("id").Str()
	item := object{"type": v.Get("name").Str() + "_call", "id": id, "status": "completed"}
	if kind != "server_tool_call" || !slices.Contains(responseTools, v.Get("name").Str()+"_call") {
		return nil
	}
	r.makeUp("tools of the provider")
	if item["type"] == "web_search_call" {
		action := withoutType(asked)
		action["type"] = "search"
		item["action"] = action
		return item
	}
	for name, value := range withoutType(asked) {
		item[name] = value
	}
	for _, p := range r.message.Parts {
		if p.Type == tape.PartData && p.Value.Get("type").Str() == "server_tool_call_response" && p.Value.Get("id").Str() == id {
			for name, value := range withoutType(p.Value.Get("server_tool_call_response")) {
				item[name] = value
			}
		}
	}
	return item
}

// isServerResult reports the result of a tool that the provider ran, which stands in the item of its call.
func isServerResult(v exactjson.Value) bool {
	return v.Get("type").Str() == "server_tool_call_response"
}
