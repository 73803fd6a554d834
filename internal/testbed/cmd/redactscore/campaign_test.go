// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor"
)

var campaign = flag.Int("redact.every", sample.Of(67, 17), "every so many of the values of TestNothingPlanted…, and three times as many of TestWhatIsRememberedChangesNothing; 1: all")

// eachPlanted calls visit with a run of an agent for every kind in every place that the campaigns take: with the value, the trace, and what must not be left.
func eachPlanted(visit func(name, v string, td ptrace.Traces, needles []string)) {
	n := uint64(0)
	for _, k := range kindsOf() {
		g := newGenerator(n + 1)
		for _, at := range allPlaces {
			v := k.value(g)
			td := newTraces()
			needles := at.put(g, td, &k, v)
			if n++; n%uint64(*campaign) != 0 || at.bare && !k.form && k.text == "" {
				continue
			}
			span := spanOf(td)
			var id pcommon.TraceID
			binary.BigEndian.PutUint64(id[8:], n)
			span.SetTraceID(id)
			span.SetSpanID(pcommon.SpanID{1, 2, 3, 4, 5, 6, 7, 8})
			span.SetStartTimestamp(1_700_000_000_000_000_000)
			span.SetEndTimestamp(1_700_000_001_000_000_000)
			span.Attributes().PutStr("gen_ai.operation.name", "invoke_agent")
			span.Attributes().PutStr("gen_ai.agent.name", "helper")
			call := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty() // without a model call a trace is no run
			call.SetName("chat gpt-x")
			call.SetTraceID(id)
			call.SetSpanID(pcommon.SpanID{8, 7, 6, 5, 4, 3, 2, 1})
			call.SetParentSpanID(span.SpanID())
			call.SetStartTimestamp(1_700_000_000_100_000_000)
			call.SetEndTimestamp(1_700_000_000_900_000_000)
			call.Attributes().PutStr("gen_ai.operation.name", "chat")
			call.Attributes().PutStr("gen_ai.provider.name", "openai")
			call.Attributes().PutStr("gen_ai.request.model", "gpt-x")
			call.Attributes().PutStr("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Hello"}]}]`)
			call.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"Hi"}],"finish_reason":"stop"}]`)
			visit(k.name+", "+at.name, v, td, needles)
		}
	}
}

// eachObject calls visit with every object of a deck, unpacked.
func eachObject(t *testing.T, d *deck.Deck, visit func(key string, body []byte)) {
	t.Helper()
	for o, err := range d.Store().List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := d.Store().Get(t.Context(), o.Key)
		if err == nil && deck.IsPacked(body) {
			body, err = deck.Unpack(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		visit(o.Key, body)
	}
}

// holds says whether a value stands in a text, as it is or spelled otherwise.
func holds(body []byte, v string) bool {
	for _, form := range []string{v, inner(v), url.QueryEscape(v), base64.StdEncoding.EncodeToString([]byte(v))} {
		if len(v) >= 8 && bytes.Contains(body, []byte(form)) {
			return true
		}
	}
	return false
}

// Every kind in every place goes the way of evidence: redacted, grouped by trace, through the gate, into a deck. No run is lost to quarantine, and what
// redaction has taken out stands in no object of the deck, in no spelling, also not in what is derived.
func TestNothingPlantedReachesADeck(t *testing.T) {
	r, _, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	n, written, tapes := 0, 0, 0
	eachPlanted(func(name, v string, td ptrace.Traces, needles []string) {
		r.Traces(td, nil)
		left := leftIn(td, needles) // counted by the score; the gate has to agree that it finds nothing
		td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, r.Marker().String())
		set := evidence.NewSet()
		set.AddTraces(td)
		n++
		d, err := deck.Open(t.Context(), "mem://campaign-"+strconv.Itoa(n))
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Drop("campaign-" + strconv.Itoa(n))
		w := derive.NewWriter(d, derive.Options{Options: generation.Options{Formats: generation.KnownFormats()}, Gate: gate})
		for _, tr := range set.Split() {
			of, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
			if err != nil && !errors.Is(err, generation.ErrNoRun) {
				t.Errorf("%s: %v", name, err)
			}
			tapes += len(of)
		}
		eachObject(t, d, func(key string, body []byte) {
			written++
			if strings.HasPrefix(key, "quarantine/") {
				t.Errorf("%s: %s", name, key)
			}
			if !left && holds(body, v) {
				t.Errorf("%s: the value stands in %s", name, key)
			}
		})
	})
	if written == 0 || tapes == 0 {
		t.Errorf("%d objects, %d tapes", written, tapes)
	}
}

// The same runs go through the components as a collector connects them, all into one deck: agentredaction, agentrun with a spool, the tape exporter. Each becomes a
// tape.
func TestNothingPlantedPassesTheComponents(t *testing.T) {
	r, _, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	const deckURL = "mem://components"
	defer mem.Drop("components")
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("the key of the campaign, which is no secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	exporters := tapeexporter.NewFactory()
	exporterConfig := exporters.CreateDefaultConfig().(*tapeexporter.Config)
	exporterConfig.Deck, exporterConfig.Formats = deckURL, generation.KnownFormats()
	exporter, err := exporters.CreateTraces(t.Context(), exportertest.NewNopSettings(exporters.Type()), exporterConfig)
	must(err)
	runs := agentrunprocessor.NewFactory()
	runsConfig := runs.CreateDefaultConfig().(*agentrunprocessor.Config)
	runsConfig.Spool.Directory, runsConfig.Spool.Sync, runsConfig.OnShutdown = filepath.Join(t.TempDir(), "spool"), "none", "emit"
	agentrun, err := runs.CreateTraces(t.Context(), processortest.NewNopSettings(runs.Type()), runsConfig, exporter)
	must(err)
	redactions := agentredactionprocessor.NewFactory()
	redactionConfig := redactions.CreateDefaultConfig().(*agentredactionprocessor.Config)
	redactionConfig.Key.File = key
	redaction, err := redactions.CreateTraces(t.Context(), processortest.NewNopSettings(redactions.Type()), redactionConfig, agentrun)
	must(err)
	must(exporter.Start(t.Context(), componenttest.NewNopHost()))
	must(agentrun.Start(t.Context(), componenttest.NewNopHost()))
	must(redaction.Start(t.Context(), componenttest.NewNopHost()))

	type run struct {
		name, value string // "" of one that the score counts as left
		tapes       int
	}
	sent := map[string]*run{}
	eachPlanted(func(name, v string, td ptrace.Traces, needles []string) {
		of := ptrace.NewTraces()
		td.CopyTo(of)
		if r.Traces(of, nil); leftIn(of, needles) {
			v = ""
		}
		sent[spanOf(td).TraceID().String()] = &run{name: name, value: v}
		must(redaction.ConsumeTraces(t.Context(), td))
	})
	must(redaction.Shutdown(t.Context()))
	must(agentrun.Shutdown(t.Context())) // passes on what it holds
	must(exporter.Shutdown(t.Context()))

	d, err := deck.Open(t.Context(), deckURL)
	must(err)
	trace := regexp.MustCompile(`[0-9a-f]{32}`)
	eachObject(t, d, func(key string, body []byte) {
		if strings.HasPrefix(key, "quarantine/") {
			t.Errorf("%s", key)
		}
		for _, id := range trace.FindAllString(key, 1) {
			of := sent[id]
			if of == nil {
				t.Errorf("%s is of no trace", key)
				continue
			}
			if of.value != "" && holds(body, of.value) {
				t.Errorf("%s: the value stands in %s", of.name, key)
			}
			if strings.HasSuffix(key, "tape.json") {
				of.tapes++
			}
		}
	})
	for id, of := range sent {
		if of.tapes != 1 {
			t.Errorf("%s, trace %s: %d tapes", of.name, id, of.tapes)
		}
	}
}
