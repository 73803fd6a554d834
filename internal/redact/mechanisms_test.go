// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The deltas of a stream of server-sent events are one text, as those of JSON lines are.
func TestServerSentEventsAreReadAsOneStream(t *testing.T) {
	r := testRedactor(t)
	const secret = "Tr0ub4dor&horse7"
	for name, body := range map[string]string{
		"cut": "data: {\"choices\":[{\"delta\":{\"content\":\"the password is Tr0ub4\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"dor&horse7\"}}]}\n\ndata: [DONE]\n",
		"named in the piece before": "event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"the password is \"}}\n\n" +
			"event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"" + secret + "\"}}\n",
		"behind other text": "INFO answer: data: {\"delta\":\"password: Tr0ub\"}\ndata: {\"delta\":\"4dor&horse7 ok\"}\n",
		"between events":    "data: {\"delta\":\"a\"}\n: the password is " + secret + "\ndata: {\"delta\":\"b\"}\n",
	} {
		got := r.String("body", body, nil)
		var text strings.Builder
		for line := range strings.SplitSeq(got, "\n") {
			if _, doc, ok := strings.Cut(line, "data: {"); ok {
				var event struct {
					Delta   any
					Choices []struct{ Delta struct{ Content string } }
				}
				require.NoError(t, json.Unmarshal([]byte("{"+doc), &event), "%s: %s", name, line)
				switch d := event.Delta.(type) {
				case string:
					text.WriteString(d)
				case map[string]any:
					text.WriteString(d["text"].(string))
				}
				for _, c := range event.Choices {
					text.WriteString(c.Delta.Content)
				}
			}
		}
		require.NotContains(t, got+text.String(), secret, name)
		require.NotContains(t, got, "dor&horse7", name)
		require.Equal(t, strings.Count(body, "\n"), strings.Count(got, "\n"), name)
		require.Equal(t, got, r.String("body", got, nil), name)
	}
	const clean = "data: {\"choices\":[{\"delta\":{\"content\":\"the password is \"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"not known to me\"}}]}\n\ndata: [DONE]\n"
	require.Equal(t, clean, r.String("body", clean, nil))
}

// What stands in a text whose quotes a package replaced by backslashes, in the column of a table, behind a type, or as programs take it.
func TestSpellingsOfAssignments(t *testing.T) {
	r := testRedactor(t)
	for text, secret := range map[string]string{
		`{\aws_secret_access_key\:\wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1\,\region\:\eu\}`:              "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1",
		`{\user\:\ada\, \password\: \hunter2-horse\}`:                                                     "hunter2-horse",
		`{\token\:\9f86d081884c7d65Zq2x\}`:                                                                "9f86d081884c7d65Zq2x",
		"user,password,role\nada,Tr0ub4dor&3x,admin\nbob,Winter2024!x,user\n":                             "Winter2024!x",
		"| user | password |\n|------|----------|\n| ada | Tr0ub4dor&3x |":                                "Tr0ub4dor&3x",
		`INSERT INTO users (id, name, password) VALUES (1, 'ada', 'swordfish'), (2, 'bob', 'opensesame')`: "opensesame",
		`let clientSecret: String = "Zq2x9f86d081884c7d65"`:                                               "Zq2x9f86d081884c7d65",
		`const API_TOKEN: &str = "Zq2x9f86d081884c7d65";`:                                                 "Zq2x9f86d081884c7d65",
		`CREATE LOGIN app WITH PASSWORD = N'Tr0ub4dor&3x'`:                                                "Tr0ub4dor&3x",
		`Cookie: theme=dark; sessionid=Zq2x9f86d081884c7d65`:                                              "Zq2x9f86d081884c7d65",
		`the passcode for the meeting is 482913`:                                                          "482913",
		`use Tr0ub4dor&3x as the password`:                                                                "Tr0ub4dor&3x",
		`user: admin, pw: Tr0ub4dor&3x`:                                                                   "Tr0ub4dor&3x",
		`I set the password for ada to Tr0ub4dor&3x`:                                                      "Tr0ub4dor&3x",
		`{\"kty\":\"EC\",\"crv\":\"P-256\",\"d\":\"` + strings.Repeat("aZ3_", 11) + `\"}`:                 strings.Repeat("aZ3_", 11),
		`gitops_pat_` + "Zq2x9f86d081884c7d65AbCdEf":                                                      "Zq2x9f86d081884c7d65AbCdEf",
	} {
		require.NotContains(t, r.String("output", text, nil), secret, text)
	}
	for _, text := range []string{
		`C:\Users\ada\:\temp\,\x`, "user,password,role\nsee,the manual,for it\n", "| option | password |\n|---|---|\n| type | string |",
		`INSERT INTO tokens (id, name) VALUES (1, 'session')`, `const token: string = getToken()`, `password: str = Field(..., min_length=8)`,
		`the password for the meeting is in the mail`, `use the form as the password policy says`, `set the password for ada to something safe`,
		`api-key-rotation-handler-implementation-notes`, `token-bucket-rate-limiter-configuration-values`,
	} {
		require.Equal(t, text, r.String("output", text, nil))
	}
}
