// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/cause"
	"github.com/tapedeck/tapedeck/internal/evaluation/checkcmd"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

type causeFlags struct {
	refs
	replayerFlags
	good, bad        []string
	check            string
	checkTime        time.Duration
	answers          string
	repeat, partners int
	asJSON, quiet    bool
}

// causeReport is what cause prints.
type causeReport struct {
	Good string `json:"good"` // run ids
	Bad  string `json:"bad"`
	*cause.Result
}

func newCause() *cobra.Command {
	var f causeFlags
	cmd := &cobra.Command{
		Use:   "cause GOOD BAD -- COMMAND…",
		Short: "Find the recorded answer that makes a run go wrong",
		Long: `Find the recorded answer whose exchange between a good and a bad run flips the
outcome. COMMAND is replayed on the good run with some of its answers exchanged for
those of the bad one. The answer at which the outcome turns is found by halving.

With --check the outcome of a replay is what a command says of it, as in minimise: 0
is good, 125 cannot tell, any other is bad. Without, it is good if the answer is that
of the good run, bad if it is that of the bad one. Where both say the same, it is the
status of the run.

Tool calls are the same in both runs by their arguments, model calls by their number.
What is sent to the model in a mix is on no tape; its answers come in their order. So
what the model says in the end decides an outcome that is judged by the answer: where
others differ too, this is reported as trivial, and as no cause. With --model-url the
model is asked, and answers of tools alone are exchanged.

For n answers ceil(log2(n)) + 6 replays find one. Where it does not flip the outcome
alone, this is said, and what it needs is looked for, by halving again (--partners). A
mix that ends in different ways ends the search, and is reported.

--good and --bad take several runs: the two with the fewest different answers are used.

` + refHelp + `
The exit code is 0 if a cause was found, 1 if none was, or the outcome is not
reliable, 2 if something could not be run or loaded.`,
		Example: `  tapedeck cause good.json bad.json --check './passes.sh {answer}' --input stdin -- python agent.py
  tapedeck cause --good 4bf92f35 --good 99aa01c2 --bad 0d31ff00 --deck ./deck -- node agent.js`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 || dash == len(args) {
				return errors.New("there is no command behind a --")
			}
			if err := f.runs(args[:dash]); err != nil {
				return err
			}
			return f.run(cmd.Context(), args[dash:], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.good, "good", nil, "a run that went well (repeatable)")
	flags.StringArrayVar(&f.bad, "bad", nil, "a run that did not (repeatable)")
	addCheck(flags, &f.check, &f.checkTime)
	flags.StringVar(&f.answers, "answers", "", "what is exchanged: all, tools or models (default all, with --model-url tools)")
	flags.IntVar(&f.repeat, "repeat", 1, "replay each mix so often: all have to end in the same way")
	flags.IntVar(&f.partners, "partners", 2, "look for so many answers that an answer needs; 0 only says that it needs some")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.BoolVar(&f.quiet, "quiet", false, "no line per replay on stderr")
	f.refs.add(cmd, "ID")
	f.addUnverified()
	f.replayerFlags.add(cmd)
	return cmd
}

// runs reads which runs are good and bad.
func (f *causeFlags) runs(args []string) error {
	switch {
	case len(f.good)+len(f.bad) == 0 && len(args) == 2:
		f.good, f.bad = args[:1], args[1:]
	case len(args) > 0 || len(f.good) == 0 || len(f.bad) == 0:
		return errors.New("cause takes a good and a bad run, or --good and --bad; repeat the flag before each REF")
	}
	return nil
}

func (f *causeFlags) run(ctx context.Context, argv []string, stdout, stderr io.Writer) (err error) {
	f.answers = cmp.Or(f.answers, map[bool]string{true: string(cause.All), false: string(cause.Tools)}[f.modelURL == ""])
	switch {
	case f.repeat < 1 || f.partners < 0:
		return errors.New("--repeat must be positive, and --partners not negative")
	case !slices.Contains([]cause.Which{cause.All, cause.Tools, cause.Models}, cause.Which(f.answers)):
		return fmt.Errorf("--answers %q is unknown: want all, tools or models", f.answers)
	case f.modelURL != "" && f.answers != string(cause.Tools):
		return errors.New("with --model-url the model is asked: only answers of tools can be exchanged")
	}
	options, err := f.replayerFlags.open(argv, io.Discard)
	if err != nil {
		return err
	}
	pair, err := f.nearest(ctx)
	if err != nil {
		return err
	}
	var judge *checkcmd.Judge
	if f.check != "" {
		if judge, err = newJudge(f.check, f.checkTime, f.checkEnviron(slices.Concat(f.good, f.bad, []string{f.Deck})...)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, judge.Close()) }()
	}
	outcome, err := f.judge(judge, pair)
	if err != nil {
		return err
	}
	if !f.quiet {
		say(stderr, "%s", f.prospect(pair))
	}
	n := 0
	s := &cause.Search{Pair: pair, Repeat: f.repeat, Partners: f.partners, ByAnswer: f.check == "" && said(pair.Good) != said(pair.Bad), Replay: func(ctx context.Context, exchanged func(int) bool) (cause.Outcome, string, error) {
		n++
		t := pair.Mix(exchanged)
		out, err := agentreplay.Run(ctx, options, agentreplay.Recording{Tape: t}, fmt.Sprintf("cause-%s-%d", strings.TrimPrefix(pair.Bad.TapeID, "sha256:")[:12], n))
		switch {
		case ctx.Err() != nil, errors.Is(err, rerun.ErrNotRun):
			return "", "", err
		case err != nil:
			return cause.Other, err.Error(), nil
		case out.Tape == nil || out.Report.Exit.TimedOut:
			return cause.Other, "the replay could not be done", nil
		}
		o, detail, err := outcome(ctx, t, out)
		if err == nil && !f.quiet {
			say(stderr, "replay %d: %s", n, o)
		}
		return o, detail, err
	}}
	result, err := s.Run(ctx)
	if err != nil {
		return err
	}
	f.notes(result, pair)
	if f.asJSON {
		err = writeJSON(stdout, causeReport{pair.Good.Run.RunID, pair.Bad.Run.RunID, result})
	} else {
		_, err = io.WriteString(stdout, causeText(result, pair))
	}
	if found := result.Verdict == cause.One || result.Verdict == cause.Together; err == nil && !found {
		err = &exitError{code: exitPartial}
	}
	return err
}

// prospect says before the first replay what the search can find.
func (f *causeFlags) prospect(p *cause.Pair) string {
	n := len(p.Answers)
	switch {
	case n == 0:
		return "no cause can be found: no recorded answer that can be exchanged differs between the two runs; bisect shows where they part"
	case f.check == "" && f.modelURL == "" && f.answers != string(cause.Tools) && n > 1:
		return fmt.Sprintf("%d recorded answers differ, the final one among them, by which the outcome is judged: only the first difference can be named; --check judges by something else, --model-url asks the model", n)
	}
	return fmt.Sprintf("%d recorded answers differ: at most %d replays find one that flips the outcome", n, bits.Len(uint(n-1))+6)
}

// nearest are the good and the bad run with the fewest different answers, the first of them.
func (f *causeFlags) nearest(ctx context.Context) (*cause.Pair, error) {
	load := func(refs []string) (list []*tape.Tape, err error) {
		for _, ref := range refs {
			var t *tape.Tape
			var at replay.Location
			if t, at, err = f.OpenOne(ctx, ref); err != nil {
				return nil, err
			}
			if !rerun.HasModelCalls(t) && f.modelURL == "" {
				return nil, fmt.Errorf("%s holds no model calls; --model-url says which model is asked", at)
			}
			list = append(list, t)
		}
		return list, nil
	}
	good, err := load(f.good)
	if err != nil {
		return nil, err
	}
	bad, err := load(f.bad)
	if err != nil {
		return nil, err
	}
	var best *cause.Pair
	for _, a := range good {
		for _, b := range bad {
			p := cause.NewPair(a, b, cause.Which(f.answers))
			if best == nil || len(p.Answers) > 0 && (len(best.Answers) == 0 || len(p.Answers) < len(best.Answers)) {
				best = p
			}
		}
	}
	return best, nil
}

// judge is how the outcome of a replay is told.
func (f *causeFlags) judge(judge *checkcmd.Judge, p *cause.Pair) (func(ctx context.Context, t *tape.Tape, out *agentreplay.Outcome) (cause.Outcome, string, error), error) {
	if judge != nil {
		return func(ctx context.Context, t *tape.Tape, out *agentreplay.Outcome) (cause.Outcome, string, error) {
			result, err := judgeReplay(ctx, judge, t, out)
			switch detail := fmt.Sprintf("exit code %d", result.Code); {
			case err != nil:
				return "", "", err
			case !result.Told():
				return cause.Other, "the check could not tell", nil
			case result.Code == 0:
				return cause.Good, detail, nil
			default:
				return cause.Bad, detail, nil
			}
		}, nil
	}
	good, bad := said(p.Good), said(p.Bad)
	of := func(is, good, bad string) cause.Outcome {
		switch is {
		case good:
			return cause.Good
		case bad:
			return cause.Bad
		}
		return cause.Other
	}
	switch {
	case good != bad:
		return func(_ context.Context, _ *tape.Tape, out *agentreplay.Outcome) (cause.Outcome, string, error) {
			answer := ""
			if text := out.Answer(); text != nil {
				answer = strings.TrimSpace(*text)
			}
			return of(answer, good, bad), "answer " + firstOf(answer), nil
		}, nil
	case p.Good.Run.Status != p.Bad.Run.Status:
		return func(_ context.Context, _ *tape.Tape, out *agentreplay.Outcome) (cause.Outcome, string, error) {
			return of(string(out.Tape.Run.Status), string(p.Good.Run.Status), string(p.Bad.Run.Status)), "status " + string(out.Tape.Run.Status), nil
		}, nil
	}
	return nil, errors.New("both runs end alike, with the same answer: --check has to say which replay is good")
}

// said is what a run answered.
func said(t *tape.Tape) string {
	if t.Output.Text == nil {
		return ""
	}
	return strings.TrimSpace(*t.Output.Text)
}

// firstOf is the beginning of a text.
func firstOf(text string) string {
	const most = 80
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// notes adds what is to be known of the runs.
func (f *causeFlags) notes(r *cause.Result, p *cause.Pair) {
	add := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	if p.Asked {
		add("the runs were asked different things; every mix is asked what the good run was asked")
	}
	if p.Unpaired > 0 {
		add("calls that one of the runs has alone: %d; their answers are there in every mix", p.Unpaired)
	}
}

var causeVerdicts = map[cause.Verdict]string{
	cause.One: "one answer alone flips the outcome", cause.Trivial: "the answer that the outcome is judged by differs; why is not found", cause.Together: "these answers flip the outcome together, and not alone", cause.Interaction: "this answer flips the outcome, but not alone",
	cause.None: "no recorded answer is the cause", cause.NotRepeated: "the recorded outcomes could not be repeated", cause.Flaky: "the same replay ended in different ways",
}

func causeText(r *cause.Result, p *cause.Pair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", causeVerdicts[r.Verdict])
	for _, a := range r.Cause {
		fmt.Fprintf(&b, "  answer %d, %s %s: event %d of the good run, %d of the bad one\n    good  %s\n    bad   %s\n", a.Number, strings.ReplaceAll(string(a.Type), "_", " "), printable(a.Name), a.GoodSeq, a.BadSeq, printable(a.Good), printable(a.Bad))
	}
	var short deck.ShortIDs
	short.Add(p.Good.Run.RunID)
	short.Add(p.Bad.Run.RunID)
	fmt.Fprintf(&b, "  good %s, bad %s: different answers %d, replays %d\n", short.Of(p.Good.Run.RunID), short.Of(p.Bad.Run.RunID), len(r.Differ), r.Replays)
	for _, t := range r.Trials {
		fmt.Fprintf(&b, "  exchanged %s: %s (%s)\n", t.Exchanged, t.Outcome, printable(t.Detail))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", printable(note))
	}
	return b.String()
}
