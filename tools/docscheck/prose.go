// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// page is the prose of one document.
type page struct {
	name   string
	texts  []prose
	lines  []string
	opened bool // a paragraph with a sentence stands directly below the title
}

// prose is a paragraph, an item of a list or a cell of a table.
type prose struct {
	cell      bool
	sentences []sentence
}

type sentence struct {
	line  int
	text  string
	words int
}

func (s sentence) beginning() string {
	if words := strings.Fields(s.text); len(words) > 8 {
		return strings.Join(words[:8], " ") + " …"
	}
	return s.text
}

var (
	markdown = goldmark.New(goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.Table))
	// generated is a part that a program writes, and that says where it ends.
	generated = regexp.MustCompile(`(?s)<!-- generated .*?<!-- end of the generated part -->`)
	// orderLine says where a document stands among the others; the program site writes it.
	orderLine = regexp.MustCompile(`(?m)^.* <!-- order -->$`)
	visible   = regexp.MustCompile(`[^\n]`)
)

func read(name string, body []byte) *page {
	blank := func(part []byte) []byte { return visible.ReplaceAll(part, nil) } // keeps the numbers of lines
	body = generated.ReplaceAllFunc(body, blank)
	body = orderLine.ReplaceAllFunc(body, blank)
	p := &page{name: name, lines: strings.Split(string(body), "\n")}
	tree := markdown.Parser().Parse(text.NewReader(body))
	p.opened = opens(tree, body)
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		_, cell := n.(*east.TableCell)
		switch n.Kind() {
		case ast.KindParagraph, ast.KindTextBlock, east.KindTableCell:
			if entering {
				p.texts = append(p.texts, prose{cell, sentences(n, body)})
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return p
}

// opens tells whether the first thing below the title is a paragraph of more than links.
func opens(tree ast.Node, body []byte) bool {
	n := tree.FirstChild()
	if h, ok := n.(*ast.Heading); !ok || h.Level != 1 {
		return false
	}
	n = n.NextSibling()
	for n != nil && n.Kind() == ast.KindHTMLBlock {
		n = n.NextSibling()
	}
	if n == nil || n.Kind() != ast.KindParagraph {
		return false
	}
	outside := 0
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			outside += len(strings.Fields(string(t.Segment.Value(body))))
		}
	}
	return outside >= 4
}

// sentences cuts the text of a node. Code within a line is one word, whatever it holds.
func sentences(n ast.Node, body []byte) (all []sentence) {
	var words []word
	open := false // the last word has no space behind it yet
	add := func(s string, at int, code bool) {
		for _, part := range splitKeepingSpaces(s) {
			if strings.TrimSpace(part) == "" {
				open = false
				continue
			}
			if open {
				words[len(words)-1].text += part
				continue
			}
			words, open = append(words, word{part, at, code}), true
		}
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			add(string(n.Segment.Value(body)), n.Segment.Start, false)
			if n.SoftLineBreak() || n.HardLineBreak() {
				open = false
			}
		case *ast.AutoLink:
			add("address", 0, false)
		case *ast.CodeSpan:
			at, code := 0, ""
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					at, code = t.Segment.Start, code+string(t.Segment.Value(body))
				}
			}
			add(strings.Join(strings.Fields(code), "\u00a0"), at, true)
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	for begin, i := 0, 0; i < len(words); i++ {
		if i+1 == len(words) || words[i].ends() && words[i+1].begins() {
			all = append(all, join(words[begin:i+1], body))
			begin = i + 1
		}
	}
	return all
}

// join makes a sentence of its words. A list of names in code and nothing else is no sentence, and counts as
// one word.
func join(words []word, body []byte) sentence {
	s := sentence{line: 1 + bytes.Count(body[:words[0].at], []byte("\n"))}
	var texts []string
	prose := false
	for _, w := range words {
		texts = append(texts, w.text)
		prose = prose || !w.code
		if w.code || letter.MatchString(w.text) {
			s.words++
		}
	}
	if !prose {
		s.words = 1
	}
	s.text = strings.Join(texts, " ")
	return s
}

// word is what stands between two spaces.
type word struct {
	text string
	at   int // where it stands in the document
	code bool
}

var (
	letter       = regexp.MustCompile(`[\pL\pN]`)
	ending       = regexp.MustCompile(`[.!?…]["'”’)\]]*$`)
	beginning    = regexp.MustCompile(`^["'“‘(\[]*[\p{Lu}\pN]`)
	abbreviation = regexp.MustCompile(`(?i)^\(?(?:e\.g|i\.e|vs|cf|etc|approx|no)\.$`)
	spaces       = regexp.MustCompile(`[ \t\n]+|[^ \t\n]+`)
)

func (w word) ends() bool { return ending.MatchString(w.text) && !abbreviation.MatchString(w.text) }

func (w word) begins() bool { return w.code || beginning.MatchString(w.text) }

func splitKeepingSpaces(s string) []string { return spaces.FindAllString(s, -1) }
