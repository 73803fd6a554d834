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

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
)

// BenchmarkAnswer is a model call over HTTP: of a handler that reads the request and answers nothing, of the stub with the requests of another
// replay of the same tape ("seen"), and with bodies that nobody has sent before ("fresh"). They are asked in turns, so that whatever else the machine
// does meets all of them.
func BenchmarkAnswer(b *testing.B) {
	heapgoal.Start() // as the command does
	body, err := json.Marshal(requests[0].second)
	if err != nil {
		b.Fatal(err)
	}
	empty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "{}")
	})
	asked := []struct {
		name string
		h    http.Handler
		took []time.Duration
		url  string
	}{{name: "empty", h: empty}, {name: "seen", h: NewHandler(Config{Stub: New(conversationTape(b), Options{}), MaxSessions: 1 << 30})}, {name: "fresh", h: NewHandler(Config{Stub: New(conversationTape(b), Options{}), MaxSessions: 1 << 30})}}
	for i := range asked {
		s := httptest.NewServer(asked[i].h)
		defer s.Close()
		asked[i].url = s.URL + "/v1/chat/completions"
	}
	const inTurn = 50 // calls of one after another
	b.ResetTimer()
	for i := range b.N {
		c := &asked[i/inTurn%len(asked)]
		sent := string(body)
		if c.name == "fresh" {
			sent = strings.Replace(sent, "{", fmt.Sprintf(`{"user":"%d %d",`, b.N, i), 1)
		}
		start := time.Now()
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, c.url, strings.NewReader(sent))
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
		c.took = append(c.took, time.Since(start))
	}
	for _, c := range asked {
		if slices.Sort(c.took); len(c.took) > 0 {
			b.ReportMetric(float64(c.took[len(c.took)/2].Microseconds()), c.name+"-p50-µs")
			b.ReportMetric(float64(c.took[len(c.took)*99/100].Microseconds()), c.name+"-p99-µs")
		}
	}
}
