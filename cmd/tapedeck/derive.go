// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/why"
	"github.com/tapedeck/tapedeck/tape"
)

type deriveFlags struct {
	explain bool
	redactionFlags
	sign        signFlag
	to          string
	formats     []string
	compression string
	noJoin      bool
	tenant      string
	keys        string
	bounds      generation.Bounds
	layout      string
	lines       lineFlags
	stdout      bool
}

func newDerive() *cobra.Command {
	var f deriveFlags
	cmd := &cobra.Command{
		Use:   "derive FILE… --to DECK | --stdin --stdout",
		Short: "Make tapes from telemetry files",
		Long: `Make tapes from telemetry files and write them to a deck.

FILE is OTLP as JSON, JSON lines or protobuf, also in the form of the collector's
file exporter, plain, gzip or zstd, traces and logs in any order; "-" is stdin.
Audit streams of Forge agents (NDJSON) may be among them: they fill in what the
spans cut. Files of other programs that docs/import.md names are read as well.
All files of one call are one body of evidence, as what tapes are made of is called:
it is kept beside them, in parts. Calling it again with the same
or with more files changes or adds only what is new. Runs of one call that span
several traces are joined when they carry the same run-level id, or when each
model request continues the conversation of the one before it.

Secrets and personal data are replaced by keyed tokens before anything is stored,
as the agentredaction processor does it; --redact off stores what the files hold.

With --stdin requests come as lines of JSON instead: the evidence of one trace each, as
decks hold it. --stdout answers each with its tapes, columns and files, and needs no
deck. --to puts reels into one, the same for the same requests. This is how an engine
works over a deck; docs/scale-out.md has the lines. Nothing is redacted there.

One line per tape goes to stdout, of JSON unless that is a terminal, everything else to stderr. The exit
code is 0 if tapes were written, 1 if they were but some input was refused, 2 if
nothing was written.`,
		Example: `  tapedeck derive traces.jsonl logs.jsonl.zst --to ./deck
  tapedeck derive - --to 's3://tapes/prod?region=eu-central-1' < traces.jsonl
  tapedeck derive traces.jsonl --to ./deck | jq -r .url`,
		Args: f.lines.args("at least one FILE", "stdout", "to", "formats", "max-items", "max-bytes", "max-parts", "sign-key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.lines.stdin {
				return f.runLines(cmd)
			}
			return f.run(cmd.Context(), args, cmd.InOrStdin(), tapeLines(cmd), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "the deck: a folder, file://, s3://, gs:// or azblob:// (required)")
	cmd.Flags().StringSliceVar(&f.formats, "formats", generation.DefaultFormats, "files to write for each run")
	cmd.Flags().StringVar(&f.compression, "compression", "none", "of these files: none or zstd")
	f.redactionFlags.add(cmd)
	f.sign.add(cmd)
	cmd.Flags().BoolVar(&f.noJoin, "no-join", false, "write one tape per run and trace, as the collector does")
	cmd.Flags().StringVar(&f.tenant, "tenant", "default", "the tenant to which the runs belong")
	cmd.Flags().IntVar(&f.bounds.Items, "max-items", generation.DefaultBounds.Items, "spans and log records of one trace that its tapes are made of, the earliest")
	cmd.Flags().Int64Var(&f.bounds.Bytes, "max-bytes", generation.DefaultBounds.Bytes, "bytes of content, likewise")
	cmd.Flags().IntVar(&f.bounds.Parts, "max-parts", generation.DefaultBounds.Parts, "parts of one trace that are read")
	cmd.Flags().StringVar(&f.layout, "layout", "", "how a new deck keeps its runs: files, or reels for many (default: files; a deck that is there keeps its layout)")
	cmd.Flags().BoolVar(&f.explain, "explain", false, "write each decision of the rules of reconstruction to stderr")
	f.lines.add(cmd.Flags(), "answer them on stdout or put reels into --to")
	cmd.Flags().BoolVar(&f.stdout, "stdout", false, "with --stdin, answer with tapes, columns and files, without a deck")
	cmd.Flags().StringVar(&f.keys, "audit-keys", "", "JWK set with which the signatures of audit streams are checked")
	return cmd
}

// check refuses what cannot work before anything is read.
func (f *deriveFlags) check() error {
	switch {
	case (f.to == "") != f.stdout, f.stdout && !f.lines.stdin:
		return errors.New("derive needs --to DECK, or --stdin and --stdout")
	case strings.HasPrefix(f.to, "mem:"):
		return replay.ErrMem
	case f.tenant == "":
		return errors.New("--tenant is empty")
	case f.bounds.Items < 1 || f.bounds.Bytes < 1 || f.bounds.Parts < 1:
		return errors.New("--max-items, --max-bytes and --max-parts must be at least 1")
	}
	if _, err := deck.ParseCompression(f.compression); err != nil {
		return fmt.Errorf("--compression: %w", err)
	}
	if _, err := layoutOf(f.layout); err != nil {
		return err
	}
	return checkFormats(f.formats)
}

// layoutOf is the layout that --layout names; none if it is that of the deck.
func layoutOf(name string) (deck.Layout, error) {
	switch name {
	case "":
		return "", nil
	case "files":
		return deck.LayoutFiles, nil
	case "reels":
		return deck.LayoutReels, nil
	}
	return "", fmt.Errorf("--layout must be files or reels, not %q", name)
}

func checkFormats(formats []string) error {
	if err := (generation.Options{Formats: formats}).Validate(); err != nil {
		return fmt.Errorf("--formats: %w", err)
	}
	if !slices.Contains(formats, generation.FormatTape) {
		return fmt.Errorf("--formats must contain %q", generation.FormatTape)
	}
	return nil
}

func (f *deriveFlags) run(ctx context.Context, files []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	keys, err := readKeys(f.keys)
	if err != nil {
		return err
	}
	sign, err := f.sign.signer() // before anything is read
	if err != nil {
		return err
	}
	redactor, err := f.open(stderr)
	if err != nil {
		return err
	}
	gate, err := f.gate()
	if err != nil {
		return err
	}
	layout, err := layoutOf(f.layout)
	if err != nil {
		return err
	}
	compress, err := deck.ParseCompression(f.compression)
	if err != nil {
		return err
	}
	d, err := deck.OpenLayout(ctx, f.to, layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	guard := f.guard(d, redactor)
	if err := guard.wholeDeck(ctx, f.tenant, sampledTapes); err != nil {
		return err
	}
	far := newProgressLine(stderr)
	w := &ingest.Writer{
		Options: derive.Options{Options: generation.Options{Formats: f.formats, Bounds: f.bounds, Sign: sign, Explained: f.explained(stderr)}, Gate: gate},
		Tenant:  f.tenant, Compress: compress, NoJoin: f.noJoin, SameKey: guard.trace,
		Say: func(format string, args ...any) {
			far.clear()
			say(stderr, format, args...)
		},
	}
	w.Wrote = func(t derive.Written) error {
		if isTerminal(stdout) { // where each tape has its line
			far.clear()
		} else {
			far.show("%d tapes written", w.Written)
		}
		return reportTape(stdout, t)
	}
	defer far.clear()
	heapgoal.StartHolding() // a run may go on in the last trace, so all of them are held until they are joined
	in := ingest.NewBatch(keys, redactor)
	read := 0
	for _, file := range files {
		w.Read(ctx, in, func(yield func(otlpfile.Document, error) bool) {
			for doc, err := range foreign.ReadFile(file, stdin, otlpfile.Options{}) {
				read++
				far.show("%d requests read", read)
				if !yield(doc, err) {
					return
				}
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	far.clear()
	w.CloseAudit(in)
	sayRedacted(stderr, &in.Redactor)
	if err := w.Write(ctx, d, in); err != nil {
		return err
	}
	switch {
	case w.Written == 0:
		return errors.New("nothing was written")
	case w.Refused > 0:
		return &exitError{code: exitPartial}
	}
	return nil
}

// explained writes the decisions about each run to stderr, if they are asked for.
func (f *deriveFlags) explained(stderr io.Writer) func(reconstruct.Explanation) {
	if !f.explain {
		return nil
	}
	var one sync.Mutex
	return func(e reconstruct.Explanation) {
		one.Lock()
		defer one.Unlock()
		say(stderr, "run %s", e.Tape.Run.RunID)
		for _, line := range why.Lines(e) {
			say(stderr, "%s", line)
		}
	}
}

// sayRedacted says what was redacted.
func sayRedacted(stderr io.Writer, r *ingest.Redactor) {
	if text := r.Summary(); text != "" {
		say(stderr, "%s", text)
	}
}

// tapeLines is where lines of tapes go: standard output, which is no terminal for whoever asks for JSON.
func tapeLines(cmd *cobra.Command) io.Writer {
	if cmd.Flags().Changed("json") {
		return struct{ io.Writer }{cmd.OutOrStdout()}
	}
	return cmd.OutOrStdout()
}

// reportTape writes the line of a tape that was written: at a terminal for a person, else JSON, the order of
// whose fields is part of the contract.
func reportTape(stdout io.Writer, t derive.Written) error {
	if isTerminal(stdout) {
		_, err := fmt.Fprintf(stdout, "%s  %s  %s  events: %d, tool calls: %d, findings: %d\n",
			deck.ShortID(t.RunID), t.Status, t.Grade, t.Events, t.ToolCalls, t.Findings)
		return err
	}
	return writeJSON(stdout, struct {
		RunID     string         `json:"run_id"`
		TraceID   string         `json:"trace_id"`
		URL       string         `json:"url"`
		Status    tape.RunStatus `json:"status"`
		Grade     tape.Grade     `json:"grade"`
		Events    int            `json:"events"`
		ToolCalls int            `json:"tool_calls"`
		Findings  int            `json:"findings"`
	}{t.RunID, t.TraceID, t.URL, t.Status, t.Grade, t.Events, t.ToolCalls, t.Findings})
}

// writeJSON writes a value as one line, in one call.
func writeJSON(stdout io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := stdout.Write(b.Bytes())
	return err
}
