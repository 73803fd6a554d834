// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// A short value is known with its name, its rules and its place: whatever came before it, it is redacted as by a detector that remembers nothing.
func TestShortValuesAreKnownUnderTheirNamesAlone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	values := []string{"hunter2", "gpt-4o", "user", "4111111111111111", "jane.doe@corp-mail.com", `{"password":"hunter2"}`, `["hunter2"]`, "AKIAFAKE0000FAKE0000", "078-05-1120",
		"0123456789abcdef", "Xk9fQ2mL7vR4tY8wB3nZ", "true", "{}", "555-0142", "--password", "a", "[REDACTED]"}
	names := []string{"note", "password", "token", "api_key", "gen_ai.request.model", "openai", "id", "ssn", "phone", "content", "session_id", "version", "twilio", "datadog_api_token", ""}
	less := func() *Detector {
		d, err := New(Options{Enabled: func(r Rule) bool { return r.Section != "pii" }, Replace: func(string, string, bool) string { return token.Mask }})
		require.NoError(t, err)
		return d
	}
	known, plain, other, otherPlain := masking(t), masking(t), less(), less()
	plain.Remember(false)
	otherPlain.Remember(false)
	for range 4_000 {
		if rnd.IntN(500) == 0 {
			known.Remember(true)
		}
		name, value := names[rnd.IntN(len(names))], values[rnd.IntN(len(values))]
		for _, pair := range [][2]*Detector{{known, plain}, {other, otherPlain}} {
			var reports [2]Report
			got, want := pair[0].Walk(&reports[0]).Value(name, value), pair[1].Walk(&reports[1]).Value(name, value)
			require.Equal(t, want, got, "%s: %s", name, value)
			require.Equal(t, reports[1], reports[0], "%s: %s", name, value)
			sure := [2]*Walk{{r: pair[0], rep: &Report{}, sure: true}, {r: pair[1], rep: &Report{}, sure: true}}
			require.Equal(t, sure[1].Value(name, value), sure[0].Value(name, value), "%s: %s", name, value)
		}
		quoted := strings.NewReplacer(`"`, `\"`).Replace(value)
		for _, document := range []string{
			`{"` + name + `":"` + quoted + `","list":["` + name + `","hunter2"]}`,
			`{"name":"` + name + `","value":"` + quoted + `"}`, `{"value":"` + quoted + `","` + name + `":["` + quoted + `"]}`,
		} {
			require.Equal(t, plain.Walk(nil).Value("body", document), known.Walk(nil).Value("body", document))
		}
	}
}

// A short value that comes again is not searched, and is counted.
func TestShortValuesAreRemembered(t *testing.T) {
	d := masking(t)
	k := d.Named("gen_ai.request.model")
	w := d.Walk(&Report{})
	require.False(t, k.holds(w.shortKey("gpt-4o", k)))
	w.leaf("gpt-4o", k)
	require.True(t, k.holds(w.shortKey("gpt-4o", k)))
	require.False(t, k.holds(w.shortKey("gpt-4p", k)))
	require.False(t, masking(t).Named("x").holds(w.shortKey("gpt-4o", k)))
	require.False(t, k.holds(masking(t).Walk(nil).shortKey("gpt-4o", k)), "another detector has other rules, and the names are shared")
	before := *w.rep
	w.leaf("gpt-4o", k)
	require.Equal(t, before.Leaves+1, w.rep.Leaves)
	require.Equal(t, before.Bytes+6, w.rep.Bytes)
	w.leaf("hunter2hunter2", d.Named("password"))
	require.False(t, d.Named("password").holds(w.shortKey("hunter2hunter2", d.Named("password"))))
	d.Remember(true)
	require.False(t, k.holds(w.shortKey("gpt-4o", k)), "forgotten")
	w.leaf("gpt-4o", k)
	service := d.Named("twilio")
	require.True(t, service.service)
	require.Zero(t, w.shortKey("gpt-4o", service), "what stands beside it is another name, and searched with it")
	w.path = append(w.path, step{name: "twilio"}, step{array: true})
	require.NotZero(t, w.shortKey("gpt-4o", service))
	w.path = append(w.path, step{name: "value"})
	require.Zero(t, w.shortKey("gpt-4o", service))
	w.path = nil
	for _, inTable := range []struct {
		text string
		k    *Name
	}{{`{"type":"auto"}`, k}, {"handle_responses", NoName}} {
		require.Zero(t, w.shortKey(inTable.text, inTable.k))
		w.leaf(inTable.text, inTable.k)
		require.True(t, w.knownClean(w.cleanKey(cleanLeaf, inTable.text, inTable.k)), inTable.text)
	}
	w.nested, w.sure = 0, true
	require.False(t, k.holds(w.shortKey("gpt-4o", k)))
	w.nested, w.sure = 1, false
	require.True(t, k.holds(w.shortKey("gpt-4o", k)))
	budget := w.budget
	w.leaf("gpt-4o", k)
	require.Equal(t, budget-6, w.budget, "in a document it takes of the budget what it took when it was searched")
	w.nested = maxNested - 1
	require.False(t, k.holds(w.shortKey("gpt-4o", k)))
}

// A short value in which something was found since it was begun, or of which the search was cut, is not known.
func TestAShortValueIsKnownWhereNothingWasFound(t *testing.T) {
	d := masking(t)
	k := d.Named("gen_ai.request.model")
	w := d.Walk(&Report{})
	for name, found := range map[string]func(){"nothing": func() {}, "a hit": func() { w.rep.found++ }, "a search that was cut": func() { w.cuts++ }} {
		key := w.shortKey(name, k)
		before := w.counted()
		w.rep.Leaves, w.rep.Bytes, w.budget = w.rep.Leaves+1, w.rep.Bytes+int64(len(name)), w.budget-len(name)
		found()
		w.learnShort(key, before, name, k)
		require.Equal(t, name == "nothing", k.holds(key), "%s since it was begun", name)
	}
}
