// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Copied is what is known of the tools that ran in a copy of the workspace. Its JSON form is part of the
// contract.
type Copied struct {
	At      string             `json:"at"` // where the command found the copy
	Promise string             `json:"promise"`
	Of      workspace.Restored `json:"restored"`
	LeftOut map[string]int     `json:"left_out,omitempty"` // of the workspace, when it was recorded
	Ran     int                `json:"ran"`                // calls of tools in it
	// AsRecorded are those with the recorded result, NotRecorded those whose result the recording does not
	// hold.
	AsRecorded  int      `json:"as_recorded"`
	NotRecorded int      `json:"not_recorded,omitempty"`
	Different   []string `json:"different,omitempty"` // the others, each with what differs
}

// Workspace is a copy in which a command runs.
type Workspace struct {
	Copied
	kept    *workspace.Kept
	scratch string // all of it lies there
	files   *lockdown.Files
	uppers  []upper
	home    string // "" where there is none
	before  *harness.Listing
}

type upper struct{ dir, path string }

// What a copy promises.
const (
	copyPromise     = "tools ran in a copy at the recorded place; all else was read-only but the home and temporary folders, whose changes are not kept"
	copyPromiseWeak = "tools ran in a copy that the command began in; nothing kept them from files outside of it"
)

// NewWorkspace makes the copy. Folders in open stay open to writing.
func NewWorkspace(ctx context.Context, kept *workspace.Kept, open ...string) (w *Workspace, err error) {
	w = &Workspace{kept: kept, Copied: Copied{LeftOut: kept.LeftOut}}
	if w.scratch, err = os.MkdirTemp("", "tapedeck-copy-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.scratch, err = filepath.EvalSymlinks(w.scratch); err != nil {
		return nil, err
	}
	if err := os.Mkdir(w.copy(), 0o755); err != nil {
		return nil, err
	}
	if w.Of, err = kept.Restore(ctx, w.copy()); err != nil {
		return nil, fmt.Errorf("the copy of the workspace: %w", err)
	}
	if w.before, err = harness.List(ctx, w.copy(), harness.DefaultLimits); err != nil {
		return nil, err
	}
	return w, w.plan(open)
}

func (w *Workspace) copy() string { return filepath.Join(w.scratch, "workspace") }

// plan decides what of the files a command in a namespace sees and changes.
func (w *Workspace) plan(open []string) error {
	w.At = w.kept.Dir
	if real, err := filepath.EvalSymlinks(w.At); err == nil {
		w.At = real
	}
	w.files = &lockdown.Files{Copies: []lockdown.Copy{{From: w.copy(), At: w.At}}}
	for _, dir := range open {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		w.files.Open = append(w.files.Open, real)
	}
	over := func(dir string) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || real == "/" || slices.ContainsFunc(w.uppers, func(u upper) bool { return real == u.dir }) {
			return nil //nolint:nilerr // what is not there needs nothing
		}
		place := filepath.Join(w.scratch, fmt.Sprintf("over-%d", len(w.uppers)))
		u := upper{dir: real, path: filepath.Join(place, "upper")}
		if err := errors.Join(os.MkdirAll(u.path, 0o755), os.MkdirAll(filepath.Join(place, "work"), 0o755)); err != nil {
			return err
		}
		info, err := os.Stat(real)
		if err == nil {
			err = os.Chmod(u.path, info.Mode().Perm()|info.Mode()&fs.ModeSticky)
		}
		if err != nil {
			return err
		}
		w.uppers = append(w.uppers, u)
		w.files.Overlays = append(w.files.Overlays, lockdown.Overlay{Dir: u.dir, Upper: u.path, Work: filepath.Join(place, "work")})
		return nil
	}
	places := []string{"/tmp", "/var/tmp", os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		if w.home, err = filepath.EvalSymlinks(home); err == nil {
			places = append(places, w.home)
		}
	}
	// one that lies in another is laid over after that one, so that nothing on the way to it has to be
	slices.SortStableFunc(places, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, dir := range places {
		if err := over(dir); err != nil {
			return err
		}
	}
	if _, err := os.Stat(w.At); errors.Is(err, fs.ErrNotExist) { // it is made where that changes nothing
		parent := filepath.Dir(w.At)
		for parent != "/" && !exists(parent) {
			parent = filepath.Dir(parent)
		}
		if parent == "/" {
			return fmt.Errorf("the recorded workspace was at %s, and no folder above it is here; an empty folder there would do", w.At)
		}
		if slices.ContainsFunc(w.uppers, func(u upper) bool { return parent == u.dir || inside(parent, u.dir) }) {
			return nil
		}
		return over(parent)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func inside(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }

// Put has a command run in the copy. Outside of a namespace only a command that was recorded within the
// workspace can: the copy lies elsewhere.
func (w *Workspace) Put(c *Command, shut Shut) error {
	if shut == ShutNamespace {
		w.Promise, c.Files = copyPromise, w.files
		if w.kept.Cwd != "" {
			c.Dir = filepath.Join(w.At, filepath.FromSlash(w.kept.Cwd))
		}
		return nil
	}
	if w.kept.Cwd == "" {
		return errors.New("the recorded command ran outside of the workspace: without --lockdown namespace it does not find the copy")
	}
	w.Promise, w.At = copyPromiseWeak, w.copy()
	c.Dir = filepath.Join(w.At, filepath.FromSlash(w.kept.Cwd))
	return nil
}

// Changed takes down what the command changed.
func (w *Workspace) Changed(ctx context.Context, e *Evidence) {
	after, err := harness.List(ctx, w.copy(), harness.DefaultLimits)
	if err != nil {
		e.NotLooked = err.Error()
		return
	}
	e.Looked = InWorkspace
	for _, c := range harness.Changes(w.before, after) {
		e.AddFiles(ChangedFile{Path: c.Path, Operation: c.Operation, In: InWorkspace})
	}
	for _, u := range w.uppers {
		files, cut := u.changed(w.home)
		e.AddFiles(files...)
		e.Cut = e.Cut || cut
	}
}

// maxChanged bounds how many files are looked at in what was laid over a folder.
const maxChanged = 20_000

// changed lists what came to lie over a folder: a device with number 0 stands for a file that was removed.
func (u *upper) changed(home string) (files []ChangedFile, cut bool) {
	looked := 0
	_ = filepath.WalkDir(u.path, func(path string, entry fs.DirEntry, err error) error {
		if looked++; looked > maxChanged {
			cut = true
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what cannot be read is not listed
		}
		name, err := filepath.Rel(u.path, path)
		if err != nil {
			return nil //nolint:nilerr // it lies there
		}
		real := filepath.Join(u.dir, name)
		f := ChangedFile{Path: filepath.ToSlash(real), Operation: harness.Created, In: InTemporary}
		if home != "" && inside(real, home) {
			f.Path, f.In = filepath.ToSlash(strings.TrimPrefix(real, home+"/")), InHome
		}
		if _, err := os.Lstat(real); err == nil {
			f.Operation = harness.Modified
		}
		if entry.Type()&fs.ModeCharDevice != 0 {
			f.Operation = harness.Deleted
		}
		files = append(files, f)
		return nil
	})
	return files, cut
}

// Close removes the copy.
func (w *Workspace) Close() error {
	_ = filepath.WalkDir(w.scratch, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // folders that the command or the kernel shut, ours to remove
		}
		return nil //nolint:nilerr // RemoveAll says it
	})
	return os.RemoveAll(w.scratch)
}

// InCopy says of the tools of a run that they ran in the copy, where they ran, and adds how their results
// compare with the recorded ones.
func (c *Copied) InCopy(source, replayed *tape.Tape, tools []ToolCall, options compare.Options, as *Reconciler) error {
	in := map[int]bool{}
	for i := range tools {
		if tools[i].Layer == LayerLive {
			tools[i].Layer, in[tools[i].Seq] = LayerCopy, true
		}
	}
	c.Ran += len(in)
	options.Level = compare.Results
	result, _, err := as.Compare(source, replayed, options)
	if err != nil {
		return err
	}
	recorded := map[int]*tape.Event{}
	for i := range source.Events {
		recorded[source.Events[i].Seq] = &source.Events[i]
	}
	for i := range result.Script {
		s := &result.Script[i]
		if s.B == nil || !in[s.B.Seq] {
			continue
		}
		switch {
		case s.A == nil:
			c.Different = append(c.Different, fmt.Sprintf("%s, event %d of the replay, is not recorded", s.B.Name, s.B.Seq))
		case len(s.Differences) > 0:
			var fields []string
			for _, d := range s.Differences {
				fields = append(fields, string(d.Field))
			}
			c.Different = append(c.Different, fmt.Sprintf("%s, event %d of the recording, differs in %s", s.A.Name, s.A.Seq, strings.Join(slices.Compact(fields), ", ")))
		case recorded[s.A.Seq].Result.IsAbsent() && !recorded[s.A.Seq].IsError:
			c.NotRecorded++
		default:
			c.AsRecorded++
		}
	}
	return nil
}

// Said is what became of the tools, for a check.
func (c *Copied) Said() string {
	if c.Ran == 0 {
		return "no tool ran in it"
	}
	said := fmt.Sprintf("%d of %d", c.AsRecorded, c.Ran)
	if c.NotRecorded > 0 {
		said += fmt.Sprintf("; the result of %d was not recorded", c.NotRecorded)
	}
	for i, d := range c.Different {
		if i == maxShown {
			said += fmt.Sprintf("; and %d more", len(c.Different)-maxShown)
			break
		}
		said += "; " + d
	}
	return said
}

// lines say it for a person.
func (c *Copied) lines() (list []string) {
	if c == nil {
		return nil
	}
	list = append(list, fmt.Sprintf("copy: %d files at %s: %s", c.Of.Files, c.At, c.Promise))
	if n := len(c.Of.Redacted); n > 0 {
		list = append(list, fmt.Sprintf("copy: tokens stand in place of secrets in %s", listed(c.Of.Redacted)))
	}
	switch {
	case c.Of.NoGit != "":
		list = append(list, "copy: its repository could not be made: "+c.Of.NoGit)
	case c.Of.Git:
		list = append(list, "copy: its repository was made anew, with the last commits as a log shows them; what each changed is not kept")
	}
	for why, n := range sorted(c.LeftOut) {
		list = append(list, fmt.Sprintf("copy: the recording left out %d %s", n, why))
	}
	return list
}
