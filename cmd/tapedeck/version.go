// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

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

// built is set by the linker (make build VERSION=…), as that of the collectors is.
var built = "0.1.0-dev"

// version is that of the module this program was installed from, else what the build says.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok || b.Main.Version == "" || b.Main.Version == "(devel)" || slices.ContainsFunc(b.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs" }) {
		return built
	}
	return strings.TrimPrefix(b.Main.Version, "v")
}
