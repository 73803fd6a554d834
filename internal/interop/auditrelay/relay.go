// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package auditrelay passes the audit stream of an agent on to a collector: lines that come on a pipe, a Unix
// socket or over local HTTP leave as log records of OTLP, byte for byte and in order. An agent of Forge
// writes such a stream and no OTLP.
package auditrelay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/semaphore"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// Bounds: bytes of a line, of all lines that wait, and of one request to the collector; lines of one request;
// connections at once.
const (
	MaxLine      = 1 << 20
	maxWaiting   = 64 << 20
	maxRequest   = 1 << 20
	maxLines     = 256
	maxConns     = 64
	perLine      = 96 // bytes that a line costs beside its own
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
	attempt      = 30 * time.Second
)

// Config configures a Relay.
type Config struct {
	// To is the address of a collector that receives OTLP over HTTP, such as http://127.0.0.1:6318.
	To string
	// ReplayRunID tags the whole stream as that of a replay; "" tags nothing.
	ReplayRunID string
	// Drain is how long what waits is still offered when the input has ended.
	Drain time.Duration
	// Problem is told why a request failed that will be tried again, once for each outage, and what was lost.
	// Required.
	Problem func(error)
}

// Counts are records.
type Counts struct {
	Forwarded int `json:"forwarded"` // the collector has acknowledged them
	Lost      int `json:"lost"`      // refused by it, not delivered in time, or longer than MaxLine, which may have been records
	Other     int `json:"other"`     // lines that are no records
}

// Relay passes lines on. It takes one Run.
type Relay struct {
	c       Config
	client  *http.Client
	waiting *semaphore.Weighted

	forwarded, lost, other atomic.Int64

	mu    sync.Mutex
	lines []line // that wait; bounded by waiting
	ended bool   // nothing more is taken in
	wake  chan struct{}
}

// line is one record of a stream.
type line struct {
	stream *int // whose; equal pointers are one stream
	at     time.Time
	text   []byte
}

// size is what the line takes of what may wait.
func (l line) size() int64 { return int64(len(l.text) + perLine) }

// New returns a relay.
func New(c Config) *Relay {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Relay{
		c: c, client: &http.Client{Transport: transport, Timeout: attempt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		waiting: semaphore.NewWeighted(maxWaiting), wake: make(chan struct{}, 1),
	}
}

// Run takes lines in with a source until it returns, and passes them on. It returns when all are delivered,
// or Drain is over.
func (r *Relay) Run(ctx context.Context, source func(context.Context) error) (Counts, error) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.send(sending)
	}()
	err := source(ctx)
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.awake()
	timer := time.AfterFunc(r.c.Drain, stop)
	<-done
	timer.Stop()
	r.client.CloseIdleConnections()
	return Counts{int(r.forwarded.Load()), int(r.lost.Load()), int(r.other.Load())}, err
}

// IsRecord reports whether a line is an audit record, and when it was written.
func IsRecord(text []byte) (at time.Time, ok bool) {
	if !bytes.HasPrefix(text, []byte("{")) {
		return at, false
	}
	var record struct {
		At       string  `json:"ts"`
		Event    string  `json:"event"`
		Version  string  `json:"schema_version"`
		PrevHash *string `json:"prev_hash"`
	}
	if json.Unmarshal(text, &record) != nil || record.Event == "" || record.Version == "" || record.PrevHash == nil {
		return at, false
	}
	at, _ = time.Parse(time.RFC3339, record.At)
	return at, true
}

// Pipe returns a source that reads one stream until it ends; after the context, no longer than Drain. Where
// too much waits, it reads no more, and the writer of the pipe waits. Lines that are no records go to other,
// with their ends: the stderr of an agent holds a banner too.
func (r *Relay) Pipe(in io.Reader, other io.Writer) func(context.Context) error {
	return func(ctx context.Context) error {
		ended := make(chan error, 1)
		go func() { ended <- r.read(context.WithoutCancel(ctx), in, other) }()
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
		}
		// An interrupt of the terminal reaches the agent too. It writes its last records then.
		timer := time.NewTimer(r.c.Drain)
		defer timer.Stop()
		select {
		case err := <-ended:
			return err
		case <-timer.C:
			return nil
		}
	}
}

// read takes in the lines of one stream.
func (r *Relay) read(ctx context.Context, in io.Reader, other io.Writer) error {
	stream := new(int)
	b := bufio.NewReaderSize(in, MaxLine)
	for {
		text, long, err := readLine(b)
		record := bytes.TrimRight(text, "\r\n")
		at, is := IsRecord(record)
		switch {
		case long:
			r.loss(1, fmt.Errorf("a line is longer than %d bytes", MaxLine))
		case is:
			l := line{stream, at, bytes.Clone(record)}
			if err := r.waiting.Acquire(ctx, l.size()); err != nil {
				r.loss(1, errors.New("the relay was ended while it had no room"))
				return nil
			}
			r.take(l)
		case len(record) > 0:
			r.other.Add(1)
			if other != nil {
				_, _ = other.Write(text) // nobody reads it
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line, of which nothing is left where it is longer than the buffer.
func readLine(b *bufio.Reader) (text []byte, long bool, err error) {
	for {
		text, err = b.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			if long {
				text = nil
			}
			return text, long, err
		}
		long = true
	}
}

// take lets a record wait for which there is room.
func (r *Relay) take(l line) {
	r.mu.Lock()
	ended := r.ended
	if !ended {
		r.lines = append(r.lines, l)
	}
	r.mu.Unlock()
	if ended {
		r.waiting.Release(l.size())
		r.loss(1, errors.New("a record came when the relay had ended"))
		return
	}
	r.awake()
}

func (r *Relay) awake() {
	select {
	case r.wake <- struct{}{}:
	default: // it is to look already
	}
}

func (r *Relay) loss(n int, err error) {
	r.lost.Add(int64(n))
	r.c.Problem(err)
}

// Socket returns a source that takes connections until the context ends. Each is a stream.
func (r *Relay) Socket(listener net.Listener) func(context.Context) error {
	return func(ctx context.Context) error {
		var all sync.WaitGroup
		defer all.Wait()
		listener = netutil.LimitListener(listener, maxConns)
		stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
		defer stop()
		for {
			conn, err := listener.Accept()
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			all.Go(func() {
				// What has come is still read.
				end := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now().Add(time.Second)) })
				defer end()
				defer func() { _ = conn.Close() }()
				_ = r.read(ctx, conn, nil) // the agent has gone; nothing depends on it
			})
		}
	}
}

// HTTP returns a source that takes POSTs until the context ends, each of one or more lines. All are one
// stream. Where too much waits, it answers with status 503.
func (r *Relay) HTTP(listener net.Listener) func(context.Context) error {
	return func(ctx context.Context) error {
		server := &http.Server{Handler: r.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
		done := make(chan error, 1)
		go func() { done <- server.Serve(netutil.LimitListener(listener, maxConns)) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close()
		}
		<-done
		return nil
	}
}

func (r *Relay) handler() http.Handler {
	stream := new(int)
	var order sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case oraclehttp.Foreign(w, req, true):
			return
		case req.Method != http.MethodPost:
			http.Error(w, "POST audit records, a line each", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxLine))
		if err != nil {
			r.loss(1, errors.New("a request cannot be read, or is too long"))
			http.Error(w, "the request cannot be read, or is too long", http.StatusBadRequest)
			return
		}
		var records []line
		size := int64(0)
		for text := range bytes.Lines(body) {
			record := bytes.TrimRight(text, "\r\n")
			at, ok := IsRecord(record)
			if !ok {
				r.other.Add(1)
				http.Error(w, "a line is no audit record", http.StatusBadRequest)
				return
			}
			l := line{stream, at, bytes.Clone(record)}
			records = append(records, l)
			size += l.size()
		}
		order.Lock()
		defer order.Unlock()
		if !r.waiting.TryAcquire(size) {
			r.loss(len(records), errors.New("records were refused: too many wait for the collector"))
			http.Error(w, "too many records wait for the collector", http.StatusServiceUnavailable)
			return
		}
		for _, record := range records {
			r.take(record)
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// send passes on what waits: one request after the other, each of one stream. A request is repeated until the
// collector has it.
func (r *Relay) send(ctx context.Context) {
	for {
		batch, ended := r.next()
		switch {
		case len(batch) > 0:
			refused, err := r.deliver(ctx, batch)
			if refused > 0 {
				r.loss(refused, err)
			}
			r.forwarded.Add(int64(len(batch) - refused))
			for _, l := range batch {
				r.waiting.Release(l.size())
			}
		case ended:
			return
		default:
			<-r.wake
		}
	}
}

// next takes out what one request holds of what waits.
func (r *Relay) next() (batch []line, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size, n := 0, 0
	for n < len(r.lines) && n < maxLines && r.lines[n].stream == r.lines[0].stream && (n == 0 || size+len(r.lines[n].text) <= maxRequest) {
		size += len(r.lines[n].text)
		n++
	}
	batch, r.lines = r.lines[:n:n], r.lines[n:]
	if len(r.lines) == 0 {
		r.lines = nil
	}
	return batch, r.ended
}

// request is what the collector gets. Equal lines make equal requests, so that what is delivered twice can be
// recognised.
func (r *Relay) request(batch []line) ([]byte, error) {
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	if r.c.ReplayRunID != "" {
		rl.Resource().Attributes().PutStr(segregation.Key, r.c.ReplayRunID)
	}
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for _, l := range batch {
		record := records.AppendEmpty()
		if l.at.Year() > 1970 && l.at.Year() < 2262 { // nanoseconds hold no other
			record.SetTimestamp(pcommon.NewTimestampFromTime(l.at))
		}
		if utf8.Valid(l.text) {
			record.Body().SetStr(string(l.text))
		} else {
			record.Body().SetEmptyBytes().FromRaw(l.text)
		}
	}
	return plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
}

// errRefused is a request that will not be taken however often it comes.
var errRefused = errors.New("the collector refuses audit records")

// deliver sends a request until the collector has answered it. It returns how many of its records are lost,
// and why.
func (r *Relay) deliver(ctx context.Context, batch []line) (refused int, err error) {
	body, err := r.request(batch)
	if err != nil {
		return len(batch), err
	}
	for wait, told := firstBackoff, false; ; wait = min(2*wait, lastBackoff) {
		refused, err := r.post(ctx, body)
		switch {
		case err == nil:
			return 0, nil
		case errors.Is(err, errRefused):
			if refused < 1 || refused > len(batch) {
				refused = len(batch)
			}
			return refused, err
		case ctx.Err() == nil && !told:
			told = true
			r.c.Problem(fmt.Errorf("audit records wait: %w", err))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return len(batch), errors.New("the collector did not take audit records in time")
		}
	}
}

// retryable are the statuses after which OTLP has a request sent again.
var retryable = []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// post sends a request once. refused is how many records of it the collector did not take, 0 for all.
func (r *Relay) post(ctx context.Context, body []byte) (refused int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.c.To+"/v1/logs", bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("%w: the request cannot be made", errRefused)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRequest))
	switch status := resp.StatusCode; {
	case err != nil:
		return 0, err
	case slices.Contains(retryable, status):
		return 0, fmt.Errorf("the collector answers with status %d", status)
	case status != http.StatusOK:
		return 0, fmt.Errorf("%w: status %d", errRefused, status)
	}
	answer := plogotlp.NewExportResponse()
	if len(text) > 0 && answer.UnmarshalProto(text) == nil && answer.PartialSuccess().RejectedLogRecords() > 0 {
		refused = int(answer.PartialSuccess().RejectedLogRecords())
		return refused, fmt.Errorf("%w: %d of a request", errRefused, refused)
	}
	return 0, nil
}
