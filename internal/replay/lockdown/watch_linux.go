// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// stageName is the second argument of this program where it stands in for the command until it is watched.
// Then it becomes the command.
const stageName = "watched"

// stageFD is the socket over which the stage hands over what tells of the command.
const stageFD = 3

// watchedCalls are the system calls that are told of. They are not held up: the kernel does what was asked
// for.
var watchedCalls = []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_CONNECT}

// watchFilter asks whoever listens about the watched calls, and lets all others pass. The filter before it
// has the last word.
func watchFilter(goarch string) ([]bpf.Instruction, error) {
	arch, known := auditArch[goarch]
	if !known {
		return nil, fmt.Errorf("there is no filter of system calls for %s", goarch)
	}
	allow, tell := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1}, allow, // refused by the filter before
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
	}
	for _, call := range watchedCalls {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, tell)
	}
	return append(p, allow), nil
}

// watched puts the filter on this thread, and returns what tells of the calls.
func watched() (listener int, err error) {
	instructions, err := watchFilter(runtime.GOARCH)
	if err != nil {
		return 0, err
	}
	// A call whose news was taken is not begun again by a signal, where the kernel can do that.
	listener, err = setFilter(instructions, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		listener, err = setFilter(instructions, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	return listener, err
}

// stage is what the command's process does first: it lets itself be watched, and becomes the command. The
// first process inside must not be watched itself: it could not go on while it waits for what it is to
// answer.
func stage(path string, argv []string) int {
	var stat unix.Stat_t
	if err := unix.Fstat(stageFD, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK || len(argv) == 0 {
		fmt.Fprintln(os.Stderr, "tapedeck: this is not the inside of a lockdown")
		return 2
	}
	unix.CloseOnExec(stageFD)
	runtime.LockOSThread() // a filter belongs to a thread
	listener, err := watched()
	var rights []byte
	told := answer{}
	if err != nil {
		told.Error = err.Error()
	} else {
		rights = unix.UnixRights(listener)
	}
	if err := unix.Sendmsg(stageFD, encoded(told), rights, nil, unix.MSG_NOSIGNAL); err != nil {
		return 2
	}
	if err == nil {
		_ = unix.Close(listener)
	}
	err = syscall.Exec(path, argv, os.Environ())
	_ = unix.Sendmsg(stageFD, encoded(answer{Error: (&fs.PathError{Op: "fork/exec", Path: path, Err: err}).Error()}), nil, nil, unix.MSG_NOSIGNAL)
	return 2
}

// start starts the command, watched where that can be had.
func (i *initial) start(path string, r run) (*os.Process, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "stage"), os.NewFile(uintptr(pair[1]), "stage")
	defer own.Close()
	argv := append([]string{initName, stageName, path}, r.Argv...)
	p, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{Dir: r.Dir, Env: r.Env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, theirs}})
	_ = theirs.Close()
	if err != nil {
		return nil, err
	}
	told, files, err := receive(own)
	if err != nil {
		return p, fmt.Errorf("the command was not begun: %w", err)
	}
	if len(files) == 1 {
		i.sight(sighting{Watched: true})
		go i.watch(files[0])
	} else {
		i.sight(sighting{Why: "the kernel does not tell which programs are started: " + told.Error})
	}
	if told, _, err = receive(own); !errors.Is(err, io.EOF) { // it is the command, or says why not
		return p, errors.Join(err, errors.New(told.Error))
	}
	return p, nil
}

// receive reads a packet with what came with it.
func receive(socket *os.File) (a answer, files []*os.File, err error) {
	body, control := make([]byte, maxAnswer), make([]byte, unix.CmsgSpace(4))
	n, nc := 0, 0
	for {
		n, nc, _, _, err = unix.Recvmsg(int(socket.Fd()), body, control, unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return a, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:nc])
	for i := range messages {
		fds, rightsErr := unix.ParseUnixRights(&messages[i])
		err = errors.Join(err, rightsErr)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "listener"))
		}
	}
	return a, files, errors.Join(err, json.Unmarshal(body[:n], &a))
}

// sight tells the program outside. If nobody is there to read it, obey ends the process.
func (i *initial) sight(s sighting) {
	line, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts and a truth value
	}
	i.sighting.Lock()
	defer i.sighting.Unlock()
	if i.sightings == nil {
		i.sightings = os.NewFile(sightingsFD, "sightings")
	}
	_, _ = i.sightings.Write(append(line, '\n'))
}

// notification is struct seccomp_notif, reply struct seccomp_notif_resp.
type notification struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Call  int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

type reply struct {
	ID    uint64
	Val   int64
	Error int32
	Flags uint32
}

// watch tells of the calls of the command and of all that it starts, until nobody is left.
func (i *initial) watch(listener *os.File) {
	defer listener.Close()
	fd := listener.Fd()
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT: // it was ended meanwhile
			continue
		default:
			i.sight(sighting{Why: "the kernel stopped telling which programs are started: " + errno.Error()})
			return
		}
		s := seenIn(&n)
		if s.Path != "" || s.Connect != "" {
			i.sight(s)
		}
		r := reply{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
		if errno != 0 && errno != unix.ENOENT && errno != unix.EINTR {
			i.sight(sighting{Why: "a call of the command could not go on: " + errno.Error()})
		}
	}
}

// Bounds of what is told of one program.
const (
	maxArguments = 64
	maxArgument  = 4096
	maxArgv      = 32 << 10
)

// seenIn reads what a call asks for, from the memory of the process that waits in it. What cannot be read is
// told as such.
func seenIn(n *notification) (s sighting) {
	pid := int(n.PID)
	if pid == 0 {
		return s
	}
	switch uint32(n.Call) {
	case unix.SYS_CONNECT:
		s.Connect = address(pid, n.Args[1], n.Args[2])
	case unix.SYS_EXECVE:
		s.Path, s.Argv = program(pid, n.Args[0], n.Args[1], "cwd")
	case unix.SYS_EXECVEAT:
		base := "cwd"
		if at := int32(n.Args[0]); at >= 0 {
			base = "fd/" + strconv.Itoa(int(at))
		}
		s.Path, s.Argv = program(pid, n.Args[1], n.Args[2], base)
	}
	return s
}

// program reads which program is to be started. A search through PATH tries some that are not there: those
// were not started.
func program(pid int, path, argv uint64, base string) (string, []string) {
	name, err := text(pid, path, maxArgument)
	if err != nil {
		return "a program whose name cannot be read", nil
	}
	own := "/proc/" + strconv.Itoa(pid) + "/"
	switch place := own + base; {
	case strings.HasPrefix(name, "/proc/self/"): // a program that starts itself
		if to, err := os.Readlink(own + strings.TrimPrefix(name, "/proc/self/")); err == nil {
			name = to
		}
	case name == "":
		if to, err := os.Readlink(place); err == nil {
			name = to
		}
	case filepath.IsAbs(name):
		if absent(name) {
			return "", nil
		}
	case absent(filepath.Join(place, name)):
		return "", nil
	}
	var args []string
	left := maxArgv
	for i := range uint64(maxArguments) {
		at, err := memory(pid, argv+8*i, 8)
		if err != nil || len(at) < 8 {
			break
		}
		pointer := binary.NativeEndian.Uint64(at)
		if pointer == 0 || left <= 0 {
			break
		}
		arg, err := text(pid, pointer, min(maxArgument, left))
		if err != nil {
			break
		}
		left -= len(arg)
		args = append(args, arg)
	}
	return name, args
}

func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// address reads an address of a network beyond the loopback; "" is none.
func address(pid int, at, size uint64) string {
	raw, err := memory(pid, at, int(min(size, unix.SizeofSockaddrInet6)))
	if err != nil || len(raw) < 4 {
		return ""
	}
	var ip netip.Addr
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET && len(raw) >= 8:
		ip, _ = netip.AddrFromSlice(raw[4:8])
	case family == unix.AF_INET6 && len(raw) >= 24:
		ip, _ = netip.AddrFromSlice(raw[8:24])
	default:
		return ""
	}
	if ip = ip.Unmap(); ip.IsLoopback() || ip.IsUnspecified() { // the system takes the latter for the former
		return ""
	}
	return net.JoinHostPort(ip.String(), strconv.Itoa(int(binary.BigEndian.Uint16(raw[2:4]))))
}

// text reads a text that ends with a zero byte, or its first bytes.
func text(pid int, at uint64, most int) (string, error) {
	var all []byte
	page := uint64(os.Getpagesize())
	for len(all) < most {
		piece, err := memory(pid, at, min(int(page-at%page), most-len(all)))
		if err != nil {
			return "", err
		}
		for i, b := range piece {
			if b == 0 {
				return string(append(all, piece[:i]...)), nil
			}
		}
		all, at = append(all, piece...), at+uint64(len(piece))
	}
	return string(all), nil
}

// memory reads the memory of another process, within one page.
func memory(pid int, at uint64, size int) ([]byte, error) {
	if size == 0 {
		return nil, unix.EFAULT
	}
	b := make([]byte, size)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(size)
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: size}}, 0)
	if err == nil && n == 0 {
		err = unix.EFAULT
	}
	return b[:max(n, 0)], err
}

// sightingsFD is where the first process inside tells what it sees.
const sightingsFD = 5

// watching is what the first process needs to tell of the command.
type watching struct {
	sighting  sync.Mutex
	sightings *os.File
}
