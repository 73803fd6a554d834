// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package springai

import (
	"strings"
	"testing"
)

// FuzzSpringList takes lists apart in which nothing is escaped: nothing is lost, whatever stands in them.
func FuzzSpringList(f *testing.F) {
	for _, s := range []string{`["a", "b"]`, `["he said "no", "yes""]`, `[""]`, `["", ""]`, `["a", "b`, `text`, `["a\", "b"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		texts, _ := springList(text)
		if len(texts) == 1 && texts[0] == text {
			return
		}
		if back := `["` + strings.Join(texts, springComma) + `"]`; back != text {
			t.Errorf("%q came back as %q", text, back)
		}
	})
}
