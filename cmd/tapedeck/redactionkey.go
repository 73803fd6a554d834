// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
)

// keyVariable holds the key when no file is named, as in the examples of the collector.
const keyVariable = rerun.RedactionKeyVariable

// keyFlags name the key of the redaction. A command that stores tokens and matches them has one pair of flags
// for both.
type keyFlags struct{ file, scope *pflag.Flag }

// sharedKey marks the flags of a command that uses the key for both.
const sharedKey = "tapedeck_shared_key"

func (k *keyFlags) add(cmd *cobra.Command, usage string) {
	flags := cmd.Flags()
	if k.file = flags.Lookup("redaction-key-file"); k.file != nil {
		k.file.Usage = "the key of the redaction: it makes the tokens of what is stored, and finds live values behind recorded ones; without it $" + keyVariable
		k.file.Annotations = map[string][]string{sharedKey: nil}
	} else {
		flags.String("redaction-key-file", "", usage)
		flags.String("redaction-key-scope", "", "the scope of that key, as the collectors have it")
		k.file = flags.Lookup("redaction-key-file")
	}
	k.scope = flags.Lookup("redaction-key-scope")
}

// named are the file and the scope that were given.
func (k keyFlags) named() (file, scope string) {
	if k.file == nil {
		return "", ""
	}
	return k.file.Value.String(), k.scope.Value.String()
}

// shared tells whether the command both stores and matches tokens.
func (k keyFlags) shared() bool {
	if k.file == nil {
		return false
	}
	_, shared := k.file.Annotations[sharedKey]
	return shared
}

// load reads the key of the file, or that of the environment; nil where neither is.
func (k keyFlags) load() (*redact.Key, error) {
	file, scope := k.named()
	text := secretenv.Get(keyVariable)
	switch {
	case file != "":
		key, err := redact.KeyFromFile(file, scope)
		if err != nil {
			return nil, fmt.Errorf("--redaction-key-file: %w", err)
		}
		return key, nil
	case text != "":
		key, err := redact.ParseKey([]byte(text), scope)
		if err != nil {
			return nil, fmt.Errorf("%w (environment variable %s)", err, keyVariable)
		}
		return key, nil
	}
	return nil, nil
}

// secretScanner returns a function that names the rules which find a secret in a text.
func secretScanner() (func(text string) []string, error) {
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		return nil, err
	}
	return func(text string) (rules []string) {
		for _, hit := range gate.ScanString("", text) {
			rules = append(rules, hit.Rule)
		}
		slices.Sort(rules)
		return slices.Compact(rules)
	}, nil
}
