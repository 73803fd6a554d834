// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

var fuzzed = flag.Int("redact.values", 20_000, "how many JSON values TestFuzzedJSONKeepsItsShape makes")

// values makes JSON values, a part of whose leaves, keys and numbers are secrets.
type values struct {
	*rand.Rand
	b             bytes.Buffer
	leaves, names []string
}

var leaves = []string{
	"hello", "", "plain text with words", "\u00e9\u4e16\U0001F600", `quo"te`, `back\slash`, "line\nbreak\ttab", "</script>", "\u2028", "null", "12", "[1,2", `{"a":1}`,
	"ghp_FAKEfake0000FAKEfake0000FAKEfake0000", "mail jane.fake@example.com now", "4111 1111 1111 1111", "sk-proj-FAKEfakeFAKEfakeFAKEfake0000",
	"password=hunter2!x", `{'api_key': 'a1b2c3d4e5f6g7h8', "b": None}`, "https://u:pw123456@h.example/x?sig=abcdefABCDEF0123456789", "-----BEGIN PRIVATE KEY-----\nAAAA",
	"AKIAIOSFODNN7EXAMPLE", "Bearer abcdef0123456789", "[REDACTED]", "[REDACTED:email:aaaaaaaaaaaaaaaaaaaaaaaaaa]", "[REDACTED:ghp_FAKEfake0000FAKEfake0000FAKEfake0000:x]",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmIn0.ZmFrZS1zaWc", "DE89370400440532013000", "+49 30 901820", "203.0.113.7", "%67hp_FAKEfake0000FAKEfake0000FAKEfake0000", "\\u0067\\n",
	"cGFzc3dvcmQ9aHVudGVyMiEhIGFuZCBtb3Jl", "\xff\xfe", "ghp_FAKEfake0000FAKE", "fake0000FAKEfake0000", "a@b", "jane.fa", "ke@example.com",
}

var names = []string{"a", "b", "content", "text", "id", "tool_call_id", "password", "token", "max_tokens", "user_id", "card", "name", "value", "x y", "jane.fake@example.com", "é"}

var numbers = []string{"0", "-1", "1.50", "1e3", "9007199254740993", "4111111111111111", "123456789", "12345678901234567890", "1E+2", "-0.0"}

func (v *values) value(depth int) {
	switch n := v.IntN(10); {
	case n < 4 || depth <= 0:
		v.str()
	case n < 5:
		v.b.WriteString(numbers[v.IntN(len(numbers))])
	case n < 6:
		v.b.WriteString([]string{"true", "false", "null"}[v.IntN(3)])
	case n < 8:
		v.list('[', ']', v.IntN(4), func() { v.value(depth - 1) })
	default:
		v.list('{', '}', v.IntN(4), func() {
			v.quote(v.names[v.IntN(len(v.names))])
			v.b.WriteByte(':')
			v.space()
			v.value(depth - 1)
		})
	}
}

func (v *values) list(open, shut byte, n int, one func()) {
	v.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			v.b.WriteByte(',')
		}
		v.space()
		one()
	}
	v.space()
	v.b.WriteByte(shut)
}

func (v *values) space() {
	if v.IntN(4) == 0 {
		v.b.WriteString([]string{" ", "\n  ", "\t"}[v.IntN(3)])
	}
}

// str writes a leaf, a composition of leaves, or a JSON value as a string.
func (v *values) str() {
	switch v.IntN(6) {
	case 0:
		in := &values{Rand: v.Rand, leaves: v.leaves, names: v.names}
		in.value(2)
		s := in.b.String()
		if v.IntN(4) == 0 && len(s) > 2 {
			s = s[:v.IntN(len(s))]
		}
		v.quote(s)
	case 1:
		v.quote(v.leaves[v.IntN(len(v.leaves))] + []string{"", " ", ",", "/", "&x="}[v.IntN(5)] + v.leaves[v.IntN(len(v.leaves))])
	default:
		v.quote(v.leaves[v.IntN(len(v.leaves))])
	}
}

// quote writes a string with the escapes of several encoders.
func (v *values) quote(s string) {
	v.b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			v.b.WriteByte('\\')
			v.b.WriteByte(c)
		case c == '/' && v.IntN(3) == 0:
			v.b.WriteString(`\/`)
		case c < ' ' || c < 0x7f && v.IntN(20) == 0:
			fmt.Fprintf(&v.b, `\u%04x`, c)
		default:
			v.b.WriteByte(c)
		}
	}
	v.b.WriteByte('"')
}

// token is one token of a document, as encoding/json sees it.
type docToken struct {
	value any
	at    string // the text of the token
}

func tokens(t testing.TB, s string) (list []docToken) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	from := int64(0)
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return list
		}
		require.NoError(t, err, "%q", s)
		list = append(list, docToken{tok, strings.TrimLeft(s[from:dec.InputOffset()], " \t\r\n,:")})
		from = dec.InputOffset()
	}
}

// checkShape says that the result is a document with the same tokens in the same order, of which only strings with a token in them
// (and numbers that became one) differ, and that redacting it again changes nothing.
func checkShape(t testing.TB, r *Redactor, key, in, out string) {
	t.Helper()
	require.True(t, json.Valid([]byte(out)), "made unparseable:\n%q\n%q", in, out)
	before, after := tokens(t, in), tokens(t, out)
	require.Len(t, after, len(before), "%q\n%q", in, out)
	stream := false
	for i := range before {
		if before[i].at == after[i].at {
			continue
		}
		s, ok := after[i].value.(string)
		require.True(t, ok, "%q became %q in\n%q", before[i].at, after[i].at, in)
		_, number := before[i].value.(json.Number)
		switch {
		case strings.Contains(s, token.Prefix[:9]):
			stream = true
		default: // the rest of a secret whose token stands in an earlier piece
			require.True(t, stream && !number && len(after[i].at) < len(before[i].at), "%q became %q without a token in\n%q", before[i].at, after[i].at, in)
		}
	}
	require.Equal(t, out, r.String(key, out, nil), "redacting again changes it; it was\n%q", in)
}

// An assignment whose value was replaced by a mask is no name of the next string of its list.
func TestAMaskedAssignmentNamesNothing(t *testing.T) {
	mask, err := New(Profile{Policy: PolicyStrict, Mode: ModeMask}.WithKey(testKey(t)))
	require.NoError(t, err)
	in := `["x",{"x y":["null",["password=hunter2!x","{\"a\":1}/ghp_FAKE\\u0066","k"],["Bearer abcdef0123456789/x"]]}]`
	out := mask.String("payload", in, nil)
	require.Contains(t, out, `"password=[REDACTED]"`)
	checkShape(t, mask, "payload", in, out)
	in = `{"name":"Bearer abcdef0123456789","value":"ghp_FAKEfake0000FAKE"}`
	checkShape(t, mask, "payload", in, mask.String("payload", in, nil))
	keyed := testRedactor(t)
	checkShape(t, keyed, "payload", in, keyed.String("payload", in, nil))
}

// The words before a token had a value that is gone: they name nothing any more.
func TestAKeyThatBecameATokenNamesNothing(t *testing.T) {
	r := testRedactor(t)
	for _, in := range []string{
		`ok {"Bearer abcdef0123456789": ["x", "ghp_FAKEfake0000FAKE"]}`,
		`see {"https://u:pw123456@h.example/x?sig=abcdefABCDEF0123456789": ["ghp_FAKEfake0000FAKE"]}.`,
	} {
		out := r.String("payload", in, nil)
		require.NotEqual(t, in, out)
		require.Equal(t, out, r.String("payload", out, nil), "redacting again changes it; it was\n%q", in)
	}
	require.NotContains(t, r.String("payload", `{"jane.fake@example.com api_key":"hunter2!x"}`, nil), "hunter2", "what stands behind a token is a name")
}

// The long run: TAPEDECK_TEST_SEED=random go test ./internal/redact -run FuzzedJSON -redact.values 1000000
func TestFuzzedJSONKeepsItsShape(t *testing.T) {
	r := testRedactor(t)
	mask, err := New(Profile{Policy: PolicyStrict, Mode: ModeMask}.WithKey(testKey(t)))
	require.NoError(t, err)
	v := &values{Rand: rand.New(rand.NewPCG(seed.Of(t), 1)), leaves: leaves, names: names}
	hits := 0
	for i := range *fuzzed {
		v.b.Reset()
		v.value(4)
		in := v.b.String()
		if !json.Valid([]byte(in)) {
			t.Fatalf("the generator made no JSON: %q", in)
		}
		by := r
		if i%10 == 0 {
			by = mask
		}
		out := by.String("payload", in, nil)
		checkShape(t, by, "payload", in, out)
		if in != out {
			hits++
		}
	}
	require.Greater(t, hits, *fuzzed/10)
	t.Logf("%d of %d values held something", hits, *fuzzed)
}

func FuzzRedactKeepsJSON(f *testing.F) {
	for _, l := range leaves {
		f.Add("payload", l)
		f.Add("password", `{"a":`+quoteJSON(l)+`}`)
	}
	r := testRedactor(f)
	f.Fuzz(func(t *testing.T, key, in string) {
		out := r.String(key, in, nil)
		if again := r.String(key, out, nil); again != out {
			t.Fatalf("redacting again changes it:\n%q\n%q\n%q", in, out, again)
		}
		if json.Valid([]byte(in)) {
			checkShape(t, r, key, in, out)
		}
	})
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}
