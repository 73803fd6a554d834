// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Bounds of a copy of a folder of settings.
const (
	maxFiles    = 2000
	maxFileSize = 4 << 20
	maxCopied   = 64 << 20
)

var errTooLarge = fmt.Errorf("it has more than %d files or %d bytes", maxFiles, maxCopied)

// file writes a file of settings below the folder that is removed, and points the variable there.
func (l *Launch) file(s Setting, value string, c Command) error {
	if c.Places.Dir == "" { // nothing is run
		l.Set = append(l.Set, s.label())
		return nil
	}
	from, set := lookup(c.Given, s.Name)
	from = filepath.Join(from, s.Within)
	if home, ok := lookup(c.Env, "HOME"); !set && ok {
		from = filepath.Join(home, filepath.FromSlash(s.Home))
	}
	if s.Unless != "" {
		if text, err := os.ReadFile(filepath.Join(from, s.File)); err == nil && regexp.MustCompile(s.Unless).Match(text) {
			return nil
		}
	}
	points := filepath.Join(c.Places.Dir, "settings", s.Name)
	to := filepath.Join(points, s.Within)
	file := filepath.Join(to, s.File)
	if s.Home == "" {
		points = file
	}
	l.Env = with(l.Env, s.Name, points)
	l.Set = append(l.Set, s.label())
	if _, err := os.Lstat(to); err == nil {
		return nil // of an earlier turn: the program goes on with it
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	if s.Home != "" {
		if err := copyFolder(from, to, s.Skip); err != nil {
			return err
		}
		before, err := os.ReadFile(file)
		led := string(elsewhere(before, c.Places.Model))
		switch {
		case errors.Is(err, fs.ErrNotExist) && value == "":
			return nil
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case value == "":
			value = led
		default:
			if value, err = merged(led, value); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, []byte(value), 0o600)
}

// copied makes a copy of a file that an argument names, and returns its name.
func copied(name string, p Places) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return name, nil // a name of something else, such as a hub's
	case p.Dir == "":
		return name, nil
	case info.Size() > maxFileSize:
		return "", fmt.Errorf("%s cannot be copied", name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(p.Dir, "settings")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	to := filepath.Join(folder, filepath.Base(name))
	return to, os.WriteFile(to, elsewhere(text, p.Model), 0o600)
}

// address is a base URL in a file of settings, up to its path.
var address = regexp.MustCompile(`(?i)(\b(?:api_?)?(?:base_?url|base)["']?\s*[:=]\s*["']?)https?://[^/"'\s,}]+`)

// elsewhere leads the base URLs in a file of settings to the stub. Their paths stay: the stub knows a
// protocol by the end of one.
func elsewhere(text []byte, model string) []byte {
	if u, err := url.Parse(model); err != nil || u.Host == "" {
		return text
	}
	return address.ReplaceAll(text, []byte("${1}"+model))
}

// copyFolder copies the files of a folder. One that is not there is empty. Links are followed, but not out of
// sight: a folder behind a link is left out.
func copyFolder(from, to string, leave []string) error {
	files, size := 0, int64(0)
	err := filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case slices.Contains(leave, name) && d.IsDir():
			return filepath.SkipDir
		case slices.Contains(leave, name):
			return nil
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o700)
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxFileSize {
			return nil // a socket, a link to nothing, a cache
		}
		files, size = files+1, size+info.Size()
		if files > maxFiles || size > maxCopied {
			return errTooLarge
		}
		return copyFile(file, filepath.Join(to, name))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxFileSize))
	return errors.Join(err, out.Close())
}
