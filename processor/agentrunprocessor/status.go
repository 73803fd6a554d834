// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/assembly"
)

// How many runs the status lists.
const (
	defaultListed = 100
	maxListed     = 10_000
)

// statusServer answers GET /runs with the open runs, the oldest first, and with those that could not be passed on.
type statusServer struct {
	endpoint  string
	assembler *assembly.Assembler
	logger    *zap.Logger
	server    *http.Server
	addr      net.Addr // once it listens
	done      chan struct{}
}

// openRuns is the answer of GET /runs. Durations are in seconds.
type openRuns struct {
	Open int64     `json:"open"`
	Held int64     `json:"held_items"`
	Runs []openRun `json:"runs"`
	// FailingCount and ParkedCount are of all, Failing lists some: the parked ones first, then those that fail for the longest time.
	FailingCount int64        `json:"failing_runs"`
	ParkedCount  int64        `json:"parked_runs"`
	Failing      []failingRun `json:"failing"`
}

// failingRun is a run that the next component did not take, or that is parked.
type failingRun struct {
	Key      string  `json:"run_key"`
	Items    int     `json:"items"`
	Bytes    int64   `json:"bytes"`
	Attempts int     `json:"failed_attempts"`
	Failing  float64 `json:"failing_seconds"`
	Next     float64 `json:"next_attempt_in_seconds"`
	Parked   bool    `json:"parked"`
	// Deaths counts the processes that crashed while the run was in flight.
	Deaths int    `json:"deaths,omitempty"`
	Error  string `json:"last_error,omitempty"`
}

type openRun struct {
	Key      string  `json:"run_key"`
	Items    int     `json:"items"`
	Bytes    int64   `json:"bytes"`
	InMemory int64   `json:"memory_bytes"`
	Age      float64 `json:"age_seconds"`
	Quiet    float64 `json:"quiet_seconds"`
	// Leaves is when the run leaves if nothing more comes, and Reason why.
	Leaves  float64 `json:"leaves_in_seconds"`
	Reason  string  `json:"reason"`
	Root    bool    `json:"root_came"`
	RunSpan bool    `json:"run_span_came"`
	Late    bool    `json:"emitted_before"`
}

func newStatusServer(endpoint string, a *assembly.Assembler, logger *zap.Logger) *statusServer {
	s := &statusServer{endpoint: endpoint, assembler: a, logger: logger, done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs", s.runs)
	s.server = &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 14,
	}
	return s
}

func (s *statusServer) start() error {
	l, err := net.Listen("tcp", s.endpoint)
	if err != nil {
		return fmt.Errorf("status_endpoint: %w", err)
	}
	s.addr = l.Addr()
	s.logger.Info("open runs are listed", zap.String("url", "http://"+l.Addr().String()+"/runs"))
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("the list of open runs is not served any more", zap.Error(err))
		}
	}()
	return nil
}

// shutdown does not wait for clients that read the list, because the time is needed to emit evidence.
func (s *statusServer) shutdown() error {
	err := s.server.Close()
	if s.addr != nil {
		<-s.done
	}
	return err
}

func (s *statusServer) runs(w http.ResponseWriter, r *http.Request) {
	limit := defaultListed
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxListed {
			http.Error(w, fmt.Sprintf("limit must be a number from 1 to %d", maxListed), http.StatusBadRequest)
			return
		}
		limit = n
	}
	answer := openRuns{Runs: []openRun{}, Failing: []failingRun{}}
	for _, t := range s.assembler.OpenTraces(limit) {
		answer.Runs = append(answer.Runs, openRun{
			Key: t.Key.String(), Items: t.Items, Bytes: t.Bytes, InMemory: t.InMemory,
			Age: t.Age.Seconds(), Quiet: t.Quiet.Seconds(), Leaves: t.Due.Seconds(), Reason: t.Reason.String(),
			Root: t.RootCame, RunSpan: t.RunCame, Late: t.Late,
		})
	}
	for _, r := range s.assembler.FailingRuns(limit) {
		answer.Failing = append(answer.Failing, failingRun{
			Key: r.Key.String(), Items: r.Items, Bytes: r.Bytes, Attempts: r.Attempts,
			Failing: r.Failing.Seconds(), Next: r.Next.Seconds(), Parked: r.Parked, Deaths: r.Crashes, Error: r.Why,
		})
	}
	// Asked after the shards: they have taken up what was acknowledged before.
	stats := s.assembler.Stats()
	answer.Open, answer.Held = stats.OpenTraces, stats.Held
	answer.FailingCount, answer.ParkedCount = stats.Failing, stats.Parked
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the client is gone
}
