// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package experiment replays many recorded runs through a changed agent and judges what became of them: which runs the change mends and
// which it breaks. A plan says beforehand what is replayed and how it is judged; a journal keeps what was done, so that a
// program that ended goes on; a report is made of both and of nothing else, so it has the same bytes whenever it is made.
package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
)

// Kind and Version name the documents of this package.
const (
	Kind    = "tapedeck-experiment"
	Version = "2"
)

// Plan is all that decides what a report says. It does not change after the first run.
type Plan struct {
	Kind      string               `json:"kind"`
	Version   string               `json:"version"`
	Shape     statistics.Shape     `json:"shape"`
	Cohorts   []Selection          `json:"cohorts"`
	Change    Change               `json:"change"`
	Runner    string               `json:"runner"` // its reference; of a command, its words
	Identity  Identity             `json:"runner_identity"`
	Settings  map[string]string    `json:"settings,omitempty"` // what else of the replays was asked for: flags and their values, files as digests
	Timed     bool                 `json:"timed,omitempty"`    // outcomes keep how long a replay took
	Policy    contract.Policy      `json:"tool_policy"`
	Override  string               `json:"override,omitempty"` // digest of the oracle file that is laid over the recorded answers
	Scorers   []string             `json:"scorers"`            // the first decides
	Decision  statistics.Policy    `json:"decision"`
	Bootstrap statistics.Bootstrap `json:"bootstrap"`
	Cases     []Case               `json:"cases"` // by cohort, then by run
}

// Selection is how the runs of a cohort were chosen.
type Selection struct {
	Cohort  string `json:"cohort"`
	Rule    string `json:"rule"`
	Matched int    `json:"matched"` // runs that the rule takes
	Limit   int    `json:"limit,omitempty"`
}

// Change is what the candidate does differently.
type Change struct {
	SystemPrompt *string        `json:"system_prompt,omitempty"`
	Model        *string        `json:"model,omitempty"`
	Overrides    map[string]any `json:"overrides,omitempty"`
}

// Identity is which program the candidate is.
type Identity struct {
	SHA256 string            `json:"executable_sha256,omitempty"` // of the program
	Files  map[string]string `json:"files,omitempty"`             // arguments that are files → digest
}

// Identify reads the digests of a program and of those of its arguments that are files.
func Identify(argv []string) Identity {
	id := Identity{SHA256: execlane.DigestOf(argv[0])}
	for _, name := range argv[1:] {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if sum, err := execlane.DigestOfFile(name); err == nil {
			if id.Files == nil {
				id.Files = map[string]string{}
			}
			id.Files[name] = sum
		}
	}
	return id
}

// Case is a run of the plan.
type Case struct {
	Cohort string `json:"cohort"`
	RunID  string `json:"run_id"`
	Tenant string `json:"tenant"`
	TapeID string `json:"tape_id"`
	Ref    string `json:"ref"`
}

func (c *Case) key() string { return c.Tenant + "/" + c.RunID }

// Errors of plans.
var (
	ErrNoCases = errors.New("no run is in the experiment")
	ErrTwice   = errors.New("a run is in two cohorts")
)

// Seal orders the cases and checks the plan.
func (p *Plan) Seal() error {
	p.Kind, p.Version = Kind, Version
	if len(p.Cases) == 0 {
		return ErrNoCases
	}
	slices.SortFunc(p.Cases, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.Cohort, b.Cohort), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Tenant, b.Tenant))
	})
	cohorts := map[string]string{}
	for i := range p.Cases {
		c := &p.Cases[i]
		if first, known := cohorts[c.key()]; known {
			return fmt.Errorf("%w: %s in %s and %s", ErrTwice, c.RunID, first, c.Cohort)
		}
		cohorts[c.key()] = c.Cohort
	}
	return nil
}

// Digest names the plan.
func (p *Plan) Digest() string {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // it holds texts and numbers alone, and was decoded from JSON where it was not made here
	}
	return digest(body)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Sample orders runs as if by chance, and the same way each time: the order of digests of their names. A limit takes the first of them.
func Sample(cases []Case, limit int) []Case {
	slices.SortFunc(cases, func(a, b Case) int { return cmp.Compare(digest([]byte(a.key())), digest([]byte(b.key()))) })
	if limit > 0 && len(cases) > limit {
		cases = cases[:limit]
	}
	return cases
}

// Shard is a part of the cases: those whose names fall into the i-th of n.
type Shard struct{ I, N int }

// ParseShard reads "i/n", i from 1.
func ParseShard(text string) (Shard, error) {
	var s Shard
	if text == "" {
		return Shard{1, 1}, nil
	}
	if _, err := fmt.Sscanf(text, "%d/%d", &s.I, &s.N); err != nil || fmt.Sprintf("%d/%d", s.I, s.N) != text || s.I < 1 || s.I > s.N {
		return s, fmt.Errorf("%q is no shard; want i/n with i from 1 to n", text)
	}
	return s, nil
}

// Holds tells whether a case belongs to the shard.
func (s Shard) Holds(c *Case) bool {
	sum := sha256.Sum256([]byte("shard\x00" + c.key()))
	n := uint64(0)
	for _, b := range sum[:8] {
		n = n<<8 | uint64(b)
	}
	return int(n%uint64(s.N)) == s.I-1
}
