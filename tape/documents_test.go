// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPublishedSchemaIsCurrent(t *testing.T) {
	golden(t, "../docs/schema/agent-tape-1.1.schema.json", string(JSONSchema()))
}

func TestFindingsDocumentIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Findings

This page lists the codes of findings. A finding says one thing that is missing or odd on a tape, or that was decided while it was made.

A tape holds them in ` + "`fidelity.findings[]`, each with `code`, `severity`, `seq`, `field` (dotted path) and `detail`. `seq`" + ` is the event; it is
absent for the whole run. The severity here is the usual one, the one on the finding counts. The codes are part of the
[tape format](tape-format.md); a MINOR version may add some.

This table is generated from ` + "`tape.FindingKinds`: `go generate ./tape`" + `.

| code | severity | meaning |
|---|---|---|
`)
	kinds := slices.SortedFunc(slices.Values(FindingKinds), func(a, b FindingKind) int { return strings.Compare(string(a.Code), string(b.Code)) })
	for _, k := range kinds {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Code, k.Severity, k.Meaning)
	}
	golden(t, "../docs/findings.md", b.String())
}

func TestFindingCodesAreDistinct(t *testing.T) {
	seen := map[Code]bool{}
	for _, k := range FindingKinds {
		if seen[k.Code] || k.Meaning == "" || k.Severity == "" {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
	}
}
