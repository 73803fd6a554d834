// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

const (
	maxBody = 64 << 20
	quiet   = 300 * time.Millisecond // without OTLP before the files of a run are written
	settle  = 10 * time.Second       // and no longer than this after /end
)

// Recorder is an http.Handler that records one run at a time below a folder.
type Recorder struct {
	dir     string
	scripts []scenario

	mu      sync.Mutex
	run     *run // nil between runs
	traces  ptrace.Traces
	logs    plog.Logs
	arrived time.Time // of the last OTLP
}

// New makes a recorder of the written scenarios; it writes DIR/GROUP/SCENARIO.*.
func New(dir string) *Recorder { return newRecorder(dir, scenarios()) }

// NewGenerated makes a recorder of count scenarios that are drawn from seed.
func NewGenerated(dir string, seed uint64, count int) *Recorder {
	return newRecorder(dir, generated(seed, count))
}

func newRecorder(dir string, scripts []scenario) *Recorder {
	return &Recorder{dir: dir, scripts: scripts, traces: ptrace.NewTraces(), logs: plog.NewLogs()}
}

// word is a name that is one segment of a path.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := read(req)
	if err == nil {
		err = r.serve(w, req, body)
	}
	if err != nil {
		var status *failure
		if !errors.As(err, &status) {
			status = &failure{http.StatusBadRequest, err.Error()}
		}
		reply(w, status.status, map[string]any{"error": map[string]any{"message": status.text, "type": "invalid_request_error", "code": status.status}, "message": status.text})
	}
}

// failure is an error with an HTTP status.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return f.text }

func read(req *http.Request) ([]byte, error) {
	var from io.Reader = http.MaxBytesReader(nil, req.Body, maxBody)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = io.LimitReader(unzipped, maxBody)
	}
	return io.ReadAll(from)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // the client is gone
}

func (r *Recorder) serve(w http.ResponseWriter, req *http.Request, body []byte) error {
	path := req.URL.Path
	switch {
	case strings.HasSuffix(path, "/v1/traces"), path == "/i/v0/ai/otel": // PostHog's is the second
		return r.takeTraces(w, req, body)
	case strings.HasSuffix(path, "/v1/logs"):
		return r.takeLogs(w, req, body)
	case path == "/scenarios":
		var names []string
		for _, s := range r.scripts {
			names = append(names, s.name)
		}
		reply(w, http.StatusOK, names)
		return nil
	case path == "/begin":
		return r.begin(w, body)
	case path == "/end":
		return r.end(w, body)
	case strings.HasPrefix(path, "/tool/"):
		return r.tool(w, strings.TrimPrefix(path, "/tool/"), body)
	}
	if api := apiOf(path); api != nil && req.Method == http.MethodPost {
		return r.ask(w, api, path, body)
	}
	reply(w, http.StatusOK, map[string]any{}) // whatever a library wants to tell its home
	return nil
}

func (r *Recorder) begin(w http.ResponseWriter, body []byte) error {
	var ask struct {
		Group, Scenario, Model string
		AnswerTool             *answerTool `json:"answer_tool"`
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		return err
	}
	if !word.MatchString(ask.Group) {
		return fmt.Errorf("group %q is no word", ask.Group)
	}
	if ask.Model == "" {
		ask.Model = "gpt-4o-mini"
	}
	for _, s := range r.scripts {
		if s.name != ask.Scenario {
			continue
		}
		r.mu.Lock()
		r.run, r.traces, r.logs = newRun(s, ask.Group, ask.Model, ask.AnswerTool), ptrace.NewTraces(), plog.NewLogs()
		r.mu.Unlock()
		task := map[string]any{
			"system": s.main.system, "user": s.user, "history": append([]message{}, s.history...), "model": ask.Model, "stream": s.stream, "max_steps": s.maxSteps,
			"tools": append([]tool{}, s.main.tools...), "sub": nil,
		}
		if s.sub != nil {
			task["sub"] = map[string]any{
				"name": s.sub.name, "description": s.sub.description, "system": s.sub.system, "tools": s.sub.tools, "parameters": object(text("question"), "question"),
			}
		}
		reply(w, http.StatusOK, task)
		return nil
	}
	return &failure{http.StatusNotFound, fmt.Sprintf("no scenario %q", ask.Scenario)}
}

func (r *Recorder) tool(w http.ResponseWriter, name string, body []byte) error {
	r.mu.Lock()
	run := r.run
	r.mu.Unlock()
	if run == nil {
		return errors.New("no run has begun")
	}
	executed := run.execute(name, body)
	time.Sleep(executed.script.takes)
	run.complete(executed)
	if executed.Error != nil {
		reply(w, http.StatusOK, map[string]any{"error": *executed.Error})
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"result": %s}`, executed.Result) // the client is gone
	return nil
}

func (r *Recorder) ask(w http.ResponseWriter, api api, path string, body []byte) error {
	r.mu.Lock()
	run := r.run
	r.mu.Unlock()
	if run == nil {
		return errors.New("no run has begun")
	}
	asked, err := api.read(path, body)
	if err != nil {
		return err
	}
	answer := run.answer(asked, body)
	if answer.fail != 0 {
		return &failure{answer.fail, "The model cannot answer: the request was refused by the safety system."}
	}
	return api.write(w, asked, answer)
}

func (r *Recorder) end(w http.ResponseWriter, body []byte) error {
	var said struct{ Output, Error *string }
	if err := json.Unmarshal(body, &said); err != nil {
		return err
	}
	for until := time.Now().Add(settle); time.Now().Before(until); time.Sleep(quiet / 4) {
		r.mu.Lock()
		still := time.Since(r.arrived) > quiet
		r.mu.Unlock()
		if still {
			break
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run == nil {
		return errors.New("no run has begun")
	}
	dir := filepath.Join(r.dir, r.run.group)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	truth := r.run.truth(said.Output, said.Error)
	spans, err := (&ptrace.JSONMarshaler{}).MarshalTraces(r.traces)
	if err != nil {
		return err
	}
	records, err := (&plog.JSONMarshaler{}).MarshalLogs(r.logs)
	if err != nil {
		return err
	}
	var doc bytes.Buffer
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(truth); err != nil {
		return err
	}
	files := map[string][]byte{".otlp.json": spans, ".truth.json": doc.Bytes()}
	if r.logs.LogRecordCount() > 0 {
		files[".logs.json"] = records
	}
	for suffix, content := range files {
		if err := os.WriteFile(filepath.Join(dir, r.run.scenario.name+suffix), content, 0o644); err != nil {
			return err
		}
	}
	reply(w, http.StatusOK, map[string]any{
		"spans": r.traces.SpanCount(), "logs": r.logs.LogRecordCount(), "tool_calls": len(truth.ToolCalls), "llm_turns": truth.Turns, "not_executed": len(truth.NotExecuted),
	})
	r.run = nil
	return nil
}

func isJSON(req *http.Request) bool { return strings.Contains(req.Header.Get("Content-Type"), "json") }

func (r *Recorder) takeTraces(w http.ResponseWriter, req *http.Request, body []byte) error {
	batch := ptraceotlp.NewExportRequest()
	return r.take(w, req, body, batch.UnmarshalJSON, batch.UnmarshalProto, func() { batch.Traces().ResourceSpans().MoveAndAppendTo(r.traces.ResourceSpans()) })
}

func (r *Recorder) takeLogs(w http.ResponseWriter, req *http.Request, body []byte) error {
	batch := plogotlp.NewExportRequest()
	return r.take(w, req, body, batch.UnmarshalJSON, batch.UnmarshalProto, func() { batch.Logs().ResourceLogs().MoveAndAppendTo(r.logs.ResourceLogs()) })
}

// take reads an export in the encoding that the request names, keeps it and acknowledges it.
func (r *Recorder) take(w http.ResponseWriter, req *http.Request, body []byte, readJSON, readProto func([]byte) error, keep func()) error {
	read := readProto
	if isJSON(req) {
		read = readJSON
	}
	if err := read(body); err != nil {
		return err
	}
	r.mu.Lock()
	keep()
	r.arrived = time.Now()
	r.mu.Unlock()
	return acknowledge(w, req)
}

// acknowledge answers an export: an empty message of protobuf, or of JSON.
func acknowledge(w http.ResponseWriter, req *http.Request) error {
	w.Header().Set("Content-Type", req.Header.Get("Content-Type"))
	if isJSON(req) {
		_, err := io.WriteString(w, "{}")
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
