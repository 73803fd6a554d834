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
	{"value/model-from-run-span", asRecorded(modelOfRun)},
	{"value/model-from-agents", asRecorded(modelOfAgents)},
	{"value/model-from-description", asRecovered(modelDescribed)},
	{"value/model-from-states", asRecovered(modelInStates)},
	{"value/model-missing", noModel},
}

// modelOfRun is the model that the run span names.
//
// Needs: a run of which no model call names a model.
// Refuses: nothing.
// Seen in: spans of agents whose model call failed or was not recorded.
func modelOfRun(b *Builder) string { return spantree.Observed(b.Fragment.Root).Model }

// modelDescribed is the model in what a span says that tells of the agent and runs nothing.
//
// Needs: such a span of the only agent of its name.
// Refuses: nothing.
// Seen in: frameworks that record the making of an agent apart from its runs.
func modelDescribed(b *Builder) string { return spantree.Observed(b.Fragment.Description).Model }

// modelInStates is the model that states of the run name beside the messages.
//
// Needs: states that all name the same.
// Refuses: nothing.
// Seen in: graphs whose model calls have no span.
func modelInStates(b *Builder) string { return b.Calls.ModelInStates() }

// modelOfAgents is the model that all agents of the run name.
//
// Needs: a span of a model call that never came.
// Refuses: agents that name different models.
// Seen in: OpenInference for ADK, which writes onto the span around it.
func modelOfAgents(b *Builder) string {
	return shared(spantree.SpansOf(b.Fragment.Heads, spantree.IsAgent), func(n *spantree.Node) string { return n.Obs.Model })
}

// noModel says why no model is named.
//
// Needs: no resolver before it that found one.
// Refuses: nothing.
// Seen in: hand-written spans.
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
		if model := b.settle(resolve(b, modelUncalled, claim{trail: b.trail(nil, "config.model")}), c.Provenance, "config.model"); model != nil {
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
