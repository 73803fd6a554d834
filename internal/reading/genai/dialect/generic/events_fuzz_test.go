// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// FuzzEventOf reads the name of an event from any record: it is one of what stands there, and no sentence.
func FuzzEventOf(f *testing.F) {
	for _, s := range []string{`{"event":"tool.result"}`, `{"event":"acme.tool_call","x":1}`, `{"event":5}`, `{"event":"tool_started"`, `event`, `{"event":"the tool call"}`, `{"event":"model.request"}`} {
		f.Add(s, "")
		f.Add("", s)
	}
	f.Fuzz(func(t *testing.T, body, event string) {
		m, v := pcommon.NewMap(), pcommon.NewValueStr(body)
		if event != "" {
			m.PutStr("event", event)
		}
		if name := EventOf(decode.Attributes(m), v); name != "" && (len(name) > 80 || strings.ContainsAny(name, " \n") || event != "" && name != event) {
			t.Errorf("%q, %q: %q", body, event, name)
		}
	})
}
