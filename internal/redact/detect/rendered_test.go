// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func plain(tb testing.TB) *Detector {
	tb.Helper()
	r, err := New(Options{Replace: func(rule, _ string, _ bool) string { return "[" + rule + "]" }})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func scan(r *Detector, s string) []Hit { return r.Scan(func(w *Walk) { w.Value("", s) }) }

// renderedDocuments are documents with secrets in all places where the short way could lose one.
var renderedDocuments = []string{
	`{"name":"hunter2","password":"hunter2"}`,
	`{"password":"hunter2","name":"hunter2"}`,
	`[{"note":"s3cr3t-w0rd"},{"adminPassword":{"value":"s3cr3t-w0rd"}}]`,
	`["--password","Tr0ub4dor&3","Tr0ub4dor&3"]`,
	`[["x","Tr0ub4dor&3"],["password","Tr0ub4dor&3"]]`,
	`{"mail":"ann@example.com","again":["ann@example.com","ann@example.com"]}`,
	`{"a":"{\"password\":\"hunter2\"}","b":"hunter2"}`,
	`{"m0123456789abcdef0123456789abcdef":{"parts":[{"text":"AKIAIOSFODNN7EXAMPLE"}]}}`,
	`{"m0123456789abcdef0123456789abcdef":"ann@example.com"}`,
	`[{"result":"ghp_1234567890abcdef"},{"result":"ghijklmnopqrstuvwxyzAB"}]`,
	`{"deltas":["ghp_1234567890abcd","efghijklmnopqrstuvwxyzAB12"]}`,
	`{"card":4111111111111111,"n":[4111111111111111]}`,
	`{"phone":"+49 30 901820"}`, `["password=hunter2","ok"]`, `{"ann@example.com":"ok"}`,
	`{"datadog":"0123456789abcdef0123456789abcdef","x":"0123456789abcdef0123456789abcdef"}`,
	`{"ok":"ok","list":["ok","ok","ok"],"status":"ok"}`, `{}`, `[]`, `{"open":`, `"ann@example.com"`, `ann@example.com`, ``,
}

func TestARenderedDocumentIsClearOnlyWhereNothingIsFound(t *testing.T) {
	r := plain(t)
	clear, found := 0, 0
	for range 2 { // the second time with what the first has remembered
		for _, s := range renderedDocuments {
			hits := scan(r, s)
			if got := r.ClearJSON(s); got && len(hits) > 0 {
				t.Errorf("%s is clear, and holds %v", s, hits)
			} else if got {
				clear++
			}
			if len(hits) > 0 {
				found++
			}
		}
	}
	if clear == 0 || found < len(renderedDocuments) {
		t.Errorf("%d are clear and %d hold something, of twice %d", clear, found, len(renderedDocuments))
	}
}

// A user's rule may hang on the path, and then no value is remembered.
func TestWithRulesOfUsersNothingIsClear(t *testing.T) {
	r := plain(t)
	r.Remember(false)
	if r.ClearJSON(`{"ok":"ok"}`) {
		t.Error("a verdict that may hang on the path was taken for one that does not")
	}
}

func TestIDsOfAPoolSayNothingAboutWhatTheyName(t *testing.T) {
	r := plain(t)
	g := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		name := fmt.Sprintf("%c%016x%016x", "mt"[g.IntN(2)], g.Uint64(), g.Uint64())
		if !isPoolID(name) || r.classify(name).facts != poolID.facts || len(r.classify(name).ids) > 0 || len(r.search(name, nameOfValue, nil, 0, false)) > 0 {
			t.Fatalf("%s is more than an id", name)
		}
	}
	for _, name := range []string{"", "m", "m" + strings.Repeat("a", 31), "x" + strings.Repeat("a", 32), "m" + strings.Repeat("A", 32)} {
		if isPoolID(name) {
			t.Error(name)
		}
	}
	own, err := New(Options{Replace: r.replacement, SecretKeys: []string{"m" + strings.Repeat("a", 32)}})
	if err != nil {
		t.Fatal(err)
	}
	if !own.Named("m" + strings.Repeat("a", 32)).secret {
		t.Error("the user calls it a secret")
	}
}

// FuzzClearJSON: what is clear holds nothing.
func FuzzClearJSON(f *testing.F) {
	for _, s := range renderedDocuments {
		f.Add(s)
	}
	r := plain(f)
	f.Fuzz(func(t *testing.T, s string) {
		if r.ClearJSON(s) && len(scan(r, s)) > 0 {
			t.Errorf("%q is clear, and holds %v", s, scan(r, s))
		}
	})
}
