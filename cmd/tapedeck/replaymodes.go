// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// replayModes is what one call of replay does: one of the modes, or in the table of flags several.
type replayModes int

const (
	modeCheck   replayModes = 1 << iota // of records, without a command
	modeBisect                          // --bisect
	modeCommand                         // a command behind --
	modeEnv                             // --print-env
	modeModels                          // --model-only

	modesReports = modeCheck | modeCommand
	modesJSON    = modeCheck | modeBisect | modeCommand | modeModels
	modesOpen    = modeBisect | modeCommand | modeEnv | modeModels
	modesRun     = modeCommand | modeEnv
	modesAll     = modeCheck | modesOpen
)

var replayModeNames = []struct {
	mode replayModes
	name string
}{
	{modeCheck, "a check of records (without a command)"}, {modeBisect, "--bisect"}, {modeCommand, "a command behind --"}, {modeEnv, "--print-env"}, {modeModels, "--model-only"},
}

// replayFlagModes says which modes take which flag of replay. A flag that a mode does not take is refused
// there: it would do nothing, and nobody would say so.
var replayFlagModes = map[replayModes][]string{
	modesAll:                           {"deck", "tenant", "search-limit", "help", "config"},
	modesOpen:                          {"allow-unverified"},
	modeCheck:                          {"strict", "fail-on-status"},
	modeCheck | modeBisect | modesRun:  {"mode"},
	modeBisect:                         {"bisect"},
	modesJSON:                          {"json", "ndjson"},
	modesReports:                       {"markdown", "html", "junit"},
	modeCommand | modeEnv | modeModels: {"compare"},
	modeModels:                         {"model-only", "ask", "ask-timeout"},
	modeCommand:                        {"note", "replay-output"},
	modeEnv:                            {"print-env"},
	modesRun: {
		"input", "template", "wait-for", "answer", "turns", "timeout", "grace", "allow-live", "preload", "exact", "freeze", "allow-framework", "to", "sign-key", "lockdown", "require-lockdown", "allow-host",
		"model-url", "model-key-env", "realtime", "candidate-model", "system-prompt", "override", "fork-at", "env", "env-from", "ignore", "replay-run-id", "rules", "tools", "live", "read-through", "refuse", "redaction-key-file", "redaction-key-scope",
		"redact", "allow-key-change", "no-gate", "replay-source", "replay-tool-oracle", "replay-candidate-model",
	},
}

// flagModes are the modes that take a flag; 0 for one that the table does not know.
func flagModes(name string) replayModes {
	for modes, names := range replayFlagModes {
		for _, known := range names {
			if known == name {
				return modes
			}
		}
	}
	return 0
}

// names are those of the modes, for a person.
func (m replayModes) names() string {
	var names []string
	for _, n := range replayModeNames {
		if m&n.mode != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// checkFlags refuses the flags that somebody gave and that the mode does not take.
func (m replayModes) checkFlags(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if modes := flagModes(f.Name); err == nil && modes&m == 0 {
			err = fmt.Errorf("--%s does nothing with %s; it goes with: %s", f.Name, m.names(), modes.names())
		}
	})
	return err
}
