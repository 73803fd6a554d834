// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ServerCall is a call of a tool that the provider ran within a model call, as the answer shows it.
type ServerCall struct {
	ID, Name string
	Args     exactjson.Value
	Result   exactjson.Value // absent: the answer does not show it
	IsError  bool
}

// ServerCalls reads the calls that the provider ran from the parts of an answer. These parts are data: no
// client is asked for anything.
func ServerCalls(parts []Part) []ServerCall {
	var calls []ServerCall
	open := map[string][]int{} // by id: the calls without a result, the last one last
	for i := range parts {
		if parts[i].Type != tape.PartData || parts[i].Value.Kind() != exactjson.Object {
			continue
		}
		v := parts[i].Value
		if call, ok := serverCall(v); ok {
			if call.Result.IsAbsent() {
				open[call.ID] = append(open[call.ID], len(calls))
			}
			calls = append(calls, call)
		} else if id, result, ok := serverResult(v); ok && len(open[id]) > 0 {
			last := len(open[id]) - 1
			calls[open[id][last]].answer(v, result)
			open[id] = open[id][:last]
		}
	}
	return calls
}

// serverCall reads a part that says what the provider ran.
func serverCall(v exactjson.Value) (ServerCall, bool) {
	kind := v.Get("type").Str()
	c := ServerCall{ID: TextOfID(v.First("id", "call_id", "toolCallId", "tool_call_id")), Name: v.First("name", "toolName", "tool_name").Str()}
	switch kind {
	case "server_tool_call":
		c.Args = lessMember(v.Get(kind), "type")
		FillString(&c.Name, v.Get(kind).Get("type").Str())
	case "server_tool_use", "mcp_tool_use", "tool_call", "tool-call", "tool_use":
		p := ToolCallPart(v)
		c.ID, c.Name, c.Args = p.ID, p.Name, p.Args
	case "web_search_call":
		c.Name, c.Args = "web_search", lessMember(v.Get("action"), "type")
	case "file_search_call":
		c.Name, c.Args, c.Result = "file_search", members(v, "queries"), v.Get("results")
	case "code_interpreter_call":
		c.Name, c.Args, c.Result = "code_interpreter", members(v, "code"), v.Get("outputs")
	case "image_generation_call":
		c.Name = "image_generation"
	case "":
		code := v.First("executableCode", "executable_code")
		c.Name, c.Args = "code_execution", code
		return c, code.Kind() == exactjson.Object
	default: // a result, or a part of unknown shape
		return ServerCall{}, false
	}
	if c.Result.Kind() == exactjson.Null {
		c.Result = exactjson.Value{}
	}
	c.IsError = v.Get("status").Str() == "failed"
	return c, c.Name != ""
}

func isServerResult(kind string) bool {
	return kind == "server_tool_call_response" || kind == "tool_call_response" || kind == "tool-result" || strings.HasSuffix(kind, "tool_result")
}

// serverResult reads a part that says what came of such a call.
func serverResult(v exactjson.Value) (id string, result exactjson.Value, ok bool) {
	if printed := v.First("codeExecutionResult", "code_execution_result"); printed.Kind() == exactjson.Object {
		return "", printed, true
	}
	kind := v.Get("type").Str()
	if !isServerResult(kind) {
		return "", exactjson.Value{}, false
	}
	id = TextOfID(v.First("tool_use_id", "id", "call_id", "toolCallId", "tool_call_id"))
	if kind == "server_tool_call_response" {
		return id, lessMember(v.Get(kind), "type"), true
	}
	return id, v.First("result", "response", "output", "content"), true
}

// answer gives a call the result that a part holds.
func (c *ServerCall) answer(v, result exactjson.Value) {
	c.Result = result
	c.IsError = c.IsError || v.First("is_error", "isError").True() || strings.HasSuffix(result.Get("type").Str(), "_error") || !result.Get("error_code").IsEmpty()
}

// lessMember returns an object less one member.
func lessMember(v exactjson.Value, name string) exactjson.Value {
	if v.Kind() != exactjson.Object {
		return v
	}
	var left []exactjson.Member
	for _, m := range v.Members() {
		if m.Name != name {
			left = append(left, m)
		}
	}
	return exactjson.ObjectValue(left...)
}

// members returns an object of the named member, absent where there is none.
func members(v exactjson.Value, name string) exactjson.Value {
	if v.Get(name).IsEmpty() {
		return exactjson.Value{}
	}
	return exactjson.ObjectValue(exactjson.Member{Name: name, Value: v.Get(name)})
}
