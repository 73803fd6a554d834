// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// modelUncalled decides the model that a run asked for where no model call names one.
var modelUncalled = []resolver[*Builder]{
	asRecorded(func(b *Builder) string { return spantree.Observed(b.Fragment.Root).Model }),
	asRecorded(modelOfAgents),
	asRecovered(func(b *Builder) string { return spantree.Observed(b.Fragment.Description).Model }),
	asRecovered(func(b *Builder) string { return b.Calls.ModelInStates() }),
	noModel,
}

// modelOfAgents is the model that all agents of the run name.
//
// Needs: a span of a model call that never came.
// Refuses: agents that name different models.
// Seen in: OpenInference for ADK, which writes onto the span around it.
func modelOfAgents(b *Builder) string {
	return shared(spantree.SpansOf(b.Fragment.Heads, spantree.IsAgent), func(n *spantree.Node) string { return n.Obs.Model })
}

func noModel(b *Builder, was claim) claim {
	switch {
	case was.text != "":
		return was
	case slices.ContainsFunc(b.Tape.Events, isModelCall):
		return claim{code: tape.CodeContentAbsent, detail: "no record names the model that was asked for"}
	}
	return claim{code: tape.CodeContentAbsent, detail: "no record holds a model call"}
}

func isModelCall(e tape.Event) bool { return e.Type == tape.EventModelCall }

func isToolCall(e tape.Event) bool { return e.Type == tape.EventToolCall }

// Config keeps the settings that all model calls share.
func (b *Builder) Config() {
	c := &b.Tape.Config
	c.Provenance = tape.Provenance{}
	var events []*tape.Event
	for i := range b.Tape.Events {
		if isModelCall(b.Tape.Events[i]) {
			events = append(events, &b.Tape.Events[i])
		}
	}
	c.Model = shared(events, func(e *tape.Event) string { return e.Model })
	c.Provider = shared(events, func(e *tape.Event) string { return e.Provider })
	if c.Model != "" {
		// Without the model that was asked for, the one that answered would be taken for it; it stands on the
		// calls.
		c.ResponseModel = shared(events, func(e *tape.Event) string {
			if e.Response == nil {
				return ""
			}
			return e.Response.Model
		})
	} else if !slices.ContainsFunc(events, func(e *tape.Event) bool { return e.Model != "" }) {
		if model := b.settle(resolve(b, modelUncalled, claim{}), c.Provenance, "config.model"); model != nil {
			c.Model = *model
		}
	}
	for name, setting := range map[string]*exactjson.Value{
		"temperature": &c.Temperature, "top_p": &c.TopP, "top_k": &c.TopK, "seed": &c.Seed, "max_tokens": &c.MaxTokens,
		"frequency_penalty": &c.FrequencyPenalty, "presence_penalty": &c.PresencePenalty, "stop_sequences": &c.StopSequences,
	} {
		*setting = sharedParam(events, name)
	}
}

// sharedParam is a setting that all model calls have, and alike.
func sharedParam(events []*tape.Event, name string) (setting exactjson.Value) {
	for i, e := range events {
		v := e.Params.Get(name)
		if v.IsAbsent() || i > 0 && !v.Equal(setting) {
			return exactjson.Value{}
		}
		setting = v
	}
	return setting
}

// shared is the value on which all that have one agree.
func shared[T any](list []T, get func(T) string) (value string) {
	for _, one := range list {
		v := get(one)
		if v != "" && value != "" && v != value {
			return ""
		}
		value = cmp.Or(v, value)
	}
	return value
}
