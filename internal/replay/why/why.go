// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package why explains values of a tape: the decisions about them are made again from the evidence.
package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// ErrNoEvidence is returned for a run whose evidence does not lie in the deck any more, or makes another run
// by now.
var ErrNoEvidence = errors.New("the evidence of the run is not there")

// Of derives the run of a tape from its evidence in a deck, within the bounds of every derivation. at is
// where the run lies. The evidence of a joined run lies with its traces.
func Of(ctx context.Context, d *deck.Deck, at deck.Location, t *tape.Tape) (e reconstruct.Explanation, err error) {
	deriver := generation.New(generation.Options{Explained: func(made reconstruct.Explanation) {
		if made.Tape.Run.RunID == t.Run.RunID {
			e = made
		}
	}})
	if at.Area == deck.AreaJoined {
		at.Area = deck.AreaRuns
	}
	var traces []*generation.Evidence
	for _, at.TraceID = range t.Sources.TraceIDs {
		parts, err := d.Parts(ctx, at)
		if err != nil {
			return e, err
		}
		if len(parts) == 0 {
			return e, fmt.Errorf("%w: trace %s", ErrNoEvidence, at.TraceID)
		}
		one := &generation.Evidence{Tenant: t.Run.Tenant, TraceID: at.TraceID}
		read := func(digest string) ([]byte, error) { return d.ReadPart(ctx, at, digest) }
		if err := deriver.Unite(one, parts, "", nil, read); err != nil {
			return e, err
		}
		traces = append(traces, one)
	}
	if len(traces) == 1 {
		_, _, err = deriver.Tapes(traces[0])
	} else {
		_, err = deriver.Join(t.Run.Tenant, traces)
	}
	if err == nil && e.Tape == nil {
		err = fmt.Errorf("%w, or makes another run by now: run %s", ErrNoEvidence, deck.ShortID(t.Run.RunID))
	}
	return e, err
}

// Lines tells every decision about a run, in the order in which they were made.
func Lines(e reconstruct.Explanation) []string {
	var lines []string
	if !slices.ContainsFunc(e.Decisions, isRepair) {
		lines = append(lines, untouched)
	}
	for _, d := range e.Decisions {
		lines = append(lines, line(d, true))
	}
	return lines
}

func isRepair(d reconstruct.Decision) bool { return !d.Values() }

// untouched says that no rule decided about the run as a whole, or about any of its events.
const untouched = "no rule changed it"

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
	decided(&b, e, func(d reconstruct.Decision) bool { return d.Seq == seq && !d.Values() })
	for _, d := range e.Decisions {
		if d.Seq == seq && d.Values() {
			fmt.Fprintf(&b, "  %s\n", line(d, false))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// decided tells the decisions of rules, or that there is none.
func decided(b *strings.Builder, e reconstruct.Explanation, is func(reconstruct.Decision) bool) {
	if !slices.ContainsFunc(e.Decisions, is) {
		b.WriteString("  " + untouched + "\n")
	}
	for _, d := range e.Decisions {
		if is(d) {
			fmt.Fprintf(b, "  %s\n", line(d, false))
		}
	}
}

// section is a member of the tape whose fields can be asked for.
type section struct {
	labels tape.Provenance
	fields []string
}

var fieldsOf = map[string]func(*tape.Tape) section{
	"input": func(t *tape.Tape) section {
		return section{t.Input.Provenance, []string{"user_message", "system_prompt", "messages"}}
	},
	"output": func(t *tape.Tape) section { return section{t.Output.Provenance, []string{"text", "message"}} },
	"run":    func(*tape.Tape) section { return section{nil, []string{"status"}} },
	"config": func(t *tape.Tape) section { return section{t.Config.Provenance, []string{"model"}} },
}

// field explains a field of the run: its findings, its label, and what was decided about the run as a whole.
func field(w io.Writer, e reconstruct.Explanation, of string) error {
	name, field, _ := strings.Cut(of, ".")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", of)
	switch read := fieldsOf[name]; {
	case of == "run":
		decided(&b, e, func(d reconstruct.Decision) bool { return d.Seq == 0 && !d.Values() })
	case read == nil || !slices.Contains(read(e.Tape).fields, field):
		return fmt.Errorf("--why %.40q: want the number of an event, run, run.status, input.user_message, input.system_prompt, input.messages, output.text, output.message or config.model", of)
	default:
		for _, f := range e.Tape.Fidelity.Findings {
			if f.Seq == 0 && f.Field == of {
				fmt.Fprintf(&b, "  finding %s: %s\n", f.Code, f.Detail)
			}
		}
		fmt.Fprintf(&b, "  label   %s\n", cmp.Or(string(read(e.Tape).labels[field]), "none"))
		for _, d := range e.Decisions {
			if d.Seq == 0 && d.Field == of {
				fmt.Fprintf(&b, "  %s\n", line(d, false))
			}
		}
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
