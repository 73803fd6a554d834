// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

func newRedactor(t *testing.T, p Profile) *Redactor {
	t.Helper()
	r, err := New(p.WithKey(testKey(t)))
	require.NoError(t, err)
	return r
}

func TestUserRulesApplyWhereTheySay(t *testing.T) {
	p := Default()
	p.Rules = []UserRule{
		{Name: "employee-number", Pattern: `EMP-(\d{6})`, Allow: []string{"000000"}},
		{Name: "customer-name", Paths: []string{"$..customer.name"}, Keys: []string{"*.customer_name"}},
		{Name: "order", Pattern: `\d{4}`, Paths: []string{"$.payload.orders[*].no", "$['other']['x y'][0]"}},
	}
	r := newRedactor(t, p)
	for _, c := range []struct{ key, in, want string }{
		{"x", "see EMP-123456 and EMP-000000", "see EMP-<employee-number> and EMP-000000"},
		{"payload", `{"customer":{"name":"Ada","id":7}}`, `{"customer":{"name":"<customer-name>","id":7}}`},
		{"payload", `{"a":{"customer":{"name":1234}}}`, `{"a":{"customer":{"name":"<customer-name>"}}}`},
		{"app.customer_name", "Ada", "<customer-name>"},
		{"customer_name", "Ada", "Ada"},
		{"payload", `{"orders":[{"no":"no 1234"}],"no":"no 1234"}`, `{"orders":[{"no":"no <order>"}],"no":"no 1234"}`},
		{"other", `{"x y":["1234","1234"]}`, `{"x y":["<order>","1234"]}`},
	} {
		got := r.String(c.key, c.in, nil)
		require.Equal(t, c.want, plain(got), c.in)
		require.Equal(t, got, r.String(c.key, got, nil))
	}
}

func TestAllowedValuesPatternsAndPathsAreLeftAlone(t *testing.T) {
	p := Default()
	p.Allow = Allow{Values: []string{"support@example.com"}, Patterns: []string{`test-\d+@example\.com`}, Paths: []string{"$.open", "$..schema.default"}}
	r := newRedactor(t, p)
	require.Equal(t, "support@example.com test-1@example.com <email>", plain(r.String("x", "support@example.com test-1@example.com a@example.com", nil)))
	require.Equal(t, "a@example.com", r.String("open", "a@example.com", nil))
	require.Equal(t, `{"schema":{"default":"a@example.com"}}`, r.String("x", `{"schema":{"default":"a@example.com"}}`, nil))
}

func TestMaskKeepsTokensForKeysAndForIDsThatGroupRuns(t *testing.T) {
	p := Default()
	p.Mode = ModeMask
	r := newRedactor(t, p)
	require.Equal(t, "mail "+token.Mask, r.String("content", "mail a@example.com", nil))
	for _, key := range []string{"session.id", "gen_ai.conversation.id", "user.id", "thread_id", "customerId"} {
		require.Equal(t, "<email>", plain(r.String(key, "a@example.com", nil)), key)
	}
	require.Equal(t, `{"<email>":1}`, plain(r.String("x", `{"a@example.com":1}`, nil)))
}

func TestGuessesLeaveProtocolIDsAlone(t *testing.T) {
	r := testRedactor(t)
	for _, key := range []string{"gen_ai.response.id", "gen_ai.tool.call.id", "tool_call_id", "trace_id", "sha256", "signature", "thought_signature", "request.id", "run_id"} {
		for _, id := range []string{"4111111111111111", "0612345678", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4YWJj", "a1B2c3D4e5F6g7H8i9J0k1L2"} {
			require.Equal(t, id, r.String(key, id, nil), key)
		}
		require.Equal(t, "x <github-token>", plain(r.String(key, "x "+github, nil)), key)
	}
}

func TestRuleFilesAreReadAndBadOnesExplained(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		path := filepath.Join(dir, "rules.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	p, err := Default().Read(write("rules:\n  - {name: GitHub_PAT, pattern: 'X{3}'}\nsecret_keys: [badge]\nenv: [CI, 'GITHUB_*']\ndisable: [phone]\n"))
	require.NoError(t, err)
	require.Equal(t, "git-hub-pat", p.Rules[0].Name)
	require.Equal(t, "default+custom", p.Label())
	require.NotEqual(t, Default().Digest(), p.Digest())
	r := newRedactor(t, p)
	require.Equal(t, "<secret-by-key>", plain(r.String("employee.badge", "xyz", nil)))
	require.Equal(t, "call +49 30 901820", r.String("x", "call +49 30 901820", nil))

	for text, want := range map[string]string{
		"rules:\n  - {name: x, pattern: '('}":                "rule 1 (x): pattern: error parsing regexp",
		"rules:\n  - {name: x, pattern: '(?=a)b'}":           "RE2, which has no look-around",
		"rules:\n  - {name: x, pattern: 'a*'}":               "matches the empty text",
		"rules:\n  - {name: x}":                              "needs a pattern, keys or paths",
		"rules:\n  - {pattern: 'a'}":                         "rule 1 has no name",
		"rules:\n  - {name: x, paths: ['a.b']}":              "not a path",
		"rulez: []":                                          "field rulez not found",
		"rules:\n  - {name: ghp12345678901234, pattern: ab}": "at most 16 lower-case letters and digits",
	} {
		_, err := Default().Read(write(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestEnvironmentIsDeniedByDefault(t *testing.T) {
	environ := []string{"CI=true", "GITHUB_SHA=abc", "GITHUB_TOKEN=" + github, "HOME=/root", "AWS_SECRET_ACCESS_KEY=x", "broken"}
	require.Empty(t, testRedactor(t).Environment(environ, nil))
	p := Default()
	p.Env = []string{"CI", "GITHUB_*"}
	got := newRedactor(t, p).Environment(environ, nil)
	require.Len(t, got, 3)
	require.Equal(t, "true", got["CI"])
	require.Equal(t, "<github-token>", plain(got["GITHUB_TOKEN"]))
	p.Env = []string{"*"}
	_, err := New(p)
	require.ErrorContains(t, err, "neither a name nor PREFIX_*")
}

func TestKeysAreCheckedAndErrorsDoNotQuoteThem(t *testing.T) {
	for text, want := range map[string]string{
		"short": "at least 32 are needed", strings.Repeat("a", 40): "are no random key", "hex:zz" + strings.Repeat("0", 64): "not in that encoding",
		strings.Repeat("changeme-", 5):      "again and again",
		"base64:" + strings.Repeat("?", 60): "not in that encoding",
	} {
		_, err := ParseKey([]byte(text), "")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), text)
	}
	a, err := ParseKey([]byte("hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"), "")
	require.NoError(t, err)
	b, err := ParseKey([]byte(" base64:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), "")
	require.NoError(t, err)
	require.Equal(t, a.ID(), b.ID())
}

func TestWhatHidesBehindTheFormOfATokenIsFound(t *testing.T) {
	require.NotContains(t, testRedactor(t).String("x", "[REDACTED:"+github+":"+strings.Repeat("a", 26)+"]", nil), "ghp_")
}

func FuzzRuleFile(f *testing.F) {
	for _, text := range []string{
		"rules:\n  - {name: x, pattern: 'a(b)', keys: ['*.a'], paths: ['$..a[0]'], allow: [b]}\n", "extend: false\nenvKeyDenyList: [TOKEN]", "allow: {paths: [\"$['a']\"]}", "rules: [{}]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Default().Parse([]byte(text))
		if err != nil || len(p.Rules) > 100 {
			return
		}
		r, err := New(p)
		if err != nil {
			return
		}
		in := `{"a":["ab","` + github + `"]}`
		if out := r.String("x", in, nil); out != r.String("x", out, nil) {
			t.Fatalf("redacting again changes %q", out)
		}
	})
}
