// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package modeltap makes telemetry of model calls that pass over HTTP: of agents that emit none, and of a
// replay of which none came. A Tap keeps what passes a handler, be it one that passes calls on to a provider
// (Pass) or one that answers them itself. When all is said, Traces makes spans of it after the GenAI
// conventions, a trace for each conversation, under a scope that says how they were made.
package modeltap

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
)

// Scope is the instrumentation scope of the spans.
const Scope = dialect.TeeScope

// Bounds of what a tap keeps: bytes of a request or of an answer, and of all.
const (
	MaxBody  = 64 << 20
	MaxBytes = 1 << 30
)

// maxCalls bounds how many calls a tap keeps, maxPaths how many paths without a protocol it counts by name.
const (
	maxCalls = 1 << 16
	maxPaths = 64
)

// Tap keeps the model calls that pass it. It is safe for concurrent use.
type Tap struct {
	mu    sync.Mutex
	calls []*exchange
	bytes int64
	other map[string]int
	lost  int
	now   func() time.Time

	running sync.WaitGroup
}

// New returns a tap that has seen nothing.
func New() *Tap { return &Tap{other: map[string]int{}, now: time.Now} }

// exchange is a call as it passed.
type exchange struct {
	api, model string // as the path says it
	stream     bool   // as the path says it
	host       string // of the endpoint
	began      time.Time
	ended      time.Time
	sent       body
	got        body
	status     int
	broke      bool // the answer did not end as HTTP has it
}

// body is what was sent one way.
type body struct {
	kind, encoding string // Content-Type, Content-Encoding
	bytes          []byte
	over           bool // there was more than MaxBody
}

// Summary says what passed.
type Summary struct {
	Calls         int // model calls of which spans were made
	Conversations int
	// Lost are model calls of which nothing was made: bodies beyond the bounds, and requests that cannot be
	// read.
	Lost int
	// Other are requests that are no model calls of a protocol that is known, by method and path.
	Other []Path
}

// Path is a kind of request.
type Path struct {
	Name  string
	Count int
}

// Handler keeps what passes next, which speaks for the endpoint of that host.
func (t *Tap) Handler(next http.Handler, host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" { // clients that would go on over a WebSocket fall back to HTTP, which can be read
			asked := r.Clone(r.Context())
			asked.Method = http.MethodPost
			if api, _, _ := modelstub.Protocol(asked); api != "" {
				t.note("WebSocket " + r.URL.Path + ", refused")
				http.Error(w, "tapedeck: model calls pass over HTTP alone", http.StatusUpgradeRequired)
				return
			}
		}
		api, model, stream := modelstub.Protocol(r)
		if api == "" || r.Method != http.MethodPost {
			t.note(r.Method + " " + r.URL.Path)
			next.ServeHTTP(w, r)
			return
		}
		x := &exchange{api: api, model: model, stream: stream, host: host, broke: true}
		t.mu.Lock()
		x.began = t.now()
		if len(t.calls) >= maxCalls {
			t.lost++
			t.mu.Unlock()
			next.ServeHTTP(w, r)
			return
		}
		t.calls = append(t.calls, x)
		t.running.Add(1)
		t.mu.Unlock()
		defer t.running.Done()
		x.sent.kind, x.sent.encoding = r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding")
		// The whole request is read first: an endpoint that cannot be reached reads none of it.
		sent, got := &keeping{tap: t}, &keeping{tap: t}
		begin, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		_, _ = sent.Write(begin) // it does not fail
		// A body that was read to its end is not read again: the server closes it when the answer begins, and
		// a transport that reads on then takes the request for broken.
		var rest io.Reader = http.NoBody
		switch {
		case err != nil:
			rest = failing{err}
		case len(begin) > MaxBody:
			rest = r.Body
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(begin), rest), r.Body}
		out := &recorder{ResponseWriter: w, x: x, body: got}
		defer func() { // also when the answer broke off, which the handler of net/http says by a panic
			t.mu.Lock()
			defer t.mu.Unlock()
			x.sent.bytes, x.sent.over = sent.kept.Bytes(), sent.over
			x.got.bytes, x.got.over = got.kept.Bytes(), got.over
			x.ended = t.now()
		}()
		next.ServeHTTP(out, r)
		x.broke = false
	})
}

// settle waits for calls that are under way, for a while.
func (t *Tap) settle() {
	done := make(chan struct{})
	go func() {
		t.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// note counts a request that is no model call.
func (t *Tap) note(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	if _, known := t.other[name]; !known && len(t.other) >= maxPaths {
		name = "more"
	}
	t.other[name]++
}

// take reports whether there is room for n more bytes, and takes it.
func (t *Tap) take(n int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytes+int64(n) > MaxBytes {
		return false
	}
	t.bytes += int64(n)
	return true
}

// keeping is a writer that keeps what it can, and never fails: what passes is not to suffer from it.
type keeping struct {
	tap  *Tap
	kept bytes.Buffer
	over bool
}

func (k *keeping) Write(b []byte) (int, error) {
	switch {
	case k.over:
	case k.kept.Len()+len(b) > MaxBody || !k.tap.take(len(b)):
		k.over = true
		k.kept = bytes.Buffer{}
	default:
		k.kept.Write(b)
	}
	return len(b), nil
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// recorder is a response writer that keeps what is answered.
type recorder struct {
	http.ResponseWriter
	x    *exchange
	body *keeping
}

// Unwrap lets http.ResponseController reach what the writer can do.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	if r.x.status == 0 && status >= 200 { // others are announcements
		r.x.status = status
		r.x.got.kind, r.x.got.encoding = r.Header().Get("Content-Type"), r.Header().Get("Content-Encoding")
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.x.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	_, _ = r.body.Write(b) // it does not fail
	return r.ResponseWriter.Write(b)
}

// paths are the requests that were no model calls, the most frequent first.
func (t *Tap) paths() (list []Path) {
	for _, name := range slices.Sorted(maps.Keys(t.other)) {
		list = append(list, Path{name, t.other[name]})
	}
	slices.SortStableFunc(list, func(a, b Path) int { return b.Count - a.Count })
	return list
}
