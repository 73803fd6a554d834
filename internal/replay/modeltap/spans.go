// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Options say what spans are made of.
type Options struct {
	// Seed makes the ids of traces other ones: they follow from it, what was asked first and the order of the
	// calls.
	Seed string
	// Service is the name of the program that asked.
	Service string
	// OneRun says that all conversations are parts of one run.
	OneRun bool
}

// Traces makes spans of all calls that have passed: a trace for each conversation, with a span of the
// conversation above those of its calls.
func (t *Tap) Traces(o Options) (ptrace.Traces, Summary) {
	t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := Summary{Other: t.paths(), Lost: t.lost}
	var calls []*call
	for _, x := range t.calls {
		if x.ended.IsZero() { // it is still under way
			sum.Lost++
			continue
		}
		c, err := readCall(x)
		if err != nil {
			sum.Lost++
			continue
		}
		calls = append(calls, c)
	}
	t.calls, t.bytes = nil, 0
	td := ptrace.NewTraces()
	if len(calls) == 0 {
		return td, sum
	}
	conversations := group(calls)
	if o.OneRun {
		one := &conversation{}
		for _, c := range conversations {
			one.calls = append(one.calls, c.calls...)
		}
		slices.SortStableFunc(one.calls, func(a, b *placed) int { return a.began.Compare(b.began) })
		conversations = []*conversation{one}
	}
	sum.Calls, sum.Conversations = len(calls), len(conversations)
	rs := td.ResourceSpans().AppendEmpty()
	if o.Service != "" {
		rs.Resource().Attributes().PutStr("service.name", o.Service)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(Scope)
	begun := map[[sha256.Size]byte]int{}
	for _, c := range conversations {
		key := c.calls[0].key()
		begun[key]++
		c.spans(ss.Spans(), o.Seed, key, begun[key])
	}
	return td, sum
}

// spans writes those of a conversation.
func (c *conversation) spans(to ptrace.SpanSlice, seed string, key [sha256.Size]byte, nth int) {
	id := digest(seed, key, nth)
	trace := pcommon.TraceID(id[:16])
	spanID := func(n int) pcommon.SpanID {
		sum := digest(id, n)
		return pcommon.SpanID(sum[:8])
	}
	root := to.AppendEmpty()
	root.SetTraceID(trace)
	root.SetSpanID(spanID(0))
	root.SetName("invoke_agent")
	root.SetKind(ptrace.SpanKindInternal)
	root.Attributes().PutStr("gen_ai.operation.name", "invoke_agent")
	began, ended := c.calls[0].began, c.calls[0].ended
	for i, p := range c.calls {
		span := to.AppendEmpty()
		span.SetTraceID(trace)
		span.SetSpanID(spanID(i + 1))
		span.SetParentSpanID(root.SpanID())
		p.write(span)
		if p.ended.After(ended) {
			ended = p.ended
		}
	}
	root.SetStartTimestamp(pcommon.NewTimestampFromTime(began))
	root.SetEndTimestamp(pcommon.NewTimestampFromTime(ended))
	if last := c.calls[len(c.calls)-1]; last.failure != nil {
		fail(root, last.failure)
	}
}

func fail(span ptrace.Span, e *tape.Error) {
	span.Status().SetCode(ptrace.StatusCodeError)
	span.Status().SetMessage(e.Message)
	span.Attributes().PutStr("error.type", cmp.Or(e.Type, "_OTHER"))
}

// providers are the names of the conventions for those who serve a protocol at a host of theirs.
var providers = []struct{ host, name string }{
	{"openai.azure.com", "azure.ai.openai"}, {"cognitiveservices.azure.com", "azure.ai.openai"}, {"amazonaws.com", "aws.bedrock"}, {"mistral.ai", "mistral_ai"}, {"groq.com", "groq"},
	{"deepseek.com", "deepseek"}, {"x.ai", "x_ai"}, {"perplexity.ai", "perplexity"}, {"cohere.com", "cohere"}, {"cohere.ai", "cohere"}, {"openrouter.ai", "openrouter"},
	{"aiplatform.googleapis.com", "gcp.vertex_ai"},
}

// provider is who answers: known by the host, else by the protocol.
func (c *call) provider() string {
	host := c.host
	if name, _, port := strings.Cut(host, ":"); port {
		host = name
	}
	for _, p := range providers {
		if host == p.host || strings.HasSuffix(host, "."+p.host) || strings.HasSuffix(host, "-"+p.host) {
			return p.name
		}
	}
	switch {
	case strings.Contains(c.api, "bedrock"):
		return "aws.bedrock"
	case strings.HasSuffix(c.api, "vertex"):
		return "gcp.vertex_ai"
	case strings.HasPrefix(c.api, "mistral"):
		return "mistral_ai"
	case strings.HasPrefix(c.api, "anthropic"):
		return "anthropic"
	case strings.HasPrefix(c.api, "gemini"):
		return "gcp.gemini"
	case strings.HasPrefix(c.api, "openai"):
		return "openai"
	}
	begin, _, _ := strings.Cut(c.api, "-")
	return begin
}

// write writes a call.
func (c *call) write(span ptrace.Span) {
	span.SetName(strings.TrimSpace("chat " + c.model))
	span.SetKind(ptrace.SpanKindClient)
	span.SetStartTimestamp(pcommon.NewTimestampFromTime(c.began))
	span.SetEndTimestamp(pcommon.NewTimestampFromTime(c.ended))
	a := span.Attributes()
	put := func(key, value string) {
		if value != "" {
			a.PutStr(key, value)
		}
	}
	put("gen_ai.operation.name", "chat")
	put("gen_ai.provider.name", c.provider())
	put("gen_ai.request.model", c.model)
	if host, port, err := net.SplitHostPort(c.host); err != nil {
		put("server.address", c.host)
	} else if put("server.address", host); port != "" {
		if n, err := strconv.Atoi(port); err == nil {
			a.PutInt("server.port", int64(n))
		}
	}
	if c.stream {
		a.PutBool("gen_ai.request.stream", true)
	}
	for _, p := range c.params {
		putParam(a, p.Name, p.Value)
	}
	sent := c.messages
	if len(c.system) > 0 && decode.HasRole(sent, tape.RoleSystem) { // instructions stand in one place or the other
		sent = slices.Insert(slices.Clone(sent), 0, decode.Message{Role: tape.RoleSystem, Parts: c.system})
	} else {
		put("gen_ai.system_instructions", list(parts(c.system)))
	}
	put("gen_ai.input.messages", list(messages(sent)))
	put("gen_ai.tool.definitions", list(definitions(c.tools)))
	if c.status > 0 {
		a.PutInt("http.response.status_code", int64(c.status))
	}
	if c.failure != nil {
		fail(span, c.failure)
		return
	}
	put("gen_ai.output.messages", list(messages(c.answer)))
	put("gen_ai.response.id", c.id)
	put("gen_ai.response.model", c.byModel)
	if len(c.finish) > 0 {
		reasons := a.PutEmptySlice("gen_ai.response.finish_reasons")
		for _, r := range c.finish {
			reasons.AppendEmpty().SetStr(r)
		}
	}
	for _, count := range []struct {
		key   string
		value *int64
	}{
		{"gen_ai.usage.input_tokens", c.usage.InputTokens}, {"gen_ai.usage.output_tokens", c.usage.OutputTokens},
		{"gen_ai.usage.cache_read.input_tokens", c.usage.CacheReadTokens}, {"gen_ai.usage.cache_creation.input_tokens", c.usage.CacheWriteTokens},
		{"gen_ai.usage.reasoning.output_tokens", c.usage.ReasoningTokens},
	} {
		if count.value != nil {
			a.PutInt(count.key, *count.value)
		}
	}
}

// putParam writes a setting of a request with the type that it has.
func putParam(a pcommon.Map, name string, v exactjson.Value) {
	key := "gen_ai.request." + name
	switch v.Kind() {
	case exactjson.String:
		a.PutStr(key, v.Str())
	case exactjson.Bool:
		a.PutBool(key, v.True())
	case exactjson.Number:
		if n, ok := v.Int(); ok && !strings.ContainsAny(v.Text(), ".eE") {
			a.PutInt(key, n)
		} else if f, err := strconv.ParseFloat(v.Text(), 64); err == nil {
			a.PutDouble(key, f)
		}
	case exactjson.Array:
		if slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return m.Value.Kind() != exactjson.String }) {
			a.PutStr(key, v.JSON())
			return
		}
		texts := a.PutEmptySlice(key)
		for _, m := range v.Members() {
			texts.AppendEmpty().SetStr(m.Value.Str())
		}
	case exactjson.Object:
		var members map[string]any
		if err := json.Unmarshal([]byte(v.JSON()), &members); err == nil {
			_ = a.PutEmptyMap(key).FromRaw(members) // what JSON holds has a place there
		}
	}
}

// list is a list as JSON, "" for an empty one.
func list(elements []exactjson.Value) string {
	if len(elements) == 0 {
		return ""
	}
	return exactjson.ArrayValue(elements...).JSON()
}

func text(name, value string) exactjson.Member {
	if value == "" {
		return exactjson.Member{Name: name}
	}
	return exactjson.Member{Name: name, Value: exactjson.StringValue(value)}
}

func messages(of []decode.Message) (all []exactjson.Value) {
	for i := range of {
		m := &of[i]
		all = append(all, exactjson.ObjectValue(text("role", string(m.Role)), text("name", m.Name), exactjson.Member{Name: "parts", Value: exactjson.ArrayValue(parts(m.Parts)...)}, text("finish_reason", m.FinishReason)))
	}
	return all
}

func parts(of []decode.Part) (all []exactjson.Value) {
	for i := range of {
		all = append(all, part(&of[i]))
	}
	return all
}

// part writes a part in the form of the conventions; what they have no form for stays as it was sent.
func part(p *decode.Part) exactjson.Value {
	content := exactjson.Member{Name: "content", Value: exactjson.StringValue(p.Text)}
	switch p.Type {
	case tape.PartText:
		return exactjson.ObjectValue(text("type", "text"), content)
	case tape.PartReasoning:
		return exactjson.ObjectValue(text("type", "reasoning"), content)
	case tape.PartToolCall:
		args := p.Args
		if p.ArgsText != "" {
			args = exactjson.StringValue(p.ArgsText)
		}
		return exactjson.ObjectValue(text("type", "tool_call"), text("id", p.ID), text("name", p.Name), exactjson.Member{Name: "arguments", Value: args})
	case tape.PartToolResult:
		result := p.Result
		if !p.Wrapped.IsAbsent() {
			result = p.Wrapped
		}
		o := []exactjson.Member{text("type", "tool_call_response"), text("id", p.ID), text("name", p.Name), {Name: "response", Value: result}}
		if p.IsError {
			o = append(o, exactjson.Member{Name: "is_error", Value: exactjson.BoolValue(true)})
		}
		return exactjson.ObjectValue(o...)
	case tape.PartMedia:
		if p.URI != "" {
			return exactjson.ObjectValue(text("type", "uri"), text("mime_type", p.MIMEType), text("uri", p.URI))
		}
		return exactjson.ObjectValue(text("type", "blob"), text("mime_type", p.MIMEType), text("sha256", p.SHA256), exactjson.Member{Name: "size", Value: exactjson.IntValue(p.Size)})
	}
	return p.Value
}

func definitions(of []tape.Tool) (all []exactjson.Value) {
	for i := range of {
		t := &of[i]
		all = append(all, exactjson.ObjectValue(text("type", "function"), text("name", t.Name), text("description", t.Description), exactjson.Member{Name: "parameters", Value: t.Parameters}))
	}
	return all
}
