// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"fmt"
	"math/rand/v2"
	"slices"
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

// sureOnly is a detector with the rules of the gate.
func sureOnly(tb testing.TB) *Detector {
	tb.Helper()
	r, err := New(Options{Replace: plain(tb).replacement, Enabled: func(rule Rule) bool { return rule.Class != Guess }})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func scan(r *Detector, s string) []Hit { return r.Scan(func(w *Walk) { w.File(s) }) }

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
	`{"password":"2025-10-09T08:53:28.000000000Z"}`, `{"passphrase":"2025-10-09T08:53:28.000000000Z"}`,
	`{"input":{"messages":["ghp_1234567890abcdef","ghijklmnopqrstuvwxyzAB"]}}`,
	`{"events":[{"request":{"messages":["ghp_1234567890abcd"]}},{"request":{"messages":["efghijklmnopqrstuvwxyzAB12"]}}]}`,
	`{"events":[{"request":{"tools":["m0123456789abcdef0123456789abcdef","AKIAIOSFODNN7EXAMPLE"]}}]}`,
	`{"output":["` + longNote + `"],"password":"` + longNote + `"}`, `{"a":"` + longNote + `","aadhaar":"` + longNote + `"}`,
	`{"text":"` + longEscaped + `","password":"` + longEscaped + `"}`,
	`{"input":{"messages":["m0123456789abcdef0123456789abcdef"]},"events":[{"request":{"messages":["m0123456789abcdef0123456789abcdef"],"tools":["t0123456789abcdef0123456789abcdef"]}}]}`,
	`{"a":"` + longNote + `","b":["` + longNote + `","` + longNote + `"]}`, `{"a":"` + longEscaped + `","b":"` + longEscaped + `"}`,
	`{"started_at":"2025-10-09T08:53:28.000000000Z"}`, `{"ok":"ok","list":["ok","ok","ok"],"status":"ok"}`, `{}`, `[]`, `{"open":`, `"ann@example.com"`, `ann@example.com`, ``,
}

// longNote and longEscaped are values that are found by their names alone, met again in a document under others.
const (
	longNote    = "123456789010 is what the second of the two forms says about it"
	longEscaped = `a\nnote of more bytes than a name can have in JSON ` + longFiller + longFiller + longFiller
	longFiller  = `goes on and on and on, so that it is told by what stands in the document and is not decoded before somebody asks for what it holds, which nobody does here, and so on `
)

func clearJSON(r *Detector, texts ...string) bool { return r.ClearJSON(slices.Values(texts)) }

// A time as a tape holds it is not searched where its name tells nothing about it.
func TestTimesOfATapeAreToldByTheirForm(t *testing.T) {
	const at = "2025-10-09T08:53:28.000000000Z"
	r := plain(t)
	for _, name := range []string{"started_at", "ended_at"} {
		if !r.Named(name).silent() {
			t.Error(name)
		}
	}
	for _, name := range []string{"password", "token", "passphrase", "secret_key", "phone"} {
		if r.Named(name).silent() {
			t.Errorf("%s tells nothing", name)
		}
	}
	if !renderedTime(at) {
		t.Error(at)
	}
	for i := range len(at) {
		if s := at[:i] + "x" + at[i+1:]; renderedTime(s) {
			t.Error(s)
		}
	}
	if renderedTime(at[1:]) || renderedTime("") {
		t.Error("too short for a time")
	}
}

func TestARenderedDocumentIsClearOnlyWhereNothingIsFound(t *testing.T) {
	for name, r := range map[string]*Detector{"all rules": plain(t), "those of the gate": sureOnly(t)} {
		t.Run(name, func(t *testing.T) { clearOnlyWhereNothingIsFound(t, r) })
	}
}

func clearOnlyWhereNothingIsFound(t *testing.T, r *Detector) {
	clear, found := 0, 0
	for range 2 { // the second time with what the first has remembered
		for _, s := range renderedDocuments {
			hits := scan(r, s)
			if got := clearJSON(r, s); got && len(hits) > 0 {
				t.Errorf("%s is clear, and holds %v", s, hits)
			} else if got {
				clear++
			}
			if len(hits) > 0 {
				found++
			}
		}
	}
	// Of two documents, whatever the first has shown: both.
	for _, first := range renderedDocuments {
		for _, s := range renderedDocuments {
			if clearJSON(r, first, s) && len(scan(r, first))+len(scan(r, s)) > 0 {
				t.Errorf("%s and %s are clear", first, s)
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
	if clearJSON(r, `{"ok":"ok"}`) {
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

// A list in which a tape names its messages holds ids and nothing else. They are not looked at, whatever stands in the document before them, and anything else
// in such a list sends the reader the long way.
func TestListsOfPoolIDsHoldNothingElse(t *testing.T) {
	r, all := sureOnly(t), plain(t)
	g := rand.New(rand.NewPCG(1, 1))
	list := func() string {
		ids := make([]string, 20)
		for i := range ids {
			ids[i] = fmt.Sprintf("%q", fmt.Sprintf("%c%016x%016x", "mt"[g.IntN(2)], g.Uint64(), g.Uint64()))
		}
		return strings.Join(ids, ",")
	}
	for range 50 {
		s := fmt.Sprintf(`{"input":{"messages":[%s]},"events":[{"request":{"messages":[%s],"tools":[%s]}},{"request":{"messages":[%s]}}]}`, list(), list(), list(), list())
		if !clearJSON(r, s) || len(scan(r, s)) > 0 {
			t.Fatalf("ids alone are no secret: %v in %s", scan(r, s), s)
		}
		other := strings.Replace(s, `"],"tools"`, `","sk-live"],"tools"`, 1)
		if clearJSON(r, other) {
			t.Fatalf("taken for a list of ids: %s", other)
		}
		if clearJSON(all, s) && len(scan(all, s)) > 0 {
			t.Fatalf("a rule that guesses finds ids: %v", scan(all, s))
		}
	}
}

// A value that was met is known under names that say the same, and under no other.
func TestAMetValueIsKnownByItsTextAndWhatItsNameSays(t *testing.T) {
	r := plain(t)
	for _, text := range []string{"a short one", longNote, longEscaped} {
		var met metLeaves
		name := r.Named("output")
		at, same := met.index(text, name), &Name{facts: name.facts}
		if met.holds(at, text, name, 1, false) {
			t.Error("known before it was met")
		}
		met.put(at, text, name, 1, false)
		if !met.holds(at, strings.Clone(text), same, 1, false) {
			t.Errorf("%.10s is not known under a name that says the same", text)
		}
		for _, other := range []string{"password", "phone", "card_number"} {
			if met.holds(at, text, r.Named(other), 1, false) {
				t.Errorf("%.10s is known as a %s", text, other)
			}
		}
		if met.holds(at, text, name, 1, true) {
			t.Error("a value and a text with escapes are taken for each other")
		}
		if middle := len(text)/2 + 4; met.holds(at, text[:middle]+"\x00"+text[middle+1:], name, 1, false) {
			t.Error("another text is taken for it")
		}
		if k := r.Named("datadog"); k.service && met.index(text, k) >= 0 {
			t.Error("beside the name of a service more is looked for")
		}
	}
}

// That a name is one of who speaks says nothing of its own value: what was met under "id" is known under "tool_call_id".
func TestTheNameOfASpeakerSaysNothingOfItsValue(t *testing.T) {
	r := plain(t)
	id, call := r.Named("id"), r.Named("tool_call_id")
	if id.facts == call.facts || id.ofValue() != call.ofValue() {
		t.Fatal("the two names differ in more, or in nothing")
	}
	silent, speaking := &Name{facts: id.facts}, &Name{facts: id.facts}
	silent.speaker, speaking.speaker = false, true
	for _, s := range append([]string{"call_0123456789abcdef", "0123456789abcdef", "sha256:" + strings.Repeat("0a", 32), "4111 1111 1111 1111", "ada@example.org",
		"password=hunter2hunter2", `{"password":"hunter2hunter2","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`}, renderedDocuments...) {
		var got [2][]edit
		for i, k := range []*Name{silent, speaking} {
			got[i] = (&Walk{r: r, rep: &Report{}, budget: searchBudget(s)}).unknown(s, k)
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%.40s: %v and %v", s, got[0], got[1])
		}
	}
}

// FuzzClearJSON: what is clear holds nothing.
func FuzzClearJSON(f *testing.F) {
	for _, s := range renderedDocuments {
		f.Add(s)
	}
	all, sure := plain(f), sureOnly(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range []*Detector{all, sure} {
			if clearJSON(r, s) && len(scan(r, s)) > 0 {
				t.Errorf("%q is clear, and holds %v", s, scan(r, s))
			}
		}
	})
}
