// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package procgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What leaves the group and the session of a command is ended all the same; another command is not.
func TestDetachedChildrenAreEnded(t *testing.T) {
	for _, tool := range []string{"setsid", "sh", "sleep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	other := exec.Command("sleep", "100")
	otherEnded, err := Start(other)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mark := "TAPEDECK_TEST_MARK=" + dir
	end := Adopt(mark)
	cmd := exec.Command("sh", "-c", `setsid sh -c 'trap "" TERM; echo $$ > "$1/stubborn"; while :; do sleep 0.05; done' x "$1" >/dev/null 2>&1 &
		setsid env -i sh -c 'echo $$ > "$1/bare"; exec sleep 100' x "$1" >/dev/null 2>&1 &
		while ! [ -s "$1/stubborn" ] || ! [ -s "$1/bare" ]; do sleep 0.01; done`, "x", dir)
	cmd.Env = append(os.Environ(), mark)
	ended, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	End(cmd.Process.Pid, time.Second)
	names := end(200 * time.Millisecond)
	if !slices.Contains(names, "sh") || !slices.Contains(names, "sleep") {
		t.Errorf("%q", names)
	}
	for _, name := range []string{"stubborn", "bare"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("%s (%d) lives", name, pid)
		}
	}
	if err := syscall.Kill(other.Process.Pid, 0); err != nil {
		t.Errorf("another command was ended: %v", err)
	}
	Kill(other.Process.Pid)
	<-otherEnded
}

// Of two commands at once each ends its own.
func TestDetachedChildrenOfAnotherCommandStay(t *testing.T) {
	first, second := Adopt("TAPEDECK_TEST_MARK=1"), Adopt("TAPEDECK_TEST_MARK=2")
	cmd := exec.Command("sh", "-c", "setsid sleep 100 >/dev/null 2>&1 & sleep 0.1")
	cmd.Env = append(os.Environ(), "TAPEDECK_TEST_MARK=2")
	ended, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	if names := first(100 * time.Millisecond); len(names) > 0 {
		t.Errorf("%q", names)
	}
	if names := second(time.Second); !slices.Equal(names, []string{"sleep"}) {
		t.Errorf("%q", names)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a b) c) S 1 12 12 0"))
	f.Add([]byte(") ("))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, ok := parseStat(stat); ok && p.pid <= 0 {
			t.Errorf("%q: %+v", stat, p)
		}
	})
}
