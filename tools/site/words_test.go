// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

var update = flag.Bool("update", false, "link the words of the project to the glossary where a document uses them first; then make generate")

// words of the project as they stand in a sentence. The word part is left out: it mostly means what it always means.
var words = map[string]*regexp.Regexp{
	"deck":       regexp.MustCompile(`\bdecks?\b`),
	"evidence":   regexp.MustCompile(`\bevidence\b`),
	"gate":       regexp.MustCompile(`\bthe (gate)\b`),
	"generation": regexp.MustCompile(`\bgenerations?\b`),
	"grade":      regexp.MustCompile(`\b(?:a|the|and|its) (grade)\b`),
	"marker":     regexp.MustCompile(`\bthe (marker)\b`),
	"proof":      regexp.MustCompile(`\b(?:a|the) (proof)\b`),
}

// A newcomer may begin on any page but those of the reference: each word of the project that a page uses in a sentence leads to the glossary from it.
func TestWordsOfTheProjectLeadToTheGlossary(t *testing.T) {
	s, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, section := range s.sections {
		if slices.Contains([]string{"Formats", "Performance", "Reference"}, section.Title) {
			continue
		}
		for _, p := range section.Pages {
			if slices.Contains(written, p.path) || p.path == "docs/glossary.md" || p.path == "CHANGELOG.md" {
				continue
			}
			looked++
			changed := string(p.text)
			first := firstUses(p)
			for _, f := range first {
				glossary, err := filepath.Rel(path.Dir(p.path), "docs/glossary.md")
				if err != nil {
					t.Fatal(err)
				}
				if !*update {
					line := 1 + strings.Count(string(p.text[:f.start]), "\n")
					t.Errorf("%s, line %d without the line of the order: %q is not linked to %s#%s", p.path, line, p.text[f.start:f.end], glossary, f.word)
					continue
				}
				changed = changed[:f.start] + fmt.Sprintf("[%s](%s#%s)", changed[f.start:f.end], filepath.ToSlash(glossary), f.word) + changed[f.end:]
			}
			if *update && len(first) > 0 {
				if err := os.WriteFile(filepath.Join("../..", p.path), []byte(changed), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if looked < 15 {
		t.Errorf("only %d documents", looked)
	}
}

type use struct {
	word       string
	start, end int
}

// firstUses are the first uses of words in sentences of a page, the last one first, of those words that have no link to the glossary on it.
func firstUses(p *page) (found []use) {
	seen := map[string]bool{}
	p.visit(func(to *[]byte) {
		if _, word, ok := strings.Cut(string(*to), "glossary.md#"); ok {
			seen[word] = true
		}
	})
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link, *ast.Heading, *ast.CodeSpan, *east.Table, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			for word, form := range words {
				m := form.FindSubmatchIndex(n.Segment.Value(p.text))
				if m == nil || seen[word] {
					continue
				}
				seen[word] = true
				at := m[len(m)-2:]
				found = append(found, use{word, n.Segment.Start + at[0], n.Segment.Start + at[1]})
			}
		}
		return ast.WalkContinue, nil
	})
	slices.SortFunc(found, func(a, b use) int { return b.start - a.start })
	return found
}
