// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command docscheck fails when a document is hard to read: a sentence of more than 45 words, a page with more
// than 25 words a sentence, a line of more than 600 characters, the name of a test in prose, a page that does
// not begin with what it is for.
//
//	go run ./docscheck -root .. [-list]
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	maxSentence = 45  // words
	maxMean     = 25  // words a sentence, on a page
	maxLine     = 600 // characters, outside of tables
)

// written are the pages of which nothing is prose by hand.
var written = []string{"docs/redaction-kinds.md", "docs/scorecard.md"}

var testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)

func main() {
	root := flag.String("root", ".", "directory of the repository")
	list := flag.Bool("list", false, "print words, sentences, mean and longest sentence of each page")
	flag.Parse()
	if err := run(os.DirFS(*root), *list, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(repository fs.FS, list bool, out io.Writer) error {
	names, err := documents(repository)
	if err != nil {
		return err
	}
	var bad []error
	for _, name := range names {
		body, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		p := read(name, body)
		bad = append(bad, p.check()...)
		if list {
			words, sentences, longest := p.figures()
			fmt.Fprintf(out, "%6d words %4d sentences, mean %4.1f, longest %3d  %s\n", words, sentences, mean(words, sentences), longest, name)
		}
	}
	return errors.Join(bad...)
}

// documents are the pages that are checked.
func documents(repository fs.FS) (names []string, err error) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		if _, err := fs.Stat(repository, name); err == nil {
			names = append(names, name)
		}
	}
	err = fs.WalkDir(repository, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" && !slices.Contains(written, name) {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

func (p *page) check() (bad []error) {
	complain := func(line int, format string, args ...any) {
		bad = append(bad, fmt.Errorf("%s:%d: %s", p.name, line, fmt.Sprintf(format, args...)))
	}
	if !p.opened {
		complain(1, "the first paragraph below the title does not say in a sentence what the page is for")
	}
	for _, t := range p.texts {
		reference := !strings.HasPrefix(p.name, "docs/") || t.namesTests()
		for _, s := range t.sentences {
			if s.words > maxSentence {
				complain(s.line, "a sentence of %d words, more than %d: %s", s.words, maxSentence, s.beginning())
			}
			if name := testName.FindString(s.text); name != "" && !reference {
				complain(s.line, "%s: name what holds, not the test of it", name)
			}
		}
	}
	if words, sentences, _ := p.figures(); mean(words, sentences) > maxMean {
		complain(1, "%.1f words a sentence, more than %d", mean(words, sentences), maxMean)
	}
	for i, line := range p.lines {
		if n := len([]rune(line)); n > maxLine && !strings.HasPrefix(line, "|") {
			complain(i+1, "a line of %d characters, more than %d", n, maxLine)
		}
	}
	return bad
}

// namesTests tells whether a cell begins with the name of a test: those of a column that says which test
// holds each row.
func (t prose) namesTests() bool {
	if !t.cell || len(t.sentences) == 0 {
		return false
	}
	at := testName.FindStringIndex(t.sentences[0].text)
	return at != nil && at[0] == 0
}

// figures counts words and sentences of paragraphs and lists. The cells of tables are short and would hide
// long sentences in a mean; the longest sentence may be one of them.
func (p *page) figures() (words, sentences, longest int) {
	for _, t := range p.texts {
		for _, s := range t.sentences {
			longest = max(longest, s.words)
			if !t.cell {
				words, sentences = words+s.words, sentences+1
			}
		}
	}
	return words, sentences, longest
}

func mean(words, sentences int) float64 {
	return float64(words) / float64(max(sentences, 1))
}
