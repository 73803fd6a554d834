// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aliases stand for a thousand million values in 400 bytes.
var aliases = func() string {
	var b strings.Builder
	for c := 'b'; c <= 'i'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n")
	}
	return b.String()
}()

func TestBombsInRulesAreRefusedInLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, text := range map[string]string{
		"aliases":          "secret_keys: &a [x,x,x,x,x,x,x,x,x,x]\n" + aliases + "rules: *i\n",
		"in itself":        "rules: &r [*r]\n",
		"brackets":         "rules: " + strings.Repeat("[", 200_000),
		"repeated repeats": `rules: [{name: x, pattern: "((a{1,30}){1,30}){1,30}(x+x+)+y"}]`,
	} {
		_, err := Profile{}.Parse([]byte(text))
		require.Error(t, err, name)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}
