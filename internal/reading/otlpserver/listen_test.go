// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"os"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	spansFile = "../../../testdata/corpus/agents/openai-otel-contrib/research_chain.otlp.json"
	logsFile  = "../../../testdata/corpus/agents/codex-cli/plain_answer.logs.json"
)

func read(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// evidenceSink keeps the evidence that it is given.
type evidenceSink struct {
	set   *evidence.Set
	items int
}

func newSink() *evidenceSink { return &evidenceSink{set: evidence.NewSet()} }

func (s *evidenceSink) Len() int { return s.items }

func (s *evidenceSink) AddTraces(td ptrace.Traces) {
	s.items += td.SpanCount()
	s.set.AddTraces(td)
}

func (s *evidenceSink) AddLogs(ld plog.Logs) {
	s.items += ld.LogRecordCount()
	s.set.AddLogs(ld)
}

// listen runs Listen and returns its address and a function that ends it.
func listen(t *testing.T, in Sink, limit int) (address string, stop func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- only(Listen(ctx, listener, in, limit)) }()
	return listener.Addr().String(), func() error {
		cancel()
		return <-done
	}
}

func only(_ Refused, err error) error { return err }

func post(t *testing.T, url, kind, encoding string, body []byte) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func TestListenTakesEveryFormOfOTLP(t *testing.T) {
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(read(t, spansFile))
	if err != nil {
		t.Fatal(err)
	}
	proto, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(proto); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	in := newSink()
	address, stop := listen(t, in, 1<<20)
	url := "http://" + address
	for name, code := range map[string]int{
		"protobuf": post(t, url+"/v1/traces", "application/x-protobuf", "", proto),
		"gzip":     post(t, url+"/v1/traces", "application/x-protobuf", "gzip", packed.Bytes()),
		"JSON":     post(t, url+"/v1/traces", "application/json; charset=utf-8", "", read(t, spansFile)),
		"logs":     post(t, url+"/v1/logs", "application/json", "", read(t, logsFile)),
		"metrics":  post(t, url+"/v1/metrics", "application/x-protobuf", "", nil),
	} {
		if code != http.StatusOK {
			t.Errorf("%s: %d", name, code)
		}
	}
	for name, code := range map[string]int{
		"no OTLP":        post(t, url+"/v1/traces", "application/x-protobuf", "", []byte("hello")),
		"no JSON":        post(t, url+"/v1/logs", "application/json", "", []byte("hello")),
		"no gzip":        post(t, url+"/v1/traces", "application/x-protobuf", "gzip", proto),
		"other encoding": post(t, url+"/v1/traces", "application/x-protobuf", "br", proto),
		"other kind":     post(t, url+"/v1/traces", "text/plain", "", proto),
		"other path":     post(t, url+"/v2/traces", "application/x-protobuf", "", proto),
	} {
		if code/100 != 4 {
			t.Errorf("%s: %d", name, code)
		}
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ptraceotlp.NewGRPCClient(conn).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(td), grpc.UseCompressor("gzip")); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	runs := reconstruct.All(in.set.Split(), reconstruct.Options{Tenant: "default"})
	if in.Len() < 4*td.SpanCount() || len(runs) != 2 { // the same run four times, and one of log records
		t.Errorf("%d items, %d runs", in.Len(), len(runs))
	}
}

func TestListenEndsWhenEnoughCame(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in := newSink()
	done := make(chan error, 1)
	go func() { done <- only(Listen(t.Context(), listener, in, 1)) }()
	if code := post(t, "http://"+listener.Addr().String()+"/v1/traces", "application/json", "", read(t, spansFile)); code != http.StatusOK {
		t.Error(code)
	}
	if err := <-done; err != nil || in.Len() == 0 {
		t.Errorf("%v, %d items", err, in.Len())
	}
}
