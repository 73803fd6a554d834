// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpdepthextension // import "github.com/tapedeck/tapedeck/extension/otlpdepthextension"

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/extensionmiddleware"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tapedeck/tapedeck/extension/otlpdepthextension/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// depth stands between the server of a receiver, which has authenticated the sender, decompressed the body
// and bounds it, and the handler that decodes.
type depth struct {
	telemetry *metadata.TelemetryBuilder
}

var _ extensionmiddleware.HTTPServer = (*depth)(nil)

func (*depth) Start(context.Context, component.Host) error { return nil }

func (d *depth) Shutdown(context.Context) error {
	d.telemetry.Shutdown()
	return nil
}

// GetHTTPHandler implements extensionmiddleware.HTTPServer.
func (d *depth) GetHTTPHandler(context.Context) (extensionmiddleware.WrapHTTPHandlerFunc, error) {
	return func(_ context.Context, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type")); kind == "application/json" && !d.pass(w, req) {
				return
			}
			next.ServeHTTP(w, req)
		}), nil
	}, nil
}

// pass reads the body and gives it back to be read again, or answers and reports false.
func (d *depth) pass(w http.ResponseWriter, req *http.Request) bool {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		refuse(w, "the body cannot be read") // or is too large
		return false
	}
	if body, err = otlpfile.CheckRequest(body); err != nil {
		reason := "malformed"
		if errors.Is(err, nesting.ErrTooDeep) {
			reason = "too_deep"
		}
		d.telemetry.ExtensionOtlpdepthRefusedRequests.Add(req.Context(), 1, metric.WithAttributes(attribute.String("reason", reason)))
		refuse(w, err.Error())
		return false
	}
	req.Body, req.ContentLength = given{bytes.NewReader(body), req.Body}, int64(len(body))
	return true
}

// given is a body that was read already.
type given struct {
	io.Reader
	io.Closer
}

// invalidArgument is the code of gRPC, which OTLP/HTTP wants in the body.
const invalidArgument = 3

func refuse(w http.ResponseWriter, message string) {
	body, err := json.Marshal(map[string]any{"code": invalidArgument, "message": message})
	if err != nil {
		panic(err) // a number and a string
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body) // the sender is gone or not; nothing depends on it
}
