// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package decktest gives tests real storage services and stores with faults.
//
// Each service function starts a server process on a free loopback port with an
// empty folder. It makes a bucket, sets the credentials in the environment of
// the test and returns the URL of an empty deck. The process is killed when the
// test ends. A server that is not installed skips the test, or fails it when
// TAPEDECK_REQUIRE_SERVICES=1. These functions set the environment, so parallel
// tests cannot use them.
package decktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Service is a running storage server.
type Service struct {
	// URL is the URL of an empty deck.
	URL string
	// Env has what other processes need to open URL, as NAME=value. It is set
	// in the environment of the test already.
	Env []string
	// Endpoint is the address of the server, http://127.0.0.1:port.
	Endpoint string
}

func newService(t testing.TB, endpoint, url string, env ...string) Service {
	t.Helper()
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	return Service{URL: url, Env: env, Endpoint: endpoint}
}

// FileURL returns the URL of an empty deck in a temporary folder.
func FileURL(t testing.TB) string {
	t.Helper()
	return "file://" + filepath.ToSlash(t.TempDir()) + "/deck"
}

// Program returns the path of a server or tool: the variable if it is set, else
// PATH, else where "go install" puts binaries.
func Program(t testing.TB, variable, name, install string) string {
	t.Helper()
	if p := os.Getenv(variable); p != "" {
		if _, err := os.Stat(p); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
		return p
	}
	if p, err := exec.LookPath(name); err == nil {
		return p
	}
	folders := []string{os.Getenv("GOBIN")}
	if gopath := os.Getenv("GOPATH"); gopath != "" {
		folders = append(folders, filepath.Join(gopath, "bin"))
	} else if home, err := os.UserHomeDir(); err == nil {
		folders = append(folders, filepath.Join(home, "go", "bin"))
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, folder := range folders {
		p := filepath.Join(folder, name)
		if _, err := os.Stat(p); folder != "" && err == nil {
			return p
		}
	}
	text := fmt.Sprintf("%s is not installed (%s, or set %s to its path)", name, install, variable)
	if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// start runs a server until the test ends and waits until it answers. command
// gets a free port; a port that another process took first is tried again.
func start(t testing.TB, command func(port int) *exec.Cmd, readyPath string) (endpoint string) {
	t.Helper()
	const attempts = 3
	var failure error
	for range attempts {
		port := freePort(t)
		endpoint = fmt.Sprintf("http://127.0.0.1:%d", port)
		if failure = startOnce(t, command(port), endpoint+readyPath); failure == nil {
			return endpoint
		}
	}
	t.Fatal(failure)
	return ""
}

func startOnce(t testing.TB, cmd *exec.Cmd, ready string) error {
	t.Helper()
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed: the status says nothing
		close(exited)
	}()
	kill := func() {
		_ = cmd.Process.Kill() // fails if it has ended, which is what we want
		<-exited
	}
	if err := waitReady(t.Context(), ready, exited); err != nil {
		kill()
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, output)
	}
	t.Cleanup(kill)
	return nil
}

// waitReady polls until the server answers anything over HTTP.
func waitReady(ctx context.Context, url string, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		}
		select {
		case <-exited:
			return fmt.Errorf("the server ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready in time: %w", ctx.Err())
		case <-poll.C:
		}
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// tail keeps the last output of a server for the message of a failed start.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 16 << 10
	t.buf.Write(p)
	if extra := t.buf.Len() - most; extra > 0 {
		t.buf.Next(extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
