// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/formats"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// toStdout is the -o that means standard output.
const toStdout = "-"

type exportFlags struct {
	refs
	format, out  string
	flat, losses bool
	asJSON       bool
	options      interop.Options

	snapshots, results string // of waza
	into               string // a project

	allowDirty bool
	watch      scrub.Watch
}

func newExport() *cobra.Command {
	var f exportFlags
	names := strings.Join(formats.Names(func(f *interop.Format) bool { return f.Encode != nil }), ", ")
	cmd := &cobra.Command{
		Use:   "export REF… --format NAME",
		Short: "Write tapes in the format of another tool",
		Long: `Write tapes in the format of another tool: ` + names + `.
docs/formats.md says what each format keeps of a tape.

` + refHelp + `A deck stands for all its current tapes.

With -o DIR each tape becomes DIR/<run id>/<name>, under the name that the format
demands, and a line on stdout counts what was lost; with --json it names each. DIR may be a URL like
those of decks. With --flat the files lie in DIR itself: the snapshots of waza are
numbered per test id, and a run keeps its number; other names begin with the run
id. A file that is there already stays; if its content differs, that is an error.
--snapshot DIR is short for --format waza --flat -o DIR, as waza run has it; --results
FILE also writes the results.json that names the snapshots.
--into PROJECT writes where the other tool looks, under the name that it gives:
PROJECT/.aiwg/provenance/snapshots/{workflow_id}-{timestamp}.json (--format aiwg).
Without -o the file itself goes to stdout and a line about the losses to stderr,
with --losses one line for each.

A tape that holds what redaction should have replaced is not written: --allow-dirty
writes it all the same.

The exit code is 0 if every tape was written. It is 1 if the format could not hold
some of them or they hold secrets, 2 if a tape could not be loaded or nothing was
written.`,
		Example: `  tapedeck export ./tape.json --format waza > snapshot.json
  tapedeck export s3://tapes/prod --format waza -o ./snapshots --json | jq .losses
  tapedeck export 4bf92f35 --deck ./deck --format waza
  tapedeck export ./deck --format waza --flat -o ./snapshots && tapedeck replay ./snapshots/*.json`,
		Args: needArgs("a REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "", "the format: "+names+" (required)")
	cmd.Flags().StringVarP(&f.out, "out", "o", toStdout, `a folder, a URL like that of a deck, or "-" for stdout`)
	f.add(cmd, "ID")
	f.addUnverified()
	cmd.Flags().BoolVar(&f.flat, "flat", false, "no folder per run: all files lie in DIR, no two with one name")
	cmd.Flags().StringVar(&f.snapshots, "snapshot", "", "as waza run --snapshot: --format waza --flat -o DIR")
	cmd.Flags().StringVar(&f.into, "into", "", "the folder of a project: write where the other tool looks (--format aiwg)")
	cmd.Flags().StringVar(&f.results, "results", "", "with --format waza and -o DIR: write the results.json of the evaluation, which names the snapshots, to this file")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "with -o: print a line of JSON for each tape, with every loss")
	cmd.Flags().BoolVar(&f.losses, "losses", false, "without -o: name every loss on stderr")
	cmd.Flags().BoolVar(&f.allowDirty, "allow-dirty", false, "also write tapes that hold what redaction should have replaced")
	cmd.Flags().StringSliceVar(&f.options.EnvAllow, "env-allow", nil, `environment variables that may be written: names, or "PREFIX*" (default none)`)
	return cmd
}

func (f *exportFlags) run(ctx context.Context, refs []string, stdout, stderr io.Writer) (err error) {
	if f.snapshots != "" {
		if f.format != "" && f.format != waza.Format.Name || f.out != toStdout {
			return errors.New("--snapshot DIR stands for --format waza --flat -o DIR")
		}
		f.format, f.out, f.flat = waza.Format.Name, f.snapshots, true
	}
	if f.results != "" && (f.format != waza.Format.Name || f.out == toStdout) {
		return errors.New("--results goes with --format waza and -o DIR")
	}
	format, err := pickFormat("export", f.format, func(f *interop.Format) bool { return f.Encode != nil })
	if err != nil {
		return err
	}
	if f.into != "" {
		if format.Home == "" || f.flat || f.out != toStdout {
			return errors.New("--into PROJECT goes with --format aiwg, without --flat and -o")
		}
		base, query := replay.SplitURL(f.into)
		f.out, f.flat = base+"/"+format.Home+query, true
	}
	if f.flat && f.out == toStdout {
		return errors.New("--flat goes with -o DIR")
	}
	out, err := openOutput(ctx, f.out, stdout)
	if err != nil {
		return err
	}
	out.losses, out.json = f.losses, f.asJSON
	var flat *flatNames
	if f.flat {
		if flat, err = newFlatNames(ctx, out.store, format, f.into != ""); err != nil {
			return fmt.Errorf("-o: %w", err)
		}
	}
	defer func() { err = errors.Join(err, out.close()) }()
	code, written := exitOK, 0
	var results []waza.Exported
	for _, ref := range refs {
		for at, err := range f.Resolve(ctx, ref, replay.WholeDeck) {
			if err != nil {
				return err
			}
			t, options, err := f.load(ctx, format, at)
			if dirty := (*dirtyTape)(nil); errors.As(err, &dirty) {
				code = max(code, exitPartial)
				complain(stderr, dirty)
				continue
			}
			if err != nil {
				if out.store == nil || ctx.Err() != nil {
					return err
				}
				code = exitFailed
				complain(stderr, err)
				continue
			}
			name := t.Run.RunID + "/" + format.FileName(t)
			if flat != nil {
				name, options.RunNumber = flat.name(t, func(number int) []byte {
					options.RunNumber = number
					body, _, _ := format.Encode(t, oracle.FromTape(t), options)
					return body
				})
			}
			body, losses, err := format.Encode(t, oracle.FromTape(t), options)
			if err != nil {
				code = max(code, exitPartial)
				complain(stderr, fmt.Errorf("%s: %w", at, err))
				continue
			}
			if out.store == nil && written > 0 && !format.Lines {
				return fmt.Errorf("%s stands for several tapes, which cannot stand in one %s file; use -o DIR", ref, format.Name)
			}
			written++
			if f.results != "" {
				results = append(results, waza.Exported{Path: strings.TrimRight(f.out, "/") + "/" + name, Snapshot: body, Usage: t.Usage})
			}
			report := conversion{RunID: t.Run.RunID, Format: format.Name, Losses: losses}
			if err := out.put(ctx, stderr, report, []outputFile{{name, body, format.ContentType}}); err != nil {
				return err
			}
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	if written == 0 {
		return errors.New("nothing was written")
	}
	if f.results != "" {
		body, err := waza.Results(results)
		if err == nil {
			err = os.WriteFile(f.results, body, 0o600)
		}
		if err != nil {
			return fmt.Errorf("--results: %w", err)
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// dirtyTape says that a tape is not written, because it holds what redaction should have replaced.
type dirtyTape struct {
	at      replay.Location
	exposed *scrub.Exposure
}

func (e *dirtyTape) Error() string {
	return fmt.Sprintf("%s: not written: %s; --allow-dirty writes it all the same", e.at, e.exposed)
}

// load reads a tape, and what its deck knows of the run beside it. A *dirtyTape is an error unless it is
// allowed.
func (f *exportFlags) load(ctx context.Context, format *interop.Format, at replay.Location) (t *tape.Tape, o interop.Options, err error) {
	o = f.options
	t, data, err := f.Open(ctx, &at)
	if err != nil {
		return nil, o, err
	}
	if format.Replays {
		o.ReplayStatus, err = replay.StatusOf(ctx, at)
	}
	if err == nil && format.FromEvidence && at.Ref.InDeck() {
		o.Evidence, err = evidenceOf(ctx, at, t)
	}
	if err != nil || f.allowDirty {
		return t, o, err
	}
	exposed, err := f.watch.HandOn(t, data, o.Evidence, at.Ref.InDeck())
	if exposed != nil {
		err = &dirtyTape{at, exposed}
	}
	return t, o, err
}

// evidenceOf reads the parts of the traces that a tape was derived from: those of its own location, those of the runs for a joined one.
func evidenceOf(ctx context.Context, at replay.Location, t *tape.Tape) (parts [][]byte, err error) {
	d, err := deck.New(ctx, at.Store, at.Ref.DeckURL) // resolve closes the store
	if err != nil {
		return nil, err
	}
	locations := []deck.Location{at.Ref.Location}
	if at.Ref.Location.Area == deck.AreaJoined {
		locations = nil
		for _, id := range t.Sources.TraceIDs {
			location := at.Ref.Location
			location.Area, location.TraceID = deck.AreaRuns, id
			locations = append(locations, location)
		}
	}
	for _, location := range locations {
		digests, err := d.Parts(ctx, location)
		if err != nil {
			return nil, err
		}
		for _, digest := range digests {
			part, err := d.ReadPart(ctx, location, digest)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// pickFormat returns the format of a flag.
func pickFormat(command, name string, able func(*interop.Format) bool) (*interop.Format, error) {
	if name == "" {
		return nil, fmt.Errorf("%s needs --format: %s", command, strings.Join(formats.Names(able), ", "))
	}
	f, err := formats.ByName(name)
	if err != nil {
		return nil, fmt.Errorf("--format: %w", err)
	}
	if !able(f) {
		return nil, fmt.Errorf("--format %s: %s is not possible; it is for %s", name, command, strings.Join(formats.Names(able), ", "))
	}
	return f, nil
}

// conversion is the line about one run. The order of its fields is part of the contract.
type conversion struct {
	RunID  string         `json:"run_id"`
	Format string         `json:"format"`
	Files  []string       `json:"files"`
	Losses []interop.Loss `json:"losses"`
}

// outputFile is one file of a conversion.
type outputFile struct {
	key         string
	body        []byte
	contentType string
}

// output is where a conversion writes: a store, or stdout when store is nil. Output for stdout is held back until everything is
// known to be good.
type output struct {
	address string
	store   deck.Store
	stdout  io.Writer
	held    bytes.Buffer
	losses  bool // name them all
	json    bool // report in JSON
}

func openOutput(ctx context.Context, address string, stdout io.Writer) (*output, error) {
	o := &output{address: address, stdout: stdout}
	if address == toStdout {
		return o, nil
	}
	if strings.HasPrefix(address, "mem:") {
		return nil, replay.ErrMem
	}
	store, err := deck.OpenStore(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("-o: %w", err)
	}
	o.store = store
	return o, nil
}

// put writes the files of one run and reports them on stdout; on stdout itself only the first file is written, and the losses go to stderr.
func (o *output) put(ctx context.Context, stderr io.Writer, report conversion, files []outputFile) error {
	if o.store == nil {
		o.held.Write(files[0].body)
		sayLosses(stderr, report.Losses, o.losses)
		return nil
	}
	base, query := replay.SplitURL(o.address)
	for _, f := range files {
		url := base + "/" + f.key + query
		created, err := o.store.PutNew(ctx, f.key, f.body, cmp.Or(f.contentType, "application/json"))
		if err != nil {
			return fmt.Errorf("write %s: %w", url, err)
		}
		if !created {
			if there, err := o.store.Get(ctx, f.key); err != nil {
				return fmt.Errorf("read %s: %w", url, err)
			} else if !bytes.Equal(there, f.body) {
				return fmt.Errorf("%s is there already, with other content", url)
			}
		}
		report.Files = append(report.Files, url)
	}
	if o.json {
		if report.Losses == nil {
			report.Losses = []interop.Loss{}
		}
		return writeJSON(o.stdout, report)
	}
	kept := "nothing is lost"
	if len(report.Losses) > 0 {
		kept = "not as it was: " + countLosses(report.Losses)
	}
	_, err := fmt.Fprintf(o.stdout, "%s  %s  %s  %s\n", deck.ShortID(report.RunID), report.Format, strings.Join(report.Files, " "), kept)
	return err
}

func (o *output) flush() error {
	_, err := o.stdout.Write(o.held.Bytes())
	return err
}

func (o *output) close() error {
	if o.store == nil {
		return nil
	}
	return o.store.Close()
}

// countLosses is how many losses of each kind there are.
func countLosses(losses []interop.Loss) string {
	count := map[interop.What]int{}
	for _, l := range losses {
		count[l.What]++
	}
	var counts []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		counts = append(counts, fmt.Sprintf("%d %s", count[what], what))
	}
	return strings.Join(counts, ", ")
}

// sayLosses says what a conversion loses: a line that counts, or one for each.
func sayLosses(stderr io.Writer, losses []interop.Loss, each bool) {
	if len(losses) == 0 {
		return
	}
	if !each {
		say(stderr, "not everything is kept as it was: %s; --losses names each", countLosses(losses))
		return
	}
	for _, l := range losses {
		say(stderr, "%s: %s: %s", l.What, cmp.Or(l.Path, "the document"), l.Reason)
	}
}
