// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

//go:generate go test . -run DialectsDocumentIsCurrent -update

const (
	document = "../../../docs/dialects.md"
	begin    = "<!-- generated from genai.Dialects by `go generate ./internal/reading/genai` -->\n"
	end      = "<!-- end of the generated part -->\n"
)

func TestDialectsDocumentIsCurrent(t *testing.T) {
	body, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), begin)
	_, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatalf("%s has lost the marks of its generated part", document)
	}
	want := before + begin + dialectTables() + end + after
	if *genaitest.Update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(body)); diff != "" && !*genaitest.Update {
		t.Errorf("%s is stale (go generate ./internal/reading/genai rewrites it):\n%s", document, diff)
	}
}

func dialectTables() string {
	var b strings.Builder
	b.WriteString("\n## What turns content on\n\n| id | switch | of it `record` and `replay` set |\n|---|---|---|\n")
	for _, d := range Dialects {
		var set []string
		for _, s := range d.Settings {
			switch {
			case s.Unset:
				set = append(set, "`"+s.Name+"` unset")
			case !s.Yields && !s.Optional:
				set = append(set, "`"+s.Name+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.ID, cell(d.Switch), strings.Join(set, ", "))
	}
	b.WriteString(recognising + "| id | producer | recognised by | run span | tool results | log records |\n|---|---|---|---|---|---|\n")
	for _, d := range Dialects {
		results, root := "as recorded", d.Root
		if d.Encoded {
			results = "JSON-encoded"
		}
		switch {
		case root == "":
			root = "none"
		case d.Rooted:
			root += "; always there"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", d.ID, cell(d.Name), recognisedBy(d), cell(root), results, codes(d.Events, "*"))
	}
	b.WriteString("\n")
	return b.String()
}

// recognising says how the table is read.
const recognising = `
## How a dialect is recognised

A span is looked at by its instrumentation scope and by the keys of its attributes. A row recognises it when the scope is one of the row's, or when a key
begins as the row says. **The first row that recognises a span is its dialect**; later rows that recognise it too fill in what is left open. The dialects of
a producer stand before the conventions that it also follows, because what is bridged into a common vocabulary is often cut or incomplete. A name with
` + "`*`" + ` is a beginning. *Run span* is the span that stands for a whole run; *always there* means that every call lies below one.

`

func recognisedBy(d *dialect.Dialect) string {
	var by []string
	if scopes := append(quoted(d.Scopes, ""), quoted(d.ScopePrefixes, "*")...); len(scopes) > 0 {
		by = append(by, "scope "+strings.Join(scopes, ", "))
	}
	if marks := quoted(d.Marks, "*"); len(marks) > 0 {
		by = append(by, "attributes "+strings.Join(marks, ", "))
	}
	if d.Shape != nil {
		by = append(by, "shape, where no other scope or attribute of a producer is known")
	}
	return strings.Join(by, "; ")
}

// quoted puts names into code marks, each with more behind it.
func quoted(names []string, more string) []string {
	var out []string
	for _, n := range names {
		out = append(out, "`"+cell(n+more)+"`")
	}
	return out
}

// codes lists event names; the ones that end in a dot are beginnings.
func codes(names []string, more string) string {
	var out []string
	for _, n := range names {
		if strings.HasSuffix(n, ".") {
			n += more
		}
		out = append(out, "`"+cell(n)+"`")
	}
	return strings.Join(out, ", ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func TestEveryDialectSaysWhatTheDocumentNeeds(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Dialects {
		if d.ID == "" || seen[d.ID] {
			t.Errorf("id %q is empty or comes twice", d.ID)
		}
		seen[d.ID] = true
		if d.Name == "" || d.Switch == "" {
			t.Errorf("%s has no name or no switch", d.ID)
		}
		if len(d.Scopes)+len(d.ScopePrefixes)+len(d.Marks)+len(d.Events) == 0 && d.Shape == nil {
			t.Errorf("%s cannot be recognised", d.ID)
		}
		if d.Rooted && d.Root == "" {
			t.Errorf("%s has a root to wait for and does not say which", d.ID)
		}
	}
}
