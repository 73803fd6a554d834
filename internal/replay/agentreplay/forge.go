// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle"
)

// Forge is the replay of an invocation of a Forge agent. Its zero value is none.
type Forge struct {
	// Source is the id of the invocation or of its trace; "" where a REF names the run.
	Source string
	// Oracle is an oracle file, or the URL of an oracle, in place of the recorded answers of tools; "" for
	// none. In finds the file.
	Oracle string
	In     *replay.Finder
	// Candidate is MODEL or MODEL@URL of the model that answers; "" for none.
	Candidate string
	// Output is the file for the request, the answer, the report and the audit stream; "" for none.
	Output string
}

func isWeb(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://")
}

// entries are those of the oracle file, where one is named.
func (f *Forge) entries(ctx context.Context) (entries []oracle.Entry, named bool, err error) {
	if f.Oracle == "" || isWeb(f.Oracle) {
		return nil, false, nil
	}
	l, err := f.In.OneOracle(ctx, f.Oracle)
	if err != nil {
		return nil, false, fmt.Errorf("--replay-tool-oracle: %w", err)
	}
	return l.Entries, true, nil
}

// endpoint is the oracle of another process; nil where none is named. The command asks tapedeck, which asks
// that host alone.
func (f *Forge) endpoint(source string, note func(rerun.Asked)) (*rerun.Endpoint, error) {
	if !isWeb(f.Oracle) {
		return nil, nil
	}
	e, err := rerun.NewEndpoint(f.Oracle)
	if err != nil {
		return nil, fmt.Errorf("--replay-tool-oracle: %w", err)
	}
	e.Source, e.Token, e.Note = source, secretenv.Get(rerun.OracleTokenVariable), note
	return e, nil
}

// variables are those that Forge reads. They name the candidate, and allow no fallback.
func (f *Forge) variables() (list []rerun.Variable) {
	if f.Source == "" {
		return nil
	}
	if f.Candidate != "" {
		model, _, _ := strings.Cut(f.Candidate, "@http")
		list = append(list, rerun.Variable{Name: "MODEL_NAME", Value: model})
	}
	return append(list, rerun.Variable{Name: "FORGE_MODEL_FALLBACKS", Unset: true})
}

// replayEvent is the subject of the audit records of a replay. Those of production have another.
const replayEvent = "replayEvent"

// ForgeEvent is an audit record of a replay.
type ForgeEvent struct {
	Subject     string `json:"subject"`
	ReplayRunID string `json:"replay_run_id"`
	Line        string `json:"line"`
	Redacted    bool   `json:"redacted,omitempty"`
}

// ForgeReplay is the content of Forge.Output. Its JSON form is part of the contract.
type ForgeReplay struct {
	Kind          string        `json:"kind"`
	SchemaVersion string        `json:"schema_version"`
	ReplayRunID   string        `json:"replay_run_id"`
	Source        ForgeSource   `json:"source"`
	Candidate     string        `json:"candidate_model,omitempty"`
	Oracle        string        `json:"oracle"`
	Request       string        `json:"request"`
	Answer        *string       `json:"answer,omitempty"`
	Report        *rerun.Report `json:"report"`
	Events        []ForgeEvent  `json:"events"`
	EventsLost    int           `json:"events_lost,omitempty"`
}

// ForgeSource is the run that was replayed.
type ForgeSource struct {
	ID           string `json:"id"`
	RunID        string `json:"run_id"`
	TraceID      string `json:"trace_id"`
	InvocationID string `json:"invocation_id,omitempty"`
}

// write writes Output. What the agent said is redacted, as the tape of the replay is. The chain of the audit
// records was checked before.
func (f *Forge) write(r *Replay, report *rerun.Report, last *turn) error {
	if f.Output == "" {
		return nil
	}
	run := &r.of.Tape.Run
	doc := ForgeReplay{
		Kind: "tapedeck.forge-replay", SchemaVersion: "1.0", ReplayRunID: r.id, Candidate: f.Candidate, Oracle: cmp.Or(f.Oracle, "tape"),
		Source:  ForgeSource{ID: cmp.Or(f.Source, run.RunID), RunID: run.RunID, TraceID: run.TraceID, InvocationID: run.InvocationID},
		Request: last.request, Report: report, Events: []ForgeEvent{}, EventsLost: last.audit.lost,
	}
	if last.reply != nil {
		answer := r.o.Redaction.text(*last.reply)
		doc.Answer = &answer
	}
	for _, line := range last.audit.lines {
		hidden := r.o.Redaction.text(line)
		doc.Events = append(doc.Events, ForgeEvent{replayEvent, r.id, hidden, hidden != line})
	}
	body, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.Output, append(body, '\n'), 0o600)
}
