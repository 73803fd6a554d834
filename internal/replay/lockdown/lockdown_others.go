// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lockdown

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"time"
)

// Cage does not exist here: this system has no network namespaces.
type Cage struct{}

var errHere = fmt.Errorf("%w: %s has no network namespaces", ErrImpossible, runtime.GOOS)

// New refuses.
func New(*exec.Cmd, int, *Files) (*Cage, error) { return nil, errHere }

// Ready refuses.
func (*Cage) Ready() ([]net.Listener, error) { return nil, errHere }

// Enforced is nothing.
func (*Cage) Enforced() Enforced { return Enforced{} }

// Seen is nothing.
func (*Cage) Seen() Seen { return Seen{} }

// Run refuses.
func (*Cage) Run([]string, []string, string, time.Duration) error { return errHere }

// Dial refuses.
func (*Cage) Dial(context.Context, string) (net.Conn, error) { return nil, errHere }

// ExitCode is never called.
func (*Cage) ExitCode(code int) int { return code }

// Close does nothing.
func (*Cage) Close() error { return nil }

func inside() int { return 2 }
