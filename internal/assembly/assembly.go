// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package assembly groups evidence by tenant and trace until a trace is complete, and emits one trace's evidence at a time.
// It is the only state between telemetry and tapes.
//
// Conservation holds whenever nothing is in motion: accepted = emitted + held + dropped, in items (spans).
package assembly

import (
	"context"
	"encoding/hex"
	"errors"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Why a request is refused. A refused request is refused whole: nothing of it has been admitted and take has not been called.
var (
	// ErrFull says that the bound on all held evidence is reached. It is retryable: emission makes room.
	ErrFull = errors.New("assembly is full")
	// ErrTooLarge says that the request alone exceeds the bound on all held evidence. It is permanent: no waiting helps.
	ErrTooLarge = errors.New("request exceeds the bound on all held evidence")
	// ErrClosed says that shutdown has begun. It is retryable elsewhere.
	ErrClosed = errors.New("assembly is shut down")
)

// Assembler groups evidence. Implementations differ in where they hold it.
type Assembler interface {
	// Start begins to emit.
	Start(ctx context.Context) error
	// Admit takes a request whole or refuses it whole. size is what the request will hold; only when there is room for it, take is
	// called, once, and moves the evidence out of the caller's hands.
	Admit(ctx context.Context, size Size, take func() Request) error
	// MayHold tells whether evidence of the trace may be held now. It may err by saying yes, and costs a few nanoseconds; links of
	// other traces need not be sent.
	MayHold(id pcommon.TraceID) bool
	// Shutdown emits what is held, in arrival order, until ctx ends. What is left then is dropped and counted.
	Shutdown(ctx context.Context) error
	// Stats are the counters since Start.
	Stats() Stats
}

// Key identifies the trace of a tenant.
type Key struct {
	Tenant  string
	TraceID pcommon.TraceID
}

// String is "<tenant>/<trace id, 32 hex>".
func (k Key) String() string {
	return k.Tenant + "/" + hex.EncodeToString(k.TraceID[:])
}

// Size is what a request asks room for.
type Size struct {
	Items int
	// Bytes is the size as OTLP protobuf; see FragmentOverhead and ItemOverhead.
	Bytes int64
}

// What holding costs beside the protobuf size, for each fragment and each span. Empty spans must not be free, or the byte bounds
// bound nothing: a span in memory is a struct of about 200 bytes with its place in an index, a fragment brings structs around its
// spans and may open a trace.
const (
	FragmentOverhead = 1024
	ItemOverhead     = 256
)

// Request is the evidence of one admission.
type Request struct {
	// Fragments hold at most one entry for each key.
	Fragments []Fragment
	// Links are spans of the same traces that are no evidence themselves but stand between evidence and its parents.
	Links []Link
}

// Fragment is new evidence of one trace.
type Fragment struct {
	Key Key
	// Traces holds spans of this trace only. It belongs to the assembler from now on.
	Traces ptrace.Traces
	Items  int
	// Bytes as in Size, overheads included.
	Bytes int64
	// RunSpan tells that the span of an agent run is among them.
	RunSpan bool
	// Rooted tells that some of them always lie below the span of an agent run: while none came, the run is not whole.
	Rooted bool
}

// Link is a span without its content.
type Link struct {
	Key    Key
	ID     pcommon.SpanID
	Parent pcommon.SpanID
}

// Emission is the evidence of one trace that has come since the last emission of that trace.
type Emission struct {
	Key Key
	// Traces must be left as they are when the emission fails: they are passed on again.
	Traces ptrace.Traces
	// Held counts the spans in Traces.
	Held int
	// Items counts the distinct spans of the trace so far, earlier emissions included as long as they are remembered.
	Items int
	// Complete tells that nothing says that the root of a run is missing: the root of the trace or the span of an agent run came,
	// or no parent that the evidence names is missing, or the evidence is of a kind that has no root to wait for.
	Complete bool
	Reason   Reason

	bytes int64
}

// EmitFunc passes one emission on. Nil lets the evidence go; a permanent error (consumererror) drops it; after any other error it
// is called again with the same emission, after a while.
type EmitFunc func(ctx context.Context, e *Emission) error
