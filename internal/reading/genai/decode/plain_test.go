// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A member that no message has by itself keeps the look at all shapes, and a plain message comes to the same
// by both ways.
func TestPlainMessageIsReadAsByItsShape(t *testing.T) {
	const other = `"zz_other":1`
	roles, bodies := []string{"user", "assistant", "tool", "system", "model"}, []string{
		`"content":"hi"`, `"content":null`, `"content":{"a":1}`, `"content":[{"type":"text","text":"a"}]`, `"parts":[{"type":"text","content":"a"}]`, `"parts":"a"`,
		`"parts":[{"type":"tool_call","id":"c","name":"f","arguments":{"x":1}}],"finish_reason":"stop"`, `"content":"v","tool_call_id":"c","name":"f"`, `"name":"f"`,
		`"content":"{\"type\":\"function\",\"function\":{\"name\":\"n\"}}"`, `"parts":[{"type":"tool-f","toolCallId":"c","state":"output-available","output":1}]`,
	}
	plain := 0
	for _, role := range roles {
		for _, body := range bodies {
			text := `{"role":"` + role + `",` + body + `}`
			v, err := exactjson.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			shaped, err := exactjson.Parse(strings.TrimSuffix(text, "}") + "," + other + "}")
			if err != nil {
				t.Fatal(err)
			}
			if !isPlain(v) {
				continue
			}
			plain++
			got, ok := Messages(v, tape.RoleUser)
			if want, wanted := Messages(shaped, tape.RoleUser); ok != wanted || !identical(got, want) {
				t.Errorf("%s is %+v, want %+v", text, got, want)
			}
		}
	}
	if plain < len(roles)*(len(bodies)-2) {
		t.Errorf("%d messages are plain", plain)
	}
}
