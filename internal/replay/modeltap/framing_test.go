// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// frame is one message of AWS's event stream.
func frame(payload string, headers ...string) []byte {
	var head []byte
	for i := 0; i < len(headers); i += 2 {
		head = append(append(head, byte(len(headers[i]))), headers[i]...)
		head = binary.BigEndian.AppendUint16(append(head, 7), uint16(len(headers[i+1]))) //nolint:gosec // short
		head = append(head, headers[i+1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(12+len(head)+len(payload)+4)) //nolint:gosec // short
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))                      //nolint:gosec // short
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, head...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// answerOf is what an answer says and asks for.
func answerOf(t testing.TB, kind string, b []byte) (text string, c *call) {
	t.Helper()
	c = &call{}
	c.readAnswer(&exchange{status: 200, got: body{kind: kind, bytes: b}})
	if c.failure != nil {
		return "failure " + c.failure.Type, c
	}
	for _, m := range c.answer {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartToolCall:
				text += "call " + p.ID + " " + p.Name + " " + p.Args.JSON() + ";"
			default:
				text += string(p.Type) + " " + p.Text + ";"
			}
		}
	}
	return text + strings.Join(c.finish, ","), c
}

func TestAnswersInEachFraming(t *testing.T) {
	chunk := func(event string) []byte {
		return frame(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"x"}`, ":message-type", "event", ":event-type", "chunk")
	}
	event := func(kind, payload string) []byte {
		return frame(payload, ":message-type", "event", ":event-type", kind, ":content-type", "application/json")
	}
	const aws = "application/vnd.amazon.eventstream"
	for name, c := range map[string]struct {
		kind string
		body []byte
		want string
	}{
		"whole":             {"application/json", []byte(`{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`), "text a;stop"},
		"sse with CRLF":     {"text/event-stream; charset=utf-8", []byte("data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\r\n\r\n: ping\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n"), "reasoning hm;text a;stop"},
		"sse in lines":      {"", []byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n"), "text a;stop"},
		"sse, data cut":     {"text/event-stream", []byte("data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n"), "text a;stop"},
		"ndjson":            {"application/x-ndjson", []byte("{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n{\"message\":{\"role\":\"assistant\",\"content\":\"b\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}}]},\"done\":false}\n{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":4}\n"), "text ab;call  f {\"x\":1};stop"},
		"ndjson, cut":       {"application/x-ndjson", []byte("{\"message\":{\"role\":\"assistant\",\"content\":\"a\"},\"done\":false}\n"), "failure broken_off"},
		"a list of Gemini":  {"application/json", []byte(`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]`), "text ab;STOP"},
		"converse":          {aws, bytes.Join([][]byte{event("messageStart", `{"role":"assistant"}`), event("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`), event("contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}`), event("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"x\":"}}}`), event("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"1}"}}}`), event("messageStop", `{"stopReason":"tool_use"}`), event("metadata", `{"usage":{"inputTokens":3,"outputTokens":4}}`)}, nil), "text a;call t1 f {\"x\":1};tool_use"},
		"an invoked model":  {aws, bytes.Join([][]byte{chunk(`{"type":"message_start","message":{"role":"assistant","content":[],"model":"m"}}`), chunk(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`), chunk(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`), chunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`)}, nil), "text a;end_turn"},
		"an exception":      {aws, frame(`{"message":"slow down"}`, ":message-type", "exception", ":exception-type", "throttlingException"), "failure throttlingException"},
		"items when done":   {"text/event-stream", []byte("data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[]}}\n\n"), "call c f {};completed"},
		"items, cut":        {"text/event-stream", []byte("data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n"), "failure broken_off"},
		"an incomplete one": {"application/json", []byte(`{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}`), "text a;max_output_tokens"},
	} {
		if got, _ := answerOf(t, c.kind, c.body); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	broken := frame(`{"role":"assistant"}`, ":event-type", "messageStart")
	broken[len(broken)-1]++
	for _, b := range [][]byte{broken, broken[:20], {0, 0, 0, 1}, bytes.Repeat([]byte{255}, 64)} {
		if events, err := awsEvents(b); !errors.Is(err, errFrame) || len(events) > 0 {
			t.Errorf("%v %v", events, err)
		}
	}
}

func TestCountsOfTokens(t *testing.T) {
	_, c := answerOf(t, "application/json", []byte(`{"id":"msg_1","model":"claude","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5,"cache_creation_input_tokens":6}}`))
	for i, want := range []int64{3, 4, 5, 6} {
		if got := []*int64{c.usage.InputTokens, c.usage.OutputTokens, c.usage.CacheReadTokens, c.usage.CacheWriteTokens}[i]; got == nil || *got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
	if c.id != "msg_1" || c.byModel != "claude" {
		t.Errorf("%+v", c)
	}
}

func TestEncodings(t *testing.T) {
	const text = `{"a":"some text, some text, some text"}`
	packed := func(open func(io.Writer) io.WriteCloser, of []byte) []byte {
		var b bytes.Buffer
		w := open(&b)
		if _, err := w.Write(of); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	zip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	std := func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	for name, b := range map[string][]byte{
		"": []byte(text), "identity": []byte(text), "gzip": packed(zip, []byte(text)), "zstd": packed(std, []byte(text)), "zstd, gzip": packed(zip, packed(std, []byte(text))),
		"deflate": packed(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, []byte(text)),
		"Deflate": packed(func(w io.Writer) io.WriteCloser {
			f, err := flate.NewWriter(w, 1)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}, []byte(text)),
	} {
		if got, err := plain(b, name); err != nil || string(got) != text {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if _, err := plain([]byte(text), "br"); err == nil {
		t.Error("an unknown encoding is read")
	}
	if _, err := plain(packed(zip, make([]byte, MaxBody+1)), "gzip"); !errors.Is(err, errTooLong) {
		t.Errorf("a bomb: %v", err)
	}
}

// FuzzAnswer reads answers of any content in any framing.
func FuzzAnswer(f *testing.F) {
	for _, kind := range []string{"application/json", "text/event-stream", "application/x-ndjson"} {
		f.Add(kind, []byte(`{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`))
		f.Add(kind, []byte("event: x\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_reason\":\"stop\"}]}\n\n"))
		f.Add(kind, []byte("data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"x\"}}\n"))
		f.Add(kind, []byte("data: {\"type\":\"response.output_item.done\",\"item\":{}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n"))
	}
	f.Add("application/vnd.amazon.eventstream", frame(`{"role":"assistant"}`, ":event-type", "messageStart"))
	f.Add("application/vnd.amazon.eventstream", append(frame(`{}`, ":event-type", "messageStart"), frame(`{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"a"}}}`, ":event-type", "contentBlockDelta")...))
	f.Fuzz(func(t *testing.T, kind string, b []byte) {
		text, c := answerOf(t, kind, b)
		again, _ := answerOf(t, kind, b)
		if text != again {
			t.Errorf("%q, then %q", text, again)
		}
		if c.failure == nil && len(c.answer) > 1 {
			t.Errorf("%d answers", len(c.answer))
		}
	})
}

// FuzzRequest reads requests of any content, writes them after the conventions, and groups them.
func FuzzRequest(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"function":{"name":"f"}}],"temperature":1e400}`)
	f.Add(`{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}],"stop":["a"],"tool_choice":{"type":"auto"}}`)
	f.Add(`{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}],"generationConfig":{"topK":1}}`)
	f.Add(`{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"data":"aGk="}}]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		one, two := &call{answer: []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("a")}}}}, &call{}
		if one.readRequest([]byte(text)) != nil {
			return
		}
		if err := two.readRequest([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if n := len(group([]*call{one, two})); n < 1 || n > 2 {
			t.Errorf("%d conversations", n)
		}
		for _, written := range []string{list(messages(one.messages)), list(parts(one.system)), list(definitions(one.tools))} {
			if _, err := exactjson.Parse(written); written != "" && err != nil {
				t.Errorf("%v: %q", err, written)
			}
		}
	})
}
