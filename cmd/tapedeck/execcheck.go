// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/runner"
)

func newExecCheck() *cobra.Command {
	var asJSON, strict bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "exec-check RUNNER",
		Short: "Try a runner of whatifd-exec/1, and say what fails",
		Long: `Try a runner: a program that speaks whatifd-exec/1 (exec:COMMAND), or a function
in Python (python:MODULE:ATTR).

The runner is started, asked for runs with and without answers of tools, sent
what it may not know, and ended. Without what is required it replays no run; what
is advised makes replays faster, or keeps them right with later versions. A
behaviour that cannot be seen is skipped: a runner that calls no tool shows
nothing of how it takes answers. It is asked "whatifd exec-check probe: use a
tool", and the tool "search" with {"q":"whatifd-exec-check"} has an answer.

The exit code is 0 if all that is required was seen, with --strict all that is
advised too, 1 if something was not, and 2 if RUNNER is none.`,
		Example: `  tapedeck exec-check "exec:node agent.js"
  tapedeck exec-check python:my_agent.replay:run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("exec-check needs one RUNNER; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := runner.Parse(args[0])
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout must be positive")
			}
			config.ReplayTimeout, config.Stderr, config.Env = timeout, cmd.ErrOrStderr(), programEnviron()
			probes := execlane.Check(cmd.Context(), config)
			conforms := execlane.Conforms(probes, strict)
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), map[string]any{"runner": args[0], "conforms": conforms, "probes": probes})
			} else {
				for _, p := range probes {
					advised := ""
					if p.Outcome == execlane.Fail && !p.Required {
						advised = " (advised)"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%-7s  %s%s: %s\n", p.Outcome, p.Name, advised, printable(p.Detail))
				}
			}
			if err == nil && !conforms {
				err = &exitError{code: exitPartial, err: fmt.Errorf("%s does not conform to %s", args[0], execlane.Protocol)}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "want what is advised too")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long the runner may take for one run")
	return cmd
}
