// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestNullIsTheAnswerOfAUITool(t *testing.T) {
	v, err := exactjson.Parse(`[{"role":"assistant","parts":[{"type":"tool-f","toolCallId":"c1","state":"output-available","input":{},"output":null}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := Messages(v, tape.RoleAssistant)
	if len(messages) != 2 || messages[1].Parts[0].Result.Kind() != exactjson.Null {
		t.Errorf("got %+v", messages)
	}
}
