// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/tape"
)

func TestTapeSaysWhichRedactionItsEvidenceHasSeen(t *testing.T) {
	a := handover.Marker{Policy: "strict", ProfileDigest: "sha256:1", KeyID: "k1"}
	b := handover.Marker{Policy: "default", ProfileDigest: "sha256:2", KeyID: "k1"}
	const token = "[REDACTED:email:aaaaaaaaaaaaaaaaaaaaaaaaaa]"
	request := func(id byte, marker string) ptrace.Traces {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr(handover.Redaction, marker)
		rs.Resource().Attributes().PutStr("owner", token)
		s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{id})
		s.SetName("execute_tool mail")
		for k, v := range map[string]string{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "mail", "gen_ai.tool.call.id": string('a' + rune(id)),
			"gen_ai.tool.call.arguments": `{"to":"` + token + `"}`, "gen_ai.tool.call.result": "sent",
		} {
			s.Attributes().PutStr(k, v)
		}
		return td
	}
	for name, c := range map[string]struct {
		markers []string
		want    tape.Redaction
		codes   []tape.Code
	}{
		"one":      {[]string{a.String(), a.String()}, tape.Redaction{Policy: "strict", ProfileDigest: "sha256:1", KeyID: "k1"}, nil},
		"two":      {[]string{a.String(), b.String()}, tape.Redaction{Policy: "default,strict", ProfileDigest: "sha256:1,sha256:2", KeyID: "k1"}, []tape.Code{tape.CodeRedactionMixed}},
		"in part":  {[]string{"none", b.String()}, tape.Redaction{Policy: "default,none", ProfileDigest: "sha256:2", KeyID: "k1"}, []tape.Code{tape.CodeRedactionPartial}},
		"unmarked": {[]string{"none", ""}, tape.Redaction{Policy: "none"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]int{{0, 1}, {1, 0}} {
				set := evidence.NewSet()
				for _, i := range order {
					set.AddTraces(request(byte(i+1), c.markers[i]))
				}
				tapes := All(set.Split(), Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
				var got tape.Redaction
				events := 0
				for _, tp := range tapes {
					got = tp.Redaction
					for _, e := range tp.Events {
						events++
						if e.Provenance["args"] != tape.Redacted || e.Provenance["result"] != "" {
							t.Errorf("provenance %v", e.Provenance)
						}
					}
					for _, code := range []tape.Code{tape.CodeRedactionMixed, tape.CodeRedactionPartial} {
						found, wanted := false, false
						for _, f := range tp.Fidelity.Findings {
							found = found || f.Code == code
						}
						for _, w := range c.codes {
							wanted = wanted || w == code
						}
						if found != wanted {
							t.Errorf("finding %s: %t", code, found)
						}
					}
				}
				if got.Policy != c.want.Policy || got.ProfileDigest != c.want.ProfileDigest || got.KeyID != c.want.KeyID {
					t.Errorf("got %+v, want %+v", got, c.want)
				}
				if events != 2 || got.Count == 0 || got.Rules["email"] != got.Count {
					t.Errorf("%d events, %+v", events, got)
				}
			}
		})
	}
}
