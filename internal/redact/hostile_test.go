// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

const github = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"

// Each text is 128 KB of what a detector likes to look at again and again. There is no clock here: what is
// quadratic takes minutes.
func TestHostileTextsAreSearchedInLinearTime(t *testing.T) {
	r := testRedactor(t)
	for name, unit := range map[string]string{
		"assignments": "password=", "open quotes": `secret="x\"`, "schemes": "://a:b/", "user infos": "a:b@", "addresses": "a@b.co", "words of services": "airtable ", "airtable": "airtable",
		"adjacent tokens": github, "numbers": "1234567 ", "digits": "7", "braces": `{"a":`, "brackets": `[["`, "escapes": `\\`, "percent": "%25", "PEM": "-----BEGIN ",
		"headers": "bearer ", "JWT": "eyJhbGciOiJIUzI1NiJ9.", "tokens": token.Mask, "token prefixes": "[REDACTED:", "colons": "a:b:", "curl": "curl -u a ", "curls": "curl -u ", "logins": "az login ", "labels": "ssn nhs id number ", "passwords": "пароль", "deltas": `{"delta":"a"}`, "entities": "&#65;", "folds": "\u200b", "told": "password is ", "table": "| password | ", "words": "a api key ", "quotes": `"`, "kinds": "kind: secret data: ",
		"names": "password_", "keys": "key ", "flags": "--token ", "base64": base64.StdEncoding.EncodeToString([]byte("password=hunter2 and more text ")),
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, 128<<10/len(unit))
			out := r.String("content", text, nil)
			require.NotContains(t, out, "ghp_FAKE")
		})
	}
}

func TestHostileStreamsAreSearchedInLinearTime(t *testing.T) {
	r := testRedactor(t)
	for name, pieces := range map[string][]string{
		"addresses": {"jane@ex", "ample.com "}, "cut tokens": {github[:20], github[20:] + " "}, "nothing": {"a", "b"}, "empty": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var list []string
			for len(list) < 10_000 {
				list = append(list, pieces...)
			}
			text, err := json.Marshal(list)
			require.NoError(t, err)
			var out []string
			require.NoError(t, json.Unmarshal([]byte(r.String("content", string(text), nil)), &out))
			require.Len(t, out, len(list))
			require.NotContains(t, strings.Join(out, ""), github)
		})
	}
}

func TestDeepValuesAreSearchedToTheirEnd(t *testing.T) {
	r := testRedactor(t)
	deep := strings.Repeat(`{"a":[`, 100_000) + `"` + github + `"` + strings.Repeat(`]}`, 100_000)
	out := r.String("content", deep, nil)
	require.NotContains(t, out, "ghp_")
	require.Equal(t, strings.Count(deep, "{"), strings.Count(out, "{"))

	nested := github
	for range 10 {
		nested = quoteJSON(nested)
	}
	require.NotContains(t, r.String("content", nested, nil), "ghp_FAKE")

	v := pcommon.NewMap()
	at := v
	for range 600 {
		at = at.PutEmptyMap("m")
	}
	at.PutStr("k", github)
	r.Attributes(v, nil)
	text, err := json.Marshal(v.AsRaw())
	require.NoError(t, err)
	require.NotContains(t, string(text), "ghp_")
	require.Contains(t, string(text), "redaction-failure")
}

func TestMalformedUTF8IsSearched(t *testing.T) {
	r := testRedactor(t)
	for _, s := range []string{"\xff" + github + "\xfe", "{\"a\":\"\xff" + github + "\"}", "\x00" + github} {
		out := r.String("", s, nil)
		require.NotContains(t, out, "ghp_")
		require.Equal(t, s[:1], out[:1])
	}
}
