// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package harness

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
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Limits bound what is read of a folder.
type Limits struct {
	Files int   // files and folders that are looked at
	Bytes int64 // of content, in all
}

// deckMarker is the file that every deck holds, see docs/tape-format.md.
const deckMarker = "tapedeck.json"

// DefaultLimits are far above what evaluations are given, and a few seconds of reading.
var DefaultLimits = Limits{Files: 10_000, Bytes: 1 << 30}

// File is a file by its digest. The path is relative, with slashes.
type File struct {
	Path   string
	Size   int64
	SHA256 string // hexadecimal, of the bytes as they are stored
}

// Listing is what a folder holds.
type Listing struct {
	Files   []File // sorted by path
	LeftOut map[string]int
}

// Why something in a folder is left out.
const (
	leftSymlink    = "symlinks that lead out of the folder, nowhere or to a folder"
	leftSpecial    = "neither files nor folders"
	leftUnreadable = "not readable"
)

func (l *Listing) leave(why string) {
	if l.LeftOut == nil {
		l.LeftOut = map[string]int{}
	}
	l.LeftOut[why]++
}

func (l *Listing) putLeftOut(m pcommon.Map, name string) {
	if len(l.LeftOut) == 0 {
		return
	}
	counts := m.PutEmptyMap(name)
	for _, why := range slices.Sorted(maps.Keys(l.LeftOut)) {
		counts.PutInt(why, int64(l.LeftOut[why]))
	}
}

// String says what was left out; empty if nothing was.
func (l *Listing) String() string {
	var all []string
	for _, why := range slices.Sorted(maps.Keys(l.LeftOut)) {
		all = append(all, fmt.Sprintf("%d %s", l.LeftOut[why], why))
	}
	return strings.Join(all, ", ")
}

// List takes the digests of all files of a folder. Folders whose names begin with a dot are passed over, as waza does it: what version control
// and tools keep there is none of the files of a task. Nothing outside of the folder is read: a symlink is followed only to a file within it.
// Pipes and devices are not opened. Decks are passed over, and so are the folders of outputs: what a recording writes is none of the files
// of a task. An empty output is none.
func List(ctx context.Context, dir string, limits Limits, outputs ...string) (*Listing, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unnamed(err)
	}
	defer root.Close()
	var written []fs.FileInfo
	for _, output := range outputs {
		if info, err := os.Stat(output); output != "" && err == nil {
			written = append(written, info)
		}
	}
	l := &Listing{}
	looked, left := 0, limits.Bytes
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if looked++; looked > limits.Files {
			return fmt.Errorf("it holds more than %d files and folders", limits.Files)
		}
		switch {
		case err != nil && name == ".":
			return unnamed(err)
		case err != nil:
			l.leave(leftUnreadable)
			return nil
		case entry.IsDir():
			if name != "." && (strings.HasPrefix(path.Base(name), ".") || isOutput(root, name, written)) {
				return fs.SkipDir
			}
			return nil
		}
		file, why, err := digest(root, name, left)
		switch {
		case err != nil:
			return err
		case why != "":
			l.leave(why)
		default:
			left -= file.Size
			file.Path = text(name)
			l.Files = append(l.Files, file)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}

// isOutput reports a deck, or a folder that is one of those that are written to.
func isOutput(root *os.Root, name string, written []fs.FileInfo) bool {
	if info, err := root.Stat(path.Join(name, deckMarker)); err == nil && info.Mode().IsRegular() {
		return true
	}
	info, err := root.Stat(name)
	return err == nil && slices.ContainsFunc(written, func(w fs.FileInfo) bool { return os.SameFile(w, info) })
}

// digest reads one file, of at most so many bytes. why says that it is none, or cannot be read.
func digest(root *os.Root, name string, most int64) (f File, why string, err error) {
	link, err := root.Lstat(name)
	if err != nil {
		return f, leftUnreadable, nil
	}
	info, err := root.Stat(name)
	switch isLink := link.Mode()&fs.ModeSymlink != 0; {
	case isLink && (err != nil || !info.Mode().IsRegular()):
		return f, leftSymlink, nil
	case err != nil:
		return f, leftUnreadable, nil
	case !info.Mode().IsRegular():
		return f, leftSpecial, nil
	}
	// What is a file now may be a pipe when it is opened: that must not wait for a writer.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f, leftUnreadable, nil
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return f, leftSpecial, nil
	}
	f, err = sum(file, most)
	if errors.Is(err, errTooLarge) {
		return f, "", err
	} else if err != nil {
		return f, leftUnreadable, nil
	}
	return f, "", nil
}

var errTooLarge = errors.New("its files are larger than may be read")

func sum(r io.Reader, most int64) (File, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = errTooLarge
	}
	return File{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// text is a name as a text: names of files are bytes.
func text(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// One takes the digest of one file. Its path is the one relative to the folder from, if it lies below it, else its name alone.
func One(file, from string, limits Limits) (File, error) {
	dir, name := filepath.Split(file)
	if name == "" {
		return File{}, errors.New("it is no file")
	}
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return File{}, unnamed(err)
	}
	defer root.Close()
	f, why, err := digest(root, name, limits.Bytes)
	if err != nil {
		return f, err
	}
	if why != "" {
		return f, errors.New("it is no file that can be read: " + why)
	}
	f.Path = text(name)
	if absolute, err := filepath.Abs(file); err == nil {
		if below, err := filepath.Rel(from, absolute); err == nil && filepath.IsLocal(below) {
			f.Path = text(filepath.ToSlash(below))
		}
	}
	return f, nil
}

// unnamed is an error without the path, which the caller names as the user did.
func unnamed(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Change is a file that is not as it was.
type Change struct {
	Path          string
	Operation     string // created, modified or deleted
	Before, After *File  // nil where there was none, and where there is none
}

// What happened to a file.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// Changes compares two listings of a folder; sorted by path.
func Changes(before, after *Listing) (changes []Change) {
	was := map[string]*File{}
	for i := range before.Files {
		was[before.Files[i].Path] = &before.Files[i]
	}
	for i := range after.Files {
		now := &after.Files[i]
		then, known := was[now.Path]
		delete(was, now.Path)
		switch {
		case !known:
			changes = append(changes, Change{Path: now.Path, Operation: Created, After: now})
		case then.SHA256 != now.SHA256:
			changes = append(changes, Change{Path: now.Path, Operation: Modified, Before: then, After: now})
		}
	}
	for _, gone := range was {
		changes = append(changes, Change{Path: gone.Path, Operation: Deleted, Before: gone})
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
