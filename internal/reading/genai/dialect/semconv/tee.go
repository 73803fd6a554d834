// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import "github.com/tapedeck/tapedeck/internal/reading/genai/dialect"

// Tee is what tapedeck makes of model calls that pass it, after the conventions. The row marks the tapes: no
// tool and no agent told of itself.
var Tee = &dialect.Dialect{
	ID:       "tee",
	Name:     "Agents without telemetry: model calls as they passed",
	Scopes:   []string{dialect.TeeScope},
	Root:     "`invoke_agent`, one for each conversation",
	Rooted:   true,
	Switch:   "`tapedeck record --tee`: requests and answers are read as they pass, and the calls of tools in them",
	Flags:    "--tee",
	Classify: Classify,
	Read:     func(*dialect.Source, *dialect.Draft) {}, // the row of the conventions reads it
}
