// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/mcpserver"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
)

// prepare makes the server that answers the calls of the command.
func (r *Replay) prepare(ctx context.Context) error {
	rules, err := r.o.Rules.Read()
	if err != nil {
		return err
	}
	options := oracle.Options{Rules: rules, Verifier: r.o.Verifier}
	if key := r.o.Redaction.Key; options.Verifier == nil && key != nil && key.ID() == r.of.Tape.Redaction.KeyID {
		options.Verifier = key
	}
	model, err := replayserver.ModelOptions(options)
	if err != nil {
		return err
	}
	volatile := replayserver.VolatileOf(r.of.Tape, r.o.Exact)
	if r.o.Candidate == nil { // a real model says other things than the recorded one
		options.Volatile, options.Names = volatile, r.renaming
	}
	model.Volatile, model.Names, model.Served = volatile, r.renaming, r.served
	r.rules, r.mask = model.Rules, model.Mask
	r.normal = oracle.Normal{Rules: model.Rules, Verifier: model.Verifier, Volatile: volatile}
	entries, err := r.entries(ctx, &options)
	if err != nil {
		return err
	}
	config := modelstub.Config{Speed: r.o.speed()}
	if r.o.Candidate != nil {
		config.Upstream = r.o.Candidate.upstream()
		model.Before = max(r.o.ForkAt, 1) // without a fork, no model call is served from the tape
	}
	config.Stub = modelstub.Family(r.of.tapes(), model)
	stub := modelstub.NewHandler(config)
	if len(r.of.tapes()) > 1 {
		options.Prefers = ofItsRun(r.of.tapes(), stub)
	}
	o, err := oracle.New(entries, options)
	if err != nil {
		return err
	}
	r.server = &replayserver.Server{
		LocalOnly: true, Tap: modeltap.New(), Model: stub,
		Oracle: oraclehttp.NewHandler(oraclehttp.Config{
			Library: oraclehttp.Single(r.of.Tape.Run.RunID, o, r.of.names()...), LocalOnly: true, Speed: r.o.speed(),
			Answered: func(_ context.Context, _ string, q *oracle.Query, a *oracle.Answer) {
				r.answered(rerun.LayerOracle, q, a)
			},
			Scope: func() string { return strconv.FormatInt(r.processes.Load(), 10) },
		}),
		MCP: mcpserver.NewHandler(mcpserver.Config{
			Tape: mcpserver.New(r.of.Tape, o, r.of.siblings()...), Answered: func(_ string, q *oracle.Query, a *oracle.Answer) { r.answered(rerun.LayerMCP, q, a) },
		}),
	}
	r.server.Elsewhere, err = r.o.Forge.endpoint(r.of.Tape.Run.RunID, func(a rerun.Asked) { r.note(rerun.LayerOracle, a) })
	return err
}

// note keeps a tool call that was answered.
func (r *Replay) note(layer rerun.Layer, a rerun.Asked) {
	if a.Outcome == oracle.Live {
		layer = rerun.LayerLive
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[layer] = append(r.asked[layer], a)
}

func (r *Replay) answered(layer rerun.Layer, q *oracle.Query, a *oracle.Answer) {
	r.note(layer, rerun.Asked{Tool: q.ToolName, ArgsHash: q.ArgsHash, Outcome: a.Outcome})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policies.Override.Served(a)
}

// served reports whether a tool call was answered from the recording. The model and the server may name the
// tool differently.
func (r *Replay) served(tool, argsHash string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, layer := range []rerun.Layer{rerun.LayerOracle, rerun.LayerMCP} {
		if slices.ContainsFunc(r.asked[layer], func(a rerun.Asked) bool {
			return a.ArgsHash == argsHash && (strings.HasSuffix(tool, a.Tool) || strings.HasSuffix(a.Tool, tool))
		}) {
			return true
		}
	}
	return false
}

// entries are the recorded answers of tools before the fork, with the overlay. Calls behind the fork are
// free.
func (r *Replay) entries(ctx context.Context, tools *oracle.Options) ([]oracle.Entry, error) {
	entries, named, err := r.o.Forge.entries(ctx)
	if err != nil {
		return nil, err
	}
	if !named {
		entries = r.of.calls()
	}
	fork := r.o.ForkAt
	if fork > len(r.of.Tape.Events) {
		return nil, fmt.Errorf("--fork-at %d: the tape has %d events", fork, len(r.of.Tape.Events))
	}
	added := 0
	if r.o.Override != "" {
		data, err := os.ReadFile(r.o.Override)
		if err != nil {
			return nil, fmt.Errorf("--override: %w", err)
		}
		over, err := oracle.Read(data)
		if err != nil {
			return nil, fmt.Errorf("--override %s: %w", r.o.Override, err)
		}
		o := &rerun.Overlay{File: r.o.Override}
		entries, r.policies.Override = o.Lay(entries, over), o
		added = o.Added
	}
	if fork == 0 {
		return entries, nil
	}
	behind := map[[2]string]bool{}
	for _, e := range entries {
		if e.Seq >= fork {
			behind[[2]string{e.ToolName, e.ArgsHash}] = true
		}
	}
	// The overlay knows entries by their index. Those behind the fork are the last ones, so the index of the
	// others stays.
	entries = slices.DeleteFunc(entries, func(e oracle.Entry) bool { return e.Seq >= fork })
	tools.Free = func(q *oracle.Query, unused int) bool {
		return behind[[2]string{q.ToolName, q.ArgsHash}] || unused <= added
	}
	return entries, nil
}

// ofItsRun prefers, for a tool call, the recorded answers of the run whose turn asked for it.
func ofItsRun(tapes []*tape.Tape, stub *modelstub.Handler) func(*oracle.Query) func(*oracle.Entry) bool {
	spans := map[*tape.Tape]map[string]bool{}
	for _, t := range tapes {
		spans[t] = map[string]bool{}
		for i := range t.Events {
			for _, id := range t.Events[i].SpanIDs {
				spans[t][t.Run.TraceID+id] = true
			}
		}
	}
	return func(q *oracle.Query) func(*oracle.Entry) bool {
		t := stub.AskedBy("", q.ToolName, q.ArgsHash)
		if t == nil {
			return nil
		}
		return func(e *oracle.Entry) bool { return spans[t][e.Source.TraceID+e.Source.SpanID] }
	}
}
