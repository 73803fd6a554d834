// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// request is a tool call as it came.
type request struct {
	replayRunID string
	run         string
	query       oracle.Query
}

// maxName bounds the names and ids of a request, which a session keeps.
const maxName = 1024

// names are the members of a request that are texts.
func (r *request) names(name string) (to *string, required bool) {
	switch name {
	case "replay_run_id":
		return &r.replayRunID, true
	case "tool_name":
		return &r.query.ToolName, true
	case "invocation_id":
		return &r.query.Scope, false
	case "caller":
		return &r.query.Caller, false
	case "tool_call_id":
		return &r.query.ToolCallID, false
	case "args_hash":
		return &r.query.ArgsHash, false
	case "run":
		return &r.run, false
	}
	return nil, false
}

// readRequest reads the body of a tool call. Unknown members are ignored: clients may be newer. The arguments are left as text, which
// is all that a call with recorded arguments needs.
func readRequest(body string) (request, *problem) {
	var r request
	var args, argsRaw string
	var p *problem
	err := exactjson.RawMembers(body, func(name, raw string) error {
		if name == "args" {
			args = raw
			return nil // read with the rest of the arguments
		}
		v, err := exactjson.Parse(raw)
		if err != nil {
			return err
		}
		if name == "args_raw" && v.Kind() > exactjson.Null {
			if argsRaw = v.Str(); v.Kind() != exactjson.String {
				p = bad("args_raw is not a text")
			} else if strings.Trim(argsRaw, " \t\r\n") == "" {
				argsRaw = "{}"
			}
			return nil
		}
		if wrong := r.read(name, v); wrong != nil {
			p = wrong
		}
		return nil
	})
	switch {
	case err != nil:
		return r, bad("the body is not an object of exact JSON: " + err.Error())
	case p != nil:
		return r, p
	case r.replayRunID == "":
		return r, bad("replay_run_id is missing")
	case r.query.ToolName == "":
		return r, bad("tool_name is missing")
	}
	return r, r.readArgs(args, argsRaw)
}

// read takes one member that is not of the arguments.
func (r *request) read(name string, v exactjson.Value) *problem {
	to, required := r.names(name)
	switch {
	case to != nil && v.Kind() == exactjson.String && len(v.Text()) <= maxName && (v.Text() != "" || !required):
		*to = strings.Clone(v.Text()) // a session keeps it, and not the whole body
		r.query.Unnamed = r.query.Unnamed || name == "caller" && v.Text() == ""
	case to != nil && (v.Kind() > exactjson.Null || required):
		return bad(name + " is not a text of 1 to " + strconv.Itoa(maxName) + " bytes")
	case name == "turn" && v.Kind() > exactjson.Null:
		n, ok := v.Int()
		if !ok || n < 0 || n > 1<<31-1 {
			return bad("turn is not a number from 0")
		}
		r.query.Turn = int(n)
	case name == "call_index" && v.Kind() > exactjson.Null:
		n, ok := v.Int()
		if !ok {
			return bad("call_index is not a whole number")
		}
		r.query.CallIndex = &n
	}
	return nil
}

// readArgs takes args_raw, the text as the model wrote it, before args, which a client may have decoded and encoded again.
func (r *request) readArgs(args, raw string) *problem {
	stated := r.query.ArgsHash
	if args != "" && (raw != "" || args[0] != '{' && args[0] != '[') { // what is not hashed as text must be JSON all the same
		if _, err := exactjson.Parse(args); err != nil {
			return bad("args is not exact JSON: " + err.Error())
		}
	}
	switch {
	case raw != "":
		r.query.ArgsText, r.query.ArgsHash = raw, oracle.HashText(raw)
	case args != "":
		r.query.ArgsText, r.query.ArgsHash = args, oracle.HashText(args)
		if strings.HasPrefix(r.query.ArgsHash, "sha256-raw:") {
			// HashText takes text that is no JSON, which a member of JSON must not be.
			v, err := exactjson.Parse(args)
			if err != nil {
				return bad("args is not exact JSON: " + err.Error())
			}
			r.query.Args, r.query.ArgsHash = v, oracle.Hash(v)
		}
	case stated == "":
		return bad("none of args, args_raw and args_hash is there")
	}
	if stated == "" {
		return nil
	}
	switch hash, ok := oracle.ReadHash(stated, r.query.ArgsHash); {
	case args+raw == "" && !ok:
		return bad("args_hash is not 64 hex digits, alone or after sha256: or sha256-raw:")
	case args+raw == "":
		r.query.ArgsHash = hash
	case hash != r.query.ArgsHash:
		return &problem{http.StatusBadRequest, "args_hash_mismatch", "args_hash is " + quote(stated) + "; the arguments have " + r.query.ArgsHash + ": the client hashes in another way, see docs/oracle.md"}
	}
	return nil
}

// named takes the run that the URL names, in its path or as ?run=. A client that is configured with one URL has no other place for it.
func (r *request) named(from *http.Request) *problem {
	runs := []string{}
	if run := from.PathValue("run"); run != "" {
		runs = append(runs, run)
	}
	if from.URL.RawQuery != "" {
		query, err := url.ParseQuery(from.URL.RawQuery)
		if err != nil {
			return bad("the query of the URL cannot be read")
		}
		runs = append(runs, query["run"]...)
	}
	for _, run := range runs {
		switch {
		case run == "" || len(run) > maxName:
			return bad("the run of the URL is not a text of 1 to " + strconv.Itoa(maxName) + " bytes")
		case r.run != "" && r.run != run:
			return bad("the URL and the request name different runs")
		}
		r.run = run
	}
	return nil
}

func quote(s string) string { return strconv.Quote(s[:min(len(s), 100)]) }

func (h *Handler) toolCall(w http.ResponseWriter, r *http.Request) {
	arrived := h.config.Clock.Now()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		fail(w, problem{http.StatusUnsupportedMediaType, "not_json", "Content-Type must be application/json"})
		return
	}
	body, p := readBody(w, r, h.config.MaxBody)
	if p != nil {
		fail(w, *p)
		return
	}
	req, p := readRequest(body)
	if p != nil {
		fail(w, *p)
		return
	}
	if p := req.named(r); p != nil {
		fail(w, *p)
		return
	}
	s, p := h.sessions.of(r.Context(), req.replayRunID, req.run)
	if p != nil {
		fail(w, *p)
		return
	}
	if h.config.Scope != nil {
		req.query.Scope = h.config.Scope() + "/" + req.query.Scope
	}
	answer, err := s.Answer(req.query)
	if err != nil {
		fail(w, problem{http.StatusTooManyRequests, "session_full", err.Error()})
		return
	}
	if !answer.Repeated && h.config.Answered != nil {
		h.config.Answered(r.Context(), req.replayRunID, &req.query, &answer)
	}
	if !h.wait(r, arrived, &answer, w) {
		return // nobody is there any more; the same request gets the same answer
	}
	var near []oracle.Near
	if answer.Outcome.Missed() {
		near = s.Nearest(req.query)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	*buf = AppendAnswer((*buf)[:0], s.Oracle(), s.key.run, &answer, near)
	write(w, http.StatusOK, *buf)
}

// buffers keep the memory of answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) (string, *problem) {
	tooLarge := &problem{http.StatusRequestEntityTooLarge, "too_large", "the request is larger than " + strconv.FormatInt(limit, 10) + " bytes"}
	if r.ContentLength > limit {
		return "", tooLarge
	}
	const trusted = 1 << 20 // a stated length costs memory before anything has come
	var body []byte
	var err error
	if r.ContentLength >= 0 && r.ContentLength <= trusted {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return "", tooLarge
	case err != nil:
		return "", bad("the body cannot be read")
	}
	return unsafe.String(unsafe.SliceData(body), len(body)), nil // nobody else has the bytes
}

// wait lets the recorded latency pass, counted from when the request came. It reports false when the client has gone.
func (h *Handler) wait(r *http.Request, arrived time.Time, a *oracle.Answer, w http.ResponseWriter) bool {
	if h.config.Speed <= 0 || !a.Outcome.Served() || a.Entry.LatencyMS == nil {
		return true
	}
	latency := time.Duration(float64(*a.Entry.LatencyMS) / h.config.Speed * float64(time.Millisecond))
	left := latency - h.config.Clock.Since(arrived)
	if left <= 0 {
		return true
	}
	// The deadlines of the server count from when the request came. A read that is late while nothing is read would end the wait. Some writers
	// have no deadlines.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Time{})
	timer := h.config.Clock.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.Chan():
	case <-h.closing:
	case <-r.Context().Done():
		return false
	}
	_ = deadlines.SetWriteDeadline(time.Now().Add(writeTimeout))
	return true
}

// AppendAnswer appends an answer of an oracle as the protocol spells it. That is a line of JSON: the members of the wire protocol of Forge
// first, then ours.
func AppendAnswer(b []byte, o *oracle.Oracle, run string, a *oracle.Answer, near []oracle.Near) []byte {
	if a.Outcome.Served() {
		e := a.Entry
		b = append(b, `{"hit":true,"response":`...)
		b = o.AppendResponse(b, a.Index)
		b = strconv.AppendBool(append(b, `,"is_error":`...), e.IsError)
		if e.IsError && e.ErrorType != "" {
			b = text(append(b, `,"error_type":`...), e.ErrorType)
		}
		if e.IsError && e.ErrorMessage != "" {
			b = text(append(b, `,"error_message":`...), e.ErrorMessage)
		}
		b = strconv.AppendInt(append(b, `,"entry":`...), int64(a.Index), 10)
		b = strconv.AppendInt(append(b, `,"occurrence":`...), int64(max(e.Occurrence, 1)), 10)
		b = text(append(b, `,"match":`...), a.Match())
		b = text(append(b, `,"outcome":`...), string(a.Outcome))
		b = appendLabels(b, a.Labels)
		if e.ResponseFormat != "" {
			b = text(append(b, `,"response_format":`...), e.ResponseFormat)
		}
		if e.Seq > 0 {
			b = strconv.AppendInt(append(b, `,"seq":`...), int64(e.Seq), 10)
		}
		if e.Turn > 0 {
			b = strconv.AppendInt(append(b, `,"turn":`...), int64(e.Turn), 10)
		}
		if e.LatencyMS != nil {
			b = strconv.AppendInt(append(b, `,"latency_ms":`...), *e.LatencyMS, 10)
		}
	} else {
		b = append(b, `{"hit":false,"reason":`...)
		b = text(b, a.Reason())
		b = text(append(b, `,"outcome":`...), string(a.Outcome))
		if a.Index >= 0 {
			b = strconv.AppendInt(append(b, `,"entry":`...), int64(a.Index), 10)
		}
		b = appendNear(append(b, `,"nearest":`...), near)
	}
	b = strconv.AppendInt(append(b, `,"call":`...), int64(a.Call), 10)
	b = strconv.AppendBool(append(b, `,"repeated":`...), a.Repeated)
	b = text(append(b, `,"run_id":`...), run)
	return append(b, '}', '\n')
}

func text(b []byte, s string) []byte { return exactjson.AppendString(b, s) }

func appendLabels(b []byte, labels []oracle.Label) []byte {
	b = append(b, `,"labels":[`...)
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(b, string(l))
	}
	return append(b, ']')
}

func appendNear(b []byte, near []oracle.Near) []byte {
	b = append(b, '[')
	for i, n := range near {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, `{"entry":`...), int64(n.Index), 10)
		b = text(append(b, `,"tool_name":`...), n.Entry.ToolName)
		b = text(append(b, `,"args_hash":`...), n.Entry.ArgsHash)
		b = text(append(b, `,"caller":`...), n.Entry.Caller)
		b = strconv.AppendInt(append(b, `,"occurrence":`...), int64(max(n.Entry.Occurrence, 1)), 10)
		b = strconv.AppendBool(append(b, `,"used":`...), n.Used)
		b = strconv.AppendInt(append(b, `,"differences":`...), int64(n.Differences), 10)
		b = append(b, `,"diff":[`...)
		for j, d := range n.Diff {
			if j > 0 {
				b = append(b, ',')
			}
			b = text(append(b, `{"path":`...), d.Path)
			b = text(append(b, `,"recorded":`...), d.Recorded)
			b = append(text(append(b, `,"live":`...), d.Live), '}')
		}
		b = append(b, ']', '}')
	}
	return append(b, ']')
}

func (h *Handler) report(w http.ResponseWriter, r *http.Request) {
	s, p := h.sessions.find(r.PathValue("id"), r.URL.Query().Get("run"))
	if p != nil {
		fail(w, *p)
		return
	}
	writeReport(w, s.report())
}

func (h *Handler) end(w http.ResponseWriter, r *http.Request) {
	s, p := h.sessions.find(r.PathValue("id"), r.URL.Query().Get("run"))
	if p != nil {
		fail(w, *p)
		return
	}
	h.sessions.end(s)
	writeReport(w, s.report())
}

func writeReport(w http.ResponseWriter, r Report) {
	body, err := json.Marshal(r)
	if err != nil {
		fail(w, problem{http.StatusInternalServerError, "report", "the report cannot be written"})
		return
	}
	write(w, http.StatusOK, append(body, '\n'))
}
