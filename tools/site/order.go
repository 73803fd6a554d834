// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// orderLine is the line below the title of a document that says where it stands, for those who read the Markdown. The site has its own.
var orderLine = regexp.MustCompile(`(?m)^\[Documents\]\([^)]*\) › .* <!-- order -->\n\n?`)

// written are the documents that other programs write whole: they have no line.
var written = []string{"docs/agents/README.md", "docs/findings.md", "docs/redaction-kinds.md", "docs/redaction-sources.md", "docs/scorecard.md"}

// ordered returns the documents in docs/ as they are with their lines.
func ordered(root string) (map[string][]byte, error) {
	s, err := read(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	ours := slices.DeleteFunc(slices.Clone(s.order), func(p *page) bool { return !strings.HasPrefix(p.path, "docs/") })
	out := map[string][]byte{}
	for _, section := range s.sections {
		for _, p := range section.Pages {
			i := slices.Index(ours, p)
			if i < 0 || slices.Contains(written, p.path) {
				continue
			}
			link := func(to *page) string {
				from := strings.Repeat("../", strings.Count(strings.TrimPrefix(p.path, "docs/"), "/"))
				return fmt.Sprintf("[%s](%s%s)", strings.ReplaceAll(to.title, "`", ""), from, strings.TrimPrefix(to.path, "docs/"))
			}
			line := link(ours[0]) + " › " + section.Title
			if i > 1 {
				line += " · before: " + link(ours[i-1])
			}
			if i+1 < len(ours) {
				line += " · next: " + link(ours[i+1])
			}
			title, rest, found := bytes.Cut(p.text, []byte("\n\n"))
			if !found || !bytes.HasPrefix(title, []byte("# ")) || bytes.Contains(title, []byte("\n")) {
				return nil, fmt.Errorf("%s does not begin with a title and an empty line", p.path)
			}
			out[p.path] = slices.Concat(title, []byte("\n\n"+line+" <!-- order -->\n\n"), rest)
		}
	}
	return out, nil
}

func writeOrder(root string) error {
	all, err := ordered(root)
	if err != nil {
		return err
	}
	for name, want := range all {
		file := filepath.Join(root, filepath.FromSlash(path.Clean(name)))
		if got, err := os.ReadFile(file); err != nil {
			return err
		} else if bytes.Equal(got, want) {
			continue
		}
		if err := os.WriteFile(file, want, 0o644); err != nil {
			return err
		}
	}
	return nil
}
