// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

func gateOf(t *testing.T, p redact.Profile) *Gate {
	t.Helper()
	g, err := NewGate(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func testRedactor(t *testing.T) *redact.Redactor {
	t.Helper()
	key, err := redact.NewKey([]byte("0123456789abcdefghijklmnopqrstuv"), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Default().WithKey(key))
	if err != nil {
		t.Fatal(err)
	}
	r.Seal() // as agentredaction does, so that gates know it
	return r
}

// redacted is the evidence of a run as it comes from behind agentredaction.
func redacted(t *testing.T, run groundtruth.Run, r *redact.Redactor) *evidence.Set {
	t.Helper()
	td := evidenceOf(t, run).Traces()
	r.Traces(td, nil)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(handover.Redaction, r.Marker().String())
	}
	set := evidence.NewSet()
	set.AddTraces(td)
	return set
}

// withSecrets are the recorded runs in which secrets were planted.
func withSecrets(t *testing.T) (runs []groundtruth.Run, secrets []string) {
	t.Helper()
	for _, run := range corpusRuns(t) {
		if run.Scenario == "secrets" {
			runs = append(runs, run)
		}
	}
	files, err := filepath.Glob("../../../testdata/corpus/agents/*/secrets.truth.json")
	if err != nil || len(files) == 0 || len(runs) == 0 {
		t.Fatalf("no recorded runs with secrets: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var truth struct{ Secrets []string }
		if err := json.Unmarshal(text, &truth); err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, truth.Secrets...)
	}
	return runs, secrets
}

// everything returns all objects of a deck by key, parts unpacked.
func everything(t *testing.T, d *deck.Deck) map[string][]byte {
	t.Helper()
	objects := map[string][]byte{}
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for o, err := range d.Store().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Store().Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(o.Key, ".zst") {
			if body, err = dec.DecodeAll(body, nil); err != nil {
				t.Fatal(err)
			}
		}
		objects[o.Key] = body
	}
	return objects
}

func TestUnredactedEvidenceGoesToQuarantineMasked(t *testing.T) {
	runs, secrets := withSecrets(t)
	d, _ := openDeck(t, "file")
	w := NewWriter(d, Options{Gate: gateOf(t, redact.Default())})
	for _, run := range runs {
		for range 2 { // a repeated delivery changes nothing
			for _, tr := range evidenceOf(t, run).Split() {
				_, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
				if q := (*QuarantineError)(nil); errors.As(err, &q) {
					if q.What != "evidence" || q.Hits == 0 || len(q.Rules) == 0 || q.Report == "" {
						t.Errorf("%s: %+v", run.Group, q)
					}
				} else if err != nil && !errors.Is(err, generation.ErrNoRun) {
					t.Error(err)
				}
			}
		}
	}
	reports, parts := 0, 0
	for key, body := range everything(t, d) {
		for _, s := range secrets {
			if bytes.Contains(body, []byte(s)) {
				t.Errorf("%s holds a planted secret", key)
			}
		}
		switch {
		case !strings.HasPrefix(key, "quarantine/"):
		case strings.HasSuffix(key, ".json"):
			reports++
			var report quarantineReport
			if err := json.Unmarshal(body, &report); err != nil || len(report.Findings) == 0 || report.Findings[0].Code != tape.CodeSecretGate || report.Evidence != keptMasked {
				t.Errorf("%s: %v, %s", key, err, body)
			}
		default:
			parts++
			if _, err := evidence.FromPart(body); err != nil || !bytes.Contains(body, []byte(token.Mask)) {
				t.Errorf("%s is no masked evidence: %v", key, err)
			}
		}
	}
	if reports < len(runs) || parts != reports {
		t.Errorf("%d runs gave %d reports and %d parts", len(runs), reports, parts)
	}
}

func TestRedactedEvidencePassesTheGate(t *testing.T) {
	r := testRedactor(t)
	d, _ := openDeck(t, "mem")
	w := NewWriter(d, Options{Options: generation.Options{Formats: generation.KnownFormats()}, Gate: gateOf(t, redact.Default())})
	runs, _ := withSecrets(t)
	count := int64(0)
	for _, run := range runs {
		for _, tr := range redacted(t, run, r).Split() {
			written, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
			if err != nil && !errors.Is(err, generation.ErrNoRun) {
				t.Errorf("%s: %v", run.Group, err)
			}
			for _, one := range written {
				ref, err := deck.ParseRef(one.URL)
				if err != nil {
					t.Fatal(err)
				}
				body, err := d.Store().Get(t.Context(), ref.Key)
				if err != nil {
					t.Fatal(err)
				}
				tp, err := tape.Read(body)
				if err != nil {
					t.Fatal(err)
				}
				m := r.Marker()
				if got := tp.Redaction; got.Policy != m.Policy || got.ProfileDigest != m.ProfileDigest || got.KeyID != m.KeyID {
					t.Errorf("%s: the tape says %+v", run.Group, got)
				}
				sum := int64(0)
				for _, n := range tp.Redaction.Rules {
					sum += n
				}
				if sum != tp.Redaction.Count {
					t.Errorf("%s: %d values, the rules say %d", run.Group, tp.Redaction.Count, sum)
				}
				count += sum
			}
		}
	}
	if count == 0 {
		t.Error("no tape counts a redacted value")
	}
}

// What a redactor of this process has found clean is not searched a second time, as long as nobody changes it. Whatever else comes is.
func TestGateSearchesWhatNoRedactorOfThisProcessHasFoundClean(t *testing.T) {
	runs, _ := withSecrets(t)
	r, g := testRedactor(t), gateOf(t, redact.Default())
	td := evidenceOf(t, runs[0]).Traces()
	for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		s.SetDroppedLinksCount(77) // another test may have redacted the same spans
	}
	set := evidence.NewSet()
	set.AddTraces(td)
	if n := g.unproven(set).SpanCount(); n < td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().Len() {
		t.Fatalf("%d spans are searched that nobody has redacted", n)
	}
	set = redacted(t, runs[0], r)
	hits := 0
	clean := set.Excerpt(func(i evidence.Item) bool {
		s := i.Span
		found := strings.Contains(fmt.Sprint(s.Attributes().AsRaw()), token.Prefix)
		for _, e := range s.Events().All() {
			found = found || strings.Contains(fmt.Sprint(e.Attributes().AsRaw()), token.Prefix)
		}
		if found {
			hits++
		}
		return !found
	})
	if hits == 0 || clean.SpanCount() == 0 {
		t.Fatalf("%d spans hold tokens, %d none", hits, clean.SpanCount())
	}
	if n := g.unproven(set).SpanCount(); n != hits {
		t.Errorf("%d spans are searched again, %d hold tokens", n, hits)
	}
	// Somebody adds to a span behind the redaction.
	changed := evidence.NewSet()
	clean.ResourceSpans().At(0).ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool { return ss.Spans().Len() == 0 })
	clean.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("note", "mail to jane.doe@corp-mail.com")
	changed.AddTraces(clean)
	if n := g.unproven(changed).SpanCount(); n != 1 {
		t.Errorf("%d spans are searched, one was changed", n)
	}
	d, _ := openDeck(t, "mem")
	tr := changed.Split()[0]
	_, err := NewWriter(d, Options{Gate: g}).Write(t.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
	if q := (*QuarantineError)(nil); !errors.As(err, &q) || q.What != "evidence" || q.Hits != 1 || q.Rules[0] != "email" {
		t.Errorf("%v", err)
	}
}

// A secret that stands in two pieces in the evidence and in one on the tape is found on the tape.
func TestFilesOfATapeAreSearchedToo(t *testing.T) {
	d, _ := openDeck(t, "mem")
	w := NewWriter(d, Options{Gate: gateOf(t, redact.Default())})
	runs := []deck.RunFiles{{Root: "0102030405060708", Files: []deck.File{{Name: deck.TapeFile, Body: []byte(`{"a":{"b":["x","mail to jane.doe@corp-mail.com"]}}`)}}}}
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: strings.Repeat("ab", 16)}
	err := w.passFiles(context.Background(), location, []string{"p"}, runs)
	q := (*QuarantineError)(nil)
	if !errors.As(err, &q) || q.What != "tapes" || q.Hits != 1 || q.Rules[0] != "email" {
		t.Fatalf("%v", err)
	}
	for key, body := range everything(t, d) {
		if strings.HasPrefix(key, "quarantine/") && !bytes.Contains(body, []byte(`tape.json:a.b[1]`)) {
			t.Errorf("%s does not say where: %s", key, body)
		}
		if bytes.Contains(body, []byte("jane.doe")) {
			t.Errorf("%s holds the value", key)
		}
	}
	paths := redact.Default()
	paths.Allow.Paths = []string{"$.a.b"}
	if err := NewWriter(d, Options{Gate: gateOf(t, paths)}).passFiles(t.Context(), location, nil, runs); err != nil {
		t.Errorf("an allow list of paths does not speak of files: %v", err)
	}
}

// If masking does not reach some evidence, the report says what was dropped. The rest of the evidence lies beside the report.
func TestReportSaysWhatOfTheEvidenceWasDropped(t *testing.T) {
	d, _ := openDeck(t, "mem")
	w := NewWriter(d, Options{Gate: gateOf(t, redact.Default())})
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: strings.Repeat("ab", 16)}
	hits := []redact.Hit{{Path: "resourceSpans[0].scopeSpans[0].spans[0].name", Rule: "email"}, {Path: "resourceSpans[0].scopeSpans[0].spans[1].name", Rule: "jwt"}}
	for _, c := range []struct {
		q    quarantined
		want string
	}{
		{quarantined{what: "evidence", hits: hits, canonical: []byte("all")}, keptMasked},
		{quarantined{what: "evidence", hits: hits, dropped: hits[1:], canonical: []byte("some")}, keptPartial},
		{quarantined{what: "evidence", hits: hits, dropped: hits}, keptNone},
	} {
		err := w.quarantine(t.Context(), location, c.q)
		q := (*QuarantineError)(nil)
		if !errors.As(err, &q) || q.Evidence != c.want || q.Dropped != len(c.q.dropped) || !strings.Contains(err.Error(), "beside the report: "+c.want) {
			t.Fatalf("%v", err)
		}
		key := q.Report[strings.Index(q.Report, "quarantine/"):]
		var report quarantineReport
		if err := json.Unmarshal(everything(t, d)[key], &report); err != nil || report.Evidence != c.want || len(report.Dropped) != len(c.q.dropped) {
			t.Errorf("%v: %+v", err, report)
		}
		for _, f := range report.Dropped {
			if f.Field == "" || f.Detail == "" {
				t.Errorf("%+v does not say what was dropped", f)
			}
		}
	}
}

// Ids of spans are no text: one in some thousand passes the check of an IBAN.
func TestGateLeavesIDsAlone(t *testing.T) {
	g := gateOf(t, redact.Default())
	for _, doc := range []string{
		`{"run":{"run_id":"be45944ee6e56417be45944ee6e56417-be45944ee6e56417","root_span_id":"be45944ee6e56417"},"events":[{"span_ids":["be68539007547034"]}]}`,
		`[{"args_hash":"sha256:be45944ee6e56417be45944ee6e56417be45944ee6e56417be45944ee6e56417"}]`,
		`{"m":"4b1d0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"}`, // a digest, longer than the key that begins so
	} {
		if hits := g.ScanString("", doc); len(hits) > 0 {
			t.Errorf("%v in %s", hits, doc)
		}
	}
}

// The end of one result and the beginning of the next are no address.
func TestGateDoesNotReadTwoResultsAsOneText(t *testing.T) {
	body, err := os.ReadFile("testdata/gate-joins.otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		t.Fatal(err)
	}
	r := testRedactor(t)
	var report redact.Report
	if r.Traces(td, &report); report.Total() != 0 {
		t.Errorf("redaction replaced %+v", report)
	}
	td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, r.Marker().String())
	set := evidence.NewSet()
	set.AddTraces(td)
	d, _ := openDeck(t, "mem")
	w := NewWriter(d, Options{Options: generation.Options{Formats: generation.KnownFormats()}, Gate: gateOf(t, redact.Default())})
	written, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: strings.Repeat("ab", 16), Set: set, Complete: true})
	if err != nil || len(written) != 1 {
		t.Fatalf("%d tapes, %v", len(written), err)
	}
}

// A report holds names that a sender chose.
func TestReportHoldsNoSecretName(t *testing.T) {
	const secret = "jane.doe@corp-mail.com"
	set := evidence.NewSet()
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{1})
	s.Attributes().PutStr("gen_ai.operation.name", "chat")
	s.Attributes().PutStr("gen_ai.prompt", `{"`+secret+`":{"password":"hunter2-FAKE-password"}}`)
	s.Attributes().PutStr("app."+secret, "hunter2 token=ghp_FAKEfake0000FAKEfake0000FAKEfake0000")
	set.AddTraces(td)
	d, _ := openDeck(t, "mem")
	w := NewWriter(d, Options{Gate: gateOf(t, redact.Default())})
	_, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: "01" + strings.Repeat("0", 30), Set: set, Complete: true})
	if q := (*QuarantineError)(nil); !errors.As(err, &q) {
		t.Fatalf("%v", err)
	}
	for key, body := range everything(t, d) {
		if bytes.Contains(body, []byte(secret)) {
			t.Errorf("%s holds the name:\n%s", key, body)
		}
	}
}
