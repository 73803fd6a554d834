// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// listenFor returns an address, and a function that ends the listener and returns what it refused.
func listenFor(t *testing.T, in Sink) (address string, stop func() Refused) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	type end struct {
		refused Refused
		err     error
	}
	done := make(chan end, 1)
	go func() {
		refused, err := Listen(ctx, listener, in, 1<<20)
		done <- end{refused, err}
	}()
	return listener.Addr().String(), func() Refused {
		cancel()
		e := <-done
		require.NoError(t, e.err)
		return e.refused
	}
}

func deepRequest(levels int) ptraceotlp.ExportRequest {
	td := ptrace.NewTraces()
	v := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmpty("gen_ai.input.messages")
	for range levels {
		v = v.SetEmptySlice().AppendEmpty()
	}
	return ptraceotlp.NewExportRequestFromTraces(td)
}

// A million arrays in each other ended the process by an overflow of its stack.
func TestListenRefusesWhatNestsTooDeepAndGoesOn(t *testing.T) {
	in := newSink()
	address, stop := listenFor(t, in)
	url := "http://" + address
	proto, err := deepRequest(1000).MarshalProto()
	require.NoError(t, err)
	brackets := strings.Repeat(`{"arrayValue":{"values":[`, 1_300_000)
	spans := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"a","value":` + brackets
	logs := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":` + brackets
	require.Equal(t, http.StatusBadRequest, post(t, url+"/v1/traces", "application/json", "", []byte(spans)))
	require.Equal(t, http.StatusBadRequest, post(t, url+"/v1/logs", "application/json", "", []byte(logs)))
	require.Equal(t, http.StatusBadRequest, post(t, url+"/v1/traces", "application/x-protobuf", "", proto))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	_, err = ptraceotlp.NewGRPCClient(conn).Export(t.Context(), deepRequest(1000))
	require.Equal(t, codes.Internal, status.Code(err), "the code of grpc-go for what cannot be decoded, which exporters do not send again")
	_, err = ptraceotlp.NewGRPCClient(conn).Export(t.Context(), deepRequest(40))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Equal(t, http.StatusOK, post(t, url+"/v1/traces", "application/json", "", read(t, spansFile)))
	refused := stop()
	require.Equal(t, 4, refused.Requests)
	require.Equal(t, "4 requests were refused, the first: request: too large: nested too deep: more than 128 brackets are open at byte 1076", refused.String())
	require.Positive(t, in.Len())
}

// A web page may have a name of its own point to this machine, and may send without asking.
func TestListenRefusesOtherHostsAndWebPages(t *testing.T) {
	in := newSink()
	address, stop := listenFor(t, in)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	body := read(t, spansFile)
	send := func(host, header, value string) int {
		req, err := http.NewRequest(http.MethodPost, "http://"+address+"/v1/traces", bytes.NewReader(body))
		require.NoError(t, err)
		req.Host = host
		req.Close = true
		req.Header.Set("Content-Type", "application/json")
		if header != "" {
			req.Header.Set(header, value)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusForbidden, send("attacker.example:"+port, "", ""))
	require.Equal(t, http.StatusForbidden, send("localhost:"+port, "Origin", "https://attacker.example"))
	require.Equal(t, http.StatusForbidden, send("localhost:"+port, "Sec-Fetch-Site", "cross-site"))
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("attacker.example"))
	require.NoError(t, err)
	_, err = ptraceotlp.NewGRPCClient(conn).Export(t.Context(), deepRequest(1))
	require.Equal(t, codes.PermissionDenied, status.Code(err))
	require.NoError(t, conn.Close())
	require.Zero(t, in.Len())
	require.Equal(t, http.StatusOK, send("localhost:"+port, "", ""))
	require.Equal(t, http.StatusOK, send("[::1]:"+port, "", ""))
	require.Equal(t, 4, stop().Requests)
}

func TestBodyThatUnpacksBeyondTheLimitIsRefused(t *testing.T) {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, err := io.CopyN(z, zeros{}, maxRequest+1)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	address, stop := listenFor(t, newSink())
	require.Equal(t, http.StatusBadRequest, post(t, "http://"+address+"/v1/traces", "application/x-protobuf", "gzip", small.Bytes()))
	require.Equal(t, 1, stop().Requests)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Eight bodies of 70 MB at once took 1.2 GB.
func TestLargeBodiesWaitForEachOtherAndSmallOnesDoNot(t *testing.T) {
	all, large := make(chan struct{}, 3), make(chan struct{}, 1)
	body := func(ctx context.Context, packed bool) (*places, *placedBody) {
		p := &places{all: all, large: large}
		require.NoError(t, p.enter(t.Context())) // of two that can go on, select takes any
		return p, &placedBody{ReadCloser: io.NopCloser(io.LimitReader(zeros{}, 4*smallRequest)), places: p, ctx: ctx, packed: packed}
	}
	first, content := body(t.Context(), false)
	n, err := io.Copy(io.Discard, content)
	require.NoError(t, err)
	require.EqualValues(t, 4*smallRequest, n)
	require.Len(t, large, 1)
	gone, leave := context.WithCancel(t.Context())
	second, content := body(gone, false)
	n, err = io.CopyN(io.Discard, content, smallRequest)
	require.NoError(t, err, "a small one")
	require.EqualValues(t, smallRequest, n)
	leave()
	_, err = io.Copy(io.Discard, content)
	require.ErrorIs(t, err, context.Canceled, "it waited until its sender went away")
	third, content := body(gone, true)
	_, err = content.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled, "nobody knows how large it is")
	require.Error(t, (&places{all: all, large: large}).enter(gone), "no place is left")
	for _, p := range []*places{first, second, third} {
		p.leave()
	}
	require.Empty(t, all)
	require.Empty(t, large)
}
