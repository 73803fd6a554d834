// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/agentlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/execlane"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// commandCandidate reads the flags of a candidate that is a command, once for all runs.
func (f *experimentFlags) commandCandidate(argv []string, plan *experiment.Plan) (*agentlane.Candidate, error) {
	if plan.Policy == contract.Live {
		return nil, errors.New("--tool-policy live is for runners; with a command --live, --read-through and --allow-live name the tools that may run")
	}
	command := f.command
	command.redactionFlags, command.match, command.timeout, command.override, command.compare = f.redactionFlags, f.match, f.timeout, f.override, string(compare.Results)
	o, err := command.options(argv, io.Discard)
	if err != nil {
		return nil, err
	}
	if err := command.openKeys(&o, io.Discard); err != nil {
		return nil, err
	}
	if o.Input.Server() && f.workers > 1 && o.Shut != rerun.ShutNamespace {
		return nil, errors.New("a command that is a server listens at one port: --workers 1, or --lockdown namespace, which gives each a loopback of its own")
	}
	return agentlane.New(o, plan.Change)
}

// ofThePlan are the flags that decide what a replay comes to, and stand nowhere else in the plan of an experiment.
var ofThePlan = []string{
	"rules", "tools", "live", "read-through", "refuse", "redaction-key-scope", "redact",
	"input", "template", "wait-for", "answer", "turns", "allow-live", "preload", "allow-framework", "lockdown", "require-lockdown", "allow-host", "env", "env-from", "model-url",
}

// settingsOf are those of the flags that were given; what is a file, by its digest.
func settingsOf(cmd *cobra.Command, names ...string) (map[string]string, error) {
	var list map[string]string
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		value := flag.Value.String()
		var files []string
		switch {
		case name == "rules", name == "system-prompt", name == "redact" && !slices.Contains([]string{redact.PolicyDefault, redact.PolicyStrict, redactOff}, value):
			files = []string{value}
		case name == "tools":
			files, _ = cmd.Flags().GetStringArray(name) // it is one
		}
		for i, file := range files {
			sum, err := execlane.DigestOfFile(file)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", name, err)
			}
			if files[i] = "sha256 " + sum; i == len(files)-1 {
				value = strings.Join(files, ", ")
			}
		}
		if list == nil {
			list = map[string]string{}
		}
		list[name] = value
	}
	return list, nil
}

// readOverrides reads --change overrides=FILE: an oracle file, whose answers are laid over the recorded ones, or an object of the runner's configuration.
func readOverrides(file string) (object map[string]any, isOracle bool, err error) {
	data, err := readBounded(file, tape.MaxBytes)
	if err != nil {
		return nil, false, err
	}
	if _, err := oracle.Read(data); err == nil {
		return nil, true, nil
	}
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return nil, false, fmt.Errorf("%s is neither an oracle file nor a JSON object: %w", file, cmp.Or(err, errors.New("it is null")))
	}
	return object, false, nil
}
