// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package minimise finds a small part of a tape that still fails a check: delta debugging over its events, messages and texts. What is
// tried, and in which order, depends on the tape and on the outcomes alone. So a call that was stopped goes on with the outcomes that it
// kept, and nothing is checked twice.
package minimise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Outcome is what a check says of a tape. Any other than those below is a failure too, and each another one: only what fails as the source
// does is kept, so that a search does not end at another failure than the one it began with.
type Outcome string

// The outcomes.
const (
	Fails     Outcome = "fails"
	Passes    Outcome = "passes"
	Undecided Outcome = "undecided" // the check could not tell
)

// Level is how far a tape is taken apart; each includes those before it.
type Level string

// The levels.
const (
	Events     Level = "events"
	Messages   Level = "messages" // also their parts, definitions of tools, extensions
	Characters Level = "characters"
)

// Levels lists the levels.
var Levels = []Level{Events, Messages, Characters}

// Minimiser is one search.
type Minimiser struct {
	Source *tape.Tape
	// Check says whether a tape fails. It gets tapes that are sealed and valid, and have ids of their own. An error ends the search.
	Check func(ctx context.Context, t *tape.Tape) (Outcome, error)
	// Journal holds the outcomes that are known; it must not be nil.
	Journal *Journal
	DownTo  Level
	// MaxChecks bounds the checks of this call; 0 is no bound.
	MaxChecks int
	// Smaller is told of each smaller tape that fails; it may be nil.
	Smaller func(t *tape.Tape, size Size, checks int) error

	failure Outcome // that of the source
	current *tape.Tape
	checks  int
}

// Result is the outcome of a search. Its JSON form is part of the contract.
type Result struct {
	Of     string `json:"of"` // tape id of the source
	RunID  string `json:"run_id"`
	TapeID string `json:"tape_id"` // of what is kept
	From   Size   `json:"from"`
	To     Size   `json:"to"`
	Level  Level  `json:"level"`
	// Failure is the outcome of the source, and of what is kept.
	Failure Outcome `json:"failure"`
	// Minimal says that the check does not fail any more whichever single event, message, part, member or piece of a text is taken away.
	Minimal bool `json:"minimal"`
	// Stopped says why the search ended before that.
	Stopped string `json:"stopped,omitempty"`
	// Flaky says that the check was asked of the same tape twice, and did not say the same.
	Flaky  bool `json:"flaky"`
	Checks int  `json:"checks"` // of this call
	Known  int  `json:"known"`  // outcomes that were kept by earlier calls

	Tape *tape.Tape `json:"-"`
}

// Errors of Run.
var (
	// ErrPasses is returned for a source that does not fail.
	ErrPasses = errors.New("the check does not fail on the source")
	// ErrFlaky is returned for a source of which the check says now one thing, now another.
	ErrFlaky = errors.New("the check says of the same source now one thing, now another")

	errBound = errors.New("the number of checks is used up")
)

// Run searches. What it has found so far is returned with Stopped when a bound is reached or ctx is done.
func (m *Minimiser) Run(ctx context.Context) (*Result, error) {
	r := &Result{Of: m.Source.TapeID, RunID: m.Source.Run.RunID, From: SizeOf(m.Source), Level: m.DownTo, Known: m.Journal.Len()}
	m.current = m.Source
	err := m.source(ctx)
	if err == nil {
		err = m.search(ctx)
	}
	switch {
	case err == nil:
		r.Minimal = true
	case errors.Is(err, errBound):
		r.Stopped = "max-checks"
	case ctx.Err() != nil:
		r.Stopped = "interrupted"
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			r.Stopped = cause.Error()
		}
	default:
		return nil, err
	}
	if r.Tape, err = sealed(m.current, m.Source); err != nil {
		return nil, err
	}
	if r.Minimal { // once more: a tape that failed by chance would be of no use
		m.MaxChecks = 0
		outcome, err := m.ask(ctx, m.current, 2)
		switch {
		case ctx.Err() != nil:
			r.Minimal, r.Stopped = false, "interrupted"
		case err != nil:
			return nil, err
		case outcome != m.failure:
			r.Minimal, r.Flaky = false, true
		}
	}
	r.Failure = m.failure
	r.TapeID, r.To, r.Checks = r.Tape.TapeID, SizeOf(r.Tape), m.checks
	return r, nil
}

// source demands that the source fails, twice.
func (m *Minimiser) source(ctx context.Context) error {
	first, err := m.ask(ctx, m.Source, 1)
	if err != nil {
		return err
	}
	switch m.failure = first; first {
	case Passes:
		return ErrPasses
	case Undecided:
		return fmt.Errorf("%w: it could not tell", ErrPasses)
	}
	second, err := m.ask(ctx, m.Source, 2)
	if err == nil && second != first {
		err = ErrFlaky
	}
	return err
}

// ask returns what the check says of a tape when it is asked for the n-th time.
func (m *Minimiser) ask(ctx context.Context, t *tape.Tape, n int) (Outcome, error) {
	t = tidy(t)
	key, err := t.ComputeID()
	if err != nil {
		return "", err
	}
	if n > 1 {
		key = fmt.Sprint(key, "#", n)
	}
	if known, ok := m.Journal.Known(key); ok {
		return known, nil
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if m.MaxChecks > 0 && m.checks >= m.MaxChecks {
		return "", errBound
	}
	candidate, err := sealed(t, m.Source)
	if err != nil {
		return "", err
	}
	outcome, err := m.Check(ctx, candidate)
	if err == nil {
		err = ctx.Err() // what a check says that was stopped is nothing
	}
	if err != nil {
		return "", err
	}
	m.checks++
	return outcome, m.Journal.Add(key, outcome)
}

// try takes a candidate in place of the current tape if it fails.
func (m *Minimiser) try(ctx context.Context, candidate *tape.Tape) (bool, error) {
	outcome, err := m.ask(ctx, candidate, 1)
	if err != nil || outcome != m.failure {
		return false, err
	}
	m.current = tidy(candidate)
	if m.Smaller == nil {
		return true, nil
	}
	kept, err := sealed(m.current, m.Source)
	if err != nil {
		return true, err
	}
	return true, m.Smaller(kept, SizeOf(kept), m.checks)
}

// search goes down the levels until nothing more can be taken away.
func (m *Minimiser) search(ctx context.Context) error {
	steps := []func(context.Context) error{m.events}
	if m.DownTo != Events {
		steps = append(steps, m.messages, m.tools, m.parts, m.extensions)
	}
	if m.DownTo == Characters {
		steps = append(steps, m.values, m.texts)
	}
	for {
		before := m.current
		for _, step := range steps {
			if err := step(ctx); err != nil {
				return err
			}
		}
		if m.current == before {
			return nil
		}
	}
}

// reduce takes away as many of n things as it can, and returns those that are left. without makes a candidate of base that has those of
// which keep is true.
func (m *Minimiser) reduce(ctx context.Context, n int, without func(base *tape.Tape, keep []bool) *tape.Tape) (left []int, err error) {
	base := m.current
	left = make([]int, n)
	for i := range left {
		left[i] = i
	}
	attempt := func(some []int) (bool, error) {
		keep := make([]bool, n)
		for _, i := range some {
			keep[i] = true
		}
		ok, err := m.try(ctx, without(base, keep))
		if ok {
			left = some
		}
		return ok, err
	}
	if n == 0 {
		return nil, nil
	}
	if all, err := attempt(nil); all || err != nil {
		return left, err
	}
	for size := (n + 1) / 2; ; size = max(1, size/2) {
		progress := false
		for end := len(left); end > 0 && len(left) > 1; {
			start := max(0, end-size)
			ok, err := attempt(slices.Concat(left[:start], left[end:]))
			if err != nil {
				return left, err
			}
			progress = progress || ok
			end = start
		}
		if size == 1 && !progress {
			return left, nil
		}
	}
}

func (m *Minimiser) events(ctx context.Context) error {
	_, err := m.reduce(ctx, len(m.current.Events), keepEvents)
	return err
}

// inOrder are the ids that list yields, each once, in order.
func inOrder(t *tape.Tape, list func(e *tape.Event) []string, first ...string) (ids []string) {
	seen := map[string]bool{"": true}
	add := func(some []string) {
		for _, id := range some {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	add(first)
	for i := range t.Events {
		add(list(&t.Events[i]))
	}
	return ids
}

func messagesOf(t *tape.Tape) []string {
	return inOrder(t, func(e *tape.Event) (ids []string) {
		if e.Request != nil {
			ids = append(ids, e.Request.Messages...)
		}
		if e.Response != nil {
			ids = append(ids, e.Response.Message)
		}
		return ids
	}, append(slices.Clone(t.Input.Messages), t.Output.Message)...)
}

// gone are the ids that are not kept.
func gone(ids []string, keep []bool) map[string]bool {
	list := map[string]bool{}
	for i, id := range ids {
		list[id] = !keep[i]
	}
	return list
}

func (m *Minimiser) messages(ctx context.Context) error {
	ids := messagesOf(m.current)
	_, err := m.reduce(ctx, len(ids), func(base *tape.Tape, keep []bool) *tape.Tape { return withoutMessages(base, gone(ids, keep)) })
	return err
}

func (m *Minimiser) tools(ctx context.Context) error {
	ids := inOrder(m.current, func(e *tape.Event) []string {
		if e.Request == nil {
			return nil
		}
		return e.Request.Tools
	})
	_, err := m.reduce(ctx, len(ids), func(base *tape.Tape, keep []bool) *tape.Tape { return withoutTools(base, gone(ids, keep)) })
	return err
}

// parts takes parts out of messages that have several.
func (m *Minimiser) parts(ctx context.Context) error {
	for _, id := range messagesOf(m.current) {
		n := len(m.current.Messages[id].Parts)
		if n < 2 {
			continue
		}
		if _, err := m.reduce(ctx, n, func(base *tape.Tape, keep []bool) *tape.Tape { return withoutParts(base, id, keep) }); err != nil {
			return err
		}
	}
	return nil
}

// extensions takes namespaces of extensions away, and what stands on the tape beside its events.
func (m *Minimiser) extensions(ctx context.Context) error {
	members := m.current.Extensions.Members()
	_, err := m.reduce(ctx, len(members), func(base *tape.Tape, keep []bool) *tape.Tape {
		c := copied(base)
		kept := []exactjson.Member{}
		for i, member := range members {
			if keep[i] {
				kept = append(kept, member)
			}
		}
		if c.Extensions = exactjson.ObjectValue(kept...); len(kept) == 0 {
			c.Extensions = exactjson.Value{}
		}
		return c
	})
	if err != nil {
		return err
	}
	now := m.current
	beside := []struct {
		there  bool
		remove func(t *tape.Tape)
	}{
		{now.Input.A2A != nil, func(t *tape.Tape) { t.Input.A2A = nil }},
		{now.Input.UserMessage != nil, func(t *tape.Tape) { t.Input.UserMessage = nil }},
		{now.Input.SystemPrompt != nil, func(t *tape.Tape) { t.Input.SystemPrompt = nil }},
		{now.Output.Text != nil, func(t *tape.Tape) { t.Output.Text = nil }},
		{now.Output.Error != nil, func(t *tape.Tape) { t.Output.Error = nil }},
		{now.Run.Error != nil, func(t *tape.Tape) { t.Run.Error = nil }},
	}
	there := beside[:0:0]
	for _, field := range beside {
		if field.there {
			there = append(there, field)
		}
	}
	_, err = m.reduce(ctx, len(there), func(base *tape.Tape, keep []bool) *tape.Tape {
		c := copied(base)
		for i, field := range there {
			if !keep[i] {
				field.remove(c)
			}
		}
		return c
	})
	return err
}

// values takes members and elements out of JSON values.
func (m *Minimiser) values(ctx context.Context) error {
	return m.each(containers, func(json string) error {
		v, err := exactjson.Parse(json)
		if err != nil {
			return nil // deeper than a value of its own may be; its texts can be shortened
		}
		_, err = m.reduce(ctx, v.Len(), func(base *tape.Tape, keep []bool) *tape.Tape {
			return rewrite(base, func(text string) string { return text }, func(w exactjson.Value) exactjson.Value {
				if w.Kind() != v.Kind() || w.Len() != v.Len() || w.JSON() != json {
					return w
				}
				return some(w, keep)
			})
		})
		return err
	})
}

// some is a value with some of its members.
func some(v exactjson.Value, keep []bool) exactjson.Value {
	var members []exactjson.Member
	var elements []exactjson.Value
	for i, m := range v.Members() {
		if keep[i] {
			members, elements = append(members, m), append(elements, m.Value)
		}
	}
	if v.Kind() == exactjson.Object {
		return exactjson.ObjectValue(members...)
	}
	return exactjson.ArrayValue(elements...)
}

// each calls do for everything that list finds on the current tape, which do may change.
func (m *Minimiser) each(list func(*tape.Tape) []string, do func(string) error) error {
	tried := map[string]bool{}
	for {
		all := list(m.current)
		at := slices.IndexFunc(all, func(s string) bool { return !tried[s] })
		if at < 0 {
			return nil
		}
		tried[all[at]] = true
		if err := do(all[at]); err != nil {
			return err
		}
	}
}

// texts shortens texts: by lines, then by words, then by characters.
func (m *Minimiser) texts(ctx context.Context) error {
	return m.each(texts, func(text string) error {
		for _, split := range []func(string) []string{lines, words, characters} {
			pieces := split(text)
			join := func(keep []bool) string {
				var b strings.Builder
				for i, piece := range pieces {
					if keep[i] {
						b.WriteString(piece)
					}
				}
				return b.String()
			}
			left, err := m.reduce(ctx, len(pieces), func(base *tape.Tape, keep []bool) *tape.Tape {
				now := join(keep)
				return rewrite(base, func(s string) string {
					if s == text {
						return now
					}
					return s
				}, func(v exactjson.Value) exactjson.Value { return v })
			})
			if err != nil || len(left) == 0 {
				return err
			}
			keep := make([]bool, len(pieces))
			for _, i := range left {
				keep[i] = true
			}
			text = join(keep)
		}
		return nil
	})
}

func lines(text string) []string { return strings.SplitAfter(text, "\n") }

func words(text string) []string { return strings.SplitAfter(text, " ") }

// characters are code points, so that a text stays one.
func characters(text string) []string { return strings.Split(text, "") }
