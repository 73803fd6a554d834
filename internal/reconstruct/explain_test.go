// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// TestEveryValueNamesTheResolverThatDecidedIt explains the corpus. No tape names a resolver.
func TestEveryValueNamesTheResolverThatDecidedIt(t *testing.T) {
	rows, _ := resolversInSource(t)
	all := runs(t)
	each(len(all), func(i int) {
		name := all[i].Group + "/" + all[i].Scenario
		set, err := all[i].Evidence()
		if err != nil {
			t.Error(err)
			return
		}
		opts := options
		opts.Choice = rule.Choice{Explain: true}
		opts.Explained = func(e reconstruct.Explanation) {
			for _, id := range e.Tape.Fidelity.Rules {
				if strings.HasPrefix(id, "value/") {
					t.Errorf("%s: the tape names %s", name, id)
				}
			}
			for _, v := range valuesOf(e.Tape) {
				i := slices.IndexFunc(e.Decisions, func(d reconstruct.Decision) bool {
					return d.Values() && d.Seq == v.seq && d.Field == v.field
				})
				if i < 0 {
					t.Errorf("%s: nothing names a resolver of %s of event %d", name, v.field, v.seq)
				} else if id := e.Decisions[i].Rule; !slices.ContainsFunc(rows, func(r ruleRow) bool { return r.id == id }) {
					t.Errorf("%s: %s is not listed", name, id)
				}
			}
		}
		reconstruct.All(set.Split(), opts)
	})
}

type decidedValue struct {
	seq   int
	field string
}

// valuesOf lists the values of a tape that resolvers decide.
func valuesOf(t *tape.Tape) (values []decidedValue) {
	values = append(values, decidedValue{0, "run.status"})
	for field, text := range map[string]*string{"output.text": t.Output.Text, "input.user_message": t.Input.UserMessage, "input.system_prompt": t.Input.SystemPrompt} {
		if text != nil {
			values = append(values, decidedValue{0, field})
		}
	}
	if t.Output.Message != "" {
		values = append(values, decidedValue{0, "output.message"})
	}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventToolCall {
			if !e.Args.IsAbsent() {
				values = append(values, decidedValue{e.Seq, "args"})
			}
			if !e.Result.IsAbsent() {
				values = append(values, decidedValue{e.Seq, "result"})
			}
		}
	}
	return values
}
