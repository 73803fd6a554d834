// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends the server also when the test binary is killed. The signal
// follows the thread that started the process, which the Go runtime keeps
// unless a goroutine locked to it ends; servers are started by plain ones.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
