// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package expect holds what people expect of a run: its tool calls, its answer, and bounds. A run is recorded
// or replayed, and is judged by the columns of its deck as far as they say it, else by its tape. Nothing is
// run but the commands that an expectation names.
package expect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Expect is what a run has to hold. All of it that is there has to hold.
type Expect struct {
	Tools  *Tools  `yaml:"tools"`
	Answer *Answer `yaml:"answer"`
	Bounds `yaml:",inline"`
}

// Check reads what the file of a case holds.
func (e *Expect) Check() error {
	if e == nil {
		return nil
	}
	err := errors.Join(e.Tools.Check(), e.Answer.Check(), e.Bounds.check())
	if err == nil && e.Tools == nil && e.Answer == nil && len(e.Bounds.list()) == 0 {
		err = errors.New("nothing is expected")
	}
	if err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	return nil
}

// NeedsTape tells whether the columns of a run do not say all that is expected.
func (e *Expect) NeedsTape() bool { return e != nil && (e.Tools != nil || e.Answer != nil) }

// Commands tells whether an expectation runs a command.
func (e *Expect) Commands() bool { return e != nil && e.Answer.Commands() }

// Judge lists what a run does not hold. Without a tape the columns alone are judged.
func (e *Expect) Judge(ctx context.Context, r Run, o Options) (list []Failure, err error) {
	if e == nil {
		return nil, nil
	}
	for _, b := range e.Bounds.list() {
		list = append(list, b.judge(r.Columns)...)
	}
	if r.Tape == nil {
		return list, nil
	}
	list = append(list, e.Tools.Judge(r.Tape, o.Rules)...)
	of, err := e.Answer.Judge(ctx, r, o)
	return append(list, of...), err
}

// Run is what is judged.
type Run struct {
	Columns *reel.Meta
	Tape    *tape.Tape // nil while the columns say enough
	Answer  *string    // nil where nothing was answered
}

// Of is a run of which the tape is at hand.
func Of(t *tape.Tape, answer *string) Run {
	r := Run{Columns: &reel.Meta{}, Tape: t, Answer: answer}
	r.Columns.Describe(t)
	return r
}

// Options say how runs are judged.
type Options struct {
	Rules   *normalise.Rules // differences that are allowed
	Env     []string         // of commands that score
	Timeout time.Duration    // of one of them
	// Command runs a command that judges the run, and says why it does not hold; "" if it does.
	Command func(ctx context.Context, command string) (why string, err error)
}

// Failure is an expectation that a run does not hold.
type Failure struct {
	Expectation string `json:"expectation"`
	Expected    string `json:"expected,omitempty"` // "" where what was found says it
	Found       string `json:"found"`
}

func (f Failure) String() string {
	if f.Expected == "" {
		return f.Expectation + ": " + f.Found
	}
	return f.Expectation + ": expected " + f.Expected + ", found " + f.Found
}

// shownLength bounds what a failure shows of a text, in bytes.
const shownLength = 200

func cut(text string) string {
	if len(text) > shownLength {
		text = strings.ToValidUTF8(text[:shownLength], "") + "…"
	}
	return text
}

// quoted is the beginning of a text, on one line.
func quoted(text string) string { return string(exactjson.AppendString(nil, cut(text))) }

// texts is one text or a list of them.
type texts []string

// UnmarshalYAML reads either.
func (t *texts) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = texts{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}
