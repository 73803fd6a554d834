// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lockdown

import (
	"context"
	"fmt"
	"io"
	"runtime"
)

// Run refuses: this system has no network namespaces.
func Run(context.Context, []string, io.Reader, io.Writer, io.Writer) (int, error) {
	return 0, fmt.Errorf("%w: %s has no network namespaces", ErrImpossible, runtime.GOOS)
}

func enter(string) error { return ErrImpossible }
