// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package procgroup runs a command in a process group of its own, so that it can be ended with its children.
package procgroup

import (
	"os/exec"
	"runtime"
	"time"
)

// Start starts a command. The channel gets what Wait returns, and is closed then. On Linux the command is ended with this program, however that ends; one that
// comes with attributes of its own keeps them, and sees to that itself.
func Start(cmd *exec.Cmd) (<-chan error, error) {
	own(cmd)
	began, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the end of this thread would end the command, see own
		defer runtime.UnlockOSThread()
		err := starting(func() (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
		began <- err
		if err == nil {
			defer hasEnded(cmd.Process.Pid)
			ended <- cmd.Wait()
			close(ended)
		}
	}()
	if err := <-began; err != nil {
		return nil, err
	}
	return ended, nil
}

// End asks what is left of a group to end, and ends it when the grace is over.
func End(pid int, grace time.Duration) {
	const look = 10 * time.Millisecond
	Ask(pid)
	for waited := time.Duration(0); lives(pid); waited += look {
		if waited >= grace {
			Kill(pid)
			return
		}
		time.Sleep(look)
	}
}
