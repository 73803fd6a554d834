// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"fmt"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Events writes all calls in order.
func Events(b *value.Builder) {
	b.Tape.Events = make([]tape.Event, 0, len(b.Ordered))
	for _, k := range b.Ordered {
		b.Tape.Events = append(b.Tape.Events, eventOf(b, k))
	}
}

func eventOf(b *value.Builder, k *ledger.Call) tape.Event {
	switch k.Kind {
	case tape.EventModelCall:
		return b.ModelCall(k)
	case tape.EventToolCall:
		return b.ToolCall(k)
	case tape.EventAgentCall:
		return agentCall(b, k)
	}
	return retrieval(b, k)
}

func agentCall(b *value.Builder, k *ledger.Call) tape.Event {
	e, o := b.Event(k), k.Obs
	agent := o.Agent
	for _, n := range k.Nodes[1:] {
		if agent.Name == "" {
			agent = n.Obs.Agent
		}
	}
	e.Agent, e.Relation = &agent, k.Relation
	if k.Via != nil {
		e.Via = k.Via.Seq
	}
	e.Input, e.Output = o.InputData.Value, o.OutputData.Value
	if text := chat.LastUserText(o.Input); text != "" {
		e.Input = exactjson.StringValue(text)
	}
	if len(o.Output) > 0 {
		e.Output = exactjson.StringValue(chat.TextOf(&chat.Message{Parts: o.Output[len(o.Output)-1].Parts}))
	}
	if o.Failed || o.StatusError && e.Output.IsEmpty() {
		e.Status, e.Error = tape.EventError, o.Error
	}
	return e
}

func retrieval(b *value.Builder, k *ledger.Call) tape.Event {
	e := b.Event(k)
	e.Name, e.Query = k.Obs.Name, k.Obs.Query.Value
	if len(k.Obs.Documents) > 0 {
		e.Documents = exactjson.ArrayValue(k.Obs.Documents...)
	}
	if ledger.FailedCall(k) {
		e.Status, e.Error = tape.EventError, k.Obs.Error
	}
	return e
}

func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
