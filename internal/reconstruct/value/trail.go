// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Stage is what the id of every resolver begins with.
const Stage = "value/"

// trail writes down which resolvers decided a value. A nil one writes nothing.
type trail struct {
	run   *rule.Run
	of    any // the call, nil for a value of the run
	field string
}

// trail returns nil where nobody asked for an explanation.
func (b *Builder) trail(of any, field string) *trail {
	if !b.Calls.Rules.Explain {
		return nil
	}
	return &trail{b.Calls.Rules, of, field}
}

func (t *trail) say(id rule.ID, was, now string) {
	if t != nil && was != now {
		t.run.Decisions = append(t.run.Decisions, rule.Decision{Rule: id, Of: t.of, Field: t.field, Was: was, Now: now})
	}
}

// add writes down a value of a call.
func (t *trail) add(id rule.ID, was, now exactjson.Value) {
	if t != nil {
		t.say(id, shown(was), shown(now))
	}
}

func shown(v exactjson.Value) string {
	if v.IsAbsent() {
		return ""
	}
	return rule.Shortened(v.JSON())
}

// step writes down what a resolver made of a claim. A list within a list has written its own steps.
func (t *trail) step(id rule.ID, was, now claim) {
	if t == nil || id == "" {
		return
	}
	t.say(id, was.String(), now.String())
	if was.message == nil && now.message != nil {
		message := trail{t.run, t.of, "output.message"}
		message.say(id, "", now.message.ID)
	}
}
