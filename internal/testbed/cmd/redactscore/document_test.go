// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/redact"
)

const root = "../../../../"

func TestDocumentListsTheRulesAsTheyAre(t *testing.T) {
	body, err := os.ReadFile(root + "docs/redaction.md")
	if err != nil {
		t.Fatal(err)
	}
	list, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), list) {
		t.Error("docs/redaction.md lists other rules than there are: make redact-score")
	}
}

func TestDocumentOfSourcesListsTheRulesAsTheyAre(t *testing.T) {
	body, err := os.ReadFile(root + "docs/redaction-sources.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(body) != sourcesMarkdown() {
		t.Error("docs/redaction-sources.md lists other rules than there are: make redact-score")
	}
}

// The figures that the document promises. A change that costs recall or precision has to be made on purpose.
func TestRecallAndFalsePositivesStayWithinTheirBounds(t *testing.T) {
	cases, err := all(options{corpus: root + "testdata/corpus", labelled: root + "testdata/redaction", seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	key, err := redact.NewKey([]byte("the key of the score, which is no secret"), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Default().WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	table := newTable()
	for _, c := range cases {
		table.add(c, r.String(c.Key, string(c.Text), nil))
	}
	var secrets, found int
	for set, row := range table.rows {
		switch wrong := row.cases - row.ok; {
		case row.broken > 0:
			t.Errorf("%s: %d documents were made unparseable", set, row.broken)
		case row.benign && wrong*200 > row.cases:
			t.Errorf("%s: %d of %d benign texts were changed, more than 0.5 %%", set, wrong, row.cases)
		case !row.benign:
			secrets, found = secrets+row.cases, found+row.ok
			if row.ok*100 < row.cases*95 {
				t.Errorf("%s: %d of %d were found", set, row.ok, row.cases)
			}
		}
	}
	if found*1000 < secrets*990 {
		t.Errorf("%d of %d secrets were found, less than 0.99", found, secrets)
	}
}
