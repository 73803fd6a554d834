// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Cage is namespaces in which a command is going to run. Its first process is this program, which waits for the command.
type Cage struct {
	listeners int
	theirs    []*os.File // the other ends, until the process has them

	mu      sync.Mutex
	orders  *os.File      // what is to be done, a stream of JSON
	answers *net.UnixConn // one packet each
	exited  *int
	held    Enforced
	dir     string      // where the command runs; "" is here
	seen    <-chan Seen // once nobody is left inside
	tells   *os.File
}

// descriptors of the first process inside.
const (
	ordersFD  = 3
	answersFD = 4
)

// New makes cmd, which must not have been started, one that waits in namespaces of its own, with so many
// listeners on the loopback there, and where files is not nil these files. What cmd has as input and output
// is the command's later, but through a pipe where it is a terminal or a socket. The caller starts cmd within
// Seen, and calls Ready.
func New(cmd *exec.Cmd, listeners int, files *Files) (*Cage, error) {
	plan, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	if err := throughPipes(cmd); err != nil {
		return nil, err
	}
	orders, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	answers, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		_, _ = unix.Close(orders[0]), unix.Close(orders[1])
		return nil, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	c := &Cage{listeners: listeners, dir: cmd.Dir, orders: os.NewFile(uintptr(orders[0]), "orders")}
	c.theirs = []*os.File{os.NewFile(uintptr(orders[1]), "orders"), os.NewFile(uintptr(answers[1]), "answers")}
	tells, told, err := os.Pipe()
	if err != nil {
		_ = unix.Close(answers[0])
		return nil, errors.Join(err, c.Close())
	}
	c.tells, c.theirs = tells, append(c.theirs, told)
	own := os.NewFile(uintptr(answers[0]), "answers")
	conn, err := net.FileConn(own)
	_ = own.Close() // the connection has its own
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.answers = conn.(*net.UnixConn)
	cmd.Path, cmd.Args, cmd.Env, cmd.ExtraFiles = "/proc/self/exe", []string{initName, string(plan), strconv.Itoa(listeners)}, []string{}, c.theirs
	cmd.Dir = ""                            // the command's may be there inside alone
	a := &syscall.SysProcAttr{Setsid: true} // nothing ends it with this program: it sees that end, and cleans up
	cmd.SysProcAttr = a
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
	a.UidMappings, a.GidMappings = only(os.Getuid()), only(os.Getgid())
	if users, groups, ok := everybody(); ok {
		a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = users, groups, true
	}
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP} // for the loopback, the mounts and giving all up before the command runs
	if files != nil {
		a.AmbientCaps = append(a.AmbientCaps, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN) // with which the kernel keeps what an overlay holds
	}
	return c, nil
}

// throughPipes puts a pipe before what a command would get as output and is neither a file nor a pipe: from a
// terminal it could read what is typed there, from a socket what comes. As input that is refused.
func throughPipes(cmd *exec.Cmd) error {
	connected := func(stream any) bool {
		f, file := stream.(*os.File)
		if !file {
			return false // os/exec makes a pipe
		}
		info, err := f.Stat()
		return err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeNamedPipe == 0
	}
	if connected(cmd.Stdin) {
		return errors.New("the input of a command in a lockdown is a file or a pipe")
	}
	type piped struct{ io.Writer } // no file to os/exec
	out, err := connected(cmd.Stdout), connected(cmd.Stderr)
	both := out && err && cmd.Stdout == cmd.Stderr
	if out {
		cmd.Stdout = &piped{cmd.Stdout}
	}
	if both {
		cmd.Stderr = cmd.Stdout // one pipe keeps the order
	} else if err {
		cmd.Stderr = &piped{cmd.Stderr}
	}
	return nil
}

// only maps one user or group to itself.
func only(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
}

// everybody maps all users and groups to themselves, where this process may: files have the owners inside
// that they have outside.
func everybody() (users, groups []syscall.SysProcIDMap, ok bool) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	const need = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	if err := unix.Capget(&header, &data[0]); err != nil || data[0].Effective&need != need {
		return nil, nil, false
	}
	users, groups = identity("/proc/self/uid_map"), identity("/proc/self/gid_map")
	return users, groups, users != nil && groups != nil
}

// identity reads which ids there are here, and maps each to itself.
func identity(file string) (list []syscall.SysProcIDMap) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil {
			return nil
		}
		list = append(list, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return list
}

// Ready waits until the namespaces are there and returns the listeners.
func (c *Cage) Ready() (listeners []net.Listener, err error) {
	for _, f := range c.theirs {
		_ = f.Close() // the process has them
	}
	c.theirs = nil
	seen := make(chan Seen, 1)
	c.seen = seen
	go func() {
		seen <- gather(c.tells)
		_ = c.tells.Close()
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	a, files, err := c.answer()
	if err == nil && a.Enforced == nil {
		err = errors.New("the first process inside does not say what it enforces")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrImpossible, err)
	}
	c.held = *a.Enforced
	for _, f := range files {
		l, listenErr := net.FileListener(f)
		_ = f.Close() // the listener has its own
		if listenErr != nil {
			err = errors.Join(err, listenErr)
			continue
		}
		listeners = append(listeners, l)
	}
	return listeners, err
}

// Enforced says what holds for the command, when Ready has returned.
func (c *Cage) Enforced() Enforced { return c.held }

// Seen is what was seen of the command, when everything inside has ended. It is to be asked for once, after
// Ready.
func (c *Cage) Seen() Seen {
	if c.seen == nil {
		return Seen{Why: "nothing has run"}
	}
	return <-c.seen
}

// answer reads one packet.
func (c *Cage) answer() (a answer, files []*os.File, err error) {
	body, control := make([]byte, maxAnswer), make([]byte, unix.CmsgSpace(4*(c.listeners+1)))
	n, nc, _, _, err := c.answers.ReadMsgUnix(body, control)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return a, nil, fmt.Errorf("the first process inside has ended: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:nc])
	if err != nil {
		return a, nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return a, files, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "inside"))
		}
	}
	if err := json.Unmarshal(body[:n], &a); err != nil {
		return a, files, err
	}
	if a.Exited != nil {
		c.exited = a.Exited
		return a, files, errors.New("the command has ended")
	}
	if a.Error != "" {
		return a, files, errors.New(a.Error)
	}
	return a, files, nil
}

// maxAnswer bounds a packet, in bytes.
const maxAnswer = 4096

// ask gives an order and waits for the answer. Orders are done one after the other.
func (c *Cage) ask(o order) ([]*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.NewEncoder(c.orders).Encode(o); err != nil {
		return nil, err
	}
	_, files, err := c.answer()
	return files, err
}

// Run lets the command begin. remove is a folder that is removed inside if this program is killed; grace is for what the command leaves
// behind, which is asked to end and then killed.
func (c *Cage) Run(argv, env []string, remove string, grace time.Duration) error {
	dir := c.dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	_, err := c.ask(order{Run: &run{Argv: argv, Env: env, Dir: dir, Grace: grace, Remove: remove}})
	return err
}

// Dial connects to an address of the loopback inside.
func (c *Cage) Dial(_ context.Context, address string) (net.Conn, error) {
	files, err := c.ask(order{Dial: address})
	if err != nil || len(files) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%s cannot be reached inside", address))
	}
	conn, err := net.FileConn(files[0])
	return conn, errors.Join(err, files[0].Close())
}

// ExitCode is that of the command, once the first process has ended; code is what that one ended with.
func (c *Cage) ExitCode(code int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.exited == nil {
		if _, _, err := c.answer(); err != nil {
			break
		}
	}
	if c.exited != nil {
		return *c.exited
	}
	return code
}

// Close ends everything inside, if it has not ended.
func (c *Cage) Close() error {
	err := c.orders.Close()
	for _, f := range c.theirs {
		err = errors.Join(err, f.Close())
	}
	c.theirs = nil
	if c.answers != nil {
		err = errors.Join(err, c.answers.Close())
	}
	if c.seen == nil && c.tells != nil { // else who reads it closes it, when it ends
		err = errors.Join(err, c.tells.Close())
	}
	return err
}

// encoded is an answer as a packet.
func encoded(a answer) []byte {
	if len(a.Error) > maxAnswer/4 {
		a.Error = a.Error[:maxAnswer/4] // JSON may write six bytes for one: control characters are not in texts of errors
	}
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // a text and a number
	}
	return bytes.TrimSpace(body)
}
