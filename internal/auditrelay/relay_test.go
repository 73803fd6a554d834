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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is what a real Forge agent wrote.
func stream(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../../testdata/corpus/forge/stock-helper.audit.ndjson")
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
	post := func(url, origin, body string) int {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-ndjson")
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := client.Do(req)
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
				if status := post(url, "", text); status != http.StatusNoContent {
					t.Errorf("status %d", status)
				}
			}
			for body, status := range map[string]int{"no record": 400, strings.Repeat("x", MaxLine+1): 400} {
				if is := post(url, "", body); is != status {
					t.Errorf("%.20s: %d", body, is)
				}
			}
			if is := post(url, "http://evil.example", "{}\n"); is != 403 { // a short one: the answer comes before a long one is read
				t.Error(is)
			}
		})
	})
	if err != nil || counts.Forwarded != strings.Count(want, "\n") || counts.Lost != 1 || counts.Other != 1 || c.lines() != want {
		t.Errorf("%v, %+v", err, counts)
	}
}

func TestWhatIsLostIsCounted(t *testing.T) {
	want := stream(t)
	n := strings.Count(want, "\n")
	dead := httptest.NewServer(nil)
	dead.Close()
	refusing := newCollector(t, slices.Repeat([]int{400}, n)...)
	for to, why := range map[string]string{dead.URL: "did not take audit records in time", refusing.URL: "refuses audit records: status 400"} {
		r, said := relay(to, time.Nanosecond)
		if to == refusing.URL {
			r, said = relay(to, time.Minute)
		}
		counts, err := r.Run(t.Context(), r.Pipe(strings.NewReader(want), io.Discard))
		if err != nil || counts.Lost != n || counts.Forwarded != 0 || !strings.Contains(strings.Join(said(), "\n"), why) {
			t.Errorf("%s: %v, %+v, %q", why, err, counts, said())
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
