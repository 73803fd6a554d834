// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
)

// The hooks of the table in its order, behind those of languages, and what tells the quirks of a scope.
var (
	hooks       = slices.Clone(languageHooks)
	scopeQuirks []func(scope string) dialect.Quirks
)

func init() {
	for _, d := range Dialects {
		hooks = append(hooks, d.Hooks...)
		if d.ScopeQuirks != nil {
			scopeQuirks = append(scopeQuirks, d.ScopeQuirks)
		}
	}
}

// quirksOf returns what is known of the producer of an item before the item is read.
func quirksOf(s *dialect.Source) dialect.Quirks {
	quirks := languageQuirks[languageOf(s)]
	for _, of := range scopeQuirks {
		quirks |= of(s.ScopeName)
	}
	if d := dialectsOf(s); len(d) > 0 && d[len(d)-1] == generic.Unknown {
		quirks |= dialect.RoundsIntegers // the producer may run in JavaScript, which rounds
	}
	return quirks
}

// runHooks runs the hooks of the quirks that the producer of an item has.
func runHooks(s *dialect.Source, o *dialect.Draft, last bool) {
	for _, h := range hooks {
		if h.Last == last && o.Quirks.Has(h.Quirk) {
			h.Run(s, o)
		}
	}
}
