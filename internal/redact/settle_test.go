// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

var settled = flag.Int("redact.settled", 1_500, "how many values TestRedactionSettles makes of each form")

// hardLeaves and hardNames are what joints between values are made of: halves of keys, names without values, values without names, signs, openings and ends
// of encodings.
var hardLeaves = append([]string{
	"ghp_", "FAKEfake0000FAKEfake0000", "0000FAKE", "password", "password:", "my password is", "--password", "-p", "api_key=", "token ", "Authorization", "Bearer", "Basic",
	"correct horse battery staple", "hunter2!x", "S3cr3t-Passw0rd", "a1b2c3d4e5f6g7h8", "9f86d081884c7d659a2feaa0c55ad015", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "sk-proj-", "sk_live_FAKE",
	"jane", "@", "example.com", ".", "4111", "1111 1111", "1111", "078-05-1120", "SSN", "phone", "+1 415", "555 0132", "IBAN", "DE89 3704", "0044 0532 0130 00", "http://", "u:pw1", "@h/x?token=",
	"YWRtaW46aHVudGVyMiE=", "c2stcHJvai1GQUtFZmFrZUZBS0VmYWtlRkFLRWZha2U=", "%40", "%3D", "\\u0040", "\\n", "&quot;", "&#64;", "\u200b", "\u00a0", "\x1b[0m", "\x00", "\xc3", "'", "`", "{\"", "\":\"", "}", "]", "[",
	"{\"password\":\"", "\"}", "data: {\"delta\":\"", "\n\ndata: ", "<password>", "</password>", "export TOKEN=", "curl -u ", "mysql -p", "AKIA", "IOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	"[REDACTED", ":email:", "aaaaaaaaaaaaaaaaaaaaaaaaaa]", "-----BEGIN", " RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "MIIEow", "eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiJmIn0.", "name", "value",
}, leaves...)

var hardNames = append([]string{
	"delta", "chunk", "tokens", "arguments", "role", "key", "data", "args", "command", "api_key", "apiKey", "secret", "max_token", "Authorization", "env", "headers", "pw", "phone", "ssn", "iban", "url",
	"openai", "aws", "github_token", "field", "header", "variable", "val", "session.id", "gen_ai.response.id", "signature", "crypt", "", "password\x00", "pass\u200bword",
}, names...)

// hard makes values as the generator of values does, of more and smaller parts.
func hard(random *rand.Rand) *values {
	return &values{Rand: random, leaves: hardLeaves, names: hardNames}
}

// text makes a text of parts, some of them JSON, cut at its end or not.
func (v *values) text() string {
	v.b.Reset()
	for range 1 + v.IntN(8) {
		if v.IntN(6) == 0 {
			v.value(3)
		} else {
			v.b.WriteString(v.leaves[v.IntN(len(v.leaves))])
		}
		v.b.WriteString([]string{"", "", " ", "\n", "=", ":", ": ", ",", "\"", "/", "&"}[v.IntN(11)])
	}
	s := v.b.String()
	if v.IntN(4) == 0 && len(s) > 1 {
		s = s[:v.IntN(len(s))]
	}
	return s
}

// span makes a span with native values in its attributes and events.
func (v *values) span(t testing.TB) ptrace.Traces {
	v.b.Reset()
	v.list('{', '}', 1+v.IntN(4), func() {
		v.quote(v.names[v.IntN(len(v.names))])
		v.b.WriteByte(':')
		v.value(3)
	})
	attributes := map[string]any{}
	if err := json.Unmarshal(v.b.Bytes(), &attributes); err != nil {
		t.Fatalf("the generator made no JSON: %q", v.b.String())
	}
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName(v.leaves[v.IntN(len(v.leaves))])
	require.NoError(t, s.Attributes().FromRaw(attributes))
	for range v.IntN(4) {
		e := s.Events().AppendEmpty()
		e.SetName([]string{"chunk", "gen_ai.choice", "log"}[v.IntN(3)])
		for range v.IntN(3) {
			e.Attributes().PutStr(v.names[v.IntN(len(v.names))], v.leaves[v.IntN(len(v.leaves))])
		}
	}
	return td
}

// redactorOf returns the redactor of a profile, which remembers the texts that it has searched or does not.
func redactorOf(t testing.TB, p Profile, remember bool) *Redactor {
	r, err := New(p)
	require.NoError(t, err)
	r.Remember(remember)
	return r
}

// gateOf returns the rules of the gate of a profile: all that do not guess.
func gateOf(t testing.TB, p Profile) *Redactor {
	all, err := New(p)
	require.NoError(t, err)
	p.Mode = ModeMask
	for _, rule := range all.Rules() {
		if rule.Class == detect.Guess {
			p.Disable = append(p.Disable, rule.Name)
		}
	}
	gate, err := New(p)
	require.NoError(t, err)
	return gate
}

// Whatever stands beside whatever: to redact a result again changes nothing, and the gate finds nothing in it.
// The long run: TAPEDECK_TEST_SEED=random go test ./internal/redact -run RedactionSettles -redact.settled 1000000
func TestRedactionSettles(t *testing.T) {
	key := testKey(t)
	profiles := []Profile{Default(), {Policy: PolicyStrict, Mode: ModeMask}, {Policy: PolicyDefault, Mode: ModeMask}}
	type trio struct{ redactor, again, gate *Redactor } // the second one remembers nothing of what the first one has searched
	var trios []trio
	for _, p := range profiles {
		trios = append(trios, trio{redactorOf(t, p.WithKey(key), true), redactorOf(t, p.WithKey(key), false), gateOf(t, p)})
	}
	v := hard(rand.New(rand.NewPCG(seed.Of(t), 2)))
	encoder := &ptrace.JSONMarshaler{}
	render := func(td ptrace.Traces) string {
		text, err := encoder.MarshalTraces(td)
		require.NoError(t, err)
		return string(text)
	}
	wrong, changed, failures := 0, 0, 0
	check := func(in, out, again string, gate []Hit) {
		if in != out {
			changed++
		}
		if strings.Contains(out, "redaction-failure") && !strings.Contains(in, "redaction-failure") {
			failures++
		}
		if out != again || len(gate) > 0 {
			if wrong++; wrong <= 5 {
				t.Errorf("redacting again changes it, or the gate finds %v:\n%q\n%q\n%q", gate, in, out, again)
			}
		}
	}
	for i := range *settled {
		of := trios[max(i%8-5, 0)]
		name := v.names[v.IntN(len(v.names))]
		v.b.Reset()
		v.value(4)
		for _, in := range []string{v.b.String(), v.text()} {
			out := of.redactor.String(name, in, nil)
			check(in, out, of.again.String(name, out, nil), of.gate.ScanString(name, out))
		}
		td := v.span(t)
		in := render(td)
		of.redactor.Traces(td, nil)
		out, hits := render(td), of.gate.ScanTraces(td)
		of.again.Traces(td, nil)
		check(in, out, render(td), hits)
	}
	require.Greater(t, changed, *settled/2)
	t.Logf("%d of %d changed, %d replaced whole, %d wrong", changed, 3**settled, failures, wrong)
}

// What is visible only when its neighbours have been replaced is replaced too.
func TestWhatAReplacementMakesVisibleIsReplaced(t *testing.T) {
	r, again, gate := testRedactor(t), redactorOf(t, Default().WithKey(testKey(t)), false), gateOf(t, Default())
	for _, in := range []string{
		"[[{\"a\":\t\"ghp_F\\u0041KEfake0000FAKEfake0000FA\\u004bEfake0\\u003000\"}},1.50,{\"max_toke\\u006es\": [\"ghp_FAKEfake\\u0030000FAKE\",\"\\\"\"]}]]",
		`[[{"a":"ghp_FAKEfake0000FAKEfake0000FAKEfake0000","b":{"jane.fake@example.com": "null","card":"ke@example.com"}},1.50,{"max_tokens": ["ghp_FAKEfake0000FAKE","\"","password=hunter2!x"],"name":[]}]]`,
		"{\",-----BEGIN PRIVATE KEY-----\nAAAA=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmIn0.ZmFrZS1zaWc,-----BEGIN\nexport TOKEN=,[{\"value\":false,\"token\":\"\\u007b\\\"a\\\":1} 555 0132\",\n  \"api_key\":[\t\"{}\",\n  \"+1 415\"]},\"{\\\"a\\\":1}&x=eyJhbGciOiJIUzI1NiJ9.\"] RSA PRIVATE KEY-----",
	} {
		out := r.String("payload", in, nil)
		require.Equal(t, out, again.String("payload", out, nil))
		require.Empty(t, gate.ScanString("payload", out))
	}
	for _, list := range [][]any{
		{`back\slash&x=mysql -p`, "password=hunter2!x", map[string]any{"session.id": 1000.0}},
		{map[string]any{"pw": []any{"-p", "-----END RSA PRIVATE KEY-----", "&#64;"}}},
	} {
		td := ptrace.NewTraces()
		attributes := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes()
		require.NoError(t, attributes.PutEmptySlice("data").FromRaw(list))
		r.Traces(td, nil)
		require.Empty(t, gate.ScanTraces(td), attributes.AsRaw())
		require.Empty(t, r.ScanTraces(td), attributes.AsRaw())
	}
}
