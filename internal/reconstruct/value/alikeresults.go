// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// shape is what the results of a reporter have in common.
type shape struct {
	members string // names, and the values of all but one
	value   string // the name of that
	kinds   map[exactjson.Kind]bool
	calls   []*ledger.Call
}

// suspectAlike marks results that may lie in an envelope of several members: {"ok": true, "data": …}.
//
// Needs: all results of a reporter are objects of the same few members. One is named as values are and holds
// now this kind of value, now another; the others are short and the same.
// Refuses: a result of another shape.
// Seen in: programs that answer with a status beside the value.
func (w wrappable) suspectAlike(calls []*ledger.Call) {
	shapes := map[ledger.Reporter]*shape{}
	for _, k := range calls {
		if ledger.FailedCall(k) {
			continue
		}
		v := chat.Opened(w.of(k.Obs.ToolCall).Value)
		one := shapeOf(v)
		s := shapes[k.Reporter()]
		if s == nil {
			s = &one
			shapes[k.Reporter()] = s
		}
		if v.Kind() != exactjson.Object || v.Len() < 2 || one.value == "" || one.members != s.members || len(one.members) > chat.MaxBesides {
			s.members = otherShape
			continue
		}
		s.kinds[v.Get(one.value).Kind()] = true
		s.calls = append(s.calls, k)
	}
	for _, s := range shapes {
		for _, k := range s.calls {
			if s.members != otherShape && len(s.kinds) > 1 {
				w.suspect(k, s.value)
			}
		}
	}
}

// otherShape stands for results that differ: there is no envelope of the reporter's.
const otherShape = "\x00"

func shapeOf(v exactjson.Value) shape {
	s := shape{kinds: map[exactjson.Kind]bool{}}
	for _, m := range v.Members() {
		if s.value == "" && slices.Contains(valueNames, m.Name) {
			s.value = m.Name
			s.members += m.Name + "\x00"
		} else {
			s.members += m.Name + "=" + m.Value.JSON() + "\x00"
		}
	}
	return s
}
