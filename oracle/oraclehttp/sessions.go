// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oraclehttp

import (
	"cmp"
	"context"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/oracle"
)

// sessions are the replays that are under way. A session that was closed is remembered: were it made anew, its next call would get the
// first answer again.
type sessions struct {
	config Config

	mu     sync.Mutex
	open   map[sessionKey]*session
	asked  map[sessionKey]*session // the run as a client gave it: finding it again costs no library
	runs   map[string]int          // replay_run_id → open sessions
	swept  time.Time
	closed closedSet
}

// sessionKey is a replay of a run. One replay may be of several runs, each with its own state.
type sessionKey struct {
	id, run string
}

type session struct {
	*oracle.Session
	key     sessionKey
	created time.Time
	last    time.Time // of the latest request; under sessions.mu
	names   []string  // of the run, as clients gave it; under sessions.mu
}

func newSessions(c Config) *sessions {
	return &sessions{config: c, open: map[sessionKey]*session{}, asked: map[sessionKey]*session{}, runs: map[string]int{}, closed: newClosedSet(maxRemembered), swept: c.Clock.Now()}
}

// of returns the session of a replay, and makes it with the first call.
func (s *sessions) of(ctx context.Context, id, run string) (*session, *problem) {
	if found := s.again(sessionKey{id, run}); found != nil {
		return found, nil
	}
	runID, o, err := s.config.Library.Open(ctx, run)
	if err != nil {
		return nil, libraryProblem(err)
	}
	key := sessionKey{id, runID}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Clock.Now()
	if p := s.sweep(key, now); p != nil {
		return nil, p
	}
	if found := s.open[key]; found != nil {
		found.last = now
		s.name(found, run)
		return found, nil
	}
	if len(s.open) >= s.config.MaxSessions {
		return nil, &problem{http.StatusServiceUnavailable, "too_many_sessions", "the maximum of open sessions is reached; end some with DELETE /v1/sessions/{id}"}
	}
	made := &session{Session: o.NewSession(s.config.MaxCalls), key: key, created: now, last: now}
	s.open[key] = made
	s.runs[id]++
	s.name(made, run)
	return made, nil
}

// again returns the open session that was asked for with these words before.
func (s *sessions) again(asked sessionKey) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, now := s.asked[asked], s.config.Clock.Now()
	if found == nil || s.sweep(found.key, now) != nil {
		return nil
	}
	found.last = now
	return found
}

// name remembers how a client called the run of a session. s.mu is held.
func (s *sessions) name(open *session, run string) {
	const most = 32 // beginnings of a trace id
	if asked := (sessionKey{open.key.id, run}); s.asked[asked] == nil && len(open.names) < most {
		s.asked[asked] = open
		open.names = append(open.names, run)
	}
}

// find returns an open session by its id, and by its run where the replay has several.
func (s *sessions) find(id, run string) (*session, *problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*session
	now := s.config.Clock.Now()
	for key, open := range s.open {
		if key.id == id && (run == "" || key.run == run) {
			if p := s.sweep(key, now); p != nil {
				return nil, p
			}
			found = append(found, open)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, &problem{http.StatusConflict, "several_runs", "the replay has sessions of several runs; name one with ?run="}
	case run != "" && s.closed.has(sessionKey{id, run}), run == "" && s.closed.has(sessionKey{id, ""}):
		return nil, gone
	default:
		return nil, &problem{http.StatusNotFound, "no_session", "no call has come for this replay_run_id"}
	}
}

var gone = &problem{http.StatusGone, "session_closed", "the session was ended or was without requests for too long; use a new replay_run_id"}

// sweep closes sessions that have been without requests for too long, that of the key at once and all others now and then.
func (s *sessions) sweep(key sessionKey, now time.Time) *problem {
	late := func(open *session) bool { return now.Sub(open.last) > s.config.SessionAge }
	if open := s.open[key]; open != nil && late(open) {
		s.shut(open)
	}
	const sweeps = 8 // in the time that a session may be idle
	if now.Sub(s.swept) > s.config.SessionAge/sweeps || len(s.open) >= s.config.MaxSessions {
		s.swept = now
		for _, open := range s.open {
			if late(open) {
				s.shut(open)
			}
		}
	}
	if s.closed.has(key) {
		return gone
	}
	return nil
}

// shut closes a session. s.mu is held.
func (s *sessions) shut(open *session) {
	delete(s.open, open.key)
	for _, name := range open.names {
		delete(s.asked, sessionKey{open.key.id, name})
	}
	s.closed.add(open.key)
	if s.runs[open.key.id]--; s.runs[open.key.id] == 0 {
		delete(s.runs, open.key.id)
		s.closed.add(sessionKey{id: open.key.id}) // answers a request that names no run
	}
}

func (s *sessions) end(open *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[open.key] == open {
		s.shut(open)
	}
}

func (s *sessions) reports() []Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Report
	for _, open := range s.open {
		all = append(all, open.report())
	}
	slices.SortFunc(all, func(a, b Report) int {
		return cmp.Or(cmp.Compare(a.ReplayRunID, b.ReplayRunID), cmp.Compare(a.RunID, b.RunID))
	})
	return all
}

// Report is the report of a session.
type Report struct {
	ReplayRunID string    `json:"replay_run_id"`
	RunID       string    `json:"run_id"`
	StartedAt   time.Time `json:"started_at"`
	oracle.Report
}

func (s *session) report() Report {
	return Report{ReplayRunID: s.key.id, RunID: s.key.run, StartedAt: s.created.UTC(), Report: s.Report()}
}

// maxRemembered is how many closed sessions are remembered, 16 bytes each and the map. The oldest are then forgotten.
const maxRemembered = 1 << 18

// closedSet remembers the latest keys that were added, as 64-bit hashes. The chance that two of a quarter of a million collide is one in
// five hundred million. A collision would close a session too many.
type closedSet struct {
	seed   maphash.Seed
	has64  map[uint64]struct{}
	order  []uint64
	oldest int
	max    int
}

func newClosedSet(n int) closedSet {
	return closedSet{seed: maphash.MakeSeed(), has64: map[uint64]struct{}{}, max: n}
}

func (c *closedSet) has(k sessionKey) bool {
	if len(c.has64) == 0 {
		return false
	}
	_, found := c.has64[maphash.Comparable(c.seed, k)]
	return found
}

func (c *closedSet) add(k sessionKey) {
	h := maphash.Comparable(c.seed, k)
	if _, known := c.has64[h]; known {
		return
	}
	c.has64[h] = struct{}{}
	if len(c.order) < c.max {
		c.order = append(c.order, h)
		return
	}
	delete(c.has64, c.order[c.oldest])
	c.order[c.oldest] = h
	c.oldest = (c.oldest + 1) % c.max
}
