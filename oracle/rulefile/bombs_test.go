// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rulefile

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
		"aliases":   "version: 1\nx: &a [x,x,x,x,x,x,x,x,x,x]\n" + aliases + "rules: *i\n",
		"in itself": "version: 1\nrules: &r [*r]\n",
		"brackets":  "version: 1\nrules: " + strings.Repeat("[", 200_000),
	} {
		_, err := Read([]byte(text))
		require.Error(t, err, name)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}
