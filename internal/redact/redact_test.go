// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

func testKey(t testing.TB) *Key {
	t.Helper()
	k, err := NewKey([]byte("a key for tests, 0123456789abcdef"), "")
	require.NoError(t, err)
	return k
}

func testRedactor(t testing.TB) *Redactor {
	t.Helper()
	r, err := New(Default().WithKey(testKey(t)))
	require.NoError(t, err)
	return r
}

// plain replaces tokens by their rules, so that expectations can be read.
func plain(s string) string {
	var b strings.Builder
	from := 0
	for _, at := range token.Find(s) {
		found, _ := token.Parse(s[at[0]:at[1]])
		b.WriteString(s[from:at[0]] + "<" + found.Rule + ">")
		from = at[1]
	}
	return b.String() + s[from:]
}

func TestValuesAreReplacedWhereTheyStand(t *testing.T) {
	r := testRedactor(t)
	const pat = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"
	for _, c := range []struct{ name, key, in, want string }{
		{"a token in text", "", "use " + pat + ", please", "use <github-token>, please"},
		{"JSON keeps its bytes", "", `{ "a" : 1.50, "t":"` + pat + `","b":[1e3,true] }`, `{ "a" : 1.50, "t":"<github-token>","b":[1e3,true] }`},
		{"JSON in JSON", "", `{"args":"{\"token\":\"` + pat + `\",\"n\":\"\\u00e9\"}","x":"\/"}`, `{"args":"{\"token\":\"<github-token>\",\"n\":\"\\u00e9\"}","x":"\/"}`},
		{"a number becomes a string", "", `{"card":4111111111111111,"n":12}`, `{"card":"<payment-card>","n":12}`},
		{"a number in JSON in JSON", "", `{"a":"{\"card\":4111111111111111}"}`, `{"a":"{\"card\":\"<payment-card>\"}"}`},
		{"Python", "", `{'token': '` + pat + `', 'password': 'it\'s', 'n': None}`, `{'token': '<github-token>', 'password': '<credential-assignment>', 'n': None}`},
		{"cut JSON", "", `{"a":"{\"password\":\"hunter2\",\"x`, `{"a":"{\"password\":\"<credential-assignment>\",\"x`},
		{"a header and a body", "", "HTTP/1.1 200 OK\r\nx-debug-key: sk-proj-FAKEfakeFAKEfakeFAKEfake0000\r\n\r\n{\"rotated\":true,\"password\":\"hunter2\"}",
			"HTTP/1.1 200 OK\r\nx-debug-key: <openai-key>\r\n\r\n{\"rotated\":true,\"password\":\"<secret-by-key>\"}"},
		{"a URL", "", "https://user:hunter2-FAKE@deploy.example.com/rotate?api_key=abcdef123456&x=1", "https://user:<url-credentials>@deploy.example.com/rotate?api_key=<credential-assignment>&x=1"},
		{"a header keeps its scheme", "authorization", "Bearer abc", "Bearer <secret-by-key>"},
		{"an e-mail", "", "write to jane.fake@example.com.", "write to <email>."},
		{"a card", "", "my card is 4111 1111 1111 1111.", "my card is <payment-card>."},
		{"an IBAN", "", "IBAN DE89 3704 0044 0532 0130 00, thanks", "IBAN <iban>, thanks"},
		{"a key of an object", "", `{"jane.fake@example.com":1}`, `{"<email>":1}`},
		{"base64", "", "data: eyJwYXNzd29yZCI6Imh1bnRlcjIhISJ9", "data: <encoded-secret>"},
		{"percent", "", "q=token%3D" + pat + "%26x", "q=token%3D<github-token>%26x"},
		{"a private key", "", "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\nok", "<private-key>\nok"},
		{"monkey", "monkey", "banana-1234567890-ABCdef", "banana-1234567890-ABCdef"},
		{"counts", "", `{"max_tokens":4096,"input_tokens":12345678}`, `{"max_tokens":4096,"input_tokens":12345678}`},
		{"a phone", "", "call +49 30 901820 or (555) 123-4567", "call <phone> or <phone>"},
		{"ssn", "", "ssn 123-45-6789", "ssn <us-ssn>"},
		{"ip", "", "from 203.0.113.7 to 127.0.0.1, Chrome/131.0.0.0", "from <ip-address> to 127.0.0.1, Chrome/131.0.0.0"},
		{"ids", "gen_ai.response.id", "resp_1234567890123456", "resp_1234567890123456"},
		{"a password in a connection string", "", "Server=db;User Id=app;Password=s3cr3t!;", "Server=db;User Id=app;Password=<credential-assignment>;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.String(c.key, c.in, nil)
			require.Equal(t, c.want, plain(got))
			require.Equal(t, got, r.String(c.key, got, nil), "redacting again changes it")
		})
	}
}

func TestEqualValuesHaveOneTokenThatTheKeyVerifies(t *testing.T) {
	r := testRedactor(t)
	const pat = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"
	a := r.String("", "x "+pat, nil)[2:]
	b := r.String("password", pat, nil)
	ta, ok := token.Parse(a)
	require.True(t, ok, a)
	tb, ok := token.Parse(b)
	require.True(t, ok, b)
	require.Equal(t, ta.Digest, tb.Digest)
	require.True(t, testKey(t).VerifyToken(a, pat))
	require.False(t, testKey(t).VerifyToken(a, pat+"x"))
	other, err := NewKey([]byte("another key for tests, 0123456789"), "")
	require.NoError(t, err)
	require.False(t, other.VerifyToken(a, pat))
	scoped, err := NewKey([]byte("a key for tests, 0123456789abcdef"), "tenant-a")
	require.NoError(t, err)
	require.False(t, scoped.VerifyToken(a, pat))
	require.NotEqual(t, scoped.ID(), testKey(t).ID())
}

// A key that holds a secret has one token, in the map and in lists of keys, and says which rule found it.
func TestNamesAreReplacedByTheRuleThatFindsThem(t *testing.T) {
	r := testRedactor(t)
	td := ptrace.NewTraces()
	a := td.ResourceSpans().AppendEmpty().Resource().Attributes()
	a.PutStr("app."+github, "x")
	r.Traces(td, nil)
	for name := range a.All() {
		require.Equal(t, "app.<github-token>", plain(name))
	}
}

// One redactor is used by many requests at once, and what one has remembered serves the others.
func TestRedactorIsSharedByRequests(t *testing.T) {
	r := testRedactor(t)
	texts := []string{
		`[{"role":"user","content":"a long text that has nothing in it and is remembered\nwith lines"},{"role":"assistant","content":"mail jane@example.com about all of it"}]`,
		"a long text that has nothing in it and is remembered", "the key is ghp_FAKEfake0000FAKEfake0000FAKEfake0000 and more than a few words",
	}
	var want []string
	for _, text := range texts {
		want = append(want, testRedactor(t).String("content", text, nil))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				require.Equal(t, want[i%len(texts)], r.String("content", texts[i%len(texts)], nil))
			}
		})
	}
	wg.Wait()
}
