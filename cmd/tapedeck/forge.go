// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// forgeFlags are those of a replay of an invocation of a Forge agent.
type forgeFlags struct {
	source, oracle, candidate, output string
}

func (f *forgeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "replay-source", "", "invocation or trace of a Forge agent in --deck, in place of REF; its A2A request is sent again")
	cmd.Flags().StringVar(&f.oracle, "replay-tool-oracle", "", "an oracle file, or the URL of an oracle (with ?run=ID where it has several runs), in place of the tool answers of the tape")
	cmd.Flags().StringVar(&f.candidate, "replay-candidate-model", "", "MODEL or MODEL@URL: model calls go to it, by way of tapedeck, and not to the tape; the command reaches no other host")
	cmd.Flags().StringVar(&f.output, "replay-output", "", "write request, answer, report and audit stream of the replay to this file")
}

// defaultForge is where a Forge agent listens that is not told otherwise.
const defaultForge = "a2a:http://127.0.0.1:8080/"

// refs are those that are replayed: the source stands in the place of a REF.
func (f *forgeFlags) refs(args []string) ([]string, error) {
	switch {
	case f.source == "":
		return args, nil
	case len(args) > 0:
		return nil, errors.New("--replay-source stands in the place of a REF")
	}
	return []string{f.source}, nil
}
