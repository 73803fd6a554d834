// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/oracle"
)

// redactionVerifier reads the key with which tokens in redacted arguments are verified, for a scope.
func redactionVerifier(file, scope string) (oracle.TokenVerifier, error) {
	return redact.KeyFromFile(file, scope)
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
