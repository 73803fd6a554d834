// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A program that is recorded runs for real: it keeps its folder of settings, its keys and its sessions. Its
// model calls pass through this program all the same where base URLs in its settings lead there.

// Through returns the address that stands in place of that of an endpoint: scheme, host and port.
type Through func(origin string) (string, error)

// Passage is a command whose model calls lead through this program.
type Passage struct {
	Launch
	folders []linked
}

// linked is a folder of links to another one, but for a file.
type linked struct{ from, to, file string }

// Through returns the command with settings in which base URLs lead through this program, and that are else
// the user's: arguments, files that arguments name, and folders, of which the command gets one of links.
// Variables are not its matter. Close it when the command has ended.
func (f Found) Through(c Command, through Through) (*Passage, error) {
	p := &Passage{Launch: Launch{Argv: slices.Clone(c.Argv), Env: slices.Clone(c.Env)}}
	var added []string
	for _, s := range f.Profile.Replay {
		var err error
		switch {
		case s.Needs != "":
			if key, set := lookup(c.Given, s.Needs); set && key != "" {
				added = append(added, f.argument(&p.Launch, s, c.Places.in(s.Value), false)...)
			}
		case s.Copied, len(s.Flags) > 0 && strings.Contains(s.Value, "{model}"):
			err = f.passing(&p.Launch, s, c.Places, through)
		case s.File != "" && s.Home != "":
			err = p.folder(s, c, through)
		}
		if err != nil {
			return p, errors.Join(fmt.Errorf("%s: %w", s.label(), err), p.Close())
		}
	}
	if f.At >= 0 {
		p.Argv = slices.Insert(p.Argv, f.At+1, added...)
	}
	return p, nil
}

// led leads the base URLs in a text through this program.
func led(text []byte, through Through) (out []byte, err error) {
	last := 0
	for _, at := range address.FindAllSubmatchIndex(text, -1) {
		to, failed := through(string(text[at[3]:at[1]]))
		if failed != nil {
			return nil, failed
		}
		out = append(append(out, text[last:at[3]]...), to...)
		last = at[1]
	}
	return append(out, text[last:]...), nil
}

// passing leads an argument through this program: an address, or the file of settings that it names.
func (f Found) passing(l *Launch, s Setting, places Places, through Through) error {
	return f.values(l, s, func(value string) (string, error) {
		l.Set = append(l.Set, s.label())
		if !s.Copied {
			const as = "base=" // as it stands in a file
			out, err := led([]byte(as+value), through)
			return strings.TrimPrefix(string(out), as), err
		}
		text, err := os.ReadFile(value)
		if err != nil || len(text) > maxFileSize || places.Dir == "" {
			return value, nil //nolint:nilerr // the program says what is wrong with its file
		}
		if text, err = led(text, through); err != nil {
			return "", err
		}
		to := filepath.Join(places.Dir, "led-"+filepath.Base(value))
		return to, os.WriteFile(to, text, 0o600)
	})
}

// folder gives a program a folder of links to its own one, in which a file of settings is another.
func (p *Passage) folder(s Setting, c Command, through Through) error {
	from, set := lookup(c.Given, s.Name)
	if home, ok := lookup(c.Env, "HOME"); !set && ok {
		from = filepath.Join(home, filepath.FromSlash(s.Home))
	}
	text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(s.File)))
	switch {
	case from == "", c.Places.Dir == "", errors.Is(err, fs.ErrNotExist) && s.Value == "":
		return nil // it goes where it goes without settings
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case len(text) > maxFileSize:
		return errTooLarge
	}
	if text, err = led(text, through); err != nil {
		return err
	}
	if s.Value != "" {
		under, err := withoutKeys(c.Places.in(s.Value))
		if err != nil {
			return err
		}
		if len(text) == 0 {
			text = []byte("{}")
		}
		over, err := merged(under, string(text))
		if err != nil {
			return err
		}
		text = []byte(over)
	}
	l := linked{from: from, to: filepath.Join(c.Places.Dir, "through", s.Name), file: filepath.FromSlash(s.File)}
	p.folders = append(p.folders, l)
	if err := l.make(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(l.to, l.file), text, 0o600); err != nil {
		return err
	}
	p.Env = with(p.Env, s.Name, l.to)
	p.Set = append(p.Set, s.File+" in a folder of links at "+s.Name)
	return nil
}

// withoutKeys takes the stand-ins of keys out of settings: the program has its own.
func withoutKeys(text string) (string, error) {
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return "", errNoObject
	}
	var clean func(v map[string]any, depth int)
	clean = func(v map[string]any, depth int) {
		for name, member := range v {
			if member == dummyKey {
				delete(v, name)
			} else if inner, ok := member.(map[string]any); ok && depth < maxDepth {
				clean(inner, depth+1)
			}
		}
	}
	clean(v, 0)
	out, err := json.Marshal(v)
	return string(out), err
}

// make makes the folders down to that of the file, and links to all else that is in them.
func (l linked) make() error {
	for folder := "."; ; {
		if err := os.MkdirAll(filepath.Join(l.to, folder), 0o700); err != nil {
			return err
		}
		rest, err := filepath.Rel(folder, l.file)
		if err != nil {
			return err
		}
		own, _, deeper := strings.Cut(rest, string(filepath.Separator))
		entries, err := os.ReadDir(filepath.Join(l.from, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if e.Name() == own {
				continue
			}
			name := filepath.Join(folder, e.Name())
			target, err := filepath.Abs(filepath.Join(l.from, name))
			if err == nil {
				err = os.Symlink(target, filepath.Join(l.to, name))
			}
			if err != nil {
				return err
			}
		}
		if !deeper {
			return nil
		}
		folder = filepath.Join(folder, own)
	}
}

// Close puts what the program wrote beside the links where it would have been without them.
func (p *Passage) Close() (err error) {
	for _, l := range p.folders {
		err = errors.Join(err, filepath.WalkDir(l.to, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(l.to, file)
			if err != nil || name == l.file || !d.Type().IsRegular() {
				return err
			}
			return moved(file, filepath.Join(l.from, name))
		}))
	}
	p.folders = nil
	return err
}

// moved puts a file in the place of another, which may lie on another file system.
func moved(from, to string) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.CreateTemp(filepath.Dir(to), ".tapedeck-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return os.Rename(out.Name(), to)
}
