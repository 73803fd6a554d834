// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// boundedWings are the folders whose functions have to stay within the bounds.
var boundedWings = []string{
	"internal/reading",
	"internal/reconstruct",
	"internal/redact",
}

const (
	mostLines      = 80
	mostComplexity = 25
	mostFields     = 20
)

func TestFunctionsOfBoundedWingsStaySmall(t *testing.T) {
	for _, wing := range boundedWings {
		n := 0
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(wing)), func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(wing, "internal/redact") {
				checkFields(t, files, parsed)
			}
			for _, f := range functionsOf(parsed) {
				n++
				begin, end := files.Position(f.Pos()), files.Position(f.End())
				if lines := end.Line - begin.Line + 1; lines > mostLines {
					t.Errorf("%s: a function of %d lines, at most %d are allowed", begin, lines, mostLines)
				}
				if of := complexity(f); of > mostComplexity {
					t.Errorf("%s: a function of complexity %d, at most %d is allowed", begin, of, mostComplexity)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			t.Errorf("%s has no functions", wing)
		}
	}
}

// checkFields counts the fields of each struct type. An embedded type counts as one.
func checkFields(t *testing.T, files *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		of, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		fields := 0
		for _, f := range of.Fields.List {
			fields += max(1, len(f.Names))
		}
		if fields > mostFields {
			t.Errorf("%s: a type of %d fields, at most %d are allowed", files.Position(of.Pos()), fields, mostFields)
		}
		return true
	})
}

// functionsOf returns the functions of a file, and the function literals that stand outside of one.
func functionsOf(file *ast.File) (list []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			list = append(list, n)
			return false
		}
		return true
	})
	return list
}

// complexity returns the cyclomatic complexity of a function, as gocyclo counts it: one, and one more for
// each if, loop, case, &&, and ||. The branches of function literals in it count too.
func complexity(function ast.Node) int {
	n := 1
	ast.Inspect(function, func(node ast.Node) bool {
		branch := false
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			branch = true
		case *ast.CaseClause:
			branch = node.List != nil
		case *ast.CommClause:
			branch = node.Comm != nil
		case *ast.BinaryExpr:
			branch = node.Op == token.LAND || node.Op == token.LOR
		}
		if branch {
			n++
		}
		return true
	})
	return n
}

func TestComplexityCountsEveryBranch(t *testing.T) {
	const source = `package p

func plain() {}

func branches(list []int, c chan int) {
	if len(list) > 0 && list[0] > 0 || c == nil { // 3
	}
	for range list { // 1
	}
	for i := 0; i < 3; i++ { // 1
	}
	switch len(list) {
	case 1, 2: // 1
	default:
	}
	select {
	case <-c: // 1
	default:
	}
	func() {
		if c == nil { // 1
		}
	}()
}

var literal = func(v any) {
	switch v.(type) {
	case int: // 1
	}
}
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	functions, want := functionsOf(parsed), []int{1, 9, 2}
	if len(functions) != len(want) {
		t.Fatalf("%d functions, want %d", len(functions), len(want))
	}
	for i, f := range functions {
		if got := complexity(f); got != want[i] {
			t.Errorf("function %d: complexity %d, want %d", i, got, want[i])
		}
	}
}
