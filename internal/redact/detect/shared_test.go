// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "testing"

// Detectors with the same rules share what texts are looked through for; one with other rules, or with a rule of its user that has the name of a rule that
// is switched off, has its own.
func TestDetectorsOfTheSameRulesShareTheirLookup(t *testing.T) {
	of := func(o Options) *Detector {
		t.Helper()
		o.Replace = func(string, string, bool) string { return "x" }
		d, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	noMail := func(r Rule) bool { return r.Name != "email" }
	const text = "write to somebody@mail.example.org or order-77"
	found := func(d *Detector) string { return d.Walk(nil).Value("content", text) }
	all, again, fewer := of(Options{}), of(Options{}), of(Options{Enabled: noMail})
	own := of(Options{Enabled: noMail, Rules: []UserRule{{Name: "email", Pattern: `order-\d+`}}})
	if all.lookup != again.lookup {
		t.Error("two detectors of the same rules do not share it")
	}
	if all.lookup == fewer.lookup || all.lookup == own.lookup || fewer.lookup == own.lookup {
		t.Error("detectors of different rules share it")
	}
	if found(all) == text || found(again) != found(all) {
		t.Errorf("%q, %q", found(all), found(again))
	}
	if found(fewer) != text {
		t.Errorf("a rule that is switched off has found something: %q", found(fewer))
	}
	if got := found(own); got != "write to somebody@mail.example.org or x" && got != "write to x or x" {
		t.Errorf("the rule of the user: %q", got)
	}
}
