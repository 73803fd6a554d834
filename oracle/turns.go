// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// missingTurn is a place that shows that a model was asked in the run, and no event of the tape holds what it answered: who is served from the tape alone gets
// no answer there.
type missingTurn struct {
	seq   int // of the event that shows it, 0 for the run
	field string
	why   string
}

// missingTurns lists them. It reads what the tape holds, so that it finds what nobody knew to be missing when the tape was made.
func missingTurns(of *calls) []missingTurn {
	var missing []missingTurn
	for _, rule := range []func(*calls) []missingTurn{shownAnswers, unaskedTools, unheardEnd} {
		found := rule(of)
		missing = append(missing, found[:min(len(found), maxMissing)]...)
	}
	return missing
}

// maxMissing bounds how many places one rule names: the first tells as much.
const maxMissing = 16

// heard is what messages say: how often each call by its id and by its content, and each text. It begins as
// how often each message was said; what it says is read when it is asked for.
type heard struct {
	of       *calls
	messages map[string]int // by id
	order    []string
	read     int // messages of the order that were read

	ids   map[string]int
	calls map[call]int
	texts map[string]int
	all   []string // the texts
}

func newHeard(of *calls) *heard { return &heard{of: of, messages: map[string]int{}} }

// add takes a message.
func (h *heard) add(id string) {
	h.messages[id]++
	h.order = append(h.order, id)
}

// told reads the messages that were not read yet.
func (h *heard) told() *heard {
	if h.ids == nil {
		h.ids, h.calls, h.texts = map[string]int{}, map[call]int{}, map[string]int{}
	}
	for _, id := range h.order[h.read:] {
		for _, c := range h.of.message(id).calls {
			h.ids[c.ID]++
			h.calls[call{tool: c.Name, hash: c.hash}]++
		}
		text := h.of.said(id)
		if text == "" {
			continue
		}
		if h.texts[text]++; h.texts[text] == 1 {
			h.all = append(h.all, text)
		}
	}
	h.read = len(h.order)
	return h
}

// longPiece is the length from which no piece of a text stands in another one by chance; maxPieces and maxAlike bound what is compared.
const (
	longPiece = 32
	maxPieces = 64
	maxAlike  = 1024
)

// tells reports that a text that was read is this one, or holds a piece of it, or is most of it: frameworks
// resend what was said with words of their own, and without some.
func (h *heard) tells(text string) bool {
	if h.texts[text] > 0 {
		return true
	}
	for _, said := range h.all[:min(len(h.all), maxAlike)] {
		if strings.Contains(said, text) || 2*len(said) >= len(text) && strings.Contains(text, said) {
			return true
		}
		for i := 0; i+longPiece <= len(text) && i < maxPieces*longPiece; i += longPiece {
			if strings.Contains(said, text[i:i+longPiece]) {
				return true
			}
		}
	}
	return false
}

// answer adds the answer of a model call.
func (h *heard) answer(m *tape.Event) {
	if m.Response != nil && m.Response.Message != "" {
		h.add(m.Response.Message)
	}
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }

// textsOf are the texts in a value, as said has them: of a text that is JSON those in it too.
func textsOf(v exactjson.Value, depth int) (texts []string) {
	const most = 8
	if depth == most {
		return nil
	}
	switch v.Kind() {
	case exactjson.Array, exactjson.Object:
		for _, m := range v.Members() {
			texts = append(texts, textsOf(m.Value, depth+1)...)
		}
	case exactjson.Null:
	default:
		texts = append(texts, squeezed(v.Text()))
	}
	return texts
}

// maxAround bounds how many tools and agents around a call hear of it.
const maxAround = 64

// toolsAround lists, for each event, the tools with a result and a span that ran while it was made. What no span reports has no time: it was made where another event of its agent was.
func toolsAround(t *tape.Tape) [][]*tape.Event {
	around := make([][]*tape.Event, len(t.Events))
	var running []*tape.Event
	heard := map[int]map[int]bool{} // seq of the tool → agents of which an event was made in its time
	for i := range t.Events {
		e := &t.Events[i]
		if !e.StartedAt.IsZero() {
			running = slices.DeleteFunc(running, func(tool *tape.Event) bool { return ended(tool).Before(e.StartedAt) })
		}
		running = running[max(0, len(running)-maxAround):]
		for _, tool := range running {
			if !ranIn(e, tool) && !(e.StartedAt.IsZero() && e.Parent != tool.Parent && heard[tool.Seq][e.Parent]) {
				continue
			}
			if heard[tool.Seq] == nil {
				heard[tool.Seq] = map[int]bool{}
			}
			heard[tool.Seq][e.Parent] = true
			around[i] = append(around[i], tool)
		}
		if e.Type == tape.EventToolCall && len(e.SpanIDs) > 0 && !e.StartedAt.IsZero() && !e.Result.IsEmpty() {
			running = append(running, e)
		}
	}
	return around
}

// slack is how much later what runs in a tool may seem to end: durations are whole milliseconds, and so are times of some producers.
const slack = 2 * time.Millisecond

func ended(e *tape.Event) time.Time {
	return e.StartedAt.Add(time.Duration(e.DurationMS) * time.Millisecond)
}

func ranIn(e, tool *tape.Event) bool {
	return !e.StartedAt.IsZero() && !e.StartedAt.Before(tool.StartedAt) && e.StartedAt.Before(ended(tool)) && !ended(e).After(ended(tool).Add(slack)) && e.DurationMS < tool.DurationMS
}
