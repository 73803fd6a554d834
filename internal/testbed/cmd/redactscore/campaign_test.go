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
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
)

var campaign = flag.Int("redact.every", 17, "every so many of the values of TestNothingPlantedReachesADeck; 1: all")

// Every kind in every place goes the way of evidence: redacted, grouped by trace, through the gate, into a deck. No run is lost to quarantine, and what
// redaction has taken out stands in no object of the deck, in no spelling, also not in what is derived.
func TestNothingPlantedReachesADeck(t *testing.T) {
	r, _, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	r.Seal() // so that the gate trusts it
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	n, written, tapes := uint64(0), 0, 0
	for _, k := range kindsOf() {
		g := newGenerator(n + 1)
		for _, at := range k.places() {
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
			r.Traces(td, nil)
			left := leftIn(td, needles) // counted by the score; the gate has to agree that it finds nothing
			td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.Redaction, r.Marker().String())
			set := evidence.NewSet()
			set.AddTraces(td)
			d, err := deck.Open(t.Context(), "mem://campaign-"+strconv.FormatUint(n, 10))
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Drop("campaign-" + strconv.FormatUint(n, 10))
			w := derive.NewWriter(d, derive.Options{Gate: gate, Formats: derive.KnownFormats()})
			for _, tr := range set.Split() {
				of, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
				if err != nil && !errors.Is(err, derive.ErrNoRun) {
					t.Errorf("%s, %s: %v", k.name, at.name, err)
				}
				tapes += len(of)
			}
			forms := [][]byte{[]byte(v), []byte(inner(v)), []byte(url.QueryEscape(v)), []byte(base64.StdEncoding.EncodeToString([]byte(v)))}
			for o, err := range d.Store().List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				written++
				if strings.HasPrefix(o.Key, "quarantine/") {
					t.Errorf("%s, %s: %s", k.name, at.name, o.Key)
				}
				body, err := d.Store().Get(t.Context(), o.Key)
				if err == nil && deck.IsPacked(body) {
					body, err = deck.Unpack(body)
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, form := range forms {
					if !left && len(v) >= 8 && bytes.Contains(body, form) {
						t.Errorf("%s, %s: the value stands in %s", k.name, at.name, o.Key)
					}
				}
			}
		}
	}
	if written == 0 || tapes == 0 {
		t.Errorf("%d objects, %d tapes", written, tapes)
	}
}
