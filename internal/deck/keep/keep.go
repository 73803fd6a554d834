// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package keep decides which runs keep their content in a deck. The decision is a function of the tapes of a
// trace and of the id that joins the traces of a run. So it is the same in every collector, and again after a
// crash.
package keep

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/tape"
)

// Config names the runs that keep their content. A run is kept where any of the settings takes it.
type Config struct {
	// Errors takes runs whose status is error.
	Errors bool `mapstructure:"errors"`
	// Grades and Findings take runs whose tape has one of these grades, or a finding of one of these codes.
	Grades   []string `mapstructure:"grades"`
	Findings []string `mapstructure:"findings"`
	// Verdicts takes runs with such a verdict, as of `ls --verdict`: "correctness<0.5", "helpful=no", or a
	// name for any result.
	Verdicts []string `mapstructure:"verdicts"`
	// Agents takes runs of agents with one of these names. A name may hold *, ? and [...], as of a file.
	Agents []string `mapstructure:"agents"`
	// SlowerThan takes runs that lasted longer; 0 takes none.
	SlowerThan time.Duration `mapstructure:"slower_than"`
	// Percent of the other runs are taken.
	Percent float64 `mapstructure:"percent"`
}

// Reason says which setting took a run. It stands in the column keep of reels.
type Reason string

// The reasons, in the order in which they are asked.
const (
	Replay  Reason = "replay"  // somebody replayed a run on purpose
	Late    Reason = "late"    // the deck holds content of the trace
	Unread  Reason = "unread"  // no tape could be made, so nothing is known
	Errors  Reason = "error"   // Config.Errors
	Grade   Reason = "grade"   // Config.Grades
	Finding Reason = "finding" // Config.Findings
	Verdict Reason = "verdict" // Config.Verdicts
	Agent   Reason = "agent"   // Config.Agents
	Slow    Reason = "slow"    // Config.SlowerThan
	Percent Reason = "percent" // Config.Percent
	Run     Reason = "run"     // another trace of the same run was kept
	Dropped Reason = "dropped" // nothing takes the run
)

// Validate reports settings that cannot work.
func (c *Config) Validate() error {
	var errs []error
	for _, g := range c.Grades {
		if !slices.Contains(tape.Grades, tape.Grade(g)) {
			errs = append(errs, fmt.Errorf("grades: unknown grade %q, known: %s", g, known(tape.Grades)))
		}
	}
	for _, f := range c.Findings {
		if !slices.ContainsFunc(tape.FindingKinds, func(k tape.FindingKind) bool { return string(k.Code) == f }) {
			errs = append(errs, fmt.Errorf("findings: unknown code %q; docs/findings.md lists them", f))
		}
	}
	for _, v := range c.Verdicts {
		if _, err := filter.Verdict(v); err != nil {
			errs = append(errs, fmt.Errorf("verdicts: %w", err))
		}
	}
	for _, a := range c.Agents {
		if _, err := path.Match(a, ""); err != nil || a == "" {
			errs = append(errs, fmt.Errorf("agents: %q is no name and no pattern", a))
		}
	}
	if c.SlowerThan < 0 {
		errs = append(errs, errors.New("slower_than must not be less than nothing"))
	}
	if !(c.Percent >= 0 && c.Percent <= 100) {
		errs = append(errs, errors.New("percent must be from 0 to 100"))
	}
	if len(errs) == 0 && !c.Errors && len(c.Grades)+len(c.Findings)+len(c.Verdicts)+len(c.Agents) == 0 && c.SlowerThan == 0 && c.Percent == 0 {
		errs = append(errs, errors.New("no runs are named: set errors, grades, findings, verdicts, agents, slower_than or percent"))
	}
	return errors.Join(errs...)
}

func known[T ~string](list []T) string {
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = string(name)
	}
	return strings.Join(names, ", ")
}

// Decide returns why the tapes of a trace are kept, or Dropped. A trace is kept as a whole. joined is the id
// that the trace shares with the others of its run, see Joined.
func (c *Config) Decide(tapes []*tape.Tape, joined string) Reason {
	for _, rule := range []struct {
		reason Reason
		takes  func(t *tape.Tape) bool
	}{
		{Errors, func(t *tape.Tape) bool { return c.Errors && t.Run.Status == tape.StatusError }},
		{Grade, func(t *tape.Tape) bool { return slices.Contains(c.Grades, string(t.Fidelity.Grade)) }},
		{Finding, func(t *tape.Tape) bool {
			return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return slices.Contains(c.Findings, string(f.Code)) })
		}},
		{Verdict, c.takesVerdict},
		{Agent, func(t *tape.Tape) bool { return c.takesAgent(t.Run.Agent.Name) }},
		{Slow, func(t *tape.Tape) bool {
			return c.SlowerThan > 0 && time.Duration(t.Run.DurationMS)*time.Millisecond > c.SlowerThan
		}},
	} {
		if slices.ContainsFunc(tapes, rule.takes) {
			return rule.reason
		}
	}
	if share(joined) < c.Percent/100 {
		return Percent
	}
	return Dropped
}

func (c *Config) takesVerdict(t *tape.Tape) bool {
	if len(t.Verdicts)*len(c.Verdicts) == 0 {
		return false
	}
	var m reel.Meta
	m.Describe(t)
	return slices.ContainsFunc(c.Verdicts, func(text string) bool {
		takes, err := filter.Verdict(text)
		return err == nil && takes(&m)
	})
}

func (c *Config) takesAgent(name string) bool {
	return slices.ContainsFunc(c.Agents, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

// share is a number from 0 to 1 that an id always has, spread evenly over ids.
func share(id string) float64 {
	sum := sha256.Sum256([]byte(id))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

// Joined is the id that a trace shares with the others of its run, or the trace id where its tapes name none.
func Joined(traceID string, tapes []*tape.Tape) string {
	id := ""
	for _, t := range tapes {
		if of := RunOf(t.Run.CorrelationID, t.Run.ConversationID); of != "" && (id == "" || of < id) {
			id = of
		}
	}
	return cmp.Or(id, traceID)
}

// RunOf is the id that the traces of a run share: that of what a caller asked for, or else of the
// conversation. Other ids may be names of tasks and workflows, which many runs share.
func RunOf(correlationID, conversationID string) string {
	return cmp.Or(correlationID, conversationID)
}
