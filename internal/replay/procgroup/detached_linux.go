// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package procgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var (
	mu       sync.Mutex
	started  = map[int]bool{} // processes that Start has started and that have not ended
	adopting int
)

// starting keeps a process that starts from being taken for one that was left behind.
func starting(start func() (pid int, err error)) error {
	mu.Lock()
	defer mu.Unlock()
	pid, err := start()
	if err == nil {
		started[pid] = true
	}
	return err
}

func hasEnded(pid int) {
	mu.Lock()
	defer mu.Unlock()
	delete(started, pid)
}

// Adopt makes this process the parent of what a command leaves behind, outside of its group too. The function
// that it returns ends those processes and returns their names. mark is a variable of the command, as
// NAME=VALUE, that no other command of this process has: while several commands run, a process without its
// mark is left to the others. End it after End.
func Adopt(mark string) (end func(grace time.Duration) (names []string)) {
	mu.Lock()
	defer mu.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return func(time.Duration) []string { return nil }
	}
	adopting++
	return func(grace time.Duration) []string {
		names := endOrphans(mark, grace)
		mu.Lock()
		defer mu.Unlock()
		if adopting--; adopting == 0 {
			_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) // what is left has no parent but init
		}
		return names
	}
}

// endOrphans ends what was left behind, and what that leaves behind in turn.
func endOrphans(mark string, grace time.Duration) (names []string) {
	const look, most = 10 * time.Millisecond, 1000
	seen := map[int]bool{}
	last := grace + time.Second // SIGKILL takes a moment
	for waited := time.Duration(0); waited < last && len(seen) < most; waited += look {
		list := orphans(mark)
		if len(list) == 0 {
			break
		}
		for _, p := range list {
			if !seen[p.pid] && !p.zombie {
				seen[p.pid] = true
				names = append(names, p.name)
				_ = syscall.Kill(p.pid, syscall.SIGTERM)
			} else if waited >= grace {
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
		time.Sleep(look)
	}
	slices.Sort(names)
	return names
}

type process struct {
	pid, parent, group int
	name               string
	zombie             bool
}

// orphans are the children of this process that it did not start itself.
func orphans(mark string) (list []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	mu.Lock()
	defer mu.Unlock()
	own, group := os.Getpid(), syscall.Getpgrp()
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		p, ok := parseStat(stat)
		if !ok || p.parent != own || p.group == group || started[p.pid] {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		if adopting == 1 || slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool { return string(v) == mark }) {
			list = append(list, p)
		}
	}
	return list
}

// parseStat reads a /proc/PID/stat: the number, the name in parentheses, which holds anything, the state, the
// parent and the group.
func parseStat(stat []byte) (p process, ok bool) {
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 1 || to < from {
		return p, false
	}
	fields := bytes.Fields(stat[to+1:])
	if len(fields) < 3 {
		return p, false
	}
	var err1, err2, err3 error
	p.pid, err1 = strconv.Atoi(string(bytes.TrimSpace(stat[:from])))
	p.parent, err2 = strconv.Atoi(string(fields[1]))
	p.group, err3 = strconv.Atoi(string(fields[2]))
	p.name, p.zombie = string(stat[from+1:to]), string(fields[0]) == "Z"
	return p, err1 == nil && err2 == nil && err3 == nil && p.pid > 0
}
