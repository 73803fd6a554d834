// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package execlane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
)

// Config is a runner and how long it may take. Zero times are the defaults of the protocol.
type Config struct {
	Argv   []string
	Shown  []string // stands for Argv in reports; nil: Argv itself
	Dir    string
	Env    []string // nil: that of this program
	Policy contract.Policy
	// Hello is how long the runner may take to begin, ReplayTimeout how long for one run with all its lookups, Shutdown how long to end.
	Hello, ReplayTimeout, Shutdown time.Duration
	MaxLine                        int // bytes
	Stderr                         io.Writer

	grace time.Duration // between the signal that asks and the one that ends
	eof   time.Duration // how long the end of its input may take to end the runner
}

func (c *Config) complete() {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&c.Hello, 10*time.Second)
	set(&c.ReplayTimeout, time.Minute)
	set(&c.Shutdown, min(5*time.Second, c.ReplayTimeout))
	set(&c.grace, 5*time.Second)
	set(&c.eof, c.Shutdown)
	if c.MaxLine <= 0 {
		c.MaxLine = 16 << 20
	}
	if c.Policy == "" {
		c.Policy = contract.UseOriginal
	}
}

func (c *Config) shown() []string {
	if c.Shown != nil {
		return slices.Clone(c.Shown)
	}
	return slices.Clone(c.Argv)
}

// Identity is which runner it was.
type Identity struct {
	Argv     []string `json:"argv"`
	SHA256   string   `json:"executable_sha256,omitempty"` // of the file that argv[0] stands for
	Name     string   `json:"runner_name,omitempty"`
	Version  string   `json:"runner_version,omitempty"`
	Protocol string   `json:"protocol"`
}

// The codes of failures.
const (
	Timeout       = "runner_timeout"
	Exception     = "runner_exception"
	ProtocolError = "runner_protocol_error"
	CacheMiss     = "tool_cache_miss"
)

// codes are those that a runner may answer with itself.
var codes = []string{Timeout, Exception, CacheMiss, "trace_schema_mismatch", "trace_invalid", "scorer_unavailable", "scorer_invalid_output"}

// Failure is why a run could not be replayed.
type Failure struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details,omitempty"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// ErrSetup is wrapped by errors of a runner that could not be started or did not say hello: no run can be replayed.
var ErrSetup = errors.New("the runner cannot be used")

var errTimeout = errors.New("the time is over")

// Answer is the answer to a tool call. With neither Text nor JSON it is a miss.
type Answer struct {
	Text *string
	JSON json.RawMessage
}

// Result is a replayed run.
type Result struct {
	Output contract.ReplayOutput
	Misses []string // tools whose calls had no answer, in order; the runner went on
}

// Lane is a runner that replays one run at a time. It is not safe for concurrent use.
type Lane struct {
	config    Config
	child     *child
	identity  Identity
	session   string
	requests  int
	restarts  int
	versioned bool // the hello says which version of frames it speaks
	single    bool // the runner does not echo ids: each run gets a process of its own
}

// Open starts the runner and waits for its hello. Every error wraps ErrSetup.
func Open(ctx context.Context, config Config) (*Lane, error) {
	config.complete()
	if len(config.Argv) == 0 || config.Argv[0] == "" {
		return nil, fmt.Errorf("%w: there is no command", ErrSetup)
	}
	l := &Lane{config: config, session: uuid.NewString(), identity: Identity{Argv: config.shown(), SHA256: DigestOf(config.Argv[0]), Protocol: Protocol}}
	if err := l.start(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// DigestOf is the digest of a program, "" when it cannot be read.
func DigestOf(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	sum, _ := DigestOfFile(path)
	return sum
}

// DigestOfFile is the SHA-256 of a file, as hexadecimal digits.
func DigestOfFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (l *Lane) start(ctx context.Context) error {
	k, err := start(&l.config)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if err := l.greet(ctx, k); err != nil {
		k.kill()
		if log := k.log.String(); log != "" {
			err = fmt.Errorf("%w; it wrote: %.500q", err, log)
		}
		return fmt.Errorf("%w: %w", ErrSetup, err)
	}
	l.child = k
	return nil
}

func (l *Lane) greet(ctx context.Context, k *child) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.config.Hello, errTimeout)
	defer cancel()
	f, err := k.receive(ctx)
	switch {
	case errors.Is(err, errTimeout):
		return fmt.Errorf("no hello within %v", l.config.Hello)
	case err != nil:
		return fmt.Errorf("instead of a hello: %w", err)
	case f.kind != "hello":
		return fmt.Errorf("instead of a hello: a frame of type %q", f.kind)
	}
	if p, _ := f.text("protocol"); p != Protocol {
		return fmt.Errorf("the runner speaks %q, not %s", p, Protocol)
	}
	l.versioned = f.members["v"] != nil
	if v := f.members["v"]; v != nil && string(v) != "1" {
		return fmt.Errorf("the runner speaks version %.20s of its frames, not 1", v)
	}
	l.identity.Name, _ = f.text("runner_name")
	l.identity.Version, _ = f.text("runner_version")
	return k.send(ctx, map[string]any{"type": "hello_ack", "whatifd_version": "0.3.0", "session_id": l.session, "tool_cache_policy": l.config.Policy})
}

// Identity says which runner it is.
func (l *Lane) Identity() Identity { return l.identity }

// Restarts is how often the runner was started again.
func (l *Lane) Restarts() int { return l.restarts }

// Log is the end of what the running runner wrote to standard error.
func (l *Lane) Log() string {
	if l.child == nil {
		return ""
	}
	return l.child.log.String()
}

// receive returns the next frame.
func (k *child) receive(ctx context.Context) (frame, error) {
	in, err := k.next(ctx)
	if err != nil {
		return frame{}, err
	}
	f := frame{raw: in.text}
	switch {
	case errors.Is(in.err, io.EOF):
		return f, &violation{"the runner ended", nil}
	case in.err != nil:
		return f, &violation{in.err.Error(), in.text}
	}
	if f.members, err = contract.Object(in.text); err != nil {
		return f, &violation{"a line that is no JSON object", in.text}
	}
	var ok bool
	if f.kind, ok = f.text("type"); !ok {
		return f, &violation{"a frame without a type", in.text}
	}
	return f, nil
}

// violation is what the protocol forbids.
type violation struct {
	what string
	raw  []byte
}

func (v *violation) Error() string { return v.what }

func (v *violation) failure() *Failure {
	f := &Failure{Code: ProtocolError, Message: v.what, Details: map[string]any{"violation": v.what}}
	if len(v.raw) > 0 {
		f.Details["raw_excerpt"] = string(v.raw[:min(len(v.raw), excerpt)])
	}
	return f
}

// Replay lets the runner replay one run. lookup answers its tool calls. An error is a *Failure of this run; one that wraps ErrSetup, when the
// runner had to be started again and could not be; or that of the context. A runner that took too long or broke the protocol is
// ended, and started again for the next run.
func (l *Lane) Replay(ctx context.Context, input contract.TraceInput, config contract.ReplayConfig, lookup func(tool string, args json.RawMessage) Answer) (Result, error) {
	if err := l.ready(ctx); err != nil {
		return Result{}, err
	}
	l.requests++
	id := fmt.Sprintf("r-%06d", l.requests)
	within, cancel := context.WithTimeoutCause(ctx, l.config.ReplayTimeout, errTimeout)
	defer cancel()
	result, err := l.exchange(within, request(id, input, config), lookup)
	var broken *violation
	var failed *Failure
	switch {
	case err == nil:
	case errors.As(err, &failed): // the runner said so itself
		return result, err
	case ctx.Err() != nil:
		l.drop()
		return result, ctx.Err()
	case errors.Is(err, errTimeout):
		l.drop()
		seconds := strconv.FormatFloat(l.config.ReplayTimeout.Seconds(), 'g', -1, 64)
		return result, &Failure{Timeout, "no answer within " + seconds + " s", true, map[string]any{"timeout_seconds": l.config.ReplayTimeout.Seconds()}}
	case errors.As(err, &broken):
		l.drop()
		return result, broken.failure()
	default: // the pipe
		l.drop()
		return result, (&violation{"the runner takes no frames: " + err.Error(), nil}).failure()
	}
	return result, nil
}

// ready makes sure that a runner waits for a request. One that has said something nobody asked for is started again: its next answer could be
// that of another run.
func (l *Lane) ready(ctx context.Context) error {
	if l.child != nil {
		select {
		case <-l.child.lines:
			l.drop()
		default:
			if l.single && l.requests > 0 {
				l.drop()
			}
		}
	}
	if l.child != nil {
		return nil
	}
	l.restarts++
	return l.start(ctx)
}

func (l *Lane) drop() {
	l.child.kill()
	l.child = nil
}

func request(id string, input contract.TraceInput, config contract.ReplayConfig) map[string]any {
	if input.Metadata == nil {
		input.Metadata = map[string]any{}
	}
	if config.Overrides == nil {
		config.Overrides = map[string]any{}
	}
	return map[string]any{"type": "replay_request", "request_id": id, "trace_input": input, "replay_config": config}
}

// exchange sends a request and answers lookups until the runner has answered.
func (l *Lane) exchange(ctx context.Context, request map[string]any, lookup func(string, json.RawMessage) Answer) (r Result, err error) {
	id := request["request_id"].(string)
	if err := l.child.send(ctx, request); err != nil {
		return r, err
	}
	for {
		f, err := l.child.receive(ctx)
		if err != nil {
			return r, err
		}
		of, echoed := f.text("request_id")
		if echoed && of != id {
			return r, &violation{fmt.Sprintf("a %s of request %.40q while %s was asked", f.kind, of, id), f.raw}
		}
		switch f.kind {
		case "tool_lookup":
			if err := l.answer(ctx, id, &f, lookup, &r); err != nil {
				return r, err
			}
			continue
		case "replay_response":
			l.single = l.single || !echoed
			if r.Output, err = contract.ReadReplayOutput(f.members["output"]); err != nil {
				return r, &violation{err.Error(), f.raw}
			}
			return r, nil
		case "replay_error":
			l.single = l.single || !echoed
			return r, childError(&f)
		}
		return r, &violation{fmt.Sprintf("a frame of type %.40q while a run is replayed", f.kind), f.raw}
	}
}

func (l *Lane) answer(ctx context.Context, id string, f *frame, lookup func(string, json.RawMessage) Answer, r *Result) error {
	tool, ok := f.text("tool_name")
	args := f.members["args"]
	if _, err := contract.Object(args); !ok || err != nil {
		return &violation{"a tool_lookup without a tool_name, or whose args are no object", f.raw}
	}
	reply := map[string]any{"type": "tool_result", "request_id": id, "lookup_id": f.members["lookup_id"], "hit": true}
	switch a := lookup(tool, args); {
	case a.Text != nil:
		reply["output"] = *a.Text
	case a.JSON != nil:
		reply["output_json"] = a.JSON
	default:
		reply["hit"] = false
		r.Misses = append(r.Misses, tool)
	}
	return l.child.send(ctx, reply)
}

// childError is what a runner answers when it cannot replay a run.
func childError(f *frame) *Failure {
	code, _ := f.text("code")
	message, _ := f.text("message")
	failure := &Failure{Code: code, Message: message, Retryable: string(f.members["retryable"]) == "true", Details: map[string]any{}}
	if details, err := contract.Object(f.members["details"]); err == nil {
		for name, v := range details {
			failure.Details[name] = v
		}
	}
	if !slices.Contains(codes, code) {
		failure.Code, failure.Details["child_code"] = Exception, code
	}
	return failure
}

// Close ends the runner: a frame that asks it to, then signals. An exit code other than 0 is an error.
func (l *Lane) Close() error {
	if l.child == nil {
		return nil
	}
	k := l.child
	l.child = nil
	ctx, cancel := context.WithTimeoutCause(context.Background(), l.config.Shutdown, errTimeout)
	defer cancel()
	_ = k.send(ctx, map[string]any{"type": "shutdown"}) // it may have ended
	err, killed := k.end(l.config.Shutdown, l.config.grace)
	if killed {
		return fmt.Errorf("the runner did not end within %v after shutdown", l.config.Shutdown)
	}
	return err
}
