// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// FuzzHandedCalls looks for calls in any JSON that a function was handed: what is found stands in it.
func FuzzHandedCalls(f *testing.F) {
	for _, s := range []string{
		`{"args":["f",{"page":3}],"kwargs":{}}`, `{"call_id":"c1","name":"f","arguments":"{\"page\":3}"}`, `{"tool_call":{"id":"c1","name":"f","arguments":{"page":3}}}`,
		`[{"a":1},{"toolCallId":"c1"}]`, `"{'name': 'f', 'arguments': {'page': 3}}"`, `{"name":"f","arguments":{}}`, `[[[["f",{}]]]]`, `null`,
	} {
		f.Add(s, "f", `{"page":3}`)
	}
	f.Fuzz(func(t *testing.T, text, name, args string) {
		v, err := exactjson.Parse(text)
		if err != nil {
			return
		}
		if part, ok := OnlyCall(v); ok && (part.Name == "" || part.Args.Kind() != exactjson.Object || !toolName.MatchString(part.Name)) {
			t.Errorf("%s is the call %+v", text, part)
		}
		wanted, err := exactjson.Parse(args)
		if err != nil {
			return
		}
		if id, ok := handedOver(v, name, wanted, MaxEnvelopes); ok && name == "" && id != "" && !HandsOver(v, name, id, wanted) {
			t.Errorf("%s hands over %q and does not", text, id)
		}
	})
}
