// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command recorder serves a scripted model, its tools and an OTLP sink on loopback, and writes the telemetry and the truth of every run
// that a driver makes with them. See package recorder for the protocol.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/recorder"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	out := flag.String("out", "recordings", "folder of the recordings")
	count := flag.Int("generate", 0, "scenarios to draw instead of the written ones")
	seed := flag.Uint64("seed", 1, "what they are drawn from")
	flag.Parse()
	handler := recorder.New(*out)
	if *count > 0 {
		handler = recorder.NewGenerated(*out, *seed, *count)
	}
	listener, err := net.Listen("tcp", *listen)
	if err == nil {
		fmt.Println("http://" + listener.Addr().String())
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		err = server.Serve(listener)
	}
	fmt.Fprintln(os.Stderr, "recorder:", err)
	os.Exit(1)
}
