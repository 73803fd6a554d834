// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/runner"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// experimentFlags say what is replayed and how it is judged.
type experimentFlags struct {
	redactionFlags
	match                     matchFlags
	failures, baseline        []string
	whereFailures, whereBase  string
	limitFailures, limitBase  int
	area, tenant              string
	changes                   []string
	runner, policy, override  string
	scorers                   []string
	judgedBy                  string // --check
	timeout, scoreTime        time.Duration
	workers, maxRuns          int
	maxTime                   time.Duration
	shard, state              string
	reports                   reportFlags
	epsilon, improve, regress float64
	quiet                     bool
	judgeURL, judgeModel      string
	rubric                    string
	votes                     int
	regression, timed         bool
	maxTokens                 int64
	command                   rerunFlags
	decks                     []string // where the runs are
}

// reportFlags say where a report goes.
type reportFlags struct {
	asJSON                bool
	markdown, junit, html string
}

func (f *reportFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the report as JSON; else it is Markdown")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "write the report as Markdown to this file")
	cmd.Flags().StringVar(&f.html, "html", "", "write the report as a page, with the runs that changed most side by side, to this file")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
}

// written is a report that can be written in each form.
type written interface {
	Markdown(w io.Writer) error
	JUnit(w io.Writer) error
	ExitCode() int
}

// write writes a report, and returns the verdict as the end of the command. page writes it as a page.
func (f *reportFlags) write(stdout io.Writer, r written, page func(*bytes.Buffer) error) error {
	var markdown, junit, html bytes.Buffer
	if err := errors.Join(r.Markdown(&markdown), r.JUnit(&junit)); err != nil {
		return err
	}
	if f.html != "" {
		if err := page(&html); err != nil {
			return err
		}
	}
	for _, file := range []struct {
		name string
		body []byte
	}{{f.markdown, markdown.Bytes()}, {f.junit, junit.Bytes()}, {f.html, html.Bytes()}} {
		if file.name != "" {
			if err := os.WriteFile(file.name, file.body, 0o600); err != nil {
				return err
			}
		}
	}
	var err error
	if f.asJSON {
		err = writeJSON(stdout, r)
	} else {
		_, err = stdout.Write(markdown.Bytes())
	}
	if code := r.ExitCode(); err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}

// openCase reads the tape of a run of a plan.
func openCase(ctx context.Context, c *experiment.Case) (*tape.Tape, error) {
	finder := replay.Finder{Limit: 1, Warn: func(string, ...any) {}}
	t, _, err := finder.OpenOne(ctx, c.Ref)
	if err == nil && t.TapeID != c.TapeID {
		err = fmt.Errorf("the tape is %s now, the plan was made of %s", t.TapeID, c.TapeID)
	}
	return t, err
}

func newExperiment() *cobra.Command {
	var f experimentFlags
	cmd := &cobra.Command{
		Use:   "experiment DECK --runner RUNNER | DECK -- COMMAND…",
		Short: "Replay many runs through a changed agent, and judge what it mends and breaks",
		Long: `Replay runs of a deck through a runner, score the recorded and the new answers,
and judge.

Two cohorts: --failures are runs that should become better, --baseline runs that
must not become worse. Both are COLUMN=VALUE, as --is of ls, and all of them hold
at once. The runner is a program that speaks whatifd-exec/1 (exec:COMMAND) or a
function in Python (python:MODULE:ATTR); see exec-check. Its tool calls are answered from the
tape of the run; a call without a recorded answer makes the run one that was not
replayed. With a command behind --, each run is a replay of it as "replay REF -- COMMAND"
makes it: models and tools are answered from the tape, or models by --model-url.
The candidate is told of the change: --change system_prompt=@FILE,
--change model=NAME, --change overrides.KEY=JSON, --change overrides=FILE.

With --state the outcomes are kept as they come: the same command goes on where
it was stopped. --shard i/n replays a part, and "experiment merge" reports on all.

The exit code is 0 for ship, 1 for don't ship, 3 for inconclusive, and 2 for an
experiment that could not be run.`,
		Example: `  tapedeck experiment ./deck --failures status=error --baseline status=ok \
    --runner "exec:node agent.js" --change system_prompt=@new.txt --scorer "exec:./check.sh" --state ./exp
  tapedeck experiment ./deck --scorer "exec:./check.sh" --input stdin -- python agent.py`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return needOneDeck(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var command []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				command = args[dash:]
			}
			for _, of := range []struct {
				flag, where string
				is          *[]string
			}{{"failures", f.whereFailures, &f.failures}, {"baseline", f.whereBase, &f.baseline}} {
				if of.where != "" && !cmd.Flags().Changed(of.flag) {
					*of.is = nil // the default is for those that say nothing
				}
			}
			return f.run(cmd, args[0], command)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.failures, "failures", []string{"status=error"}, "COLUMN=VALUE, or a verdict as \"verdict correctness<0.5\", of runs that should become better (repeatable)")
	flags.StringArrayVar(&f.baseline, "baseline", []string{"status=ok"}, "COLUMN=VALUE of runs that must not become worse (repeatable)")
	flags.StringVar(&f.whereFailures, "failures-where", "", "a condition on the columns as in SQL, as --where of ls; without --failures it stands alone")
	flags.StringVar(&f.whereBase, "baseline-where", "", "the same for the baseline")
	flags.BoolVar(&f.regression, "regression-check", false, "ask only whether the baseline becomes worse")
	flags.IntVar(&f.limitFailures, "limit-failures", 0, "take so many failures, drawn by the digest of their names; 0 is all")
	flags.IntVar(&f.limitBase, "limit-baseline", 0, "take so many runs of the baseline; 0 is all")
	flags.StringVar(&f.tenant, "tenant", "", "only the runs of this tenant")
	flags.StringVar(&f.area, "area", "runs", "runs, joined, replays, undecided or all")
	flags.StringVar(&f.runner, "runner", "", "the candidate: exec:COMMAND or python:MODULE:ATTR")
	flags.StringArrayVar(&f.changes, "change", nil, "system_prompt=TEXT or @FILE, model=NAME, overrides.KEY=JSON, overrides=FILE: an object, or an oracle file as --override (repeatable)")
	flags.StringVar(&f.policy, "tool-policy", string(contract.UseOriginal), "use-original; live: a call without a recorded answer is left to the runner; mock: with --override, as use-original")
	flags.StringVar(&f.override, "override", "", "an oracle file laid over the recorded answers")
	f.addScorers(cmd)
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "how long the runner may take for one run")
	flags.IntVar(&f.workers, "workers", 2, "runners at work at the same time")
	flags.IntVar(&f.maxRuns, "max-runs", 0, "replay so many runs by this call at most")
	flags.DurationVar(&f.maxTime, "max-time", 0, "begin no run after this long")
	flags.Int64Var(&f.maxTokens, "max-tokens", 0, "begin no run when the candidate and the judges have used so many tokens, those of earlier calls in --state included")
	flags.StringVar(&f.judgedBy, "check", "", "the command that judges an answer: exit code 0 is good; it reads the case as JSON and is asked for both answers. It decides before --scorer")
	flags.BoolVar(&f.timed, "latency", false, "keep how long each replay took; two experiments then differ in that")
	flags.StringVar(&f.shard, "shard", "", "i/n: replay this part of the runs")
	flags.StringVar(&f.state, "state", "", "keep plan and outcomes in this folder, and go on from there")
	flags.Float64Var(&f.epsilon, "epsilon", statistics.DefaultPolicy.Epsilon, "a smaller delta is no change")
	flags.Float64Var(&f.improve, "min-improvement", statistics.DefaultPolicy.MinImprovement, "share of failures that have to become better")
	flags.Float64Var(&f.regress, "max-regression", statistics.DefaultPolicy.MaxRegression, "share of the baseline that may become worse")
	flags.BoolVar(&f.quiet, "quiet", false, "no line per run on stderr")
	f.reports.add(cmd)
	f.command.addCommand(cmd)
	f.match.add(cmd)
	f.redactionFlags.add(cmd)
	_ = flags.MarkHidden("allow-key-change") // nothing is stored in a deck
	_ = flags.MarkHidden("no-gate")
	cmd.AddCommand(newExperimentMerge())
	return cmd
}

// addScorers adds the flags of what scores.
func (f *experimentFlags) addScorers(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.scorers, "scorer", nil, "exact, structural, semantic, rouge1, tools, judge, check:COMMAND or exec:COMMAND (repeatable); the first decides")
	flags.StringVar(&f.judgeModel, "judge-model", "", "the model of --scorer judge, behind OpenAI's chat completions; its key is $OPENAI_API_KEY, or that of a known provider")
	flags.StringVar(&f.judgeURL, "judge-url", "", "where it is asked (default $OPENAI_BASE_URL, else OpenAI)")
	flags.StringVar(&f.rubric, "rubric", "", "the file that says to --scorer judge what a good answer is")
	flags.IntVar(&f.votes, "votes", 1, "how often --scorer judge is asked for an answer: the median counts; an odd number")
	flags.DurationVar(&f.scoreTime, "score-timeout", time.Minute, "how long a scorer may take")
}

func newExperimentMerge() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "merge FOLDER…",
		Short: "Report on an experiment whose parts lie in several folders",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("experiment merge needs a folder; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, journal, err := experiment.Merge(args)
			if err != nil {
				return err
			}
			r, err := experiment.NewReport(plan, journal)
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), r, func(w *bytes.Buffer) error { return r.HTML(cmd.Context(), w, openCase) })
		},
	}
	f.add(cmd)
	return cmd
}

// check reads the flags that need no deck.
func (f *experimentFlags) check(plan *experiment.Plan, argv []string, redact func(string) string) (scorers []experiment.Scorer, err error) {
	plan.Shape = statistics.FailureRescue
	if f.regression {
		plan.Shape = statistics.RegressionCheck
	}
	plan.Runner, plan.Timed, plan.Policy, plan.Bootstrap, plan.Decision = f.runner, f.timed, contract.Policy(f.policy), statistics.DefaultBootstrap, statistics.DefaultPolicy
	plan.Decision.Epsilon, plan.Decision.MinImprovement, plan.Decision.MaxRegression = f.epsilon, f.improve, f.regress
	var override string
	if plan.Change, override, err = parseChanges(f.changes); err != nil {
		return nil, err
	}
	if override != "" && f.override != "" {
		return nil, errors.New("--change overrides and --override both name an oracle file")
	}
	f.override = cmp.Or(f.override, override)
	switch {
	case f.runner == "" && len(argv) == 0:
		return nil, errors.New("--runner is missing, and no command stands behind --")
	case f.runner != "" && len(argv) > 0:
		return nil, errors.New("there are both --runner and a command behind --")
	case !slices.Contains([]contract.Policy{contract.UseOriginal, contract.Live, contract.Mock}, plan.Policy):
		return nil, fmt.Errorf("--tool-policy must be use-original, live or mock, not %q", f.policy)
	case plan.Policy == contract.Mock && f.override == "":
		return nil, errors.New("--tool-policy mock needs --override")
	case f.workers < 1 || f.maxRuns < 0 || f.maxTokens < 0 || f.limitFailures < 0 || f.limitBase < 0:
		return nil, errors.New("--workers must be positive, and --max-runs, --max-tokens and the limits not negative")
	case f.timeout <= 0 || f.scoreTime <= 0 || f.maxTime < 0:
		return nil, errors.New("--timeout and --score-timeout must be positive, and --max-time not negative")
	case !(f.epsilon >= 0 && f.epsilon < 1) || !(f.improve >= 0 && f.improve <= 1) || !(f.regress >= 0 && f.regress <= 1):
		return nil, errors.New("--epsilon, --min-improvement and --max-regression must be between 0 and 1")
	}
	if f.judgedBy != "" {
		f.scorers = slices.Insert(slices.Clone(f.scorers), 0, "check:"+f.judgedBy)
	}
	if len(f.scorers) == 0 {
		if !f.regression {
			return nil, errors.New("--check or --scorer is missing: what makes an answer better has to be said, as --check COMMAND")
		}
		f.scorers = []string{"exact"}
	}
	if scorers, err = f.readScorers(redact); err != nil {
		return nil, err
	}
	if scorers[0].Compares && !f.regression {
		return nil, fmt.Errorf("--scorer %s says how alike answers are, so no failure could become better: use it with --regression-check, or behind a scorer that decides", f.scorers[0])
	}
	for _, s := range scorers {
		plan.Scorers = append(plan.Scorers, s.Name)
	}
	return scorers, nil
}

// readScorers makes those of --scorer.
func (f *experimentFlags) readScorers(redact func(string) string) (scorers []experiment.Scorer, err error) {
	for _, name := range f.scorers {
		s, err := f.scorer(name, redact)
		if err != nil {
			return nil, fmt.Errorf("--scorer: %w", err)
		}
		scorers = append(scorers, s)
	}
	return scorers, nil
}

// environ is the environment of runners and scorers.
func (f *experimentFlags) environ() []string {
	environ, _ := f.command.env.program(append(f.decks, f.command.to)...)
	return environ
}

// scorer makes the scorer of a name.
func (f *experimentFlags) scorer(name string, redact func(string) string) (experiment.Scorer, error) {
	if name != "judge" {
		return experiment.ParseScorer(name, f.scoreTime, f.environ())
	}
	judge, err := f.judge(redact)
	if err != nil {
		return experiment.Scorer{}, err
	}
	return judge.Scorer()
}

// judge makes the judge. Its endpoint gets the key that any other one of these models would get.
func (f *experimentFlags) judge(redact func(string) string) (*experiment.Judge, error) {
	rubric, err := readBounded(f.rubric, maxPrompt)
	if f.rubric == "" {
		err = errors.New("it is not given")
	}
	if err != nil {
		return nil, fmt.Errorf("--rubric: %w", err)
	}
	address := cmp.Or(f.judgeURL, os.Getenv("OPENAI_BASE_URL"), defaultModels)
	endpoint, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("--judge-url: it is no URL")
	}
	return &experiment.Judge{
		URL: address, Model: f.judgeModel, Key: chatKey(endpoint), Rubric: string(rubric), Votes: f.votes, Client: &http.Client{Timeout: f.scoreTime}, Redact: redact,
	}, nil
}

// parseChanges reads changes. override is the oracle file that one of them names.
func parseChanges(changes []string) (c experiment.Change, override string, err error) {
	for _, text := range changes {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return c, "", fmt.Errorf("--change %q: want NAME=VALUE", text)
		}
		if file, isFile := strings.CutPrefix(value, "@"); isFile && name == "system_prompt" {
			body, err := readBounded(file, maxPrompt)
			if err == nil && len(body) > maxPrompt {
				err = fmt.Errorf("it has more than %d bytes", maxPrompt)
			}
			if err != nil {
				return c, "", fmt.Errorf("--change system_prompt: %w", err)
			}
			value = string(body)
		}
		key, isOverride := strings.CutPrefix(name, "overrides.")
		switch {
		case name == "system_prompt":
			c.SystemPrompt = &value
		case name == "model":
			c.Model = &value
		case isOverride && key != "":
			var v any
			if err := json.Unmarshal([]byte(value), &v); err != nil {
				return c, "", fmt.Errorf("--change %s: %w", name, err)
			}
			if c.Overrides == nil {
				c.Overrides = map[string]any{}
			}
			c.Overrides[key] = v
		case name == "overrides":
			object, isOracle, err := readOverrides(strings.TrimPrefix(value, "@"))
			if err != nil {
				return c, "", fmt.Errorf("--change overrides: %w", err)
			}
			if isOracle {
				override = strings.TrimPrefix(value, "@")
				continue
			}
			if c.Overrides == nil {
				c.Overrides = map[string]any{}
			}
			maps.Copy(c.Overrides, object)
		default:
			return c, "", fmt.Errorf("--change %q: want system_prompt, model, overrides.KEY or overrides", name)
		}
	}
	return c, override, nil
}

const maxPrompt = 1 << 20 // bytes

func (f *experimentFlags) run(cmd *cobra.Command, address string, argv []string) (err error) {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	plan := &experiment.Plan{}
	f.decks = []string{address}
	redact, err := f.redactText(stderr)
	if err != nil {
		return err
	}
	scorers, err := f.check(plan, argv, redact)
	if err != nil {
		return err
	}
	if plan.Settings, err = settingsOf(cmd, ofThePlan...); err != nil {
		return err
	}
	shard, err := experiment.ParseShard(f.shard)
	if err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	if f.shard != "" && f.state == "" {
		return errors.New("--shard needs --state: experiment merge reads it")
	}
	candidate, seal, err := f.candidate(plan, argv)
	if err != nil {
		return err
	}
	if err := f.choose(ctx, address, plan, stderr); err != nil {
		return err
	}
	if err := plan.Seal(); err != nil {
		return err
	}
	seal()
	journal, err := experiment.OpenJournal(f.state, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	bar := isTerminal(stderr)
	x := &experiment.Experiment{
		Plan: plan, Journal: journal, Scorers: scorers, Shard: shard, Workers: f.workers, MaxRuns: f.maxRuns, MaxTime: f.maxTime, MaxTokens: f.maxTokens, Candidate: candidate,
		Open:   openCase,
		Redact: redact,
		Progress: func(done, of int, c *experiment.Case, o *experiment.Outcome) {
			switch {
			case f.quiet:
			case bar:
				fmt.Fprint(stderr, progress(done, of, o))
			default:
				say(stderr, "%d of %d: %s (%s): %s", done, of, deck.ShortID(c.RunID), c.Cohort, o.Line())
			}
		},
	}
	summary, err := x.Run(ctx)
	if bar && !f.quiet {
		fmt.Fprintln(stderr)
	}
	if err != nil {
		if summary.Log != "" {
			say(stderr, "the runner wrote: %s", summary.Log)
		}
		return err
	}
	if !f.quiet {
		say(stderr, "replayed %d runs now, %d are left; the runner was started again %d times", summary.Replayed, summary.Left, summary.Restarts)
	}
	r, err := experiment.NewReport(plan, journal)
	if err != nil {
		return err
	}
	return f.reports.write(stdout, r, func(w *bytes.Buffer) error { return r.HTML(ctx, w, openCase) })
}

// progress is a line of a terminal that takes the place of the one before.
func progress(done, of int, o *experiment.Outcome) string {
	const width = 30
	filled := width * done / max(of, 1)
	return fmt.Sprintf("\r\x1b[K[%s%s] %d of %d: %.60s", strings.Repeat("#", filled), strings.Repeat("-", width-filled), done, of, timeline.OneLine(o.Line()))
}

// redactText takes secrets out of a text, as --redact says.
func (f *experimentFlags) redactText(stderr io.Writer) (func(string) string, error) {
	redactor, err := f.open(stderr)
	if err != nil || redactor == nil {
		return func(text string) string { return text }, err
	}
	return func(text string) string { return redactor.String("", text, nil) }, nil
}

// candidate makes what opens candidates. seal is called when the plan is whole.
func (f *experimentFlags) candidate(plan *experiment.Plan, argv []string) (open func(context.Context) (experiment.Candidate, error), seal func(), err error) {
	var override []oracle.Entry
	if f.override != "" {
		if override, plan.Override, err = readOverride(f.override); err != nil {
			return nil, nil, fmt.Errorf("--override: %w", err)
		}
	}
	if len(argv) > 0 {
		plan.Runner, plan.Identity = "command: "+strings.Join(argv, " "), experiment.Identify(argv)
		c, err := f.commandCandidate(argv, plan)
		return func(context.Context) (experiment.Candidate, error) { return c, nil }, func() { c.Digest = plan.Digest() }, err
	}
	options, err := f.match.options()
	if err != nil {
		return nil, nil, err
	}
	config, err := runner.Parse(f.runner)
	if err != nil {
		return nil, nil, err
	}
	files := config.Argv
	if function, ok := strings.CutPrefix(f.runner, "python:"); ok { // where it lies unless the module is installed
		module, _, _ := strings.Cut(function, ":")
		files = append(slices.Clone(files), strings.ReplaceAll(module, ".", "/")+".py")
	}
	plan.Identity = experiment.Identify(files)
	config.Policy, config.ReplayTimeout, config.Env = plan.Policy, f.timeout, f.environ()
	open, err = experiment.Lanes(plan, config, options, override)
	return open, func() {}, err
}

// readOverride reads an oracle file, and its digest.
func readOverride(file string) ([]oracle.Entry, string, error) {
	data, err := readBounded(file, tape.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	entries, err := oracle.Read(data)
	return entries, tape.FileDigest(data), err
}

// ruleOf is what chose the runs of a cohort.
func ruleOf(is []string, where string) string {
	if where != "" {
		is = append(slices.Clone(is), "("+where+")")
	}
	return strings.Join(is, " and ")
}

// choose fills the plan with the runs of the deck that the rules take.
func (f *experimentFlags) choose(ctx context.Context, address string, plan *experiment.Plan, stderr io.Writer) (err error) {
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	cohorts := []struct {
		name  string
		rules []string
		where string
		limit int
	}{{statistics.Failure, f.failures, f.whereFailures, f.limitFailures}, {statistics.Baseline, f.baseline, f.whereBase, f.limitBase}}
	if f.regression {
		cohorts = cohorts[1:]
	}
	for _, c := range cohorts {
		chosen := runFilter{named: map[string]*string{"tenant": &f.tenant}, now: time.Now}
		chosen.Area, chosen.Where = f.area, c.where
		for _, rule := range c.rules {
			if condition, ok := strings.CutPrefix(rule, "verdict "); ok {
				chosen.Verdicts = append(chosen.Verdicts, condition)
			} else {
				chosen.is = append(chosen.is, rule)
			}
		}
		if err := chosen.check(); err != nil {
			return fmt.Errorf("--%s: %w", c.name, err)
		}
		var cases []experiment.Case
		failed := 0
		for r, err := range chosen.runs(ctx, d, view.Query{}, stderr, &failed) {
			if err != nil {
				return err
			}
			cases = append(cases, experiment.Case{Cohort: c.name, RunID: r.RunID, Tenant: r.Tenant, TapeID: r.TapeID, Ref: r.Ref.URL})
		}
		if failed > 0 {
			return fmt.Errorf("%d traces of the deck cannot be read, so who is in the experiment is not known", failed)
		}
		plan.Cohorts = append(plan.Cohorts, experiment.Selection{Cohort: c.name, Rule: ruleOf(c.rules, c.where), Matched: len(cases), Limit: c.limit})
		plan.Cases = append(plan.Cases, experiment.Sample(cases, c.limit)...)
	}
	slices.SortFunc(plan.Cohorts, func(a, b experiment.Selection) int { return cmp.Compare(a.Cohort, b.Cohort) })
	return nil
}
