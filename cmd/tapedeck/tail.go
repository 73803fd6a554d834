// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

type tailFlags struct {
	redactionFlags
	filter runFilter
	// of a deck
	every time.Duration
	lines int
	// of agents
	listening bool
	watching  bool
	remote    bool
	keep      string
	sign      signFlag
	quiet     time.Duration
	idle      time.Duration

	asJSON bool
	color  colors
}

// otlpAddresses are where exporters send to when nothing is said: gRPC and HTTP.
var otlpAddresses = []string{"127.0.0.1:4317", "127.0.0.1:4318"}

func newTail() *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail DECK | --listen [ADDR…] | --watch FOLDER",
		Short: "Show runs as they complete, one line each",
		Long: `Show runs as they complete, one line each. The line has the short id, which other
commands take, when the run started (UTC), the agent, how it ended, and the grade.
Then come how long it took, the tools it called, its tokens in and out, and how its
answer begins, or what went wrong. A run of which more comes later is shown again.

Of a DECK (a folder or a bucket in which tapes lie) the last runs are shown, and then
what becomes visible in it. Without DECK it is the one in ` + deckVariable + `.

With --listen, agents send to this program: OTLP over gRPC and HTTP on loopback, on
` + strings.Join(otlpAddresses, " and ") + ` if no ADDR is given. That is where most exporters
send by themselves; set OTEL_EXPORTER_OTLP_ENDPOINT of the others. What comes is
redacted as record does it. Nothing is kept, unless --to names a deck; --tenant is
the tenant of the runs then. The filters choose what is shown.

With --watch, agents write transcripts below a FOLDER: ~/.claude/projects, or
~/.codex/sessions. A run is shown when it has ended and its file has been quiet for
--settle. The folder is read and nothing is written there; what is read is redacted
as above. Runs that ended before are not shown: import reads those.

Each look at a deck costs what ls costs; --every says how often.

The command ends when it is interrupted, and says what was still open.`,
		Example: `  tapedeck tail ./deck
  tapedeck tail s3://tapes/prod --agent clerk --status error --json
  tapedeck tail --listen
  tapedeck tail --listen 127.0.0.1:4319 --to ./deck
  tapedeck tail --watch ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.color.terminal(cmd.OutOrStdout())
			if err != nil {
				return err
			}
			p := &runPrinter{out: cmd.OutOrStdout(), json: f.asJSON, options: o, now: time.Now}
			if !isTerminal(cmd.OutOrStdout()) && o.Width == 0 {
				p.options.Width = 200
			}
			if f.listening {
				if len(args) == 0 {
					args = otlpAddresses
				}
				return f.listen(cmd.Context(), args, p, cmd.ErrOrStderr())
			}
			if f.watching {
				if len(args) != 1 {
					return errors.New("tail --watch needs one FOLDER, as ~/.claude/projects")
				}
				return f.follow(cmd.Context(), args[0], p, cmd.ErrOrStderr())
			}
			address := deckFrom(args)
			if len(args) > 1 || address == "" {
				return errors.New("tail needs one DECK, its address in " + deckVariable + ", or --listen; see tapedeck tail --help")
			}
			return f.watch(cmd.Context(), address, p, cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.listening, "listen", false, "take OTLP in from agents")
	flags.BoolVar(&f.watching, "watch", false, "show what agents write to the transcripts below a folder")
	cmd.MarkFlagsMutuallyExclusive("listen", "watch")
	flags.BoolVar(&f.remote, "allow-remote", false, "let --listen take addresses that other machines can reach")
	flags.StringVar(&f.keep, "to", "", "with --listen or --watch, a deck that keeps the tapes")
	flags.DurationVar(&f.quiet, "settle", 2*time.Second, "with --listen, a run whose root has ended is complete when nothing came for so long; with --watch, a file is read then")
	flags.DurationVar(&f.idle, "idle", time.Minute, "with --listen, a run whose root has not come is shown as it is when nothing came for so long")
	flags.DurationVar(&f.every, "every", 2*time.Second, "look at the deck or the folder again after this long")
	flags.IntVarP(&f.lines, "lines", "n", 10, "of a deck, show so many of the runs that are there")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	f.filter.add(cmd)
	f.redactionFlags.add(cmd)
	f.sign.add(cmd)
	f.color.add(cmd)
	return cmd
}

func (f *tailFlags) check() error {
	if f.every <= 0 || f.quiet <= 0 || f.idle < f.quiet {
		return errors.New("--every and --settle must be positive, and --idle not less than --settle")
	}
	if f.lines < 0 {
		return errors.New("--lines must not be negative")
	}
	return f.filter.check()
}

// runPrinter prints runs, a line each. It is safe for concurrent use.
type runPrinter struct {
	out     io.Writer
	json    bool
	options timeline.Options
	now     func() time.Time

	mu    sync.Mutex
	ids   deck.ShortIDs
	shown int
	open  map[string]bool // runs that were not complete when they were shown last
}

// shownRun is the line about a run as JSON. The order of its fields is part of the contract.
type shownRun struct {
	ID           string         `json:"id"`
	RunID        string         `json:"run_id"`
	Area         string         `json:"area,omitempty"`
	Tenant       string         `json:"tenant,omitempty"`
	StartedAt    string         `json:"started_at,omitempty"`
	Agent        string         `json:"agent,omitempty"`
	Status       tape.RunStatus `json:"status"`
	Open         bool           `json:"open,omitempty"`
	Grade        tape.Grade     `json:"grade"`
	DurationMS   *int64         `json:"duration_ms,omitempty"`
	ModelCalls   int            `json:"model_calls"`
	ToolCalls    int            `json:"tool_calls"`
	InputTokens  *int64         `json:"input_tokens,omitempty"`
	OutputTokens *int64         `json:"output_tokens,omitempty"`
	Findings     int            `json:"findings"`
	Answer       string         `json:"answer,omitempty"`
	Error        string         `json:"error,omitempty"`
	Finding      string         `json:"finding,omitempty"`
	URL          string         `json:"url,omitempty"`
}

// firstWords is how much of an answer or a finding a line of JSON has, in cells.
const firstWords = 200

func (p *runPrinter) describe(t *tape.Tape, area deck.Area, url string, open bool) shownRun {
	r := &t.Run
	s := shownRun{
		ID: p.ids.Of(r.RunID), RunID: r.RunID, Area: string(area), Tenant: r.Tenant, Agent: cmp.Or(r.Agent.Name, r.Service.Name), Status: r.Status, Open: open,
		Grade: t.Fidelity.Grade, ModelCalls: t.Usage.ModelCalls, ToolCalls: t.Usage.ToolCalls, InputTokens: t.Usage.InputTokens, OutputTokens: t.Usage.OutputTokens,
		Findings: len(t.Fidelity.Findings), URL: url,
	}
	if !r.StartedAt.IsZero() {
		s.StartedAt = r.StartedAt.UTC().Format(time.RFC3339Nano)
		s.DurationMS = &r.DurationMS
	}
	if failed := cmp.Or(r.Error, t.Output.Error); failed != nil {
		s.Error = timeline.Short(strings.Trim(failed.Type+": "+failed.Message, ": "), firstWords)
	}
	if t.Output.Text != nil {
		s.Answer = timeline.Short(*t.Output.Text, firstWords)
	}
	for _, f := range slices.SortedStableFunc(slices.Values(t.Fidelity.Findings), func(a, b tape.Finding) int { return cmp.Compare(gravity(a), gravity(b)) }) {
		s.Finding = timeline.Short(string(f.Code)+": "+cmp.Or(f.Detail, f.Field), firstWords)
		break
	}
	return s
}

// gravity orders findings, the gravest first.
func gravity(f tape.Finding) int {
	return slices.Index([]tape.Severity{tape.SeverityError, tape.SeverityWarning, tape.SeverityInfo}, f.Severity)
}

// show prints a run of a deck.
func (p *runPrinter) show(r *catalog.Run) error {
	area := r.Ref.Location.Area
	return p.print(r.Tape, area, r.Ref.URL, area == deck.AreaUndecided)
}

// print shows a run. An open one has not ended.
func (p *runPrinter) print(t *tape.Tape, area deck.Area, url string, open bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.describe(t, area, url, open)
	p.shown++
	if p.open == nil {
		p.open = map[string]bool{}
	}
	if delete(p.open, s.RunID); open || s.Status == tape.StatusIncomplete {
		p.open[s.RunID] = true
	}
	if p.json {
		return writeJSON(p.out, s)
	}
	_, err := fmt.Fprintln(p.out, p.line(t, &s))
	return err
}

func (p *runPrinter) line(t *tape.Tape, s *shownRun) string {
	const layout = "15:04:05"
	o, started := p.options, "-"
	if at := t.Run.StartedAt.UTC(); !t.Run.StartedAt.IsZero() {
		if started = at.Format(layout); at.Format(time.DateOnly) != p.now().UTC().Format(time.DateOnly) {
			started = at.Format(time.DateOnly + " " + layout)
		}
	}
	status := string(s.Status)
	if s.Open {
		status = "unfinished"
	}
	took := "-"
	if s.DurationMS != nil {
		took = timeline.Duration(*s.DurationMS)
	}
	number := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return strconv.FormatInt(*n, 10)
	}
	what := cmp.Or(s.Error, s.Answer, s.Finding)
	if s.Answer != "" && s.Error == "" {
		what = "“" + s.Answer + "”"
	}
	if s.Area != "" && s.Area != string(deck.AreaRuns) {
		what = strings.TrimSpace("(" + s.Area + ") " + what)
	}
	facts := fmt.Sprintf("%7s  %-8s %11s  ", took, timeline.Plural(s.ToolCalls, "tool", "tools"), number(s.InputTokens)+"/"+number(s.OutputTokens))
	head := fmt.Sprintf("%-8s  %s  %-18s  ", s.ID, started, timeline.Short(timeline.OneLine(s.Agent), 18))
	if o.Width > 0 {
		const columns = 10 + 2 + 7 + 2 // of status and grade
		what = timeline.Short(what, max(20, o.Width-len(head)-len(facts)-columns-1))
	}
	return strings.TrimRight(timeline.Paint(o.Color, timeline.Bold, head[:len(s.ID)])+head[len(s.ID):]+
		timeline.Paint(o.Color, timeline.StatusStyle(string(s.Status)), fmt.Sprintf("%-10s", status))+"  "+
		timeline.Paint(o.Color, timeline.GradeStyle(s.Grade), fmt.Sprintf("%-7s", s.Grade))+"  "+facts+what, " ")
}

// end says what was shown, and what was not complete.
func (p *runPrinter) end(stderr io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.open) == 0:
		say(stderr, "%s; none was open", timeline.Plural(p.shown, "line", "lines"))
	default:
		var ids []string
		for id := range p.open {
			ids = append(ids, p.ids.Of(id))
		}
		slices.Sort(ids)
		more := ""
		if len(ids) > ingest.MaxExplained {
			ids, more = ids[:ingest.MaxExplained], fmt.Sprintf(" and %d more", len(ids)-ingest.MaxExplained)
		}
		say(stderr, "%s; not complete: %s%s", timeline.Plural(p.shown, "line", "lines"), strings.Join(ids, ", "), more)
	}
}

// waiting waits, and reports whether the time went by before the end came.
func waiting(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
