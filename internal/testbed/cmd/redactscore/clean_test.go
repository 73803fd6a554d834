// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact"
)

// Texts that are remembered as clean change nothing of what redaction and gate do: every kind of value in every place, every case of the score, and each
// text under names that say different things about it, in any order and met again, become what they become when nothing is remembered.
//
// Without flags it takes a fifth of them, or one in 22 where a part of the corpus is taken; all are taken
// with -redact.every 1, as make redact-score does.
func TestWhatIsRememberedChangesNothing(t *testing.T) {
	var documents [][]byte // telemetry
	add := func(td ptrace.Traces) {
		raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, raw)
	}
	every := max(1, *campaign/3)
	n := 0
	for _, k := range kindsOf() {
		h := fnv.New64a()
		h.Write([]byte(k.name))
		g := newGenerator(h.Sum64())
		for _, at := range k.places() {
			td := newTraces()
			v := k.value(g)
			at.put(g, td, &k, v)
			if n++; n%every != 0 {
				continue
			}
			add(td)
			// The same again without what makes a value of it: its halves alone, its text without the words around it.
			td = newTraces()
			a := spanOf(td).Attributes()
			a.PutStr("content", k.text+v[:len(v)/2]+" and a text that is long enough to be remembered")
			list := a.PutEmptySlice("chunks")
			list.AppendEmpty().SetEmptyMap().PutStr("delta", "a text that is long enough to be remembered, and "+v[:len(v)/2])
			list.AppendEmpty().SetEmptyMap().PutStr("delta", v[len(v)/2:]+" is the rest of what is in two deltas of one stream")
			add(td)
		}
	}
	cases, err := all(options{corpus: "../../../../testdata/corpus", labelled: "../../../../testdata/redaction", seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if i%every > 0 || c.Set != "gitleaks samples" && i/every%4 > 0 { // many are much alike
			continue
		}
		td := newTraces()
		a := spanOf(td).Attributes()
		a.PutStr(c.Key+" ", string(c.Text))
		for _, name := range []string{"content", "password", "token", "request.id", "user.phone", "datadog", "national_id"} {
			a.PutStr(name, string(c.Text))
		}
		if i/every%8 == 0 {
			a.PutStr("messages", quote([]any{map[string]any{"role": "user", "content": string(c.Text)}, map[string]any{"text": string(c.Text)}, map[string]any{"text": "and more\n"}}))
		}
		add(td)
	}
	forgetful, forgetfulGate, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	forgetful.Remember(false)
	forgetfulGate.Remember(false)
	type outcome struct {
		redacted       []byte
		report         redact.Report
		before, behind int
	}
	apply := func(raw []byte, r, gate *redact.Redactor) (o outcome) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw)
		if err != nil {
			t.Fatal(err)
		}
		o.before = len(gate.ScanTraces(td))
		r.Traces(td, &o.report)
		o.behind = len(gate.ScanTraces(td))
		if o.redacted, err = (&ptrace.ProtoMarshaler{}).MarshalTraces(td); err != nil {
			t.Fatal(err)
		}
		return o
	}
	want := make([]outcome, len(documents))
	changed := 0
	for i, raw := range documents {
		if want[i] = apply(raw, forgetful, forgetfulGate); want[i].report.Total() > 0 {
			changed++
		}
	}
	if changed < len(documents)/3 {
		t.Fatalf("only %d of %d documents hold a secret", changed, len(documents))
	}
	for seed := range uint64(2) {
		r, gate, err := redactors()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time all texts are known
			for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(len(documents)) {
				got := apply(documents[i], r, gate)
				if !bytes.Equal(got.redacted, want[i].redacted) || got.before != want[i].before || got.behind != want[i].behind {
					t.Fatalf("document %d, order %d: the gate found %d and %d, not %d and %d;\n%q instead of\n%q", i, seed, got.before, got.behind, want[i].before, want[i].behind, got.redacted, want[i].redacted)
				}
				a, b := &got.report, &want[i].report
				if a.Leaves != b.Leaves || a.Bytes != b.Bytes || a.Numbers != b.Numbers || a.Total() != b.Total() {
					t.Fatalf("document %d, order %d: counted %+v, not %+v", i, seed, a, b)
				}
			}
		}
	}
}
