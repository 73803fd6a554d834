// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// BodyCall is a call of a model or a tool in the JSON body of a log record. Loggers of agents write the
// request and the answer of a model, or the name, arguments and result of a tool, as members of one object.
// The name of the event may be any.
type BodyCall struct {
	request, answer, offered  exactjson.Value
	tool, args, result, lane  exactjson.Value
	sent, said                []decode.Message
	inputTokens, outputTokens *int64
	hasRequest, hasAnswer     bool
}

// ReadBodyCall reads the body of a record (LogBody). A body that reports no call has no class.
func ReadBodyCall(a decode.Attributes) (c BodyCall) {
	body, _ := decode.Structure(a.JSON(LogBody))
	if body.Kind() != exactjson.Object {
		return BodyCall{}
	}
	c.lane = body.First("agent_id", "agent_name", "agent")
	c.tool, c.args, c.result = body.First("tool_name", "function_name"), body.First("arguments", "args"), body.First("result", "output")
	if c.tool.Str() != "" {
		return c
	}
	c.request, c.offered = body.First("messages", "input_messages"), body.Get("tools")
	c.answer = body.First("response", "completion", "output_message")
	usage := body.Get("usage")
	if usage.IsAbsent() {
		usage = body
	}
	c.inputTokens = decode.OptionalCount(usage.First("prompt_tokens", "input_tokens"))
	c.outputTokens = decode.OptionalCount(usage.First("completion_tokens", "output_tokens"))
	if c.request.Kind() == exactjson.Array && c.request.Len() > 0 {
		c.sent, c.hasRequest = decode.Messages(c.request, tape.RoleUser)
	}
	if c.answer.Kind() == exactjson.Object {
		answer, _ := decode.Messages(c.answer, tape.RoleAssistant)
		c.said = decode.OneTurn(answer)
		if calls := c.answer.Get("content"); calls.Kind() == exactjson.Array && !calls.At(0).Get("arguments").IsAbsent() {
			// what a stream asked for
			parts := decode.ChatCalls(calls)
			if thought := c.answer.Get("thought").Str(); thought != "" {
				parts = append([]decode.Part{decode.TextPart(thought)}, parts...)
			}
			c.said = []decode.Message{{Role: tape.RoleAssistant, Parts: parts}}
		}
		c.hasAnswer = len(c.said) > 0
	}
	return c
}

// MayHoldCall tells whether the body of a log record is worth reading (see ReadBodyCall). Most bodies are no
// JSON, or of no call. It looks for a few words.
func MayHoldCall(body pcommon.Value) bool {
	switch body.Type() {
	case pcommon.ValueTypeMap:
		m := body.Map()
		for _, key := range []string{"messages", "input_messages", "request", "input", "response", "completion", "tool_name", "function_name", "content"} {
			if _, ok := m.Get(key); ok {
				return true
			}
		}
		return false
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		text := decode.TextOf(body)
		return strings.HasPrefix(text, "{") && (strings.Contains(text, `"role"`) || strings.Contains(text, `"content"`) || strings.Contains(text, `_name"`) && (strings.Contains(text, `"arg`) || strings.Contains(text, `"result"`) || strings.Contains(text, `"output"`)))
	default:
		return false
	}
}

// Role is what the record is to its call.
func (c *BodyCall) Role() LogRole {
	role := LogRole{Alone: true, Lane: c.lane.Str()}
	switch {
	case c.tool.Str() != "":
		role.Class = Tool
	case c.hasRequest && !c.hasAnswer:
		role.Class, role.Opens, role.Part = Model, true, "request"
	case c.hasAnswer:
		role.Class, role.Opens, role.Part = Model, c.hasRequest, "answer"
	}
	return role
}

// Certain says that the members can be nothing but a call, whoever wrote them. Applications log messages with
// roles, answers of services and names of tools too.
//
// A request asks for something. It stands beside its answer, the definitions of its tools or the instructions
// of the model, and models know the role of each of its messages. An answer stands beside the tokens that it
// took. A tool stands beside an object of arguments and a result.
func (c *BodyCall) Certain() bool {
	if c.tool.Str() != "" {
		args, _ := decode.Structure(c.args)
		return args.Kind() == exactjson.Object && !c.result.IsAbsent()
	}
	tokens := c.inputTokens != nil && c.outputTokens != nil
	if !c.hasRequest {
		return c.hasAnswer && tokens
	}
	asked, instructed := false, false
	for _, m := range c.request.Members() {
		role, known := decode.KnownRole(m.Value.Get("role").Str())
		if !known {
			return false
		}
		asked, instructed = asked || role == tape.RoleUser, instructed || role == tape.RoleSystem
	}
	return asked && (c.hasAnswer || instructed || len(decode.ToolDefinitions(c.offered)) > 0)
}

// Fill fills a call with what the record says of it. A record of another class says nothing.
func (c *BodyCall) Fill(o *Draft) {
	switch {
	case o.Class != c.Role().Class:
	case o.Class == Tool:
		decode.FillString(&o.Name, c.tool.Str())
		if !c.args.IsAbsent() && !o.Args.Present() {
			o.Args = decode.Args(c.args)
		}
		if !c.result.IsAbsent() && !o.Result.Present() {
			o.Result = decode.UnwrapResult(decode.Result(c.result, false)).Content
		}
	case o.Class == Model:
		decode.FillString(&o.Operation, "chat")
		decode.FillList(&o.Request, c.sent)
		o.Tools = append(o.Tools, decode.ToolDefinitions(c.offered)...)
		if !c.hasAnswer {
			o.Streaming = true
			return
		}
		decode.FillList(&o.Response, c.said)
		decode.FillString(&o.ResponseID, c.answer.Get("id").Str())
		decode.FillString(&o.ResponseModel, c.answer.Get("model").Str())
		decode.FillUsage(&o.Usage, tape.Usage{InputTokens: c.inputTokens, OutputTokens: c.outputTokens})
		name, _, _ := strings.Cut(c.lane.Str(), "/")
		decode.FillString(&o.Agent.Name, name)
	}
}
