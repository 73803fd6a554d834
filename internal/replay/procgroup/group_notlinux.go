// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package procgroup

import "syscall"

// dieWithParent has nothing to say here: a command outlives a tapedeck that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
