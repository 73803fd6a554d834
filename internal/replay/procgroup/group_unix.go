// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// own gives the command a process group of its own, which its children share; the leader of a session has
// one. Errors of signals say that the group is gone.
func own(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		dieWithParent(cmd.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid
}

// Ask asks the group of a command to end.
func Ask(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

// Kill ends the group of a command.
func Kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

func lives(pid int) bool { return syscall.Kill(-pid, 0) == nil }
