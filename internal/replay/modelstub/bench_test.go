// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAnswer is a model call over HTTP: of a handler that reads the request and answers nothing, and of the stub.
func BenchmarkAnswer(b *testing.B) {
	body, err := json.Marshal(requests[0].second)
	if err != nil {
		b.Fatal(err)
	}
	empty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	})
	// "seen" sends the requests of another replay of the same tape, "fresh" bodies that nobody has sent before.
	for _, c := range []struct {
		name  string
		h     http.Handler
		fresh bool
	}{{"empty", empty, false}, {"seen", NewHandler(Config{Stub: New(conversationTape(b), Options{}), MaxSessions: 1 << 30}), false}, {"fresh", NewHandler(Config{Stub: New(conversationTape(b), Options{}), MaxSessions: 1 << 30}), true}} {
		b.Run(c.name, func(b *testing.B) {
			s := httptest.NewServer(c.h)
			defer s.Close()
			took := make([]time.Duration, 0, b.N)
			for i := range b.N {
				sent := string(body)
				if c.fresh {
					sent = strings.Replace(sent, "{", fmt.Sprintf(`{"user":"%d %d",`, b.N, i), 1)
				}
				start := time.Now()
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(sent))
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set(SessionHeader, fmt.Sprint(b.N, " ", i))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Fatal(err, resp.Status)
				}
				_ = resp.Body.Close()
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
