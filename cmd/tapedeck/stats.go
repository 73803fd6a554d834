// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

func newStats() *cobra.Command {
	var f runFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats [DECK]",
		Short: "Sum up the runs of a deck",
		Long: `Sum up the runs of a deck that all filters take, those of production if --area does
not say otherwise. Runs are counted by area, day, status, grade, finding and agent,
with their calls, tokens and cost. Objects and bytes are those of the whole deck as
they are stored.`,
		Example: `  tapedeck stats ./deck
  tapedeck stats s3://tapes/prod --agent clerk --since 30d --json | jq .days`,
		Args: needOneDeck,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runStats(cmd.Context(), &f, deckFrom(args), asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.Listed = true
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// deckStats is what stats prints. The order of its fields is part of the contract.
type deckStats struct {
	Layout       string         `json:"layout"`
	Runs         int            `json:"runs"`
	Areas        map[string]int `json:"areas"`
	Days         map[string]int `json:"days"` // by start, UTC
	Status       map[string]int `json:"status"`
	Grades       map[string]int `json:"grades"`
	Findings     map[string]int `json:"findings"` // runs that have it
	Agents       map[string]int `json:"agents"`
	ModelCalls   int64          `json:"model_calls"`
	ToolCalls    int64          `json:"tool_calls"`
	InputTokens  int64          `json:"input_tokens"`
	OutputTokens int64          `json:"output_tokens"`
	CostUSD      float64        `json:"cost_usd"`
	TapeBytes    int64          `json:"tape_bytes"` // of the runs, as they are read
	Objects      int            `json:"objects"`    // of the deck
	StoredBytes  int64          `json:"stored_bytes"`
	Keep         map[string]int `json:"keep,omitempty"` // why content was kept or not, of runs that a keep policy decided about
}

// statsColumns are what deckStats.add looks at.
var statsColumns = []string{"started_at", "status", "grade", "findings", "agent", "model_calls", "tool_calls", "input_tokens", "output_tokens", "cost_usd", "tape_bytes", "keep"}

func runStats(ctx context.Context, f *runFilter, address string, asJSON bool, stdout, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	s := deckStats{Layout: layoutName(d), Areas: map[string]int{}, Days: map[string]int{}, Status: map[string]int{}, Grades: map[string]int{}, Findings: map[string]int{}, Agents: map[string]int{}, Keep: map[string]int{}}
	failed := 0
	for r, err := range f.runs(ctx, d, view.Query{Columns: statsColumns, Dropped: true}, stderr, &failed) {
		if err != nil {
			return err
		}
		s.add(&r.Meta)
	}
	for o, err := range view.Raw(d).List(ctx, "") {
		if err != nil {
			return err
		}
		s.Objects++
		s.StoredBytes += o.Size
	}
	if asJSON {
		err = writeJSON(stdout, s)
	} else {
		_, err = io.WriteString(stdout, s.text())
	}
	if err != nil {
		return err
	}
	if failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

func (s *deckStats) add(m *reel.Meta) {
	s.Runs++
	s.Areas[m.Area]++
	if m.StartedAt != 0 {
		s.Days[time.UnixMicro(m.StartedAt).UTC().Format(time.DateOnly)]++
	}
	s.Status[m.Status]++
	s.Grades[m.Grade]++
	for _, code := range m.Findings {
		s.Findings[code]++
	}
	s.Agents[m.Agent]++
	if m.Keep != "" {
		s.Keep[m.Keep]++
	}
	for to, from := range map[*int64]*int64{&s.ModelCalls: m.ModelCalls, &s.ToolCalls: m.ToolCalls, &s.InputTokens: m.InputTokens, &s.OutputTokens: m.OutputTokens} {
		if from != nil {
			*to += *from
		}
	}
	if m.CostUSD != nil {
		s.CostUSD += *m.CostUSD
	}
	s.TapeBytes += m.TapeBytes
}

// text is the sums for a person.
func (s *deckStats) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "runs\t%d, tapes of %s\n", s.Runs, timeline.Size(int(s.TapeBytes)))
	fmt.Fprintf(w, "deck\t%s, %d objects of %s\n", s.Layout, s.Objects, timeline.Size(int(s.StoredBytes)))
	fmt.Fprintf(w, "calls\t%d of models, %d of tools\n", s.ModelCalls, s.ToolCalls)
	fmt.Fprintf(w, "tokens\t%d in, %d out\n", s.InputTokens, s.OutputTokens)
	if s.CostUSD > 0 {
		fmt.Fprintf(w, "cost\t%.2f USD\n", s.CostUSD)
	}
	for _, sum := range []struct {
		name   string
		counts map[string]int
	}{{"area", s.Areas}, {"status", s.Status}, {"grade", s.Grades}, {"finding", s.Findings}, {"agent", s.Agents}, {"keep", s.Keep}, {"day", s.Days}} {
		for _, key := range slices.Sorted(maps.Keys(sum.counts)) {
			fmt.Fprintf(w, "%s\t%s\t%d\n", sum.name, cmp.Or(printable(key), "-"), sum.counts[key])
			sum.name = ""
		}
	}
	_ = w.Flush() // to memory
	return b.String()
}
