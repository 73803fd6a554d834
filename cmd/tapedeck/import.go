// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/formats"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape"
)

type importFlags struct {
	format, out string
	losses      bool
	asJSON      bool
	options     interop.Options

	to, layout string
	filter     runFilter
	sign       signFlag
	redactionFlags
}

func newImport() *cobra.Command {
	var f importFlags
	names := strings.Join(formats.Names(func(f *interop.Format) bool { return f.Decode != nil }), ", ")
	cmd := &cobra.Command{
		Use:   "import FILE… | import FILE|FOLDER… --to DECK | import DECK --to DECK2",
		Short: "Read files of another tool as tapes, or carry a deck into another one",
		Long: `Read files of another tool as tapes: ` + names + `.
docs/formats.md says what each format holds of a tape.

FILE is a path, a URL like file:// or s3://, or "-" for stdin.

With -o DIR each run becomes DIR/<run id>/tape.json and oracle.json, and a line
on stdout counts what was lost; with --json it names each. DIR may be a URL like those of decks. Without
-o the tape itself goes to stdout and a line about the losses to stderr, with
--losses one line for each. Losses are exact: they are what export would write
differently.

With --to DECK, a FILE that another program recorded of a run becomes evidence, and
its tapes are derived as derive does it, redaction included: an export of a tracing
store, a transcript of a coding agent, telemetry. What the file holds tells what it is.
Of a FOLDER all such files below it are read; the others are counted on stderr.
docs/import.md names the formats, and what each holds of a run.

With --to a deck is carried into another one, whatever the layouts and storage
services of the two: evidence and tapes byte for byte, tags, tombstones, holds,
records of replays and the quarantine. A new DECK2 gets the layout that DECK has
not, or --layout. The flags of ls choose among the runs; traces go as a whole.
Called again it goes on where it was stopped, and what is there is not written
again. The last line is JSON: what was read, written, already there and refused;
lines on stderr say why. docs/deck.md says what is carried how.

The exit code is 0 if everything was read, 1 if something was refused, 2 if a file
could not be read, or a deck not be read or written.`,
		Example: `  tapedeck import snapshot.json -o ./tapes
  tapedeck import snapshot.json --format waza | tapedeck show /dev/stdin
  tapedeck import traces.json ./exports --to ./deck
  tapedeck import ./deck --to s3://tapes/prod --layout reels
  tapedeck import s3://tapes/prod --to ./failed --layout files --status error --since 7d`,
		Args: needArgs("a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("to") {
				if err := onlyOfDecks(cmd); err != nil {
					return err
				}
				if ofFiles, err := f.takesFiles(cmd, args); err != nil {
					return err
				} else if ofFiles {
					return f.evidence(cmd, args)
				}
				tenant := ""
				if cmd.Flags().Changed("tenant") {
					tenant = f.options.Tenant
				}
				return f.carry(cmd.Context(), args, tenant, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			if flag := changedOf(cmd, slices.Concat([]string{"layout"}, redactionNames(), filterNames())); flag != "" {
				return fmt.Errorf("--%s is about decks, and needs --to", flag)
			}
			f.options.Producer = generation.Producer()
			return f.run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.format, "format", "", "the format: "+names+" (default: told from the content)")
	cmd.Flags().StringVarP(&f.out, "out", "o", toStdout, `a folder, a URL like that of a deck, or "-" for stdout`)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: with -o each loss, with --to the sums, which are JSON anyway")
	cmd.Flags().BoolVar(&f.losses, "losses", false, "without -o: name every loss on stderr")
	cmd.Flags().BoolVar(&f.options.Strict, "strict", false, "refuse ids and times that are not of the form which the schema of the format names (aiwg)")
	cmd.Flags().StringVar(&f.options.Tenant, "tenant", "default", "the tenant to which the runs belong; with --to: this tenant alone")
	cmd.Flags().StringVar(&f.to, "to", "", "the deck that gets what FILE or another deck holds")
	f.sign.add(cmd)
	cmd.Flags().StringVar(&f.layout, "layout", "", "with --to: how a new deck keeps its runs, files or reels (default: of files as derive, of a deck as it does not)")
	f.redactionFlags.add(cmd)
	f.filter.add(cmd)
	return cmd
}

// siblingOf reads a file that another one names: beside that, else as the name stands.
func siblingOf(file, path string) ([]byte, error) {
	err := fmt.Errorf("%s is no file", path)
	for _, name := range []string{filepath.Join(filepath.Dir(file), path), filepath.Join(filepath.Dir(file), filepath.Base(path)), path} {
		if info, statErr := os.Stat(name); statErr != nil || !info.Mode().IsRegular() {
			continue
		}
		var data []byte
		if data, err = readBounded(name, tape.MaxBytes); err == nil {
			return data, nil
		}
	}
	return nil, err
}

func (f *importFlags) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	var format *interop.Format
	if f.format != "" {
		if format, err = pickFormat("import", f.format, func(f *interop.Format) bool { return f.Decode != nil }); err != nil {
			return err
		}
	}
	out, err := openOutput(ctx, f.out, stdout)
	if err != nil {
		return err
	}
	out.losses, out.json = f.losses, f.asJSON
	defer func() { err = errors.Join(err, out.close()) }()
	for _, file := range args {
		data, err := readInput(ctx, file, stdin)
		if err != nil {
			return err
		}
		format := format
		if format == nil {
			if format = formats.Detect(data); format == nil {
				return fmt.Errorf("%s: its format cannot be told from its content; name it with --format", file)
			}
		}
		options := f.options
		options.Sibling = func(path string) ([]byte, error) { return siblingOf(file, path) }
		runs, err := format.Decode(data, options)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, r := range runs {
			// On stdout nothing lies beside the tape.
			names := []string{generation.FormatTape}
			if out.store != nil {
				names = generation.DefaultFormats
			}
			files, _, err := generation.Files(nil, r.Tape, names)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			outputs := make([]outputFile, len(files))
			for i, f := range files {
				outputs[i] = outputFile{r.Tape.Run.RunID + "/" + f.Name, f.Body, f.ContentType}
			}
			report := conversion{RunID: r.Tape.Run.RunID, Format: format.Name, Losses: r.Losses}
			if err := out.put(ctx, stderr, report, outputs); err != nil {
				return err
			}
		}
	}
	return out.flush()
}

// readInput reads a file that is no tape: a path, the URL of an object, or "-" for stdin.
func readInput(ctx context.Context, file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		data, err := io.ReadAll(io.LimitReader(stdin, deck.MaxObjectBytes+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("read stdin: %w", err)
		case len(data) > deck.MaxObjectBytes:
			return nil, fmt.Errorf("read stdin: more than %d bytes", deck.MaxObjectBytes)
		}
		return data, nil
	}
	if strings.HasPrefix(file, "mem:") {
		return nil, replay.ErrMem
	}
	ref, err := deck.ParseRef(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	data, err := deck.ReadRef(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return data, nil
}
