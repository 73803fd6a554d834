// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package google reads the Agent Development Kit, Gemini CLI, Genkit and the google-genai SDK.
package google

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ADK reads Google's Agent Development Kit in Python, TypeScript, Go and Java: invocation → invoke_agent →
// call_llm → execute_tool. The native attributes hold the whole request and response; a generate_content span
// inside call_llm is the same call. Keys inside are written in snake or camel case, as the language has it.
var ADK = &dialect.Dialect{
	ID:     "google-adk",
	Name:   "Google Agent Development Kit",
	Scopes: []string{"gcp.vertex.agent"},
	Marks:  []string{"gcp.vertex.agent."},
	Root:   "`invocation`, else the outermost `invoke_agent` or `invoke_workflow`",
	Rooted: true,
	Rootless: func(s *dialect.Source) bool { // Go before 1.0: model and tool calls alone, under the old names
		a := decode.Attributes(s.Span.Attributes())
		return decode.Attributes(s.Resource).Text("telemetry.sdk.language") == "go" && a.Has("gcp.vertex.agent.llm_request")
	},
	Encoded: true,
	Switch: "Python from 2.13: `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` (`true` writes log records alone); Python before and TypeScript: on by default " +
		"(`ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=false` turns it off); Go: message content in log records, with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	Settings: []dialect.Setting{
		{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "SPAN_ONLY"}, {Name: "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS", Value: "true"},
		{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "true", Yields: true}, // in Go
	},
	Classify: classifyADK,
	Read:     readADK,
}

func classifyADK(s *dialect.Source) (dialect.Class, bool) {
	name := s.Span.Name()
	first, _, _ := strings.Cut(name, " ")
	switch first {
	case "invocation", "agent_run", "invoke_agent", "invoke_workflow":
		return dialect.Agent, true
	case "call_llm", "generate_content":
		return dialect.Model, false
	case "execute_tool", "tool_call":
		if strings.HasPrefix(strings.TrimPrefix(name, first+" "), "(merged") || decode.Attributes(s.Span.Attributes()).Text("gen_ai.tool.name") == "(merged tools)" {
			return dialect.Noise, false // one span more that repeats the results of parallel calls
		}
		return dialect.Tool, false
	case "tool_response": // early versions repeat the result in a span of its own
		return dialect.Noise, false
	case "invoke_node", "compact_events", "send_data":
		return dialect.Structure, false
	}
	a := decode.Attributes(s.Span.Attributes())
	switch {
	case a.Has("gcp.vertex.agent.tool_call_args"):
		return dialect.Tool, false
	case a.Text("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response") != "":
		return dialect.Model, false
	}
	return dialect.Unclassified, false
}

func readADK(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.InvocationID = a.Text("gcp.vertex.agent.invocation_id")
	o.ConversationID = a.Text("gcp.vertex.agent.session_id", "gen_ai.conversation.id")
	o.TaskID = a.Text("gen_ai.task.id") // kagent
	o.UserID = a.Text("kagent.user_id", "gcp.vertex.agent.user_id")
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = a.Text("gen_ai.agent.name", "gen_ai.workflow.name")
		if strings.HasPrefix(s.Span.Name(), "agent_run ") {
			decode.FillString(&o.Agent.Name, bracketed(s.Span.Name()))
		}
		o.Agent.Description = a.Text("gen_ai.agent.description")
		o.Model = a.Text("gen_ai.request.model", "llm.model_name")
		// another package writes the model call that runs on the current span, which is the agent's
		for _, m := range openInferenceMessages(a) {
			if m.Role == tape.RoleSystem {
				o.System = append(o.System, m.Parts...)
			}
		}
	case dialect.Model:
		o.Operation = "generate_content"
		readADKRequest(s, a, o)
		readADKResponse(a, o)
		readGeminiEvents(s, o)
		if len(o.Request) == 0 || len(o.Response) == 0 {
			readADKConventions(s, o)
		}
	case dialect.Tool:
		readADKTool(s, a, o)
		if a.Has("gen_ai.tool.call.result") {
			readADKConventions(s, o)
		}
	case dialect.Noise:
		o.NoiseReason = "merged tool results"
	}
}

func openInferenceMessages(a decode.Attributes) []decode.Message {
	messages, _ := openinference.Messages(a.Unflatten("llm.input_messages."))
	return messages
}

// readADKConventions reads what versions from 2.13 on write under the keys of the conventions: the contents
// of the older attributes, wrappers included.
func readADKConventions(s *dialect.Source, o *dialect.Draft) {
	conventions := dialect.NewDraft()
	defer conventions.Discard()
	conventions.Class = o.Class
	semconv.Read(s, conventions, true)
	conventions.Response = wholeAnswer(conventions.Response)
	adkMessages(conventions.Request, adkWraps(s, ""))
	adkMessages(conventions.Response, adkWraps(s, ""))
	dropPlaces(conventions.Request, conventions.Response)
	if conventions.Result.Present() {
		result := decode.UnwrapResult(adkResult(conventions.Result, adkWraps(s, "")))
		conventions.Result, conventions.Failed = result.Content, conventions.Failed || result.IsError
	}
	o.Fill(conventions)
}

// dropPlaces takes off the ids that ADK writes for calls and results without an id of Gemini: the name of the
// tool and the place of the part in its message. Text may stand before calls, so results have other places.
func dropPlaces(lists ...[]decode.Message) {
	names := map[string]bool{}
	of := func(id string) (name string) {
		name, number, ok := cutLast(id, "_")
		if _, err := strconv.Atoi(number); !ok || err != nil {
			return ""
		}
		return name
	}
	for _, list := range lists {
		for _, m := range list {
			for i := range m.Parts {
				switch p := &m.Parts[i]; {
				case p.Type == tape.PartToolCall:
					names[p.Name] = true
					if p.Name != "" && of(p.ID) == p.Name {
						p.ID = ""
					}
				case p.Type == tape.PartToolResult && names[of(p.ID)]:
					p.Name, p.ID = of(p.ID), ""
				}
			}
		}
	}
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// bracketed returns X of "agent_run [X]", as early versions name their spans.
func bracketed(name string) string {
	_, rest, ok := strings.Cut(name, " [")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(rest, "]")
}

// adkObject returns a JSON attribute. ADK writes "{}" where the capture of content is off, and on spans of
// another kind.
func adkObject(a decode.Attributes, key string) (v exactjson.Value, cut bool) {
	text := a.Text(key)
	if text == "" || text == "{}" || text == "<not specified>" {
		return exactjson.Value{}, false
	}
	v, err := exactjson.Parse(strings.TrimSpace(text))
	return v, err != nil
}

func readADKRequest(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	request, cut := adkObject(a, "gcp.vertex.agent.llm_request")
	if cut {
		o.RequestLabel = tape.Truncated
		return
	}
	o.Model = request.Get("model").Str()
	// "content": Go before 1.0
	o.Request, _ = decode.Messages(request.First("contents", "content"), tape.RoleUser)
	adkMessages(o.Request, adkWraps(s, a.Text("gcp.vertex.agent.llm_request")))
	config := request.Get("config")
	o.System = decode.System(config.First("system_instruction", "systemInstruction"))
	o.Tools = decode.ToolDefinitions(config.Get("tools"))
	for _, m := range config.Members() {
		if name, ok := decode.ParamNames[m.Name]; ok {
			o.AddParam(name, m.Value)
		}
	}
}

func readADKResponse(a decode.Attributes, o *dialect.Draft) {
	response, cut := adkObject(a, "gcp.vertex.agent.llm_response")
	if cut {
		o.ResponseLabel = tape.Truncated
		return
	}
	if response.Kind() != exactjson.Object {
		return
	}
	// Go before 1.0 wrote a struct without names for JSON, and ended the span at the first chunk of a stream
	if content := response.First("content", "Content"); content.Kind() == exactjson.Object {
		m := decode.RoleMessage(content, tape.RoleAssistant)
		m.Role = tape.RoleAssistant
		m.FinishReason = response.First("finish_reason", "finishReason", "FinishReason").Text()
		o.Response = []decode.Message{m}
		adkMessages(o.Response, wrapping{objects: true})
		if response.Get("Partial").True() {
			o.ResponseLabel = tape.Truncated
		}
	}
	if reason := response.First("finish_reason", "finishReason", "FinishReason").Text(); reason != "" && len(a.Texts("gen_ai.response.finish_reasons")) == 0 {
		o.FinishReasons = []string{reason}
	}
	o.ResponseModel = response.First("model_version", "modelVersion").Str()
	if message := response.First("error_message", "errorMessage", "ErrorMessage").Str(); message != "" {
		o.Failed = true
		o.Error = &tape.Error{Type: response.First("error_code", "errorCode", "ErrorCode").Text(), Message: message}
	}
	if usage := response.First("usage_metadata", "usageMetadata", "UsageMetadata"); usage.Kind() == exactjson.Object && !a.Has("gen_ai.usage.input_tokens") {
		o.Usage = geminiUsage(usage)
	}
}

func geminiUsage(usage exactjson.Value) tape.Usage {
	count := func(names ...string) *int64 {
		if n, ok := decode.CountOf(usage.First(names...)); ok {
			return &n
		}
		return nil
	}
	return tape.Usage{
		InputTokens:     count("prompt_token_count", "promptTokenCount"),
		OutputTokens:    count("candidates_token_count", "candidatesTokenCount"),
		CacheReadTokens: count("cached_content_token_count", "cachedContentTokenCount"),
		ReasoningTokens: count("thoughts_token_count", "thoughtsTokenCount"),
	}
}

// adkMessages takes the wrapper off the results in a message list and labels what ADK could not write.
func adkMessages(messages []decode.Message, wraps wrapping) {
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			switch p.Type {
			case tape.PartToolResult:
				c := adkResult(decode.Content{Value: p.Result, Envelope: p.Envelope, Label: p.Label}, wraps)
				p.Result, p.Envelope, p.Label = c.Value, c.Envelope, c.Label
			case tape.PartToolCall:
				if adkLossy(p.Args) {
					p.Label = tape.Lossy
				}
			case tape.PartText:
				if p.Text == "<elided>" {
					p.Label = tape.Masked
				}
			}
		}
	}
}

// wrapping tells which results a version of ADK puts into an object, beside texts, numbers and the like.
type wrapping struct {
	lists bool // in "results" instead of "result"
	// in "result": Python's does so with objects of classes; Go's makes an object of whatever has members,
	// and what it recorded so is what the tool returned
	objects bool
}

// adkWraps returns the wrapping of a span. text is JSON that ADK wrote in it, "" where lists do not matter.
func adkWraps(s *dialect.Source, text string) wrapping {
	return wrapping{lists: text != "" && adkWrapsLists(s, text), objects: decode.Attributes(s.Resource).Text("telemetry.sdk.language") != "go"}
}

// adkResult takes off what ADK puts around a result: {"result": X}, and in TypeScript {"results": [...]}.
func adkResult(c decode.Content, wraps wrapping) decode.Content {
	if adkLossy(c.Value) {
		c.Label = tape.Lossy
	}
	if c.Value.Kind() != exactjson.Object || c.Value.Len() != 1 {
		return c
	}
	switch m := c.Value.Members()[0]; {
	case m.Name == "result" && (wraps.objects || m.Value.Kind() != exactjson.Object):
		c.Value, c.Envelope = m.Value, append(c.Envelope, "adk.result")
	case m.Name == "results" && m.Value.Kind() == exactjson.Array && wraps.lists:
		c.Value, c.Envelope = m.Value, append(c.Envelope, "adk.results")
	default:
		return c
	}
	return decode.UnwrapResult(c).Content
}

// adkWrapsLists recognises ADK for TypeScript by its JSON: it alone wraps lists in "results". JSON of Python
// has a space after each colon; Go writes neither call_llm spans nor the type of a tool. The colon after the
// first member tells, for texts may hold JSON of any spelling.
func adkWrapsLists(s *dialect.Source, text string) bool {
	switch (decode.Attributes(s.Resource)).Text("telemetry.sdk.language") {
	case "", "nodejs", "webjs":
	default:
		return false
	}
	typed := s.Span.Name() == "call_llm" || decode.Attributes(s.Span.Attributes()).Has("gen_ai.tool.type")
	_, value, _ := strings.Cut(text, `":`)
	return typed && !strings.HasPrefix(value, " ")
}

// adkLossy reports that a value holds what ADK writes for objects that have no JSON form.
func adkLossy(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		return v.Str() == "<not serializable>" || strings.HasPrefix(v.Str(), "<inline_data: ")
	}
	for _, m := range v.Members() {
		if adkLossy(m.Value) {
			return true
		}
	}
	return false
}

func readADKTool(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Name = a.Text("gen_ai.tool.name")
	decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "execute_tool ", "execute_tool_"))
	decode.FillString(&o.Name, bracketed(s.Span.Name()))
	o.CallID = decode.UsableID(a.Text("gen_ai.tool.call.id"))
	switch kind := a.Text("gen_ai.tool.type"); {
	case strings.HasSuffix(strings.ToLower(kind), "mcptool"):
		o.ToolKind = tape.ToolMCP
	case kind == "AgentTool":
		o.ToolKind = tape.ToolAgent
	default:
		o.ToolKind = tape.ToolFunction
	}
	if s.Span.Attributes().Len() == 0 && s.Span.DroppedAttributesCount() == 0 {
		o.Failed = true // the attributes are written when the tool has returned
	}
	args, result := a.Text("gcp.vertex.agent.tool_call_args"), a.Text("gcp.vertex.agent.tool_response")
	if args == "{}" && result == "{}" {
		return // the capture of content is off
	}
	if args != "" && args != "N/A" && args != "null" { // the last is what Go 0.5 writes of every call
		o.Args = decode.Args(exactjson.StringValue(args))
		if adkLossy(o.Args.Value) {
			o.Args.Label = tape.Lossy
		}
	}
	if result == "" || result == "N/A" || result == "<not specified>" {
		return
	}
	if result == "{}" && a.Text("gen_ai.tool_call.id", "gen_ai.tool.call.id") == "<not specified>" {
		// written before the tool runs: Java has not come to the event that carries the response, which names
		// the call
		return
	}
	c := decode.Result(exactjson.StringValue(result), true)
	// some versions write the whole event that carries the response
	if part := c.Value.Get("content").Get("parts").At(0).First("function_response", "functionResponse"); part.Kind() == exactjson.Object {
		decode.FillString(&o.CallID, decode.UsableID(part.Get("id").Str()))
		c.Value = part.Get("response")
	}
	if c.Value.Kind() == exactjson.String && decode.LooksJSON(result) && c.Label == "" {
		if _, err := exactjson.Parse(result); err != nil {
			c.Label = tape.Truncated
		}
	}
	u := decode.UnwrapResult(adkResult(c, adkWraps(s, result)))
	o.Result, o.Failed = u.Content, u.IsError || isErrorResponse(u.Content.Value)
}

// isErrorResponse reports the response of a function that holds "error" alone, a text. By Gemini's API the
// function failed. Spans of tools that threw show no failure in ADK for Python 1.24, nor in Java where the
// program answers for them.
func isErrorResponse(v exactjson.Value) bool {
	return v.Kind() == exactjson.Object && v.Len() == 1 && v.Get("error").Kind() == exactjson.String && v.Get("error").Str() != ""
}

// readGeminiEvents reads the events of ADK's stable mode and of the google-genai package. Their content is
// that of Gemini. A streamed answer has one choice for each chunk and, last, the whole.
func readGeminiEvents(s *dialect.Source, o *dialect.Draft) {
	var asked, choices []decode.Message
	for _, e := range semconv.Events(s) {
		content := e.Fields.First("content", "message")
		role := tape.RoleUser
		switch e.Name {
		case "gen_ai.system.message":
			if content.Str() != "<elided>" {
				decode.FillList(&o.System, decode.System(content))
			}
			continue
		case "gen_ai.assistant.message", "gen_ai.choice":
			role = tape.RoleAssistant
		case "gen_ai.user.message", "gen_ai.tool.message":
		default:
			continue
		}
		var m decode.Message
		switch {
		case content.Str() == "<elided>", content.IsEmpty():
			continue
		case content.Kind() == exactjson.Object:
			m = decode.RoleMessage(content, role)
		default:
			m = decode.MessageWith(role, "", decode.Parts(content))
		}
		if e.Name == "gen_ai.choice" {
			m.Role = tape.RoleAssistant
			m.FinishReason = e.Fields.First("finish_reason", "finishReason").Text()
			choices = append(choices, m)
		} else {
			asked = append(asked, m)
		}
	}
	adkMessages(asked, adkWraps(s, ""))
	adkMessages(choices, adkWraps(s, ""))
	decode.FillList(&o.Request, asked)
	decode.FillList(&o.Response, wholeAnswer(choices))
}

// wholeAnswer joins the chunks of a streamed answer. A last message that repeats them whole replaces them.
func wholeAnswer(chunks []decode.Message) []decode.Message {
	if len(chunks) < 2 {
		return chunks
	}
	before, last := chunks[:len(chunks)-1], chunks[len(chunks)-1:]
	text, asked, calls := messageText(before), callIDs(before), callIDs(last)
	repeated := strings.HasPrefix(messageText(last), text) && !slices.ContainsFunc(asked, func(id string) bool { return id == "" || !slices.Contains(calls, id) })
	if repeated && (text != "" || len(asked) > 0) {
		return last // over LiteLLM a chunk with a piece of a call's arguments is a call without any
	}
	return joinChunks(chunks)
}

func callIDs(messages []decode.Message) []string {
	var ids []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				ids = append(ids, p.ID)
			}
		}
	}
	return ids
}

func messageText(messages []decode.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartText {
				b.WriteString(p.Text)
			}
		}
	}
	return b.String()
}
