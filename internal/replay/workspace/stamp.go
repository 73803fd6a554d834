// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/harness"
)

// Stamps are sizes and times of the files of a folder, by which changes are seen without reading them.
type Stamps map[string]stamp

type stamp struct {
	size     int64
	modified time.Time
}

// TakeStamps looks at a folder, without what git keeps. It refuses one that holds more.
func TakeStamps(dir string, most int) (Stamps, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unnamed(err)
	}
	defer root.Close()
	s, looked := Stamps{}, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if looked++; looked > most {
			return fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, most)
		}
		switch {
		case err != nil && name == ".":
			return unnamed(err)
		case err != nil: // what cannot be read is not seen to change
			return nil //nolint:nilerr // it is one of many
		case entry.IsDir() && path.Base(name) == ".git":
			return fs.SkipDir
		case entry.Type().IsRegular():
			if info, err := entry.Info(); err == nil {
				s[name] = stamp{info.Size(), info.ModTime()}
			}
		}
		return nil
	})
	return s, err
}

// Changes are the files that are not as they were, sorted by path.
func (s Stamps) Changes(after Stamps) (changes []harness.Change) {
	for name, now := range after {
		then, known := s[name]
		switch {
		case !known:
			changes = append(changes, harness.Change{Path: name, Operation: harness.Created})
		case then.size != now.size || !then.modified.Equal(now.modified):
			changes = append(changes, harness.Change{Path: name, Operation: harness.Modified})
		}
	}
	for name := range s {
		if _, there := after[name]; !there {
			changes = append(changes, harness.Change{Path: name, Operation: harness.Deleted})
		}
	}
	slices.SortFunc(changes, func(a, b harness.Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
