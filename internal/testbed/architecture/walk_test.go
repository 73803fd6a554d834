// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// section returns what stands below a heading of the document.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %q", document, heading)
	}
	below, _, _ := strings.Cut(rest, "\n## ")
	return below
}

// functions returns the functions of the package in a folder, methods as Type.Method.
func functions(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				if named, ok := of.(*ast.Ident); ok {
					name = named.Name + "." + name
				}
			}
			found[name] = true
		}
	}
	return found
}

func TestFunctionsOnTheWayOfASpanExist(t *testing.T) {
	named := regexp.MustCompile("`([a-z0-9/]+)\\.([A-Za-z]+(?:\\.[A-Za-z]+)?)`").FindAllStringSubmatch(section(t, "What one span does"), -1)
	n := 0
	for _, m := range named {
		if m[0] == "`tape.json`" {
			continue
		}
		n++
		if !functions(t, m[1])[m[2]] {
			t.Errorf("%s names %s of %s, which is not there", document, m[2], m[1])
		}
	}
	if n < 15 {
		t.Errorf("only %d functions are named", n)
	}
}

func TestFoldersThatAnswerQuestionsExist(t *testing.T) {
	named := regexp.MustCompile("`([a-z0-9/]+)/`").FindAllStringSubmatch(section(t, "Where is it?"), -1)
	if len(named) < 8 {
		t.Errorf("only %d folders are named", len(named))
	}
	for _, m := range named {
		if info, err := os.Stat(filepath.Join(root, m[1])); err != nil || !info.IsDir() {
			t.Errorf("%s: there is no folder %s", document, m[1])
		}
	}
}
