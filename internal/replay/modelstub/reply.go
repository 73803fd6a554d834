// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// object is a JSON object that is about to be written.
type object = map[string]any

// protocol is what one API of a provider looks like.
type protocol struct {
	name string
	// read makes of a request what the reader of the dialects reads; nil where it reads the request as it is.
	read func(body exactjson.Value) exactjson.Value
	// unsupported names an option of the request that has no stub, "" for none.
	unsupported func(body exactjson.Value) string
	// whole is the body of an answer. events are the same as a stream.
	whole  func(r *reply) any
	events func(r *reply) []event
	// failure is the body of an error.
	failure func(status int, kind, message string) any
	framing framing
	named   bool // server-sent events have their names
	done    bool // a last line says [DONE]
	streams bool // a request that does not say is for a stream
	// echoes says that answers repeat settings of the request.
	echoes bool
	// upstream is the path at a real endpoint, "" for a protocol that is not passed on.
	upstream string
}

// event is one event of a stream.
type event struct {
	name string
	data any
}

// reply is an answer on its way into the form of a protocol. It keeps what was made up on the way.
type reply struct {
	Answer
	request Request
	body    exactjson.Value // of the request
	madeUp  []string
	left    []string
}

func (r *reply) event() *tape.Event { return r.turn.event }

func (r *reply) makeUp(what string) {
	if !slices.Contains(r.madeUp, what) {
		r.madeUp = append(r.madeUp, what)
	}
}

func (r *reply) id(prefix string) string {
	if e := r.event(); e.Response != nil && e.Response.ID != "" {
		return e.Response.ID
	}
	r.makeUp("id")
	return prefix + "tapedeck" + itoa(r.Seq())
}

func (r *reply) model() string {
	if m := r.recordedModel(); m != "" {
		return m
	}
	r.makeUp("model")
	return r.request.Model
}

func (r *reply) recordedModel() string {
	if e := r.event(); e.Response == nil || e.Response.Model == "" {
		return e.Model
	}
	return r.event().Response.Model
}

// created is when the recorded call started, in seconds of Unix time.
func (r *reply) created() int64 {
	if at := r.event().StartedAt; !at.IsZero() {
		return at.Unix()
	}
	r.makeUp("created")
	return 0
}

// finish is why the model stopped, in the words of a protocol: those for an end, for calls, for a bound and for a filter.
func (r *reply) finish(end, calls, length, filter string) string {
	reasons := []string(nil)
	if e := r.event(); e.Response != nil {
		reasons = e.Response.FinishReasons
	}
	if len(reasons) == 0 {
		r.makeUp("finish_reason")
		if len(r.calls()) > 0 {
			return calls
		}
		return end
	}
	switch reason := strings.ToLower(reasons[0]); {
	case tape.AsksForTools(reason) || len(r.calls()) > 0 && (reason == "stop" || reason == "completed"):
		return calls
	case reason == "stop" || reason == "end_turn" || reason == "completed" || reason == "end" || reason == "stop_sequence" || reason == "finish_reason_stop":
		return end
	case strings.Contains(reason, "length") || strings.Contains(reason, "max_"):
		return length
	case strings.Contains(reason, "filter") || strings.Contains(reason, "safety") || strings.Contains(reason, "refusal"):
		return filter
	}
	r.makeUp("finish_reason")
	return end
}

// tokens are the recorded counts; 0 where there are none.
type tokens struct{ in, out, read, written, reasoning int64 }

// usage returns the counts. withCache says whether the protocol counts tokens of the cache as input.
func (r *reply) usage(withCache bool) (t tokens) {
	u := r.event().Usage
	if u == nil {
		u = &tape.Usage{}
	}
	if u.InputTokens == nil || u.OutputTokens == nil {
		r.makeUp("usage")
	}
	value := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	t = tokens{value(u.InputTokens), value(u.OutputTokens), value(u.CacheReadTokens), value(u.CacheWriteTokens), value(u.ReasoningTokens)}
	if u.InputIncludesCache != nil && *u.InputIncludesCache != withCache {
		if withCache {
			t.in += t.read + t.written
		} else {
			t.in = max(0, t.in-t.read-t.written)
		}
	}
	return t
}

func (r *reply) texts(kind tape.PartType) string {
	text := ""
	for _, p := range r.message.Parts {
		if p.Type == kind {
			text = joined(text, p.Text)
		}
	}
	return text
}

// refusal is the text by which the model says that it does not answer; words are its other texts. APIs
// without a member for a refusal send all texts alike.
func (r *reply) refusal() (refusal, words string) {
	for _, p := range r.message.Parts {
		switch {
		case p.Type != tape.PartText:
		case p.Refusal:
			refusal = joined(refusal, p.Text)
		default:
			words = joined(words, p.Text)
		}
	}
	return refusal, words
}

func (r *reply) calls() (calls []tape.Part) {
	for _, p := range r.message.Parts {
		if p.Type == tape.PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

func argsText(p tape.Part) string { return interop.ArgsText(p) }

// argsObject are the arguments as JSON, for protocols that carry no text.
func (r *reply) argsObject(p tape.Part) json.RawMessage {
	if p.Args.Kind() == exactjson.Object {
		return json.RawMessage(p.Args.JSON())
	}
	if p.Args.IsAbsent() {
		return json.RawMessage("{}")
	}
	r.makeUp("args") // a text that is no JSON, in a member of its own
	return json.RawMessage(exactjson.ObjectValue(exactjson.Member{Name: "input", Value: p.Args}).JSON())
}

// pieceBytes is how long the pieces of a stream are. How the provider cut it is on no tape.
const pieceBytes = 48

// pieces cuts a text for a stream, between characters.
func (r *reply) pieces(text string) (list []string) {
	r.makeUp("stream pieces")
	for len(text) > pieceBytes {
		at := pieceBytes
		for text[at]&0xC0 == 0x80 && at > 1 {
			at--
		}
		list, text = append(list, text[:at]), text[at:]
	}
	return append(list, text)
}

// requestOf reads the body of a request, and the conversation that it holds. The reader of the dialects reads the messages, so that both sides are
// read alike.
func requestOf(p *protocol, model string, stream bool, body exactjson.Value) (r Request, live conversation) {
	r = Request{API: p.name, Model: model, Stream: stream, Previous: body.Get("previous_response_id").Str()}
	if p.read != nil {
		body = p.read(body)
	}
	messages, system := decode.RequestMessages(body, tape.RoleUser)
	read := func(role tape.Role, name string, parts []decode.Part) {
		live.said(role, len(parts), func(i int) *tape.Part { return &parts[i].Part }, false)
		if p != openAIResponses { // no other protocol keeps the conversation at the provider
			return
		}
		m := tape.Message{Role: role, Name: name, Parts: make([]tape.Part, len(parts))}
		for i := range parts {
			m.Parts[i] = parts[i].Part
		}
		r.Messages = append(r.Messages, m)
	}
	if len(system) > 0 {
		read(tape.RoleSystem, "", system)
		r.Instructed = true
	}
	for _, m := range messages {
		read(m.Role, m.Name, m.Parts)
	}
	for _, tool := range decode.ToolDefinitions(body.Get("tools")) {
		r.Tools = append(r.Tools, tool.Name)
	}
	return r, live
}

var (
	pythonError = regexp.MustCompile(`^Error code: ([45]\d\d) - (\{.*\})$`) // SDKs of OpenAI and Anthropic
	statusFirst = regexp.MustCompile(`^([45]\d\d)\b[ :]*`)                  // JavaScript SDKs
	statusIn    = regexp.MustCompile(`(?i)(?:status(?:[ _]code)?|HTTP(?:/\d(?:\.\d)?)?|error code|code)[ :='"]*([45]\d\d)\b`)
)

var statusOfError = []struct {
	word   string
	status int
}{
	{"ratelimit", http.StatusTooManyRequests}, {"rate_limit", http.StatusTooManyRequests}, {"resource_exhausted", http.StatusTooManyRequests},
	{"authentication", http.StatusUnauthorized}, {"unauthorized", http.StatusUnauthorized}, {"permission", http.StatusForbidden},
	{"notfound", http.StatusNotFound}, {"not_found", http.StatusNotFound}, {"badrequest", http.StatusBadRequest}, {"invalid_request", http.StatusBadRequest},
	{"invalid_argument", http.StatusBadRequest}, {"unprocessable", http.StatusUnprocessableEntity}, {"overloaded", 529},
	{"timeout", http.StatusGatewayTimeout}, {"unavailable", http.StatusServiceUnavailable},
}

// recordedError is the status and the body of a failure. Telemetry names the error of the SDK, which quotes what the provider sent.
func (r *reply) recordedError(p *protocol) (status int, body any) {
	e := r.event().Error
	if e == nil {
		e = &tape.Error{}
	}
	if found := pythonError.FindStringSubmatch(e.Message); found != nil {
		if quoted, _, ok := decode.Python(found[2]); ok && quoted.Kind() == exactjson.Object {
			status, _ = strconv.Atoi(found[1])
			return status, json.RawMessage(quoted.JSON())
		}
	}
	message := e.Message
	if found := statusFirst.FindStringSubmatch(message); found != nil {
		status, _ = strconv.Atoi(found[1])
		message = message[len(found[0]):]
	} else if found := statusIn.FindStringSubmatch(message); found != nil {
		status, _ = strconv.Atoi(found[1])
	} else {
		r.makeUp("status")
		status = http.StatusInternalServerError
		for _, known := range statusOfError {
			if strings.Contains(strings.ToLower(e.Type+" "+message), known.word) {
				status = known.status
				break
			}
		}
	}
	r.makeUp("error body")
	kind := e.Type
	if kind == "" {
		kind = "error"
	}
	return status, p.failure(status, kind, message)
}

// missText tells a person what was not found.
func missText(a *Answer) string {
	text := fmt.Sprintf("tapedeck: model call %d: %s", a.Call, a.Outcome)
	switch {
	case a.Outcome == Exhausted:
		text += fmt.Sprintf(": event %d was served already", a.Seq())
	case a.Outcome == Unservable:
		text += fmt.Sprintf(": the answer of event %d is %s on the tape", a.Seq(), a.reason)
	case a.Nearest != nil:
		text += fmt.Sprintf(": no recorded request has this conversation; that of event %d comes closest and differs at %s: recorded %q, live %q", a.Nearest.Seq, a.Nearest.Place, a.Nearest.Recorded, a.Nearest.Live)
	}
	return text
}
