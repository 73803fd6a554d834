// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditrelay

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is what a real Forge agent wrote.
func stream(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/corpus/forge/stock-helper.audit.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// collector receives OTLP over HTTP. It answers the first requests with failures.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	failures []int
	got      []string
	tags     map[string]bool
	times    int // of records
	wanted   int
	reached  chan struct{} // closed when so many records are there
}

// has returns a channel that is closed when n records are there.
func (c *collector) has(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted, c.reached = n, make(chan struct{})
	c.look()
	return c.reached
}

func (c *collector) look() {
	if c.reached != nil && len(c.got) >= c.wanted {
		close(c.reached)
		c.wanted = 1 << 30
	}
}

func newCollector(t *testing.T, failures ...int) *collector {
	t.Helper()
	c := &collector{failures: failures, tags: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.failures) > 0 {
			w.WriteHeader(c.failures[0])
			c.failures = c.failures[1:]
			return
		}
		body, err := io.ReadAll(r.Body)
		request := plogotlp.NewExportRequest()
		if err != nil || r.URL.Path != "/v1/logs" || request.UnmarshalProto(body) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		for _, rl := range request.Logs().ResourceLogs().All() {
			tag := ""
			if v, ok := rl.Resource().Attributes().Get("replay_run_id"); ok {
				tag = v.Str()
			}
			c.tags[tag] = true
			for _, sl := range rl.ScopeLogs().All() {
				for _, record := range sl.LogRecords().All() {
					c.got = append(c.got, record.Body().AsString())
					if record.Timestamp() > 0 {
						c.times++
					}
				}
			}
		}
		c.look()
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) lines() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.got, "\n") + "\n"
}

// relay of a test collects what it says of problems.
func relay(to string, drain time.Duration) (*Relay, func() []string) {
	var mu sync.Mutex
	var said []string
	r := New(Config{To: to, ReplayRunID: "r17", Drain: drain, Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, err.Error())
	}})
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}
}

func TestAPipeArrivesByteForByteAndInOrder(t *testing.T) {
	want := stream(t)
	c := newCollector(t, 503, 429)
	r, said := relay(c.URL, time.Minute)
	const banner = "Forge v0.19.0\n{not json}\n\n{\"event\":\"x\"}\n"
	var other strings.Builder
	counts, err := r.Run(t.Context(), r.Pipe(strings.NewReader(banner+strings.TrimSuffix(want, "\n")), &other))
	n := strings.Count(want, "\n")
	if err != nil || counts != (Counts{n, 0, 3}) || c.lines() != want || c.times != n || len(c.tags) != 1 || !c.tags["r17"] {
		t.Errorf("%v, %+v, %v", err, counts, c.tags)
	}
	if other.String() != strings.Replace(banner, "\n\n", "\n", 1) || len(said()) != 1 || !strings.Contains(said()[0], "status 503") {
		t.Errorf("%q, %q", other.String(), said())
	}
}

func TestAConnectionIsAStream(t *testing.T) {
	want := stream(t)
	c := newCollector(t)
	r, _ := relay(c.URL, time.Minute)
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	counts, err := r.Run(ctx, func(ctx context.Context) error {
		return c.until(strings.Count(want, "\n"), cancel, func() error { return r.Socket(listener)(ctx) }, func() {
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Error(err)
				return
			}
			for text := range strings.Lines(want) { // as Forge does: one write for each event
				if _, err := io.WriteString(conn, text); err != nil {
					t.Error(err)
				}
			}
			_ = conn.Close()
		})
	})
	if err != nil || counts.Forwarded != strings.Count(want, "\n") || counts.Lost != 0 || c.lines() != want {
		t.Errorf("%v, %+v", err, counts)
	}
}

// until runs a source until a producer is done and the collector has so many records.
func (c *collector) until(n int, end func(), source func() error, produce func()) error {
	var producing sync.WaitGroup
	producing.Go(func() {
		produce()
		<-c.has(n)
		end()
	})
	defer producing.Wait()
	return source()
}

func TestAPostIsPartOfAStream(t *testing.T) {
	want := stream(t)
	c := newCollector(t)
	r, _ := relay(c.URL, time.Minute)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String() + "/audit"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(body string) int {
		resp, err := client.Post(url, "application/x-ndjson", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	ctx, cancel := context.WithCancel(t.Context())
	counts, err := r.Run(ctx, func(ctx context.Context) error {
		return c.until(strings.Count(want, "\n"), cancel, func() error { return r.HTTP(listener)(ctx) }, func() {
			for text := range strings.Lines(want) {
				if status := post(text); status != http.StatusNoContent {
					t.Errorf("status %d", status)
				}
			}
			for body, status := range map[string]int{"no record": 400, strings.Repeat("x", MaxLine+1): 400} {
				if is := post(body); is != status {
					t.Errorf("%.20s: %d", body, is)
				}
			}
		})
	})
	if err != nil || counts.Forwarded != strings.Count(want, "\n") || counts.Lost != 1 || counts.Other != 1 || c.lines() != want {
		t.Errorf("%v, %+v", err, counts)
	}
}

func TestNoPostOfAWebPageOrToAnotherHostIsTaken(t *testing.T) {
	r := New(Config{Problem: func(error) {}})
	record := stream(t)
	record = record[:strings.IndexByte(record, '\n')+1]
	for _, c := range []struct {
		method, host, header, value string
		want                        int
	}{
		{"POST", "127.0.0.1:6320", "", "", 204},
		{"POST", "localhost:6320", "", "", 204},
		{"POST", "[::1]:6320", "", "", 204},
		{"POST", "evil.example:6320", "", "", 403}, // a name that leads to loopback
		{"POST", "127.0.0.1:6320", "Origin", "http://evil.example", 403},
		{"POST", "127.0.0.1:6320", "Sec-Fetch-Site", "cross-site", 403},
		{"GET", "127.0.0.1:6320", "", "", 405},
	} {
		req := httptest.NewRequest(c.method, "/audit", strings.NewReader(record))
		if req.Host = c.host; c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		r.handler().ServeHTTP(w, req)
		batch, _ := r.next()
		if w.Code != c.want || (len(batch) == 1) != (c.want == 204) {
			t.Errorf("%+v: %d, %d records", c, w.Code, len(batch))
		}
	}
}

// counting notes how many connections are open at once.
type counting struct {
	net.Listener
	open, most atomic.Int64
}

type counted struct {
	net.Conn
	of   *counting
	once sync.Once
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	now := l.open.Add(1)
	for most := l.most.Load(); now > most && !l.most.CompareAndSwap(most, now); most = l.most.Load() {
	}
	return &counted{Conn: conn, of: l}, nil
}

func (c *counted) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}

// Those that find no place wait, and lose nothing.
func TestConnectionsAreBounded(t *testing.T) {
	const n = maxConns + 8
	record := stream(t)
	record = record[:strings.IndexByte(record, '\n')+1]
	for name, source := range map[string]func(*Relay, net.Listener) func(context.Context) error{
		"socket": (*Relay).Socket, "http": (*Relay).HTTP,
	} {
		c := newCollector(t)
		r, _ := relay(c.URL, time.Minute)
		inner, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		text := record
		if name == "http" {
			text = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(record)) + "\r\n\r\n" + record
		}
		listener := &counting{Listener: inner}
		ctx, cancel := context.WithCancel(t.Context())
		counts, err := r.Run(ctx, func(ctx context.Context) error {
			return c.until(n, cancel, func() error { return source(r, listener)(ctx) }, func() {
				var conns []net.Conn
				for range n {
					conn, err := net.Dial("tcp", inner.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					conns = append(conns, conn)
				}
				for listener.open.Load() < maxConns {
					runtime.Gosched()
				}
				for _, conn := range conns {
					if _, err := io.WriteString(conn, text); err != nil {
						t.Error(err)
					}
					_ = conn.(*net.TCPConn).CloseWrite()
				}
				for _, conn := range conns {
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
				}
			})
		})
		if err != nil || counts != (Counts{n, 0, 0}) || listener.most.Load() != maxConns {
			t.Errorf("%s: %v, %+v, %d connections at once", name, err, counts, listener.most.Load())
		}
	}
}

// full waits until a relay has no room for another record like this one. It reports whether that came before
// an end.
func (r *Relay) full(record string, ended *atomic.Bool) bool {
	for !ended.Load() {
		size := line{text: []byte(record)}.size()
		if !r.waiting.TryAcquire(size) {
			return true
		}
		r.waiting.Release(size)
		runtime.Gosched()
	}
	return false
}

// ending notes that all has been read.
type ending struct {
	io.Reader
	ended atomic.Bool
}

func (e *ending) Read(b []byte) (int, error) {
	n, err := e.Reader.Read(b)
	if err != nil {
		e.ended.Store(true)
	}
	return n, err
}

func TestWhatWaitsIsBounded(t *testing.T) {
	record := `{"event":"e","schema_version":"1.0","prev_hash":"","x":"` + strings.Repeat("x", MaxLine-1024) + `"}` + "\n"
	const room, n = 4 * MaxLine, 12
	crowded := func(to string) *Relay { // one with room for so many bytes
		r, _ := relay(to, time.Minute)
		if !r.waiting.TryAcquire(maxWaiting - room) {
			t.Fatal("the bound is less")
		}
		return r
	}
	var r *Relay
	var stdin *ending
	full := make(chan bool, 1)
	var once sync.Once
	c := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		once.Do(func() { full <- r.full(record, &stdin.ended) })
		_, _ = io.Copy(io.Discard, req.Body)
	}))
	t.Cleanup(c.Close)
	r = crowded(c.URL)
	stdin = &ending{Reader: strings.NewReader(strings.Repeat(record, n))}
	counts, err := r.Run(t.Context(), r.Pipe(stdin, io.Discard))
	if err != nil || counts != (Counts{n, 0, 0}) || !<-full {
		t.Errorf("a pipe: %v, %+v", err, counts)
	}
	// A POST that finds no room is answered so.
	r = crowded("")
	statuses := map[int]int{}
	for range n {
		w := httptest.NewRecorder()
		r.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(record)))
		statuses[w.Code]++
	}
	waiting := 0
	for _, l := range r.lines {
		waiting += len(l.text)
	}
	if lost := int(r.lost.Load()); lost != statuses[503] || lost == 0 || statuses[204] != len(r.lines) || len(statuses) != 2 || waiting > room || waiting < room-MaxLine {
		t.Errorf("POSTs: %v, %d lost, %d bytes wait", statuses, lost, waiting)
	}
}

func TestWhatIsLostIsCounted(t *testing.T) {
	want := stream(t)
	n := strings.Count(want, "\n")
	dead := httptest.NewServer(nil)
	dead.Close()
	for _, of := range []struct {
		to    string
		drain time.Duration
		why   string
	}{
		{dead.URL, time.Nanosecond, "did not take audit records in time"},
		{newCollector(t, slices.Repeat([]int{400}, n)...).URL, time.Minute, "refuses audit records: status 400"},
		{newCollector(t, slices.Repeat([]int{500}, n)...).URL, time.Minute, "refuses audit records: status 500"}, // OTLP has it not sent again
	} {
		r, said := relay(of.to, of.drain)
		counts, err := r.Run(t.Context(), r.Pipe(strings.NewReader(want), io.Discard))
		if err != nil || counts.Lost != n || counts.Forwarded != 0 || !strings.Contains(strings.Join(said(), "\n"), of.why) {
			t.Errorf("%s: %v, %+v, %q", of.why, err, counts, said())
		}
	}
	c := newCollector(t)
	r, said := relay(c.URL, time.Minute)
	record := `{"event":"e","schema_version":"1.0","prev_hash":"","x":"`
	counts, err := r.Run(t.Context(), r.Pipe(strings.NewReader(record+strings.Repeat("x", 2*MaxLine)+"\"}\n"+record+"\xff\"}\n"+record), io.Discard))
	if err != nil || counts != (Counts{1, 1, 1}) || len(said()) != 1 {
		t.Errorf("%v, %+v, %q", err, counts, said())
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("banner\n{\"event\":\"e\",\"schema_version\":\"1.0\",\"prev_hash\":\"\"}\r\n{}"))
	f.Add([]byte(stream(f)[:2000]))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want []string
		for text := range bytes.Lines(data) {
			if record := bytes.TrimRight(text, "\r\n"); len(text) <= MaxLine {
				if _, ok := IsRecord(record); ok {
					want = append(want, string(record))
				}
			}
		}
		r := New(Config{Problem: func(error) {}})
		if err := r.read(t.Context(), bytes.NewReader(data), io.Discard); err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			batch, _ := r.next()
			if len(batch) == 0 {
				break
			}
			if _, err := r.request(batch); err != nil {
				t.Fatal(err)
			}
			for _, l := range batch {
				got = append(got, string(l.text))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
