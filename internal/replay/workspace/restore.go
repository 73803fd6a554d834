// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"
)

// Restored says what became of a workspace that was made again.
type Restored struct {
	Files    int      `json:"files"`
	Redacted []string `json:"redacted,omitempty"` // files that hold tokens in place of secrets
	// Git says that the repository was made anew, NoGit why it could not be.
	Git   bool   `json:"git,omitempty"`
	NoGit string `json:"no_git,omitempty"`
}

// Restore makes the workspace in an empty folder. It never leaves the folder, whatever the entries say.
func (k *Kept) Restore(ctx context.Context, dir string) (r Restored, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if left, err := fs.ReadDir(root.FS(), "."); err != nil || len(left) > 0 {
		return r, errors.Join(err, fmt.Errorf("%s is not empty", dir))
	}
	r.Files, r.Redacted = k.Files(), k.Redacted()
	// first what git has, then what the folder holds
	if k.Git != nil {
		for i := range k.Entries {
			e := &k.Entries[i]
			body := e.Content
			if e.Head != nil {
				body = e.Head
			}
			if !e.Tracked || e.Kind == Folder {
				continue
			}
			if err := put(root, e, body); err != nil {
				return r, err
			}
		}
		if err := k.commit(ctx, dir); err == nil {
			r.Git = true
		} else if ctx.Err() != nil {
			return r, ctx.Err()
		} else {
			r.NoGit = err.Error()
		}
	}
	for i := range k.Entries {
		if err := put(root, &k.Entries[i], k.Entries[i].Content); err != nil {
			return r, err
		}
	}
	folders := map[string]bool{}
	for i := range k.Entries {
		folders[k.Entries[i].Path] = k.Entries[i].Kind == Folder
	}
	for i := range k.Entries { // folders that git has alone were made for it
		for dir := path.Dir(k.Entries[i].Path); k.Entries[i].Kind == Gone && dir != "." && !folders[dir]; dir = path.Dir(dir) {
			if root.Remove(dir) != nil {
				break
			}
		}
	}
	for i := len(k.Entries) - 1; i >= 0; i-- { // what lies in a folder before the folder
		e := &k.Entries[i]
		if e.Kind != File && e.Kind != Folder {
			continue
		}
		mode := e.Mode.Perm()
		if e.Kind == Folder {
			mode |= 0o700 // it is to be removed again
		}
		err := root.Chmod(e.Path, mode)
		if err == nil && !e.Modified.IsZero() {
			err = root.Chtimes(e.Path, time.Time{}, e.Modified)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// put makes one entry, whatever stands there.
func put(root *os.Root, e *Entry, body []byte) error {
	if e.Kind == Folder {
		return root.MkdirAll(e.Path, 0o755)
	}
	err := root.RemoveAll(e.Path) // git may have a folder where a file is
	if e.Kind == Gone && body == nil {
		return nil // it lies below what is no folder any more, or it is removed now
	}
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(e.Path), 0o755); err != nil {
		return err
	}
	if e.Kind == Link {
		return root.Symlink(e.To, e.Path)
	}
	file, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(body)
	return errors.Join(err, file.Close())
}
