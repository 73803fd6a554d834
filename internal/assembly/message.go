// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// pdata marshals into new memory alone: 2.5 KB of garbage for each span, and a copy. What it gives to gRPC can marshal into memory that is there, because gRPC
// has buffers of its own. So messageOf hands traces to pdata's gRPC client, on a connection that leads nowhere and whose interceptor keeps the message.

// messages is pdata's client on that connection. It is closed at once, so that it has no goroutine; its interceptor is called nevertheless.
var messages = func() ptraceotlp.GRPCClient {
	conn, err := grpc.NewClient("passthrough:", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, _ string, request, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			if c, ok := ctx.(*messageContext); ok {
				c.message, _ = request.(spool.Message)
			}
			return errTaken
		}))
	if err != nil {
		return nil
	}
	_ = conn.Close()
	return ptraceotlp.NewGRPCClient(conn)
}()

// errTaken ends a call: there is no answer to be made.
var errTaken = errors.New("not sent")

// messageContext takes a message from the interceptor.
type messageContext struct {
	context.Context
	message spool.Message
}

// messageOf returns traces as a message that marshals as they are at that time, or nil: then pdata has to marshal them.
func messageOf(td ptrace.Traces) spool.Message {
	if messages == nil {
		return nil
	}
	c := messageContext{Context: context.Background()}
	_, _ = messages.Export(&c, ptraceotlp.NewExportRequestFromTraces(td)) // fails always
	return c.message
}
