// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/harness"
)

func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=Jo", "-c", "user.email=jo@example.org"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func take(t *testing.T, dir string, o Options) *Kept {
	t.Helper()
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	k, err := Take(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func spansOf(td ptrace.Traces) (spans []ptrace.Span) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				spans = append(spans, s)
			}
		}
	}
	return spans
}

// again is what comes out of a deck.
func again(t *testing.T, k *Kept) *Kept {
	t.Helper()
	back, err := Read(spansOf(k.Spans(pcommon.TraceID{1}, time.Unix(9, 0))), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// listing is what a folder holds, with what git keeps left out.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir():
			all[name] = "folder"
		case entry.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			all[name] = "-> " + to
			return err
		default:
			body, err := os.ReadFile(path)
			info, infoErr := entry.Info()
			if infoErr == nil {
				all[name] = info.Mode().String() + " " + info.ModTime().UTC().Format(time.RFC3339) + " " + string(body)
			}
			return errors.Join(err, infoErr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %q, want %q", name, got[name], text)
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			t.Errorf("%s is there", name)
		}
	}
}

// What a folder holds is made again as it was: texts and bytes, permissions, times, empty folders, symlinks.
func TestAWorkspaceIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a.txt": "text\n", "bin/x": "\x00\xff\x01", "empty": "", "of/the/deep": "d", ".github/w.yml": "on: push", "quo\"te\ttab": "q"})
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "bin/x"), 0o555), os.Mkdir(filepath.Join(dir, "hollow"), 0o750), os.Symlink("of/the", filepath.Join(dir, "link")), os.Symlink("../a.txt", filepath.Join(dir, "of/up")),
		os.Chtimes(filepath.Join(dir, "a.txt"), old, old),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	k := again(t, take(t, dir, Options{}))
	to := t.TempDir()
	r, err := k.Restore(t.Context(), to)
	if err != nil || r.Files != 6 || len(r.Redacted) != 0 || r.Git || r.NoGit != "" || k.Files() != 6 || k.Bytes() != 18 {
		t.Fatalf("%+v, %v, %d files, %d bytes", r, err, k.Files(), k.Bytes())
	}
	same(t, listing(t, to), listing(t, dir))
	if info, err := os.Stat(filepath.Join(to, "hollow")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := k.Restore(t.Context(), to); err == nil {
		t.Error("it is made in a folder that is not empty")
	}
}

// What leads out of the folder, what is no file, what is an output and what git ignores is left out, and
// said.
func TestWhatIsNoneOfTheWorkspaceIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "a", "deck/tapedeck.json": "{}", "deck/x": "x", "out/y": "y", "big": strings.Repeat("b", 100), ".env": "K=v", "node_modules/m/index.js": "m", ".gitignore": ".env\nnode_modules\n"})
	for _, err := range []error{
		os.Symlink("/etc/passwd", filepath.Join(dir, "out1")), os.Symlink("../other", filepath.Join(dir, "out2")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.WriteFile(filepath.Join(dir, "n\xff"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, dir, "init", "-q")
	o := Options{Limits: Limits{Entries: 100, Bytes: 1000, File: 99}, Outputs: []string{filepath.Join(dir, "out"), ""}}
	k := take(t, dir, o)
	var paths []string
	for _, e := range k.Entries {
		paths = append(paths, e.Path)
	}
	if want := []string{".gitignore", "a", "deck", "node_modules", "out"}; !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
	for why, n := range map[string]int{leftLink: 2, leftSpecial: 1, leftName: 1, leftDeck: 2, leftLarge: 1, leftIgnored: 1, leftInside: 1, leftGit: 1} {
		if k.LeftOut[why] != n {
			t.Errorf("%s: %d, want %d", why, k.LeftOut[why], n)
		}
	}
	if back := again(t, k); back.String() != k.String() || !strings.Contains(back.String(), "2 symlinks that lead out of the folder") {
		t.Errorf("%q", back)
	}
	o.Ignored = true
	paths = nil
	for _, e := range take(t, dir, o).Entries {
		paths = append(paths, e.Path)
	}
	if want := []string{".env", ".gitignore", "a", "deck", "node_modules", "node_modules/m", "node_modules/m/index.js", "out"}; !slices.Equal(paths, want) {
		t.Errorf("%q", paths)
	}
}

// A folder beyond the bounds is not kept at all.
func TestTooMuchIsNotKept(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "12345", "b": "67890"})
	for _, limits := range []Limits{{Entries: 1, Bytes: 100, File: 100}, {Entries: 9, Bytes: 9, File: 100}} {
		if _, err := Take(t.Context(), dir, Options{Limits: limits}); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%+v: %v", limits, err)
		}
		spans := spansOf(take(t, dir, Options{}).Spans(pcommon.TraceID{1}, time.Now()))
		if _, err := Read(spans, limits); !errors.Is(err, ErrTooMuch) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	if _, err := Take(t.Context(), filepath.Join(dir, "none"), Options{Limits: DefaultLimits}); err == nil {
		t.Error("a folder that is not there is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Take(ctx, dir, Options{Limits: DefaultLimits}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The repository is made anew: what git says of the files is what it said, whatever had been changed.
func TestTheRepositoryIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"same": "s\n", "changed": "before\n", "gone": "g\n", "sub/gone": "g\n", "was/a/folder": "w\n", "staged": "1\n", "lnk/x": "x", ".gitignore": "skipped\n"})
	gitIn(t, dir, "init", "-q", "-b", "trunk")
	gitIn(t, dir, "add", "-A")
	for i, subject := range []string{"Zero", "A first\n\nmore"} {
		gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", subject, "--date", fmt.Sprintf("2026-01-0%dT00:00:00Z", i+1))
	}
	lay(t, dir, map[string]string{"changed": "after\n", "new": "n\n", "staged": "2\n", "skipped": "no", "added": "a\n"})
	gitIn(t, dir, "add", "staged", "added")
	for _, name := range []string{"gone", "sub", "was"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	lay(t, dir, map[string]string{"was": "a file now\n"})
	marker := filepath.Join(t.TempDir(), "ran")
	lay(t, dir, map[string]string{".git/hooks/post-commit": "#!/bin/sh\ntouch " + marker + "\n"})
	gitIn(t, dir, "config", "core.fsmonitor", "touch "+marker)
	k := again(t, take(t, dir, Options{}))
	to := t.TempDir()
	r, err := k.Restore(t.Context(), to)
	if err != nil || !r.Git {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("what the repository configures was run")
	}
	kept, err := os.ReadDir(filepath.Join(dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range kept { // programs list it
		if _, err := os.Stat(filepath.Join(to, ".git", e.Name())); err != nil {
			t.Error(err)
		}
	}
	head := strings.TrimSpace(gitIn(t, dir, "rev-parse", "HEAD"))
	if _, err := os.Stat(filepath.Join(to, ".git", "objects", head[:2], head[2:])); err != nil { // GitPython looks there
		t.Error(err)
	}
	want := listing(t, dir)
	delete(want, "skipped")
	same(t, listing(t, to), want)
	for _, args := range [][]string{{"log", "--format=%H %P %an <%ae> %s %aI"}, {"rev-parse", "--short", "HEAD"}, {"log", "-1", "--oneline", "--decorate"}, {"branch", "--show-current"}, {"diff", "HEAD", "--stat", "--", "changed", "gone", "sub", "was", "staged", "same"}, {"ls-tree", "-r", "--name-only", "HEAD"}} {
		gitIn(t, dir, "config", "--unset-all", "core.fsmonitor", "")
		if got, want := gitIn(t, to, args...), gitIn(t, dir, args...); got != want {
			t.Errorf("%q:\n%swant\n%s", args, got, want)
		}
		gitIn(t, dir, "config", "core.fsmonitor", "false")
	}
}

// Commits whose ids are none, or the same, get ids of their own; a branch whose name is none gets another.
func TestARepositoryIsMadeOfWhateverIsKept(t *testing.T) {
	same := strings.Repeat("a", 40)
	k := &Kept{Dir: "/x", Git: &Git{Branch: "--upload-pack=x", Commits: []Commit{{ID: same, Subject: "s"}, {ID: same}, {ID: "[REDACTED]", When: time.Unix(-5, 0)}, {ID: "../../config"}}}}
	dir := t.TempDir()
	if r, err := k.Restore(t.Context(), dir); err != nil || !r.Git {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := gitIn(t, dir, "log", "--format=%s"); got != "s\nunknown\nunknown\nunknown\n" || gitIn(t, dir, "branch", "--show-current") != "main\n" {
		t.Errorf("%q", got)
	}
}

// A part of a repository is no repository of its own.
func TestAPartOfARepositoryIsKeptAsFiles(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"sub/a": "a", "sub/no": "n", ".gitignore": "no\n"})
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "x")
	if k := take(t, filepath.Join(dir, "sub"), Options{}); k.Git != nil || len(k.Entries) != 1 || k.Entries[0].Path != "a" {
		t.Errorf("%+v", k)
	}
}

// Where the command runs within the workspace is kept, and nothing where it runs elsewhere.
func TestWhereTheCommandRanIsKept(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"sub/a": "a"})
	for _, c := range []struct{ at, want string }{{"sub", "sub"}, {".", "."}, {"..", ""}} {
		t.Chdir(filepath.Join(dir, c.at))
		if k := again(t, take(t, dir, Options{})); k.Cwd != c.want {
			t.Errorf("%s: %q", c.at, k.Cwd)
		}
	}
}

// What came back with a token in place of a secret is named.
func TestAFileWithATokenIsNamed(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "a", "b": "secret"})
	td := take(t, dir, Options{}).Spans(pcommon.TraceID{1}, time.Now())
	for _, s := range spansOf(td) {
		if v, ok := s.Attributes().Get(attrContent); ok && v.Str() == "secret" {
			v.SetStr("[REDACTED]")
		}
	}
	k, err := Read(spansOf(td), DefaultLimits)
	if err != nil || !slices.Equal(k.Redacted(), []string{"b"}) {
		t.Errorf("%+v, %v", k, err)
	}
}

// hostile changes what stands in a deck.
func hostile(t testing.TB) map[string]func(td ptrace.Traces) {
	t.Helper()
	entry := func(td ptrace.Traces, n int) pcommon.Map { return spansOf(td)[n].Attributes() }
	put := func(n int, name, value string) func(ptrace.Traces) {
		return func(td ptrace.Traces) { entry(td, n).PutStr(name, value) }
	}
	return map[string]func(td ptrace.Traces){
		"a path out of the folder": put(1, attrPath, "../x"), "an absolute path": put(1, attrPath, "/etc/x"), "no path": put(1, attrPath, ""), "a path that is not clean": put(1, attrPath, "a//b"),
		"the folder itself": put(1, attrPath, "."), "a path of git": put(1, attrPath, "sub/.git/hooks/post-checkout"), "a path twice": put(1, attrPath, "b"), "a zero byte": put(1, attrPath, "a\x00b"),
		"a long path":              put(1, attrPath, strings.Repeat("x/", 3000)+"x"),
		"a kind that is none":      put(1, attrKind, "device"),
		"a file below a file":      put(1, attrPath, "b/c"),
		"a place that is none":     put(0, attrDir, "relative"),
		"the root as the place":    put(0, attrDir, "/"),
		"a place out of the place": put(0, attrCwd, "../x"),
		"a link out of the folder": func(td ptrace.Traces) {
			entry(td, 1).PutStr(attrKind, "link")
			entry(td, 1).PutStr(attrTo, "../../etc")
		},
		"an absolute link": func(td ptrace.Traces) {
			entry(td, 1).PutStr(attrKind, "link")
			entry(td, 1).PutStr(attrTo, "/etc")
		},
		"an entry that is gone": func(td ptrace.Traces) {
			n := 0
			td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n == 3 })
		},
		"no folder": func(td ptrace.Traces) {
			td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return s.Name() == folderSpan })
		},
		"two folders": func(td ptrace.Traces) {
			spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
			spans.At(0).CopyTo(spans.AppendEmpty())
		},
	}
}

func TestWhatMeansIllIsRefused(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "a", "b": "b"})
	k := take(t, dir, Options{})
	for what, change := range hostile(t) {
		td := k.Spans(pcommon.TraceID{1}, time.Now())
		if _, err := Read(spansOf(td), DefaultLimits); err != nil {
			t.Fatal(err)
		}
		change(td)
		if k, err := Read(spansOf(td), DefaultLimits); err == nil {
			t.Errorf("%s: %+v", what, k)
		}
	}
}

// FuzzNothingLeavesTheFolder reads what anybody may have written, and makes it in a folder: nothing may come
// to lie elsewhere.
func FuzzNothingLeavesTheFolder(f *testing.F) {
	var m ptrace.ProtoMarshaler
	seed := func(td ptrace.Traces) {
		body, err := m.MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	k := &Kept{Dir: "/ws", Cwd: ".", Entries: []Entry{
		{Path: "a", Kind: File, Mode: 0o644, Content: []byte("a")}, {Path: "d", Kind: Folder, Mode: 0o755}, {Path: "d/l", Kind: Link, To: "../a"}, {Path: "g", Kind: Gone, Head: []byte("h"), Tracked: true},
	}}
	seed(k.Spans(pcommon.TraceID{1}, time.Unix(1, 0)))
	for _, change := range hostile(f) {
		td := k.Spans(pcommon.TraceID{1}, time.Unix(1, 0))
		change(td)
		seed(td)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var u ptrace.ProtoUnmarshaler
		td, err := u.UnmarshalTraces(body)
		if err != nil {
			return
		}
		k, err := Read(spansOf(td), Limits{Entries: 50, Bytes: 1 << 16, File: 1 << 16})
		if err != nil {
			return
		}
		k.Git = nil // a process for each would be slow
		around := t.TempDir()
		if err := errors.Join(os.Mkdir(filepath.Join(around, "in"), 0o755), os.WriteFile(filepath.Join(around, "beside"), []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
		_, _ = k.Restore(t.Context(), filepath.Join(around, "in")) // names may be too long for the system
		entries, err := os.ReadDir(around)
		text, readErr := os.ReadFile(filepath.Join(around, "beside"))
		if err != nil || readErr != nil || len(entries) != 2 || !bytes.Equal(text, []byte("mine")) {
			t.Errorf("%v, %v: %q", err, entries, text)
		}
	})
}

// Changes are seen by size and time.
func TestStampsSeeChanges(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{"a": "a", "b": "b", "c": "c", ".git/index": "x"})
	before, err := TakeStamps(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	lay(t, dir, map[string]string{"a": "aa", "new": "n", ".git/index": "xx"})
	if err := errors.Join(os.Remove(filepath.Join(dir, "b")), os.Chtimes(filepath.Join(dir, "c"), time.Time{}, time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	after, err := TakeStamps(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []harness.Change{{Path: "a", Operation: "modified"}, {Path: "b", Operation: "deleted"}, {Path: "c", Operation: "modified"}, {Path: "new", Operation: "created"}}
	if got := before.Changes(after); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if _, err := TakeStamps(dir, 2); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%v", err)
	}
}
