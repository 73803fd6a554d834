// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/evaluation/checkcmd"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// replayerFlags are those of commands that replay tapes with one command again and again.
type replayerFlags struct{ rerunFlags }

func (f *replayerFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addCommand(cmd)
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end a replay of the command after this long")
	flags.StringVar(&f.model, "candidate-model", "", "the model to ask at --model-url, in place of the one that the agent asks for")
	flags.StringVar(&f.prompt, "system-prompt", "", "a file with the system prompt to send there, in place of the agent's")
	f.compare = string(compare.Results)
	f.match.add(cmd)
	f.redactionFlags.add(cmd)
	_ = flags.MarkHidden("allow-key-change") // nothing is stored in a deck that is there already
	_ = flags.MarkHidden("no-gate")
}

// checkEnviron is the environment of a check, which is no replay.
func (f *replayerFlags) checkEnviron(refs ...string) []string {
	environ, _ := f.env.program(append(refs, f.to)...)
	return environ
}

// open returns the options of all replays. What the command writes goes to stderr.
func (f *replayerFlags) open(argv []string, stderr io.Writer) (o agentreplay.Options, err error) {
	if o, err = f.options(argv, stderr); err != nil {
		return o, err
	}
	return o, f.openKeys(&o, stderr)
}

func addCheck(flags *pflag.FlagSet, check *string, timeout *time.Duration) {
	flags.StringVar(check, "check", "", "the command that judges: {tape}, {recording}, {report} and {answer} stand for files")
	flags.DurationVar(timeout, "check-timeout", time.Minute, "how long the check may take")
}

// newJudge reads --check.
func newJudge(text string, timeout time.Duration, environ []string) (*checkcmd.Judge, error) {
	if text == "" {
		return nil, errors.New("--check is missing: a command that ends with another code than 0 for a tape that fails")
	}
	command, err := checkcmd.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--check: %w", err)
	}
	if timeout <= 0 {
		return nil, errors.New("--check-timeout must be positive")
	}
	command.Timeout, command.Env = timeout, environ
	return checkcmd.NewJudge(command)
}

// judgeReplay judges a replay of a recording that gave a tape.
func judgeReplay(ctx context.Context, judge *checkcmd.Judge, recording *tape.Tape, out *agentreplay.Outcome) (checkcmd.Result, error) {
	answer := ""
	if text := out.Answer(); text != nil {
		answer = *text
	}
	return judge.Replayed(ctx, recording, out.Tape, out.Report, answer)
}
