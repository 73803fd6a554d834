// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Benchoracle measures `tapedeck serve` beside a server that does nothing (the floor) and WireMock, one after the other, under the same load:
// clients that each replay a run of 100 calls, 2 KB of arguments and 10 KB of answer per call, again and again under new replay_run_ids.
// `make bench-oracle` runs it; docs/performance.md holds what it printed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	calls       = 100 // of the recorded run
	argsBytes   = 2 << 10
	answerBytes = 10 << 10
)

func main() {
	var o options
	flag.StringVar(&o.tapedeck, "tapedeck", "bin/tapedeck", "the built command line")
	flag.StringVar(&o.wiremock, "wiremock", "", "the jar of WireMock standalone; left out when empty")
	flag.IntVar(&o.clients, "clients", 64, "connections at once")
	flag.DurationVar(&o.time, "time", 10*time.Second, "how long to measure each server")
	flag.DurationVar(&o.warm, "warm", 5*time.Second, "how long to warm each server up")
	flag.IntVar(&o.rounds, "rounds", 2, "how often to measure everything")
	floor := flag.Bool("floor", false, "be the server that does nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *floor {
		err = serveFloor(ctx)
	} else {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchoracle:", err)
		os.Exit(1)
	}
}

type options struct {
	tapedeck, wiremock string
	clients, rounds    int
	time, warm         time.Duration
}

// recording is the run that is replayed: the entries, and the body of the request for each without its first member.
type recording struct {
	entries []oracle.Entry
	bodies  []string
}

func newRecording() (recording, error) {
	var r recording
	for i := range calls {
		var args strings.Builder
		fmt.Fprintf(&args, `{"query":"call %d","filters":{"page":%d,"exact":true,"tags":["a","b",null]},"items":[`, i, i)
		for args.Len() < argsBytes-64 {
			fmt.Fprintf(&args, `{"id":%d,"name":"item \"%d\"","price":%d.50},`, args.Len(), args.Len(), args.Len())
		}
		args.WriteString(`0],"after":1.0e3}`)
		v, err := exactjson.Parse(args.String())
		if err != nil {
			return r, err
		}
		answer := strings.Repeat(fmt.Sprintf(`{"row":"%d","text":"an answer"},`, i), answerBytes/32)
		r.entries = append(r.entries, oracle.Entry{ToolName: "search", Args: v, ArgsHash: oracle.Hash(v), Response: answer, Occurrence: 1, Caller: "agent", Turn: i + 1, Seq: i + 1, ResponseFormat: "text"})
		r.bodies = append(r.bodies, fmt.Sprintf(`"tool_name":"search","caller":"agent","call_index":%d,"turn":%d,"args":%s}`, i, i+1, args.String()))
	}
	return r, nil
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "benchoracle")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r, err := newRecording()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "oracle.json")
	if err := os.WriteFile(file, oracle.Append(nil, r.entries), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers := []server{
		{name: "floor: net/http, a constant answer", command: exec.Command(self, "-floor"), url: announced, floor: true},
		{name: "tapedeck serve", command: exec.Command(o.tapedeck, "serve", "--oracle", file, "--listen", "127.0.0.1:0"), url: announced, ends: true},
	}
	if o.wiremock != "" {
		for _, w := range []struct {
			name  string
			stubs func() []any
		}{
			{"WireMock, one stub that takes everything", func() []any { return []any{stub(r.entries[0], false)} }},
			{fmt.Sprintf("WireMock, %d stubs told apart by args_hash", calls), func() []any {
				var all []any
				for _, e := range r.entries {
					all = append(all, stub(e, true))
				}
				return all
			}},
		} {
			root, err := os.MkdirTemp(dir, "wiremock")
			if err != nil {
				return err
			}
			if err := writeMappings(root, w.stubs()); err != nil {
				return err
			}
			// The journal and the log keep every request; an oracle's peer would run without.
			servers = append(servers, server{name: w.name, url: wiremockURL, hashes: true, command: exec.Command("java", "-Xmx1g", "-jar", o.wiremock, "--port", "0",
				"--bind-address", "127.0.0.1", "--root-dir", root, "--no-request-journal", "--disable-request-logging", "--disable-banner", "--container-threads", "80")})
		}
	}
	fmt.Printf("%d clients, %d calls per replay, %d B of arguments, %d B of answer, %s each after %s\n\n", o.clients, calls, argsBytes, answerBytes, o.time, o.warm)
	fmt.Println("| server | round | requests/s | x floor | p50 ms | p99 ms | server CPU us/request | errors |\n|---|---|---|---|---|---|---|---|")
	for round := range o.rounds {
		floor := 0.0
		for _, s := range servers {
			m, err := s.measure(ctx, o, r)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if s.floor {
				floor = m.rate
			}
			fmt.Printf("| %s | %d | %.0f | %.2f | %.2f | %.2f | %.1f | %d |\n", s.name, round+1, m.rate, m.rate/floor, m.p50, m.p99, m.cpu, m.errors)
		}
	}
	return nil
}

// serveFloor reads requests and gives a constant answer.
func serveFloor(ctx context.Context) error {
	answer, err := json.Marshal(map[string]any{"hit": true, "response": strings.Repeat("an answer of ten kilobytes ", answerBytes/27)})
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // the client is gone or not
	})}
	listener, err := listen()
	if err != nil {
		return err
	}
	fmt.Printf("{\"listening\":\"http://%s\"}\n", listener.Addr())
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// stub is a WireMock mapping that gives the answer of an entry.
func stub(e oracle.Entry, told bool) any {
	request := map[string]any{"method": "POST", "urlPath": "/v1/tool-calls"}
	if told {
		request["bodyPatterns"] = []any{map[string]any{"matchesJsonPath": map[string]any{"expression": "$.args_hash", "equalTo": e.ArgsHash}}}
	}
	return map[string]any{"request": request, "response": map[string]any{
		"status": 200, "headers": map[string]any{"Content-Type": "application/json"}, "jsonBody": map[string]any{"hit": true, "response": e.Response},
	}}
}

func writeMappings(root string, stubs []any) error {
	data, err := json.Marshal(map[string]any{"mappings": stubs})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "mappings"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "mappings", "all.json"), data, 0o600)
}

// announced finds the address in the line of JSON that our servers print.
func announced(line []byte) string {
	var l struct{ Listening string }
	if json.Unmarshal(line, &l) != nil {
		return ""
	}
	return l.Listening
}

// wiremockURL finds the port in what WireMock prints at its start.
func wiremockURL(line []byte) string {
	if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("port:")); ok {
		return "http://127.0.0.1:" + string(bytes.TrimSpace(rest))
	}
	return ""
}
