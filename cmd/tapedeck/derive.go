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
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

type deriveFlags struct {
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
}

func newDerive() *cobra.Command {
	var f deriveFlags
	cmd := &cobra.Command{
		Use:   "derive FILE… --to DECK",
		Short: "Make tapes from telemetry files",
		Long: `Make tapes from telemetry files and write them to a deck.

FILE is OTLP as JSON, JSON lines or protobuf, also in the form of the collector's
file exporter, plain, gzip or zstd, traces and logs in any order; "-" is stdin.
Audit streams of Forge agents (NDJSON) may be among them: they fill in what the
spans cut.
All files of one call are one body of evidence, as what tapes are made of is called:
it is kept beside them, in parts. Calling it again with the same
or with more files changes or adds only what is new. Runs of one call that span
several traces are joined when they carry the same run-level id, or when each
model request continues the conversation of the one before it.

Secrets and personal data are replaced by keyed tokens before anything is stored,
as the agentredaction processor does it; --redact off stores what the files hold.

One line of JSON per tape goes to stdout, everything else to stderr. The exit
code is 0 if tapes were written, 1 if they were but some input was refused, 2 if
nothing was written.`,
		Example: `  tapedeck derive traces.jsonl logs.jsonl.zst --to ./deck
  tapedeck derive - --to 's3://tapes/prod?region=eu-central-1' < traces.jsonl
  tapedeck derive traces.jsonl --to ./deck | jq -r .url`,
		Args: needArgs("at least one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &derivation{flags: f, stdin: cmd.InOrStdin(), stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
			return c.run(cmd.Context(), args)
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
	cmd.Flags().StringVar(&f.keys, "audit-keys", "", "JWK set with which the signatures of audit streams are checked")
	return cmd
}

// check refuses what cannot work before anything is read.
func (f *deriveFlags) check() error {
	switch {
	case f.to == "":
		return errors.New("derive needs --to DECK")
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

// derivation is one call of derive.
type derivation struct {
	flags          deriveFlags
	stdin          io.Reader
	stdout, stderr io.Writer

	gate     *derive.Gate
	guard    *keyGuard // nil for a deck of its own
	refused  int       // documents, inputs or traces
	written  int       // tapes
	last     string    // the run of the last one
	failures int       // traces in a row that could not be written
}

func (c *derivation) run(ctx context.Context, files []string) (err error) {
	if err := c.flags.check(); err != nil {
		return err
	}
	keys, err := readKeys(c.flags.keys)
	if err != nil {
		return err
	}
	if _, err := c.flags.sign.signer(); err != nil { // before anything is read
		return err
	}
	redactor, err := c.flags.open(c.stderr)
	if err != nil {
		return err
	}
	if c.gate, err = c.flags.gate(); err != nil {
		return err
	}
	layout, err := layoutOf(c.flags.layout)
	if err != nil {
		return err
	}
	d, err := deck.OpenLayout(ctx, c.flags.to, layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	guard := c.flags.guard(d, redactor)
	if err := guard.wholeDeck(ctx, c.flags.tenant, sampledTapes); err != nil {
		return err
	}
	c.guard = &guard
	in := newReceiver(keys, redactor)
	for _, file := range files {
		c.read(ctx, file, in)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	c.audit(in)
	in.input.say(c.stderr)
	if err := c.write(ctx, d, in); err != nil {
		return err
	}
	switch {
	case c.written == 0:
		return errors.New("nothing was written")
	case c.refused > 0:
		return &exitError{code: exitPartial}
	}
	return nil
}

func (c *derivation) read(ctx context.Context, file string, in *receiver) {
	for doc, err := range otlpfile.ReadFile(file, c.stdin, otlpfile.Options{}) {
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.refused++
			complain(c.stderr, err)
			continue
		}
		if err := in.add(doc); err != nil {
			c.refused++
			complain(c.stderr, err)
		}
	}
}

// maxFailures ends the call: when so many traces in a row cannot be written, the next ones cannot either.
const maxFailures = 3

func (c *derivation) write(ctx context.Context, d *deck.Deck, in *receiver) error {
	compress, err := deck.ParseCompression(c.flags.compression)
	if err != nil {
		return err
	}
	d.Compress(compress)
	options := derive.Options{Options: generation.Options{Producer: generation.Producer(), Formats: c.flags.formats, Bounds: c.flags.bounds}, Gate: c.gate}
	if options.Sign, err = c.flags.sign.signer(); err != nil {
		return err
	}
	if d.Layout() == deck.LayoutReels {
		return c.writeReels(ctx, d, options, in)
	}
	w := derive.NewWriter(d, options)
	var stored []*derive.Stored
	store := func(ctx context.Context, t evidence.Trace) (*derive.Stored, error) {
		if err := c.sameKey(ctx, t.TraceID); err != nil {
			return nil, err
		}
		return w.Store(ctx, derive.Request{Tenant: c.flags.tenant, TraceID: t.TraceID, Set: t.Set, Complete: true})
	}
	for t, o := range inOrder(ctx, in.set.Split(), writers, store) {
		if err := c.accept(ctx, in, t.TraceID, o.err); err != nil {
			return err
		}
		if o.err == nil {
			stored = append(stored, o.value)
		}
	}
	joinedRuns := map[string][]string{}
	if !c.flags.noJoin {
		joined, parts, err := w.Join(ctx, stored)
		if err := c.accept(ctx, in, "joined", err); err != nil {
			return err
		}
		joinedRuns = parts
		if err := c.reportAll(joined); err != nil {
			return err
		}
	}
	tapes := func(ctx context.Context, s *derive.Stored) ([]derive.Written, error) {
		return w.Tapes(ctx, s, joinedRuns[s.TraceID])
	}
	for s, o := range inOrder(ctx, stored, writers, tapes) {
		if err := c.accept(ctx, in, s.TraceID, o.err); err != nil {
			return err
		}
		if err := c.reportAll(o.value); err != nil {
			return err
		}
	}
	in.explain(c.stderr)
	return nil
}

// writeReels appends to a deck of reels. Every trace gives the tapes of its own evidence; then the traces of the call are joined, as `tapedeck join` does it.
func (c *derivation) writeReels(ctx context.Context, d *deck.Deck, options derive.Options, in *receiver) error {
	w := derive.NewReelWriter(d, options, reel.DefaultLimits)
	defer w.Close()
	type delivered struct {
		written []derive.Written
		stored  *derive.Stored
	}
	deliver := func(ctx context.Context, t evidence.Trace) (out delivered, err error) {
		if err := c.sameKey(ctx, t.TraceID); err != nil {
			return out, err
		}
		out.stored, out.written, err = w.Deliver(ctx, derive.Request{Tenant: c.flags.tenant, TraceID: t.TraceID, Set: t.Set, Complete: true})
		return out, err
	}
	var runs []*derive.Stored
	for t, o := range inOrder(ctx, in.set.Split(), reelWriters, deliver) {
		if err := c.accept(ctx, in, t.TraceID, o.err); err != nil {
			return err
		}
		if err := c.reportAll(o.value.written); err != nil {
			return err
		}
		if s := o.value.stored; s != nil && s.Placement.Area == deck.AreaRuns {
			runs = append(runs, s)
		}
	}
	in.explain(c.stderr)
	if c.flags.noJoin || len(runs) < 2 {
		return nil
	}
	for i, s := range runs {
		loaded, err := w.Load(ctx, s.Tenant, deck.Location{Area: deck.AreaRuns, Tenant: s.Tenant, TraceID: s.TraceID})
		if err != nil {
			return err
		}
		runs[i] = loaded
	}
	joined, _, err := w.Join(ctx, runs)
	if err := c.accept(ctx, in, "joined", err); err != nil {
		return err
	}
	return c.reportAll(joined)
}

// sameKey compares the key with that of the evidence of a trace that is there already. Replays that lie there are compared as part of the
// deck.
func (c *derivation) sameKey(ctx context.Context, trace string) error {
	if c.guard == nil {
		return nil
	}
	for _, area := range []deck.Area{deck.AreaRuns, deck.AreaUndecided} {
		if err := c.guard.trace(ctx, deck.Location{Area: area, Tenant: c.flags.tenant, TraceID: trace}); err != nil {
			return err
		}
	}
	return nil
}

// accept takes note of what the writing of one trace gave, and ends the call when the deck cannot be written at all.
func (c *derivation) accept(ctx context.Context, in *receiver, trace string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, generation.ErrNoRun):
		in.left[trace] = err.Error()
		return nil
	}
	delete(in.left, trace)
	if err == nil {
		c.failures = 0
		return nil
	}
	c.refused++
	if errors.Is(err, errKeyChange) {
		c.failures = 0
		complain(c.stderr, err)
		return nil
	}
	if q := (*derive.QuarantineError)(nil); errors.As(err, &q) {
		c.failures = 0
		complain(c.stderr, q)
		return nil
	}
	c.failures++
	complain(c.stderr, fmt.Errorf("trace %s: %w", trace, err))
	if deck.IsPermanent(err) && isStoreError(err) || c.failures == maxFailures {
		return errors.New("the deck cannot be written; the remaining traces were left out")
	}
	return nil
}

func (c *derivation) reportAll(tapes []derive.Written) error {
	for _, t := range tapes {
		if err := reportTape(c.stdout, t); err != nil {
			return err
		}
		c.written++
		c.last = t.RunID
	}
	return nil
}

// writers is how many traces are written at a time: most of the time of a trace is spent waiting for the store.
const writers = 8

// reelWriters is the same for a deck of reels: traces that come together share an object, and wait for each other.
const reelWriters = 512

// outcome is what the work on one item gave.
type outcome[T any] struct {
	value T
	err   error
}

// inOrder works on the items, so many at a time, and yields the outcomes in the order of the items. It returns when all work that was
// begun has ended.
func inOrder[I, T any](ctx context.Context, items []I, writers int, work func(context.Context, I) (T, error)) iter.Seq2[I, outcome[T]] {
	return func(yield func(I, outcome[T]) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var begun []chan outcome[T]
		for i, item := range items {
			for len(begun) < min(writers, len(items)-i) {
				next := items[i+len(begun)]
				done := make(chan outcome[T], 1)
				begun = append(begun, done)
				running.Go(func() {
					value, err := work(ctx, next)
					done <- outcome[T]{value, err}
				})
			}
			if !yield(item, <-begun[0]) {
				return
			}
			begun = begun[1:]
		}
	}
}

func isStoreError(err error) bool {
	var e *deck.StoreError
	return errors.As(err, &e)
}

// reportTape writes the line of a tape that was written. The order of its fields is part of the contract.
func reportTape(stdout io.Writer, t derive.Written) error {
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

// receiver is the evidence of one call and what does not become evidence.
type receiver struct {
	set     *evidence.Set
	input   inputRedactor
	audit   *forgeaudit.Stream
	left    map[string]string // trace ids that hold no run, and the error that says so
	noTrace int               // spans and records that belong to no trace
	other   int               // documents of metrics or profiles
}

func newReceiver(keys forgeaudit.Keys, r *redact.Redactor) *receiver {
	return &receiver{set: evidence.NewSet(), input: inputRedactor{redactor: r}, audit: forgeaudit.New(keys), left: map[string]string{}}
}

func (in *receiver) add(doc otlpfile.Document) error {
	switch doc.Signal {
	case otlpfile.SignalTraces:
		for _, rs := range doc.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					in.see(span.TraceID())
				}
			}
		}
		in.input.traces(doc.Traces)
		in.set.AddTraces(doc.Traces)
	case otlpfile.SignalLogs:
		in.addLogs(doc.Logs)
	case otlpfile.SignalAudit:
		if err := in.audit.Add(doc.Name, doc.Line, doc.Audit); err != nil {
			return &otlpfile.Error{Name: doc.Name, Line: doc.Line, Err: err}
		}
	default:
		in.other++
	}
	return nil
}

func (in *receiver) addLogs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				in.see(evidence.TraceOfRecord(sl.Scope().Name(), record))
			}
		}
	}
	in.input.logs(ld)
	in.set.AddLogs(ld)
}

func (in *receiver) see(id pcommon.TraceID) {
	if id.IsEmpty() {
		in.noTrace++
		return
	}
	in.left[id.String()] = "no run in trace " + id.String() + ": no spans of an agent run"
}

// maxExplained bounds lines that say the same of one thing each.
const maxExplained = 20

// explain says what was read and gave no tape, and why.
func (in *receiver) explain(stderr io.Writer) {
	ids := slices.Sorted(maps.Keys(in.left))
	switch n := len(ids); {
	case n == 1:
		say(stderr, "%s", in.left[ids[0]])
	case n > 1:
		say(stderr, "no run in %d traces: no spans of an agent run; the first one is %s", n, ids[0])
	}
	if in.noTrace > 0 {
		say(stderr, "%d spans or log records have no trace id and were left out", in.noTrace)
	}
	if in.other > 0 {
		say(stderr, "%d documents hold metrics or profiles and were left out", in.other)
	}
}
