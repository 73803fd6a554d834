// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package rerun

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group of its own, which its children share. Errors of signals say that the group is gone.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func askGroup(pid int)        { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int)       { _ = syscall.Kill(-pid, syscall.SIGKILL) }
func groupLives(pid int) bool { return syscall.Kill(-pid, 0) == nil }
