// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Run runs this program with the arguments inside, and returns its exit code. The namespace ends with the last process in it. An
// interrupt of ctx is handed on; when this process is killed, the kernel ends the other one.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	outside, err := os.Readlink(network)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	cmd.Env = append(os.Environ(), marker+"="+outside)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN}, // to switch the loopback on
		Pdeathsig:   syscall.SIGKILL,
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the end of this thread would end the program inside
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return 0, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		err = <-ended
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) && failed.ExitCode() >= 0 {
		return failed.ExitCode(), nil
	}
	return 0, err
}

// network names the network namespace of a process.
const network = "/proc/self/ns/net"

// enter makes sure that this is another network than the one outside, with nothing but a loopback: a variable alone proves nothing.
func enter(outside string) error {
	here, err := os.Readlink(network)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	only := len(interfaces) == 1 && interfaces[0].Flags&net.FlagLoopback != 0
	if !strings.HasPrefix(outside, "net:[") || outside == here || !only {
		return fmt.Errorf("%w: %s is set, and this is not the network of a lockdown", ErrImpossible, marker)
	}
	return loopbackUp()
}

// loopbackUp switches the loopback of a new namespace on. What is started here keeps the capability to change interfaces. An
// interface that it makes leads nowhere, for the other end of a pair lies in the same namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo)
	}
	if err == nil {
		lo.SetUint16(lo.Uint16() | unix.IFF_UP)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
	}
	if err != nil {
		return fmt.Errorf("%w: switch the loopback on: %w", ErrImpossible, err)
	}
	return nil
}
