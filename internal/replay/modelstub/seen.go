// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Bounds of what a stub remembers: requests, and bytes of all of them.
const (
	maxSeen      = 512
	maxSeenBytes = 32 << 20
)

// seenKey is all that a request says: protocol and model as its path names them, whether and how it streams, and its body.
type seenKey [sha256.Size]byte

func keyOf(p *protocol, model string, stream, list bool, body []byte) (key seenKey) {
	h := sha256.New()
	h.Write([]byte(p.name))
	for _, is := range []bool{stream, list} {
		if is {
			h.Write([]byte{1})
		}
		h.Write([]byte{0})
	}
	h.Write([]byte(model))
	h.Write([]byte{0})
	h.Write(body)
	h.Sum(key[:0])
	return key
}

// sight is a request that was read, and how it agrees with each recorded turn. It depends on tape and request alone, so sessions share it; which
// of the turns that fit is served is for the session to say.
type sight struct {
	read        *reply // as requestOf read it, without an answer
	unsupported string
	list        bool // events are the elements of one array
	live        conversation
	found       []agreement
	written     forms // of the turns that were served, where answers repeat what the request says
}

// written is an answer on the wire, and what was made up for it.
type written struct {
	contentType  string
	body         []byte
	ends         []int // of the events of a stream; nil for one object
	madeUp, left []string
}

// form is all of a request on which the answer of a turn depends, where it repeats nothing else of the request.
type form struct {
	p                   *protocol
	stream, list, usage bool
	turn                *turn
	model               string // where the tape has none: the one that was asked
}

// forms are answers that were rendered. It is safe for concurrent use.
type forms struct {
	mu  sync.Mutex
	all map[form]written
}

// Clients choose the names of models: bounds of the answers that a turn keeps, and of the name, in bytes, of which one is kept.
const (
	maxForms     = 64
	maxFormModel = 256
)

func (f *forms) get(key form) (written, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, ok := f.all[key]
	return w, ok
}

func (f *forms) put(key form, w written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		f.all = map[form]written{}
	}
	if len(f.all) < maxForms && len(key.model) <= maxFormModel {
		f.all[key] = w
	}
}

// write renders an answer, or takes what was rendered before: for any request of the same form, or for this one where answers repeat what it says.
// That of a request which continues what its session holds is not kept.
func (v *sight) write(p *protocol, r *reply) written {
	key := form{p: p, stream: r.request.Stream, list: v.list, usage: wantsUsage(r.body), turn: r.turn, model: r.request.Model}
	if r.recordedModel() != "" {
		key.model = ""
	}
	kept := &r.turn.written
	if p.echoes {
		kept = &v.written
	}
	if w, ok := kept.get(key); ok {
		r.madeUp, r.left = slices.Clone(w.madeUp), slices.Clone(w.left)
		return w
	}
	w := render(p, r, v.list)
	w.madeUp, w.left = slices.Clone(r.madeUp), slices.Clone(r.left)
	if v.found != nil {
		kept.put(key, w)
	}
	return w
}

// agreement is how a conversation agrees with one turn.
type agreement struct {
	agrees  bool
	labels  map[Label]bool // not to be changed
	depth   int
	differs *Difference
	pairs   []normalise.Pair // what has to be taken for what; the session says whether it can
}

// memory holds the requests that a stub has seen, so that replays of one tape, which send the same again and again, read and compare it once. It is
// safe for concurrent use.
type memory struct {
	mu    sync.Mutex
	known map[seenKey]*sight
	bytes int
}

func (m *memory) get(key seenKey) *sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[key]
}

func (m *memory) put(key seenKey, s *sight, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxSeen || m.bytes+size > maxSeenBytes {
		m.known, m.bytes = nil, 0 // the ones that come again are back soon
	}
	if m.known == nil {
		m.known = map[seenKey]*sight{}
	}
	if size <= maxSeenBytes {
		m.known[key], m.bytes = s, m.bytes+size
	}
}

// agreements compares a conversation with all turns.
func (s *Stub) agreements(live *conversation) []agreement {
	found := make([]agreement, len(s.turns))
	for i, n := range s.turns {
		found[i] = s.agreement(&n.sent, live)
		if also := n.sent.also; also != nil && !found[i].agrees {
			if x := s.agreement(also, live); x.agrees || x.depth > found[i].depth {
				found[i] = x
			}
		}
	}
	return found
}

func (s *Stub) agreement(sent, live *conversation) agreement {
	x := comparison{stub: s, labels: map[Label]bool{}, names: &normalise.Renaming{}}
	return agreement{agrees: x.conversations(sent, live), labels: x.labels, depth: x.depth, differs: x.diff, pairs: x.pairs}
}
