// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func newOracle() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "oracle",
		Short: "Make, check and ask oracles, the recorded answers of tool calls",
		Long: `Make, check and ask oracles. An oracle is the list of the tool calls of a run with
their answers; docs/oracle.md says how calls are matched with them.

A REF of an oracle is that of a tape (see tapedeck show --help), or the path or
URL of an oracle.json.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; see tapedeck oracle --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newOracleHash(), newOracleDerive(), newOracleLookup(), newOracleLint(), newOracleDiff(), newOracleLearn())
	return cmd
}

func newOracleHash() *cobra.Command {
	var tool string
	var f matchFlags
	cmd := &cobra.Command{
		Use:   "hash < ARGS",
		Short: "Print the args_hash of arguments",
		Long: `Print the args_hash of the arguments on stdin. It depends on them alone, every
byte of text that is not JSON included. With --rules it is the hash of what the
rules for --tool leave of the arguments.`,
		Example: `  printf '{"city":"Bern"}' | tapedeck oracle hash`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.from.Rules != "" && tool == "" {
				return errors.New("--rules needs --tool")
			}
			args, err := readArgs(cmd.InOrStdin(), "-")
			if err != nil {
				return err
			}
			options, err := f.options()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), oracle.Hash(options.Rules.Reduce(tool, args)))
			return err
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "", "the tool that is called; it matters for rules only")
	cmd.Flags().StringVar(&f.from.Rules, "rules", "", "a rules file")
	return cmd
}

// maxArgs bounds arguments on the command line.
const maxArgs = 64 << 20

// readArgs reads arguments as a model spelled them: the text itself, or with "-" what stands on stdin.
func readArgs(stdin io.Reader, text string) (exactjson.Value, error) {
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, maxArgs+1))
		if err != nil {
			return exactjson.Value{}, fmt.Errorf("read the arguments: %w", err)
		}
		if len(data) > maxArgs {
			return exactjson.Value{}, fmt.Errorf("the arguments are larger than %d bytes", maxArgs)
		}
		text = string(data)
	}
	args, err := exactjson.Parse(text)
	if err != nil {
		return exactjson.StringValue(text), nil // arguments need not be JSON
	}
	return args, nil
}

func newOracleLookup() *cobra.Command {
	var r refs
	var args string
	var f matchFlags
	var q oracle.Query
	var occurrence int
	cmd := &cobra.Command{
		Use:   "lookup REF --tool NAME [--args TEXT | < ARGS]",
		Short: "Ask for one recorded answer",
		Long: `Ask for the recorded answer of one tool call, as a replay would at its beginning.
The answer is the line of JSON that the server gives (docs/oracle.md).

The exit code is 0 if there is an answer, 1 if it is a miss, 2 if the oracle could
not be loaded.`,
		Example: `  tapedeck oracle lookup ./oracle.json --tool weather --args '{"city":"Bern"}' | jq -r .response`,
		Args:    exactArgs("a REF", 1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			if q.ToolName == "" || occurrence < 1 || q.Turn < 0 {
				return errors.New("--tool is needed, and --occurrence counts from 1")
			}
			if q.ArgsHash == "" {
				var err error
				if q.Args, err = readArgs(cmd.InOrStdin(), args); err != nil {
					return err
				}
			} else if args != "-" {
				return errors.New("--args and --args-hash exclude each other")
			} else if hash, ok := oracle.ReadHash(q.ArgsHash, ""); ok {
				q.ArgsHash = hash
			} else {
				return errors.New("--args-hash is not 64 hexadecimal digits, with or without the prefix sha256: or sha256-raw: before them")
			}
			return lookup(cmd.Context(), cmd.OutOrStdout(), refs[0], &r, f, q, occurrence)
		},
	}
	flags := cmd.Flags()
	r.add(cmd, "ID")
	r.addUnverified()
	flags.StringVar(&q.ToolName, "tool", "", "the tool that is called (required)")
	flags.StringVar(&args, "args", "-", `the arguments; "-" is stdin`)
	flags.StringVar(&q.ArgsHash, "args-hash", "", "the hash of the arguments, instead of them")
	flags.StringVar(&q.Caller, "caller", "", "the agent that calls")
	flags.IntVar(&q.Turn, "turn", 0, "the turn of the call, to break ties")
	flags.IntVar(&occurrence, "occurrence", 1, "ask as often, and print the last answer")
	f.add(cmd)
	return cmd
}

func lookup(ctx context.Context, stdout io.Writer, ref string, r *refs, f matchFlags, q oracle.Query, occurrence int) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	l, err := r.OneOracle(ctx, ref)
	if err != nil {
		return err
	}
	o, err := oracle.New(l.Entries, options)
	if err != nil {
		return err
	}
	s := o.NewSession(occurrence)
	var a oracle.Answer
	for range occurrence {
		if a, err = s.Answer(q); err != nil {
			return err
		}
	}
	var near []oracle.Near
	if a.Outcome.Missed() {
		near = s.Nearest(q)
	}
	if _, err := stdout.Write(oraclehttp.AppendAnswer(nil, o, l.RunID, &a, near)); err != nil {
		return err
	}
	if hint := f.hint(a.Outcome); hint != "" {
		r.say("%s%s", a.Outcome, hint)
	}
	if !a.Outcome.Served() {
		return &exitError{code: exitPartial}
	}
	return nil
}

// exactArgs asks for n arguments and says what they are.
func exactArgs(what string, n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s needs %s; see %s --help", cmd.Name(), what, cmd.CommandPath())
		}
		return nil
	}
}

// writeOut writes to a file, or to stdout when none is named. A file of another is not replaced.
func writeOut(stdout io.Writer, file string, data []byte) error {
	if file == "" {
		_, err := stdout.Write(data)
		return err
	}
	w, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}
