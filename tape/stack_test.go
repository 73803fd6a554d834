// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"strings"
	"testing"
)

const stackText = "\n    at open (fs.js:1)\n    at run (fs.js:9)"

func TestAMessageIsToldFromTheStackBehindIt(t *testing.T) {
	for recorded, want := range map[string][2]string{
		"late\n\nToolError: late" + stackText:           {"late", "ToolError"},
		"a\n\nb\n\nError: a\n\nb" + stackText:           {"a\n\nb", "Error"},
		"ToolError: late" + stackText:                   {"late", "ToolError"},
		"Error: of\ntwo lines" + stackText:              {"of\ntwo lines", "Error"},
		"late\n\nToolError: later" + stackText:          {"", ""},
		"late\n\nToolError: late\n\nand more":           {"", ""},
		"Note: the train is late" + stackText:           {"", ""},
		"an Error: late" + stackText:                    {"", ""},
		"Error: late":                                   {"", ""},
		"":                                              {"", ""},
		strings.Repeat("\n\n", 1000) + "Error: late":    {"", ""},
		"Error: " + strings.Repeat("x\n\n", 100) + "at": {"", ""},
	} {
		if message, class := BeforeStack(recorded); message != want[0] || class != want[1] {
			t.Errorf("%.60q: %q of %q", recorded, message, class)
		}
	}
}

func FuzzBeforeStack(f *testing.F) {
	for _, seed := range []string{"late\n\nToolError: late" + stackText, "ToolError: late" + stackText, "late", "Error: \n at x", "\n\n: \n at "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, recorded string) {
		message, class := BeforeStack(recorded)
		if (message == "") != (class == "") || !strings.Contains(recorded, class+": "+message) && message != "" || strings.ContainsAny(class, " \t\n") {
			t.Errorf("%q of %q in %q", message, class, recorded)
		}
	})
}
