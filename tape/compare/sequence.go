// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sequence is a run as it is compared: its events in the order of cause, each with the fields that are compared.
type sequence struct {
	tape    *tape.Tape
	options Options
	in      *interner
	own     map[string]struct{} // ids that the tape itself declares
	items   []item
	turns   []int // per event of the tape
	under   []int // per event of the tape, see causal
	input   item
	output  item
}

// item is one event, ready to be compared.
type item struct {
	event  int // index into the tape's events
	group  int // index of the model call whose response asked for it, -1: none
	kind   int32
	fields []field
	ids    [3]int32 // per level: equal for events that are equal at it
	// main is what tells calls of one tool apart: the hashes of the members of arguments, sorted.
	main []int32
}

func newSequence(t *tape.Tape, o Options, in *interner) *sequence {
	s := &sequence{tape: t, options: o, in: in, own: declaredIDs(t), turns: make([]int, len(t.Events))}
	index := make(map[int]int, len(t.Events)) // seq → index of a model call
	turn := 0
	items := make([]item, len(t.Events))
	for i := range t.Events {
		e := &t.Events[i]
		items[i] = s.item(i, e)
		if e.Type == tape.EventModelCall {
			turn++
			index[e.Seq] = i
		}
		s.turns[i] = turn
		if by, ok := index[e.RequestedBy]; ok && e.Type == tape.EventToolCall {
			items[i].group = by
		}
	}
	order, under := causal(t, items)
	s.under = under
	for _, i := range order {
		s.items = append(s.items, items[i])
	}
	s.input, s.output = s.ends()
	return s
}

func (s *sequence) item(i int, e *tape.Event) item {
	r := reader{s: s, e: e}
	r.event()
	it := item{event: i, group: -1, kind: s.in.text("type", string(e.Type)), fields: r.found}
	s.seal(&it)
	for _, f := range it.fields {
		switch f.name {
		case FieldArgs, FieldAsks, FieldQuery:
			for _, m := range f.json.Members() {
				it.main = append(it.main, s.in.member(m))
			}
		}
	}
	slices.Sort(it.main)
	return it
}

// seal computes the ids of an item.
func (s *sequence) seal(it *item) {
	slices.SortFunc(it.fields, func(a, b field) int { return strings.Compare(string(a.name), string(b.name)) })
	for level := range it.ids {
		key := binary.LittleEndian.AppendUint32(nil, uint32(it.kind))
		for _, f := range it.fields {
			if f.level <= level && !f.value.IsAbsent() {
				key = binary.LittleEndian.AppendUint32(append(append(key, f.name...), 0), uint32(f.id))
			}
		}
		it.ids[level] = s.in.key(key)
	}
}

// ends are what stands before the first event and behind the last one.
func (s *sequence) ends() (input, output item) {
	in, out := reader{s: s}, reader{s: s}
	if m := s.tape.Input.UserMessage; m != nil {
		in.add(FieldUserMessage, exactjson.StringValue(*m), "", false)
	}
	out.text(FieldStatus, string(s.tape.Run.Status), "")
	if text := s.tape.Output.Text; text != nil {
		out.add(FieldText, exactjson.StringValue(*text), "", false)
	}
	input.fields, output.fields = in.found, out.found
	s.seal(&input)
	s.seal(&output)
	return input, output
}

func (s *sequence) ref(i int) *EventRef {
	at := s.items[i].event
	e := &s.tape.Events[at]
	ref := &EventRef{Seq: e.Seq, Turn: s.turns[at], Type: e.Type, Name: e.Name, Caller: e.Caller}
	switch {
	case e.Type == tape.EventModelCall:
		ref.Name = modelName(e)
	case e.Type == tape.EventAgentCall && e.Agent != nil:
		ref.Name = agentName(e.Agent)
	}
	return ref
}

// sorted orders values by their canonical form.
func sorted(values []exactjson.Value) []exactjson.Value {
	keys := make(map[int]string, len(values))
	order := make([]int, len(values))
	for i, v := range values {
		order[i], keys[i] = i, v.Digest()
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(strings.Compare(values[i].Get("name").Str(), values[j].Get("name").Str()), strings.Compare(keys[i], keys[j]))
	})
	out := make([]exactjson.Value, len(values))
	for i, at := range order {
		out[i] = values[at]
	}
	return out
}

// interner gives equal values of several tapes equal numbers. It keeps digests, so that a lying tape cannot make two values equal.
type interner struct {
	ids     map[[sha256.Size]byte]int32
	scratch []byte
}

func newInterner() *interner { return &interner{ids: map[[sha256.Size]byte]int32{}} }

func (in *interner) key(b []byte) int32 {
	sum := sha256.Sum256(b)
	id, ok := in.ids[sum]
	if !ok {
		id = int32(len(in.ids) + 1)
		in.ids[sum] = id
	}
	return id
}

func (in *interner) value(v exactjson.Value) int32 {
	in.scratch = appendCanonical(in.scratch[:0], v)
	return in.key(in.scratch)
}

func (in *interner) text(kind, text string) int32 {
	in.scratch = append(append(append(in.scratch[:0], kind...), 0), text...)
	return in.key(in.scratch)
}

func (in *interner) member(m exactjson.Member) int32 {
	in.scratch = appendCanonical(append(append(in.scratch[:0], m.Name...), 0), m.Value)
	return in.key(in.scratch)
}

// appendCanonical appends the canonical form; a value with a number out of range has none and stands as it was spelled.
func appendCanonical(dst []byte, v exactjson.Value) []byte {
	if v.IsAbsent() {
		return append(dst, 0)
	}
	before := len(dst)
	dst, err := v.AppendCanonical(dst)
	if err != nil {
		dst = v.AppendJSON(append(dst[:before], 1))
	}
	return dst
}
