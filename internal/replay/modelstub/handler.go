// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Config configures a Handler. Zero values are the defaults.
type Config struct {
	Stub *Stub // required
	// Token is what clients must send as API key; empty asks for none.
	Token       string
	MaxBody     int64 // bytes of one request, DefaultMaxBody
	MaxSessions int   // DefaultMaxSessions
	// Answered is told each request with its answer. It must be safe for concurrent use.
	Answered func(session string, a *Answer)
	// Upstream answers the calls that Options.Before leaves free.
	Upstream *Upstream
	// Speed lets an answer take as long as the recorded call took: 1 is as fast, 10 ten times as fast; 0
	// answers at once.
	Speed float64
}

// The defaults.
const (
	DefaultMaxBody     = 64 << 20 // images travel in requests
	DefaultMaxSessions = 1024
)

// SessionHeader names the session of a request. Without it a path that begins with /session/NAME does, else all requests share one.
const SessionHeader = "X-Tapedeck-Session"

// Handler serves a stub over HTTP. It is safe for concurrent use.
type Handler struct {
	config Config
	token  [sha256.Size]byte

	mu       sync.Mutex
	sessions map[string]*Session
}

// NewHandler returns a handler.
func NewHandler(c Config) *Handler {
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxSessions <= 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	return &Handler{config: c, token: sha256.Sum256([]byte(c.Token)), sessions: map[string]*Session{}}
}

// Turns is how many model calls the tape holds.
func (h *Handler) Turns() int { return len(h.config.Stub.turns) }

// SessionReport is the report of a named session.
type SessionReport struct {
	Session string `json:"session"`
	Report
}

// Reports returns the reports of all sessions, by name.
func (h *Handler) Reports() (all []SessionReport) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.sessions)) {
		all = append(all, SessionReport{name, h.sessions[name].Report()})
	}
	return all
}

// Report is the report of one session, also of one in which nothing was asked for.
func (h *Handler) Report(name string) Report {
	if s := h.session(name); s != nil {
		return s.Report()
	}
	return Report{}
}

// AskedBy is Session.AskedBy of a named session.
func (h *Handler) AskedBy(name, tool, argsHash string) *tape.Tape {
	if s := h.session(name); s != nil {
		return s.AskedBy(tool, argsHash)
	}
	return nil
}

// Shown is Session.Shown of a named session.
func (h *Handler) Shown(name string) map[string]Shown {
	if s := h.session(name); s != nil {
		return s.Shown()
	}
	return nil
}

func (h *Handler) session(name string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[name]
	if s == nil && len(h.sessions) < h.config.MaxSessions {
		s = h.config.Stub.NewSession()
		h.sessions[name] = s
	}
	return s
}

// Protocol says which protocol a request speaks, "" for none; and what else its path says.
func Protocol(r *http.Request) (api, model string, stream bool) {
	to := routeOf(r, r.URL.Path)
	if to.p == nil {
		return "", "", false
	}
	return to.p.name, to.model, to.stream
}

// Sent is the body of a request in a protocol in the form that the readers of dialects know.
func Sent(api string, body exactjson.Value) exactjson.Value {
	for _, p := range []*protocol{cohereChat, mistralChat, bedrockConverse} {
		if p.name == api {
			return p.read(body)
		}
	}
	return body
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, path := req.Header.Get(SessionHeader), req.URL.Path
	if rest, ok := strings.CutPrefix(path, "/session/"); ok {
		named, rest, _ := strings.Cut(rest, "/")
		name, path = cmp.Or(name, named), "/"+rest
	}
	rt := routeOf(req, path)
	p := rt.p
	failure := cmp.Or(p, openAIChat).failure
	if h.config.Token != "" && !h.authorised(req) {
		send(w, http.StatusUnauthorized, failure(http.StatusUnauthorized, "authentication_error", "tapedeck: the API key is not the token of this server"))
		return
	}
	s := h.session(name)
	if s == nil {
		send(w, http.StatusServiceUnavailable, failure(http.StatusServiceUnavailable, "too_many_sessions", "tapedeck: too many sessions"))
		return
	}
	if rt.beside != nil {
		h.answerBeside(w, req, s, name, &rt, path)
		return
	}
	if p == nil {
		h.refuse(w, s, name, openAIChat, Request{API: req.Method + " " + path}, "there is no stub for "+req.Method+" "+path+"; there are "+endpoints)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, req.Body, h.config.MaxBody))
	if err != nil {
		err = fmt.Errorf("read the request: %w", err)
	}
	list := p == geminiGenerate && req.URL.Query().Get("alt") != "sse" // how a stream of Gemini is framed
	stub, key := h.config.Stub, keyOf(p, rt.model, rt.stream, list, text)
	known := stub.seen.get(key)
	var body exactjson.Value
	if err == nil && known == nil {
		body, err = readBody(text)
	}
	if err != nil {
		status := statusOf(err)
		send(w, status, failure(status, "invalid_request_error", "tapedeck: "+err.Error()))
		return
	}
	if known == nil {
		model, stream := cmp.Or(body.Get("model").Str(), rt.model), rt.stream || body.Get("stream").True() || p.streams && body.Get("stream").IsAbsent()
		if rt.path {
			model, stream = rt.model, rt.stream
		}
		request, live := requestOf(p, model, stream, body)
		known = &sight{list: list, read: &reply{request: request, body: body}, live: live, unsupported: p.unsupported(body)}
		if known.unsupported == "" && request.Previous == "" {
			known.found = stub.agreements(&known.live)
			stub.seen.put(key, known, len(text))
		}
	}
	r := &reply{request: known.read.request, body: known.read.body}
	if option := known.unsupported; option != "" {
		h.refuse(w, s, name, p, r.request, "the stub of "+p.name+" has no option "+option)
		return
	}
	sent := r.request.Messages
	if known.found != nil {
		r.Answer = s.answerSeen(known)
	} else {
		r.Answer = s.Answer(r.request) // it continues what the session holds
	}
	h.tell(name, &r.Answer)
	if r.Outcome == Live {
		h.live(w, req, s, p, r)
		return
	}
	h.answer(w, req, s, p, r, sent, known)
}

func statusOf(err error) int {
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func readBody(text []byte) (exactjson.Value, error) {
	body, err := exactjson.Parse(string(text))
	if err == nil && body.Kind() != exactjson.Object {
		err = errors.New("not an object")
	}
	if err != nil {
		return body, fmt.Errorf("the request is not JSON: %w", err)
	}
	return body, nil
}

func (h *Handler) tell(session string, a *Answer) {
	if h.config.Answered != nil {
		h.config.Answered(session, a)
	}
}

// refuse answers what has no stub, and counts it.
func (h *Handler) refuse(w http.ResponseWriter, s *Session, name string, p *protocol, r Request, why string) {
	s.mu.Lock()
	a := s.count(r, Answer{Outcome: Unsupported, reason: why})
	s.mu.Unlock()
	h.tell(name, &a)
	send(w, http.StatusNotImplemented, p.failure(http.StatusNotImplemented, string(Unsupported), "tapedeck: "+why))
}

// authorised takes the key from where the SDKs of the providers send it.
func (h *Handler) authorised(req *http.Request) bool {
	_, bearer, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	for _, key := range []string{bearer, req.Header.Get("X-Api-Key"), req.Header.Get("Api-Key"), req.Header.Get("X-Goog-Api-Key"), req.URL.Query().Get("key")} {
		sum := sha256.Sum256([]byte(strings.TrimSpace(key)))
		if subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1 {
			return true
		}
	}
	return false
}

// Headers of answers.
const (
	headerOutcome = "X-Tapedeck-Outcome"
	headerSeq     = "X-Tapedeck-Event"
	headerLabels  = "X-Tapedeck-Labels"
	headerMadeUp  = "X-Tapedeck-Made-Up"
)

func (h *Handler) answer(w http.ResponseWriter, req *http.Request, s *Session, p *protocol, r *reply, sent []tape.Message, known *sight) {
	header := w.Header()
	header.Set(headerOutcome, string(r.Outcome))
	if seq := r.Seq(); seq > 0 {
		header.Set(headerSeq, itoa(seq))
	}
	var labels []string
	for _, l := range r.Labels {
		labels = append(labels, string(l))
	}
	if len(labels) > 0 {
		header.Set(headerLabels, strings.Join(labels, ", "))
	}
	requestID := "req_tapedeck_" + itoa(r.Call)
	header.Set("X-Request-Id", requestID)
	header.Set("Request-Id", requestID)
	switch {
	case r.Outcome == RecordedError:
		status, body := r.recordedError(p)
		h.finish(w, s, r)
		h.pause(w, req, r, 1, 1, time.Now())
		if !r.again { // what the SDK retried is behind the recorded failure, unless each attempt is a call of the tape
			header.Set("X-Should-Retry", "false")
		}
		send(w, status, body)
	case !r.Outcome.Served():
		header.Set("X-Should-Retry", "false")
		send(w, http.StatusUnprocessableEntity, p.failure(http.StatusUnprocessableEntity, string(r.Outcome), missText(&r.Answer)))
	default:
		out := known.write(p, r)
		s.keep(p, r, sent)
		h.finish(w, s, r)
		header.Set("Content-Type", out.contentType)
		if out.ends != nil {
			header.Set("Cache-Control", "no-cache")
		} else {
			header.Set("Content-Length", strconv.Itoa(len(out.body)))
		}
		h.writeOut(w, req, r, out)
	}
}

// writeOut writes an answer: at once, or over the time that the recorded call took.
func (h *Handler) writeOut(w http.ResponseWriter, req *http.Request, r *reply, out written) {
	ends := out.ends
	if h.config.Speed <= 0 || len(ends) == 0 {
		ends = []int{len(out.body)}
	}
	begun, from := time.Now(), 0
	for i, end := range ends {
		if !h.pause(w, req, r, i+1, len(ends), begun) {
			return
		}
		if _, err := w.Write(out.body[from:end]); err != nil {
			return // the client is gone; nothing depends on it
		}
		if from = end; len(ends) > 1 {
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Bounds of how long a call took, and of how long an answer takes.
const (
	maxRecorded = 24 * time.Hour
	maxPause    = 10 * time.Minute
)

// pause waits until the i-th of n pieces of an answer is due. When a provider sent each piece is on no tape,
// so they lie at equal distances. It is false when the client does not wait.
func (h *Handler) pause(w http.ResponseWriter, req *http.Request, r *reply, i, n int, begun time.Time) bool {
	if h.config.Speed <= 0 {
		return true
	}
	recorded := time.Duration(min(max(r.event().DurationMS, 0), maxRecorded.Milliseconds())) * time.Millisecond
	whole := min(time.Duration(float64(recorded)/h.config.Speed), maxPause)
	left := whole*time.Duration(i)/time.Duration(n) - time.Since(begun)
	// The deadlines of a server are for answers that come at once. Some writers have none.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Time{})
	_ = deadlines.SetWriteDeadline(time.Now().Add(left + time.Minute))
	select {
	case <-time.After(left):
		return true
	case <-req.Context().Done():
		return false
	}
}

const (
	sse       = "text/event-stream; charset=utf-8"
	ndjson    = "application/x-ndjson"
	awsStream = "application/vnd.amazon.eventstream"
	wholeJSON = "application/json"
)

// framing is how the events of a stream stand one behind the other.
type framing int

const (
	serverSent framing = iota
	jsonLines
	awsEvents
)

var streamTypes = map[framing]string{serverSent: sse, jsonLines: ndjson, awsEvents: awsStream}

// render is the body of an answer. list says that events of a stream are the elements of one array.
func render(p *protocol, r *reply, list bool) written {
	switch {
	case !r.request.Stream:
		return written{contentType: wholeJSON, body: encode(p.whole(r))}
	case !list:
		return stream(p, p.events(r))
	}
	events := p.events(r)
	all := make([]any, len(events))
	for i := range events {
		all[i] = events[i].data
	}
	return written{contentType: wholeJSON, body: encode(all)}
}

// finish declares what was made up, in a header and in the report.
func (h *Handler) finish(w http.ResponseWriter, s *Session, r *reply) {
	slices.Sort(r.madeUp)
	s.declare(r.Call, r.madeUp, r.left)
	if len(r.madeUp) > 0 {
		w.Header().Set(headerMadeUp, strings.Join(r.madeUp, ", "))
	}
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // objects of this package, of texts and numbers
	}
	return b.Bytes()
}

func send(w http.ResponseWriter, status int, v any) {
	body := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone or not; nothing depends on it
}

func stream(p *protocol, events []event) written {
	out, b := written{contentType: streamTypes[p.framing]}, bytes.Buffer{}
	for _, e := range events {
		switch p.framing {
		case jsonLines:
			b.Write(encode(e.data))
		case awsEvents:
			awsMessage(&b, e)
		default:
			if p.named {
				b.WriteString("event: " + e.name + "\n")
			}
			b.WriteString("data: ")
			b.Write(encode(e.data))
			b.WriteString("\n")
		}
		out.ends = append(out.ends, b.Len())
	}
	if p.done {
		b.WriteString("data: [DONE]\n\n")
		out.ends = append(out.ends, b.Len())
	}
	out.body = b.Bytes()
	return out
}
