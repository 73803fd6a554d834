// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderIsListedWithoutLeavingIt(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "secret"), "outside")
	write(t, filepath.Join(dir, "a"), "a")
	write(t, filepath.Join(dir, "b", "c"), "")
	write(t, filepath.Join(dir, ".git", "config"), "x")
	write(t, filepath.Join(dir, ".env"), "x")
	for name, to := range map[string]string{
		"in": "a", "out": filepath.Join(outside, "secret"), "up": "../" + filepath.Base(outside) + "/secret", "folder": "b", "nowhere": "gone", "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			if runtime.GOOS != "windows" {
				t.Fatal(err)
			}
			t.Skip("a user of Windows may make none: ", err)
		}
	}
	l, err := List(t.Context(), dir, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range l.Files {
		names = append(names, f.Path)
	}
	if got := strings.Join(names, " "); got != ".env a b/c in" || l.LeftOut[leftSymlink] != 5 {
		t.Errorf("%s, left out %v", got, l.LeftOut)
	}
}

func TestBoundsOfAFolderAreErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "12345")
	write(t, filepath.Join(dir, "b"), "12345")
	for limits, want := range map[Limits]string{{3, 10}: "", {3, 9}: "larger than may be read", {2, 10}: "more than 2 files"} {
		if _, err := List(t.Context(), dir, limits); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	if _, err := One(filepath.Join(dir, "a"), dir, Limits{1, 4}); err == nil {
		t.Error("one file beyond the bound was read")
	}
}

func TestAFileIsNamedByItsPathBelowTheFolderElseByItsName(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x", "AGENTS.md"), "a")
	for from, want := range map[string]string{dir: "x/AGENTS.md", filepath.Join(dir, "y"): "AGENTS.md"} {
		if f, err := One(filepath.Join(dir, "x", "AGENTS.md"), from, DefaultLimits); err != nil || f.Path != want {
			t.Errorf("from %s: %+v, %v", from, f, err)
		}
	}
}

func TestChangesAreWhatIsNotAsItWas(t *testing.T) {
	file := func(path, sum string) File { return File{Path: path, SHA256: sum} }
	before := &Listing{Files: []File{file("gone", "1"), file("kept", "2"), file("other", "3")}}
	after := &Listing{Files: []File{file("kept", "2"), file("new", "4"), file("other", "5")}}
	want := []Change{
		{"gone", Deleted, &before.Files[0], nil}, {"new", Created, nil, &after.Files[1]}, {"other", Modified, &before.Files[2], &after.Files[2]},
	}
	if got := Changes(before, after); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestPathsOfTheMachineAreKnown(t *testing.T) {
	for _, text := range []string{"/home/me", "see /etc/passwd", "a:/usr/bin", `C:\Users\me`, "D:/x", "x=/opt", "file:///home/me", "~/x", `["/a"]`, `\\host\share`} {
		if !OfMachine(text) {
			t.Errorf("%q is taken for no path of the machine", text)
		}
	}
	for _, text := range []string{"", "/", "fast", "a/b", "./x", "http://host:8080/v1/chat", "16:30", "2026/11/22", "a:b", "x~y", "~5", "gpt-4o"} {
		if OfMachine(text) {
			t.Errorf("%q is taken for a path of the machine", text)
		}
	}
}

func TestNoFactsLeaveNothing(t *testing.T) {
	m := pcommon.NewMap()
	(&Facts{}).Put(m)
	if m.Len() != 0 {
		t.Errorf("%v", m.AsRaw())
	}
}

// FuzzNamesOfFiles lists a folder with files of any name.
func FuzzNamesOfFiles(f *testing.F) {
	if runtime.GOOS != "linux" {
		f.Skip("names of files are any bytes on Linux alone")
	}
	f.Add("a", "b")
	f.Add("\xff", "\xfe")
	f.Add("-rf", ".hidden")
	f.Fuzz(func(t *testing.T, a, b string) {
		dir := t.TempDir()
		made := 0
		for _, name := range []string{a, b} {
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || a == b {
				continue
			}
			if os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600) == nil {
				made++
			}
		}
		l, err := List(t.Context(), dir, DefaultLimits)
		if err != nil || len(l.Files) != made {
			t.Fatalf("%d of %d: %v", len(l.Files), made, err)
		}
		m := pcommon.NewMap()
		(&Facts{Fixtures: l}).Put(m)
		for _, f := range l.Files {
			if !utf8.ValidString(f.Path) || len(f.SHA256) != 64 {
				t.Errorf("%+v", f)
			}
		}
	})
}
