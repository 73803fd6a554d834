// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package why explains values of a tape: the decisions about them are made again from the evidence.
package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// ErrNoEvidence is returned for a run whose evidence does not lie in the deck any more, or does not make it.
var ErrNoEvidence = errors.New("the evidence of the run is not there")

// Bounds of the evidence of a trace that is read.
const (
	maxItems = 20_000
	maxBytes = 256 << 20
)

// Of reconstructs the run of a tape from its evidence in a deck. at is where the run lies.
func Of(ctx context.Context, d *deck.Deck, at deck.Location, t *tape.Tape) (e reconstruct.Explanation, err error) {
	opts := reconstruct.Options{
		Tenant: t.Run.Tenant, Redaction: t.Redaction, Choice: rule.Choice{Explain: true},
		Explained: func(made reconstruct.Explanation) {
			if made.Tape.Run.RunID == t.Run.RunID {
				e = made
			}
		},
	}
	var traces []evidence.Trace
	for _, id := range t.Sources.TraceIDs {
		at.TraceID = id
		if len(t.Sources.TraceIDs) > 1 && at.Area == deck.AreaJoined {
			at.Area = deck.AreaRuns
		}
		set, err := read(ctx, d, at)
		if err != nil {
			return e, err
		}
		traces = append(traces, evidence.Trace{TraceID: id, Set: set})
	}
	if len(traces) == 1 {
		reconstruct.Trace(traces[0], opts)
	} else {
		reconstruct.Join(traces, opts)
	}
	if e.Tape == nil {
		return e, fmt.Errorf("%w, or makes another run by now: run %s", ErrNoEvidence, deck.ShortID(t.Run.RunID))
	}
	return e, nil
}

func read(ctx context.Context, d *deck.Deck, at deck.Location) (*evidence.Set, error) {
	parts, err := d.Parts(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: trace %s", ErrNoEvidence, at.TraceID)
	}
	union := evidence.NewUnion(evidence.Bounds{Items: maxItems, Bytes: maxBytes}, nil)
	for _, digest := range parts {
		body, err := d.ReadPart(ctx, at, digest)
		if err != nil {
			return nil, err
		}
		set, err := evidence.FromPart(body)
		if err != nil {
			return nil, fmt.Errorf("part %s of trace %s: %w", digest, at.TraceID, err)
		}
		union.Add(set)
	}
	set, _ := union.Set()
	return set, nil
}

// Lines tells every decision about a run, in the order in which they were made.
func Lines(e reconstruct.Explanation) []string {
	if len(e.Decisions) == 0 {
		return []string{straight}
	}
	lines := make([]string, len(e.Decisions))
	for i, d := range e.Decisions {
		lines[i] = line(d, true)
	}
	return lines
}

const straight = "no rule changed anything of it: it is what the spans say"

// Write explains an event, by its number, or a field of the run, such as output.text.
func Write(w io.Writer, e reconstruct.Explanation, of string) error {
	if seq, err := strconv.Atoi(of); err == nil {
		return event(w, e, seq)
	}
	return field(w, e, of)
}

func event(w io.Writer, e reconstruct.Explanation, seq int) error {
	if seq < 1 || seq > len(e.Tape.Events) {
		return fmt.Errorf("the run has no event %d, but events 1 to %d", seq, len(e.Tape.Events))
	}
	ev := &e.Tape.Events[seq-1]
	var b strings.Builder
	fmt.Fprintf(&b, "event %d  %s %s\n", seq, ev.Type, ev.Name+ev.Model)
	if len(ev.SpanIDs) == 0 {
		b.WriteString("  spans   none reports it\n")
	} else {
		fmt.Fprintf(&b, "  spans   %s\n", strings.Join(ev.SpanIDs, ", "))
	}
	labels(&b, ev.Provenance)
	decided := false
	for _, d := range e.Decisions {
		if d.Seq == seq {
			fmt.Fprintf(&b, "  %s\n", line(d, false))
			decided = true
		}
	}
	if !decided {
		b.WriteString("  no rule changed it: its values are what its spans say\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sections are the members of a tape whose fields can be asked for, with the labels of each.
func sections(t *tape.Tape) map[string]tape.Provenance {
	return map[string]tape.Provenance{"input": t.Input.Provenance, "output": t.Output.Provenance, "config": t.Config.Provenance, "run": nil}
}

func field(w io.Writer, e reconstruct.Explanation, of string) error {
	section, name, _ := strings.Cut(of, ".")
	provenance, known := sections(e.Tape)[section]
	if !known {
		return fmt.Errorf("--why %.40q: want the number of an event, or a field of the run such as input.user_message, output.text, config.model or run", of)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", of)
	for _, f := range e.Tape.Fidelity.Findings {
		if f.Field == of || f.Field != "" && strings.HasPrefix(f.Field, of+".") {
			fmt.Fprintf(&b, "  finding %s: %s\n", f.Code, f.Detail)
		}
	}
	if label := provenance[name]; label != "" {
		fmt.Fprintf(&b, "  label   %s: decided by the resolvers of %s (docs/reconstruction.md)\n", label, of)
	} else if section != "run" {
		b.WriteString("  label   none: it is what a span says\n")
	}
	decided := false
	for _, d := range e.Decisions {
		if d.Seq == 0 && (section == "run" || d.Field == rule.Refused) {
			fmt.Fprintf(&b, "  %s\n", line(d, false))
			decided = true
		}
	}
	if section == "run" && !decided {
		b.WriteString("  " + straight + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func labels(b *strings.Builder, p tape.Provenance) {
	var names []string
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(b, "  label   %s: %s\n", name, p[name])
	}
}

// line is a decision in words.
func line(d reconstruct.Decision, whose bool) string {
	var b strings.Builder
	if whose && d.Seq > 0 {
		fmt.Fprintf(&b, "event %d  ", d.Seq)
	} else if whose {
		b.WriteString("run  ")
	}
	b.WriteString(d.Rule + "  ")
	switch {
	case d.Field == rule.Refused:
		fmt.Fprintf(&b, "refused %s: %s", d.Was, d.Now)
	case d.Was == "":
		fmt.Fprintf(&b, "%s: %s", d.Field, d.Now)
	case d.Now == "":
		fmt.Fprintf(&b, "%s: took back %s", d.Field, d.Was)
	default:
		fmt.Fprintf(&b, "%s: %s → %s", d.Field, d.Was, d.Now)
	}
	if len(d.SpanIDs) > 0 {
		fmt.Fprintf(&b, "  (spans %s)", strings.Join(d.SpanIDs, ", "))
	}
	return b.String()
}
