// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// FuzzPositionalCall opens any JSON as the list of a function's arguments: what comes out is the first of them, and no list.
func FuzzPositionalCall(f *testing.F) {
	for _, s := range []string{`[{"a":1},{"toolCallId":"c1"}]`, `{"args":[{"a":1},{"toolCall":{"callId":"c1"}}]}`, `[{"a":1},null]`, `[{},{}]`, `[1,2]`, `{"args":[{"a":1},{}]}`, `[{"a":1},{"tool_call":null}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := exactjson.Parse(text)
		if err != nil {
			return
		}
		args, id := PositionalCall(v)
		switch {
		case args.IsAbsent() && id != "":
			t.Errorf("%s: no arguments, id %q", text, id)
		case !args.IsAbsent() && args.Kind() != exactjson.Object:
			t.Errorf("%s: arguments %s", text, args.JSON())
		case !args.IsAbsent() && v.Kind() == exactjson.Object && id == "":
			t.Errorf("%s: an object without an id was opened", text)
		}
	})
}
