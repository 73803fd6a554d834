// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package token

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokensAreToldFromTextThatLooksLikeThem(t *testing.T) {
	token := Token{Rule: "email", Digest: strings.Repeat("a", 26)}.String()
	got, ok := Parse(token)
	require.True(t, ok)
	require.Equal(t, "email", got.Rule)
	for _, s := range []string{
		"", "[REDACTED]", token + "x", token[:len(token)-1], strings.ToUpper(token), "[REDACTED:ghp_FAKEfake0000FAKEfake0000FAKEfake0000:" + strings.Repeat("a", 26) + "]",
		"[REDACTED:email:" + strings.Repeat("a", 25) + "b]", "[REDACTED:email:" + strings.Repeat("A", 26) + "]", "[REDACTED::" + strings.Repeat("a", 26) + "]",
	} {
		_, ok := Parse(s)
		require.False(t, ok, s)
	}
	counts := map[string]int64{}
	Count("a "+token+" b "+Mask+token+" [REDACTED:x]", counts)
	require.Equal(t, map[string]int64{"email": 2, "": 1}, counts)
}
