// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpdepthextension

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configmiddleware"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/extension/otlpdepthextension/internal/metadata"
	"github.com/tapedeck/tapedeck/extension/otlpdepthextension/internal/metadatatest"
)

const open, closed = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"[[[[","attributes":[{"key":"a","value":`, `}]}]}]}]}`

// flat is taken for nested by a decoder that goes on after an error.
var flat = open + `{"arrayValue":{"values":[{"bytesValue":"!"}]` + strings.Repeat(`,"values":[1,"arrayValue"]`, 10_000) + `}}` + closed

func nested(levels int) string {
	return open + strings.Repeat(`{"arrayValue":{"values":[`, levels) + `{"stringValue":"x"}` + strings.Repeat(`]}}`, levels) + closed
}

// The server is the one of the OTLP receiver; what stands behind it decodes as the receiver does, and may not
// see what is refused.
func TestRequestsThatNestTooDeepAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, telemetry.Shutdown(context.WithoutCancel(t.Context()))) })
	id := component.NewID(metadata.Type)
	set := extensiontest.NewNopSettings(metadata.Type)
	set.TelemetrySettings = telemetry.NewTelemetrySettings()
	created, err := NewFactory().Create(t.Context(), set, NewFactory().CreateDefaultConfig())
	require.NoError(t, err)
	require.NoError(t, created.Start(t.Context(), componenttest.NewNopHost()))
	decoded := 0
	receiver := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		require.NoError(t, req.Body.Close())
		if req.Header.Get("Content-Type") == "application/json" {
			require.NoError(t, ptraceotlp.NewExportRequest().UnmarshalJSON(body))
		}
		decoded++
	})
	config := confighttp.NewDefaultServerConfig()
	config.MaxRequestBodySize = 1 << 20
	config.Middlewares = []configmiddleware.Config{{ID: id}}
	server, err := config.ToServer(t.Context(), map[component.ID]component.Component{id: created}, set.TelemetrySettings, receiver)
	require.NoError(t, err)
	send := func(kind, encoding string, body []byte) *http.Response {
		req := httptest.NewRequest(http.MethodPost, "/v1/traces", bytes.NewReader(body))
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		server.Handler.ServeHTTP(w, req)
		return w.Result()
	}
	status := func(kind, encoding string, body []byte) int {
		resp := send(kind, encoding, body)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, http.StatusOK, status("application/json", "", []byte(nested(39))))
	require.Equal(t, http.StatusOK, status("application/json", "gzip", zipped(t, nested(39))))
	require.Equal(t, http.StatusOK, status("application/x-protobuf", "", []byte(nested(100))), "of another form: the decoder of protobuf has a bound")
	require.Equal(t, 3, decoded)
	for _, body := range []string{nested(40), nested(30_000), open + strings.Repeat("[", 900_000), `{"resourceSpans":[{"schemaUrl":"\x[[["}]}`, flat} {
		require.Equal(t, http.StatusBadRequest, status("application/json", "gzip", zipped(t, body)))
	}
	resp := send("application/json; charset=utf-8", "", []byte(nested(40)))
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.JSONEq(t, `{"code":3,"message":"request: too large: nested too deep: more than 128 brackets are open at byte 1090"}`, string(text))
	require.Equal(t, http.StatusBadRequest, status("application/json", "gzip", zipped(t, strings.Repeat(" ", 2<<20))), "the bound of the receiver holds")
	require.Equal(t, 3, decoded)
	metadatatest.AssertEqualExtensionOtlpdepthRefusedRequests(t, telemetry, []metricdata.DataPoint[int64]{
		{Value: 3, Attributes: attribute.NewSet(attribute.String("reason", "too_deep"))},
		{Value: 3, Attributes: attribute.NewSet(attribute.String("reason", "malformed"))},
	}, metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	require.NoError(t, created.Shutdown(t.Context()))
}

func zipped(t *testing.T, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}
