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
	"regexp"
	"slices"
	"strings"
	"time"
)

// Git is what is needed to make the repository of a folder anew: the files that git has, and the last commits
// by what a log says of them. What came before, and what each of them changed, is not kept.
type Git struct {
	Branch  string   // "" where none is checked out
	Commits []Commit // the last one first
}

// Commit is a commit as a log shows it.
type Commit struct {
	ID      string
	Subject string
	Name    string // of the author
	Mail    string
	When    time.Time
}

// maxCommits is how many commits are kept. Agents show their model about so many.
const maxCommits = 10

// Bounds of what git is asked.
const (
	gitTimeout = time.Minute
	gitOutput  = 64 << 20
)

var errNoGit = errors.New("git does not answer")

// alone are settings of git by which nothing that a user or a system has configured counts.
var alone = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}

// git asks git about a folder, without the hooks and the monitor that the repository configures. errNoGit is
// that there is no git, or no repository.
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
	log, ok := ask("log", "--first-parent", "-z", fmt.Sprintf("-%d", maxCommits), "--no-show-signature", "--format=%H%n%an%n%ae%n%at%n%s", "HEAD")
	if !ok {
		return ctx.Err() // nothing was committed
	}
	k.Git = &Git{}
	for _, one := range names(log) {
		of := strings.SplitN(one, "\n", 5)
		var seconds int64
		if len(of) != 5 {
			continue
		}
		if _, err := fmt.Sscan(of[3], &seconds); err == nil {
			k.Git.Commits = append(k.Git.Commits, Commit{ID: of[0], Name: of[1], Mail: of[2], When: time.Unix(seconds, 0).UTC(), Subject: of[4]})
		}
	}
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

var (
	isCommitID   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	isBranchName = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z_./+@-]{0,200}$`)
)

// commit makes the repository of a copy, whose tracked files hold what git is to have. Each commit is found
// by its recorded id: git lets one object stand for another.
func (k *Kept) commit(ctx context.Context, dir string) error {
	g := k.Git
	branch := g.Branch
	if !isBranchName.MatchString(branch) {
		branch = "main"
	}
	var paths bytes.Buffer
	for i := range k.Entries {
		if e := &k.Entries[i]; e.Tracked && e.Kind != Folder {
			paths.WriteString(e.Path)
			paths.WriteByte(0)
		}
	}
	if _, err := git(ctx, dir, nil, alone, "init", "-q", "-b", branch); err != nil {
		return err
	}
	if paths.Len() > 0 {
		if _, err := git(ctx, dir, &paths, alone, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return err
		}
	}
	tree, err := git(ctx, dir, nil, alone, "write-tree")
	if err != nil {
		return err
	}
	parent, known := "", map[string]bool{}
	for _, c := range slices.Backward(g.Commits) {
		args := []string{"commit-tree", strings.TrimSpace(string(tree)), "-m", orElse(c.Subject)}
		if parent != "" {
			args = append(args, "-p", parent)
		}
		who := slices.Clone(alone)
		for _, of := range []string{"AUTHOR", "COMMITTER"} {
			who = append(who, "GIT_"+of+"_NAME="+orElse(c.Name), "GIT_"+of+"_EMAIL="+orElse(c.Mail), fmt.Sprintf("GIT_%s_DATE=@%d +0000", of, max(c.When.Unix(), 0)))
		}
		made, err := git(ctx, dir, nil, who, args...)
		if err != nil {
			return err
		}
		if parent = strings.TrimSpace(string(made)); isCommitID.MatchString(c.ID) && !known[c.ID] && c.ID != parent {
			if _, err := git(ctx, dir, nil, alone, "update-ref", "refs/replace/"+c.ID, parent); err != nil {
				return err
			}
			// Readers of their own (GitPython) know no replacements. For them the object lies there under the
			// recorded id too.
			objects := filepath.Join(dir, ".git", "objects")
			object, err := os.ReadFile(filepath.Join(objects, parent[:2], parent[2:]))
			if err == nil {
				err = os.MkdirAll(filepath.Join(objects, c.ID[:2]), 0o755) //nolint:gosec // as git makes it
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(objects, c.ID[:2], c.ID[2:]), object, 0o444) //nolint:gosec // as git writes it
			}
			if err != nil {
				return err
			}
			parent, known[c.ID] = c.ID, true
		}
	}
	if parent == "" {
		return nil
	}
	if _, err = git(ctx, dir, nil, alone, "config", "log.excludeDecoration", "refs/replace/"); err != nil { // `git log` would say "replaced"
		return err
	}
	if _, err = git(ctx, dir, nil, alone, "update-ref", "refs/heads/"+branch, parent); err != nil {
		return err
	}
	// Programs list the folder to their model: it holds what `git init` and `git commit` leave there.
	return os.WriteFile(filepath.Join(dir, ".git", "COMMIT_EDITMSG"), []byte(orElse(g.Commits[0].Subject)+"\n"), 0o644) //nolint:gosec // as git writes it
}

func orElse(text string) string {
	if strings.TrimSpace(text) == "" {
		return "unknown"
	}
	return text
}
