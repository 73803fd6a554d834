// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"compress/gzip"
	"context"
	"errors"
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
)

// maxRequest bounds one request, in bytes after decompression.
const maxRequest = 64 << 20

// Sink is what telemetry is added to, one request at a time. It may keep what it is given.
type Sink interface {
	AddTraces(td ptrace.Traces)
	AddLogs(ld plog.Logs)
	Len() int // spans and log records so far
}

// Listen receives OTLP over gRPC and HTTP on one listener. It returns when the context ends or in holds limit spans and log records, and
// closes the listener. Metrics are accepted and discarded, so that the exporters of an agent report no errors.
func Listen(ctx context.Context, listener net.Listener, in Sink, limit int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &otlpServer{in: in, limit: limit, enough: cancel}
	calls := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest))
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
	server := &http.Server{
		Protocols:         &protocols,
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
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

// otlpServer adds requests to the receiver, one at a time.
type otlpServer struct {
	mu     sync.Mutex
	in     Sink
	limit  int
	enough context.CancelFunc
	closed bool
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
func request(w http.ResponseWriter, req *http.Request) (body []byte, isJSON, ok bool) {
	refuse := func(code int, text string) ([]byte, bool, bool) {
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
	body, err := io.ReadAll(io.LimitReader(content, maxRequest+1))
	if err != nil || len(body) > maxRequest {
		return refuse(http.StatusBadRequest, "the body cannot be read or is too large")
	}
	return body, kind == "application/json", true
}

func (r *otlpServer) serveTraces(w http.ResponseWriter, req *http.Request) {
	body, isJSON, ok := request(w, req)
	if !ok {
		return
	}
	export := ptraceotlp.NewExportRequest()
	unmarshal := export.UnmarshalProto
	if isJSON {
		unmarshal = export.UnmarshalJSON
	}
	if err := unmarshal(body); err != nil {
		http.Error(w, "not an OTLP traces request", http.StatusBadRequest)
		return
	}
	r.takeTraces(export.Traces())
	reply(w, isJSON)
}

func (r *otlpServer) serveLogs(w http.ResponseWriter, req *http.Request) {
	body, isJSON, ok := request(w, req)
	if !ok {
		return
	}
	export := plogotlp.NewExportRequest()
	unmarshal := export.UnmarshalProto
	if isJSON {
		unmarshal = export.UnmarshalJSON
	}
	if err := unmarshal(body); err != nil {
		http.Error(w, "not an OTLP logs request", http.StatusBadRequest)
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
