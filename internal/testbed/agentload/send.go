// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Load says what to send and how fast.
type Load struct {
	Shape       Shape
	Runs        int             // interleaved in one block
	RunsInTrace int             // that have one trace id; 0 is 1
	Recorded    []ptrace.Traces // requests that are sent instead of made-up runs
	Web         int             // traces that are no runs of agents, beside them
	Requests    int             // that one block is cut into
	Connections int             // each sends a block of its own, one request at a time
	Open        int             // runs that are open at once; 0 is those of the blocks that are being sent
	Steady      bool            // with Open: runs end all the time and not all at once; the first ones lack their beginning
	New         float64         // part of the blocks, 0 to 1, whose texts nobody sent before; not of recorded ones, and not with Open
	Rate        float64         // spans per second; 0 is a closed loop, as fast as they are acknowledged
	Spans       int64           // stop after so many; blocks are sent whole, so a few more are
	Time        time.Duration   // stop after so long
}

// Sent is what was acknowledged.
type Sent struct {
	Spans, Bytes, Requests, Failed int64
	Took                           time.Duration
	// Accept is how long each request took until it was acknowledged, repetitions included, in ascending order.
	Accept []time.Duration
}

// AcceptWithin is the time within which that part (0 to 1) of the requests was acknowledged.
func (s Sent) AcceptWithin(part float64) time.Duration {
	if len(s.Accept) == 0 {
		return 0
	}
	return s.Accept[min(len(s.Accept)-1, int(part*float64(len(s.Accept))))]
}

const exportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// Send sends a load to an OTLP/gRPC endpoint. A request that fails is sent again after a pause, as an SDK would.
func Send(ctx context.Context, endpoint string, load Load) (Sent, error) {
	ctx, cancel := context.WithTimeout(ctx, load.Time)
	defer cancel()
	blocks := make([]*Block, load.Connections)
	makers := make([]*Generator, load.Connections)
	for i := range blocks {
		makers[i] = New(uint64(i) + 1)
		var err error
		if blocks[i], err = makers[i].Block(load); err != nil {
			return Sent{}, fmt.Errorf("make load: %w", err)
		}
	}
	s := sender{load: load, began: time.Now()}
	errs := make([]error, len(blocks))
	var wg sync.WaitGroup
	for i, b := range blocks {
		wg.Go(func() { errs[i] = s.connection(ctx, endpoint, b, makers[i]) })
	}
	wg.Wait()
	sent := Sent{Spans: s.spans.Load(), Bytes: s.bytes.Load(), Requests: s.requests.Load(), Failed: s.failed.Load(), Took: time.Since(s.began), Accept: s.accept}
	slices.Sort(sent.Accept)
	for _, err := range errs {
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

type sender struct {
	load                           Load
	began                          time.Time
	spans, bytes, requests, failed atomic.Int64

	mu     sync.Mutex
	accept []time.Duration
}

// connection sends blocks one after the other, with new trace ids or new texts.
func (s *sender) connection(ctx context.Context, endpoint string, b *Block, g *Generator) error {
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.WaitForReady(true)))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	defer conn.Close()
	if s.load.Open > 0 {
		s.ring(ctx, conn, b)
		return nil
	}
	due := 0.0 // blocks with new texts
	for ctx.Err() == nil && s.spans.Load() < s.load.Spans {
		b.renew()
		if due += s.load.New; due >= 1 && s.load.Recorded == nil {
			due--
			if b, err = g.Block(s.load); err != nil {
				return fmt.Errorf("make new texts: %w", err)
			}
		}
		for i := range b.requests {
			s.request(ctx, conn, &b.requests[i])
		}
	}
	return nil
}

// ring keeps this connection's share of Load.Open runs open: block after block sends its next request, and when all have, the first
// goes on. So a run lasts Open x its spans / Rate. Blocks differ by the ids of their runs alone, which are all that is kept of them.
func (s *sender) ring(ctx context.Context, conn *grpc.ClientConn, b *Block) {
	blocks := make([][]pcommon.TraceID, max(1, s.load.Open/s.load.Connections/len(b.ids)))
	sent, share := int64(0), s.load.Spans/int64(s.load.Connections)
	for pass := 0; ctx.Err() == nil && (sent < share || pass%len(b.requests) != 0); pass++ {
		for n := range blocks {
			if ctx.Err() != nil {
				return
			}
			next := pass
			if s.load.Steady {
				next += n
			}
			next %= len(b.requests)
			if next == 0 || pass == 0 {
				blocks[n] = newIDs(len(b.ids))
			}
			b.put(next, blocks[n])
			s.request(ctx, conn, &b.requests[next])
			sent += int64(b.requests[next].spans)
		}
	}
}

// request sends one request until it is acknowledged. A block that was begun is sent to its end, though the time is up: runs
// without their end would wait in the collector.
func (s *sender) request(ctx context.Context, conn *grpc.ClientConn, r *request) {
	const pause = 100 * time.Millisecond
	const grace = 15 * time.Second
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), s.began.Add(s.load.Time+grace))
	defer cancel()
	for s.load.Rate > 0 && float64(s.spans.Load()) > s.load.Rate*time.Since(s.began).Seconds() {
		time.Sleep(2 * time.Millisecond)
	}
	began := time.Now()
	for ctx.Err() == nil {
		var reply []byte
		err := conn.Invoke(ctx, exportMethod, &r.body, &reply)
		if err == nil {
			s.spans.Add(int64(r.spans))
			s.bytes.Add(int64(len(r.body)))
			s.requests.Add(1)
			s.mu.Lock()
			s.accept = append(s.accept, time.Since(began))
			s.mu.Unlock()
			return
		}
		s.failed.Add(1)
		time.Sleep(pause)
	}
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (raw) Name() string { return "proto" }

// NewLoad returns the load of a shape by name, all without end for a minute:
//
//	short  25 runs of Short in requests of 100 spans
//	five   the same, five runs in each trace
//	long   4 runs of Long in requests of 20 spans
//	large  4 runs of Large in requests of 16 spans
//	web    25 traces of a web shop in requests of 100 spans
//	mixed  web, and 1 in 100 spans is of an agent
//	corpus the recorded traces below testdata/corpus, a request for each file, without their log records
func NewLoad(shape string) (Load, error) {
	load := Load{Connections: 4, Spans: math.MaxInt64, Time: time.Minute}
	switch shape {
	case "short":
		load.Shape, load.Runs, load.Requests = Short, 25, 5
	case "five":
		load.Shape, load.Runs, load.Requests, load.RunsInTrace = Short, 25, 5, 5
	case "corpus":
		var err error
		load.Recorded, err = Recorded("testdata/corpus")
		return load, err
	case "long":
		load.Shape, load.Runs, load.Requests = Long, 4, 20
	case "large":
		load.Shape, load.Runs, load.Requests = Large, 4, 5
	case "web":
		load.Shape, load.Web, load.Requests = Short, 25, 5
	case "mixed":
		load.Shape, load.Runs, load.Web, load.Requests = Short, 1, 99, 20
	default:
		return load, fmt.Errorf("no shape %q, want short, five, long, large, corpus, web or mixed", shape)
	}
	return load, nil
}
