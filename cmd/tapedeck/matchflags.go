// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
)

// matchFlags say how calls are matched with entries.
type matchFlags struct {
	keyFlags
	from rulefile.Sources
}

func (f *matchFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from.Rules, "rules", "", "a rules file: per tool what of the arguments does not count, the policy and the mode")
	flags.StringArrayVar(&f.from.Declared, "tools", nil, "declarations of tools (MCP tools/list or forge.yaml): read-only and idempotent ones go live (repeatable)")
	flags.StringArrayVar(&f.from.Live, "live", nil, "let calls of this tool go live (repeatable)")
	flags.StringArrayVar(&f.from.ReadThrough, "read-through", nil, "let calls of this tool go live where no answer is recorded (repeatable)")
	flags.StringArrayVar(&f.from.Refused, "refuse", nil, "refuse all calls of this tool (repeatable)")
	f.keyFlags.add(cmd, "the key of the redaction, to find live values behind redacted ones; without it $"+keyVariable)
}

// hint says what would help against an outcome, where a flag does.
func (f *matchFlags) hint(o oracle.Outcome) string {
	if file, _ := f.named(); o == oracle.RedactedAmbiguous && file == "" && secretenv.Get(keyVariable) == "" {
		return "; --redaction-key-file, with the key of the tokens on the tape, finds the answer of a live value"
	}
	return ""
}

func (f *matchFlags) options() (o oracle.Options, err error) {
	if o.Rules, err = f.from.Read(); err != nil {
		return o, err
	}
	o.Verifier, err = f.verifier()
	return o, err
}

// verifier verifies tokens in recorded arguments; nil without a key.
func (f *matchFlags) verifier() (oracle.TokenVerifier, error) {
	key, err := f.load()
	if err != nil {
		return nil, err
	}
	if key != nil {
		return key, nil
	}
	if _, scope := f.named(); scope != "" && !f.shared() {
		return nil, fmt.Errorf("--redaction-key-scope needs --redaction-key-file or $%s", keyVariable)
	}
	return nil, nil
}

const exactUsage = "take no ids, times and the like for equal that differ from run to run"
