// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// byRelay unites who got a message with who made it.
//
// Needs: a span of a message that links to the one that made the message, which may lie in another trace.
// Refuses: another service.
// Seen in: AutoGen, whose agents hand every message over in a trace of its own.
func (s *stitcher) byRelay() {
	made := map[spanKey]*part{}
	each := func(visit func(f *part, n *node)) {
		for _, f := range s.all {
			for _, top := range f.tops() {
				relaysIn(top, func(n *node) { visit(f, n) })
			}
		}
	}
	each(func(f *part, n *node) { made[spanKeyOf(n)] = f })
	if len(made) == 0 {
		return
	}
	each(func(f *part, n *node) {
		for key := range linked(n) {
			if of := made[key]; of != nil && s.sameService(of, f) {
				s.propose(f, byLinks, of)
			}
		}
	})
}

// relays reports a fragment that made or got a message.
func (f *fragment) relays() bool {
	return slices.ContainsFunc(f.tops(), func(h *node) bool { return relaysIn(h, nil) })
}

// relaysIn visits the spans of messages and reports whether there is one. Without a visitor it stops at the first.
func relaysIn(h *node, visit func(*node)) (found bool) {
	walk(h, func(n *node) bool {
		if n.obs.Relay && n.spans > 0 {
			found = true
			if visit != nil {
				visit(n)
			}
		}
		return visit != nil || !found
	})
	return found
}

// tops are the heads of a fragment, or what handed over the messages that began them.
func (f *fragment) tops() (tops []*node) {
	if len(f.heads) == 1 && (f.heads[0].up == nil || !f.heads[0].up.obs.Relay) {
		return f.heads
	}
	known := map[*node]bool{}
	for _, h := range f.heads {
		for h.up != nil && h.up.obs.Relay && !known[h] {
			known[h] = true
			h = h.up
		}
		if !known[h] {
			known[h] = true
			tops = append(tops, h)
		}
	}
	return tops
}
