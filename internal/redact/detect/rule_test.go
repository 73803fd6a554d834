// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

func TestEveryPatternCompilesAndHasKeywords(t *testing.T) {
	names := map[string]bool{}
	for _, r := range builtin() {
		require.False(t, names[r.Name], "two rules are called %s", r.Name)
		names[r.Name] = true
		require.True(t, token.ValidRuleName(r.Name) && len(r.Name) <= token.MaxRuleName, r.Name)
		if r.pattern == "" {
			continue
		}
		r.once.Do(r.compile)
		require.True(t, len(r.keywords)+len(r.heads) > 0 || r.Name == "azure-client-secret", r.Name)
		for w := range r.byWord[len(r.keywords):] {
			at := r.byWord[len(r.keywords)+w]
			require.True(t, at.shape.kind == shapeAnchored && at.offset == 0, "%s begins otherwise than its head", r.Name)
		}
	}
}

func TestAccountNumbersHaveTheLengthTheirStandardAllows(t *testing.T) {
	for country, form := range ibanForms {
		require.LessOrEqual(t, len(form), 34, country)
		require.Empty(t, strings.Trim(form, "nac"), country)
	}
}

// Nobody has to guess where a form comes from, or look for it again when a service changes it.
func TestEveryRuleNamesItsSource(t *testing.T) {
	names := map[string]bool{}
	for _, r := range builtin() {
		names[r.Name] = true
		require.NotEmpty(t, Source(r.Name), r.Name)
	}
	for name := range sources() {
		require.True(t, names[name], "the source of %s, which is no rule", name)
	}
}
