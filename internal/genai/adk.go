// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// googleADK reads Google's Agent Development Kit in Python, TypeScript, Go and Java: invocation → invoke_agent → call_llm →
// execute_tool. The native attributes hold the whole request and response; a generate_content span inside call_llm is the same call.
// Keys inside are written in snake or camel case, as the language has it.
var googleADK = &Dialect{
	ID:      "google-adk",
	Name:    "Google Agent Development Kit",
	Scopes:  []string{"gcp.vertex.agent"},
	Marks:   []string{"gcp.vertex.agent."},
	Root:    "`invocation`, else the outermost `invoke_agent` or `invoke_workflow`",
	Rooted:  true,
	Encoded: true,
	Switch: "Python and TypeScript: on by default (`ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=false` turns it off); Go: message content in log records, " +
		"with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	classify: classifyADK,
	read:     readADK,
}

func classifyADK(s *Source) (Class, bool) {
	name := s.Span.Name()
	first, _, _ := strings.Cut(name, " ")
	switch first {
	case "invocation", "agent_run", "invoke_agent", "invoke_workflow":
		return Agent, true
	case "call_llm", "generate_content":
		return Model, false
	case "execute_tool", "tool_call":
		if strings.HasPrefix(strings.TrimPrefix(name, first+" "), "(merged") || attributes(s.Span.Attributes()).str("gen_ai.tool.name") == "(merged tools)" {
			return Noise, false // one span more that repeats the results of parallel calls
		}
		return Tool, false
	case "tool_response": // early versions repeat the result in a span of its own
		return Noise, false
	case "invoke_node", "compact_events", "send_data":
		return Structure, false
	}
	a := attributes(s.Span.Attributes())
	switch {
	case a.has("gcp.vertex.agent.tool_call_args"):
		return Tool, false
	case a.str("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response") != "":
		return Model, false
	}
	return Unclassified, false
}

func readADK(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.InvocationID = a.str("gcp.vertex.agent.invocation_id")
	o.ConversationID = a.str("gcp.vertex.agent.session_id", "gen_ai.conversation.id")
	o.TaskID = a.str("gen_ai.task.id") // kagent
	o.UserID = a.str("kagent.user_id", "gcp.vertex.agent.user_id")
	switch o.Class {
	case Agent:
		o.Agent.Name = a.str("gen_ai.agent.name", "gen_ai.workflow.name")
		if strings.HasPrefix(s.Span.Name(), "agent_run ") {
			str(&o.Agent.Name, bracketed(s.Span.Name()))
		}
		o.Agent.Description = a.str("gen_ai.agent.description")
	case Model:
		o.Operation = "generate_content"
		readADKRequest(s, a, o)
		readADKResponse(a, o)
		readGeminiEvents(s, o)
	case Tool:
		readADKTool(s, a, o)
	case Noise:
		o.NoiseReason = "merged tool results"
	}
}

// bracketed returns X of "agent_run [X]", as early versions name their spans.
func bracketed(name string) string {
	_, rest, ok := strings.Cut(name, " [")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(rest, "]")
}

// adkObject returns a JSON attribute; "{}" is what ADK writes when the capture of content is off, and on spans of another kind.
func adkObject(a attributes, key string) (v exactjson.Value, cut bool) {
	text := a.str(key)
	if text == "" || text == "{}" || text == "<not specified>" {
		return exactjson.Value{}, false
	}
	v, err := exactjson.Parse(strings.TrimSpace(text))
	return v, err != nil
}

func readADKRequest(s *Source, a attributes, o *Observation) {
	request, cut := adkObject(a, "gcp.vertex.agent.llm_request")
	if cut {
		o.RequestLabel = tape.Truncated
		return
	}
	o.Model = request.Get("model").Str()
	o.Request, _ = messagesOf(request.Get("contents"), tape.RoleUser)
	adkMessages(o.Request, adkWrapsLists(s, a.str("gcp.vertex.agent.llm_request")))
	config := request.Get("config")
	o.System = systemOf(config.First("system_instruction", "systemInstruction"))
	o.Tools = toolDefinitions(config.Get("tools"))
	for _, m := range config.Members() {
		if name, ok := paramNames[m.Name]; ok {
			o.param(name, m.Value)
		}
	}
}

func readADKResponse(a attributes, o *Observation) {
	response, cut := adkObject(a, "gcp.vertex.agent.llm_response")
	if cut {
		o.ResponseLabel = tape.Truncated
		return
	}
	if response.Kind() != exactjson.Object {
		return
	}
	if content := response.Get("content"); content.Kind() == exactjson.Object {
		m := roleMessage(content, tape.RoleAssistant)
		m.Role = tape.RoleAssistant
		m.FinishReason = response.First("finish_reason", "finishReason").Text()
		o.Response = []Message{m}
		adkMessages(o.Response, false)
	}
	if reason := response.First("finish_reason", "finishReason").Text(); reason != "" && len(a.strings("gen_ai.response.finish_reasons")) == 0 {
		o.FinishReasons = []string{reason}
	}
	o.ResponseModel = response.First("model_version", "modelVersion").Str()
	if message := response.First("error_message", "errorMessage").Str(); message != "" {
		o.Failed = true
		o.Error = &tape.Error{Type: response.First("error_code", "errorCode").Text(), Message: message}
	}
	if usage := response.First("usage_metadata", "usageMetadata"); usage.Kind() == exactjson.Object && !a.has("gen_ai.usage.input_tokens") {
		o.Usage = geminiUsage(usage)
	}
}

func geminiUsage(usage exactjson.Value) tape.Usage {
	count := func(names ...string) *int64 {
		if n, ok := countOf(usage.First(names...)); ok {
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
func adkMessages(messages []Message, wrapsLists bool) {
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			switch p.Type {
			case tape.PartToolResult:
				c := adkResult(Content{Value: p.Result, Envelope: p.Envelope, Label: p.Label}, wrapsLists)
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

// adkResult takes off what ADK puts around a result that is no object: {"result": X}, and in TypeScript {"results": [...]}.
func adkResult(c Content, wrapsLists bool) Content {
	if adkLossy(c.Value) {
		c.Label = tape.Lossy
	}
	if c.Value.Kind() != exactjson.Object || c.Value.Len() != 1 {
		return c
	}
	switch m := c.Value.Members()[0]; {
	case m.Name == "result":
		c.Value, c.Envelope = m.Value, append(c.Envelope, "adk.result")
	case m.Name == "results" && m.Value.Kind() == exactjson.Array && wrapsLists:
		c.Value, c.Envelope = m.Value, append(c.Envelope, "adk.results")
	default:
		return c
	}
	return unwrapResult(c).content
}

// adkWrapsLists recognises ADK for TypeScript, which alone wraps lists in "results", by its JSON: Python's has a space after each
// colon, and Go writes neither call_llm spans nor the type of a tool.
func adkWrapsLists(s *Source, text string) bool {
	switch (attributes(s.Resource)).str("telemetry.sdk.language") {
	case "", "nodejs", "webjs":
	default:
		return false
	}
	typed := s.Span.Name() == "call_llm" || attributes(s.Span.Attributes()).has("gen_ai.tool.type")
	return typed && !strings.Contains(text, `": `)
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

func readADKTool(s *Source, a attributes, o *Observation) {
	o.Name = a.str("gen_ai.tool.name")
	str(&o.Name, nameAfter(s.Span.Name(), "execute_tool ", "execute_tool_"))
	str(&o.Name, bracketed(s.Span.Name()))
	o.CallID = usableID(a.str("gen_ai.tool.call.id"))
	switch kind := a.str("gen_ai.tool.type"); {
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
	args, result := a.str("gcp.vertex.agent.tool_call_args"), a.str("gcp.vertex.agent.tool_response")
	if args == "{}" && result == "{}" {
		return // the capture of content is off
	}
	if args != "" && args != "N/A" {
		o.Args = argsContent(exactjson.StringValue(args))
		if adkLossy(o.Args.Value) {
			o.Args.Label = tape.Lossy
		}
	}
	if result == "" || result == "N/A" || result == "<not specified>" {
		return
	}
	c := resultContent(exactjson.StringValue(result), true)
	// some versions write the whole event that carries the response
	if part := c.Value.Get("content").Get("parts").At(0).First("function_response", "functionResponse"); part.Kind() == exactjson.Object {
		str(&o.CallID, usableID(part.Get("id").Str()))
		c.Value = part.Get("response")
	}
	if c.Value.Kind() == exactjson.String && looksJSON(result) && c.Label == "" {
		if _, err := exactjson.Parse(result); err != nil {
			c.Label = tape.Truncated
		}
	}
	u := unwrapResult(adkResult(c, adkWrapsLists(s, result)))
	o.Result, o.Failed = u.content, u.isError
}

// readGeminiEvents reads the events of ADK's stable mode and of the google-genai package, whose content is a Gemini content object. A streamed answer has one choice
// per chunk and, last, the whole.
func readGeminiEvents(s *Source, o *Observation) {
	var asked, choices []Message
	for _, e := range eventsOf(s) {
		content := e.fields.First("content", "message")
		role := tape.RoleUser
		switch e.name {
		case "gen_ai.system.message":
			if content.Str() != "<elided>" {
				list(&o.System, systemOf(content))
			}
			continue
		case "gen_ai.assistant.message", "gen_ai.choice":
			role = tape.RoleAssistant
		case "gen_ai.user.message", "gen_ai.tool.message":
		default:
			continue
		}
		var m Message
		switch {
		case content.Str() == "<elided>", content.IsEmpty():
			continue
		case content.Kind() == exactjson.Object:
			m = roleMessage(content, role)
		default:
			m = messageWith(role, "", partsOf(content))
		}
		if e.name == "gen_ai.choice" {
			m.Role = tape.RoleAssistant
			m.FinishReason = e.fields.First("finish_reason", "finishReason").Text()
			choices = append(choices, m)
		} else {
			asked = append(asked, m)
		}
	}
	adkMessages(asked, false)
	adkMessages(choices, false)
	list(&o.Request, asked)
	list(&o.Response, wholeAnswer(choices))
}

// wholeAnswer joins the chunks of a streamed answer; a last message that repeats them whole stands alone.
func wholeAnswer(chunks []Message) []Message {
	if len(chunks) < 2 {
		return chunks
	}
	last := chunks[len(chunks)-1]
	if before := messageText(chunks[:len(chunks)-1]); before != "" && strings.HasPrefix(messageText([]Message{last}), before) {
		return []Message{last}
	}
	return joinChunks(chunks)
}

func messageText(messages []Message) string {
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
