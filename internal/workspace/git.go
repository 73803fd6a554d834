// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Git is what is needed to make the repository of a folder anew: one commit with the files that git has. Its ids and what came before are
// others than those of the real one.
type Git struct {
	Branch  string // "" where none is checked out
	Subject string
	Name    string // of the author
	Mail    string
	When    time.Time
}

// Bounds of what git is asked.
const (
	gitTimeout = time.Minute
	gitOutput  = 64 << 20
)

var errNoGit = errors.New("git does not answer")

// alone are settings of git by which nothing that a user or a system has configured counts.
var alone = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}

// git asks git about a folder, without the hooks and the monitor that the repository configures. errNoGit is that there is no git, or no
// repository.
func git(ctx context.Context, dir string, stdin io.Reader, settings []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, stdin, time.Second
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, settings...)
	out := &limited{left: gitOutput}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoGit, args[0], err)
	}
	return out.Bytes(), nil
}

// limited is a buffer with a bound.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("git says too much")
	}
	return l.Buffer.Write(b)
}

// names are the paths in a list of git, which ends each with a zero byte.
func names(list []byte) (out []string) {
	for name := range bytes.SplitSeq(list, []byte{0}) {
		if len(name) > 0 {
			out = append(out, strings.TrimSuffix(string(name), "/"))
		}
	}
	return out
}

// ignored are the files and folders that git ignores; nothing where there is no repository.
func ignored(ctx context.Context, dir string) (map[string]bool, error) {
	list, err := git(ctx, dir, nil, nil, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, nil //nolint:nilerr // without a repository nothing is ignored
	}
	all := map[string]bool{}
	for _, name := range names(list) {
		all[name] = true
	}
	return all, nil
}

// git takes down what the repository says of the folder, where it is one of its own.
func (t *taking) git(ctx context.Context) error {
	k := t.kept
	ask := func(args ...string) ([]byte, bool) {
		out, err := git(ctx, k.Dir, nil, nil, args...)
		return out, err == nil
	}
	top, ok := ask("rev-parse", "--show-toplevel")
	if !ok {
		return ctx.Err()
	}
	if of, err := filepath.EvalSymlinks(strings.TrimSuffix(string(top), "\n")); err != nil || of != k.Dir {
		return nil // part of a repository: what of it lies here is kept as files
	}
	head, ok := ask("log", "-1", "--no-show-signature", "--format=%s%x00%an%x00%ae%x00%at", "HEAD")
	if !ok {
		return ctx.Err() // nothing was committed
	}
	of := strings.SplitN(strings.TrimSuffix(string(head), "\n"), "\x00", 4)
	if len(of) != 4 {
		return nil
	}
	var seconds int64
	if _, err := fmt.Sscan(of[3], &seconds); err != nil {
		return nil //nolint:nilerr // what git says is no commit
	}
	k.Git = &Git{Subject: of[0], Name: of[1], Mail: of[2], When: time.Unix(seconds, 0).UTC()}
	if branch, ok := ask("symbolic-ref", "--short", "-q", "HEAD"); ok {
		k.Git.Branch = strings.TrimSpace(string(branch))
	}
	tracked, ok := ask("ls-tree", "-r", "-z", "--name-only", "HEAD")
	changed, ok2 := ask("diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z", "HEAD")
	if !ok || !ok2 {
		k.Git = nil
		return ctx.Err()
	}
	has, dirty := map[string]bool{}, map[string]bool{}
	for _, name := range names(tracked) {
		has[name] = true
	}
	for _, name := range names(changed) {
		dirty[name] = true
	}
	there := map[string]bool{}
	for i := range k.Entries {
		e := &k.Entries[i]
		there[e.Path] = true
		if e.Tracked = has[e.Path]; e.Tracked && dirty[e.Path] && e.Kind == File {
			if err := t.head(ctx, e); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(mapKeys(dirty)) {
		if !has[name] || there[name] {
			continue
		}
		if len(k.Entries) >= t.options.Limits.Entries {
			return fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, t.options.Limits.Entries)
		}
		e := Entry{Path: name, Kind: Gone, Mode: 0o644, Tracked: true}
		if err := t.head(ctx, &e); err != nil {
			return err
		}
		k.Entries = append(k.Entries, e)
	}
	return nil
}

func mapKeys(m map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// head reads what git has of a file.
func (t *taking) head(ctx context.Context, e *Entry) error {
	body, err := git(ctx, t.kept.Dir, nil, nil, "cat-file", "blob", "HEAD:"+e.Path)
	if err != nil {
		e.Tracked = false
		return ctx.Err()
	}
	if t.left -= int64(len(body)); t.left < 0 {
		return t.tooMuch()
	}
	if e.Head = body; body == nil {
		e.Head = []byte{}
	}
	return nil
}

// commit makes the repository of a copy, whose tracked files hold what git is to have.
func (k *Kept) commit(ctx context.Context, dir string) error {
	g := k.Git
	branch := g.Branch
	if branch == "" {
		branch = "main"
	}
	var paths bytes.Buffer
	for i := range k.Entries {
		if e := &k.Entries[i]; e.Tracked && e.Kind != Folder {
			paths.WriteString(e.Path)
			paths.WriteByte(0)
		}
	}
	when := fmt.Sprintf("%d +0000", g.When.Unix())
	for _, args := range [][]string{
		{"init", "-q", "-b", branch, "--template="},
		{"add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"},
		{"-c", "user.name=" + orElse(g.Name), "-c", "user.email=" + orElse(g.Mail), "commit", "-q", "--allow-empty", "--no-verify", "--date", when, "-m", orElse(g.Subject)},
	} {
		var stdin io.Reader
		if args[0] == "add" {
			if paths.Len() == 0 {
				continue
			}
			stdin = &paths
		}
		if _, err := git(ctx, dir, stdin, alone, args...); err != nil {
			return err
		}
	}
	return nil
}

func orElse(text string) string {
	if strings.TrimSpace(text) == "" {
		return "unknown"
	}
	return text
}
