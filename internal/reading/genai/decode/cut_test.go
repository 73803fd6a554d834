// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

func TestTextsThatSomebodyCutAreToldFromTextsWithDots(t *testing.T) {
	for text, want := range map[string]tape.Label{
		strings.Repeat("é", 1200) + "…":                             tape.Truncated,
		strings.Repeat("a", 256) + "...":                            tape.Truncated,
		strings.Repeat("a", 300) + "... [truncated]":                tape.Truncated,
		strings.Repeat("a", 500) + "…<truncated 7 chars>":           tape.Truncated,
		`{"rows":[1,2,3,4... [truncated, original 120000 bytes]`:    tape.Truncated,
		`{"rows":[1,2,3,4],"name":"abc[truncated]`:                  tape.Truncated,
		`{"rows":[1,2,3,4],"name":"abc... (truncated)`:              tape.Truncated,
		`[{"id":1,"text":"one"},{"id":2,"te...`:                     tape.Truncated,
		"the first lines of it...[12,345 characters truncated]":     tape.Truncated,
		"the first lines of it…(+1200 chars)":                       tape.Truncated,
		"the first lines of it… [500 more bytes]":                   tape.Truncated,
		"the first lines of it <4096 bytes omitted>":                tape.Truncated,
		"the first lines of it... [truncated, original 9000 chars]": tape.Truncated,
		`{"rows":[1,2,3,4],"note":"... [truncated, original 9]"}`:   "",
		`[see the manual for more...`:                               "",
		"the log says: <4096 bytes omitted> and then goes on":       "",
		"the first lines of it [truncated]":                         "",
		"names may have up to (64 chars)":                           "",
		"a file of 120 bytes (truncated by the user)":               "",
		strings.Repeat("a", 201) + "...":                            "",
		strings.Repeat("a", 333) + "...[truncated]":                 "",
		strings.Repeat("a", 100) + "...":                            "",
		strings.Repeat("a", 33) + " [truncated]":                    "",
	} {
		if got := decode.LabelOf(text); got != want {
			t.Errorf("%d bytes that end with %q: %q", len(text), text[len(text)-12:], got)
		}
	}
}
