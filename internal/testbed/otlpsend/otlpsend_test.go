// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpsend

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
)

// receiver is the far end of both protocols; it rejects some spans of what it got, or none.
type receiver struct {
	ptraceotlp.UnimplementedGRPCServer
	rejects int64
	got     int
}

func (r *receiver) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	r.got += req.Traces().SpanCount()
	result := ptraceotlp.NewExportResponse()
	result.PartialSuccess().SetRejectedSpans(r.rejects)
	return result, nil
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, httpReq *http.Request) {
	body, err := io.ReadAll(httpReq.Body)
	req := ptraceotlp.NewExportRequest()
	if err != nil || httpReq.URL.Path != "/v1/traces" || req.UnmarshalProto(body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result, _ := r.Export(httpReq.Context(), req)
	reply, err := result.MarshalProto()
	if err == nil {
		_, err = w.Write(reply)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (r *receiver) http(t *testing.T) string {
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL
}

func (r *receiver) grpc(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func recorded(t *testing.T) ptrace.Traces {
	traces, err := ReadFile(filepath.Join("..", "..", "..", "testdata", "traces", "vercel-ai-research.otlp.json"))
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

func TestBothProtocolsDeliverEverySpan(t *testing.T) {
	traces := recorded(t)
	r := &receiver{}
	if err := HTTP(t.Context(), r.http(t), traces); err != nil {
		t.Error(err)
	}
	if err := GRPC(t.Context(), r.grpc(t), traces); err != nil {
		t.Error(err)
	}
	if want := 2 * traces.SpanCount(); r.got != want {
		t.Errorf("%d spans arrived, want %d", r.got, want)
	}
}

func TestRejectedSpansAreAnError(t *testing.T) {
	r := &receiver{rejects: 1}
	if err := HTTP(t.Context(), r.http(t), recorded(t)); err == nil {
		t.Error("OTLP/HTTP took a partial success for a success")
	}
	if err := GRPC(t.Context(), r.grpc(t), recorded(t)); err == nil {
		t.Error("OTLP/gRPC took a partial success for a success")
	}
}

func TestRefusalIsAnError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if err := HTTP(t.Context(), server.URL, recorded(t)); err == nil {
		t.Error("404 was taken for a success")
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	if _, err := ReadFile(filepath.Join(t.TempDir(), "absent.json")); err == nil {
		t.Error("no error")
	}
}
