// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byRelay unites who got a message with who made it.
//
// Needs: a span of a message that links to the one that made the message, which may lie in another trace.
// Refuses: another service.
// Seen in: AutoGen, whose agents hand every message over in a trace of its own.
func (s *stitcher) byRelay() {
	made := map[spantree.SpanKey]*part{}
	each := func(visit func(f *part, n *spantree.Node)) {
		for _, f := range s.all {
			for _, top := range f.Tops() {
				fragment.RelaysIn(top, func(n *spantree.Node) { visit(f, n) })
			}
		}
	}
	each(func(f *part, n *spantree.Node) { made[spantree.SpanKeyOf(n)] = f })
	if len(made) == 0 {
		return
	}
	each(func(f *part, n *spantree.Node) {
		for key := range spantree.Linked(n) {
			if of := made[key]; of != nil && s.sameService(of, f) {
				s.propose(f, fragment.ByLinks, of)
			}
		}
	})
}
