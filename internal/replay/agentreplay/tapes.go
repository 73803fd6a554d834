// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

// tapesOf makes the tapes of the replay: of its telemetry, else of what the model stub was asked. A recording
// of the latter kind is compared with a replay of that kind. So is one that a transcript has told, because a
// replay keeps no file of the home folder, and telemetry alone may lack what the model was asked.
func (r *Replay) tapesOf(ctx context.Context, d *deck.Deck, in *ingest.Batch, report *rerun.Report) (tapes []*tape.Tape, err error) {
	if !capture.MadeByTee(r.of.Tape) && !toldByTranscript(r.of.Tape) {
		if tapes, err = r.derive(ctx, d, in); err != nil {
			return nil, err
		}
	}
	if len(tapes) == 0 {
		if tapes, err = r.seen(ctx, d); err != nil {
			return nil, err
		}
		report.Seen = len(tapes) > 0
	}
	var redact func(string) string
	if r.o.Redaction.Redactor != nil {
		redact = r.o.Redaction.text
	}
	shown := r.server.Model.Shown("")
	for i := range tapes {
		tapes[i] = rerun.Told(tapes[i], r.of.tapes(), shown, redact)
	}
	return tapes, nil
}

// toldByTranscript reports a recording that a transcript has told beside telemetry, or alone.
func toldByTranscript(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Sources.Dialects, agentprofile.IsTranscript)
}

// derive writes a batch as the collector does, and returns the tapes of the replay.
func (r *Replay) derive(ctx context.Context, d *deck.Deck, in *ingest.Batch) (tapes []*tape.Tape, err error) {
	tenant := r.of.Tape.Run.Tenant
	w := &ingest.Writer{Options: derive.Options{Options: generation.Options{Sign: r.o.Sign}, Gate: r.o.Redaction.Gate}, Tenant: tenant, Say: r.o.Say}
	w.CloseAudit(in)
	traces := in.Set.Split()
	if err := w.Write(ctx, d, in); err != nil {
		return nil, err
	}
	for _, t := range traces {
		at := deck.Location{Area: deck.AreaReplays, Tenant: tenant, ReplayRunID: r.id, TraceID: t.TraceID}
		g, found, err := d.Current(ctx, at)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		of, err := runs.Tapes(ctx, d, at, g)
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, of...)
	}
	slices.SortStableFunc(tapes, func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	if slices.ContainsFunc(r.of.tapes(), func(t *tape.Tape) bool { return len(t.Run.Joined) > 0 }) { // it is compared with a joined run
		for _, j := range reconstruct.Join(traces, reconstruct.Options{Tenant: tenant, Producer: generation.Producer()}) {
			tapes = append(tapes, j.Tape)
		}
	}
	return tapes, nil
}

// seen makes the tapes of what the model stub was asked, as record --tee does it.
func (r *Replay) seen(ctx context.Context, d *deck.Deck) ([]*tape.Tape, error) {
	t := r.of.Tape
	spans, _ := r.server.Tap.Traces(modeltap.Options{Seed: r.id, Service: t.Run.Service.Name, OneRun: !capture.MadeByTee(t) && rerun.Callers(t) > 1})
	if spans.SpanCount() == 0 {
		return nil, nil
	}
	capture.TagTraces(spans, r.id, t.Run.RunID)
	in := ingest.NewBatch(nil, r.o.Redaction.Redactor)
	if err := in.Add(otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: spans}); err != nil {
		return nil, err
	}
	return r.derive(ctx, d, in)
}
