// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// The tests of the lockdown run in a world of their own: network, users and mounts. All that a command tries to reach lies in it, at an
// address for documents and on its loopback. Nothing is sent to a real network.
const (
	worldVariable = "TAPEDECK_TEST_WORLD" // made, then entered
	worldAddress  = "198.51.100.1"
	worldAddress6 = "2001:db8::1"
)

// inWorld runs the test that calls it in a world, once for each user that can be had, and reports whether this process is in it.
func inWorld(t *testing.T) bool {
	t.Helper()
	stage := os.Getenv(worldVariable)
	if stage == "entered" {
		return true
	}
	again := func(stage string, a *syscall.SysProcAttr) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), worldVariable+"="+stage)
		cmd.Args[0], cmd.SysProcAttr, cmd.Dir = "/proc/self/exe", a, "/" // a user who may not see the folders of the program and of its sources can run it all the same
		return cmd.CombinedOutput()
	}
	if stage == "" {
		only := func(id int) []syscall.SysProcIDMap {
			return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
		}
		a := &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
			UidMappings: only(os.Getuid()), GidMappings: only(os.Getgid()),
			AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN},
		}
		if os.Getuid() == 0 {
			everybody := []syscall.SysProcIDMap{{Size: 65536}}
			a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = everybody, everybody, true
		}
		out, err := again("made", a)
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
				t.Fatal(err)
			}
			t.Skip("no namespaces here: ", err)
		}
		if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("%v\n%s", err, out)
		}
		return false
	}
	makeWorld(t)
	users := []*syscall.SysProcAttr{{}}
	if os.Getuid() == 0 {
		users = append(users, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	}
	for _, user := range users {
		if out, err := again("entered", user); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
			t.Errorf("as %+v: %v\n%s", user.Credential, err, out)
		}
	}
	return false
}

// makeWorld gives the loopback of this network its addresses, lets everybody use all ports, and names a server of DNS.
func makeWorld(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for _, name := range []string{"lo", "lo:1"} {
		ifr, err := unix.NewIfreq(name)
		if err == nil && name == "lo:1" {
			if err = ifr.SetInet4Addr(net.ParseIP(worldAddress).To4()); err == nil {
				err = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, ifr)
			}
		}
		if err == nil {
			ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
			err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
		}
		if err != nil {
			t.Fatal(name, ": ", err)
		}
	}
	if fd6, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		defer unix.Close(fd6)
		request := struct {
			address [16]byte
			prefix  uint32
			index   int32
		}{prefix: 128, index: 1}
		copy(request.address[:], net.ParseIP(worldAddress6))
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd6), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&request))); errno != 0 {
			t.Log("no IPv6: ", errno)
		}
	}
	resolver := write(t, "resolv.conf", "nameserver "+worldAddress+"\noptions timeout:1 attempts:1\n")
	err = errors.Join(
		os.Chmod(resolver, 0o644),
		os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o600),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount(resolver, "/etc/resolv.conf", "", unix.MS_BIND, ""),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// outside is what listens in the world, and what arrived there: who sent it, and to what.
type outside struct {
	addresses string // NETWORK ADDRESS, with blanks between
	networks  []string
	mu        sync.Mutex
	arrived   map[string]bool
}

func (o *outside) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arrived[what] = true
}

// take returns what arrived so far, and forgets it.
func (o *outside) take() (list []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for what := range o.arrived {
		list = append(list, what)
	}
	o.arrived = map[string]bool{}
	slices.Sort(list)
	return list
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{arrived: map[string]bool{}}
	add := func(network, address string) {
		o.addresses += network + " " + address + " "
		o.networks = append(o.networks, network+" "+address)
	}
	var lc net.ListenConfig
	for _, of := range []struct{ network, address string }{
		{"tcp", worldAddress + ":7"}, {"tcp", "[" + worldAddress6 + "]:7"}, {"tcp", "127.0.0.1:7"}, {"tcp", "[::1]:8"}, {"unix", "@tapedeck-" + fmt.Sprint(os.Getpid())},
	} {
		l, err := lc.Listen(t.Context(), of.network, of.address)
		if err != nil {
			if strings.HasPrefix(of.address, "[") {
				t.Log("no IPv6: ", err)
				continue
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		add(of.network, of.address)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					b := make([]byte, 64)
					n, _ := conn.Read(b)
					o.note(string(b[:n]) + " by " + of.network + " " + of.address)
				}()
			}
		}()
	}
	for _, address := range []string{worldAddress + ":7", worldAddress + ":53"} {
		packets, err := lc.ListenPacket(t.Context(), "udp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = packets.Close() })
		network := "udp"
		if strings.HasSuffix(address, ":53") {
			network = "dns"
		}
		add(network, address)
		go func() {
			b := make([]byte, 512)
			for {
				n, from, err := packets.ReadFrom(b)
				if err != nil {
					return
				}
				who := string(b[:n])
				if network == "dns" { // the first label of the question
					if n < 14 || n < 13+int(b[12]) {
						continue
					}
					who = string(b[13 : 13+int(b[12])])
					b[2], b[3] = b[2]|0x80, 0x83 // an answer: there is no such name
					_, _ = packets.WriteTo(b[:n], from)
				}
				o.note(who + " by " + network + " " + address)
			}
		}()
	}
	return o
}

// escapers are the processes that try to get out.
var escapers = []string{"itself", "child", "setsid"}

func TestNothingGetsOutOfALockdown(t *testing.T) {
	if !inWorld(t) {
		return
	}
	url := recordedAgent(t)
	o := newOutside(t)
	t.Setenv(placeVariable, o.addresses)
	var all []string
	for _, network := range o.networks {
		for _, who := range escapers {
			all = append(all, who+" by "+network)
		}
	}
	slices.Sort(all)
	code, r := replayed(t, "escape", url, "--input", "stdin", "--answer", "stdout", "--lockdown", "off")
	if got := o.take(); code != exitOK || r.Lockdown || !slices.Equal(got, all) {
		t.Fatalf("without a lockdown came, code %d:\n%q\nof\n%q", code, got, all)
	}
	code, r = replayed(t, "escape", url, "--input", "stdin", "--answer", "stdout", "--require-lockdown")
	if code != exitOK || r.Verdict != rerun.AsRecorded || !r.Lockdown || r.Network.Shut != rerun.ShutNamespace {
		t.Errorf("code %d: %s %+v", code, failed(r), r)
	}
	if got := o.take(); len(got) != 0 {
		t.Errorf("out of a lockdown came %q", got)
	}
	// The proxy holds back nobody who does not ask it, and says so.
	code, r = replayed(t, "escape", url, "--input", "stdin", "--lockdown", "proxy")
	if got := o.take(); code != exitOK || r.Lockdown || !slices.Equal(got, all) || !strings.Contains(r.Network.Promise, "could get out") {
		t.Errorf("beside a proxy, code %d: %+v: %q", code, r.Network, got)
	}
}

func TestADeclaredHostIsReachedOutOfALockdown(t *testing.T) {
	if !inWorld(t) {
		return
	}
	url := recordedAgent(t)
	served := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "declared") }))
	tls := httptest.NewUnstartedServer(served.Config.Handler)
	for _, s := range []*httptest.Server{served, tls} {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", worldAddress+":0")
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Listener.Close()
		s.Listener = l
		t.Cleanup(s.Close)
	}
	served.Start()
	tls.StartTLS()
	plain, secure := served.Listener.Addr().String(), tls.Listener.Addr().String()
	t.Setenv(placeVariable, served.URL+" "+tls.URL)
	for _, shut := range []string{"namespace", "proxy"} {
		code, r := replayed(t, "fetch", url, "--input", "stdin", "--allow-host", plain, "--allow-host", secure, "--lockdown", shut)
		if code != exitOK || r.Network.Through[plain] != 1 || r.Network.Through[secure] != 1 || len(r.Network.Refused) != 0 {
			t.Errorf("%s: code %d: %s %+v", shut, code, failed(r), r.Network)
		}
		code, r = replayed(t, "fetch", url, "--input", "stdin", "--allow-host", secure, "--lockdown", shut)
		if code == exitOK || r.Network.Refused[plain] != 1 {
			t.Errorf("%s: code %d: %+v", shut, code, r.Network)
		}
	}
}

// TestNothingIsLeftWhenTapedeckIsKilled kills it while a command runs that has left its session and does not end when asked.
func TestNothingIsLeftWhenTapedeckIsKilled(t *testing.T) {
	if !inWorld(t) {
		return
	}
	url := recordedAgent(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv(placeVariable, filepath.Join(t.TempDir(), "begun"))
	program := exec.CommandContext(t.Context(), "/proc/self/exe")
	program.Env = append(os.Environ(), agentVariable+"=tapedeck", "TAPEDECK_TEST_ARGS="+strings.Join(withSettings([]string{"replay", url, "--require-lockdown", "--", os.Args[0]}), "\n"))
	marked := "TAPEDECK_TEST_MARK=" + fmt.Sprint(os.Getpid())
	program.Env = append(program.Env, marked)
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command runs", func() bool { return len(marks(t, marked, "setsid-hang")) > 0 })
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	until(t, "all processes are gone", func() bool { return len(marks(t, marked, "")) == 0 })
	until(t, "no folder is left", func() bool {
		left, err := os.ReadDir(temporary)
		return err == nil && len(left) == 0
	})
	if namespaces := len(networks(t)); namespaces != 1 {
		t.Errorf("there are %d networks", namespaces)
	}
}

// TestWhereNoNamespaceCanBeHadThatIsSaid forbids them in the world.
func TestWhereNoNamespaceCanBeHadThatIsSaid(t *testing.T) {
	if !inWorld(t) {
		return
	}
	const most = "/proc/sys/user/max_user_namespaces"
	if err := os.WriteFile(most, []byte("0"), 0o600); err != nil {
		if left, _ := os.ReadFile(most); strings.TrimSpace(string(left)) != "0" { // root, who came first, has forbidden them to everybody
			if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" && os.Getuid() == 0 {
				t.Fatal(err)
			}
			t.Skip("they cannot be forbidden here: ", err)
		}
	}
	url := recordedAgent(t)
	t.Setenv(agentVariable, "oracle")
	got := commanded(t, "replay", url, "--input", "stdin", "--require-lockdown", "--", os.Args[0])
	if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "the network cannot be shut here") {
		t.Errorf("%+v", got)
	}
	got = commanded(t, "replay", url, "--input", "stdin", "--", os.Args[0])
	if got.code != exitOK || !strings.Contains(got.stderr, "the network is not shut: only what uses the proxy") || !strings.Contains(got.stdout, "network: proxy: only what uses the proxy") || !strings.Contains(got.stdout, "the network cannot be shut here") {
		t.Errorf("%+v", got)
	}
	// A copy of a workspace is put in its place by a namespace, or not at all: tools would run in the folder
	// itself.
	url, ws := recordedShell(t)
	before := contentsOf(t, ws)
	t.Setenv(agentVariable, "live")
	got = commanded(t, "replay", url, "--", os.Args[0])
	if got.code != exitFailed || !strings.Contains(got.stderr, "the copy of the workspace cannot be put in its place") || !maps.Equal(contentsOf(t, ws), before) {
		t.Errorf("%+v", got)
	}
}

// until polls: what the kernel does after a process was killed has no event that another process could wait for.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("in vain: ", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// marks are the living processes whose environment has a mark and says that they are an agent of a mode.
func marks(t *testing.T, mark, mode string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte(mark+"\x00")) && bytes.Contains(env, []byte(agentVariable+"="+mode)) {
			list = append(list, file)
		}
	}
	return list
}

// networks are those of the processes that this one may look at.
func networks(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		user, err := os.Readlink(filepath.Join(filepath.Dir(file), "user"))
		if err != nil || user != own {
			continue
		}
		if network, err := os.Readlink(file); err == nil {
			found[network] = true
		}
	}
	return found
}

// TestTheReportSaysWhatIsEnforced has it all, then a kernel without filters of system calls.
func TestTheReportSaysWhatIsEnforced(t *testing.T) {
	if !inWorld(t) {
		return
	}
	url := recordedAgent(t)
	const all = "namespaces: user, pid, net, mount, ipc; /proc of its own; /dev/pts of its own; /proc/sys and /sys read-only; new session; no capabilities; no new privileges; seccomp"
	code, r := replayed(t, "oracle", url, "--input", "stdin", "--require-lockdown")
	if code != exitOK || strings.Join(r.Network.Enforced, "; ") != all || len(r.Network.NotEnforced) != 0 || !strings.Contains(r.Network.Promise, "nothing left the machine over a network but to declared hosts") {
		t.Errorf("code %d: %+v", code, r.Network)
	}
	if got := commanded(t, "replay", url, "--input", "stdin", "--", os.Args[0]); !strings.Contains(got.stdout, "enforced: "+all+"\n") || strings.Contains(got.stdout, "not enforced") {
		t.Errorf("%+v", got)
	}
	withoutSeccomp(t)
	held := strings.TrimSuffix(all, "; seccomp")
	code, r = replayed(t, "oracle", url, "--input", "stdin")
	if code != exitOK || strings.Join(r.Network.Enforced, "; ") != held || strings.Join(r.Network.NotEnforced, "; ") != "seccomp (function not implemented)" || !strings.Contains(r.Network.Promise, "may be another way out") {
		t.Errorf("code %d: %+v", code, r.Network)
	}
	got := commanded(t, "replay", url, "--input", "stdin", "--", os.Args[0])
	if !strings.Contains(got.stdout, "enforced: "+held+"\n") || !strings.Contains(got.stdout, "not enforced: seccomp (function not implemented)\n") || strings.Contains(got.stdout, "nothing left the machine") {
		t.Errorf("%+v", got)
	}
	got = commanded(t, "replay", url, "--input", "stdin", "--require-lockdown", "--", os.Args[0])
	if got.code != exitFailed || !strings.Contains(got.stderr, "not enforced: seccomp (function not implemented)") {
		t.Errorf("%+v", got)
	}
}

// withoutSeccomp makes this process one on a kernel that has no filters of system calls, by one that refuses
// others.
func withoutSeccomp(t *testing.T) {
	t.Helper()
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_SECCOMP},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW},
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		t.Fatal(errno)
	}
}

// TestACommandDoesNotReadTheEnvironmentOfTapedeck runs it where no namespace is between them, and in one.
func TestACommandDoesNotReadTheEnvironmentOfTapedeck(t *testing.T) {
	if !inWorld(t) {
		return
	}
	url := recordedAgent(t)
	dir := t.TempDir()
	const peek = `echo begin; for p in $PPID 1; do tr '\0' '\n' </proc/$p/environ; tr '\0' '\n' </proc/$p/task/$p/environ; done 2>/dev/null; echo end`
	for _, args := range [][]string{
		{"record", "--to", filepath.Join(dir, "deck")},
		{"replay", url, "--lockdown", "off"},
		{"replay", url, "--lockdown", "proxy"},
		{"replay", url, "--require-lockdown"},
	} {
		program := exec.CommandContext(t.Context(), "/proc/self/exe", append(args, "--", "sh", "-c", peek)...)
		program.Env = append(os.Environ(), programVariable+"=1", "TAPEDECK_TEST_MARK=seen", "TAPEDECK_REDACTION_KEY=5e5e5e3c4b5a69788796a5b4c3d2e1f00123456789abcdef0123456789abcdef")
		out, err := program.CombinedOutput()
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		_, said, begun := strings.Cut(string(out), "begin\n")
		said, _, ended := strings.Cut(said, "end\n")
		if !begun || !ended || strings.Contains(said, "TAPEDECK_TEST_MARK") || strings.Contains(said, "5e5e5e") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

func TestTheInsideOfALockdownIsNoCommand(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "3")
	cmd.Args[0] = "tapedeck-lockdown-init"
	out, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != exitFailed || !strings.Contains(string(out), "not the inside of a lockdown") {
		t.Errorf("%v: %s", err, out)
	}
}
