// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func opened(t *testing.T, name string) (*File, []string) {
	t.Helper()
	var lines []string
	j, err := Open(name, func(line []byte) error { lines = append(lines, string(line)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return j, lines
}

func TestHalfALineIsCutOff(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(name, []byte("one\n\nthree\nhalf of fo"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, lines := opened(t, name)
	if err := errors.Join(j.Append([]byte("four")), j.Close()); err != nil || !slices.Equal(lines, []string{"one", "", "three"}) {
		t.Errorf("%q: %v", lines, err)
	}
	if body, err := os.ReadFile(name); err != nil || string(body) != "one\n\nthree\nfour\n" {
		t.Errorf("%q: %v", body, err)
	}
}

func TestALineThatIsRefusedLeavesTheFileAlone(t *testing.T) {
	name, refused := filepath.Join(t.TempDir(), "lines"), errors.New("refused")
	if err := os.WriteFile(name, []byte("one\ntwo\nhalf"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(name, func(line []byte) error {
		if string(line) == "two" {
			return refused
		}
		return nil
	})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "byte 4") {
		t.Error(err)
	}
	if body, err := os.ReadFile(name); err != nil || string(body) != "one\ntwo\nhalf" {
		t.Errorf("%q: %v", body, err)
	}
}

// A line that is kept is one that is read again.
func TestLinesAreBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	j, _ := opened(t, name)
	longest := bytes.Repeat([]byte("x"), MaxLine)
	if err := j.Append(append(longest, 'x')); err == nil {
		t.Error("a line that is too long is kept")
	}
	if err := errors.Join(j.Append(longest), j.Append([]byte("two")), j.Close()); err != nil {
		t.Fatal(err)
	}
	j, lines := opened(t, name)
	if len(lines) != 2 || len(lines[0]) != MaxLine || lines[1] != "two" {
		t.Errorf("%d lines", len(lines))
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	endless := bytes.NewReader(append(append([]byte("one\n"), longest...), "xx\n"...))
	if end, err := Read(endless, func([]byte) error { return nil }); err == nil || end != 4 {
		t.Errorf("%d: %v", end, err)
	}
}

// Behind a part of a line, a whole one would be damage in the middle.
func TestNothingIsKeptBehindAWriteThatFailed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	j, _ := opened(t, name)
	writable := j.file
	t.Cleanup(func() { _ = writable.Close() })
	var err error
	if j.file, err = os.Open(name); err != nil { // a file that takes nothing
		t.Fatal(err)
	}
	first := j.Append([]byte("one"))
	_ = j.file.Close()
	j.file = writable
	if again := j.Append([]byte("two")); first == nil || again == nil {
		t.Errorf("%v, then %v", first, again)
	}
	if body, err := os.ReadFile(name); err != nil || len(body) > 0 {
		t.Errorf("%q: %v", body, err)
	}
}

func TestWithoutAFileNothingIsKept(t *testing.T) {
	var j *File
	if err := errors.Join(j.Append([]byte("one")), j.Close()); err != nil {
		t.Error(err)
	}
}
