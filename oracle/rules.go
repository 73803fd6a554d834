// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Mode says what happens to the calls of a tool.
type Mode string

// The modes.
const (
	Strict    Mode = "strict" // the recorded answer or a miss
	ModeLive  Mode = "live"   // declared idempotent: the caller is told to call the tool itself
	ModeError Mode = "error"  // every call is refused
	// ReadThrough: the recorded answer, and where there is none the caller is told to call the tool itself.
	ReadThrough Mode = "read-through"
)

// Policy says which recorded answer the k-th call of one key gets. A key is caller, tool and arguments.
type Policy string

// The policies.
const (
	Sequence Policy = "sequence" // the k-th call gets the k-th answer; after the last: exhausted
	Once     Policy = "once"     // the first call gets the first answer; after it: exhausted
	Sticky   Policy = "sticky"   // like sequence, but the last answer repeats
	Any      Policy = "any"      // any number of calls, provided that all recorded answers are the same; else ambiguous
)

// Rules say how the calls of each tool are matched. The zero Rules match exactly and in sequence.
type Rules struct {
	// Default holds for what the rule of a tool leaves empty, and for tools without one.
	Default ToolRule
	Tools   map[string]ToolRule
	// Values says which values do not count, and of which only the form counts. Those rules hold here that hold for the field args of a tool.
	Values []normalise.Rule
	// AnyCaller ignores who calls: entries of several callers are then told apart by their arguments only.
	AnyCaller bool
}

// ToolRule is the rule for one tool.
type ToolRule struct {
	Mode   Mode
	Policy Policy
	// Calls overrides Policy for single calls: args_hash → policy.
	Calls map[string]Policy
}

// Check reports unknown modes, policies and forms, and what is no path.
func (r *Rules) Check() error {
	if r == nil {
		return nil
	}
	if err := r.Default.check(); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	for _, name := range sortedKeys(r.Tools) {
		rule := r.Tools[name]
		if err := rule.check(); err != nil {
			return fmt.Errorf("tool %q: %w", name, err)
		}
	}
	_, err := normalise.New(r.Values)
	return err
}

func (r *ToolRule) check() error {
	if !slices.Contains([]Mode{"", Strict, ModeLive, ModeError, ReadThrough}, r.Mode) {
		return fmt.Errorf("unknown mode %q, want strict, read-through, live or error", r.Mode)
	}
	policies := []Policy{r.Policy}
	for _, hash := range sortedKeys(r.Calls) {
		policies = append(policies, r.Calls[hash])
	}
	for _, p := range policies {
		if !slices.Contains([]Policy{"", Sequence, Once, Sticky, Any}, p) {
			return fmt.Errorf("unknown policy %q, want sequence, once, sticky or any", p)
		}
	}
	return nil
}

// values returns the rules that hold for the arguments of a tool, nil where there are none and everything counts. The rules have passed Check.
func (r *Rules) values(tool string) *normalise.Rules {
	if r == nil {
		return nil
	}
	var list []normalise.Rule
	for _, rule := range r.Values {
		if rule.Holds(tool, argsField) {
			list = append(list, rule)
		}
	}
	if list == nil {
		return nil
	}
	compiled, _ := normalise.New(list)
	return compiled
}

// argsField is the field of an event that rules for arguments name.
const argsField = "args"

// of returns the rule for a tool with the defaults filled in.
func (r *Rules) of(tool string) ToolRule {
	rule := ToolRule{Mode: Strict, Policy: Sequence}
	if r == nil {
		return rule
	}
	for _, from := range []ToolRule{r.Default, r.Tools[tool]} {
		if from.Mode != "" {
			rule.Mode = from.Mode
		}
		if from.Policy != "" {
			rule.Policy = from.Policy
		}
		if from.Calls != nil {
			rule.Calls = from.Calls
		}
	}
	return rule
}

func (r *ToolRule) policy(hash string) Policy {
	if p := r.Calls[hash]; p != "" {
		return p
	}
	return r.Policy
}

// Reduce returns what the rules leave of arguments of a tool. Ignored values are left out. The name of the form stands in the place of a
// normalised value. The rules must have passed Check.
func (r *Rules) Reduce(tool string, args exactjson.Value) exactjson.Value {
	return r.values(tool).Apply(tool, argsField, args)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
