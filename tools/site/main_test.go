// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

// walk visits the elements of a page.
func walk(n *html.Node, visit func(*html.Node)) {
	if n.Type == html.ElementNode {
		visit(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func build(t *testing.T, repository fstest.MapFS) (map[string][]byte, error) {
	t.Helper()
	s, err := read(repository)
	if err != nil {
		return nil, err
	}
	return s.files()
}

// TestEveryLinkOfTheSiteLeadsSomewhere looks at the pages that are written, with a reader of HTML that knows nothing of how they were made.
func TestEveryLinkOfTheSiteLeadsSomewhere(t *testing.T) {
	s, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	ids, trees := map[string]map[string]bool{}, map[string]*html.Node{}
	for name, body := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		tree, err := html.Parse(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		trees[name], ids[name] = tree, map[string]bool{}
		walk(tree, func(n *html.Node) {
			if id, there := attribute(n, "id"); there {
				if ids[name][id] {
					t.Errorf("%s: two elements are %q", name, id)
				}
				ids[name][id] = true
			}
		})
	}
	links := 0
	for name, tree := range trees {
		headings, policy := 0, ""
		walk(tree, func(n *html.Node) {
			switch n.Data {
			case "script", "iframe", "object", "form", "style":
				t.Errorf("%s has a <%s>", name, n.Data)
			case "h1":
				headings++
			case "meta":
				if kind, _ := attribute(n, "http-equiv"); kind == "Content-Security-Policy" {
					policy, _ = attribute(n, "content")
				}
			case "img":
				if alt, _ := attribute(n, "alt"); alt == "" {
					t.Errorf("%s: an image without words", name)
				}
			}
			if style, there := attribute(n, "style"); there {
				t.Errorf("%s: <%s> has a style of its own, which the policy forbids: %s", name, n.Data, style)
			}
			for _, key := range []string{"href", "src"} {
				to, there := attribute(n, key)
				u, err := url.Parse(to)
				switch {
				case !there:
					continue
				case err != nil:
					t.Errorf("%s: %v", name, err)
					continue
				case u.Scheme != "" || u.Host != "":
					if n.Data != "a" {
						t.Errorf("%s: <%s> loads %s", name, n.Data, to)
					}
					continue
				}
				links++
				target := name
				if u.Path != "" {
					target = path.Join(path.Dir(name), u.Path)
				}
				if _, there := files[target]; !there {
					t.Errorf("%s: %s leads nowhere", name, to)
				} else if u.Fragment != "" && !ids[target][u.Fragment] {
					t.Errorf("%s: %s has no such place", name, to)
				}
			}
		})
		if headings != 1 {
			t.Errorf("%s has %d headings of the first level", name, headings)
		}
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'; img-src 'self';") {
			t.Errorf("%s: policy %q", name, policy)
		}
	}
	if links < 1000 || len(trees) < 40 {
		t.Errorf("only %d links on %d pages", links, len(trees))
	}
}

func TestEveryDocumentStandsInTheReadingOrder(t *testing.T) {
	repository := os.DirFS("../..")
	s, err := read(repository)
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, section := range s.sections {
		titles = append(titles, section.Title)
	}
	want := "Why, First tape, In production, Replay, Evaluate, Formats, Operations, Security, Performance, How it compares, Reference"
	if got := strings.Join(titles, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	inOrder := map[string]bool{}
	for _, p := range s.order {
		inOrder[p.path] = true
	}
	entries, err := os.ReadDir("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := "docs/" + e.Name(); path.Ext(name) == ".md" && !inOrder[name] {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

func TestWhatLeadsNowhereIsSaid(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a page":            {"[x](absent.md)", "docs/other.md: docs/absent.md leads nowhere"},
		"a heading":         {"[x](README.md#absent)", "docs/other.md: docs/README.md has no heading absent"},
		"one of its own":    {"[x](#absent)", "docs/other.md: docs/other.md has no heading absent"},
		"an image":          {"![x](absent.png)", "docs/other.md: docs/absent.png leads nowhere"},
		"an image as HTML":  {`<img src="absent.png" width="1">`, "docs/other.md: docs/absent.png leads nowhere"},
		"a heading in code": {"```\n## Absent\n```\n[x](#absent)", "has no heading absent"},
	} {
		_, err := build(t, fstest.MapFS{
			"docs/README.md": {Data: []byte("# Documents\n\n## One\n\n1. [other](other.md)\n")},
			"docs/other.md":  {Data: []byte("# Other\n\n" + c.text + "\n")},
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestPagesAreTurnedInTheirOrder(t *testing.T) {
	files, err := build(t, fstest.MapFS{
		"docs/README.md": {Data: []byte("# Documents\n\n[late](b.md)\n\n## One\n\n1. [a](a.md#two-words-c)\n\n## Two\n\n2. [b](b.md), [a](a.md), [code](../x.go), [folder](..)\n")},
		"docs/a.md":      {Data: []byte("# A\n\n## Two words, `c`!\n\n## Two words, c\n\n[b](b.md) [second](#two-words-c-1)\n")},
		"docs/b.md":      {Data: []byte("# B\n")},
		"x.go":           {Data: []byte("package x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"index.html": {`<a rel="next" href="a.html">A →</a>`, `href="` + source + `x.go"`, `<a href="a.html#two-words-c">`},
		"a.html":     {`<a rel="prev" href="index.html">← Documents</a>`, `<a rel="next" href="b.html">B →</a>`, `aria-current="page">A</a>`, `› One</p>`, `id="two-words-c-1"`},
		"b.html":     {`<a rel="prev" href="a.html">← A</a>`, `› Two</p>`},
	} {
		for _, text := range want {
			if !strings.Contains(string(files[name]), text) {
				t.Errorf("%s has no %s:\n%s", name, text, files[name])
			}
		}
	}
}

func TestDocumentsSayWhereTheyStand(t *testing.T) {
	all, err := ordered("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("only %d documents", len(all))
	}
	for name, want := range all {
		if got, err := os.ReadFile("../../" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: the line below the title is stale (%v): make generate", name, err)
		}
	}
}
