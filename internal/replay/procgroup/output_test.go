// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package procgroup

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What a real command writes goes through os/exec, which copies in ways of its own where a writer offers one.
func TestOutputOfACommandIsBounded(t *testing.T) {
	const variable = "TAPEDECK_TEST_WRITES"
	if os.Getenv(variable) != "" {
		_, _ = os.Stdout.WriteString(strings.Repeat("x", 1<<20))
		return
	}
	for _, most := range []int{0, 7, 100_000} {
		out := &Output{Most: most}
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOutputOfACommandIsBounded$")
		c.Env = append(os.Environ(), variable+"=1")
		c.Stdout = out
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		if len(out.Bytes()) != most || out.String() != strings.Repeat("x", most) {
			t.Errorf("%d bytes of %d", len(out.Bytes()), most)
		}
	}
}
