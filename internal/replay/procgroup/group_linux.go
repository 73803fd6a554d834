// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package procgroup

import "syscall"

// dieWithParent lets the kernel end the command when this process is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
