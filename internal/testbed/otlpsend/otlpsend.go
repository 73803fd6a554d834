// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlpsend sends recorded traces to a collector as an agent's exporter would. It serves the demo and the
// end-to-end tests; agents use the exporters of their SDK.
package otlpsend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// maxReply bounds what is read of a collector's answer; an export response has a few bytes.
const maxReply = 64 << 10

// ReadFile reads one OTLP JSON document with traces.
func ReadFile(path string) (ptrace.Traces, error) {
	doc, err := os.ReadFile(path)
	if err != nil {
		return ptrace.Traces{}, err
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(doc)
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode %s: %w", path, err)
	}
	return traces, nil
}

// HTTP posts the traces as protobuf to the collector's OTLP/HTTP endpoint, such as http://127.0.0.1:4318. It returns when
// the collector has acknowledged all spans.
func HTTP(ctx context.Context, endpoint string, traces ptrace.Traces) error {
	body, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	reply, readErr := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err := errors.Join(readErr, resp.Body.Close()); err != nil {
		return fmt.Errorf("read the reply of the collector: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the collector answered %s", resp.Status)
	}
	result := ptraceotlp.NewExportResponse()
	if err := result.UnmarshalProto(reply); err != nil {
		return fmt.Errorf("decode the reply of the collector: %w", err)
	}
	return rejected(result)
}

// GRPC exports the traces to the collector's OTLP/gRPC endpoint, such as 127.0.0.1:4317. It returns when the collector has
// acknowledged all spans.
func GRPC(ctx context.Context, endpoint string, traces ptrace.Traces) error {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	result, exportErr := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(traces))
	if err := errors.Join(exportErr, conn.Close()); err != nil {
		return err
	}
	return rejected(result)
}

func rejected(result ptraceotlp.ExportResponse) error {
	if n := result.PartialSuccess().RejectedSpans(); n > 0 {
		return fmt.Errorf("the collector rejected %d spans", n)
	}
	return nil
}
