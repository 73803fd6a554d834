// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// call is a model call: what was asked and what came of it.
type call struct {
	api, host, model string
	stream           bool
	began, ended     time.Time
	status           int

	system   []decode.Part
	messages []decode.Message
	tools    []tape.Tool
	params   []exactjson.Member
	previous string // the id of the answer that it continues, where the provider keeps the conversation

	answer      []decode.Message // at most one
	id, byModel string
	finish      []string
	usage       tape.Usage
	failure     *tape.Error
}

// readCall reads what passed. An error says that the request cannot be read; what is wrong with an answer is
// a failure of the call.
func readCall(x *exchange) (*call, error) {
	c := &call{api: x.api, host: x.host, model: x.model, stream: x.stream, began: x.began, ended: x.ended, status: x.status}
	if x.sent.over {
		return nil, errTooLong
	}
	sent, err := plain(x.sent.bytes, x.sent.encoding)
	if err != nil {
		return nil, err
	}
	if err := c.readRequest(sent); err != nil {
		return nil, err
	}
	c.readAnswer(x)
	return c, nil
}

// readRequest reads a request as the stub of replays does, so that both see the same conversation.
func (c *call) readRequest(text []byte) error {
	body, err := exactjson.Parse(string(text))
	if err != nil {
		return err
	}
	c.model = cmp.Or(c.model, body.Get("model").Str())
	c.stream = c.stream || body.Get("stream").True()
	c.previous = body.Get("previous_response_id").Str()
	c.messages, c.system = decode.RequestMessages(modelstub.Sent(c.api, body), tape.RoleUser)
	c.tools = decode.ToolDefinitions(body.Get("tools"))
	if more := body.Get("toolConfig").Get("tools"); len(c.tools) == 0 {
		c.tools = decode.ToolDefinitions(more)
	}
	known := map[string]bool{}
	for _, of := range []exactjson.Value{body, body.Get("generationConfig"), body.Get("inferenceConfig"), body.Get("options")} {
		for _, m := range of.Members() {
			if name := decode.ParamNames[m.Name]; name != "" && !known[name] && !m.Value.IsEmpty() {
				known[name] = true
				c.params = append(c.params, exactjson.Member{Name: name, Value: m.Value})
			}
		}
	}
	return nil
}

// maxMessage bounds the text of a failure that is no JSON.
const maxMessage = 1024

// readAnswer reads what came back.
func (c *call) readAnswer(x *exchange) {
	switch {
	case x.status == 0:
		c.failure = &tape.Error{Type: "no_answer", Message: "no answer came"}
		return
	case x.got.over:
		c.failure = &tape.Error{Type: "too_long", Message: "the answer is longer than is kept"}
		return
	}
	got, err := plain(x.got.bytes, x.got.encoding)
	if err != nil {
		c.failure = &tape.Error{Type: "unreadable", Message: "the answer cannot be read: " + err.Error()}
		return
	}
	a, err := read(x.got.kind, got)
	if x.status >= http.StatusBadRequest {
		c.failure = failureOf(a.whole)
		if text := a.whole.Get("message"); c.failure == nil && text.Kind() == exactjson.String { // AWS, and gateways
			c.failure = &tape.Error{Type: a.whole.Get("__type").Str(), Message: text.Str()}
		}
		if c.failure == nil {
			c.failure = &tape.Error{Message: strings.ToValidUTF8(string(got[:min(len(got), maxMessage)]), "")}
		}
		c.failure.Type = cmp.Or(c.failure.Type, strconv.Itoa(x.status))
		c.failure.Message = strings.TrimSpace(strconv.Itoa(x.status) + " " + c.failure.Message)
		return
	}
	response, ended := a.whole, true
	if len(a.events) > 0 {
		for _, event := range a.events {
			if c.failure = failureOf(event); c.failure != nil {
				return
			}
		}
		known := false
		if response, ended, known = decode.JoinEvents(a.events); !known {
			c.failure = &tape.Error{Type: "unreadable", Message: "the answer cannot be read: its events are of no protocol that is known"}
			return
		}
	} else if x.broke && err != nil {
		ended = false
	} else if err != nil || response.Kind() != exactjson.Object {
		c.failure = &tape.Error{Type: "unreadable", Message: "the answer cannot be read: it is not JSON"}
		return
	}
	if c.failure = failureOf(response); c.failure != nil {
		return
	}
	if !ended {
		c.failure = &tape.Error{Type: "broken_off", Message: "the answer broke off before its end"}
		return
	}
	c.readResponse(response)
}

// readResponse reads an answer as the provider gives it without a stream.
func (c *call) readResponse(v exactjson.Value) {
	message := v.Get("message")
	member := func(name string, value exactjson.Value) exactjson.Member {
		return exactjson.Member{Name: name, Value: value}
	}
	switch plan := message.Get("tool_plan"); {
	case plan.Str() != "" && len(message.Get("content").Members()) == 0: // Cohere says so what it says before calls
		v = exactjson.ObjectValue(append([]exactjson.Member{member("message", exactjson.ObjectValue(append([]exactjson.Member{member("content", plan)}, message.Members()...)...))}, v.Members()...)...)
	case message.IsAbsent() && v.Get("response").Kind() == exactjson.String && v.Get("done").Kind() == exactjson.Bool: // Ollama's generate
		said := exactjson.ObjectValue(member("role", exactjson.StringValue("assistant")), member("content", v.Get("response")), member("reasoning_content", v.Get("thinking")))
		v = exactjson.ObjectValue(append([]exactjson.Member{member("message", said)}, v.Members()...)...)
	}
	c.answer = decode.OneTurn(decode.OutputMessages(v, 0))
	c.id = v.First("id", "responseId", "response_id").Str()
	c.byModel = v.First("model", "modelVersion").Str()
	for _, m := range []exactjson.Value{
		v.Get("choices").At(0).Get("finish_reason"), v.Get("stop_reason"), v.Get("stopReason"), v.Get("candidates").At(0).Get("finishReason"), v.Get("done_reason"), v.Get("finish_reason"),
	} {
		if m.Str() != "" {
			c.finish = append(c.finish, m.Str())
			break
		}
	}
	if status := v.Get("status").Str(); len(c.finish) == 0 && status != "" { // of the Responses API
		c.finish = []string{cmp.Or(v.Get("incomplete_details").Get("reason").Str(), status)}
	}
	for i := range c.answer {
		if len(c.finish) == 0 && c.answer[i].FinishReason != "" {
			c.finish = []string{c.answer[i].FinishReason}
		}
	}
	c.usage = decode.Usage(v.First("usage", "usageMetadata"))
	if counts := v.Get("usage").Get("tokens"); counts.Kind() == exactjson.Object { // Cohere
		c.usage = decode.Usage(counts)
	}
	if n, ok := decode.CountOf(v.Get("prompt_eval_count")); ok && c.usage.InputTokens == nil { // Ollama
		c.usage.InputTokens = &n
	}
	if n, ok := decode.CountOf(v.Get("eval_count")); ok && c.usage.OutputTokens == nil {
		c.usage.OutputTokens = &n
	}
}

// failureOf reads the failure that a body or an event is, nil where it is none.
func failureOf(v exactjson.Value) *tape.Error {
	e := v.Get("error")
	if inner := v.Get("response").Get("error"); v.Get("type").Str() == "response.failed" {
		if e = inner; e.Kind() != exactjson.Object {
			return &tape.Error{Type: "response.failed"}
		}
	}
	if v.Get("type").Str() == "error" && e.IsEmpty() { // of a stream of the Responses API
		e = v
	}
	if v.Kind() == exactjson.Array { // Gemini, of a stream without alt=sse
		return failureOf(v.At(0))
	}
	switch e.Kind() {
	case exactjson.String:
		if e.Str() != "" {
			return &tape.Error{Message: e.Str()}
		}
	case exactjson.Object:
		kind := e.First("type", "status", "code").Text()
		if code := e.Get("code"); e.Get("type").Str() == "error" && code.Text() != "" {
			kind = code.Text()
		}
		return &tape.Error{Type: kind, Message: e.Get("message").Str()}
	}
	return nil
}

// digest sums up values. Equal ones have equal digests.
func digest(v ...any) [sha256.Size]byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers of this package
	}
	return sha256.Sum256(b)
}

// said sums up a message in what clients send back as it came: texts without the space around them, calls and
// results. What a model thought, and ids, they may leave out or replace.
func said(m *decode.Message) [sha256.Size]byte {
	text, rest := "", []any{}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case tape.PartText:
			text += strings.TrimSpace(p.Text)
		case tape.PartToolCall:
			rest = append(rest, p.Name, canonical(p.Args))
		case tape.PartToolResult:
			rest = append(rest, canonical(p.Result))
		case tape.PartReasoning:
		default:
			rest = append(rest, p.MIMEType, p.SHA256, p.URI, canonical(p.Value))
		}
	}
	return digest(string(m.Role), strings.TrimSpace(text), rest)
}

func canonical(v exactjson.Value) string {
	if v.IsAbsent() {
		return ""
	}
	if text, err := v.Canonical(); err == nil {
		return text
	}
	return v.JSON()
}

// systemText is what the model was instructed, wherever it stands.
func (c *call) systemText() string {
	text := ""
	parts := slices.Clone(c.system)
	for i := range c.messages {
		if c.messages[i].Role == tape.RoleSystem {
			parts = append(parts, c.messages[i].Parts...)
		}
	}
	for i := range parts {
		text += strings.TrimSpace(parts[i].Text) + "\n"
	}
	return text
}

func (c *call) toolNames() string {
	names := []string{}
	for i := range c.tools {
		names = append(names, c.tools[i].Name)
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}
