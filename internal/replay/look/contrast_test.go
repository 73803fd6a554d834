// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package look

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance is the relative luminance of WCAG 2.2 of a colour #rrggbb.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 24)
	if err != nil || len(color) != 7 {
		t.Fatalf("colour %q", color)
	}
	channel := func(shift uint) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}

func contrastOf(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Every colour of text is readable on every background of the page, in both schemes, by WCAG 2.2 AA.
func TestEveryTextIsReadableOnEveryBackground(t *testing.T) {
	light, dark, found := strings.Cut(Style, "@media(prefers-color-scheme:dark)")
	if !found {
		t.Fatal("no dark scheme")
	}
	dark, _, _ = strings.Cut(dark, "}}")
	light, _, _ = strings.Cut(light, "}")
	declared := regexp.MustCompile(`--(on|text|line)(-[a-z]+)?:(#[0-9a-f]{6})`)
	names := map[string]int{}
	for _, scheme := range []string{light, dark} {
		text, on := map[string]string{}, map[string]string{}
		for _, m := range declared.FindAllStringSubmatch(scheme, -1) {
			names[m[1]+m[2]]++
			switch m[1] {
			case "text":
				text[m[2]] = m[3]
			case "on":
				on[m[2]] = m[3]
			}
		}
		if len(text) < 2 || len(on) < 2 {
			t.Fatalf("%v on %v", text, on)
		}
		for nameT, colorT := range text {
			for nameOn, colorOn := range on {
				if c := contrastOf(t, colorT, colorOn); c < 4.5 {
					t.Errorf("text%s on%s: %.2f:1", nameT, nameOn, c)
				}
			}
		}
	}
	for name, n := range names {
		if n != 2 {
			t.Errorf("%s stands in %d schemes", name, n)
		}
	}
	// What rules name are these variables, so nothing else is shown.
	rules := strings.Replace(strings.Replace(Style, light, "", 1), dark, "", 1)
	for _, m := range regexp.MustCompile(`(?:^|[;{])(background|color):([^;}]*)`).FindAllStringSubmatch(rules, -1) {
		if want := map[string]string{"color": "var(--text", "background": "var(--on-"}[m[1]]; m[2] != "inherit" && !strings.HasPrefix(m[2], want) {
			t.Errorf("%s:%s", m[1], m[2])
		}
	}
	if regexp.MustCompile(`#[0-9a-f]{3}`).MatchString(rules) {
		t.Error("a colour outside of the schemes")
	}
	if c := contrastOf(t, "#000000", "#ffffff"); math.Abs(c-21) > 1e-9 {
		t.Errorf("black on white is %v", c)
	}
}
