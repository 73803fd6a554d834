// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisguisedSpellingsAreRead(t *testing.T) {
	r := testRedactor(t)
	head, tail := github[:14], github[14:]
	var wide strings.Builder
	for i := range len(github) {
		wide.WriteString(github[i:i+1] + "\x00")
	}
	for name, text := range map[string]string{
		"zero width": head + "\u200b" + tail, "soft hyphen": head + "\u00ad" + tail, "NUL": head + "\x00" + tail, "ANSI": head + "\x1b[0m" + tail, "invalid byte": head + "\xff" + tail,
		"byte order mark": head + "\ufeff" + tail, "entity": strings.Replace(github, "_", "&#95;", 1), "hex entity": strings.Replace(github, "_", "&#x5f;", 1),
		"named entity": strings.Replace(github, "_", "&lowbar;", 1), "full width": strings.Replace(github, "ghp_", "\uff47\uff48\uff50\uff3f", 1), "UTF-16": strings.TrimSuffix(wide.String(), "\x00"),
		"UTF-16 in base64": base64.StdEncoding.EncodeToString([]byte(wide.String())), "base32": base32.StdEncoding.EncodeToString([]byte("key " + github)),
		"hex": hex.EncodeToString([]byte("key " + github)),
	} {
		out := r.String("content", "see "+text+" there", nil)
		require.NotEqual(t, "see "+text+" there", out, name)
		require.NotContains(t, out, tail, name)
		require.True(t, strings.HasPrefix(out, "see [REDACTED:") && strings.HasSuffix(out, "] there"), "%s: %q", name, out)
		require.Equal(t, out, r.String("content", out, nil), name)
	}
	for _, text := range []string{"card 4111\u00a01111\u00a01111\u00a01111", "card \uff14111111111111111", "mail jane.doe&#64;corp.com", "\u0665\u0665 mail jane\u200b@corp.com"} {
		require.NotEqual(t, text, r.String("content", text, nil))
	}
	for _, text := range []string{"\u00fcber Gr\u00f6\u00dfe & Gewicht \u2013 \u201equoted\u201c\u00a0text", "a &amp; b &lt;c&gt;", "\x1b[31mred\x1b[0m"} {
		require.Equal(t, text, r.String("content", text, nil))
	}
}
