// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Parts reads the body of a message: a text, or a list of parts of any known shape. A part of unknown shape is kept as data.
func Parts(body exactjson.Value) []Part {
	switch body.Kind() {
	case exactjson.Absent, exactjson.Null:
		return nil
	case exactjson.String:
		if inner, ok := ParseStructure(body.Str()); ok && inner.Kind() == exactjson.Array && allParts(inner) {
			return Parts(inner)
		}
		if body.Str() == "" {
			return nil
		}
		p := TextPart(body.Str())
		p.labelText()
		return []Part{p}
	case exactjson.Array:
		parts := slices.Grow([]Part(nil), min(body.Len(), maxRoom))
		var streamed strings.Builder // arguments of the last part
		join := func() {
			if streamed.Len() > 0 {
				last := &parts[len(parts)-1]
				*last = CallPart(last.ID, last.Name, exactjson.StringValue(streamed.String()))
				streamed.Reset()
			}
		}
		for _, m := range body.Members() {
			if piece, ok := argsPiece(m.Value); ok && len(parts) > 0 && parts[len(parts)-1].Type == tape.PartToolCall {
				streamed.WriteString(piece)
				continue
			}
			join()
			if m.Value.Kind() == exactjson.String {
				p := TextPart(m.Value.Str())
				p.labelText()
				parts = append(parts, p)
				continue
			}
			p, _ := PartOf(m.Value)
			if p.Type == tape.PartToolCall && p.ID+p.Name == "" && p.Args.IsAbsent() && IsObjectTag(m.Value.Get("content").Str()) {
				continue // nothing of the call was recorded but that it is an object
			}
			if blocks, ok := writtenBlocks(p); ok {
				parts = append(parts, Parts(blocks)...)
				continue
			}
			parts = append(parts, p)
			parts = appendHeard(parts, m.Value)
		}
		join()
		return parts
	case exactjson.Object:
		p, ok := PartOf(body)
		if !ok && body.Get("text").Kind() == exactjson.String && body.Len() == 1 {
			return []Part{TextPart(body.Get("text").Str())}
		}
		return []Part{p}
	default:
		return []Part{DataPart(body)}
	}
}

// appendHeard adds what was said in the last part, if that is speech.
func appendHeard(parts []Part, v exactjson.Value) []Part {
	if parts[len(parts)-1].Type != tape.PartMedia {
		return parts
	}
	if words := v.Get("transcript").Str(); words != "" {
		parts = append(parts, TextPart(words))
	}
	return parts
}

// allParts reports a list whose elements are all known parts: only then is a text that parses as JSON more than a text.
func allParts(list exactjson.Value) bool {
	for _, m := range list.Members() {
		if m.Value.Get("type").IsAbsent() && m.Value.Len() != 1 {
			return false
		}
		if _, ok := PartOf(m.Value); !ok {
			return false
		}
	}
	return list.Len() > 0
}

// writtenBlocks is the list of blocks, each with its type, that the text of a part is as JSON: the content of a message that an instrumentation took for a text (Traceloop's for LangChain in
// JavaScript of instructions in blocks).
func writtenBlocks(p Part) (exactjson.Value, bool) {
	if p.Type != tape.PartText || p.Label != "" || !strings.HasPrefix(p.Text, "[{") || !strings.Contains(p.Text, `"type"`) {
		return exactjson.Value{}, false
	}
	list, err := exactjson.Parse(p.Text)
	if err != nil || !allParts(list) || slices.ContainsFunc(list.Members(), func(m exactjson.Member) bool { return m.Value.Get("type").Kind() != exactjson.String }) {
		return exactjson.Value{}, false
	}
	return list, true
}

// argsPiece reads a part of a streamed answer that continues the arguments of the call before it (Anthropic), as who gathers the stream leaves it.
func argsPiece(v exactjson.Value) (string, bool) {
	text := v.First("partial_json", "input")
	return text.Str(), v.Get("type").Str() == "input_json_delta" && text.Kind() == exactjson.String
}

// DataPart keeps a value of unknown shape as a part.
func DataPart(v exactjson.Value) Part { return Part{Part: tape.Part{Type: tape.PartData, Value: v}} }

// PartOf reads one part. ok is false if its shape is unknown; the part then holds the value as data.
func PartOf(v exactjson.Value) (Part, bool) {
	if v.Kind() != exactjson.Object {
		return DataPart(v), false
	}
	switch v.Get("type").Str() {
	case "text", "TEXT", "textBlock", "input_text", "output_text":
		if t := v.First("content", "text"); t.Kind() == exactjson.String || t.IsAbsent() {
			p := TextPart(t.Str())
			p.labelText()
			return p, true
		}
	case "refusal":
		return RefusalPart(v.First("refusal", "content").Str()), true
	case "generic": // a part that the conventions have no type for, with that of its provider
		if kind := v.Get("generic_type"); kind.Kind() == exactjson.String && kind.Str() != "generic" {
			p, ok := PartOf(with(v, member("type", kind)))
			if !ok {
				p = DataPart(v)
			}
			return p, ok
		}
	case "reasoning", "reasoningBlock", "thinking":
		if t := v.First("content", "thinking", "reasoning", "text"); t.Kind() == exactjson.String {
			return Part{Part: tape.Part{Type: tape.PartReasoning, Text: t.Str()}}, true
		}
	case "tool_call", "tool-call", "tool_use", "function_call", "toolCall", "toolUse", "toolUseBlock", "mcp_call", "server_tool_use":
		if ranAtProvider(v) {
			return DataPart(v), true
		}
		if block, ok := printedBlock(v); ok {
			v = block
		}
		return ToolCallPart(v), true
	case "tool_call_response", "tool-result", "tool_result", "function_call_output", "tool_call_result", "toolResult", "toolResultBlock", "tool-error":
		if ranAtProvider(v) {
			return DataPart(v), true
		}
		return toolResultPart(v), true
	case "function":
		if f := v.Get("function"); f.Kind() == exactjson.Object {
			return ToolCallPart(v), true
		}
	case "uri", "file", "blob", "image", "image_url", "input_image", "input_file", "media", "audio", "input_audio", "document", "video":
		return mediaPart(v), true
	case "input_json_delta":
		return DataPart(v), true
	case "":
		return untypedPart(v)
	}
	if v.Get(v.Get("type").Str()).Kind() == exactjson.Object {
		return untypedPart(v) // the type names the member that holds the part
	}
	return DataPart(v), false
}

// printedBlock is the block that the content of a part holds as a text, as str() or JSON writes it, where the part itself has its type alone (OpenLIT's messages of Anthropic under LangChain).
func printedBlock(v exactjson.Value) (exactjson.Value, bool) {
	text := v.Get("content").Str()
	if v.Len() != 2 || !strings.HasPrefix(text, "{") {
		return v, false
	}
	block, ok := ParseStructure(text)
	if !ok {
		var lossy bool
		if block, lossy, ok = Python(text); lossy {
			return v, false
		}
	}
	return block, ok && block.Get("type").Str() == v.Get("type").Str() && block.Get("name").Str() != ""
}

// untypedPart reads the parts of Gemini, Bedrock Converse, Haystack, Genkit and LlamaIndex, which are told apart by their key.
func untypedPart(v exactjson.Value) (Part, bool) {
	if !v.Get("tool_kwargs").IsAbsent() && v.Get("tool_name").Kind() == exactjson.String {
		return ToolCallPart(v), true
	}
	for _, name := range []string{"functionCall", "function_call", "toolUse", "toolRequest", "tool_call"} {
		if call := v.Get(name); call.Kind() == exactjson.Object {
			return ToolCallPart(call), true
		}
	}
	for _, name := range []string{"functionResponse", "function_response", "toolResult", "toolResponse", "tool_call_result", "tool_response"} {
		if result := v.Get(name); result.Kind() == exactjson.Object {
			p := toolResultPart(result)
			if strings.HasPrefix(name, "function") {
				p.Gemini, p.IsError = true, p.IsError || geminiFailure(p.Result)
			}
			return p, true
		}
	}
	for _, name := range []string{"inlineData", "inline_data", "fileData", "file_data", "media", "image", "document", "video"} {
		if media := v.Get(name); media.Kind() == exactjson.Object {
			return mediaPart(media), true
		}
	}
	if r := v.Get("reasoning"); r.Kind() == exactjson.String {
		return Part{Part: tape.Part{Type: tape.PartReasoning, Text: r.Str()}}, true
	}
	if r := v.Get("reasoningContent").Get("reasoningText").Get("text"); r.Kind() == exactjson.String {
		return Part{Part: tape.Part{Type: tape.PartReasoning, Text: r.Str()}}, true
	}
	if t := v.Get("text"); t.Kind() == exactjson.String {
		if v.Get("thought").True() {
			return Part{Part: tape.Part{Type: tape.PartReasoning, Text: t.Str()}}, true
		}
		p := TextPart(t.Str())
		p.labelText()
		return p, true
	}
	return DataPart(v), false
}

// ToolCallPart reads a tool call of any provider's shape.
func ToolCallPart(v exactjson.Value) Part {
	if inner := v.Get("tool_call"); inner.Kind() == exactjson.Object {
		v = inner // LangChainGo
	}
	if f := v.Get("function"); f.Kind() == exactjson.Object {
		return CallPart(TextOfID(v.First("id", "call_id")), f.Get("name").Str(), f.Get("arguments"))
	}
	id := TextOfID(v.First("call_id", "callId", "id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "ref"))
	name := v.First("name", "toolName", "tool_name").Str()
	for _, key := range []string{"arguments", "args", "input", "tool_kwargs"} {
		if args := v.Get(key); !args.IsAbsent() {
			if streamed := v.Get("partial_json"); args.Len() == 0 && args.Kind() != exactjson.String && streamed.Str() != "" {
				args = streamed // the block as the stream began it, and the pieces that followed (LangChain of Anthropic's streams)
			}
			return CallPart(id, name, args)
		}
	}
	return CallPart(id, name, exactjson.Value{})
}

func toolResultPart(v exactjson.Value) Part {
	id := TextOfID(v.First("call_id", "callId", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id", "ref"))
	if origin := v.Get("origin"); origin.Kind() == exactjson.Object { // Haystack
		id = TextOfID(origin.Get("id"))
	}
	var result exactjson.Value
	for _, key := range []string{"response", "result", "output", "content", "error"} {
		if result = v.Get(key); !result.IsAbsent() {
			break
		}
	}
	if output, beside := v.Get("output"), v.Get("content"); v.Get("type").IsAbsent() && !output.IsAbsent() && beside.Kind() == exactjson.Array && beside.Len() > 0 {
		result = exactjson.ObjectValue(exactjson.Member{Name: "output", Value: output}, exactjson.Member{Name: "content", Value: beside}) // Genkit's multipart tools
	}
	isError := v.First("is_error", "isError", "error").True() || v.Get("error").Str() != "" || v.Get("status").Str() == "error" || v.Get("type").Str() == "tool-error"
	return ResultPart(id, v.First("name", "toolName", "tool_name").Str(), result, isError)
}

// geminiFailure reports a response that says that the function failed: Gemini's API reads a member "error" of it as the details of a failure.
func geminiFailure(response exactjson.Value) bool {
	response, _ = Structure(response) // some instrumentations write it as a text
	return response.Kind() == exactjson.Object && response.Len() == 1 && response.Get("error").Str() != ""
}

// OpenGemini reads the results that Gemini's API was sent, also those in messages that were recorded in another form than the API's if all of them
// went there. The API takes objects alone: what a tool returned that is none is sent as the member "result" of one.
func OpenGemini(messages []Message, all bool) []Message {
	sent := func(p *Part) bool { return p.Type == tape.PartToolResult && (all || p.Gemini) }
	if !slices.ContainsFunc(messages, func(m Message) bool { return anyPart(m.Parts, sent) }) {
		return messages
	}
	messages = CloneParts(messages)
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			if !sent(p) {
				continue
			}
			p.Gemini, p.IsError = true, p.IsError || geminiFailure(p.Result)
			if value, ok := geminiValue(p.Result); ok {
				p.Result, p.Envelope = value, append(slices.Clip(p.Envelope), geminiResponse)
			}
		}
	}
	return messages
}

// Returned returns what a tool returned, as a program told it to a model, and in what it stood. Gemini's API reads a member "output" of a response as
// what the function returned. A framework hands on what a tool returned as the whole response, with such a member or without, and records that too: so
// this speaks of a result that stands in a conversation alone.
func (p *Part) Returned() (exactjson.Value, []string) {
	response, ok := Structure(p.Result)
	if value := response.Get("output"); ok && p.Gemini && response.Len() == 1 && !value.IsAbsent() {
		return value, append(slices.Clip(p.Envelope), geminiResponse)
	}
	return p.Result, p.Envelope
}

const geminiResponse = "gemini.function_response"

// geminiValue returns what a tool returned that is no object, from the object that Gemini's API takes.
func geminiValue(response exactjson.Value) (exactjson.Value, bool) {
	if written, ok := Structure(response); ok {
		response = written // Traceloop's package for Google's client, from 0.60 on, writes it as a text
	}
	value := response.Get("result")
	return value, response.Kind() == exactjson.Object && response.Len() == 1 && !value.IsAbsent() && value.Kind() != exactjson.Object
}

// mediaPart keeps a reference and a digest, never the bytes.
func mediaPart(v exactjson.Value) Part {
	p := Part{Part: tape.Part{Type: tape.PartMedia, MIMEType: v.First("mime_type", "mimeType", "media_type", "mediaType", "contentType").Str()}}
	whole := v
	for _, name := range []string{"file", "input_audio", "source"} {
		if inner := v.Get(name); inner.Kind() == exactjson.Object {
			v = inner
			FillString(&p.MIMEType, v.First("media_type", "mime_type", "mimeType").Str())
		}
	}
	uri := v.First("uri", "url", "fileUri", "file_uri", "image_url", "image", "file_id", "file_data")
	if uri.Kind() == exactjson.Object {
		uri = uri.First("url", "uri")
	}
	data := v.First("content", "data", "bytes").Str()
	if mime, encoded, ok := dataURL(uri.Str()); ok {
		FillString(&p.MIMEType, mime)
		data, uri = encoded, exactjson.Value{}
	} else if uri.Str() != "" && uri.Str() == v.First("image", "file_data").Str() && !strings.Contains(uri.Str(), "://") {
		data, uri = uri.Str(), exactjson.Value{}
	}
	if data != "" {
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			raw = []byte(data)
		}
		sum := sha256.Sum256(raw)
		p.SHA256, p.Size = hex.EncodeToString(sum[:]), int64(len(raw))
	}
	if sum := v.Get("sha256").Str(); data == "" && digest.MatchString(sum) { // who recorded it kept the digest, and left the bytes out
		size, _ := CountOf(v.Get("size"))
		p.SHA256, p.Size = sum, size
	}
	p.URI = uri.Str()
	if p.URI == "" && p.SHA256 == "" {
		return DataPart(whole)
	}
	return p
}

var digest = regexp.MustCompile(`^[0-9a-f]{64}$`)

func dataURL(uri string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	mime, _, _ = strings.Cut(head, ";")
	return mime, data, ok
}

// ResponseItem reads one item of the OpenAI Responses API, which lists messages, calls and outputs side by side.
func ResponseItem(v exactjson.Value) (Message, bool) {
	if v.Kind() != exactjson.Object || !v.Get("kwargs").IsAbsent() {
		return Message{}, false
	}
	switch v.Get("type").Str() {
	case "message":
		if v.Get("role").IsAbsent() {
			return Message{}, false
		}
		m := RoleMessage(v, tape.RoleUser)
		m.FinishReason = ""
		return m, true
	case "function_call", "custom_tool_call", "mcp_call":
		return Message{Role: tape.RoleAssistant, Parts: []Part{ToolCallPart(v)}}, true
	case "function_call_output", "function_call_result", "custom_tool_call_output":
		return Message{Role: tape.RoleTool, Parts: []Part{toolResultPart(v)}}, true
	case "reasoning":
		if !v.Get("role").IsAbsent() || v.Get("summary").IsAbsent() {
			return Message{}, false
		}
		var parts []Part
		for _, m := range v.Get("summary").Members() {
			if text := m.Value.Get("text").Str(); text != "" {
				parts = append(parts, Part{Part: tape.Part{Type: tape.PartReasoning, Text: text}})
			}
		}
		if len(parts) == 0 {
			parts = []Part{DataPart(v)}
		}
		return Message{Role: tape.RoleAssistant, Parts: parts}, true
	case "web_search_call", "file_search_call", "code_interpreter_call", "computer_call", "image_generation_call", "local_shell_call", "item_reference":
		return Message{Role: tape.RoleAssistant, Parts: []Part{DataPart(v)}}, true
	default:
		return Message{}, false
	}
}

// ranAtProvider tells a tool that the provider ran inside the model call: no client answers it, now or in a replay.
func ranAtProvider(v exactjson.Value) bool {
	id := v.First("id", "call_id", "tool_call_id", "tool_use_id").Str()
	return v.Get("builtin").True() || v.Get("providerExecuted").True() || strings.HasPrefix(id, "srvtoolu_") || strings.HasPrefix(id, "mcptoolu_")
}
