// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manyFlags is how many flags a help shows as one list.
const manyFlags = 20

// firstFlags are those that matter first of the commands with many flags.
var firstFlags = map[string][]string{
	"check":      {"deck", "agent", "status", "where", "since", "only", "follow", "every", "junit", "json"},
	"cause":      {"check", "good", "bad", "deck", "input", "answer", "answers", "model-url", "repeat", "json"},
	"compare":    {"models", "check", "scorer", "deck", "input", "answer", "workspace", "repeat", "html", "json"},
	"derive":     {"to", "layout", "tenant", "redact", "redaction-key-file", "formats", "no-join", "explain", "stdin", "stdout"},
	"experiment": {"check", "scorer", "failures", "baseline", "runner", "change", "input", "model-url", "state", "json"},
	"import":     {"format", "out", "losses", "strict", "to", "layout", "status", "since", "where", "json"},
	"judge":      {"name", "value", "label", "explanation", "judge", "id", "event", "session", "scorer", "deck"},
	"minimise":   {"check", "out", "deck", "input", "answer", "down-to", "max-time", "state", "quiet", "json"},
	"record":     {"to", "tee", "workspace", "check", "task", "env", "redact", "redaction-key-file", "timeout", "tenant"},
	"replay":     {"deck", "input", "answer", "model-url", "allow-live", "compare", "lockdown", "timeout", "html", "json"},
	"run":        {"suite", "only", "check", "input", "answer", "repeat", "model-url", "allow-live", "junit", "json"},
	"serve":      {"oracle", "model", "mcp", "stdio", "deck", "listen", "token-file", "rules", "redaction-key-file", "realtime"},
	"stale":      {"schema", "mcp", "called", "all", "agent", "status", "since", "where", "timeout", "json"},
	"tail":       {"listen", "watch", "to", "agent", "status", "since", "where", "lines", "every", "json"},
}

// flagGroups are the headings below which the other flags of such a command stand.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"Which runs", []string{
		"deck", "tenant", "search-limit", "allow-unverified", "suite", "only", "good", "bad", "area", "failures", "failures-where", "limit-failures", "baseline", "baseline-where", "limit-baseline",
		"agent", "service", "tool", "status", "grade", "finding", "verdict", "model", "replay-of", "is", "where", "since", "until", "stdin",
	}},
	{"The command", []string{
		"runner", "input", "template", "turns", "wait-for", "answer", "timeout", "grace", "env", "env-from", "print-env", "workspace", "workspace-ignored", "preload", "allow-framework", "freeze", "realtime", "mode", "replay-run-id",
	}},
	{"Tools", []string{"rules", "tools", "live", "read-through", "refuse", "allow-live", "override", "tool-policy", "fork-at", "exact", "verdicts"}},
	{"Models", []string{"model-url", "model-key-env", "candidate-model", "models", "system-prompt", "change", "model-only", "ask", "ask-timeout"}},
	{"Network", []string{"lockdown", "require-lockdown", "allow-host", "allow-remote", "listen", "token-file", "tls-cert", "tls-key", "tls-client-ca", "max-body", "max-calls", "max-sessions", "session-age", "speed"}},
	{"Judgement", []string{
		"check", "check-timeout", "name", "value", "label", "explanation", "judge", "id", "event", "session", "at", "scorer", "score-timeout", "judge-model", "judge-url", "rubric", "votes", "compare", "ignore", "strict", "fail-on-status", "bisect", "any-exit-code", "answers", "partners", "regression-check",
		"epsilon", "min-improvement", "max-regression",
	}},
	{"How much", []string{"repeat", "workers", "max-runs", "max-time", "max-tokens", "max-checks", "jobs", "max-line", "max-items", "max-bytes", "max-parts", "down-to", "shard", "state", "lines", "follow", "every", "idle", "settle"}},
	{"What a record says of the run", []string{"task", "display-name", "eval-id", "eval-name", "env-allow", "fixtures", "golden", "instructions", "rules-active", "run", "skill"}},
	{"What is kept", []string{"to", "sign-key", "redact", "redaction-key-file", "redaction-key-scope", "allow-key-change", "no-gate", "note", "formats", "layout", "compression", "no-join"}},
	{"Forge agents", []string{"audit-keys", "replay-source", "replay-output", "replay-tool-oracle", "replay-candidate-model"}},
	{"Output", []string{"json", "ndjson", "stdout", "explain", "quiet", "color", "markdown", "html", "junit", "pages", "latency", "out", "config", "help"}},
}

// groupOf is the heading below which a flag stands.
func groupOf(flag string) string {
	for _, g := range flagGroups {
		if slices.Contains(g.flags, flag) {
			return g.title
		}
	}
	return "Other"
}

// hasManyFlags tells a command whose help has groups, and which takes its flags from a file too.
func hasManyFlags(c *cobra.Command) bool { return shownFlags(c) > manyFlags }

func shownFlags(c *cobra.Command) (n int) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

// writeFlags writes the flags of a command: one list, or the first ones and then groups.
func writeFlags(b *strings.Builder, c *cobra.Command) {
	if !hasManyFlags(c) {
		b.WriteString("\nFlags:\n" + c.LocalFlags().FlagUsages())
		return
	}
	first := firstFlags[c.Name()]
	list := func(title string, in func(*pflag.Flag) bool) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if in(f) {
				set.AddFlag(f)
			}
		})
		if set.HasAvailableFlags() {
			b.WriteString("\n" + title + ":\n" + set.FlagUsages())
		}
	}
	list("First flags", func(f *pflag.Flag) bool { return slices.Contains(first, f.Name) })
	for _, g := range flagGroups {
		list(g.title, func(f *pflag.Flag) bool { return !slices.Contains(first, f.Name) && groupOf(f.Name) == g.title })
	}
	list("Other", func(f *pflag.Flag) bool { return !slices.Contains(first, f.Name) && groupOf(f.Name) == "Other" })
}
