// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// comparing are the flags that bisect and diff share.
type comparing struct {
	refs
	level  string
	ignore []string
	rules  string
	asJSON bool
	full   bool
	strict bool
	color  colors
}

func (c *comparing) flags(cmd *cobra.Command) {
	c.add(cmd, "ID")
	c.addUnverified()
	c.takeTelemetry()
	f := cmd.Flags()
	f.StringVar(&c.level, "compare", string(compare.Results), "what counts: actions, results or all")
	f.StringSliceVar(&c.ignore, "ignore", nil, "fields that do not count, such as model,server")
	f.StringVar(&c.rules, "rules", "", "a rules file: which values do not count, and which count in a normal form")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	f.BoolVar(&c.full, "full", false, "shorten nothing")
	f.BoolVar(&c.strict, "strict-types", false, "JSON and the same JSON as text differ")
	c.color.add(cmd)
}

func (c *comparing) options() (compare.Options, error) {
	o := compare.Options{Level: compare.Level(c.level), StrictTypes: c.strict}
	for _, field := range c.ignore {
		o.Ignore = append(o.Ignore, compare.Field(field))
	}
	if c.rules != "" {
		data, err := readBounded(c.rules, rulefile.MaxBytes)
		if err != nil {
			return o, fmt.Errorf("%s: %w", c.rules, withoutPath(err))
		}
		rules, err := rulefile.Read(data)
		if err != nil {
			return o, fmt.Errorf("%s: %w", c.rules, err)
		}
		if o.Rules, err = normalise.New(rules.Values); err != nil {
			return o, fmt.Errorf("%s: %w", c.rules, err)
		}
	}
	return o, o.Check()
}

// readBounded reads a file and one byte more than is allowed, so that the reader can say so.
func readBounded(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// loaded is a tape and its name in a report.
type loaded struct {
	sidebyside.Tape
	tape *tape.Tape
}

// one loads the one tape that a REF stands for.
func (c *comparing) one(ctx context.Context, ref string) (loaded, error) {
	all, err := c.all(ctx, ref, replay.OneRun)
	if err != nil {
		return loaded{}, err
	}
	return all[0], nil
}

// all loads every tape that a REF stands for; at least one.
func (c *comparing) all(ctx context.Context, ref string, r replay.Reach) ([]loaded, error) {
	var out []loaded
	for at, err := range c.Resolve(ctx, ref, r) {
		if err != nil {
			return nil, err
		}
		if len(out) == compare.MaxRuns {
			return nil, fmt.Errorf("%s holds more than %d runs", ref, compare.MaxRuns)
		}
		t, _, err := c.Open(ctx, &at)
		if err != nil {
			return nil, err
		}
		out = append(out, loaded{sidebyside.Of(at.String(), t), t})
	}
	return out, nil
}

func (c *comparing) text(stdout io.Writer) (sidebyside.TextOptions, error) {
	o, err := c.color.terminal(stdout)
	return sidebyside.TextOptions{Width: o.Width, Full: c.full, Color: o.Color}, err
}

func newBisect() *cobra.Command {
	c := &bisection{}
	cmd := &cobra.Command{
		Use:   "bisect A B [MORE…]",
		Short: "Find the first event at which runs diverge",
		Long: `Where do two runs part? For all that differs take diff, for snapshots of waza replay --bisect.

Find the first event at which two runs diverge, and every later one. Events are
aligned, so that an inserted or a dropped call does not shift what follows.
The report begins with a sentence that says where the runs part and how, then the
question, both answers and both statuses.
Each tape that is named after B is compared with A too.

With --good and --bad, both repeatable, name the earliest event that all good runs
have and no bad run has, or the other way round. There a REF may also be a deck.

` + refHelp + `
Ids, times and token counts never count. --compare says what does: actions (models,
tools, arguments), results (also what tools returned), all (also what models said).
JSON and a text of the same JSON are the same, unless --strict-types is set.

The exit code is 0 if the runs are equal, 1 if they diverge, 2 if a tape could not be
loaded.`,
		Example: `  tapedeck bisect good.json bad.json
  tapedeck bisect 4bf92f35 0af76519 --deck s3://tapes/prod --html side-by-side.html
  tapedeck bisect --good a.json --good b.json --bad c.json --compare actions`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.stdout = cmd.OutOrStdout()
			return c.run(cmd.Context(), args)
		},
	}
	c.flags(cmd)
	cmd.Flags().StringVar(&c.html, "html", "", "also write a page with both runs side by side to this file")
	cmd.Flags().StringArrayVar(&c.good, "good", nil, "a run that went well")
	cmd.Flags().StringArrayVar(&c.bad, "bad", nil, "a run that did not")
	return cmd
}

// bisection is one call of bisect.
type bisection struct {
	comparing
	html      string
	good, bad []string
	stdout    io.Writer
}

func (c *bisection) run(ctx context.Context, refs []string) error {
	sets := len(c.good)+len(c.bad) > 0
	switch {
	case sets && len(refs) > 0:
		return errors.New("bisect takes tapes, or --good and --bad; repeat the flag before each REF")
	case sets && (len(c.good) == 0 || len(c.bad) == 0):
		return errors.New("--good and --bad need each other")
	case sets && c.html != "":
		return errors.New("--html shows two tapes, not --good and --bad")
	case !sets && len(refs) < 2:
		return errors.New("bisect needs two tapes; see tapedeck bisect --help")
	case c.html != "" && len(refs) > 2:
		return fmt.Errorf("--html shows two tapes, not %d", len(refs))
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if sets {
		return c.separate(ctx, o)
	}
	return c.pairs(ctx, refs, o)
}

// comparison is the JSON line about a pair. The order of its fields is part of the contract.
type comparison struct {
	A sidebyside.Tape `json:"a"`
	B sidebyside.Tape `json:"b"`
	// Sentence says where the runs part, for people.
	Sentence string `json:"sentence"`
	*compare.Result
}

// pairs compares the first tape with each of the others. It loads all of them before it writes anything.
func (c *bisection) pairs(ctx context.Context, refs []string, o compare.Options) error {
	tapes := make([]loaded, len(refs))
	for i, ref := range refs {
		var err error
		if tapes[i], err = c.one(ctx, ref); err != nil {
			return err
		}
	}
	options, err := c.text(c.stdout)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	a, equal := tapes[0], true
	for i, b := range tapes[1:] {
		r, err := compare.Tapes(a.tape, b.tape, o)
		if err != nil {
			return err
		}
		equal = equal && r.Equal
		if c.html != "" {
			var page bytes.Buffer
			if err := sidebyside.HTML(&page, a.Tape, b.Tape, r); err != nil {
				return err
			}
			if err := os.WriteFile(c.html, page.Bytes(), 0o600); err != nil { // a page holds what the tapes hold
				return fmt.Errorf("%s: %w", c.html, withoutPath(err))
			}
		}
		if c.asJSON {
			err = writeJSON(&out, comparison{a.Tape, b.Tape, sidebyside.Sentence(a.Tape, b.Tape, r).String(), r})
		} else {
			if i > 0 {
				out.WriteByte('\n')
			}
			err = sidebyside.Text(&out, a.Tape, b.Tape, r, options)
		}
		if err != nil {
			return err
		}
	}
	return verdictOf(c.stdout, &out, equal)
}

// separation is the JSON line about sets of runs.
type separation struct {
	Goods []sidebyside.Tape `json:"good_runs"`
	Bads  []sidebyside.Tape `json:"bad_runs"`
	*compare.Separation
}

func (c *bisection) separate(ctx context.Context, o compare.Options) error {
	options, err := c.text(c.stdout)
	if err != nil {
		return err
	}
	set := func(refs []string) (tapes []*tape.Tape, names []sidebyside.Tape, err error) {
		for _, ref := range refs {
			all, err := c.all(ctx, ref, replay.WholeDeck)
			if err != nil {
				return nil, nil, err
			}
			for _, l := range all {
				tapes, names = append(tapes, l.tape), append(names, l.Tape)
			}
		}
		return tapes, names, nil
	}
	good, goods, err := set(c.good)
	if err != nil {
		return err
	}
	bad, bads, err := set(c.bad)
	if err != nil {
		return err
	}
	s, err := compare.Separate(good, bad, o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if c.asJSON {
		err = writeJSON(&out, separation{goods, bads, s})
	} else {
		err = sidebyside.SeparationText(&out, goods, bads, s, options)
	}
	if err != nil {
		return err
	}
	return verdictOf(c.stdout, &out, s.Best == nil)
}

// verdictOf writes a report and turns what it says into an exit code.
func verdictOf(stdout io.Writer, report *bytes.Buffer, equal bool) error {
	if _, err := stdout.Write(report.Bytes()); err != nil {
		return err
	}
	if !equal {
		return &exitError{code: exitPartial}
	}
	return nil
}
