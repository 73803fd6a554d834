// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// contentKeys are the beginnings of the conventions' keys that hold what was said, asked and returned.
var contentKeys = []string{
	"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
	"gen_ai.tool.definitions", "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.prompt", "gen_ai.completion",
	"llm.input_messages.", "llm.output_messages.", "input.value", "output.value",
}

// details is the event of the conventions that holds the content of a call.
const details = "gen_ai.client.inference.operation.details"

// takeContent moves the content of every call out of the attributes of its span.
func (r *recording) takeContent(to func(*recorded) pcommon.Map) {
	for _, s := range r.spans {
		if s.obs.Class == dialect.Unclassified {
			continue
		}
		taken := pcommon.NewMap()
		s.span.Attributes().RemoveIf(func(key string, v pcommon.Value) bool {
			if !slices.ContainsFunc(contentKeys, func(k string) bool { return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) }) {
				return false
			}
			v.CopyTo(taken.PutEmpty(key))
			return true
		})
		if taken.Len() > 0 {
			r.changed = true
			taken.MoveTo(to(s))
		}
	}
}

func contentInEvents(r *recording) {
	r.takeContent(func(s *recorded) pcommon.Map {
		e := s.span.Events().AppendEmpty()
		e.SetName(details)
		e.SetTimestamp(s.span.EndTimestamp())
		return e.Attributes()
	})
}

func contentInLogs(r *recording) {
	r.takeContent(func(s *recorded) pcommon.Map {
		rl := r.logs.ResourceLogs().AppendEmpty()
		s.resource.Resource().CopyTo(rl.Resource())
		sl := rl.ScopeLogs().AppendEmpty()
		s.scope.Scope().CopyTo(sl.Scope())
		l := sl.LogRecords().AppendEmpty()
		l.SetEventName(details)
		l.SetTraceID(s.span.TraceID())
		l.SetSpanID(s.span.SpanID())
		l.SetTimestamp(s.span.EndTimestamp())
		return l.Attributes()
	})
}

// cutAt cuts every text of attributes behind so many characters, or bytes, as the limit of an SDK or the processor of a collector does, and leaves no mark.
func cutAt(n int, bytes bool) func(*recording) {
	short := func(text string) string {
		if bytes {
			if len(text) <= n {
				return text
			}
			end := n
			for end > 0 && !utf8.RuneStart(text[end]) {
				end--
			}
			return text[:end]
		}
		left := n
		for at := range text {
			if left == 0 {
				return text[:at]
			}
			left--
		}
		return text
	}
	return func(r *recording) {
		var cut func(v pcommon.Value)
		cut = func(v pcommon.Value) {
			switch v.Type() {
			case pcommon.ValueTypeStr:
				if whole := v.Str(); len(short(whole)) < len(whole) {
					v.SetStr(short(whole))
					r.changed = true
				}
			case pcommon.ValueTypeSlice:
				for _, e := range v.Slice().All() {
					cut(e)
				}
			case pcommon.ValueTypeMap:
				for _, e := range v.Map().All() {
					cut(e)
				}
			}
		}
		for _, s := range r.spans {
			s.attributes(func(_ string, v pcommon.Value) { cut(v) })
		}
		for _, l := range r.records() {
			for _, v := range l.Attributes().All() {
				cut(v)
			}
		}
	}
}

// eachContent calls f for each attribute of a call that holds content of the conventions.
func (r *recording) eachContent(f func(v pcommon.Value)) {
	for _, s := range r.spans {
		if s.obs.Class == dialect.Unclassified {
			continue
		}
		s.attributes(func(key string, v pcommon.Value) {
			if slices.ContainsFunc(contentKeys, func(k string) bool { return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) }) {
				f(v)
			}
		})
	}
}

// structured writes objects and lists as structured attributes, not as JSON text.
func structured(r *recording) {
	r.eachContent(func(v pcommon.Value) {
		if v.Type() != pcommon.ValueTypeStr {
			return
		}
		if parsed, err := exactjson.Parse(v.Str()); err == nil && parsed.Kind() >= exactjson.Array && !parsed.HasBigInt() {
			putStructured(v, parsed)
			r.changed = true
		}
	})
}

func putStructured(to pcommon.Value, v value) {
	switch v.Kind() {
	case exactjson.Object:
		m := to.SetEmptyMap()
		for _, member := range v.Members() {
			putStructured(m.PutEmpty(member.Name), member.Value)
		}
	case exactjson.Array:
		list := to.SetEmptySlice()
		for _, member := range v.Members() {
			putStructured(list.AppendEmpty(), member.Value)
		}
	case exactjson.String:
		to.SetStr(v.Str())
	case exactjson.Bool:
		to.SetBool(v.True())
	case exactjson.Number:
		if n, ok := v.Int(); ok {
			to.SetInt(n)
		} else if f, ok := v.Float(); ok {
			to.SetDouble(f)
		}
	}
}

// asBytes writes texts as bytes.
func asBytes(r *recording) {
	r.eachContent(func(v pcommon.Value) {
		if text := v.Str(); v.Type() == pcommon.ValueTypeStr && text != "" {
			v.SetEmptyBytes().FromRaw([]byte(text))
			r.changed = true
		}
	})
}

// messageLists changes every list of chat messages in OpenAI's style that an attribute of a model call holds as JSON, however deep it lies, and drops the spans of
// tools.
func (r *recording) messageLists(change func([]exactjson.Member) []value) {
	isMessages := func(v value) bool {
		if v.Kind() != exactjson.Array || v.Len() == 0 {
			return false
		}
		for _, m := range v.Members() {
			role := m.Value.Get("role").Str()
			if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role) || role == "tool" && m.Value.Get("tool_call_id").IsAbsent() || m.Value.Get("content").IsAbsent() && m.Value.Get("tool_calls").IsAbsent() || !m.Value.Get("parts").IsAbsent() {
				return false
			}
		}
		return true
	}
	var rewrite func(v value) value
	rewrite = func(v value) value {
		if isMessages(v) {
			r.changed = true
			return exactjson.ArrayValue(change(v.Members())...)
		}
		return v.Map(func(_ int, m exactjson.Member) value { return rewrite(m.Value) })
	}
	text := func(_ string, v pcommon.Value) {
		if v.Type() != pcommon.ValueTypeStr || !strings.Contains(v.Str(), `"role"`) {
			return
		}
		if parsed, err := exactjson.Parse(v.Str()); err == nil && parsed.Kind() >= exactjson.Array {
			v.SetStr(rewrite(parsed).JSON())
		}
	}
	for _, s := range r.of(dialect.Model) {
		s.attributes(text)
	}
	if r.changed {
		noToolSpans(r) // so that the conversation alone tells of the calls
	}
}

func member(name string, v value) exactjson.Member { return exactjson.Member{Name: name, Value: v} }

func word(text string) value { return exactjson.StringValue(text) }

func otherWords(r *recording) {
	names := map[string]string{"tool_calls": "toolCalls", "tool_call_id": "toolCallId", "finish_reason": "finishReason"}
	roles := map[string]string{"user": "human", "assistant": "ai", "tool": "function"}
	r.messageLists(func(list []exactjson.Member) (messages []value) {
		for _, e := range list {
			m := e.Value
			var out []exactjson.Member
			for _, f := range m.Members() {
				if name := names[f.Name]; name != "" {
					f.Name = name
				}
				switch {
				case f.Name == "role" && roles[f.Value.Str()] != "":
					f.Value = word(roles[f.Value.Str()])
				case f.Name == "content" && f.Value.Kind() == exactjson.String && f.Value.Str() != "" && m.Get("role").Str() != "tool":
					f.Value = exactjson.ArrayValue(exactjson.ObjectValue(member("type", word("text")), member("text", f.Value)))
				}
				out = append(out, f)
			}
			messages = append(messages, exactjson.ObjectValue(out...))
		}
		return messages
	})
}

func itemLists(r *recording) {
	r.messageLists(func(list []exactjson.Member) (items []value) {
		add := func(members ...exactjson.Member) { items = append(items, exactjson.ObjectValue(members...)) }
		for _, e := range list {
			m := e.Value
			if m.Get("role").Str() == "tool" {
				add(member("type", word("function_call_output")), member("call_id", m.Get("tool_call_id")), member("output", m.Get("content")))
				continue
			}
			if content := m.Get("content"); !content.IsEmpty() {
				add(member("type", word("message")), member("role", m.Get("role")), member("content", content))
			}
			for _, c := range m.Get("tool_calls").Members() {
				f := c.Value.Get("function")
				if f.Kind() != exactjson.Object {
					f = c.Value
				}
				add(member("type", word("function_call")), member("call_id", c.Value.Get("id")), member("name", f.Get("name")), member("arguments", f.First("arguments", "args")))
			}
		}
		return items
	})
}

func userResults(r *recording) {
	r.messageLists(func(list []exactjson.Member) (messages []value) {
		for _, e := range list {
			messages = append(messages, e.Value.Map(func(_ int, f exactjson.Member) value {
				if f.Name == "role" && f.Value.Str() == "tool" {
					return word("user")
				}
				return f.Value
			}))
		}
		return messages
	})
}
