// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpserver receives OTLP over gRPC and HTTP for programs that run beside an agent, without a
// collector.
package otlpserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // exporters compress
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

const (
	// maxRequest bounds one request, in bytes after decompression.
	maxRequest = 64 << 20
	// At most inFlight requests are read at once, each up to smallRequest bytes. At most largeInFlight of
	// them may be larger. The others wait.
	inFlight      = 64
	smallRequest  = 1 << 20
	largeInFlight = 2
	// A slower sender is cut off, because it occupies a place that others wait for.
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
)

// Sink takes telemetry in, one request at a time. It may keep what it is given.
type Sink interface {
	AddTraces(td ptrace.Traces)
	AddLogs(ld plog.Logs)
	Len() int // spans and log records so far
}

// Refused counts the requests that were refused.
type Refused struct {
	Requests int
	First    string // the reason of the first; no content of the request
}

// String is a line for a person; empty if no request was refused.
func (r Refused) String() string {
	if r.Requests == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests were refused, the first: %s", r.Requests, r.First)
}

// Listen receives OTLP over gRPC and HTTP on one listener, and closes it. It returns when the context ends,
// or when in holds limit spans and log records. It accepts metrics and discards them, so that exporters
// report no errors. It refuses requests of web pages, requests to the name of another host on a loopback
// listener, and messages that nest too deep.
func Listen(ctx context.Context, listener net.Listener, in Sink, limit int) (Refused, error) {
	r := &otlpServer{in: in, limit: limit, all: make(chan struct{}, inFlight), large: make(chan struct{}, largeInFlight)}
	err := r.listen(ctx, listener)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused, err
}

func (r *otlpServer) listen(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.enough = cancel
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.StatsHandler(refusedCalls{r}))
	ptraceotlp.RegisterGRPCServer(calls, &traceService{otlpServer: r})
	plogotlp.RegisterGRPCServer(calls, &logService{otlpServer: r})
	pmetricotlp.RegisterGRPCServer(calls, &metricService{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", r.serveTraces)
	mux.HandleFunc("POST /v1/logs", r.serveLogs)
	mux.HandleFunc("POST /v1/metrics", func(http.ResponseWriter, *http.Request) {})
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	local := oraclehttp.Loopback(listener.Addr().String())
	server := &http.Server{
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if oraclehttp.Foreign(w, req, local) {
				r.refuse("of a web page, or of another host's name")
				return
			}
			p := &places{all: r.all, large: r.large}
			if p.enter(req.Context()) != nil {
				return // the sender has gone
			}
			defer p.leave()
			req.Body = &placedBody{ReadCloser: req.Body, places: p, ctx: req.Context(), packed: packed(req)}
			if req.ProtoMajor == 2 && strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc") {
				calls.ServeHTTP(w, req)
				return
			}
			mux.ServeHTTP(w, req)
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		calls.Stop()
		return err
	case <-ctx.Done():
	}
	closing, stop := context.WithTimeout(context.Background(), 2*time.Second) // time to write the last response
	defer stop()
	err := server.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	calls.Stop()
	if served := <-done; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	r.mu.Lock() // wait for the request that is being added
	defer r.mu.Unlock()
	r.closed = true
	return err
}

// otlpServer adds requests to the sink, one at a time.
type otlpServer struct {
	all, large chan struct{} // a place for each request that is being read

	mu      sync.Mutex
	in      Sink
	limit   int
	enough  context.CancelFunc
	closed  bool
	refused Refused
}

func (r *otlpServer) refuse(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused.Requests++; r.refused.Requests == 1 {
		r.refused.First = why
	}
}

// refusedCalls counts calls that reach no service: their message is too large, or cannot be decoded.
type refusedCalls struct{ *otlpServer }

func (refusedCalls) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (refusedCalls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (refusedCalls) HandleConn(context.Context, stats.ConnStats)                       {}

func (r refusedCalls) HandleRPC(_ context.Context, s stats.RPCStats) {
	if end, ok := s.(*stats.End); ok && end.Error != nil {
		r.refuse("a call that ended with " + status.Code(end.Error).String())
	}
}

// places are the places that a request occupies.
type places struct {
	all, large chan struct{}
	entered    bool
	isLarge    bool
}

func (p *places) enter(ctx context.Context) error {
	select {
	case p.all <- struct{}{}:
		p.entered = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grow waits for a place among the large ones.
func (p *places) grow(ctx context.Context) error {
	if p.isLarge {
		return nil
	}
	select {
	case p.large <- struct{}{}:
		p.isLarge = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *places) leave() {
	if p.isLarge {
		<-p.large
	}
	if p.entered {
		<-p.all
	}
}

// placedBody is the body of a request. It waits for a place among the large requests before it returns more
// than smallRequest bytes. The size of a body that gRPC decompresses is unknown, so it waits before the first
// byte.
type placedBody struct {
	io.ReadCloser
	places *places
	ctx    context.Context
	packed bool
	read   int64
}

func (b *placedBody) Read(p []byte) (int, error) {
	if b.packed || b.read >= smallRequest {
		if err := b.places.grow(b.ctx); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	return n, err
}

// packed reports whether messages of a call are compressed.
func packed(req *http.Request) bool {
	encoding := req.Header.Get("Grpc-Encoding")
	return encoding != "" && encoding != "identity"
}

func (r *otlpServer) take(add func(Sink)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.in.Len() >= r.limit {
		return
	}
	add(r.in)
	if r.in.Len() >= r.limit {
		r.enough()
	}
}

type traceService struct {
	ptraceotlp.UnimplementedGRPCServer
	*otlpServer
}

func (s *traceService) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	s.takeTraces(req.Traces())
	return ptraceotlp.NewExportResponse(), nil
}

type logService struct {
	plogotlp.UnimplementedGRPCServer
	*otlpServer
}

func (s *logService) Export(_ context.Context, req plogotlp.ExportRequest) (plogotlp.ExportResponse, error) {
	s.takeLogs(req.Logs())
	return plogotlp.NewExportResponse(), nil
}

type metricService struct {
	pmetricotlp.UnimplementedGRPCServer
}

func (*metricService) Export(context.Context, pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	return pmetricotlp.NewExportResponse(), nil
}

// takeTraces copies the spans: the server reuses the memory of a request.
func (r *otlpServer) takeTraces(td ptrace.Traces) {
	own := ptrace.NewTraces()
	td.CopyTo(own)
	r.take(func(in Sink) { in.AddTraces(own) })
}

func (r *otlpServer) takeLogs(ld plog.Logs) { r.take(func(in Sink) { in.AddLogs(ld) }) }

// request reads the body of an export and says whether it is JSON.
func (r *otlpServer) request(w http.ResponseWriter, req *http.Request) (body []byte, isJSON, ok bool) {
	refuse := func(code int, text string) ([]byte, bool, bool) {
		r.refuse(text)
		http.Error(w, text, code)
		return nil, false, false
	}
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if kind != "application/json" && kind != "application/x-protobuf" {
		return refuse(http.StatusUnsupportedMediaType, "want application/x-protobuf or application/json")
	}
	var content io.Reader = http.MaxBytesReader(w, req.Body, maxRequest)
	switch req.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(content)
		if err != nil {
			return refuse(http.StatusBadRequest, "not gzip")
		}
		content = z
	default:
		return refuse(http.StatusUnsupportedMediaType, "want gzip or no encoding")
	}
	var read bytes.Buffer
	_, err := io.Copy(&read, io.LimitReader(content, smallRequest))
	if err == nil && read.Len() == smallRequest {
		if err = req.Body.(*placedBody).places.grow(req.Context()); err == nil {
			_, err = io.Copy(&read, io.LimitReader(content, maxRequest-smallRequest+1))
		}
	}
	if err != nil || read.Len() > maxRequest {
		return refuse(http.StatusBadRequest, "the body cannot be read or is too large")
	}
	if kind != "application/json" {
		return read.Bytes(), false, true
	}
	if body, err = otlpfile.CheckRequest(read.Bytes()); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	return body, true, true
}

const (
	noTraces = "not an OTLP traces request, or nested too deep"
	noLogs   = "not an OTLP logs request, or nested too deep"
)

func (r *otlpServer) serveTraces(w http.ResponseWriter, req *http.Request) {
	body, isJSON, ok := r.request(w, req)
	if !ok {
		return
	}
	export := ptraceotlp.NewExportRequest()
	unmarshal := export.UnmarshalProto
	if isJSON {
		unmarshal = export.UnmarshalJSON
	}
	if err := unmarshal(body); err != nil {
		r.refuse(noTraces)
		http.Error(w, noTraces, http.StatusBadRequest)
		return
	}
	r.takeTraces(export.Traces())
	reply(w, isJSON)
}

func (r *otlpServer) serveLogs(w http.ResponseWriter, req *http.Request) {
	body, isJSON, ok := r.request(w, req)
	if !ok {
		return
	}
	export := plogotlp.NewExportRequest()
	unmarshal := export.UnmarshalProto
	if isJSON {
		unmarshal = export.UnmarshalJSON
	}
	if err := unmarshal(body); err != nil {
		r.refuse(noLogs)
		http.Error(w, noLogs, http.StatusBadRequest)
		return
	}
	r.takeLogs(export.Logs())
	reply(w, isJSON)
}

// reply is an empty export response: no bytes as protobuf, an empty object as JSON.
func reply(w http.ResponseWriter, isJSON bool) {
	kind, body := "application/x-protobuf", ""
	if isJSON {
		kind, body = "application/json", "{}"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, body) // the sender is gone or not; nothing depends on it
}
