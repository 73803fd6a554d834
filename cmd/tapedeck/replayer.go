// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/evaluation/checkcmd"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

// replayer replays tapes with one command, for commands that do so again and again.
type replayer struct {
	rerunFlags
	argv     []string
	stderr   io.Writer // what the command writes
	redactor *redact.Redactor
}

func (p *replayer) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	p.addCommand(cmd)
	flags.DurationVar(&p.timeout, "timeout", 10*time.Minute, "end a replay of the command after this long")
	flags.StringVar(&p.model, "candidate-model", "", "the model to ask at --model-url, in place of the one that the agent asks for")
	flags.StringVar(&p.prompt, "system-prompt", "", "a file with the system prompt to send there, in place of the agent's")
	p.match.add(cmd)
	p.redactionFlags.add(cmd)
	_ = flags.MarkHidden("allow-key-change") // nothing is stored in a deck that is there already
	_ = flags.MarkHidden("no-gate")
}

// rerunning is one replay that a replayer makes.
func (p *replayer) rerunning(id string) (*rerunning, error) {
	f := p.rerunFlags
	f.id = id
	if f.compare == "" {
		f.compare = "results"
	}
	r := &rerunning{replaying: &replaying{flags: &replayFlags{rerun: f}, stdout: io.Discard, stderr: concurrent(p.stderr)}, f: &f, argv: p.argv}
	return r, r.check([]string{"REF"})
}

// checkEnviron is the environment of a check, which is no replay.
func (p *replayer) checkEnviron(refs ...string) []string {
	environ, _ := p.env.program(append(refs, p.to)...)
	return environ
}

// check reads the flags, once for all replays.
func (p *replayer) check() (err error) {
	if p.redactor, err = p.redactionFlags.open(p.stderr); err != nil {
		return err
	}
	_, err = p.rerunning("check")
	return err
}

// outcomeOf is what came of a replay.
type outcomeOf struct {
	report *rerun.Report
	tape   *tape.Tape // nil: no run came
	answer *string    // redacted; where --answer says, else of the tape; nil where there is none
}

// replay replays a tape, under an id that the caller chooses.
func (p *replayer) replay(ctx context.Context, source *tape.Tape, id string) (out outcomeOf, err error) {
	r, err := p.rerunning(id)
	if err != nil {
		return out, err
	}
	r.source, r.at = source, replay.Location{}
	out.report, out.tape, err = r.replay(ctx)
	if out.answer = r.said; r.said != nil && p.redactor != nil {
		said := p.redactor.String("", *r.said, nil)
		out.answer = &said
	} else if r.said == nil && out.tape != nil {
		out.answer = out.tape.Output.Text
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// judging runs a check on tapes, in a folder of its own.
type judging struct {
	command checkcmd.Command
	dir     string
}

func addCheck(flags *pflag.FlagSet, check *string, timeout *time.Duration) {
	flags.StringVar(check, "check", "", "the command that judges: {tape}, {recording}, {report} and {answer} stand for files")
	flags.DurationVar(timeout, "check-timeout", time.Minute, "how long the check may take")
}

func newJudging(text string, timeout time.Duration, environ []string) (*judging, error) {
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
	dir, err := os.MkdirTemp("", "tapedeck-check-")
	return &judging{command, dir}, err
}

func (j *judging) Close() error { return os.RemoveAll(j.dir) }

// recorded judges a tape.
func (j *judging) recorded(ctx context.Context, t *tape.Tape) (checkcmd.Result, error) {
	return j.run(ctx, map[string][]byte{checkcmd.Tape: t.AppendJSON(nil)})
}

// replayed judges a replay of a recording.
func (j *judging) replayed(ctx context.Context, recording *tape.Tape, of outcomeOf) (checkcmd.Result, error) {
	var report bytes.Buffer
	e := json.NewEncoder(&report)
	e.SetIndent("", "  ")
	if err := e.Encode(of.report); err != nil {
		return checkcmd.Result{}, err
	}
	answer := ""
	if of.answer != nil {
		answer = *of.answer
	}
	return j.run(ctx, map[string][]byte{
		checkcmd.Tape: of.tape.AppendJSON(nil), checkcmd.Recording: recording.AppendJSON(nil), checkcmd.Report: report.Bytes(), checkcmd.Answer: []byte(answer),
	})
}

// run gives the check each file in a folder of its own, where a tape can stand under its usual name.
func (j *judging) run(ctx context.Context, bodies map[string][]byte) (checkcmd.Result, error) {
	files := checkcmd.Files{}
	for name, body := range bodies {
		base := map[string]string{checkcmd.Tape: tape.TapeFile, checkcmd.Recording: tape.TapeFile, checkcmd.Report: "report.json", checkcmd.Answer: "answer.txt"}[name]
		files[name] = filepath.Join(j.dir, name, base)
		if err := os.MkdirAll(filepath.Dir(files[name]), 0o700); err != nil {
			return checkcmd.Result{}, err
		}
		if err := os.WriteFile(files[name], body, 0o600); err != nil {
			return checkcmd.Result{}, err
		}
	}
	return j.command.Run(ctx, files)
}
