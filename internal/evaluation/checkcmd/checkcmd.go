// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkcmd runs a command that judges a tape, such as a script or a test.
package checkcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/runner"
	"github.com/tapedeck/tapedeck/internal/replay/procgroup"
)

// Command is a command that judges. Words of it may hold {NAME} for the files that Run is given.
type Command struct {
	Argv    []string
	Timeout time.Duration
	// Env is its environment, to which a variable TAPEDECK_NAME for each file is added.
	Env []string
}

// Files are what a command judges: name → path. Names are in lower case.
type Files map[string]string

// The names of files.
const (
	Tape      = "tape"      // what is judged
	Recording = "recording" // what it is a replay of
	Report    = "report"    // of the replay, as JSON
	Answer    = "answer"    // the text of the answer
)

// CannotTell is the exit code of a command that cannot judge what it was given.
const CannotTell = 125

// Result is what came of a command.
type Result struct {
	Code     int
	TimedOut bool
	Killed   bool   // by a signal
	Output   string // the beginning of what it wrote
}

// Told reports whether the command came to a judgement; it is a good one if the code is 0.
func (r *Result) Told() bool { return !r.TimedOut && !r.Killed && r.Code != CannotTell }

// ErrNotRun is returned, wrapped, for a command that cannot be run, also if a shell says so of it.
var ErrNotRun = errors.New("the check could not be run")

// maxOutput bounds what is kept of what a command writes, in bytes.
const maxOutput = 64 << 10

// Parse reads a command. It is split as a shell splits words, without a shell.
func Parse(text string) (Command, error) {
	argv, err := runner.Split(text)
	if err == nil && len(argv) == 0 {
		err = errors.New("there is no command")
	}
	return Command{Argv: argv}, err
}

// Run runs the command, and ends it with its children.
func (c Command) Run(ctx context.Context, files Files) (r Result, err error) {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	pairs := []string{}
	for name, path := range files {
		pairs = append(pairs, "{"+name+"}", path)
		env = append(env[:len(env):len(env)], "TAPEDECK_"+strings.ToUpper(name)+"="+path)
	}
	argv := make([]string, len(c.Argv))
	for i, word := range c.Argv {
		argv[i] = strings.NewReplacer(pairs...).Replace(word)
	}
	const drain = 10 * time.Second // for pipes that only what it left behind holds open: a busy machine reads late what it wrote
	cmd := exec.Command(argv[0], argv[1:]...)
	out := procgroup.Output{Most: maxOutput}
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &out, drain
	ended, err := procgroup.Start(cmd)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	timer := time.NewTimer(c.Timeout)
	defer timer.Stop()
	select {
	case err = <-ended:
	case <-timer.C:
		r.TimedOut = true
	case <-ctx.Done():
		err = ctx.Err()
	}
	if r.TimedOut || ctx.Err() != nil {
		procgroup.Kill(cmd.Process.Pid)
		<-ended
	}
	procgroup.End(cmd.Process.Pid, time.Second)
	r.Output = out.String()
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.As(err, &exit):
		r.Code, r.Killed = exit.ExitCode(), exit.ExitCode() < 0
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return r, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	const notExecutable, notFound = 126, 127 // as shells say it
	if r.Code == notExecutable || r.Code == notFound {
		return r, fmt.Errorf("%w: exit code %d; it wrote: %.300q", ErrNotRun, r.Code, r.Output)
	}
	return r, nil
}
