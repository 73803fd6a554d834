// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Builder writes one run down as a tape. Nothing else writes to the tape.
type Builder struct {
	Fragment  *fragment.Fragment
	Calls     *ledger.Ledger
	Ordered   []*ledger.Call
	Tape      *tape.Tape
	Agent     string // name of the run's own agent
	Harness   []exactjson.Member
	handed    map[string]*spantree.Node // by the id of a call: the step that begun finds for it
	readPause *pause                    // see pause
}

func (b *Builder) Finding(code tape.Code, seq int, field, detail string) {
	b.Tape.Fidelity.AddFinding(code, seq, field, detail)
}

func (b *Builder) Notes(seq int, notes []genai.Note) {
	for _, n := range notes {
		b.Finding(n.Code, seq, n.Field, n.Detail)
	}
}

// pool puts a message into the pool and returns its id.
func (b *Builder) pool(m *chat.Message) string {
	b.Tape.Messages[m.ID] = m.Tape
	return m.ID
}

// Event is what all events have in common.
func (b *Builder) Event(k *ledger.Call) tape.Event {
	e := tape.Event{Seq: k.Seq, Type: k.Kind, Status: tape.EventOK, Caller: b.caller(k.Agent)}
	e.SpanIDs = slices.Grow(e.SpanIDs, len(k.Nodes))
	for _, n := range k.Nodes {
		e.SpanIDs = append(e.SpanIDs, n.SpanID())
	}
	if k.Agent != nil {
		e.Parent = k.Agent.Seq
	}
	if len(k.Nodes) > 0 && k.Start > 0 {
		e.StartedAt = Instant(k.Start - k.Shift)
		e.DurationMS = Milliseconds(k.End - k.Start)
	}
	b.Notes(k.Seq, k.Notes)
	return e
}

func Instant(ns uint64) time.Time { return time.Unix(0, int64(ns&(1<<63-1))).UTC() }

func Milliseconds(ns uint64) int64 { return int64(ns / 1_000_000) }

// caller names the agents from the run's own down to the one that made the call.
func (b *Builder) caller(agent *ledger.Call) string {
	if agent == nil {
		return b.Agent
	}
	var names []string
	for a := agent; a != nil; a = a.Agent {
		names = append(names, ledger.AgentName(a))
	}
	names = append(names, b.Agent)
	slices.Reverse(names)
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), "/")
}
