// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/redact"
)

// profileFlags choose what is redacted, and the key of the tokens.
type profileFlags struct {
	keyFlags
	profile, mode  string
	rules, disable []string
	concern        concernTeller
}

func (f *profileFlags) add(cmd *cobra.Command) {
	f.concern = tellingConcerns(cmd)
	cmd.Flags().StringVar(&f.profile, "profile", redact.PolicyDefault, `"default" or "strict"`)
	cmd.Flags().StringVar(&f.mode, "mode", string(redact.ModeToken), `"token", or "mask" for a plain [REDACTED]`)
	cmd.Flags().StringArrayVar(&f.rules, "redaction-rules", nil, "a file with further rules of redaction (repeatable)")
	cmd.Flags().StringSliceVar(&f.disable, "disable", nil, "rules or sections that do not run")
	f.keyFlags.add(cmd, "the key of the redaction, which makes the tokens; without it $"+keyVariable)
}

// redactor returns what the flags say. Without a key it can only look.
func (f *profileFlags) redactor() (*redact.Redactor, error) {
	p := redact.Profile{Policy: f.profile, Mode: redact.Mode(f.mode), Disable: f.disable}
	for _, file := range f.rules {
		var err error
		if p, err = p.Read(file); err != nil {
			return nil, err
		}
	}
	key, err := f.load()
	if err != nil {
		return nil, err
	}
	if key != nil {
		f.concern.tell(key.Concern())
	}
	return redact.New(p.WithKey(key))
}

// readText reads a file that is no telemetry, of at most 512 MiB.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > 512<<20 {
		return "", errors.New(path + " exceeds 512 MiB")
	}
	text, err := os.ReadFile(path)
	return string(text), err
}
