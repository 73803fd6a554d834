// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of the threat model names the test that fails without it.
func TestTheTestsOfTheThreatModelExist(t *testing.T) {
	page, err := os.ReadFile("../../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range regexp.MustCompile("`(Test[A-Z][A-Za-z]*)`").FindAllSubmatch(page, -1) {
		missing[string(m[1])] = true
	}
	if len(missing) < 50 {
		t.Fatalf("%d tests are named", len(missing))
	}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(body, -1) {
			delete(missing, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("%s does not exist", name)
	}
}
