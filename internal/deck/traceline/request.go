// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package traceline derives traces that come as lines of JSON, without a deck: evidence in; tapes, columns
// and findings out, or reels of many traces. Engines that work over a deck speak it (docs/scale-out.md).
package traceline

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// Request is a line about one trace. Its names are those of the columns of a reel, and what its rows say of
// it as one. What is unknown is left out.
type Request struct {
	Tenant  string   `json:"tenant"` // default
	TraceID string   `json:"trace_id"`
	Parts   [][]byte `json:"parts"`   // all of its evidence, as the column evidence has it, in base64
	Digests []string `json:"digests"` // those of the column part: evidence that has none of them is damaged

	Area          string   `json:"area"` // by the evidence
	ReplayRunID   string   `json:"replay_run_id"`
	ReplayOf      string   `json:"replay_of"`
	Formats       []string `json:"formats"`
	Incomplete    bool     `json:"incomplete"` // no row says that the runs of the trace have ended
	Keep          string   `json:"keep"`
	EvidenceAlone bool     `json:"evidence_alone"` // its rows have runs and no tapes, and are to stay so
	Date          string   `json:"date"`           // of the reel that the evidence lies in; today

	Tape  string   `json:"tape"`  // of one run, for what looks at tapes
	Files []string `json:"files"` // names of what lies beside it
}

// ParseRequest reads a line.
func ParseRequest(line []byte) (*Request, error) {
	r := &Request{}
	rest, parts := withoutParts(string(line))
	if err := json.Unmarshal(rest, r); err != nil {
		return nil, fmt.Errorf("no request: %w", err)
	}
	if parts != nil && len(parts) == len(r.Parts) {
		for i, text := range parts {
			var err error
			if r.Parts[i], err = base64.StdEncoding.DecodeString(text); err != nil {
				return nil, fmt.Errorf("no request: part %d: %w", i, err)
			}
		}
	} else if parts != nil {
		return nil, errors.New("no request: its parts are there twice")
	}
	r.Tenant = cmp.Or(r.Tenant, "default")
	return r, nil
}

// withoutParts takes the strings of parts out of a line and leaves empty ones: most of the bytes need not
// pass through a decoder. A line in which they are not plain strings is left to it as it is.
func withoutParts(line string) (rest []byte, parts []string) {
	s := jsonscan.New(line, 0)
	within, from := false, 0
	for {
		switch t := s.Next(); t.Kind {
		case jsonscan.End:
			return append(rest, line[from:]...), parts
		case jsonscan.Bad:
			return []byte(line), nil
		case jsonscan.Key:
			within = s.Depth() == 1 && line[t.Start:t.End] == `"parts"`
		case jsonscan.String:
			if !within || s.Depth() != 2 {
				continue
			}
			if t.Escaped {
				return []byte(line), nil
			}
			parts = append(parts, line[t.Start+1:t.End-1])
			rest, from = append(rest, line[from:t.Start+1]...), t.End-1
		}
	}
}

// trace is a request that was checked.
type trace struct {
	*Request
	location deck.Location
	digests  []string // of the parts, sorted
	bodies   map[string][]byte
}

// check refuses what no rows can be made of.
func (r *Request) check() (*trace, error) {
	t := &trace{Request: r, location: deck.Location{Area: deck.Area(r.Area), Tenant: r.Tenant, TraceID: r.TraceID}, bodies: map[string][]byte{}}
	if len(r.Parts) == 0 {
		return nil, errors.New("it has no parts")
	}
	if r.Keep == reel.KeepDropped {
		return nil, errors.New("its content was dropped, and it has some")
	}
	if err := (generation.Options{Formats: r.Formats}).Validate(); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil && r.Date != "" {
		return nil, errors.New("its date is not as 2026-11-20")
	}
	for i, body := range r.Parts {
		digest := deck.PartDigest(body)
		if len(r.Digests) > 0 && !slices.Contains(r.Digests, digest) {
			return nil, fmt.Errorf("%w: part %d does not have a digest that is named", deck.ErrCorrupt, i)
		}
		if t.bodies[digest] == nil {
			t.digests = append(t.digests, digest)
		}
		t.bodies[digest] = body
	}
	slices.Sort(t.digests)
	if r.Area == "" {
		if err := t.place(); err != nil {
			return nil, err
		}
	} else if t.location.Area == deck.AreaReplays {
		t.location.ReplayRunID = r.ReplayRunID
	}
	if t.location.Area == deck.AreaJoined {
		return nil, errors.New("joined runs have no evidence of their own")
	}
	return t, t.location.Validate()
}

// place decides by the evidence where the trace lies, as its first writer does.
func (t *trace) place() error {
	all := evidence.NewSet()
	for _, digest := range t.digests {
		set, err := evidence.FromPart(t.bodies[digest])
		if err != nil {
			return err
		}
		all.Merge(set)
	}
	t.location.Area = deck.AreaRuns
	if v := all.Verdict(segregation.Default); v.Replay {
		t.location.Area, t.location.ReplayRunID, t.ReplayOf = deck.AreaReplays, v.ID, v.Of
	} else if t.Incomplete {
		t.location.Area = deck.AreaUndecided
	}
	return nil
}
