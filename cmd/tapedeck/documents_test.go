// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const repository = "../.."

// verb is what a format string leaves open.
var verb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*[a-zA-Z]`)

// messages are the texts in the program, concatenations joined; what a format leaves open is …
func messages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name == "testdata" || name == "testbed" || name == ".git" || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, literal := literalText(e); literal {
					all.WriteString(verb.ReplaceAllString(text, "…") + "\n")
					return false
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// literalText is a text that stands in the source, with … for what is joined to it.
func literalText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, a := literalText(e.X)
		right, b := literalText(e.Y)
		if e.Op != token.ADD || !a && !b {
			return "", false
		}
		if !a {
			left = "…"
		}
		if !b {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}

// What a person looks for must be what the program says.
func TestMessagesOfTheTroubleshootingPageExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repository, "docs/troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := messages(t)
	found := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			found++
			if message := strings.Trim(m[1], "… "); !strings.Contains(known, message) && !commandName(message) {
				t.Errorf("no program says %q", m[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d messages", found)
	}
}

// commandName tells the name of a command, which stands behind words that it prints.
func commandName(word string) bool {
	for _, c := range newRoot().Commands() {
		if c.Name() == word {
			return true
		}
	}
	return false
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// anchors are the places of a page that a link can name, as GitHub makes them of headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		heading := strings.ToLower(strings.TrimSpace(m[1]))
		heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
		heading = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(heading, "")
		out[strings.ReplaceAll(heading, " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)"></a>`).FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	return out
}

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "*/*/*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	fences := regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	links := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fences.ReplaceAllString(string(body), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			text, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %s leads nowhere", file, m[1])
			} else if anchor != "" && filepath.Ext(path) == ".md" && !anchors(string(text))[anchor] {
				t.Errorf("%s: %s has no such heading", file, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links", links)
	}
}
