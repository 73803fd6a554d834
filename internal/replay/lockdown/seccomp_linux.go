// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// auditArch are the architectures for which there is a filter. Both are little-endian, and clone takes its
// flags first.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32 is the bit in the number of a system call that asks for the third ABI of amd64, which has the audit
// architecture of the first.
const x32 = 0x40000000

// Places in struct seccomp_data: number, architecture, and the lower half of argument n. The kernel ignores
// the upper half of the arguments that are looked at here, so a filter that compared it could be walked
// around.
const (
	atNumber = 0
	atArch   = 4
)

func atArgument(n uint32) uint32 { return 16 + 8*n }

// newNamespaces are the flags of namespaces that nobody needs inside. The sandboxes of browsers and coding
// agents make the others, and end where they may not. In these namespaces they may mount: the kernel lets
// nobody take away or lay open there what is mounted outside of them, and outside of them nobody has the
// capability.
const newNamespaces = unix.CLONE_NEWCGROUP

// refusedCalls are refused whatever their arguments are.
var refusedCalls = []uint32{
	unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, // ways to mount that no sandbox needs
	unix.SYS_SETNS,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // a ring opens sockets, and no filter sees it
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, // the keyrings of the session outside are those inside
}

// filter is the program that decides on every system call of the command. It refuses with EPERM, which
// programs expect where they may not do something, and with ENOSYS what the C library then does otherwise.
func filter(goarch string) ([]bpf.Instruction, error) {
	arch, known := auditArch[goarch]
	if !known {
		return nil, fmt.Errorf("there is no filter of system calls for %s", goarch)
	}
	allow, refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1}, refuse, // ABIs with other numbers
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
	}
	if goarch == "amd64" {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1}, refuse)
	}
	for _, call := range refusedCalls {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, refuse)
	}
	p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, // its flags are in memory
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	// when decides on one system call; then ends by a return.
	when := func(call uint32, then ...bpf.Instruction) {
		p = append(append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(then))}), then...)
	}
	argument := func(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: atArgument(n), Size: 4} }
	when(unix.SYS_CLONE, argument(0), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1}, refuse, allow)
	when(unix.SYS_UNSHARE, argument(0), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces | unix.CLONE_NEWTIME, SkipFalse: 1}, refuse, allow)
	when(unix.SYS_IOCTL, argument(1), // typing into a terminal, and pasting into a console
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCLINUX, SkipFalse: 1}, refuse, allow)
	for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
		when(call, argument(0),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 5}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 3}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipFalse: 3},
			argument(2), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipFalse: 1}, // getifaddrs asks it for the addresses
			allow, refuse)
	}
	return append(p, allow), nil
}

// filterCalls puts the filter on this thread and all that it starts. There must be no way to new privileges.
func filterCalls() error {
	instructions, err := filter(runtime.GOARCH)
	if err == nil {
		_, err = setFilter(instructions, 0)
	}
	return err
}

// setFilter puts a filter on this thread, and returns what the kernel does.
func setFilter(instructions []bpf.Instruction, flags uintptr) (int, error) {
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return 0, err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
