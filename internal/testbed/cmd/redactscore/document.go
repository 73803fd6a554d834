// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// embed writes text between the marks <!-- name --> and <!-- /name --> of a document.
func embed(file, name, text string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	open, shut := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(body), open)
	_, after, ok2 := strings.Cut(rest, shut)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks %q", file, name)
	}
	return os.WriteFile(file, []byte(before+open+text+shut+after), 0o644)
}

// rules prints what the strict profile searches for. Rules of vendors and of gitleaks are counted only: the
// list of sources names them.
func rules() (string, error) {
	r, err := redact.New(redact.Strict())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| rule | class | finds |\n|---|---|---|\n")
	counted := map[string]int{}
	for _, info := range r.Rules() {
		if info.Description == "" {
			counted[info.Section]++
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", info.Name, info.Class, info.Description)
	}
	version, _ := detect.PublishedRules()
	fmt.Fprintf(&b, "| %d rules of the section `vendor` | known | keys of services |\n", counted["vendor"])
	fmt.Fprintf(&b, "| %d rules of the section `gitleaks` | known, guess | the rules of gitleaks %s; those that look for a value beside the name of a service are guesses |\n", counted["gitleaks"], version)
	return b.String(), nil
}
