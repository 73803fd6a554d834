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
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
)

// process is a child that is measured.
type process struct {
	cmd     *exec.Cmd
	metrics string       // address of a collector's own metrics
	log     bytes.Buffer // read after exited only
	exited  chan struct{}
	err     error
}

// start runs a command and waits until it listens.
func start(ctx context.Context, cmd *exec.Cmd, address string) (*process, error) {
	p := &process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return p, conn.Close()
		}
		select {
		case <-p.exited:
			return nil, fmt.Errorf("%s ended: %w\n%s", filepath.Base(cmd.Path), p.err, p.log.String())
		case <-ctx.Done():
			p.kill()
			return nil, fmt.Errorf("%s does not listen\n%s", filepath.Base(cmd.Path), p.log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startS3 serves folder/s3 with a bucket "tapes".
func startS3(ctx context.Context, binary, folder string) (*process, string, error) {
	for _, name := range []string{"s3/" + bucket, "sidecar"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return nil, "", err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	// Without --keep-alive it closes the connection after each answer, as no other service does, and every request would pay for a new one.
	cmd := exec.Command(binary, "--keep-alive", "--port", address, "--region", region, "--quiet", "--access-log", filepath.Join(folder, accessLog), "posix", "--sidecar", filepath.Join(folder, "sidecar"), filepath.Join(folder, "s3"))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+access, "ROOT_SECRET_KEY="+access)
	p, err := start(ctx, cmd, address)
	return p, address, err
}

const accessLog = "access.log"

var operation = regexp.MustCompile(` s3_(\w+) `)

// requests counts the requests in the access log of versitygw by kind.
func requests(path string) (map[string]int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	kinds := map[string]int{}
	for _, m := range operation.FindAllSubmatch(text, -1) {
		kinds[string(m[1])]++
	}
	return kinds, nil
}

// startCollector runs a collector of a pipeline until it listens for OTLP/gRPC at the address.
func startCollector(ctx context.Context, binary string, p pipeline, s settings) (*process, string, error) {
	var addresses [4]string // OTLP/gRPC, metrics, OTLP/HTTP, health
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(); err != nil {
			return nil, "", err
		}
	}
	metricsPort := addresses[1][strings.LastIndexByte(addresses[1], ':')+1:]
	path := p.example
	environment := append(os.Environ(), "AWS_ACCESS_KEY_ID="+access, "AWS_SECRET_ACCESS_KEY="+access, "AWS_REGION="+region)
	if path == "" {
		path = filepath.Join(s.folder, "collector.yaml")
		config := strings.NewReplacer("ADDRESS", addresses[0], "METRICS_PORT", metricsPort).Replace(p.config(s))
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			return nil, "", err
		}
	} else {
		deck := s.fileDeck()
		if p.s3 {
			deck = s.s3Deck()
		}
		environment = append(environment, "TAPEDECK_DECK="+deck, "TAPEDECK_REDACTION_KEY=3f1c9a7e5b2d8046c1e7f3a95d0b6248",
			"TAPEDECK_SPOOL="+filepath.Join(s.folder, spoolFolder), "TAPEDECK_STATE="+filepath.Join(s.folder, "state"),
			"OTLP_GRPC_ENDPOINT="+addresses[0], "METRICS_PORT="+metricsPort, "OTLP_HTTP_ENDPOINT="+addresses[2], "HEALTH_ENDPOINT="+addresses[3])
	}
	cmd := exec.Command(binary, "--config", path)
	cmd.Env = environment
	started, err := start(ctx, cmd, addresses[0])
	if err == nil {
		started.metrics = addresses[1]
	}
	return started, addresses[0], err
}

// metric is the sum of a metric of the collector over its attributes; a counter that has not counted is 0.
func (p *process) metric(ctx context.Context, name string) (sum int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	req.Close = true
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), "} ")
		if found, _, _ := strings.Cut(series, "{"); found != name && found != name+"_total" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += int(n)
	}
	return sum, lines.Err()
}

// size is that of all files below a folder, 0 for none. Files may vanish meanwhile.
func size(folder string) (bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return bytes, err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// cpu is the user and system time so far, 0 for no process.
func (p *process) cpu() time.Duration {
	if p == nil {
		return 0
	}
	return collectorproc.CPUTime(p.cmd.Process.Pid)
}

// rest waits until the process has had nothing to do for longer than any pipeline here waits for the end of a trace.
func (p *process) rest(ctx context.Context) error {
	const (
		quiet = 4 * traceWait
		limit = 2 * time.Minute
		busy  = 30 * time.Millisecond // of CPU in a second; less is housekeeping
	)
	deadline := time.Now().Add(limit)
	for idle := time.Duration(0); idle < quiet; {
		before := p.cpu()
		select {
		case <-p.exited:
			return fmt.Errorf("the collector ended: %w\n%s", p.err, p.log.String())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
		if p.cpu()-before > busy {
			idle = 0
		} else {
			idle += time.Second
		}
		if time.Now().After(deadline) {
			return errors.New("the collector does not come to rest")
		}
	}
	return nil
}

type usage struct {
	cpu  time.Duration
	peak int64
}

// stop ends the process in order and returns what it used in all.
func (p *process) stop(ctx context.Context) (usage, error) {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return usage{}, err
	}
	select {
	case <-p.exited:
	case <-ctx.Done():
		return usage{}, ctx.Err()
	case <-time.After(time.Minute):
		return usage{}, errors.New("the collector does not stop")
	}
	if p.err != nil {
		return usage{}, fmt.Errorf("the collector failed: %w\n%s", p.err, p.log.String())
	}
	state := p.cmd.ProcessState
	u := usage{cpu: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss << 10
	}
	return u, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails if it has ended, which is what we want
	<-p.exited
}
