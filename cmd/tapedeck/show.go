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
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/page"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

func newShow() *cobra.Command {
	var r refs
	var asJSON, full, noPager bool
	var html, events, whyOf string
	var color colors
	cmd := &cobra.Command{
		Use:   "show REF",
		Short: "Show a tape as a timeline",
		Long: `Show a tape: what was asked, every model and tool call in order, the answer, and
what is missing or odd.

` + refHelp + `
A trace that holds several runs is shown run by run, and of a deck its runs are
listed. REF may also be a file of telemetry, whose runs are derived in memory. Long
content is shortened; the sizes in brackets say how long it is. A line on top says
when a tape holds what redaction should have replaced.

--html writes one page with everything in it, to attach to a bug report: it needs no
server and no script, and loads nothing. --events shows a part of a long run. --why
says how an event or a field came about: which spans it is from, which rules of
reconstruction changed it, and which candidates they refused.

In a terminal, what is longer than the screen goes through the pager in
TAPEDECK_PAGER or PAGER, or less where it is installed.`,
		Example: `  tapedeck show ./tape.json
  tapedeck show ./tape.json --events 40-60
  tapedeck show ./tape.json --html run.html
  tapedeck show traces.jsonl --why 3
  tapedeck show --full ./tape.json | less
  tapedeck show ./deck
  tapedeck show traces.jsonl
  tapedeck show 4bf92f3577b34da6a3ce929d0e0e4736 --deck gs://tapes
  tapedeck show --json ./tape.json | jq .events`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("show takes one REF, not %d", len(args))
			}
			return needArgs("a REF")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := color.terminal(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			options.Full = full
			if options.First, options.Last, err = eventRange(events); err != nil {
				return err
			}
			if whyOf != "" {
				if asJSON || events != "" || html != "" {
					return errors.New("--why explains one event or field; it excludes --json, --events and --html")
				}
				return explain(cmd.Context(), cmd.OutOrStdout(), args[0], &r, whyOf)
			}
			if html != "" {
				if asJSON || events != "" {
					return errors.New("--html shows the whole run; it excludes --json and --events")
				}
				return showPage(cmd.Context(), cmd.ErrOrStderr(), args[0], &r, html)
			}
			if asJSON || noPager {
				return show(cmd.Context(), cmd.OutOrStdout(), args[0], &r, asJSON, options)
			}
			return paged(cmd.Context(), cmd.OutOrStdout(), func(w io.Writer) error {
				return show(cmd.Context(), w, args[0], &r, asJSON, options)
			})
		},
	}
	r.add(cmd, "ID")
	r.addUnverified()
	r.takeTelemetry()
	color.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: tape.json as it is stored")
	cmd.Flags().BoolVar(&full, "full", false, "shorten nothing and break no lines")
	cmd.Flags().BoolVar(&noPager, "no-pager", false, "in a terminal, do not hand what is longer than the screen to a pager")
	cmd.Flags().StringVar(&html, "html", "", "write a page of the run to this file")
	cmd.Flags().StringVar(&whyOf, "why", "", "say how an event (its number) or a field of the run (input.user_message) came about")
	cmd.Flags().StringVar(&events, "events", "", "show these events only: 7, 3-9, 40- or -5")
	return cmd
}

// eventRange reads 7, 3-9, 40- or -5. The first and the last event are 0 where there is no limit.
func eventRange(text string) (first, last int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	number := func(s string) int {
		if s == "" {
			return 0
		}
		n, atoi := strconv.Atoi(s)
		if atoi != nil || n < 1 {
			err = errEvents(text)
		}
		return n
	}
	if first, last = number(from), number(to); err != nil {
		return 0, 0, err
	}
	if from == "" && to == "" || last > 0 && last < first {
		return 0, 0, errEvents(text)
	}
	return first, last, nil
}

func errEvents(text string) error { return fmt.Errorf("--events %.40q: want 7, 3-9, 40- or -5", text) }

// showPage writes the page of one run to a file.
func showPage(ctx context.Context, stderr io.Writer, ref string, r *refs, file string) error {
	t, data, at, err := openOne(ctx, r, ref)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	o := page.Options{}
	exposed, err := new(scrub.Watch).Look(t, data, at.Ref.InDeck())
	if err != nil {
		return err
	}
	if exposed != nil {
		o.Warning = exposed.String()
		say(stderr, "%s", exposed)
	}
	if at.Name == "" {
		o.Ref, o.Deck = ref, r.Deck
	}
	if err := page.Run(&out, t, o); err != nil {
		return err
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		return err
	}
	say(stderr, "%s: %d events of run %s", file, len(t.Events), deck.ShortID(t.Run.RunID))
	return nil
}

// openOne opens the only tape that a REF stands for, and returns its file too.
func openOne(ctx context.Context, r *refs, ref string) (t *tape.Tape, data []byte, at replay.Location, err error) {
	for l, err := range r.Resolve(ctx, ref, replay.OneRun) {
		if err != nil {
			return nil, nil, l, err
		}
		if t, data, err = r.Open(ctx, &l); err != nil {
			return nil, nil, l, err
		}
		at = l
	}
	return t, data, at, nil
}

func show(ctx context.Context, stdout io.Writer, ref string, r *refs, asJSON bool, options timeline.Options) error {
	n := 0
	var watch scrub.Watch
	for at, err := range r.Resolve(ctx, ref, replay.SeveralRuns) {
		if errors.Is(err, replay.ErrIsDeck) {
			return listRuns(ctx, stdout, ref, r, asJSON)
		}
		if err != nil {
			return err
		}
		t, data, err := r.Open(ctx, &at)
		if err != nil {
			return err
		}
		exposed, err := watch.Look(t, data, at.Ref.InDeck())
		if err != nil {
			return err
		}
		if asJSON {
			if exposed != nil {
				r.say("%s: %s", at, exposed)
			}
			if _, err := stdout.Write(data); err != nil {
				return err
			}
			continue
		}
		if n > 0 {
			if _, err := fmt.Fprintln(stdout); err != nil {
				return err
			}
		}
		n++
		if exposed != nil {
			if _, err := fmt.Fprintln(stdout, timeline.Paint(options.Color, timeline.Red, exposed.String())); err != nil {
				return err
			}
		}
		if err := timeline.Render(stdout, t, options); err != nil {
			return err
		}
	}
	return nil
}

// listed is the line about a run of a deck. The order of its fields is part of the contract.
type listed struct {
	RunID   string         `json:"run_id"`
	Area    deck.Area      `json:"area"`
	Tenant  string         `json:"tenant"`
	Started string         `json:"started_at,omitempty"`
	Status  tape.RunStatus `json:"status"`
	Grade   tape.Grade     `json:"grade"`
	Agent   string         `json:"agent,omitempty"`
	Events  int            `json:"events"`
	URL     string         `json:"url"`
}

// listRuns lists the current tapes of a deck, a line each. One that cannot be read is named, and ends with an error after the others.
func listRuns(ctx context.Context, stdout io.Writer, ref string, r *refs, asJSON bool) error {
	var unread error
	var ids deck.ShortIDs
	for at, err := range r.Resolve(ctx, ref, replay.WholeDeck) {
		if err != nil {
			return err
		}
		t, _, err := r.Open(ctx, &at)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			unread = &exitError{code: exitFailed}
			r.say("%v", err)
			continue
		}
		run := &t.Run
		l := listed{RunID: run.RunID, Area: at.Ref.Location.Area, Tenant: run.Tenant, Status: run.Status, Grade: t.Fidelity.Grade,
			Agent: cmp.Or(run.Agent.Name, run.Service.Name), Events: len(t.Events), URL: at.Ref.URL}
		if !run.StartedAt.IsZero() {
			l.Started = run.StartedAt.UTC().Format(time.RFC3339)
		}
		if asJSON {
			err = printLine(stdout, l)
		} else {
			_, err = fmt.Fprintf(stdout, "%-8s  %-20s  %-11s  %-7s  %3d events  %s  %s  %s\n", ids.Of(l.RunID), cmp.Or(l.Started, "-"), l.Status, l.Grade, l.Events,
				l.Area, oneLine(l.Tenant), oneLine(l.Agent))
		}
		if err != nil {
			return err
		}
	}
	return unread
}

// colors is the flag --color.
type colors string

func (c *colors) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(c), "color", "auto", "colours: auto (in a terminal, unless NO_COLOR is set), always or never")
}

// isTerminal tells whether a person reads what is written.
func isTerminal(stdout io.Writer) bool {
	f, ok := stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal says how wide stdout is and whether it shows colours: a terminal does, unless NO_COLOR is set (no-color.org).
func (c colors) terminal(stdout io.Writer) (timeline.Options, error) {
	var o timeline.Options
	if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			o.Width = w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		o.Width = w
	}
	switch c {
	case "auto":
	case "always", "never":
		o.Color = c == "always"
	default:
		return o, fmt.Errorf("--color %.40q is none of auto, always and never", string(c))
	}
	return o, nil
}
