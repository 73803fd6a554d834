// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package assembly groups evidence by tenant and trace until a trace is complete, and emits one trace's evidence at a time. It is the only
// state between telemetry and tapes.
//
// With a spool, evidence is durable before Admit returns, and is released only after the next component has accepted it. Memory is then a
// cache; the least recently used evidence is evicted when memory is short. Without a spool, evidence is in memory only.
//
// Items (spans) are conserved. Whenever nothing is in motion,
// accepted + recovered = emitted + duplicates + held + dropped.
package assembly

import (
	"context"
	"encoding/hex"
	"errors"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// Why a request is refused. A refused request is refused whole: nothing of it has been admitted.
var (
	// ErrFull says that a bound on held evidence is reached, in memory or on disk. It is retryable, because emissions free space.
	ErrFull = errors.New("assembly is full")
	// ErrTooLarge says that the request alone exceeds the bound on evidence in memory. It is permanent: no waiting helps.
	ErrTooLarge = errors.New("request exceeds the bound on all held evidence")
	// ErrClosed says that shutdown has begun. It is retryable elsewhere.
	ErrClosed = errors.New("assembly is shut down")
)

// Key identifies the trace of a tenant.
type Key struct {
	Tenant  string
	TraceID pcommon.TraceID
}

// String is "<tenant>/<trace id, 32 hex>".
func (k Key) String() string {
	return k.Tenant + "/" + hex.EncodeToString(k.TraceID[:])
}

// Size is what a request will hold.
type Size struct {
	Items int
	// Bytes is the size as OTLP protobuf; see ChunkOverhead and ItemOverhead.
	Bytes int64
	// Tenants are those of its evidence, without repetitions. Traces is how many traces it has evidence of.
	Tenants []string
	Traces  int
}

// These are the costs of held evidence beside its protobuf size, for each chunk and for each span. Empty spans must not be free, or the
// byte bounds bound nothing. A span in memory is a struct of about 200 bytes and a place in an index. A chunk adds the structs around its
// spans, and may open a trace.
const (
	ChunkOverhead = 1024
	ItemOverhead  = 256
)

// Request is the evidence of one admission.
type Request struct {
	// Chunks hold at most one entry for each key.
	Chunks []TraceChunk
	// Links are spans of the same traces that are no evidence themselves but stand between evidence and its parents.
	Links []Link
}

// TraceChunk is new evidence of one trace.
type TraceChunk struct {
	Key Key
	// Traces holds spans of this trace only. It belongs to the assembler once it is admitted.
	Traces ptrace.Traces
	Items  int
	// Bytes as in Size, overheads included.
	Bytes int64
	// RunSpan tells that the span of an agent run is among them.
	RunSpan bool
}

// Link is a span without its content.
type Link struct {
	Key    Key
	ID     pcommon.SpanID
	Parent pcommon.SpanID
	// Remote tells that the parent is a span of another process.
	Remote bool
}

// HasRemoteParent tells whether a span says that its parent is a span of another process. SDKs that do not fill the flags say nothing.
func HasRemoteParent(span ptrace.Span) bool {
	const known, remote = 0x100, 0x200 // SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK, SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK
	return span.Flags()&(known|remote) == known|remote
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
	// Complete tells that nothing says that the root is missing. One of three things came: a span without a parent; every parent that is
	// named; or the span of an agent run with every parent that is named in its own process.
	Complete bool
	Reason   Reason

	// bytes is the accounted size of all of it, inMemory of what is in memory.
	bytes, inMemory int64
	// records as in openTrace. The first cold of them are not in Traces yet.
	records  []spool.ID
	cold     int
	accepted int  // items, duplicates not yet known as such included
	damaged  bool // some records could not be read
	// past is what is known of the trace without the evidence that has to be read back. When that is read, both are added to remember, which
	// is then nil.
	past     past
	remember *recentTraces

	// flow, turn and number (of all emissions so far) are its place in the queue, see flow.
	flow         *flow
	turn, number int64
	debris       bool // as in flowKey

	*attempts // nil before the first one
}

// Idle tells, during a call of EmitFunc, that nothing is left to do in it but to wait for others. Another
// emission may take its worker then. It may be called more than once; after the call it does nothing.
// Emissions of one batch are idle together.
func (e *Emission) Idle() { e.idle() }

// EmitFunc passes one emission on. Nil releases the evidence. A permanent error (consumererror) drops it. After any other error EmitFunc is
// called again with the same emission, after a while. It should return as soon as it fails and not retry by itself: the assembler waits for
// the next attempt without blocking other emissions.
type EmitFunc func(ctx context.Context, e *Emission) error

// EmitBatchFunc passes emissions of several traces on in one call. Its error says nothing of any one of them:
// after it each is passed on by itself.
type EmitBatchFunc func(ctx context.Context, es []*Emission) error

// Spool keeps records durable; *spool.Log is one.
type Spool interface {
	// Append returns when the entries are durable, all or none, and names them in ids.
	Append(ctx context.Context, entries []spool.Entry, ids []spool.ID) error
	// Read calls fn for each record with buffers that are valid during the call. Damaged ones are left out and named by a
	// *spool.CorruptError.
	Read(ids []spool.ID, fn func(i int, meta, payload []byte) error) error
	// Release releases records.
	Release(ids []spool.ID) error
	// ProcessState is what a process leaves to the next one beside the records.
	ProcessState() *spool.ProcessState
	Close() error
}

// OpenSpool opens a spool and calls recovered for each record that is held there, in the order in which they were appended.
type OpenSpool func(recovered func(spool.Held) error) (Spool, error)
