// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

// words is a sentence of n words.
func words(n int) string { return "W" + strings.Repeat(" w", n-1) + "." }

const opening = "# Title\n\nThis page says what it is for.\n\n"

func TestHardPagesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a long sentence":                {opening + "Short.\n" + words(46), "docs/x.md:6: a sentence of 46 words"},
		"a long sentence in a list":      {opening + "- " + words(46), "docs/x.md:5: a sentence of 46 words"},
		"a long sentence in a table":     {opening + "| a |\n|---|\n| " + words(46) + " |", "docs/x.md:7: a sentence of 46 words"},
		"a long sentence behind a part":  {opening + "<!-- generated -->\n\n" + words(50) + "\n\n<!-- end of the generated part -->\n\n" + words(47), "docs/x.md:11: a sentence of 47 words"},
		"sentences without a full stop":  {opening + words(30) + " and " + words(30), "a sentence of 61 words"},
		"long sentences on average":      {opening + strings.Repeat(words(40)+" ", 2), "docs/x.md:1: 29.0 words a sentence"},
		"a mean that cells do not lower": {opening + strings.Repeat(words(40)+" ", 3) + "\n\n| a |\n|---|\n" + strings.Repeat("| Short. |\n", 40), "words a sentence"},
		"the name of a test":             {opening + "It holds (`TestThings`).", "docs/x.md:5: TestThings"},
		"the name of a test in a cell":   {opening + "| a |\n|---|\n| It holds (`TestThings`). |", "docs/x.md:7: TestThings"},
		"the name of a fuzz target":      {opening + "It holds by FuzzThings.", "docs/x.md:5: FuzzThings"},
		"a long line":                    {opening + strings.Repeat("Many words here. ", 40), "docs/x.md:5: a line of 680 characters"},
		"a long line of code":            {opening + "```\n" + strings.Repeat("x", 601) + "\n```", "docs/x.md:6: a line of 601 characters"},
		"a page that begins with a list": {"# Title\n\n- This page is for something.\n", "docs/x.md:1: the first paragraph"},
		"a page that begins with a link": {"# Title\n\n[All of them](README.md)\n\nThis page is for something.", "docs/x.md:1: the first paragraph"},
		"a page without a title":         {"This page is for something.", "docs/x.md:1: the first paragraph"},
	} {
		err := check(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestReadablePagesPass(t *testing.T) {
	for name, text := range map[string]string{
		"a sentence of 45 words":           opening + words(45) + " " + words(9),
		"sentences that lines cut":         opening + "W" + strings.Repeat(" w", 30) + ".\nW" + strings.Repeat(" w", 30) + ".",
		"sentences that begin with code":   opening + "W" + strings.Repeat(" w", 30) + ". `w` " + words(20),
		"sentences in parentheses":         opening + "(" + strings.TrimSuffix(words(30), ".") + ".) " + words(30),
		"items of a list":                  opening + strings.Repeat("- "+words(20)+"\n", 5),
		"code is one word":                 opening + "W `" + strings.Repeat("w ", 60) + "` w.",
		"a block of code":                  opening + "```\n" + words(60) + " TestThings\n```",
		"a generated part":                 opening + "<!-- generated from x -->\n\n" + words(60) + " TestThings\n\n<!-- end of the generated part -->",
		"a wide table":                     opening + "| a | b |\n|---|---|\n| " + strings.Repeat("Many words here. ", 40) + " | b |",
		"a list of names":                  opening + "| a |\n|---|\n| " + strings.Repeat("`w`, ", 60) + "`w` |",
		"a column of tests":                opening + "| a | test |\n|---|---|\n| It holds. | `TestThings` (in a package) |",
		"a program of another project":     opening + "Testcontainers and Testing are no tests.",
		"a line of the order and comments": "# Title\n\n[Documents](README.md) › A · next: [B](b.md) <!-- order -->\n\n<!-- a comment -->\n\nThis page says what it is for.\n",
	} {
		if err := check(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAbbreviationsEndNoSentence(t *testing.T) {
	p := read("docs/x.md", []byte(opening+"One, e.g. `that`, is here. Two is v1.2 and x.y. Three?\n"))
	var got []string
	for _, s := range p.texts[1].sentences {
		got = append(got, fmt.Sprint(s.words, " ", s.text))
	}
	if want := "5 One, e.g. that, is here.|5 Two is v1.2 and x.y.|1 Three?"; strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestPagesOfProgramsAndOfContributors(t *testing.T) {
	var out strings.Builder
	err := run(fstest.MapFS{
		"CONTRIBUTING.md":     {Data: []byte(opening + "Name it as `TestThings` is.")},
		"docs/scorecard.md":   {Data: []byte(words(60))},
		"docs/agents/some.md": {Data: []byte(opening)},
	}, true, &out)
	if err != nil {
		t.Error(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "7 words    1 sentences, mean  7.0, longest   7  docs/agents/some.md") {
		t.Error(got)
	}
}

func check(t *testing.T, text string) error {
	t.Helper()
	return run(fstest.MapFS{"docs/x.md": {Data: []byte(text)}}, false, io.Discard)
}
