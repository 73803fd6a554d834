// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const rootHelp = `tapedeck turns the spans and log records that agents emit into tapes: one file
per agent run, complete enough to be replayed or honest about why it is not.

Tapes lie in a deck: a folder, or a bucket of S3, Google Cloud Storage or Azure
Blob Storage. The collector writes the same tapes while the agents run.`

const rootExample = `  tapedeck derive traces.jsonl --to ./deck        make tapes from telemetry files
  tapedeck show ./deck/runs/default/4b/…/tape.json  read one
  tapedeck show 4bf92f35 --deck s3://tapes/prod   find one by its trace id
  tapedeck verify ./deck                          check all tapes of a deck`

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	if asksForCompletions(args) {
		complete(root)
	}
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(root.ExecuteContext(ctx), stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "tapedeck",
		Short:             "Make, read and check tapes of agent runs",
		Long:              rootHelp,
		Example:           rootExample,
		SilenceErrors:     true, // exitCode prints them
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // ours writes where the command is told to
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; see tapedeck --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newAudit(),
		newBisect(),
		newCause(),
		newCompact(),
		newCompletion(),
		newDerive(),
		newDiff(),
		newDoctor(),
		newExecCheck(),
		newCompare(),
		newExperiment(),
		newExport(),
		newGC(),
		newImport(),
		newJoin(),
		newJudgeCommand(),
		newLs(),
		newMan(),
		newMatch(),
		newMCP(),
		newMinimise(),
		newOracle(),
		newRecord(),
		newRedact(),
		newReplay(),
		newRequest(),
		newResolve(),
		newScrub(),
		newServe(),
		newShow(),
		newSpool(),
		newStale(),
		newStats(),
		newSuite(),
		newTail(),
		newVerify(),
		newView(),
		newVersion(),
	)
	addCommonFlags(root)
	root.PersistentPreRunE = deckFromEnvironment
	root.SetHelpCommand(newHelp())
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprint(c.OutOrStderr(), usage(c))
		return err
	})
	return root
}

// needArgs asks for at least one argument and says what it is.
func needArgs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s; see %s --help", cmd.Name(), what, cmd.CommandPath())
		}
		return nil
	}
}
