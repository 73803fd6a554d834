// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/externalcontent"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
)

type resolveFlags struct {
	redactionFlags
	sign    signFlag
	tenant  string
	limit   int
	allow   []string
	dryRun  bool
	object  byteSize
	timeout time.Duration
	formats []string
}

func newResolve() *cobra.Command {
	f := resolveFlags{object: 64 << 20}
	cmd := &cobra.Command{
		Use:   "resolve DECK [ID…] --allow PREFIX",
		Short: "Fetch content that telemetry holds by reference only",
		Long: `Fetch content that telemetry holds by reference only, and make the tapes again.

Instrumentations can upload messages, instructions and tool definitions and leave only
their URI on the span. What these URIs stand for is fetched and added to the evidence
of the deck, and the tapes of those traces are derived again. ID is a run id, a trace
id or its first eight or more digits, or an invocation, task, correlation or
conversation id. Without any, the whole deck is looked at. Calling it again changes
nothing.

References are written by whoever sends telemetry, so only those below an --allow
prefix are fetched: a folder, file://, http://, https://, s3://, gs:// or
azblob://. Secrets and personal data in what is fetched are replaced by tokens
before it is stored, under the profile and key that are given here: name those of
the collectors. --redact off stores it as it is.

One line of JSON per tape goes to stdout, everything else to stderr. The exit
code is 0 if everything was resolved, also when there was nothing to resolve, 1
if some references were not, 2 if the deck cannot be read or written.`,
		Example: `  tapedeck resolve ./deck --allow s3://prompts/prod --redaction-key-file key
  tapedeck resolve ./deck 4bf92f35 --allow https://content.example.com/genai --dry-run`,
		Args: needArgs("a DECK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runResolve(cmd.Context(), args[0], args[1:], f, tapeLines(cmd), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringArrayVar(&f.allow, "allow", nil, "fetch what lies below this folder or URL (repeatable, required)")
	f.redactionFlags.add(cmd)
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "only the runs of this tenant")
	cmd.Flags().IntVar(&f.limit, "search-limit", runs.DefaultLimit, "look at so many traces of the deck at most for an id that is no trace id")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "fetch, but write nothing; the lines say what would be written")
	cmd.Flags().Var(&f.object, "max-bytes", "leave larger objects where they are; a trace takes four times as much")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for one object")
	cmd.Flags().StringSliceVar(&f.formats, "formats", generation.DefaultFormats, "files to write for each run")
	f.sign.add(cmd)
	return cmd
}

func (f resolveFlags) check(address string) error {
	switch {
	case strings.HasPrefix(address, "mem:"):
		return replay.ErrMem
	case len(f.allow) == 0:
		return errors.New("--allow is missing: nothing is fetched that is not allowed")
	case f.limit < 1:
		return replay.ErrSearchLimit
	case f.timeout <= 0:
		return errors.New("--timeout must be positive")
	}
	return checkFormats(f.formats)
}

// objectsPerTrace is how much more than one object a trace may take.
const objectsPerTrace = 4

func runResolve(ctx context.Context, address string, ids []string, f resolveFlags, stdout, stderr io.Writer) (err error) {
	if err := f.check(address); err != nil {
		return err
	}
	policy, err := externalcontent.NewPolicy(f.allow)
	if err != nil {
		return fmt.Errorf("--allow: %w", err)
	}
	sign, err := f.sign.signer()
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
	existing, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, existing.Close()) }()
	guard := f.guard(existing, redactor)
	if err := guard.wholeDeck(ctx, f.tenant, sampledTapes); err != nil {
		return err
	}
	d := existing
	forget := func() {}
	if f.dryRun {
		rehearsal := externalcontent.NewRehearsal(d.Store()) // closed with the deck below it
		forget = rehearsal.Forget
		if d, err = deck.New(ctx, rehearsal, address); err != nil {
			return err
		}
	}
	remote := externalcontent.NewRemote(policy)
	defer func() { err = errors.Join(err, remote.Close()) }()
	r := externalcontent.New(policy, remote, externalcontent.Limits{Object: int64(f.object), Trace: objectsPerTrace * int64(f.object), Timeout: f.timeout})
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer(), Formats: f.formats, Sign: sign}, Gate: gate})
	if redactor != nil {
		r.Redact = func(name, content string) string { return redactor.String(name, content, nil) }
	}
	failed, lost := 0, 0
	refused := func(err error) {
		failed++
		complain(stderr, err)
	}
	queries := make([]runs.Query, len(ids))
	for i, id := range ids {
		queries[i] = runs.Query{ID: id, Tenant: f.tenant, Limit: f.limit}
	}
	for o, err := range r.Deck(ctx, d, w, guard.locations(ctx, externalcontent.Locations(ctx, d, f.tenant, queries), refused)) {
		if err != nil {
			return err
		}
		for _, t := range o.Written {
			if err := reportTape(stdout, t); err != nil {
				return err
			}
		}
		for _, failure := range o.Failures {
			failed++
			complain(stderr, fmt.Errorf("trace %s: %w", o.Location.TraceID, failure))
		}
		forget()
		if o.Err == nil {
			lost = 0
			continue
		}
		failed++
		complain(stderr, fmt.Errorf("trace %s: %w", o.Location.TraceID, o.Err))
		if isStoreError(o.Err) {
			lost++
		}
		if lost == ingest.MaxFailures {
			return errors.New("the deck cannot be read or written; the rest was left out")
		}
	}
	if failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

// byteSize is a flag for a number of bytes, with KiB, MiB or GiB behind it.
type byteSize int64

var byteUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func (b *byteSize) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > deck.MaxObjectBytes || n > math.MaxInt64/unit || n*unit > deck.MaxObjectBytes {
		return fmt.Errorf("want a size from 1B to %s, such as 64MiB", byteSize(deck.MaxObjectBytes).text())
	}
	*b = byteSize(n * unit)
	return nil
}

func (b *byteSize) String() string { return b.text() }

func (b byteSize) text() string {
	for _, u := range byteUnits {
		if int64(b)%u.bytes == 0 && int64(b) >= u.bytes {
			return strconv.FormatInt(int64(b)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

func (*byteSize) Type() string { return "SIZE" }
