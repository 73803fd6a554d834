// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownFilesFor makes a home, a folder at a place that the command knows, and what stands in for both.
func ownFilesFor(t *testing.T) (dir string, files *Files) {
	t.Helper()
	dir = openDir(t)
	for _, name := range []string{"home/.agent", "home/ws", "copy", "upper", "work", "home/upper2", "home/work2", "mine", "other", "second", "home/in,ner", "upper3", "work3"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"home/.agent/settings": "real", "home/ws/a": "real", "copy/a": "copy", "other/o": "real"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return dir, &Files{
		Copies:   []Copy{{From: in("copy"), At: in("home/ws")}, {From: in("copy"), At: in("home/new/place")}},
		Overlays: []Overlay{{Dir: in("home"), Upper: in("upper"), Work: in("work")}, {Dir: in("second"), Upper: in("home/upper2"), Work: in("home/work2")}, {Dir: in("home/in,ner"), Upper: in("upper3"), Work: in("work3")}},
		Open:     []string{in("mine")},
	}
}

// The command writes into the copy, into what is laid over its home, and nowhere else.
func TestACommandWritesIntoCopiesAlone(t *testing.T) {
	if !asUsers(t) {
		return
	}
	dir, files := ownFilesFor(t)
	var stdout, stderr bytes.Buffer
	script := `cd "$1/home/ws" && cat a && echo changed >a && cat ../.agent/settings && echo mine >../.agent/settings && rm ../.agent/settings && echo new >../.agent/new &&
		echo x >"$1/mine/x" && cat ../new/place/a && echo x >/dev/shm/x && echo x >/dev/null && echo two >"$1/second/two" && echo three >"$1/home/in,ner/three" && cat /proc/self/comm
		for f in "$1/other/o" "$1/other/n" /etc/x /tmp/x "$1/home/../y"; do (echo x >"$f") 2>/dev/null && echo "wrote $f"; done; true`
	code, e, _ := seenInCage(t, &stdout, &stderr, files, []string{"sh", "-c", script, "sh", dir})
	if code != 0 || stdout.String() != "copyrealchanged\ncat\n" {
		t.Fatalf("code %d: %s%s", code, stdout.String(), stderr.String())
	}
	if !slices.Contains(e.Held, "files of its own, all others read-only") {
		t.Errorf("%+v", e)
	}
	for name, want := range map[string]string{"home/.agent/settings": "real", "home/ws/a": "real", "copy/a": "changed\n", "other/o": "real", "upper/.agent/new": "new\n", "mine/x": "x\n", "home/upper2/two": "two\n", "upper3/three": "three\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"home/.agent/new", "home/new", "other/n", "y"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// Where the files cannot be laid out nothing runs.
func TestWithoutItsFilesNothingRuns(t *testing.T) {
	dir, files := ownFilesFor(t)
	for what, change := range map[string]func(){
		"a place that cannot be made": func() { files.Copies[0].At = filepath.Join(dir, "other/none/of/it") },
		"an overlay without a folder": func() { files.Overlays[0].Upper = filepath.Join(dir, "none") },
		"a copy that is not there":    func() { files.Copies[0].From = filepath.Join(dir, "none") },
	} {
		dir, files = ownFilesFor(t)
		change()
		cmd := exec.CommandContext(t.Context(), "sh")
		cage, err := New(cmd, 1, files)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Skip("no namespaces here: ", err)
		}
		listeners, err := cage.Ready()
		if err == nil || len(listeners) != 0 {
			t.Errorf("%s: %v", what, err)
		}
		if err := cage.Close(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

func TestPlacesAreReadAsTheKernelWritesThem(t *testing.T) {
	if got := octal(`/a\040b\134c\0`); got != `/a b\c\0` {
		t.Errorf("%q", got)
	}
	points, err := mountPoints()
	if err != nil || !slices.Contains(points, "/") || strings.Contains(strings.Join(points, ""), "\\040") {
		t.Errorf("%q, %v", points, err)
	}
}
