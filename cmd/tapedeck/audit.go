// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
)

func readKeys(path string) (forgeaudit.Keys, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--audit-keys %s: %w", path, withoutPath(err))
	}
	keys, err := forgeaudit.ReadKeys(data)
	if err != nil {
		return nil, fmt.Errorf("--audit-keys %s: %w", path, err)
	}
	return keys, nil
}
