// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inside is the work of the first process: it makes the network ready, opens listeners for the program outside, runs the command, and takes
// in what loses its parent. When it ends the kernel ends everything inside.
func inside() int {
	if len(os.Args) > 2 && os.Args[1] == stageName {
		return stage(os.Args[2], os.Args[3:])
	}
	var stat unix.Stat_t
	if err := unix.Fstat(answersFD, &stat); err != nil || os.Getpid() != 1 || stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		fmt.Fprintln(os.Stderr, "tapedeck: this is not the inside of a lockdown")
		return 2
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // what it has open and in memory is not the command's
		fmt.Fprintln(os.Stderr, "tapedeck: ", err)
		return 2
	}
	if err := ownFiles(); err != nil {
		fmt.Fprintln(os.Stderr, "tapedeck: ", err)
		return 2
	}
	// A group is asked to end as a whole, this process with it, which ends when the command has.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	runtime.LockOSThread() // capabilities belong to a thread; the command is started by this one
	i := &initial{}
	listeners, err := strconv.Atoi(os.Args[len(os.Args)-1])
	var files []*os.File
	var own *Files
	if err == nil {
		err = json.Unmarshal([]byte(os.Args[1]), &own)
	}
	if err == nil {
		files, err = prepare(listeners)
	}
	if err != nil {
		i.say(answer{Error: err.Error()})
		return 2
	}
	enforced, err := confine(own)
	if err != nil {
		i.say(answer{Error: err.Error()})
		return 2
	}
	i.say(answer{Enforced: &enforced}, files...)
	for _, f := range files {
		_ = f.Close() // the program outside has them
	}
	wanted := make(chan run)
	go i.obey(wanted)
	command := <-wanted
	code, err := i.run(command)
	if err != nil {
		i.say(answer{Error: err.Error()})
		return 2
	}
	i.ending.Lock()
	i.say(answer{Exited: &code})
	return 0
}

// ownFiles keeps from the command what this process has open but input and output: the sockets to the program
// outside, and whatever that one was started with.
func ownFiles() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// initial is the first process.
type initial struct {
	watching
	remove string     // touched by obey alone
	ending sync.Mutex // held by who ends the process
}

// say sends a packet with files. If nobody is there to read it, obey ends the process.
func (i *initial) say(a answer, files ...*os.File) {
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for n, f := range files {
			fds[n] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	_ = unix.Sendmsg(answersFD, encoded(a), rights, nil, unix.MSG_NOSIGNAL)
}

// prepare switches the loopback on and opens the listeners.
func prepare(listeners int) (files []*os.File, err error) {
	if err := loopbackUp(); err != nil {
		return nil, err
	}
	allPorts()
	for range listeners {
		l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return nil, err
		}
		f, err := l.File()
		if err := errors.Join(err, l.Close()); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// obey does what the program outside asks for. Its end is the end of everything inside.
func (i *initial) obey(wanted chan<- run) {
	orders := json.NewDecoder(os.NewFile(ordersFD, "orders"))
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			i.ending.Lock()
			_ = unix.Kill(-1, unix.SIGKILL) // nobody writes to the folder any more
			if i.remove != "" {
				_ = os.RemoveAll(i.remove)
			}
			os.Exit(1)
		}
		switch {
		case o.Run != nil:
			i.remove = o.Run.Remove
			wanted <- *o.Run
		case o.Dial != "":
			i.dial(o.Dial)
		}
	}
}

// dialTimeout bounds a connection over loopback.
const dialTimeout = 5 * time.Second

func (i *initial) dial(address string) {
	conn, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		i.say(answer{Error: err.Error()})
		return
	}
	f, err := conn.(*net.TCPConn).File()
	if err == nil {
		i.say(answer{}, f)
		err = f.Close()
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		i.say(answer{Error: err.Error()})
	}
}

// run runs the command and waits for all that ends inside. What the command leaves behind is asked to end, and ends with this process.
func (i *initial) run(r run) (code int, err error) {
	path, err := lookPath(r)
	if err != nil {
		return 0, err
	}
	p, err := i.start(path, r)
	if err != nil {
		return 0, err
	}
	i.say(answer{})
	return i.wait(p.Pid, r.Grace), nil
}

// lookPath finds the command as the shell does, in the PATH that it gets.
func lookPath(r run) (string, error) {
	for _, v := range r.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	if err := os.Chdir(r.Dir); err != nil {
		return "", err
	}
	return exec.LookPath(r.Argv[0])
}

// wait returns the exit code of the command, -1 when a signal ended it, when nothing is left inside or the grace is over.
func (i *initial) wait(command int, grace time.Duration) (code int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return code // nobody is left
		case pid == command:
			code = status.ExitStatus() // -1 after a signal
			_ = unix.Kill(-1, unix.SIGTERM)
			time.AfterFunc(grace, func() {
				i.ending.Lock()
				i.say(answer{Exited: &code})
				os.Exit(0)
			})
		}
	}
}

// loopbackUp switches the loopback of a new namespace on.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
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
		return fmt.Errorf("switch the loopback on: %w", err)
	}
	return nil
}
