// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestWhatSaysThatAValueIsCutLabelsIt(t *testing.T) {
	for name, c := range map[string]struct {
		key          string
		value        string
		args, result tape.Label
	}{
		"the result":           {"zz.tool.call.result.truncated", "true", "", tape.Truncated},
		"the result, as text":  {"zz.tool.result_truncated", "true", "", tape.Truncated},
		"the arguments":        {"zz.tool.args.truncated", "true", tape.Truncated, ""},
		"it is whole":          {"zz.tool.call.result.truncated", "false", "", ""},
		"something else":       {"zz.history.truncated", "true", "", ""},
		"a result that is one": {"zz.truncated.tool", "true", "", ""},
	} {
		o := genai.Read(genaitest.Span("com.zz", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f",
			"gen_ai.tool.call.arguments", `{"a":1}`, "gen_ai.tool.call.result", "rows", c.key, c.value))
		if o.Args.Label != c.args || o.Result.Label != c.result || o.Result.Value.Str() != "rows" {
			t.Errorf("%s: arguments %q, result %q %s", name, o.Args.Label, o.Result.Label, o.Result.Value.JSON())
		}
	}
}
