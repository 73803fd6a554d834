// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// confine takes from this thread, and so from the command that it starts, what the command does not need, and
// says of each thing whether that was possible. The loopback is on when it is called, and the listeners are
// open. The files of the command are laid out before it may mount nothing any more; an error is that they
// cannot be.
func confine(files *Files) (e Enforced, err error) {
	e.Whole = true
	note := func(what string, needed bool, err error) {
		if err == nil {
			e.Held = append(e.Held, what)
			return
		}
		e.Lacking = append(e.Lacking, fmt.Sprintf("%s (%v)", what, err))
		e.Whole = e.Whole && !needed
	}
	note("namespaces: user, pid, net, mount, ipc", true, nil) // this process is their first one
	// Nothing that is mounted here may reach the mounts outside.
	private := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	mounted := func(mount func() error) error {
		if private != nil {
			return private
		}
		return mount()
	}
	// Numbers of processes inside are those of this namespace, and so must be /proc. Where the system hides
	// parts of /proc it refuses another one; the one outside then stays, which names other processes by these
	// numbers.
	note("/proc of its own", false, mounted(func() error {
		return unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}))
	note("/dev/pts of its own", false, mounted(ownTerminals))
	note("/proc/sys and /sys read-only", os.Getuid() == 0, mounted(settingsReadOnly)) // to others than root they are
	if files != nil {
		if err := mounted(files.mount); err != nil {
			return e, err
		}
		note("files of its own, all others read-only", true, nil)
	}
	note("new session", true, ownSession())
	note("no capabilities", true, dropCapabilities())
	privileges := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	note("no new privileges", true, privileges)
	if privileges == nil {
		privileges = filterCalls()
	}
	note("seccomp", true, privileges)
	return e, nil
}

// ownTerminals hides the pseudo-terminals of outside, which belong to the user that the command is.
func ownTerminals() error {
	options := "newinstance,ptmxmode=0666,mode=0620"
	const tty = "5" // the group of terminals, where this is one of those inside
	err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, options+",gid="+tty)
	if errors.Is(err, unix.EINVAL) {
		err = unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, options)
	}
	return err
}

// settingsReadOnly makes read-only what is no process in /proc, and /sys: a write there is allowed to who
// owns the file, without any capability, and root owns it.
func settingsReadOnly() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			continue // a process
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if entry.IsDir() || info.Mode().IsRegular() && info.Mode()&0o222 != 0 {
			if err := readOnly(filepath.Join("/proc", entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := readOnly("/sys"); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readOnly makes a path read-only with all that is mounted below it.
func readOnly(path string) error {
	err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, "")
	if err == nil {
		err = unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		return &fs.PathError{Op: "make read-only", Path: path, Err: err}
	}
	return nil
}

// ownSession looks whether this process leads a session, and has no terminal.
func ownSession() error {
	session, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	if session != os.Getpid() {
		return errors.New("it is the one of outside")
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		return errors.Join(errors.New("it has a terminal"), terminal.Close())
	}
	return nil
}

// dropCapabilities leaves this thread none, and none to be had by running a program.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) && c > unix.CAP_SETPCAP {
			break // the kernel knows no more
		} else if err != nil {
			return err
		}
	}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &make([]unix.CapUserData, 2)[0])
}

// allPorts lets the command listen where the recorded one may have: without capabilities, a port below 1024
// is refused otherwise.
func allPorts() {
	_ = os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o600) // an old kernel has no such setting
}
