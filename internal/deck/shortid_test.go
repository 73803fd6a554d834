// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func TestAShortIDIsAsLongAsItMustBe(t *testing.T) {
	const rest = "0123456789abcdef01234567"
	a, b := "4bf92f35"+rest, "4bf92f35"+"0124"+rest[4:]
	other := "5bf92f35" + rest
	root, sibling, third := "00f067aa0ba902b7", "00f067aa0ba902c7", "10f067aa0ba902b7"
	for _, c := range []struct {
		name  string
		among []string
		want  string // of the first
	}{
		{"alone", []string{a + "-" + root}, "4bf92f35"},
		{"noted twice", []string{a + "-" + root, a + "-" + root}, "4bf92f35"},
		{"beside another trace", []string{a + "-" + root, other + "-" + root}, "4bf92f35"},
		{"beside a trace that begins alike", []string{a + "-" + root, b + "-" + root}, "4bf92f350123"},
		{"beside another run of the trace", []string{a + "-" + root, a + "-" + third}, "4bf92f35-00f0"},
		{"beside a run whose root begins alike", []string{a + "-" + root, a + "-" + sibling}, "4bf92f35-00f067aa0ba902b"},
		{"both", []string{a + "-" + root, a + "-" + third, b + "-" + root}, "4bf92f350123-00f0"},
		{"no run id", []string{"run-17", a + "-" + root}, "run-17"},
		{"no hex", []string{strings.Repeat("z", 32) + "-" + root}, strings.Repeat("z", 32) + "-" + root},
	} {
		var ids deck.ShortIDs
		for _, id := range c.among {
			ids.Add(id)
		}
		if got := ids.Of(c.among[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := deck.ShortID(a + "-" + root); got != "4bf92f35" {
		t.Error(got)
	}
}
