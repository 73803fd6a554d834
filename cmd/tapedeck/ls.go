// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// runFilter chooses among the runs of a deck.
type runFilter struct {
	filter.Filter
	is    []string           // --is
	named map[string]*string // column → --flag
	now   func() time.Time
}

// filterFlags are the columns that have a flag of their own.
var filterFlags = []struct{ flag, column, usage string }{
	{"agent", "agent", "the agent"}, {"service", "service", "the service"}, {"tool", "tools", "a tool that was called"},
	{"status", "status", "how the run ended: ok, error, …"}, {"grade", "grade", "what the tape is good for"}, {"finding", "findings", "the code of a finding"},
	{"model", "models", "a model that was called"}, {"tenant", "tenant", "the tenant"}, {"replay-of", "replay_of", "the run that the run replays"},
}

func (f *runFilter) add(cmd *cobra.Command) {
	f.named, f.now = map[string]*string{}, time.Now
	for _, n := range filterFlags {
		if cmd.Flags().Lookup(n.flag) == nil { // the command may have one of its own
			f.named[n.column] = cmd.Flags().String(n.flag, "", n.usage)
		}
	}
	cmd.Flags().StringArrayVar(&f.is, "is", nil, "COLUMN=VALUE, of any column; a list has it among its values (may be repeated)")
	cmd.Flags().StringArrayVar(&f.Verdicts, "verdict", nil, "a verdict on the run: NAME, NAME=RESULT, NAME<NUMBER; also != <= > >= (may be repeated)")
	cmd.Flags().StringVar(&f.Where, "where", "", "a condition on the columns as in SQL: status = 'error' AND (tools = 'search' OR output_tokens > 5000)")
	cmd.Flags().StringVar(&f.Since, "since", "", "started at this time or later: 2026-11-20, 2026-11-20T12:00:00Z, or an age such as 36h or 7d")
	cmd.Flags().StringVar(&f.Until, "until", "", "started before this time")
	usage := "runs, joined, replays, undecided or all"
	if f.Listed {
		usage += " (default: runs and joined, or all if a condition asks for areas or replays)"
	}
	cmd.Flags().StringVar(&f.Area, "area", "", usage)
}

// check reads the flags.
func (f *runFilter) check() error {
	f.Tenant = ""
	if tenant := f.named["tenant"]; tenant != nil {
		f.Tenant = *tenant
	}
	f.Is = slices.Clone(f.is)
	for _, n := range filterFlags {
		if want := f.named[n.column]; want != nil && *want != "" {
			f.Is = append(f.Is, n.column+"="+*want)
		}
	}
	return f.Check(f.now())
}

// runs finds the runs that the filter takes, in no order, as much of them as the query asks for. What cannot be read is said, and counted in failed.
func (f *runFilter) runs(ctx context.Context, d *deck.Deck, q view.Query, stderr io.Writer, failed *int) iter.Seq2[view.Run, error] {
	q = f.Query(q)
	return func(yield func(view.Run, error) bool) {
		for r, err := range view.Select(ctx, d, q) {
			if err != nil {
				if isStoreError(err) && !errors.Is(err, deck.ErrCorrupt) || ctx.Err() != nil {
					yield(r, err)
					return
				}
				*failed++
				complain(stderr, err)
				continue
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

type lsFlags struct {
	filter          runFilter
	columns, format string
	sort            string
	limit           int
	asJSON          bool
}

const lsColumns = "started_at,id,agent,status,grade,model_calls,tool_calls,input_tokens,output_tokens,findings"

// widestCell is how many characters of a value the table shows, unless --columns asks for the column.
const widestCell = 32

// shortColumn is the run id as people type it, as short as it can be among the runs that are listed.
const shortColumn = "id"

func newLs() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:   "ls [DECK]",
		Short: "List the runs of a deck",
		Long: `List the runs of a deck that all filters take, the newest first. They are those of
production, of one trace (area runs) or of several (area joined); --area replays lists
replays, and --area all every run.

The columns are those of a reel (docs/deck.md), and id, a short id that other commands
take. In a deck of reels they are read
from the reels alone; in a deck of files the tapes that are new since the last listing.

--format table is for people, json is one object per line with the columns that
are known (all without --columns) and the url, refs is the address of each tape,
for other commands. --where is a condition
as in SQL over the same columns: =, <>, <, <=, >, >=, IN, LIKE, BETWEEN, IS NULL,
AND, OR, NOT. Texts and times stand in single quotes, and a list is equal to each
of its values. The exit code is 0 if the whole deck was looked at, 1 if a
part of it could not be read, 2 if the deck cannot be read.`,
		Example: `  tapedeck ls ./deck --status error --since 7d
  tapedeck ls s3://tapes/prod --tool http_request --finding result_missing --format refs | xargs -n1 tapedeck show
  tapedeck ls ./deck --where "output_tokens > 5000 AND (agent LIKE 'clerk%' OR tools = 'search')"
  tapedeck ls ./deck --is conversation_id=c-17 --columns run_id,user_message`,
		Args: needOneDeck,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.asJSON {
				if f.format != "" && f.format != "json" {
					return fmt.Errorf("--json and --format %s exclude each other", f.format)
				}
				f.format = "json"
			}
			return f.run(cmd.Context(), deckFrom(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.filter.Listed = true
	f.filter.add(cmd)
	cmd.Flags().StringVar(&f.columns, "columns", "", "columns to show, in this order (table: "+lsColumns+")")
	cmd.Flags().StringVar(&f.format, "format", "", "table, json or refs (default: table)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line, as --format json")
	cmd.Flags().StringVar(&f.sort, "sort", "-started_at", "column to sort by; with - the greatest first")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "show so many runs at most; 0 is all")
	return cmd
}

func (f *lsFlags) check() (columns []string, err error) {
	if err := f.filter.check(); err != nil {
		return nil, err
	}
	if f.format = cmp.Or(f.format, "table"); !slices.Contains([]string{"table", "json", "refs"}, f.format) {
		return nil, fmt.Errorf("--format must be table, json or refs, not %q", f.format)
	}
	if f.limit < 0 {
		return nil, errors.New("--limit must not be negative")
	}
	text := cmp.Or(f.columns, map[string]string{"table": lsColumns, "json": strings.Join(reel.Columns(), ","), "refs": "run_id"}[f.format])
	for column := range strings.SplitSeq(text+","+strings.TrimPrefix(f.sort, "-"), ",") {
		if column == shortColumn {
			column = "run_id"
		}
		if _, ok := (&reel.Meta{}).Value(column); !ok && column != "" {
			return nil, fmt.Errorf("there is no column %q; there are %s", column, strings.Join(reel.Columns(), ", "))
		}
	}
	return strings.Split(text, ","), nil
}

func (f *lsFlags) run(ctx context.Context, address string, stdout, stderr io.Writer) (err error) {
	columns, err := f.check()
	if err != nil {
		return err
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	failed := 0
	if by, ok := strings.CutSuffix(f.sort, shortColumn); ok && (by == "" || by == "-") {
		f.sort = by + "run_id"
	}
	q := view.Query{Columns: append(slices.Clone(columns), "run_id", "keep", strings.TrimPrefix(f.sort, "-")), Limit: f.limit, Dropped: f.format != "refs"}
	q.First, q.Last = strings.CutPrefix(f.sort, "-")
	var runs []view.Run
	for r, err := range f.filter.runs(ctx, d, q, stderr, &failed) {
		if err != nil {
			return err
		}
		if runs = append(runs, r); f.limit > 0 && len(runs) >= 2*f.limit+1000 {
			runs = f.first(runs) // no more are held than are shown
		}
	}
	runs = f.first(runs)
	if f.format == "table" && f.columns == "" && severalAreas(runs) {
		columns = slices.Insert(columns, slices.Index(columns, shortColumn)+1, "area")
	}
	if f.format == "table" && f.columns == "" && slices.ContainsFunc(runs, func(r view.Run) bool { return r.Dropped() }) {
		columns = append(columns, "keep")
	}
	if err := f.show(stdout, runs, columns); err != nil {
		return err
	}
	if failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

// severalAreas tells whether runs of more than one area are among those that are listed.
func severalAreas(runs []view.Run) bool {
	return slices.ContainsFunc(runs, func(r view.Run) bool { return r.Ref.Location.Area != runs[0].Ref.Location.Area })
}

// first sorts runs and cuts them to the limit.
func (f *lsFlags) first(runs []view.Run) []view.Run {
	column, descending := strings.CutPrefix(f.sort, "-")
	if !descending {
		column = f.sort
	}
	// The value of a column is looked up once for each run, and not once for each comparison.
	type keyed struct {
		value any
		run   *view.Run
	}
	order := make([]keyed, len(runs))
	for i := range runs {
		order[i].run = &runs[i]
		order[i].value, _ = runs[i].Value(column)
	}
	slices.SortStableFunc(order, func(a, b keyed) int {
		by := compareCells(a.value, b.value)
		if descending {
			by = -by
		}
		return cmp.Or(by, strings.Compare(a.run.RunID, b.run.RunID), strings.Compare(a.run.Ref.Key, b.run.Ref.Key))
	})
	sorted := make([]view.Run, len(runs))
	for i := range order {
		sorted[i] = *order[i].run
	}
	runs = sorted
	if f.limit > 0 && len(runs) > f.limit {
		runs = runs[:f.limit]
	}
	return runs
}

// compareCells orders values of one column; null is the least.
func compareCells(x, y any) int {
	switch a := x.(type) {
	case int64:
		if b, ok := y.(int64); ok {
			return cmp.Compare(a, b)
		}
	case float64:
		if b, ok := y.(float64); ok {
			return cmp.Compare(a, b)
		}
	case time.Time:
		if b, ok := y.(time.Time); ok {
			return a.Compare(b)
		}
	}
	return strings.Compare(filter.Text(x), filter.Text(y))
}

func (f *lsFlags) show(stdout io.Writer, runs []view.Run, columns []string) error {
	var ids deck.ShortIDs
	for i := range runs {
		ids.Add(runs[i].RunID)
	}
	switch f.format {
	case "refs":
		for _, r := range runs {
			if _, err := fmt.Fprintln(stdout, r.Ref.URL); err != nil {
				return err
			}
		}
		return nil
	case "json":
		for _, r := range runs {
			if err := writeJSON(stdout, listedRun{&r, columns, &ids}); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, r := range runs {
		cells := make([]string, len(columns))
		for i, column := range columns {
			v, _ := r.Value(column)
			if column == shortColumn {
				v = ids.Of(r.RunID)
			}
			if at, ok := v.(time.Time); ok {
				v = at.Truncate(time.Second)
			}
			cells[i] = cmp.Or(printable(filter.Text(v)), "-")
			if text := []rune(cells[i]); f.columns == "" && len(text) > widestCell {
				cells[i] = string(text[:widestCell-1]) + "…"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// printable keeps what a sender chose from being more than one cell, or an order to the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// listedRun is a run as one line of JSON: the columns that are known, in their order, and the address.
type listedRun struct {
	run     *view.Run
	columns []string
	ids     *deck.ShortIDs
}

func (l listedRun) MarshalJSON() ([]byte, error) {
	return reel.ColumnsJSON(append(slices.Clone(l.columns), "url"), func(column string) any {
		switch v, _ := l.run.Value(column); {
		case column == "url" && l.run.Dropped():
			return nil
		case column == "url":
			return l.run.Ref.URL
		case column == shortColumn:
			return l.ids.Of(l.run.RunID)
		default:
			return v
		}
	})
}
