// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// Secrets that no name announces are found by what stands around them, and what only looks like them is left alone.
func TestSecretsNearWords(t *testing.T) {
	d, err := New(Options{Enabled: func(r Rule) bool { return r.Name != RuleAnywhere }, Replace: func(string, string, bool) string { return token.Mask }})
	require.NoError(t, err)
	redacted := func(s string) string {
		edits := d.Walk(&Report{}).leaf(s, NoName)
		return apply(s, edits)
	}
	for in, want := range map[string]string{
		"pdftk a.pdf input_pw Tr0ub4dor&vaqr64 output b.pdf":                               "pdftk a.pdf input_pw [REDACTED] output b.pdf",
		"cf create-user ada Tr0ub4dor&vaqr64":                                              "cf create-user ada [REDACTED]",
		"rdesktop -u ada -p QLZzlmg33!1jd4 host1":                                          "rdesktop -u ada -p [REDACTED] host1",
		"backup -p QLZzlmg33!1jd4 host1":                                                   "backup -p [REDACTED] host1",
		`ftplib.FTP("host1", "ada", "p4ssw0rt.zsoz56")`:                                    `ftplib.FTP("host1", "ada", "[REDACTED]")`,
		"I rotated the token, the new one is uJhGcasmhR0Q5wObuqPqMF2r4i9q38":               "I rotated the token, the new one is [REDACTED]",
		"https://conda.example.com/t/uJhGcasmhR0Q5wObuqPqMF2r4i9q38/channel":               "https://conda.example.com/t/[REDACTED]/channel",
		"STORJ_GRANT_X=uJhGcasmhR0Q5wObuqPqMF2r4i9q38":                                     "STORJ_GRANT_X=[REDACTED]",
		"Use verification code 787711 to sign in.":                                         "Use verification code [REDACTED] to sign in.",
		"wget --http-user=ada --http-password=p4ssw0rt.fxth27 https://files.example.com/a": "wget --http-user=ada --http-password=[REDACTED] https://files.example.com/a",
		`{"github-oauth":{"github.com":"uJhGcasmhR0Q5wObuqPqMF2r4i9q38"}}`:                 `{"github-oauth":{"github.com":"[REDACTED]"}}`,
		`["mysql", "-u", "ada", "-p", "QLZzlmg33!1jd4"]`:                                   `["mysql", "-u", "ada", "-p", "[REDACTED]"]`,
		"Use `3141290A001PB1` as the identity document number.":                            "Use `[REDACTED]` as the identity document number.",
		"secrets:\n  db_password:\n    environment: Tr0ub4dor&vaqr64\n":                    "secrets:\n  db_password:\n    environment: [REDACTED]\n",
	} {
		require.Equal(t, want, redacted(in), "%q", in)
	}
	for _, in := range []string{
		"password for user svc_backup77 expires in 3 days; login from host WIN-8F3KQ2L",
		"token usage for request req_011CQKx7bQ2vNs8LmTr4Wp9z: 1,204 in, 87 out",
		"kubectl get pod -n kube-system -l app=auth-proxy -p web-7d9f8b6c5-x2x5q",
		`crypto.createCipheriv("aes-256-gcm", key, iv); tls.connect({ciphers: "ECDHE-RSA-AES128-GCM-SHA256"})`,
		"100644 blob ed3ef78c8481b504ce1f1af0369af76f5a74c709\tsrc/password.ts",
		"BUILD_ID=uJhGcasmhR0Q5wObuqPqMF2r4i9q38",
		"The passport regulation 2252/2004 applies from 28 August 2006",
		"https://docs.example.com/document/d/1uJhGcasmhR0Q5wObuqPqMF2r4i9q38x/edit",
	} {
		require.Equal(t, in, redacted(in))
	}
}
