// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A mask is all of a text, stands behind a scheme, or in a value of a structure. Where else its words stand somebody wrote them.
func TestMasksAreFoundWhereTheyCanStand(t *testing.T) {
	long := strings.Repeat("and so on, ", 20)
	for mask := range exactMasks {
		for text, want := range map[string]tape.Label{
			mask:                                    tape.Masked,
			"Bearer " + mask:                        tape.Lossy,
			`{"a":"` + mask + `"}`:                  tape.Lossy,
			`["` + long + `",{"k":"` + mask + `"}]`: tape.Lossy,
			strings.Repeat(" \n", 30) + `{"a":["` + mask + `"]}`: tape.Lossy,
			`{'a': '` + long + `', 'b': ('` + mask + `',)}`:      tape.Lossy,
			"\u00a0" + `('` + long + `', '` + mask + `')`:        tape.Lossy, // a literal in what Python takes for space
			`"{\"a\":\"` + long + `\",\"b\":\"` + mask + `\"}"`:  tape.Lossy,
			long + mask:                   "",
			mask + " " + long:             "",
			"the word " + mask + " is":    "",
			`{"a":"` + long + mask + `"}`: "",
		} {
			if got := masksIn(exactjson.StringValue(text)); got != want {
				t.Errorf("%q is labelled %q, want %q", text, got, want)
			}
		}
	}
	if got := masksIn(exactjson.StringValue(long + `[Scrubbed due to 'password'] ` + long)); got != tape.Lossy {
		t.Errorf("what was scrubbed in a text is labelled %q", got)
	}
}
