// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/tapedeck/tapedeck/tape"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the tape format it writes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "tapedeck %s, tape format %s, %s %s/%s\n",
				version(), tape.SchemaVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is the version of the module this program was built from; a build from a work tree says (devel), with the revision if known.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok || b.Main.Version == "" {
		return "(devel)"
	}
	return b.Main.Version
}
