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
	return joined(events)
}

// joined returns the response that the events of a stream make up; ok is false where none of them is the event of a stream that is known.
func joined(events []exactjson.Value) (response exactjson.Value, ok bool) {
	for _, event := range events {
		switch kind := event.Get("type").Str(); {
		case kind == "message_start":
			return anthropicStream(event.Get("message"), events), true
		case kind == "response.completed" || kind == "response.incomplete":
			return event.Get("response"), event.Get("response").Kind() == exactjson.Object
		case event.Get("choices").At(0).Get("delta").Kind() == exactjson.Object:
			return chatStream(events), true
		case event.Get("candidates").Kind() == exactjson.Array:
			return geminiStream(events), true
		}
	}
	return exactjson.Value{}, false
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
	first exactjson.Value // what the first event of it said beside
}

// chatStream joins the chunks of chat completions: of the first choice.
func chatStream(events []exactjson.Value) exactjson.Value {
	var said strings.Builder
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
		said.WriteString(choice.Get("delta").Get("content").Str())
		for i, m := range choice.Get("delta").Get("tool_calls").Members() {
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
			if input, err := exactjson.Parse(b.String()); err == nil {
				content = append(content, with(b.first, member("input", input)))
				continue
			}
			content = append(content, b.first)
		case "thinking":
			content = append(content, with(b.first, textMember("thinking", b.first.Get("thinking").Str()+b.String())))
		default:
			content = append(content, with(b.first, textMember("text", b.first.Get("text").Str()+b.String())))
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
		if whole, ok := joined(events); ok {
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
