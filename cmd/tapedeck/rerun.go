// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// live is the mode of waza that runs a command; a command behind -- says it too.
const live = "live"

// exitCodes are the codes of the verdicts.
var exitCodes = map[rerun.Verdict]int{rerun.AsRecorded: exitOK, rerun.Diverged: exitPartial, rerun.NotDone: exitFailed}

// rerun is replay with a command.
func (r *replaying) rerun(ctx context.Context, args, argv []string) error {
	f := &r.flags.rerun
	heapgoal.Start() // an answer does not wait for a collection
	refs, err := f.forge.refs(args)
	if err != nil {
		return err
	}
	mode := strings.ToLower(r.flags.mode)
	switch {
	case len(refs) != 1:
		return fmt.Errorf("replay with a command takes one REF, not %d", len(refs))
	case len(argv) == 0 && !f.printEnv:
		return errors.New("there is no command behind the --")
	case !slices.Contains([]string{"", waza.ModelReplay, live}, mode):
		return fmt.Errorf("--mode %q is unknown: want %s or %s", r.flags.mode, waza.ModelReplay, live)
	}
	o, err := f.options(argv, r.stderr)
	if err != nil {
		return err
	}
	o.Forge.In = &r.flags.Finder
	var recordings []agentreplay.Recording
	if mode == live {
		recordings, err = agentreplay.FindAll(ctx, &r.flags.Finder, refs[0])
	} else {
		recordings = make([]agentreplay.Recording, 1)
		recordings[0], err = agentreplay.Find(ctx, &r.flags.Finder, refs[0])
	}
	if err != nil {
		return err
	}
	if !f.printEnv {
		if err := f.openKeys(&o, o.Stderr); err != nil {
			return err
		}
	}
	if len(recordings) == 1 {
		return r.rerunOne(ctx, o, recordings[0], cmp.Or(f.id, agentreplay.NewID()))
	}
	if cmp.Or(f.markdown, f.html, f.junit, f.id) != "" || f.printEnv {
		return fmt.Errorf("%s stands for %d runs: --markdown, --html, --junit, --print-env and --replay-run-id want one", refs[0], len(recordings))
	}
	r.lines = r.lines || r.flags.asJSON
	for _, of := range recordings {
		err := r.rerunOne(ctx, o, of, agentreplay.NewID())
		exit, ended := errors.AsType[*exitError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ended:
			r.code = max(r.code, exit.code)
		case err != nil:
			r.code = exitFailed
			complain(o.Stderr, fmt.Errorf("%s: %w", of.At, err))
		}
	}
	if r.code != exitOK {
		return &exitError{code: r.code}
	}
	return nil
}

// rerunOne replays one run, under an id, and reports it.
func (r *replaying) rerunOne(ctx context.Context, o agentreplay.Options, of agentreplay.Recording, id string) error {
	f := &r.flags.rerun
	replay, err := agentreplay.New(o, of, id)
	if err != nil {
		return err
	}
	if f.printEnv {
		lines, err := replay.Environment()
		if err != nil {
			return err
		}
		return r.write([]byte(strings.Join(lines, "\n") + "\n"))
	}
	switch {
	case replay.NeedsModel():
		return errors.New("the recording holds tool calls and no model calls; --model-url says which model is asked")
	case f.note && !of.At.Ref.InDeck():
		return fmt.Errorf("--note: %s lies in no deck", of.At)
	}
	out, err := replay.Run(ctx)
	if err != nil {
		return err
	}
	if f.note {
		if err := out.Note(ctx); err != nil {
			return err
		}
	}
	return r.report(out)
}

// report writes the report of a replay in every form that was asked for.
func (r *replaying) report(out *agentreplay.Outcome) error {
	f := &r.flags.rerun
	if err := writeReports(
		reportFile{f.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, out.Report.Markdown())
			return err
		}},
		reportFile{f.junit, out.Report.JUnit},
		reportFile{f.html, out.Page},
	); err != nil {
		return err
	}
	var err error
	if r.asJSON {
		err = r.print(out.Report)
	} else {
		err = out.Text(r.stdout)
	}
	if code := exitCodes[out.Report.Verdict]; err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}
