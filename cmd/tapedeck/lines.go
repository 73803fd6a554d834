// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/deck/traceline"
	"github.com/tapedeck/tapedeck/internal/surfaces/jsonlines"
)

// lineFlags are those of commands that answer requests about traces, a line of JSON each.
type lineFlags struct {
	stdin   bool
	jobs    int
	maxLine byteSize
}

// add adds the flags. does is what becomes of a request.
func (f *lineFlags) add(flags *pflag.FlagSet, does string) {
	f.maxLine = byteSize(jsonlines.DefaultBounds.MaxLine)
	flags.BoolVar(&f.stdin, "stdin", false, "take requests from stdin, a line of JSON each, and "+does)
	flags.IntVar(&f.jobs, "jobs", jsonlines.DefaultBounds.Jobs, "with --stdin, requests that are worked on at a time; the answers keep their order")
	flags.Var(&f.maxLine, "max-line", "with --stdin, the longest request; a longer one is answered by an error")
}

// check refuses arguments and flags that do not go with --stdin, or without it.
func (f *lineFlags) check(cmd *cobra.Command, args []string, with ...string) error {
	with = append(with, "stdin", "jobs", "max-line")
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch name := flag.Name; {
		case f.stdin && cmd.LocalFlags().Lookup(name) != nil && !slices.Contains(with, name):
			err = fmt.Errorf("--%s does not go with --stdin", name)
		case !f.stdin && (name == "jobs" || name == "max-line"):
			err = fmt.Errorf("--%s goes with --stdin", name)
		}
	})
	switch {
	case err != nil:
		return err
	case f.stdin && len(args) > 0:
		return errors.New("with --stdin everything comes from there: name nothing beside it")
	case f.stdin && f.jobs < 1:
		return errors.New("--jobs must be at least 1")
	}
	return nil
}

// args is needArgs for commands that take requests instead. with are flags that go with --stdin.
func (f *lineFlags) args(what string, with ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd, args, with...); err != nil || f.stdin {
			return err
		}
		return needArgs(what)(cmd, args)
	}
}

// answered is what every answer begins with.
type answered struct {
	Line    int    `json:"line"` // of the request, from 1
	Tenant  string `json:"tenant,omitempty"`
	TraceID string `json:"trace_id,omitempty"`
	Error   string `json:"error,omitempty"` // the request could not be taken
}

// begun is the beginning of an answer, of which everything that failed is known.
func begun(line jsonlines.Line) (answered, *traceline.Request) {
	a := answered{Line: line.Number}
	if line.Err != nil {
		a.Error = line.Err.Error()
		return a, nil
	}
	r, err := traceline.ParseRequest(line.Text)
	if err != nil {
		a.Error = err.Error()
		return a, nil
	}
	a.Tenant, a.TraceID = r.Tenant, r.TraceID
	return a, r
}

// eachLine calls work for every line of stdin, and take for what it returns, in order.
func eachLine[T any](ctx context.Context, f *lineFlags, stdin io.Reader, work func(jsonlines.Line) T, take func(T) error) error {
	return jsonlines.Each(ctx, stdin, jsonlines.Bounds{MaxLine: int64(f.maxLine), Jobs: f.jobs}, work, take)
}

// answer writes a line for each request. found tells that a check has found something. The exit code is 1 if
// one has, or if a request could not be taken.
func (f *lineFlags) answer(ctx context.Context, stdin io.Reader, stdout io.Writer, of func(answered, *traceline.Request) (line any, found bool)) error {
	type result struct {
		line any
		bad  bool
	}
	code := exitOK
	err := eachLine(ctx, f, stdin, func(line jsonlines.Line) result {
		a, r := begun(line)
		if r == nil {
			return result{a, true}
		}
		answer, found := of(a, r)
		return result{answer, found}
	}, func(r result) error {
		if r.bad {
			code = exitPartial
		}
		return writeJSON(stdout, r.line)
	})
	if err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}
