// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/minimise"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/a2a"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/interop/formats"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

func newCompletion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script by which a shell completes commands, flags and their values",
		Long: `Print the completions for a shell: bash (with the package bash-completion), zsh,
fish or powershell. The script asks this program, so it needs no renewal.`,
		Example: `  tapedeck completion bash > ~/.local/share/bash-completion/completions/tapedeck
  tapedeck completion zsh > "${fpath[1]}/_tapedeck"
  tapedeck completion fish > ~/.config/fish/completions/tapedeck.fish`,
		ValidArgs: shells,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(out)
			}
		},
	}
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// choices are the values of the flags that take one of a few, by the name of the flag, behind the path of its
// command where commands differ.
func choices() map[string][]string {
	var codes, measures []string
	for _, k := range tape.FindingKinds {
		codes = append(codes, string(k.Code))
	}
	for _, m := range aiwg.Measures {
		measures = append(measures, m.Name)
	}
	var orders []string
	for _, c := range reel.Columns() {
		orders = append(orders, c, "-"+c)
	}
	writes := formats.Names(func(f *interop.Format) bool { return f.Encode != nil })
	reads := formats.Names(func(f *interop.Format) bool { return f.Decode != nil })
	severities := texts(tape.SeverityError, tape.SeverityWarning, tape.SeverityInfo)
	return map[string][]string{
		"answer":                {"telemetry", "stdout", "http", "a2a"},
		"answers":               {"all", "tools", "models"},
		"area":                  texts(append(deck.Areas(), filter.AllAreas)...),
		"by":                    {byInput, byTaskID},
		"color":                 {"auto", "always", "never"},
		"columns":               reel.Columns(),
		"compare":               texts(compare.Levels...),
		"compression":           {"none", "zstd"},
		"down-to":               texts(minimise.Levels...),
		"export --format":       writes,
		"fail-on":               severities,
		"fail-on-status":        replay.Statuses,
		"finding":               codes,
		"formats":               slices.Concat(generation.DefaultFormats, writes),
		"grade":                 texts(tape.GradeOffline, tape.GradeTools, tape.GradeModel, tape.GradePartial, tape.GradeInspect),
		"import --format":       reads,
		"input":                 {"stdin", "arg", "env:", "file", "http:", "a2a:", "none"},
		"layout":                {"files", "reels"},
		"lockdown":              texts(rerun.ShutNamespace, rerun.ShutProxy, rerun.ShutNot),
		"ls --format":           {"table", "json", "refs"},
		"measure":               measures,
		"redact":                {redact.PolicyDefault, redact.PolicyStrict, "off"},
		"redact --mode":         texts(redact.ModeToken, redact.ModeMask),
		"replay --mode":         {"model-replay", "live"},
		"request --format":      {"json", "curl", "http"},
		"method":                a2a.Methods(),
		"profile":               {redact.PolicyDefault, redact.PolicyStrict},
		"judge --scorer":        {"check:", "exec:"},
		"suite import --format": {adkFormat},
		"scorer":                {"exact", "structural", "semantic", "rouge1", "tools", "judge", "exec:"},
		"sort":                  orders,
		"status":                texts(tape.StatusOK, tape.StatusError, tape.StatusInterrupted, tape.StatusIncomplete),
		"strategy":              texts(aiwg.Strategies...),
		"tool-policy":           texts(contract.UseOriginal, contract.Live, contract.Mock),
		"turns":                 {"recorded", "first", "all"},
		"verify --redact":       {redact.PolicyDefault, redact.PolicyStrict},
		"with":                  {"gitleaks", "trufflehog"},
	}
}

// folders are the flags that take a folder: a deck is one, or a URL, which nothing can complete.
var folders = map[string]bool{"deck": true, "pages": true, "state": true, "suite": true, "to": true, "workspace": true}

// asksForCompletions tells whether a completion script calls, and not a person.
func asksForCompletions(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete lets a shell complete what stands behind the commands and flags below root. cobra keeps every flag
// with completions for as long as the process lives, so nothing but a call of a completion script registers
// any.
func complete(root *cobra.Command) {
	values := choices()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			found, known := values[strings.TrimPrefix(c.CommandPath(), root.Name()+" ")+" --"+f.Name]
			if !known {
				found, known = values[f.Name]
			}
			answer := cobra.FixedCompletions(found, cobra.ShellCompDirectiveNoFileComp)
			switch kind := f.Value.Type(); {
			case known:
			case folders[f.Name]:
				answer = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
			case strings.HasPrefix(kind, "string"):
				return // a file, or something that only its user knows
			}
			_ = c.RegisterFlagCompletionFunc(f.Name, answer) // fails only for what is registered already: flags that commands share
		})
		_, operand, _ := strings.Cut(c.Use, " ")
		switch first, _, _ := strings.Cut(strings.Trim(operand, "["), " "); strings.TrimRight(first, "]") {
		case "DECK", "DIR":
			c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case "":
			if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
				c.ValidArgsFunction = cobra.NoFileCompletions
			}
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
}
