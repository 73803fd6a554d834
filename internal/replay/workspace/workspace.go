// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace keeps what a folder holds before an agent works in it, and makes a copy of it again. It
// travels as spans of a scope of its own in the trace of the run, so redaction, evidence and deck treat it as
// they treat telemetry.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// Limits bound what is kept of a folder.
type Limits struct {
	Entries int   // files, folders and links
	Bytes   int64 // of content, in all
	File    int64 // of one file; a larger one is left out
}

// DefaultLimits take the sources of most projects, and a deck keeps them with every run.
var DefaultLimits = Limits{Entries: 10_000, Bytes: 32 << 20, File: 4 << 20}

// deckMarker is the file that every deck holds, see docs/tape-format.md.
const deckMarker = "tapedeck.json"

// Kind says what an Entry is.
type Kind string

// The kinds of entries.
const (
	File   Kind = "file"
	Folder Kind = "folder"
	Link   Kind = "link"
	Gone   Kind = "gone" // git has the file, the folder does not
)

// Entry is one thing in a folder. The path is relative, with slashes.
type Entry struct {
	Path     string
	Kind     Kind
	Mode     fs.FileMode // permissions
	Modified time.Time
	Content  []byte // of a file
	SHA256   string // of the content as it was, hexadecimal
	To       string // of a link
	Tracked  bool   // git has it
	Head     []byte // what git has, where that is something else; nil else
}

// Kept is what a folder held.
type Kept struct {
	Dir     string // absolute, without symlinks
	Cwd     string // where the command ran, relative to Dir; "" where it ran outside
	Entries []Entry
	Git     *Git           // nil where the folder is no repository of its own
	LeftOut map[string]int // why something is not there, and how often
}

// Bytes is the size of all content.
func (k *Kept) Bytes() (n int64) {
	for i := range k.Entries {
		n += int64(len(k.Entries[i].Content) + len(k.Entries[i].Head))
	}
	return n
}

// Files counts the files.
func (k *Kept) Files() (n int) {
	for i := range k.Entries {
		if k.Entries[i].Kind == File {
			n++
		}
	}
	return n
}

// Why something in a folder is left out.
const (
	leftLink       = "symlinks that lead out of the folder"
	leftSpecial    = "neither files, folders nor symlinks"
	leftUnreadable = "not readable"
	leftIgnored    = "files ignored by git"
	leftInside     = "contents of folders ignored by git"
	leftLarge      = "files that are too large"
	leftName       = "names that are no text"
	leftGit        = "named .git"
	leftDeck       = "contents of decks and outputs"
)

func (k *Kept) leave(why string, n int) {
	if n == 0 {
		return
	}
	if k.LeftOut == nil {
		k.LeftOut = map[string]int{}
	}
	k.LeftOut[why] += n
}

// String says what was left out; empty if nothing was.
func (k *Kept) String() string {
	var all []string
	for _, why := range slices.Sorted(maps.Keys(k.LeftOut)) {
		all = append(all, fmt.Sprintf("%d %s", k.LeftOut[why], why))
	}
	return strings.Join(all, ", ")
}

// Options say what is kept.
type Options struct {
	Limits  Limits
	Ignored bool     // also what git ignores
	Outputs []string // folders that are none of the workspace, such as the deck
}

// ErrTooMuch is returned, wrapped, for a folder that holds more than is kept. Then nothing of it is: part of
// a workspace is another one.
var ErrTooMuch = errors.New("it holds more than is kept")

// Take reads a folder. Nothing outside of it is read: symlinks are kept as such, where they lead to a place
// within it. Pipes and devices are not opened. What git keeps in .git is not taken over: its objects are
// packed, and no secret in them could be redacted. What is needed to make the repository anew is.
func Take(ctx context.Context, dir string, o Options) (*Kept, error) {
	absolute, err := filepath.Abs(dir)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return nil, unnamed(err)
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, unnamed(err)
	}
	defer root.Close()
	k := &Kept{Dir: absolute}
	if here, err := os.Getwd(); err == nil {
		if here, err = filepath.EvalSymlinks(here); err == nil {
			if below, err := filepath.Rel(absolute, here); err == nil && filepath.IsLocal(below) {
				k.Cwd = filepath.ToSlash(below)
			}
		}
	}
	t := &taking{kept: k, root: root, options: o, left: o.Limits.Bytes}
	for _, output := range o.Outputs {
		if info, err := os.Stat(output); output != "" && err == nil {
			t.outputs = append(t.outputs, info)
		}
	}
	if !o.Ignored {
		if t.ignored, err = ignored(ctx, absolute); err != nil {
			return nil, err
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return t.visit(name, entry, err)
	})
	if err != nil {
		return nil, err
	}
	if err := t.git(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(k.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return k, nil
}

// taking is the reading of one folder.
type taking struct {
	kept    *Kept
	root    *os.Root
	options Options
	outputs []fs.FileInfo
	ignored map[string]bool
	left    int64 // bytes that may be read still
}

func (t *taking) visit(name string, entry fs.DirEntry, err error) error {
	k := t.kept
	if err != nil {
		if name == "." {
			return unnamed(err)
		}
		k.leave(leftUnreadable, 1)
		return nil
	}
	if name == "." {
		return nil
	}
	skip := func(why string) error {
		k.leave(why, 1)
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	switch {
	case path.Base(name) == ".git":
		return skip(leftGit)
	case !utf8.ValidString(name):
		return skip(leftName)
	case t.ignored[name] && !entry.IsDir():
		return skip(leftIgnored)
	}
	inside := "" // why what lies in a folder is left out; listings of the folder above show it all the same
	switch {
	case entry.IsDir() && t.isOutput(name):
		inside = leftDeck
	case entry.IsDir() && t.ignored[name]:
		inside = leftInside
	}
	if len(k.Entries) >= t.options.Limits.Entries {
		return fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, t.options.Limits.Entries)
	}
	info, err := t.root.Lstat(name)
	if err != nil {
		return skip(leftUnreadable)
	}
	e := Entry{Path: name, Mode: info.Mode().Perm(), Modified: info.ModTime()}
	switch mode := info.Mode(); {
	case mode.IsDir():
		e.Kind = Folder
	case mode&fs.ModeSymlink != 0:
		e.Kind = Link
		if e.To, err = t.root.Readlink(name); err != nil {
			return skip(leftUnreadable)
		}
		if !within(name, e.To) || !utf8.ValidString(e.To) {
			return skip(leftLink)
		}
	case mode.IsRegular():
		e.Kind = File
		if info.Size() > t.options.Limits.File {
			return skip(leftLarge)
		}
		if e.Content, err = t.read(name); err != nil {
			if errors.Is(err, ErrTooMuch) {
				return err
			}
			return skip(leftUnreadable)
		}
		sum := sha256.Sum256(e.Content)
		e.SHA256 = hex.EncodeToString(sum[:])
	default:
		return skip(leftSpecial)
	}
	k.Entries = append(k.Entries, e)
	if inside != "" {
		return skip(inside)
	}
	return nil
}

// isOutput reports a deck, or a folder that is one of those that are written to.
func (t *taking) isOutput(name string) bool {
	if info, err := t.root.Stat(path.Join(name, deckMarker)); err == nil && info.Mode().IsRegular() {
		return true
	}
	info, err := t.root.Stat(name)
	return err == nil && slices.ContainsFunc(t.outputs, func(w fs.FileInfo) bool { return os.SameFile(w, info) })
}

// read reads one file. What is a file now may be a pipe when it is opened: that must not wait for a writer.
func (t *taking) read(name string) ([]byte, error) {
	file, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file any more")
	}
	if err != nil {
		return nil, err
	}
	most := min(t.left, t.options.Limits.File)
	body, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(body)) > most {
		err = t.tooMuch()
	}
	if err != nil {
		return nil, err
	}
	t.left -= int64(len(body))
	return body, nil
}

func (t *taking) tooMuch() error {
	return fmt.Errorf("%w: more than %d bytes in all", ErrTooMuch, t.options.Limits.Bytes)
}

// within reports a symlink that leads to a place within the folder, by its text.
func within(name, to string) bool {
	return !path.IsAbs(filepath.ToSlash(to)) && filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), filepath.ToSlash(to))))
}

// unnamed is an error without the path, which the caller names as the user did.
func unnamed(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
