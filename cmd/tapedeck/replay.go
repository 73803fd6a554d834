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
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

type replayFlags struct {
	refs
	mode, bisect           string
	failOn                 []string
	strict, asJSON, ndjson bool
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay REF…",
		Short: "Check recorded runs against themselves, without running anything",
		Long: `Check recorded runs against themselves, without running a model, a tool or a
grader. REF is a tape or a task snapshot of waza, which gets the checks, exit
codes and documents of waza replay. A tape gets all checks of tapedeck verify, its
proof, and the consistency of the verdicts it holds; all problems are listed.

` + refHelp + `A deck stands for all its current tapes, any other folder for the snapshots and
tapes in it, which are told by their content; what is passed over is counted.

Consistent is not successful: the record of a run that failed can be consistent.
--fail-on-status error,failed makes it an issue too.

--bisect compares the tool calls of one run with those of another, as waza replay
does: names and arguments, up to the first difference.

The exit code is 0 if everything is consistent or equal, 1 if not, 2 if a file
could not be loaded.`,
		Example: `  tapedeck replay snapshot.json --json
  tapedeck replay snapshots/*.json s3://tapes/prod --ndjson | jq 'select(.pass|not)'
  tapedeck replay baseline.json --bisect failing.json`,
		Args: needArgs("a REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &replay{flags: &f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
			return r.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&f.mode, "mode", waza.ModelReplay, "model-replay is the only mode")
	cmd.Flags().StringVar(&f.bisect, "bisect", "", "compare with this run instead; the first one is the baseline")
	cmd.Flags().BoolVar(&f.strict, "strict", true, "also check what graders claim and, of tapes, that every tool call can be served")
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on-status", nil, "statuses of runs that are an issue too: "+strings.Join(statuses, ", "))
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: indented for one run, one line per run for several")
	cmd.Flags().BoolVar(&f.ndjson, "ndjson", false, "print one line of JSON per run, also for one run")
	f.add(cmd, "ID")
	f.addUnverified()
	return cmd
}

// replay is one call of replay.
type replay struct {
	flags          *replayFlags
	stdout, stderr io.Writer
	code           int
	lines          bool // JSON on one line per run
}

func (r *replay) run(ctx context.Context, args []string) error {
	r.flags.asJSON = r.flags.asJSON || r.flags.ndjson
	r.lines = r.flags.ndjson
	if i := slices.IndexFunc(r.flags.failOn, func(s string) bool { return !slices.Contains(statuses, s) }); i >= 0 {
		return fmt.Errorf("--fail-on-status %q is unknown; statuses are %s", r.flags.failOn[i], strings.Join(statuses, ", "))
	}
	if r.flags.bisect != "" {
		return r.compare(ctx, args)
	}
	switch mode := strings.ToLower(r.flags.mode); mode {
	case "", waza.ModelReplay:
	case "live":
		return errors.New("--mode live is not available")
	default:
		return fmt.Errorf("--mode %q is unknown; the mode is %s", r.flags.mode, waza.ModelReplay)
	}
	for _, arg := range args {
		if err := r.checkAll(ctx, arg, len(args) > 1); err != nil {
			return err
		}
	}
	if r.code != exitOK {
		return &exitError{code: r.code}
	}
	return nil
}

// checkAll checks what one argument stands for. A run that is the only one and cannot be loaded ends the call; among several, each run
// has its line.
func (r *replay) checkAll(ctx context.Context, arg string, several bool) error {
	next, stop := iter.Pull2(r.load(ctx, arg))
	defer stop()
	one, err, more := next()
	if !more {
		return fmt.Errorf("%s holds no tape", arg)
	}
	for more {
		following, followingErr, another := next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		several = several || another
		r.lines = r.flags.ndjson || several
		switch {
		case err == nil:
			err = r.check(one)
		case several:
			err = r.cannot(cmp.Or(one.source, arg), err)
		}
		if err != nil {
			return err
		}
		one, err, more = following, followingErr, another
	}
	return nil
}

// cannot reports a run that could not be loaded, among others.
func (r *replay) cannot(source string, err error) error {
	r.code = exitFailed
	complain(r.stderr, err)
	if !r.flags.asJSON {
		return nil
	}
	return r.print(failedFile{Source: source, Mode: waza.ModelReplay, Error: err.Error()})
}

// recorded is one run as it was loaded: a snapshot or a tape.
type recorded struct {
	source   string
	snapshot *waza.Snapshot
	tape     *tape.Tape
	files    map[string][]byte
	at       location
}

// events are the tool calls; plain makes those of a tape comparable with those of a snapshot.
func (r *recorded) events(plain bool) []waza.Event {
	if r.snapshot != nil {
		return r.snapshot.Events()
	}
	return waza.TapeEvents(r.tape, plain)
}

// load yields the runs that an argument stands for.
func (r *replay) load(ctx context.Context, arg string) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		found := func(at location, source string) bool {
			one := recorded{source: source, at: at}
			err := one.read(ctx)
			return yield(one, err)
		}
		for at, err := range r.flags.resolve(ctx, arg, wholeDeck) {
			source := arg
			if base, _ := splitURL(arg); at.ref.InDeck() && !strings.HasSuffix(base, ".json") {
				source = at.ref.URL // the argument may stand for several runs
			}
			switch {
			case errors.Is(err, errNoTapes):
				if err = r.snapshotsBelow(ctx, arg, err, found); err != nil {
					yield(recorded{}, err)
				}
				return
			case err != nil:
				if !yield(recorded{}, err) {
					return
				}
			case !found(at, source):
				return
			}
		}
	}
}

// snapshotName is the form of the names that waza gives. What has such a name is meant to be a snapshot, and an error when it is none.
var snapshotName = regexp.MustCompile(`(^|/)([^/]+-run-?[0-9]+|evidence-[^/]+)\.json$`)

// maxNamed is how many files are named that were passed over.
const maxNamed = 5

// snapshotsBelow yields the snapshots and tapes in a folder that is neither that of a run nor a deck, also those in folders of their own, as
// export writes them. Files that are neither are passed over, which is said. It returns none when there is nothing to check.
func (r *replay) snapshotsBelow(ctx context.Context, address string, none error, yield func(at location, source string) bool) (err error) {
	store, err := deck.OpenStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	base, query := splitURL(address)
	var passed []string
	for object, err := range store.List(ctx, "") {
		if err != nil {
			return err
		}
		wanted := snapshotName.MatchString(object.Key)
		if !wanted && strings.HasSuffix(object.Key, ".json") {
			data, err := store.Get(ctx, object.Key)
			if err != nil {
				return err
			}
			wanted = waza.Detect(data) || isTape(data)
		}
		if !wanted {
			passed = append(passed, object.Key)
			continue
		}
		none = nil
		source := base + "/" + object.Key + query
		if !yield(location{ref: deck.Ref{URL: source, DeckURL: address, Key: object.Key}, store: store}, source) {
			return nil
		}
	}
	if n := len(passed); n > 0 {
		more := ""
		if n > maxNamed {
			more = ", …"
		}
		say(r.stderr, "%s: %d files were passed over, which are neither snapshots nor tapes: %s%s", base, n, strings.Join(passed[:min(n, maxNamed)], ", "), more)
	}
	return none
}

// read tells a tape from a snapshot by what the file says it is.
func (r *recorded) read(ctx context.Context) error {
	data, err := r.at.read(ctx, r.at.ref.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", r.at, err)
	}
	if isTape(data) {
		r.tape, r.files, err = loadWith(ctx, r.at, data)
		return err
	}
	if r.snapshot, err = waza.Read(data); errors.Is(err, interop.ErrNotFormat) {
		return notATape(r.at, data, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", r.at, err)
	}
	return nil
}

func isTape(data []byte) bool {
	if bytes.HasPrefix(data, []byte(`{"kind":"`+tape.Kind+`"`)) {
		return true // as every tape of ours begins; most snapshots are small
	}
	v, err := exactjson.ParseWithin(string(data), tape.MaxDepth, tape.MaxValues)
	return err == nil && v.Get("kind").Str() == tape.Kind
}

// check checks one run and reports it.
func (r *replay) check(one recorded) error {
	if one.snapshot != nil {
		unknown := one.snapshot.Unknown
		for _, path := range unknown[:min(len(unknown), maxExplained)] {
			say(r.stderr, "%s: %s is no known member of a snapshot and was not checked", one.source, path)
		}
		report := one.snapshot.Replay(one.source, r.flags.strict)
		if issue, failed := r.status(report.Status); failed {
			report.Issues, report.Pass = append(report.Issues, waza.Issue{Kind: issue.Kind, Message: issue.Message}), false
		}
		r.worst(report.Pass)
		if r.flags.asJSON {
			return r.print(report)
		}
		issues := make([]tapeIssue, len(report.Issues))
		for i, issue := range report.Issues {
			issues[i] = tapeIssue{Kind: issue.Kind, Grader: issue.Grader, Message: issue.Message}
		}
		return r.text(report.Source, report.Status, report.ToolEvents, report.Graders, issues, nil)
	}
	report := r.tapeReport(one)
	r.worst(report.Pass)
	if r.flags.asJSON {
		return r.print(report)
	}
	return r.text(report.Source, report.Status, report.ToolEvents, report.Graders, report.Issues, report.Proof)
}

// statuses are those of tapes, then those that waza adds.
var statuses = []string{string(tape.StatusOK), string(tape.StatusError), string(tape.StatusInterrupted), string(tape.StatusIncomplete), "passed", "failed", "skipped"}

// status is what --fail-on-status says about how a run ended. Without it the end of a run is no issue: the record of a run that failed can
// be consistent.
func (r *replay) status(status string) (tapeIssue, bool) {
	if !slices.Contains(r.flags.failOn, status) {
		return tapeIssue{}, false
	}
	return tapeIssue{Kind: "run_status", Message: "the run ended with status " + status}, true
}

func (r *replay) worst(pass bool) {
	if !pass {
		r.code = max(r.code, exitPartial)
	}
}

// compare is --bisect.
func (r *replay) compare(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("--bisect compares one run with another, not %d", len(args))
	}
	baseline, err := r.only(ctx, args[0])
	if err != nil {
		return err
	}
	other, err := r.only(ctx, r.flags.bisect)
	if err != nil {
		return err
	}
	plain := baseline.snapshot != nil || other.snapshot != nil
	c := waza.Bisect(args[0], r.flags.bisect, baseline.events(plain), other.events(plain))
	if !c.Match {
		r.code = exitPartial
	}
	if r.flags.asJSON {
		err = r.print(c)
	} else {
		err = r.textComparison(c)
	}
	if err == nil && r.code != exitOK {
		err = &exitError{code: r.code}
	}
	return err
}

// only loads the one run that an argument stands for.
func (r *replay) only(ctx context.Context, arg string) (recorded, error) {
	var found recorded
	n := 0
	for one, err := range r.load(ctx, arg) {
		if err != nil {
			return found, err
		}
		if n++; n > 1 {
			return found, fmt.Errorf("%s stands for several runs; name one", arg)
		}
		if one.tape != nil { // nothing lists what is wrong with it here
			if _, err := r.flags.take(one.at, one.files[tape.TapeFile]); err != nil {
				return found, err
			}
		}
		found = one
	}
	if n == 0 {
		return found, fmt.Errorf("%s holds no tape", arg)
	}
	return found, nil
}
