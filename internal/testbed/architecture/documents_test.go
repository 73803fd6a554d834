// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testName    = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")
	testDefined = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// A document that rests a statement on a test names one that there is.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	defined := map[string]bool{}
	named := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); name == ".git" || name == "bin" || name == "testdata" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		of, into := testDefined, func(name string) { defined[name] = true }
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case strings.HasSuffix(path, ".md"):
			of, into = testName, func(name string) { named[name] = path }
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range of.FindAllStringSubmatch(string(text), -1) {
			into(m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(named) < 50 {
		t.Fatalf("the documents name %d tests", len(named))
	}
	for name, document := range named {
		if !defined[name] {
			t.Errorf("%s names %s, which is no test", document, name)
		}
	}
}
