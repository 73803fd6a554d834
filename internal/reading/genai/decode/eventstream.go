// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Who records the bodies of requests and responses as they go over the wire has of a stream its events: "data: {…}" for each piece.

// eventStream returns the response that the events of a stream make up, as the provider gives it without a stream: the events of OpenAI's two APIs, of Anthropic and of
// Gemini. ok is false for any other text.
func eventStream(text string) (response exactjson.Value, ok bool) {
	if begin := strings.TrimLeft(text[:min(len(text), 64)], " \r\n"); !strings.HasPrefix(begin, "data:") && !strings.HasPrefix(begin, "event:") {
		return exactjson.Value{}, false
	}
	var events []exactjson.Value
	for line := range strings.Lines(text) {
		data, is := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); !is || data == "" || data == "[DONE]" {
			continue
		}
		event, err := exactjson.Parse(data)
		if err != nil || event.Kind() != exactjson.Object {
			return exactjson.Value{}, false
		}
		events = append(events, event)
	}
	response, _, ok = JoinEvents(events)
	return response, ok
}

// JoinEvents returns the response that the events of a stream make up, and whether its end came; ok is false
// where none of them is the event of a stream that is known.
func JoinEvents(events []exactjson.Value) (response exactjson.Value, ended, ok bool) {
	for _, event := range events {
		switch kind := event.Get("type").Str(); {
		case kind == "message_start":
			response = anthropicStream(event.Get("message"), events)
			return response, response.Get("stop_reason").Str() != "", true
		case strings.HasPrefix(kind, "response."):
			return responsesStream(events)
		case event.Get("choices").At(0).Get("delta").Kind() == exactjson.Object:
			response = chatStream(events)
			return response, response.Get("choices").At(0).Get("finish_reason").Str() != "", true
		case event.Get("candidates").Kind() == exactjson.Array:
			response = geminiStream(events)
			return response, response.Get("candidates").At(0).Get("finishReason").Str() != "", true
		case event.Get("messageStart").Kind() == exactjson.Object:
			response = converseStream(events)
			return response, response.Get("stopReason").Str() != "", true
		case kind == "message-start" && event.Get("delta").Get("message").Kind() == exactjson.Object:
			response = cohereStream(events)
			return response, response.Get("finish_reason").Str() != "", true
		case event.Get("done").Kind() == exactjson.Bool && (event.Get("message").Kind() == exactjson.Object || event.Get("response").Kind() == exactjson.String):
			response = ollamaStream(events)
			return response, response.Get("done").True(), true
		}
	}
	return exactjson.Value{}, false, false
}

// with returns an object with members set.
func with(v exactjson.Value, set ...exactjson.Member) exactjson.Value {
	members := slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool {
		return slices.ContainsFunc(set, func(n exactjson.Member) bool { return n.Name == m.Name })
	})
	return exactjson.ObjectValue(append(members, set...)...)
}

func member(name string, v exactjson.Value) exactjson.Member {
	return exactjson.Member{Name: name, Value: v}
}

func textMember(name, text string) exactjson.Member {
	return member(name, exactjson.StringValue(text))
}

// pieces are texts that come piece by piece.
type pieces struct {
	strings.Builder
	first     exactjson.Value // what the first event of it said beside
	reasoning bool
}

// chatStream joins the chunks of chat completions: of the first choice.
func chatStream(events []exactjson.Value) exactjson.Value {
	var said, reasoned, refused strings.Builder
	calls := map[int]*pieces{}
	var order []int
	whole, reason := exactjson.Value{}, exactjson.Value{}
	for _, event := range events {
		if whole.IsAbsent() || event.Get("usage").Kind() == exactjson.Object {
			whole = event
		}
		choice := event.Get("choices").At(0)
		if n, _ := choice.Get("index").Int(); n != 0 {
			continue
		}
		if r := choice.Get("finish_reason"); r.Str() != "" {
			reason = r
		}
		delta := choice.Get("delta")
		said.WriteString(delta.Get("content").Str())
		reasoned.WriteString(delta.First("reasoning_content", "reasoning").Str())
		refused.WriteString(delta.Get("refusal").Str())
		for i, m := range delta.Get("tool_calls").Members() {
			at := i
			if n, ok := m.Value.Get("index").Int(); ok {
				at = int(n)
			}
			if calls[at] == nil {
				calls[at] = &pieces{first: m.Value}
				order = append(order, at)
			}
			calls[at].WriteString(m.Value.Get("function").Get("arguments").Str())
		}
	}
	message := []exactjson.Member{textMember("role", "assistant"), textMember("content", said.String())}
	for _, more := range []struct {
		name string
		text *strings.Builder
	}{{"reasoning_content", &reasoned}, {"refusal", &refused}} {
		if more.text.Len() > 0 {
			message = append(message, textMember(more.name, more.text.String()))
		}
	}
	if len(order) > 0 {
		var list []exactjson.Value
		for _, at := range order {
			c := calls[at]
			list = append(list, with(c.first, member("function", with(c.first.Get("function"), textMember("arguments", c.String())))))
		}
		message = append(message, member("tool_calls", exactjson.ArrayValue(list...)))
	}
	choice := exactjson.ObjectValue(member("message", exactjson.ObjectValue(message...)), member("finish_reason", reason))
	return with(whole, member("choices", exactjson.ArrayValue(choice)))
}

// responsesStream takes the response from the event that ends the stream. Some servers leave its items out
// there, and send them when each is done.
func responsesStream(events []exactjson.Value) (response exactjson.Value, ended, ok bool) {
	var items []exactjson.Value
	for _, event := range events {
		switch event.Get("type").Str() {
		case "response.output_item.done":
			items = append(items, event.Get("item"))
		case "response.completed", "response.incomplete", "response.failed":
			ended = true
			fallthrough
		case "response.created", "response.in_progress":
			if r := event.Get("response"); r.Kind() == exactjson.Object {
				response = r
			}
		}
	}
	if !ended && len(items) == 0 {
		return exactjson.Value{}, false, false
	}
	if response.Get("output").Len() == 0 && len(items) > 0 {
		response = with(response, member("output", exactjson.ArrayValue(items...)))
	}
	return response, ended, true
}

// converseStream joins the blocks of Bedrock's ConverseStream, whose events are objects with the kind of the
// event as their member.
func converseStream(events []exactjson.Value) exactjson.Value {
	blocks := map[string]*pieces{}
	var order []string
	set := []exactjson.Member{}
	for _, event := range events {
		start, delta, at := event.Get("contentBlockStart"), event.Get("contentBlockDelta"), ""
		if start.Kind() == exactjson.Object {
			at = start.Get("contentBlockIndex").Text()
		} else {
			at = delta.Get("contentBlockIndex").Text()
		}
		if blocks[at] == nil && (start.Kind() == exactjson.Object || delta.Kind() == exactjson.Object) {
			blocks[at] = &pieces{first: start.Get("start").Get("toolUse")}
			order = append(order, at)
		}
		if b, d := blocks[at], delta.Get("delta"); d.Kind() == exactjson.Object {
			if r := d.Get("reasoningContent"); r.Kind() == exactjson.Object {
				b.reasoning = true
				b.WriteString(r.Get("text").Str())
			}
			b.WriteString(d.Get("text").Str())
			b.WriteString(d.Get("toolUse").Get("input").Str())
		}
		if reason := event.Get("messageStop").Get("stopReason"); reason.Str() != "" {
			set = append(set, member("stopReason", reason))
		}
		if usage := event.Get("metadata").Get("usage"); usage.Kind() == exactjson.Object {
			set = append(set, member("usage", usage))
		}
	}
	var content []exactjson.Value
	for _, at := range order {
		b := blocks[at]
		switch {
		case b.first.Kind() == exactjson.Object:
			input, err := exactjson.Parse(b.String())
			if err != nil {
				input = exactjson.StringValue(b.String())
			}
			content = append(content, exactjson.ObjectValue(member("toolUse", with(b.first, member("input", input)))))
		case b.reasoning:
			text := exactjson.ObjectValue(textMember("text", b.String()))
			content = append(content, exactjson.ObjectValue(member("reasoningContent", exactjson.ObjectValue(member("reasoningText", text)))))
		default:
			content = append(content, exactjson.ObjectValue(textMember("text", b.String())))
		}
	}
	message := exactjson.ObjectValue(textMember("role", "assistant"), member("content", exactjson.ArrayValue(content...)))
	return with(exactjson.ObjectValue(set...), member("output", exactjson.ObjectValue(member("message", message))))
}

// ollamaStream joins the pieces of Ollama's chat: texts in a row, calls whole, and counts in the last one.
func ollamaStream(events []exactjson.Value) exactjson.Value {
	var said, reasoned strings.Builder
	var calls []exactjson.Value
	last := exactjson.Value{}
	for _, event := range events {
		m := event.Get("message")
		if m.IsAbsent() { // of its generate
			m = exactjson.ObjectValue(member("content", event.Get("response")), member("thinking", event.Get("thinking")))
		}
		said.WriteString(m.Get("content").Str())
		reasoned.WriteString(m.Get("thinking").Str())
		for _, c := range m.Get("tool_calls").Members() {
			calls = append(calls, c.Value)
		}
		last = event
	}
	message := []exactjson.Member{textMember("role", "assistant"), textMember("content", said.String())}
	if reasoned.Len() > 0 {
		message = append(message, textMember("reasoning_content", reasoned.String()))
	}
	if len(calls) > 0 {
		message = append(message, member("tool_calls", exactjson.ArrayValue(calls...)))
	}
	return with(last, member("message", exactjson.ObjectValue(message...)))
}

// cohereStream joins the pieces of Cohere's chat: of what it plans, says and calls.
func cohereStream(events []exactjson.Value) exactjson.Value {
	var plan, said, thought strings.Builder
	calls := map[string]*pieces{}
	var order []string
	set := []exactjson.Member{}
	for _, event := range events {
		delta := event.Get("delta")
		m := delta.Get("message")
		plan.WriteString(m.Get("tool_plan").Str())
		said.WriteString(m.Get("content").Get("text").Str())
		thought.WriteString(m.Get("content").Get("thinking").Str())
		at, call := event.Get("index").Text(), m.Get("tool_calls")
		switch event.Get("type").Str() {
		case "message-start":
			set = append(set, member("id", event.Get("id")))
		case "tool-call-start":
			if calls[at] == nil {
				calls[at] = &pieces{first: call}
				order = append(order, at)
			}
			fallthrough
		case "tool-call-delta":
			if c := calls[at]; c != nil {
				c.WriteString(call.Get("function").Get("arguments").Str())
			}
		case "message-end":
			set = append(set, member("finish_reason", delta.Get("finish_reason")), member("usage", delta.Get("usage")))
		}
	}
	message := []exactjson.Member{textMember("role", "assistant"), textMember("content", plan.String()+said.String())}
	if thought.Len() > 0 {
		message = append(message, textMember("reasoning_content", thought.String()))
	}
	if len(order) > 0 {
		var list []exactjson.Value
		for _, at := range order {
			c := calls[at]
			list = append(list, with(c.first, member("function", with(c.first.Get("function"), textMember("arguments", c.String())))))
		}
		message = append(message, member("tool_calls", exactjson.ArrayValue(list...)))
	}
	return exactjson.ObjectValue(append(set, member("message", exactjson.ObjectValue(message...)))...)
}

// anthropicStream joins the blocks of a message.
func anthropicStream(message exactjson.Value, events []exactjson.Value) exactjson.Value {
	blocks := map[string]*pieces{}
	var order []string
	usage, reason := message.Get("usage"), exactjson.Value{}
	for _, event := range events {
		at := event.Get("index").Text()
		delta := event.Get("delta")
		switch event.Get("type").Str() {
		case "content_block_start":
			if blocks[at] == nil {
				blocks[at] = &pieces{first: event.Get("content_block")}
				order = append(order, at)
			}
		case "content_block_delta":
			if b := blocks[at]; b != nil {
				b.WriteString(delta.First("text", "partial_json", "thinking").Str())
			}
		case "message_delta":
			if r := delta.Get("stop_reason"); r.Str() != "" {
				reason = r
			}
			if u := event.Get("usage"); u.Kind() == exactjson.Object {
				usage = with(usage, u.Members()...)
			}
		}
	}
	var content []exactjson.Value
	for _, at := range order {
		b := blocks[at]
		switch b.first.Get("type").Str() {
		case "tool_use", "server_tool_use":
			if b.Len() == 0 {
				content = append(content, b.first)
				continue
			}
			input, err := exactjson.Parse(b.String())
			if err != nil {
				input = exactjson.StringValue(b.String())
			}
			content = append(content, with(b.first, member("input", input)))
		case "thinking":
			content = append(content, with(b.first, textMember("thinking", b.first.Get("thinking").Str()+b.String())))
		case "text":
			content = append(content, with(b.first, textMember("text", b.first.Get("text").Str()+b.String())))
		default:
			content = append(content, b.first)
		}
	}
	return with(message, member("content", exactjson.ArrayValue(content...)), member("stop_reason", reason), member("usage", usage))
}

// geminiStream joins the parts of the first candidate: texts that follow each other are one.
func geminiStream(events []exactjson.Value) exactjson.Value {
	var parts []*pieces
	last, candidate := exactjson.Value{}, exactjson.Value{}
	for _, event := range events {
		last = event
		c := event.Get("candidates").At(0)
		if c.Kind() != exactjson.Object {
			continue
		}
		candidate = c
		for _, m := range c.Get("content").Get("parts").Members() {
			text := func(v exactjson.Value) bool { return v.Get("text").Kind() == exactjson.String }
			if n := len(parts) - 1; n < 0 || !text(m.Value) || !text(parts[n].first) || parts[n].first.Get("thought").True() != m.Value.Get("thought").True() {
				parts = append(parts, &pieces{first: m.Value})
			}
			parts[len(parts)-1].WriteString(m.Value.Get("text").Str())
		}
	}
	var list []exactjson.Value
	for _, p := range parts {
		if p.first.Get("text").Kind() == exactjson.String {
			p.first = with(p.first, textMember("text", p.String()))
		}
		list = append(list, p.first)
	}
	content := exactjson.ObjectValue(textMember("role", "model"), member("parts", exactjson.ArrayValue(list...)))
	return with(last, member("candidates", exactjson.ArrayValue(with(candidate, member("content", content)))))
}

// Response returns what a provider answered: of a stream, as it went over the wire or as a client read it (a list of its events), what its events make up.
func Response(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		if whole, ok := eventStream(v.Str()); ok {
			return whole
		}
	}
	if list, ok := Structure(v); ok && list.Kind() == exactjson.Array && isEvent(list.At(0)) {
		events := make([]exactjson.Value, 0, list.Len())
		for _, m := range list.Members() {
			events = append(events, m.Value)
		}
		if whole, _, ok := JoinEvents(events); ok {
			return whole
		}
	}
	return v
}

// isEvent reports an object that can be nothing but the first event of a stream: a piece of an answer, or what begins one.
func isEvent(v exactjson.Value) bool {
	return v.Get("choices").At(0).Get("delta").Kind() == exactjson.Object || v.Get("object").Str() == "chat.completion.chunk" ||
		v.Get("type").Str() == "message_start" && v.Get("message").Kind() == exactjson.Object || v.Get("type").Str() == "response.created" && v.Get("response").Kind() == exactjson.Object
}
