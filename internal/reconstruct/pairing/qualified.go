// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// shortenNames gives calls of functions under a path in the program (shop.tools.look, Shop::look) the name by
// which a model knows them.
//
// Needs: a last name that the conversation knows.
// Refuses: a whole name that the conversation knows; two functions of one last name that both ran.
// Seen in: decorators that name a function with where it stands.
func (p *pairing) shortenNames() {
	paths := map[string]string{} // last name → the path before it; "" where several stand before it
	for _, t := range p.Tools {
		if path, name := p.unqualified(t); name != "" {
			if before, seen := paths[name]; seen && before != path {
				path = ""
			}
			paths[name] = path
		}
	}
	for _, t := range p.Tools {
		if _, name := p.unqualified(t); paths[name] != "" {
			o := t.Obs.Draft()
			o.Name = name
			t.Obs = o.Seal()
		}
	}
}

// hasQualified reports a function under a path whose last name the conversation knows.
func (p *pairing) hasQualified() bool {
	return slices.ContainsFunc(p.Tools, func(t *ledger.Call) bool {
		_, name := p.unqualified(t)
		return name != ""
	})
}

// unqualified divides the name of a function into the path and the last name, both "" unless the last name is
// all that the conversation knows of it. A sentence has no path.
func (p *pairing) unqualified(t *ledger.Call) (path, last string) {
	name := t.Obs.Name
	if p.known[name] || strings.ContainsAny(name, " /()") {
		return "", ""
	}
	at, next := strings.LastIndexByte(name, '.'), 1
	if colons := strings.LastIndex(name, "::"); colons > at {
		at, next = colons, 2
	}
	if at <= 0 || at+next >= len(name) || !p.known[name[at+next:]] {
		return "", ""
	}
	return name[:at], name[at+next:]
}
