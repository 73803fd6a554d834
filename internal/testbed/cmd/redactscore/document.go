// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
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

// rules prints what the strict profile searches for, which is everything.
func rules() (string, error) {
	r, err := redact.New(redact.Strict())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| rule | class | finds |\n|---|---|---|\n")
	named := map[string][]string{}
	for _, info := range r.Rules() {
		if info.Description == "" {
			named[info.Section] = append(named[info.Section], "`"+info.Name+"`")
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", info.Name, info.Class, info.Description)
	}
	version, published := detect.PublishedRules()
	var instead []string
	for _, p := range published {
		if p.By != "" {
			instead = append(instead, fmt.Sprintf("`%s` (`%s`)", p.ID, p.By))
		}
	}
	slices.Sort(instead)
	fmt.Fprintf(&b, "\n**Keys of services** (section `vendor`, known forms, looser than gitleaks' where that asks for an exact length): %s.\n", strings.Join(named["vendor"], ", "))
	fmt.Fprintf(&b, "\n**gitleaks %s** (section `gitleaks`, %d rules; those that look for a value beside the name of a service are guesses, the others known forms). "+
		"Entropy thresholds of known forms are lowered by a third, and a secret may end at any character that it cannot hold: %s.\n",
		version, len(named["gitleaks"]), strings.Join(named["gitleaks"], ", "))
	fmt.Fprintf(&b, "\n%d more of its rules are done by other detectors here: %s. `pkcs12-file` looks at file names only.\n", len(instead), strings.Join(instead, ", "))
	return b.String(), nil
}
