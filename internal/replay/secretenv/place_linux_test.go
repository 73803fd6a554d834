// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package secretenv

import (
	"os"
	"strings"
	"testing"
)

// A name of a process may look like the rest of the line.
func TestTheEnvironmentIsFoundBehindAnyName(t *testing.T) {
	own, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	from, to, err := environmentAt(own)
	if err != nil || to <= from {
		t.Fatalf("%d to %d: %v", from, to, err)
	}
	_, rest, _ := strings.Cut(string(own), ") ")
	for _, name := range []string{"", "a b", ") S 1 2 3", "))", "(x)\n"} {
		got, until, err := environmentAt([]byte("1 (" + name + ") " + rest))
		if got != from || until != to || err != nil {
			t.Errorf("%q: %d to %d: %v", name, got, until, err)
		}
	}
}

func FuzzEnvironmentAt(f *testing.F) {
	f.Add([]byte("1 (x) S" + strings.Repeat(" 7", 60)))
	f.Add([]byte("1 (x)"))
	f.Add([]byte("no name"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		from, to, err := environmentAt(stat)
		if err == nil && (from < 0 || to < from || to-from > 64<<20) {
			t.Errorf("%d to %d", from, to)
		}
	})
}
