// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/interop/auditrelay"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/modelonly"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle"
)

// forgeFlags are those of a replay of an invocation of a Forge agent.
type forgeFlags struct {
	source, oracle, candidate, output string
}

func (f *forgeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.source, "replay-source", "", "invocation or trace of a Forge agent in --deck, in place of REF; its A2A request is sent again")
	cmd.Flags().StringVar(&f.oracle, "replay-tool-oracle", "", "an oracle file, or the URL of an oracle (with ?run=ID where it has several runs), in place of the tool answers of the tape")
	cmd.Flags().StringVar(&f.candidate, "replay-candidate-model", "", "MODEL or MODEL@URL: model calls go to it, by way of tapedeck, and not to the tape; the command reaches no other host")
	cmd.Flags().StringVar(&f.output, "replay-output", "", "write request, answer, report and audit stream of the replay to this file")
}

// defaultForge is where a Forge agent listens that is not told otherwise.
const defaultForge = "a2a:http://127.0.0.1:8080/"

// refs is what is replayed.
func (f *rerunFlags) refs(args []string) ([]string, error) {
	if f.forge.source == "" {
		return args, nil
	}
	if len(args) > 0 {
		return nil, errors.New("--replay-source stands in the place of a REF")
	}
	if f.input == "none" {
		f.input = defaultForge
	}
	if named := f.forge.candidate; named != "" {
		e, err := modelonly.ParseEndpoint(named, cmp.Or(os.Getenv("OPENAI_BASE_URL"), defaultModels))
		if err != nil {
			return nil, fmt.Errorf("--replay-candidate-model: %w", err)
		}
		f.model, f.modelURL = e.Model, strings.TrimSuffix(e.URL, "/v1")
	}
	return []string{f.forge.source}, nil
}

// toolAnswers are those of the tape, or of the file that is named.
func (r *rerunning) toolAnswers(ctx context.Context) ([]oracle.Entry, error) {
	if named := r.f.forge.oracle; named != "" && !isWeb(named) {
		l, err := r.flags.OneOracle(ctx, named)
		if err != nil {
			return nil, fmt.Errorf("--replay-tool-oracle: %w", err)
		}
		return l.Entries, nil
	}
	return r.recordedCalls(), nil
}

func isWeb(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://")
}

// elsewhere makes what another oracle answers. The command asks tapedeck, which asks that host and no other.
func (r *rerunning) elsewhere(s *replayserver.Server, note func(rerun.Layer, rerun.Asked)) error {
	if named := r.f.forge.oracle; isWeb(named) {
		e, err := rerun.NewEndpoint(named)
		if err != nil {
			return fmt.Errorf("--replay-tool-oracle: %w", err)
		}
		e.Source, e.Token = r.source.Run.RunID, secretenv.Get(tokenVariable)
		e.Note = func(a rerun.Asked) { note(rerun.LayerOracle, a) }
		s.Elsewhere = e
	}
	return nil
}

// variables are those that Forge reads: the candidate answers, and no fallback does in its place.
func (f *forgeFlags) variables() (list []rerun.Variable) {
	if f.source == "" {
		return nil
	}
	if f.candidate != "" {
		model, _, _ := strings.Cut(f.candidate, "@http")
		list = append(list, rerun.Variable{Name: "MODEL_NAME", Value: model})
	}
	return append(list, rerun.Variable{Name: "FORGE_MODEL_FALLBACKS", Unset: true})
}

// replayEvent is the subject of the audit records of replays. Those of production have another, and a process is one or the other as a whole.
const replayEvent = "replayEvent"

// auditTap passes the errors of a command on and keeps the audit records among them: every Forge agent writes them there.
type auditTap struct {
	w io.Writer

	mu    sync.Mutex
	line  []byte
	long  bool // the line exceeds what is kept of one
	bytes int
	lines []string
	lost  int
}

// Bounds of what is kept: bytes of a line, and of all.
const (
	maxAuditLine = 1 << 20
	maxAudit     = 64 << 20
)

// Write implements io.Writer.
func (a *auditTap) Write(b []byte) (int, error) {
	a.mu.Lock()
	for rest := b; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if a.long = a.long || len(a.line)+len(part) > maxAuditLine; !a.long {
			a.line = append(a.line, part...)
		}
		if ended {
			a.end()
		}
		rest = after
	}
	a.mu.Unlock()
	return a.w.Write(b)
}

func (a *auditTap) end() {
	line, long := string(a.line), a.long
	a.line, a.long = a.line[:0], false
	if long {
		a.lost++ // it may have been one
		return
	}
	if _, ok := auditrelay.IsRecord([]byte(line)); !ok {
		return
	}
	if a.bytes += len(line); a.bytes > maxAudit {
		a.lost++
		return
	}
	a.lines = append(a.lines, line)
}

// into gives the records to the evidence of the replay.
func (a *auditTap) into(in *ingest.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.line) > 0 {
		a.end()
	}
	for i, line := range a.lines {
		_ = in.Add(otlpfile.Document{Signal: otlpfile.SignalAudit, Name: "stderr", Line: i + 1, Audit: line}) // what cannot be read as a record is none
	}
}

// published is a record as it goes out.
type published struct {
	Subject     string `json:"subject"`
	ReplayRunID string `json:"replay_run_id"`
	Line        string `json:"line"`
	Redacted    bool   `json:"redacted,omitempty"`
}

// forgeReplay is the file of --replay-output.
type forgeReplay struct {
	Kind          string        `json:"kind"`
	SchemaVersion string        `json:"schema_version"`
	ReplayRunID   string        `json:"replay_run_id"`
	Source        forgeSource   `json:"source"`
	Candidate     string        `json:"candidate_model,omitempty"`
	Oracle        string        `json:"oracle"`
	Request       string        `json:"request"`
	Answer        *string       `json:"answer,omitempty"`
	Report        *rerun.Report `json:"report"`
	Events        []published   `json:"events"`
	EventsLost    int           `json:"events_lost,omitempty"`
}

type forgeSource struct {
	ID           string `json:"id"`
	RunID        string `json:"run_id"`
	TraceID      string `json:"trace_id"`
	InvocationID string `json:"invocation_id,omitempty"`
}

// output writes --replay-output. What the agent said is redacted, as the tape of the replay is; the chain of the records was checked before.
func (r *rerunning) output(report *rerun.Report, turn *turned, redactor *redact.Redactor) error {
	if r.f.forge.output == "" {
		return nil
	}
	hide := func(text string) string {
		if redactor == nil {
			return text
		}
		return redactor.String("", text, nil)
	}
	run := &r.source.Run
	doc := forgeReplay{
		Kind: "tapedeck.forge-replay", SchemaVersion: "1.0", ReplayRunID: r.f.id, Candidate: r.f.forge.candidate, Oracle: cmp.Or(r.f.forge.oracle, "tape"),
		Source:  forgeSource{ID: cmp.Or(r.f.forge.source, run.RunID), RunID: run.RunID, TraceID: run.TraceID, InvocationID: run.InvocationID},
		Request: turn.request, Report: report, Events: []published{}, EventsLost: turn.audit.lost,
	}
	if turn.reply != nil {
		answer := hide(*turn.reply)
		doc.Answer = &answer
	}
	for _, line := range turn.audit.lines {
		hidden := hide(line)
		doc.Events = append(doc.Events, published{replayEvent, r.f.id, hidden, hidden != line})
	}
	body, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.f.forge.output, append(body, '\n'), 0o600)
}
