// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
)

// audit takes in the audit records, once all of them are known.
func (c *derivation) audit(in *receiver) {
	result := in.audit.Close()
	for i, p := range result.Problems {
		if !p.Used {
			c.refused++
		}
		if i < maxExplained {
			complain(c.stderr, p)
		}
	}
	if n := len(result.Problems) - maxExplained; n > 0 {
		say(c.stderr, "%d more audit records fail their hash chain or signature", n)
	}
	if result.Unchecked > 0 {
		say(c.stderr, "the signatures of %d audit records were not checked; name the keys with --audit-keys", result.Unchecked)
	}
	if result.Left > 0 {
		say(c.stderr, "%d audit records belong to no run and were left out", result.Left)
	}
	in.addLogs(result.Logs)
}

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
