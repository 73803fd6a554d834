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
	profile, mode          string
	rules, disable         []string
	keyFile, keyEnv, scope string
	concern                concernTeller
}

func (f *profileFlags) add(cmd *cobra.Command) {
	f.concern = tellingConcerns(cmd)
	cmd.Flags().StringVar(&f.profile, "profile", redact.PolicyDefault, `"default" or "strict"`)
	cmd.Flags().StringVar(&f.mode, "mode", string(redact.ModeToken), `"token", or "mask" for a plain [REDACTED]`)
	cmd.Flags().StringArrayVar(&f.rules, "rules", nil, "a file with rules (repeat for more)")
	cmd.Flags().StringSliceVar(&f.disable, "disable", nil, "rules or sections that do not run")
	cmd.Flags().StringVar(&f.keyFile, "key-file", "", "file with the key of the tokens")
	cmd.Flags().StringVar(&f.keyEnv, "key-env", "", "environment variable with the key of the tokens")
	cmd.Flags().StringVar(&f.scope, "key-scope", "", "scope of the tokens, as the collectors have it")
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
	var key *redact.Key
	var err error
	switch {
	case f.keyFile != "" && f.keyEnv != "":
		return nil, errors.New("--key-file and --key-env exclude each other")
	case f.keyFile != "":
		key, err = redact.KeyFromFile(f.keyFile, f.scope)
	case f.keyEnv != "":
		key, err = redact.KeyFromEnv(f.keyEnv, f.scope)
	}
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
