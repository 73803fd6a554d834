// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Tapedeck turns the telemetry of agents into tapes, shows them and checks them. See docs/cli.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
)

func main() {
	lockdown.Main()
	if err := secretenv.Take(rerun.Own...); err != nil {
		complain(os.Stderr, err)
		os.Exit(exitFailed)
	}
	secretenv.Hide()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
