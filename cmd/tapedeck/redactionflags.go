// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// redactionFlags say how a command redacts what it stores.
type redactionFlags struct {
	keyFlags
	redact            string
	noGate, keyChange bool
	concern           concernTeller
}

const redactOff = "off"

func (f *redactionFlags) add(cmd *cobra.Command) {
	f.concern = tellingConcerns(cmd)
	cmd.Flags().StringVar(&f.redact, "redact", redact.PolicyDefault, `redact what is stored: "default", "strict", a file with rules, or "off"`)
	f.keyFlags.add(cmd, "the key of the redaction, which makes the tokens; without it $"+keyVariable+", else a key of this user")
	cmd.Flags().BoolVar(&f.keyChange, "allow-key-change", false, "store under another key than that of the deck and of the trace")
	cmd.Flags().BoolVar(&f.noGate, "no-gate", false, "do not search again what is about to be written")
}

// gate searches what was redacted again before it is written; nil when redaction or the gate is off.
func (f *redactionFlags) gate() (*derive.Gate, error) {
	p, on, err := f.profile()
	if err != nil || !on || f.noGate {
		return nil, err
	}
	return derive.NewGate(p)
}

// profile is what --redact says; false when it is off.
func (f *redactionFlags) profile() (p redact.Profile, on bool, err error) {
	switch f.redact {
	case redactOff:
		if file, scope := f.named(); file+scope != "" && !f.shared() {
			return p, false, errors.New("--redact off has no use for a key")
		}
		return p, false, nil
	case redact.PolicyDefault:
		return redact.Default(), true, nil
	case redact.PolicyStrict:
		return redact.Strict(), true, nil
	case "":
		return p, false, errors.New(`--redact is empty; say "off" if nothing shall be redacted`)
	}
	if p, err = redact.Default().Read(f.redact); err != nil {
		return p, false, fmt.Errorf("--redact: %w", err)
	}
	return p, true, nil
}

// open returns the redactor; nil when redaction is off.
func (f *redactionFlags) open(stderr io.Writer) (*redact.Redactor, error) {
	p, on, err := f.profile()
	if err != nil || !on {
		return nil, err
	}
	key, err := f.key()
	if err != nil {
		return nil, err
	}
	if key != nil {
		f.concern.tell(key.Concern())
	}
	if key == nil {
		say(stderr, "no redaction key: values are masked, equal ones are no longer equal, and replays cannot verify them; name one with --redaction-key-file")
		p.Mode = redact.ModeMask
	}
	return redact.New(p.WithKey(key))
}

// key is that of the file, of the environment, or the generated one of this user; nil where none of them can be.
func (f *redactionFlags) key() (*redact.Key, error) {
	key, err := f.load()
	if key != nil || err != nil {
		return key, err
	}
	dir, err := stateDir()
	if err != nil {
		return nil, nil // no home
	}
	_, scope := f.named()
	key, err = redact.GeneratedKey(dir, scope)
	if errors.Is(err, os.ErrPermission) || err != nil && !exists(dir) {
		return nil, nil // a home that cannot be written
	}
	return key, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// stateDir is where programs of this user keep what is neither configuration nor cache.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tapedeck"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "tapedeck"), nil
}
