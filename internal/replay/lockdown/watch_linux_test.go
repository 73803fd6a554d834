// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What a command starts is seen with its arguments, whoever of its children starts it; what it only looks for
// is not.
func TestWhatACommandStartsIsSeen(t *testing.T) {
	if !asUsers(t) {
		return
	}
	dir := openDir(t)
	script := filepath.Join(dir, "work here")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec ls -d /etc\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	line := "cd " + dir + " && setsid ./'work here' && env env no-such-program-anywhere; (true; sh -c 'exit 3'); sh -c 'exit 3'"
	code, _, seen := seenInCage(t, &stdout, &stderr, nil, []string{"sh", "-c", line})
	if code != 3 || stdout.String() != "/etc\n" {
		t.Fatalf("code %d: %s%s", code, stdout.String(), stderr.String())
	}
	if !seen.Watched || seen.Why != "" || seen.Cut {
		t.Fatalf("%+v", seen)
	}
	of := func(base string, argv ...string) int {
		for _, p := range seen.Programs {
			if filepath.Base(p.Path) == base && slices.Equal(p.Argv, argv) {
				return p.Count
			}
		}
		return 0
	}
	for _, want := range []struct {
		count int
		base  string
		argv  []string
	}{
		{1, "sh", []string{"sh", "-c", line}}, {1, "setsid", []string{"setsid", "./work here"}}, {1, "work here", []string{"./work here"}}, {1, "ls", []string{"ls", "-d", "/etc"}},
		{2, "sh", []string{"sh", "-c", "exit 3"}}, {0, "no-such-program-anywhere", []string{"no-such-program-anywhere"}},
	} {
		if got := of(want.base, want.argv...); got != want.count {
			t.Errorf("%s %q was started %d times, want %d: %+v", want.base, want.argv, got, want.count, seen.Programs)
		}
	}
	total := 0
	for _, p := range seen.Programs {
		total += p.Count
	}
	if total != seen.Started || len(seen.Connects) != 0 {
		t.Errorf("%+v", seen)
	}
}

// A program that starts itself by the link of /proc is named.
func TestAProgramThatStartsItselfIsNamed(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, _, seen := seenInCage(t, io.Discard, io.Discard, nil, []string{own}, probeVariable+"=again")
	n := 0
	for _, p := range seen.Programs {
		if p.Path == own {
			n += p.Count
		}
	}
	if n != 2 {
		t.Errorf("%+v", seen)
	}
}

func again() map[string]string {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{probeVariable + "=nothing"}
	return map[string]string{"again": name(cmd.Run())}
}

// What a program asks for beyond the loopback is seen, though it uses no proxy.
func TestWhatACommandAsksForOverTheNetworkIsSeen(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	var stderr bytes.Buffer
	_, _, seen := seenInCage(t, nil, &stderr, nil, []string{"bash", "-c", "for i in 1 2; do : </dev/tcp/192.0.2.7/443; done; : </dev/tcp/127.0.0.1/9; : </dev/udp/2001:db8::1/53; true"})
	if !seen.Watched || seen.Connects["192.0.2.7:443"] != 2 || seen.Connects["[2001:db8::1]:53"] != 1 || len(seen.Connects) != 2 {
		t.Errorf("%+v\n%s", seen, stderr.String())
	}
}

// A kernel that tells of nothing is said, and nothing is claimed to have been seen.
func TestWhatCannotBeSeenIsNotClaimed(t *testing.T) {
	if !asUsers(t) {
		return
	}
	withoutCall(t, unix.SYS_SECCOMP)
	var stdout bytes.Buffer
	code, _, seen := seenInCage(t, &stdout, nil, nil, []string{"echo", "done"})
	if code != 0 || stdout.String() != "done\n" || seen.Watched || !strings.Contains(seen.Why, "function not implemented") || len(seen.Programs) != 0 {
		t.Errorf("code %d: %s%+v", code, stdout.String(), seen)
	}
}

// The filter that watches refuses nothing.
func TestTheWatchRefusesNothing(t *testing.T) {
	for goarch, arch := range auditArch {
		program, err := watchFilter(goarch)
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		for number := range uint32(600) {
			data := make([]byte, 64)
			data[atNumber+2], data[atNumber+3] = byte(number>>8), byte(number)
			data[atArch], data[atArch+1], data[atArch+2], data[atArch+3] = byte(arch>>24), byte(arch>>16), byte(arch>>8), byte(arch)
			got, err := vm.Run(data)
			want := uint32(unix.SECCOMP_RET_ALLOW)
			if slices.Contains(watchedCalls, number) {
				want = unix.SECCOMP_RET_USER_NOTIF
			}
			if err != nil || uint32(got) != want {
				t.Errorf("%s: %d: %#x, %v", goarch, number, got, err)
			}
		}
	}
}

// The lists are bounded, and say that they are cut.
func TestWhatIsSeenIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("{\"watched\":true}\n")
	for i := range maxPrograms + 5 {
		b.WriteString("{\"path\":\"/bin/" + strings.Repeat("x", i) + "\"}\n{\"connect\":\"192.0.2.1:" + strings.Repeat("1", i) + "\"}\n")
	}
	s := gather(strings.NewReader(b.String()))
	if !s.Watched || !s.Cut || s.Started != maxPrograms+5 || len(s.Programs) != maxPrograms || len(s.Connects) != maxConnects {
		t.Errorf("%v %v %d %d %d", s.Watched, s.Cut, s.Started, len(s.Programs), len(s.Connects))
	}
	if s := gather(strings.NewReader("{\"watched\":true}\n" + strings.Repeat("x", maxLine+1))); s.Watched || s.Why == "" {
		t.Errorf("%+v", s)
	}
}
