// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	probeVariable  = "TAPEDECK_TEST_PROBE" // what the test binary does as the command in a cage
	userVariable   = "TAPEDECK_TEST_USER"  // the test runs as this user, on a terminal
	placeVariable  = "TAPEDECK_TEST_PLACE"
	socketVariable = "TAPEDECK_TEST_SOCKET"
)

func TestMain(m *testing.M) {
	Main()
	if what := os.Getenv(probeVariable); what != "" {
		if err := json.NewEncoder(os.Stdout).Encode(probes[what]()); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// asUsers runs the test that calls it once for each user that can be had, in a session with a terminal, and
// reports whether this is such a run. That terminal is the file with number 0.
func asUsers(t *testing.T) bool {
	t.Helper()
	if os.Getenv(userVariable) != "" {
		return true
	}
	users := []int{os.Getuid()}
	if os.Getuid() == 0 {
		users = append(users, 65534)
	}
	for _, user := range users {
		terminal, other := newTerminal(t)
		if err := other.Chown(user, -1); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Args[0], cmd.Dir, cmd.Stdin = "/proc/self/exe", "/", other
		cmd.Env = append(os.Environ(), userVariable+"="+strconv.Itoa(user), "TMPDIR="+openDir(t))
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		if user != os.Getuid() {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		}
		out, err := cmd.CombinedOutput()
		if bytes.Contains(out, []byte("--- SKIP: "+t.Name())) {
			t.Skipf("as %d: %s", user, out)
		}
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("as %d: %v\n%s", user, err, out)
		}
		_ = terminal.Close()
	}
	return false
}

// openDir is a folder in which everybody may write.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tapedeck-lockdown-")
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// listening is the address of a Unix socket at which this process listens.
func listening(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return address
}

// newTerminal makes a pseudo-terminal and returns both its ends.
func newTerminal(t *testing.T) (terminal, other *os.File) {
	t.Helper()
	terminal, other, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = terminal.Close(), other.Close() })
	return terminal, other
}

func openTerminal() (terminal, other *os.File, err error) {
	if terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		other, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return terminal, other, err
}

// caged runs this binary as a command in a cage and returns what it found there, by name, and what was
// enforced.
func caged(t *testing.T, what string, env ...string) (found map[string]string, e Enforced) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code, e := inCage(t, &stdout, &stderr, []string{"/proc/self/exe"}, append(env, probeVariable+"="+what)...)
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil || code != 0 {
		t.Fatalf("%v: code %d: %s%s", err, code, stdout.String(), stderr.String())
	}
	return found, e
}

// inCage runs a command in a cage.
func inCage(t *testing.T, stdout, stderr io.Writer, argv []string, env ...string) (code int, e Enforced) {
	t.Helper()
	code, e, _ = seenInCage(t, stdout, stderr, nil, argv, env...)
	return code, e
}

// seenInCage runs a command in a cage, and returns what was seen of it.
func seenInCage(t *testing.T, stdout, stderr io.Writer, files *Files, argv []string, env ...string) (code int, e Enforced, s Seen) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0])
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cage, err := New(cmd, 1, files)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		_ = cage.Close()
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("no namespaces here: ", err)
	}
	listeners, err := cage.Ready()
	if err == nil {
		err = cage.Run(argv, append([]string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, env...), "", time.Second)
	}
	for _, l := range listeners {
		_ = l.Close()
	}
	if err != nil {
		t.Fatal(errors.Join(err, cage.Close(), cmd.Wait()))
	}
	_ = cmd.Wait()
	code = cage.ExitCode(cmd.ProcessState.ExitCode())
	if err := cage.Close(); err != nil {
		t.Error(err)
	}
	return code, cage.Enforced(), cage.Seen()
}

// probes are what the test binary does as a command. Each returns what came of every try, by name.
var probes = map[string]func() map[string]string{"ways": waysOut, "needs": needs, "sight": sight, "nest": nest, "nested": nested, "again": again, "nothing": func() map[string]string { return nil }}

// name is how a failure is compared: the name of its number, "" for none.
func name(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func call(number, a, b, c uintptr) string {
	if _, _, errno := unix.RawSyscall(number, a, b, c); errno != 0 {
		return unix.ErrnoName(errno)
	}
	return ""
}

// families are those of sockets that the command may have.
var families = []int{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}

// waysOut tries everything that must be refused.
func waysOut() map[string]string {
	found := map[string]string{}
	write := func(path string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		found["write "+path] = name(err)
	}
	// Terminals.
	_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	found["the terminal of the session"] = name(err)
	_, err = os.OpenFile(os.Getenv(placeVariable), os.O_RDWR|unix.O_NOCTTY, 0)
	found["a terminal of outside"] = name(err)
	found["output is a terminal"] = call(unix.SYS_IOCTL, 1, unix.TCGETS, uintptr(unsafe.Pointer(&unix.Termios{})))
	_, terminal, err := openTerminal()
	if err != nil {
		found["a terminal of its own"] = err.Error()
		return found
	}
	key := byte('x')
	for what, command := range map[string]uintptr{"TIOCSTI": unix.TIOCSTI, "TIOCSTI with an upper half": unix.TIOCSTI | 1<<32, "TIOCLINUX": unix.TIOCLINUX} {
		found[what] = call(unix.SYS_IOCTL, terminal.Fd(), command, uintptr(unsafe.Pointer(&key)))
	}
	// Mounts.
	found["mount"] = name(unix.Mount("none", "/tmp", "tmpfs", 0, ""))
	found["remount"] = name(unix.Mount("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	found["umount"] = name(unix.Unmount("/proc", unix.MNT_DETACH))
	found["pivot_root"] = name(unix.PivotRoot("/", "/"))
	for what, number := range map[string]uintptr{
		"move_mount": unix.SYS_MOVE_MOUNT, "mount_setattr": unix.SYS_MOUNT_SETATTR, "open_tree": unix.SYS_OPEN_TREE, "open_tree_attr": unix.SYS_OPEN_TREE_ATTR, "fsopen": unix.SYS_FSOPEN,
		"fsconfig": unix.SYS_FSCONFIG, "fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL, "clone3": unix.SYS_CLONE3,
	} {
		found[what] = call(number, 0, 0, 0)
	}
	// Namespaces.
	for what, flag := range namespaceFlags {
		found["unshare "+what] = call(unix.SYS_UNSHARE, flag, 0, 0)
		if what != "time" { // a bit of the signal, to clone
			found["clone "+what] = call(unix.SYS_CLONE, flag|uintptr(unix.SIGCHLD), 0, 0)
		}
	}
	if own, err := os.Open("/proc/self/ns/net"); err == nil {
		found["setns"] = name(unix.Setns(int(own.Fd()), 0))
	}
	// Sockets.
	for family := range 64 {
		if slices.Contains(families, family) {
			continue
		}
		for _, protocol := range []int{0, 1, 12, 15, 768} {
			if family == unix.AF_NETLINK && protocol == unix.NETLINK_ROUTE {
				continue
			}
			_, err := unix.Socket(family, unix.SOCK_RAW, protocol)
			found[fmt.Sprintf("socket %d, protocol %d", family, protocol)] = name(err)
			_, err = unix.Socketpair(family, unix.SOCK_DGRAM, protocol)
			found[fmt.Sprintf("pair of sockets %d, protocol %d", family, protocol)] = name(err)
		}
	}
	if runtime.GOARCH == "amd64" {
		found["x32"] = call(unix.SYS_GETPID|x32, 0, 0, 0)
	}
	// Settings of the machine.
	for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward", "/proc/irq/default_smp_affinity", "/sys/kernel/mm/transparent_hugepage/enabled"} {
		if _, err := os.Stat(path); err == nil {
			write(path)
		}
	}
	// The first process, and the program outside.
	_, err = os.ReadFile("/proc/1/environ")
	found["environment of the first process"] = name(err)
	_, err = os.Open("/proc/1/mem")
	found["memory of the first process"] = name(err)
	_, err = os.Readlink("/proc/1/fd/3")
	found["files of the first process"] = name(err)
	found["trace the first process"] = name(unix.PtraceSeize(1))
	b := make([]byte, 1)
	_, err = unix.ProcessVMReadv(1, []unix.Iovec{{Base: &b[0], Len: 1}}, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
	found["read the first process"] = name(err)
	if first, err := unix.PidfdOpen(1, 0); err == nil {
		_, err = unix.PidfdGetfd(first, 3, 0)
		found["take a file of the first process"] = name(err)
	}
	_, err = net.Dial("unix", os.Getenv(socketVariable))
	found["an abstract Unix socket of outside"] = name(err)
	// Rights of root.
	found["file of another user"] = name(unix.Access("/etc/shadow", unix.R_OK|unix.W_OK)) // says what the real user may, with capabilities
	found["chown"] = name(os.Chown(os.Getenv("OWN_FILE"), 12345, -1))
	found["become another user"] = name(unix.Setresuid(12345, 12345, 12345))
	return found
}

var namespaceFlags = map[string]uintptr{
	"mount": unix.CLONE_NEWNS, "cgroup": unix.CLONE_NEWCGROUP, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "pid": unix.CLONE_NEWPID,
	"net": unix.CLONE_NEWNET, "time": unix.CLONE_NEWTIME,
}

// nest runs this binary in namespaces within those of the cage, with the capabilities that it has there.
func nest() (found map[string]string) {
	only := []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	for _, dir := range []string{"tmpfs", "at"} {
		if err := os.Mkdir(filepath.Join(os.TempDir(), dir), 0o700); err != nil {
			return map[string]string{"start": err.Error()}
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), probeVariable+"=nested")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_CHROOT, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH},
	}
	if os.Getuid() != 0 { // no namespace within has the root of this one
		cmd.SysProcAttr.UidMappings, cmd.SysProcAttr.GidMappings = only, only
	}
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		return map[string]string{"start": err.Error()}
	}
	return found
}

// nested tries to undo from within what holds in the cage.
func nested() map[string]string {
	found := map[string]string{}
	at := filepath.Join(os.TempDir(), "at")
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("none", filepath.Join(os.TempDir(), "tmpfs"), "tmpfs", 0, "")); err != nil {
		found["mount anything"] = err.Error() // nothing else says anything then
	}
	for _, path := range []string{"/proc/sys", "/proc", "/sys", "/dev/pts"} {
		found["umount "+path] = name(unix.Unmount(path, unix.MNT_DETACH))
		if path == "/proc" || path == "/sys" {
			found["lay open "+path] = name(unix.Mount(path, at, "", unix.MS_BIND, "")) // without what is mounted on it
		}
	}
	for _, path := range []string{"/proc/sys", "/sys"} {
		found["remount "+path] = name(unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RELATIME, ""))
	}
	if err := unix.Mount("/proc/sys", at, "", unix.MS_BIND, ""); err != nil {
		found["copy"] = name(err)
	}
	found["remount a copy"] = name(unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RELATIME, ""))
	found["lay open /"] = name(unix.Mount("/", at, "", unix.MS_BIND, ""))
	for _, kind := range []string{"proc", "sysfs", "cgroup2", "cgroup", "debugfs"} {
		found["mount "+kind] = name(unix.Mount(kind, at, kind, 0, ""))
	}
	for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward", at + "/kernel/core_pattern"} {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		found["write "+path] = name(err)
	}
	_, err := os.OpenFile(os.Getenv(placeVariable), os.O_RDWR|unix.O_NOCTTY, 0)
	found["a terminal of outside"] = name(err)
	if handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, os.TempDir(), 0); err == nil {
		root, err := os.Open("/")
		if err == nil {
			_, err = unix.OpenByHandleAt(int(root.Fd()), handle, unix.O_RDONLY)
		}
		found["open by handle"] = name(err)
	}
	_, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	found["vsock"] = name(err)
	_, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)
	found["netfilter"] = name(err)
	found["setns"] = call(unix.SYS_SETNS, 0, 0, 0)
	found["cgroups"] = call(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP, 0, 0)
	return found
}

// needs does what programs have to be able to.
func needs() map[string]string {
	found := map[string]string{}
	for _, family := range families {
		_, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		found[fmt.Sprintf("socket %d", family)] = name(err)
	}
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	found["pair of sockets"] = name(err)
	interfaces, err := net.Interfaces() // over NETLINK_ROUTE
	found["interfaces"] = name(err)
	if len(interfaces) != 1 || interfaces[0].Flags&net.FlagUp == 0 {
		found["interfaces"] = fmt.Sprint(interfaces)
	}
	l, err := net.Listen("tcp", "127.0.0.1:80")
	found["listen at a port below 1024"] = name(err)
	if err == nil {
		_, err = net.Dial("tcp", l.Addr().String())
		found["connect"] = name(err)
	}
	_, _, err = openTerminal()
	found["a terminal of its own"] = name(err)
	found["a program"] = name(exec.Command("true").Run())
	session := exec.Command("true")
	session.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	found["a session"] = name(session.Run())
	found["a setting of its own process"] = name(os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0o600))
	_, err = net.Dial("unix", os.Getenv(socketVariable)) // no promise: docs/replay.md says so
	found["a Unix socket in the file system"] = name(err)
	found["a file"] = name(os.WriteFile(filepath.Join(os.TempDir(), "x"), nil, 0o600))
	found["rules of its own"] = name(unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&unix.SockFprog{
		Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	})), 0, 0))
	return found
}

// sight says what the kernel says of this process.
func sight() map[string]string {
	found := map[string]string{}
	status, _ := os.Open("/proc/thread-self/status")
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if field, value, ok := strings.Cut(lines.Text(), ":"); ok {
			found[field] = strings.TrimSpace(value)
		}
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil {
			found["open"] += target + "\n"
		}
	}
	session, _ := unix.Getsid(0)
	found["session"] = strconv.Itoa(session)
	found["environment"] = strings.Join(os.Environ(), "\n")
	return found
}

// TestEveryWayOutIsRefused tries them from inside, as root too.
func TestEveryWayOutIsRefused(t *testing.T) {
	if !asUsers(t) {
		return
	}
	terminal, err := os.Readlink("/proc/self/fd/0")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
		t.Fatal("outside there is a terminal: ", err)
	} else {
		_ = f.Close()
	}
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, _ := caged(t, "ways", placeVariable+"="+terminal, "OWN_FILE="+own, socketVariable+"="+listening(t, "@tapedeck-"+rand.Text()))
	want := map[string]string{
		"the terminal of the session": "ENXIO", "a terminal of outside": "ENOENT", "output is a terminal": "ENOTTY", "clone3": "ENOSYS",
		"environment of the first process": "EACCES", "memory of the first process": "EACCES", "files of the first process": "EACCES", "file of another user": "EACCES",
		"an abstract Unix socket of outside": "ECONNREFUSED",
	}
	readOnly := "EROFS"
	if os.Getuid() == 0 {
		delete(found, "file of another user") // it is root's own
	} else {
		readOnly = "EACCES"                                             // it is not its file either
		want["chown"], want["become another user"] = "EINVAL", "EINVAL" // there is no other user inside
	}
	for what, got := range found {
		expected, ok := want[what]
		if !ok {
			expected = "EPERM"
		}
		if strings.HasPrefix(what, "write ") {
			expected = readOnly
		}
		if got != expected {
			t.Errorf("%s: %q, want %q", what, got, expected)
		}
	}
	if len(found) < 600 { // as many as are tried
		t.Errorf("%d ways", len(found))
	}
}

// TestNamespacesInsideUndoNothing tries it with all capabilities that are to be had there.
func TestNamespacesInsideUndoNothing(t *testing.T) {
	if !asUsers(t) {
		return
	}
	terminal, err := os.Readlink("/proc/self/fd/0")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := caged(t, "nest", placeVariable+"="+terminal, "TMPDIR="+t.TempDir())
	want := map[string][]string{"umount": {"EINVAL"}, "lay": {"EINVAL"}, "write": {"EROFS", "EACCES"}, "a": {"ENOENT"}}
	for what, got := range found {
		kind, _, _ := strings.Cut(what, " ")
		expected, ok := want[kind]
		if !ok {
			expected = []string{"EPERM"}
		}
		if !slices.Contains(expected, got) {
			t.Errorf("%s: %q, want %q", what, got, expected)
		}
	}
	if len(found) < 20 {
		t.Errorf("%q", found)
	}
}

// TestTheSandboxesOfProgramsWorkInside runs real ones, as a user who is not root: as root they refuse, or are
// no sandbox.
func TestTheSandboxesOfProgramsWorkInside(t *testing.T) {
	if !asUsers(t) || os.Getuid() == 0 {
		return
	}
	for program, of := range map[string]struct {
		args []string
		want string
	}{
		"chromium": {[]string{"--headless", "--disable-gpu", "--dump-dom", "data:text/html,<p>in a browser</p>"}, "<p>in a browser</p>"},
		"bwrap": {[]string{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--new-session", "--die-with-parent",
			"sh", "-c", "echo in bubblewrap; touch /etc/x"}, "in bubblewrap"},
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Log(program, " is not installed")
			continue
		}
		var stdout, stderr bytes.Buffer
		home := openDir(t) // short, for the sockets in it
		code, _ := inCage(t, &stdout, &stderr, append([]string{path}, of.args...), "HOME="+home, "TMPDIR="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
		if !strings.Contains(stdout.String(), of.want) || program == "chromium" && code != 0 || program == "bwrap" && !strings.Contains(stderr.String(), "Read-only file system") {
			t.Errorf("%s: code %d: %s%s", program, code, stdout.String(), stderr.String())
		}
	}
}

func TestWhatProgramsNeedWorksInside(t *testing.T) {
	if !asUsers(t) {
		return
	}
	found, _ := caged(t, "needs", "TMPDIR="+t.TempDir(), socketVariable+"="+listening(t, filepath.Join(openDir(t), "s")))
	for what, got := range found {
		if got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if len(found) == 0 {
		t.Error("nothing was tried")
	}
}

// TestTheCommandHasNothingOfTheProgramOutside looks at capabilities, the session, files that are left open
// and the environment.
func TestTheCommandHasNothingOfTheProgramOutside(t *testing.T) {
	if !asUsers(t) {
		return
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0) // not closed on exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ends[0])
	defer unix.Close(ends[1])
	t.Setenv("TAPEDECK_TEST_SECRET", "s3cret")
	found, e := caged(t, "sight")
	for field, want := range map[string]string{
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2", "session": "1", "environment": "PATH=/usr/bin:/bin:/usr/sbin:/sbin\n" + probeVariable + "=sight",
	} {
		if found[field] != want {
			t.Errorf("%s is %q, want %q", field, found[field], want)
		}
	}
	if strings.Contains(found["open"], "socket:") {
		t.Errorf("open is\n%s", found["open"])
	}
	all := []string{
		"namespaces: user, pid, net, mount, ipc", "/proc of its own", "/dev/pts of its own", "/proc/sys and /sys read-only", "new session", "no capabilities", "no new privileges",
		"seccomp",
	}
	if !e.Whole || !slices.Equal(e.Held, all) || len(e.Lacking) != 0 {
		t.Errorf("enforced is %+v", e)
	}
}

// TestTheFirstProcessHasNoEnvironment looks at it from outside, as root and as its own user.
func TestTheFirstProcessHasNoEnvironment(t *testing.T) {
	if !asUsers(t) {
		return
	}
	t.Setenv("TAPEDECK_TEST_SECRET", "s3cret")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cage, err := New(cmd, 0, nil)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Skip("no namespaces here: ", err)
	}
	defer func() { _, _ = cage.Close(), cmd.Wait() }()
	if _, err := cage.Ready(); err != nil {
		t.Fatal(err)
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if os.Getuid() == 0 && err != nil || os.Getuid() != 0 && !errors.Is(err, unix.EACCES) || len(environ) != 0 {
		t.Errorf("%v: %q", err, environ)
	}
}

// exit42 is a program for the 32-bit ABI of amd64 that ends with code 42, or crashes where it may not: one
// segment, mov eax, 1; mov ebx, 42; int 0x80; ud2.
var exit42 = append(elf32(), 0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80, 0x0f, 0x0b)

func elf32() []byte {
	const size, base = 84 + 14, 0x08048000
	b := make([]byte, 84)
	copy(b, "\x7fELF\x01\x01\x01")
	for at, v := range map[int]uint32{16: 2 | 3<<16, 20: 1, 24: base + 84, 28: 52, 40: 52 | 32<<16, 44: 1, 52: 1, 60: base, 64: base, 68: size, 72: size, 76: 5, 80: 4096} {
		b[at], b[at+1], b[at+2], b[at+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	return b
}

func TestTheThirtyTwoBitABIIsRefused(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is one of amd64")
	}
	if !asUsers(t) {
		return
	}
	program := filepath.Join(t.TempDir(), "exit42")
	if err := os.WriteFile(program, exit42, 0o700); err != nil {
		t.Fatal(err)
	}
	err := exec.CommandContext(t.Context(), program).Run()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != 42 {
		t.Skip("this kernel runs no such programs: ", err)
	}
	if code, _ := inCage(t, nil, nil, []string{program}); code != -1 { // a signal ended it
		t.Errorf("code %d", code)
	}
}

// withoutCall takes a system call from this process, with what an old kernel answers.
func withoutCall(t *testing.T, number uint32) {
	t.Helper()
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: atNumber, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		t.Fatal(err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})))
	if errno != 0 {
		t.Skip("no seccomp here: ", errno)
	}
}

// What a kernel does not have is not claimed.
func TestWhatCannotBeHadIsNotClaimed(t *testing.T) {
	for _, of := range []struct {
		name    string
		call    uint32
		lacking []string
		whole   bool // for others than root
	}{
		{"seccomp", unix.SYS_SECCOMP, []string{"seccomp (function not implemented)"}, false},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, []string{"/proc/sys and /sys read-only (make read-only /proc/acpi: function not implemented)"}, true},
		{"mount", unix.SYS_MOUNT, []string{"/proc of its own (function not implemented)", "/dev/pts of its own (function not implemented)", "/proc/sys and /sys read-only (function not implemented)"}, true},
	} {
		t.Run(of.name, func(t *testing.T) {
			if !asUsers(t) {
				return
			}
			withoutCall(t, of.call)
			found, e := caged(t, "sight")
			slash := func(s string) string { before, _, _ := strings.Cut(s, " (make read-only"); return before } // what is first in /proc differs
			var got, want []string
			for _, s := range e.Lacking {
				got = append(got, slash(s))
			}
			for _, s := range of.lacking {
				want = append(want, slash(s))
			}
			if !slices.Equal(got, want) || len(e.Held)+len(e.Lacking) != 8 || e.Whole != (of.whole && os.Getuid() != 0) {
				t.Errorf("%+v, want %q", e, want)
			}
			if of.name == "seccomp" && found["Seccomp_filters"] != "1" { // ours is the one of this test
				t.Errorf("%q filters", found["Seccomp_filters"])
			}
		})
	}
}

// TestTheFilterDecides runs the filter by itself, for each architecture with the numbers of the one that this
// is built for.
func TestTheFilterDecides(t *testing.T) {
	const allow, eperm, enosys = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	for goarch, arch := range auditArch {
		program, err := filter(goarch)
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		decide := func(arch, number uint32, arguments ...uint64) uint32 {
			data := make([]byte, 64) // the machine reads big-endian words
			put := func(at uint32, v uint32) {
				data[at], data[at+1], data[at+2], data[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
			}
			put(atNumber, number)
			put(atArch, arch)
			for i, a := range arguments {
				put(atArgument(uint32(i)), uint32(a))
			}
			n, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			return uint32(n)
		}
		for _, of := range []struct {
			what      string
			number    uint32
			arguments []uint64
			want      uint32
		}{
			{"read", unix.SYS_READ, nil, allow},
			{"ioctl", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, allow},
			{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, eperm},
			{"TIOCLINUX", unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, eperm},
			{"thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, allow},
			{"namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWCGROUP}, eperm},
			{"sandbox", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET}, allow},
			{"unshare files", unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, allow},
			{"unshare time", unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}, eperm},
			{"clone3", unix.SYS_CLONE3, nil, enosys},
			{"inet", unix.SYS_SOCKET, []uint64{unix.AF_INET}, allow},
			{"inet6", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, allow},
			{"unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, allow},
			{"route", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
			{"netfilter", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, eperm},
			{"vsock", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK}, eperm},
			{"pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX}, allow},
			{"pair of TIPC", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC}, eperm},
			{"setns", unix.SYS_SETNS, nil, eperm},
			{"ring", unix.SYS_IO_URING_SETUP, nil, eperm},
		} {
			if got := decide(arch, of.number, of.arguments...); got != of.want {
				t.Errorf("%s: %s: %#x, want %#x", goarch, of.what, got, of.want)
			}
		}
		for other, arch := range auditArch {
			if other != goarch && decide(arch, unix.SYS_READ) != eperm {
				t.Errorf("%s: a system call of %s is not refused", goarch, other)
			}
		}
	}
	if _, err := filter("riscv64"); err == nil {
		t.Error("there is a filter for riscv64")
	}
}
