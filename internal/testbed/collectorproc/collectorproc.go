// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package collectorproc runs a built collector as a child process with one of the configurations of examples/. It serves
// the demo and the end-to-end tests.
//
// The examples read their addresses from the environment (${env:OTLP_GRPC_ENDPOINT:-127.0.0.1:4317} and so on), so that
// the very files that users start with run here on free ports.
package collectorproc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// maxLog bounds the kept output of the process; what is older is forgotten.
const maxLog = 256 << 10

// Options say what to run.
type Options struct {
	// Binary is the collector.
	Binary string
	// Args are the arguments, such as --config FILE and --set KEY=VALUE.
	Args []string
	// Env is added to the environment of this process and to the addresses, NAME=value.
	Env []string
	// Dir is the working directory, by default that of this process.
	Dir string
	// Same is an earlier process whose addresses the new one takes over, as after a restart; by default they are free ones.
	Same *Process
}

// Process is a running collector.
type Process struct {
	// GRPC and HTTP are its OTLP addresses, host:port. Health and Metrics are those of health_check and of its own metrics.
	GRPC, HTTP, Health, Metrics string

	cmd    *exec.Cmd
	log    log
	exited chan struct{}
	err    error // valid when exited is closed
}

// Start starts a collector on free loopback ports and returns when its health check says that all components run, or with
// an error that carries the output when it ends or when ctx is done before. The context bounds the start alone.
func Start(ctx context.Context, opts Options) (*Process, error) {
	p := &Process{exited: make(chan struct{})}
	if opts.Same != nil {
		p.GRPC, p.HTTP, p.Health, p.Metrics = opts.Same.GRPC, opts.Same.HTTP, opts.Same.Health, opts.Same.Metrics
	} else if err := p.findAddresses(); err != nil {
		return nil, err
	}
	_, metricsPort, err := net.SplitHostPort(p.Metrics)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(opts.Binary, opts.Args...)
	p.cmd.Dir = opts.Dir
	p.cmd.Env = append(os.Environ(),
		"OTLP_GRPC_ENDPOINT="+p.GRPC,
		"OTLP_HTTP_ENDPOINT="+p.HTTP,
		"HEALTH_ENDPOINT="+p.Health,
		"METRICS_PORT="+metricsPort)
	p.cmd.Env = append(p.cmd.Env, opts.Env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitHealth(ctx); err != nil {
		return nil, fmt.Errorf("start %s: %w\n%s", filepath.Base(opts.Binary), errors.Join(err, p.Kill()), p.Log())
	}
	return p, nil
}

// Terminate asks the collector to stop (SIGTERM) and waits until it has; when ctx is done first it is killed. The error
// tells how it ended, nil meaning in order.
func (p *Process) Terminate(ctx context.Context) error { return p.stop(ctx, syscall.SIGTERM) }

// Interrupt is Terminate with the signal that a terminal sends (SIGINT).
func (p *Process) Interrupt(ctx context.Context) error { return p.stop(ctx, syscall.SIGINT) }

func (p *Process) stop(ctx context.Context, signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return errors.Join(err, p.Kill())
	}
	select {
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("the collector did not stop: %w", ctx.Err()), p.Kill())
	}
}

// Kill ends the collector at once and waits until it is gone. It may have ended before.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.exited
	return nil
}

// Exited is closed when the process has ended for any reason.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Log is the last output of the collector.
func (p *Process) Log() string { return p.log.String() }

func (p *Process) awaitHealth(ctx context.Context) error {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Health, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			if err := resp.Body.Close(); err != nil {
				return err
			}
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.exited:
			return errors.Join(errors.New("it ended before it was ready"), p.err)
		case <-ctx.Done():
			return fmt.Errorf("it was not ready in time: %w", ctx.Err())
		case <-poll.C:
		}
	}
}

func (p *Process) findAddresses() error {
	addresses := []*string{&p.GRPC, &p.HTTP, &p.Health, &p.Metrics}
	ports, err := freePorts(len(addresses))
	for i := range ports {
		*addresses[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i]))
	}
	return err
}

// freePorts returns n different ports that nobody listened on a moment ago.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // held until all are known: the same port is not given twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// log keeps the last maxLog bytes written to it.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Write(p)
	if extra := l.buf.Len() - maxLog; extra > 0 {
		l.buf.Next(extra)
	}
	return len(p), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
