// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Command is what is to be run.
type Command struct {
	Argv []string
	// Env is its environment without what the profile adds. Given is what it has of the user's environment,
	// which goes before the profile.
	Env, Given []string
	Places     Places
	// Replay leads its model calls to the stub, too. Shut says that nothing but the stub can be reached, with
	// a proxy or without.
	Replay, Shut bool
}

// Launch is a command that a profile has changed.
type Launch struct {
	Argv, Env []string
	// Set names the settings that were made, Kept those that the user had made and that stay, Missed those
	// that could not be made.
	Set, Kept, Missed []string
}

// Launch returns the command with the settings of the profile.
func (f Found) Launch(c Command) (Launch, error) {
	l := Launch{Argv: slices.Clone(c.Argv), Env: slices.Clone(c.Env)}
	var added []string
	apply := func(settings []Setting, replay bool) error {
		for _, s := range settings {
			if c.Places.lacks(s.Value) {
				continue
			}
			value := c.Places.in(s.Value)
			switch {
			case s.Unset:
				if c.Shut || !strings.HasSuffix(strings.ToUpper(s.Name), "_PROXY") {
					l.Env = slices.DeleteFunc(l.Env, func(v string) bool { return strings.HasPrefix(v, s.Name+"=") })
				}
			case s.Copied:
				if err := f.file(&l, s, c.Places); err != nil {
					return fmt.Errorf("%s: %w", s.label(), err)
				}
			case len(s.Flags) > 0:
				added = append(added, f.argument(&l, s, value, replay)...)
			case s.File != "":
				if err := l.file(s, value, c); err != nil {
					return fmt.Errorf("%s: %w", s.label(), err)
				}
			default:
				if err := l.variable(s, value, c.Given); err != nil {
					return fmt.Errorf("%s: %w", s.label(), err)
				}
			}
		}
		return nil
	}
	if c.Replay { // first: a setting of the replay is not one that the user has made
		if err := apply(f.Profile.Replay, true); err != nil {
			return l, err
		}
	}
	if err := apply(f.Record, false); err != nil {
		return l, err
	}
	if f.At >= 0 {
		l.Argv = slices.Insert(l.Argv, f.At+1, added...)
	}
	if f.Instrument && !f.Instrumented {
		f.instrument(&l)
	}
	return l, nil
}

// argument returns the words of an argument, as far as it is to be added. In a replay the command loses what
// it had of the same key.
func (f Found) argument(l *Launch, s Setting, value string, replay bool) []string {
	if f.At < 0 {
		if !s.Given {
			l.Missed = append(l.Missed, s.label())
		}
		return nil
	}
	words := []string{s.Flags[0], value}
	if s.Name != "" {
		words[1] = s.Name + "=" + value
	}
	found := false
	for i := f.At + 1; i < len(l.Argv) && l.Argv[i] != "--"; {
		n := s.at(l.Argv[i:])
		if n == 0 {
			i++
			continue
		}
		found = true
		if !replay {
			l.Kept = append(l.Kept, s.label())
			return nil
		}
		l.Argv = slices.Delete(l.Argv, i, i+n)
	}
	if s.Given && !found {
		return nil
	}
	l.Set = append(l.Set, s.label())
	return words
}

// file gives a command a copy of the file of settings that an argument names.
func (f Found) file(l *Launch, s Setting, p Places) error {
	return f.values(l, s, func(name string) (string, error) {
		to, err := copied(name, p)
		if err == nil && to != name {
			l.Set = append(l.Set, s.label())
		}
		return to, err
	})
}

// values puts another value into each argument that is the setting's.
func (f Found) values(l *Launch, s Setting, other func(string) (string, error)) error {
	for i := f.At + 1; f.At >= 0 && i < len(l.Argv) && l.Argv[i] != "--"; i++ {
		before, value := "", ""
		switch s.at(l.Argv[i:]) {
		case 0:
			continue
		case 1:
			before, value, _ = strings.Cut(l.Argv[i], "=")
			before += "="
		case 2:
			i++
			value = l.Argv[i]
		}
		value, err := other(value)
		if err != nil {
			return err
		}
		l.Argv[i] = before + value
	}
	return nil
}

// at returns of how many words the argument is that the words begin with, 0 if it is another one.
func (s Setting) at(words []string) int {
	ofKey := func(text string) bool {
		rest, ok := strings.CutPrefix(text, s.Name)
		return s.Name == "" || ok && (strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "."))
	}
	for _, flag := range s.Flags {
		if words[0] == flag && len(words) > 1 && ofKey(words[1]) {
			return 2
		}
		rest, ok := strings.CutPrefix(words[0], flag+"=")
		if !ok && len(flag) == 2 && s.Name != "" {
			rest, ok = strings.CutPrefix(words[0], flag)
		}
		if ok && ofKey(rest) {
			return 1
		}
	}
	return 0
}

// variable sets a variable. What the user has set stays, but addresses.
func (l *Launch) variable(s Setting, value string, given []string) (err error) {
	now, set := lookup(given, s.Name)
	switch {
	case s.Merged:
		before, ok := lookup(l.Env, s.Name)
		switch {
		case ok && before != now: // what the profile has laid there
			value, err = merged(value, before)
		case set && s.Address:
			value, err = merged(now, value)
		case set:
			value, err = merged(value, now)
		}
		if err != nil {
			return err
		}
	case set && !s.Address:
		l.Env = with(l.Env, s.Name, now)
		if now != value {
			l.Kept = append(l.Kept, s.Name+"="+now)
		}
		return nil
	}
	l.Env = with(l.Env, s.Name, value)
	if !slices.Contains(l.Set, s.Name) {
		l.Set = append(l.Set, s.Name)
	}
	return nil
}

// instrument puts opentelemetry-instrument before a Python program, where it is installed beside it.
func (f Found) instrument(l *Launch) {
	if f.At < 0 {
		l.Missed = append(l.Missed, Instrumenter)
		return
	}
	first := l.Argv[f.Start]
	file, err := exec.LookPath(first)
	folders := []string{filepath.Dir(file)}
	if behind, err := filepath.EvalSymlinks(file); err == nil {
		folders = append(folders, filepath.Dir(behind))
	}
	name := Instrumenter
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, folder := range folders {
		if there, lookErr := exec.LookPath(filepath.Join(folder, name)); err == nil && lookErr == nil {
			l.Argv = slices.Insert(l.Argv, f.Start, there)
			l.Set = append(l.Set, Instrumenter)
			return
		}
	}
	l.Missed = append(l.Missed, Instrumenter)
}

func lookup(env []string, name string) (value string, ok bool) {
	for _, v := range env {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value, true
		}
	}
	return "", false
}

func with(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	return append(env, name+"="+value)
}

var errNoObject = errors.New("it is no JSON object")

// merged lays the members of one JSON object over those of another.
func merged(under, over string) (string, error) {
	var a, b map[string]any
	if err := json.Unmarshal([]byte(under), &a); err != nil {
		return "", errNoObject
	}
	if err := json.Unmarshal([]byte(over), &b); err != nil {
		return "", errNoObject
	}
	out, err := json.Marshal(laid(a, b, 0))
	return string(out), err
}

// maxDepth bounds how deep objects are laid over each other; below that the upper one counts.
const maxDepth = 32

func laid(under, over map[string]any, depth int) map[string]any {
	if under == nil {
		under = map[string]any{}
	}
	for k, v := range over {
		a, ok := under[k].(map[string]any)
		b, both := v.(map[string]any)
		if ok && both && depth < maxDepth {
			v = laid(a, b, depth+1)
		}
		under[k] = v
	}
	return under
}

// Said tells what was done in one line; "" if there is nothing to say.
func (f Found) Said(l Launch) string {
	var parts []string
	for _, p := range []struct {
		words string
		names []string
	}{{"set for it: ", l.Set}, {"as you set it: ", l.Kept}, {"not set, it cannot be reached: ", l.Missed}} {
		if len(p.names) > 0 {
			parts = append(parts, p.words+strings.Join(p.names, ", "))
		}
	}
	if f.Lacks != "" {
		parts = append(parts, f.Lacks)
	}
	if len(parts) == 0 || f.Name == "" {
		return ""
	}
	return "the command is " + f.Name + "; " + strings.Join(parts, "; ")
}

// Passed reports whether a variable belongs to the program.
func (p *Profile) Passed(name string) bool {
	return slices.ContainsFunc(p.Passes, func(pattern string) bool {
		fits, _ := path.Match(pattern, name) // a test has read the patterns
		return fits
	})
}

// Sets reports whether a replay sets a variable, whatever its value was.
func (p *Profile) Sets(name string) bool {
	return slices.ContainsFunc(p.Replay, func(s Setting) bool { return s.Name == name && s.Address && len(s.Flags) == 0 })
}
