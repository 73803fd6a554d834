// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command agentload sends agent runs to a collector over OTLP/gRPC, at a fixed rate or as fast as they are acknowledged, and says
// what was acknowledged and what the sending cost.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

func main() {
	endpoint := flag.String("endpoint", "127.0.0.1:4317", "OTLP/gRPC address of the collector")
	shape := flag.String("shape", "short", "short: runs of 20 spans of 2 KB; long: runs of 50 turns that resend the conversation; large: 20 spans of 1 MB; web, mixed: no agents, 1 %")
	rate := flag.Float64("rate", 0, "spans per second, 0 is as fast as they are acknowledged")
	spans := flag.Int64("spans", math.MaxInt64, "stop after so many spans")
	limit := flag.Duration("time", 20*time.Second, "stop after so long")
	open := flag.Int("open", 0, "runs that are open at once, 0 is those that are being sent")
	connections := flag.Int("connections", 4, "connections that send at once")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	load, err := agentload.NewLoad(*shape)
	if err == nil {
		load.Rate, load.Spans, load.Time, load.Connections, load.Open = *rate, *spans, *limit, *connections, *open
		var sent agentload.Sent
		sent, err = agentload.Send(ctx, *endpoint, load)
		fmt.Printf("spans=%d bytes=%d requests=%d failed=%d seconds=%.2f spans/s=%.0f p99=%s\n",
			sent.Spans, sent.Bytes, sent.Requests, sent.Failed, sent.Took.Seconds(), float64(sent.Spans)/max(sent.Took.Seconds(), 1e-9), sent.AcceptWithin(0.99))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentload:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}
