// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

// server is what is measured.
type server struct {
	name    string
	command *exec.Cmd
	url     func(line []byte) string // finds the address in what it prints
	floor   bool
	ends    bool // sessions are ended, so that they do not add up
	hashes  bool // requests carry the args_hash
}

type measurement struct {
	rate     float64 // requests per second
	p50, p99 float64 // ms
	cpu      float64 // us of the server per request
	errors   int64
}

// measure starts the server, loads it and stops it.
func (s server) measure(ctx context.Context, o options, r recording) (measurement, error) {
	var m measurement
	cmd := exec.CommandContext(ctx, s.command.Path, s.command.Args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	if err := cmd.Start(); err != nil {
		return m, err
	}
	defer func() {
		_ = cmd.Process.Kill() // fails if it has ended, which is what we want
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(stdout)
	url := ""
	for url == "" {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return m, fmt.Errorf("it does not start: %w: %s", err, complaints.Bytes())
		}
		url = s.url(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	l := &load{address: strings.TrimPrefix(url, "http://"), server: s, recording: r}
	if _, _, err := l.run(ctx, o.clients, o.warm); err != nil {
		return m, err
	}
	before, begin := collectorproc.CPUTime(cmd.Process.Pid), time.Now()
	latencies, failed, err := l.run(ctx, o.clients, o.time)
	if err != nil {
		return m, err
	}
	took := time.Since(begin)
	used := collectorproc.CPUTime(cmd.Process.Pid) - before
	if len(latencies) == 0 {
		return m, errors.New("no request was answered")
	}
	slices.Sort(latencies)
	at := func(part float64) float64 {
		return float64(latencies[int(part*float64(len(latencies)-1))]) / float64(time.Millisecond)
	}
	return measurement{
		rate: float64(len(latencies)) / took.Seconds(), p50: at(0.5), p99: at(0.99), errors: failed,
		cpu: float64(used.Microseconds()) / float64(len(latencies)),
	}, nil
}

// load is clients that replay the recording.
type load struct {
	address   string
	server    server
	recording recording
	replays   atomic.Int64
}

// run loads the server for a while and returns the latencies of the calls.
func (l *load) run(ctx context.Context, clients int, d time.Duration) ([]time.Duration, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var all []time.Duration
	var failed int64
	var first error
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			latencies, bad, err := l.client(ctx)
			mu.Lock()
			defer mu.Unlock()
			all, failed, first = append(all, latencies...), failed+bad, errors.Join(first, err)
		})
	}
	wait.Wait()
	return all, failed, first
}

// client replays the recording over one connection until the context ends. A client library costs more than the server; this one writes
// the request as bytes.
func (l *load) client(ctx context.Context) (latencies []time.Duration, failed int64, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.address)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReaderSize(conn, 64<<10)
	var request []byte
	for {
		id := fmt.Sprintf("%s-%d", strconv.Itoa(os.Getpid()), l.replays.Add(1))
		for i, body := range l.recording.bodies {
			if ctx.Err() != nil {
				return latencies, failed, nil
			}
			head := `{"replay_run_id":"` + id + `",`
			if l.server.hashes {
				head += `"args_hash":"` + l.recording.entries[i].ArgsHash + `",`
			}
			request = fmt.Appendf(request[:0], "POST /v1/tool-calls HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s", l.address, len(head)+len(body), head, body)
			begin := time.Now()
			ok, err := exchange(conn, reader, request)
			if err != nil {
				return latencies, failed, err
			}
			latencies = append(latencies, time.Since(begin))
			if !ok {
				failed++
			}
		}
		if l.server.ends {
			request = fmt.Appendf(request[:0], "DELETE /v1/sessions/%s HTTP/1.1\r\nHost: %s\r\n\r\n", id, l.address)
			if _, err := exchange(conn, reader, request); err != nil {
				return latencies, failed, err
			}
		}
	}
}

// exchange reports whether the answer is one of the size of those that were recorded.
func exchange(conn net.Conn, reader *bufio.Reader, request []byte) (bool, error) {
	if _, err := conn.Write(request); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return false, err
	}
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil {
		return false, err
	}
	return response.StatusCode == http.StatusOK && n >= answerBytes*9/10, response.Body.Close()
}

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
