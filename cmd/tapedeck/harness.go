// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
)

// harnessFlags say what record keeps of a run beside its telemetry.
type harnessFlags struct {
	task, display           string
	evalID, evalName, skill string
	run                     int
	golden                  bool
	rules, envAllow         []string
	fixtures, workspace     string
	ignored                 bool
	instructions, checks    []string
}

func (f *harnessFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.task, "task", "", "the id of the task that the run does, for an evaluation")
	flags.StringVar(&f.display, "display-name", "", "what people call the task")
	flags.IntVar(&f.run, "run", 0, "the number of the run of this task, from 1 on")
	flags.StringVar(&f.evalID, "eval-id", "", "the id of the evaluation that the run is part of")
	flags.StringVar(&f.evalName, "eval-name", "", "its name")
	flags.StringVar(&f.skill, "skill", "", "the skill that is evaluated")
	flags.BoolVar(&f.golden, "golden", false, "the run is one that others are measured by")
	flags.StringSliceVar(&f.rules, "rules-active", nil, "names of the rules that the agent follows (repeatable)")
	flags.StringSliceVar(&f.envAllow, "env-allow", nil, `variables of the environment to keep: names, or beginnings with a "*" behind them (repeatable)`)
	flags.StringVar(&f.fixtures, "fixtures", "", "keep the digests of the files of this folder, which the run is given")
	flags.StringArrayVar(&f.instructions, "instructions", nil, "keep the digest of this file, which the agent is given (repeatable)")
	flags.StringVar(&f.workspace, "workspace", "", "keep what this folder holds before the run, for a replay in a copy of it, and which files the run made, changed and deleted")
	flags.BoolVar(&f.ignored, "workspace-ignored", false, "keep what git ignores in the folder of --workspace too")
	flags.StringArrayVar(&f.checks, "check", nil, "the command that judges the run, of the shell, when the agent has ended: whether it ends with 0 is kept (repeatable)")
}

func (f *harnessFlags) check() error {
	switch {
	case f.run < 0:
		return errors.New("--run must be 1 or more")
	case f.ignored && f.workspace == "":
		return errors.New("--workspace-ignored needs --workspace")
	}
	texts := [][2]string{{"--task", f.task}, {"--display-name", f.display}, {"--eval-id", f.evalID}, {"--eval-name", f.evalName}, {"--skill", f.skill}}
	for _, rule := range f.rules {
		texts = append(texts, [2]string{"--rules-active", rule})
	}
	for _, text := range texts {
		if harness.OfMachine(text[1]) {
			return fmt.Errorf("%s holds a path of this machine, which a tape is not to tell", text[0])
		}
	}
	return nil
}

// harnessed is what is known of one run.
type harnessed struct {
	flags  *harnessFlags
	facts  harness.Facts
	before *harness.Listing // of the workspace
	kept   *workspace.Kept  // what it held; nil where nothing is kept
	output string           // the deck, which is none of the files of a task
	stderr io.Writer
}

// begin takes down what is there before the command runs. deck is the address of what record writes.
func (f *harnessFlags) begin(ctx context.Context, deck string, stderr io.Writer) (*harnessed, error) {
	h := &harnessed{flags: f, output: folderOf(deck), stderr: stderr, facts: harness.Facts{
		Task: f.task, Display: f.display, Run: f.run, EvalID: f.evalID, EvalName: f.evalName, Skill: f.skill, Golden: f.golden, Rules: f.rules, EnvAllow: f.envAllow,
	}}
	for _, entry := range programEnviron() {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case !slices.ContainsFunc(f.envAllow, func(p string) bool { return harness.Allows(p, name) }):
		case harness.OfMachine(value):
			say(stderr, "--env-allow: %s holds a path of this machine, and is left out", name)
		default:
			h.facts.Environment = append(h.facts.Environment, [2]string{name, value})
		}
	}
	var err error
	if f.fixtures != "" {
		if h.facts.Fixtures, err = harness.List(ctx, f.fixtures, harness.DefaultLimits, h.output); err != nil {
			return nil, fmt.Errorf("--fixtures %s: %w", f.fixtures, err)
		}
		h.sayLeftOut("--fixtures", h.facts.Fixtures)
	}
	if f.workspace != "" {
		if h.before, err = harness.List(ctx, f.workspace, harness.DefaultLimits, h.output); err != nil {
			return nil, fmt.Errorf("--workspace %s: %w", f.workspace, err)
		}
		h.kept, err = workspace.Take(ctx, f.workspace, workspace.Options{Limits: workspace.DefaultLimits, Ignored: f.ignored, Outputs: []string{h.output}})
		switch {
		case errors.Is(err, workspace.ErrTooMuch):
			h.facts.ContentsLost = err.Error()
			say(stderr, "--workspace: its contents are not kept, and a replay makes no copy of it: %v", err)
		case err != nil:
			return nil, fmt.Errorf("--workspace %s: %w", f.workspace, err)
		default:
			h.sayLeftOut("--workspace: of the contents", h.kept)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, name := range f.instructions {
		file, err := harness.One(name, here, harness.DefaultLimits)
		if err != nil {
			return nil, fmt.Errorf("--instructions %s: %w", name, err)
		}
		h.facts.Instructions = append(h.facts.Instructions, file)
	}
	return h, nil
}

func (h *harnessed) sayLeftOut(flag string, l fmt.Stringer) {
	if left := l.String(); left != "" {
		say(h.stderr, "%s: left out: %s", flag, left)
	}
}

// end takes down what the command left, and runs the checks. What cannot be told anymore is said, and loses nothing else of the run. It
// reports whether all checks passed.
func (h *harnessed) end(ctx context.Context, environ []string, timeout, grace time.Duration) (passed bool) {
	passed = true
	if h.before != nil {
		after, err := harness.List(ctx, h.flags.workspace, harness.DefaultLimits, h.output)
		if err != nil {
			h.facts.ChangesLost = err.Error()
			say(h.stderr, "--workspace: what the run changed is not known: %v", err)
		} else {
			h.facts.Changes = harness.Changes(h.before, after)
			h.sayLeftOut("--workspace", after)
		}
	}
	for i, line := range h.flags.checks {
		name := "check-" + strconv.Itoa(i+1)
		began := time.Now()
		exit, err := rerun.Run(ctx, rerun.Command{Argv: shell(line), Env: environ, Stdout: h.stderr, Stderr: h.stderr, Timeout: timeout, Grace: grace})
		if err != nil {
			say(h.stderr, "%s: %v", name, err)
		}
		if err != nil || exit.TimedOut {
			exit.Code = -1
		}
		check := harness.Check{Name: name, ExitCode: exit.Code, DurationMS: time.Since(began).Milliseconds()}
		h.facts.Checks = append(h.facts.Checks, check)
		if !check.Passed() {
			passed = false
			say(h.stderr, "%s failed with code %d: %s", name, exit.Code, line)
		}
	}
	return passed
}

// folderOf is the folder of a deck, empty if it lies elsewhere.
func folderOf(address string) string {
	base, _ := replay.SplitURL(address)
	if path, ok := strings.CutPrefix(base, "file://"); ok {
		return path
	}
	if strings.Contains(base, "://") {
		return ""
	}
	return base
}

// shell is the command line as the shell of the system takes it.
func shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	return []string{"/bin/sh", "-c", line}
}
