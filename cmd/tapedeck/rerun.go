// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// rerunFlags are those of replay with a command.
type rerunFlags struct {
	redactionFlags
	env                   envFlags
	sign                  signFlag
	match                 matchFlags
	to, id                string
	input, template, wait string
	answer, turns         string
	timeout, grace        time.Duration
	allowLive, frameworks []string
	preload               bool
	exact, freeze         bool
	compare               string
	ignore                []string
	markdown, html, junit string
	printEnv, note, named bool
	shut                  string
	requireLockdown       bool
	recordedOnly          bool // of --tools
	allowHosts            []string
	override              string
	forkAt                int
	model, modelURL       string
	realtime              bool
	modelKey, prompt      string
	promptText            *string // in place of the file that prompt names
	forge                 forgeFlags
}

func (f *rerunFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addCommand(cmd)
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end the command after this long")
	flags.StringVar(&f.compare, "compare", string(compare.Results), "what counts in the comparison: actions, results or all")
	flags.StringSliceVar(&f.ignore, "ignore", nil, "fields that do not count in the comparison, such as model,server")
	flags.StringVar(&f.id, "replay-run-id", "", "the id of the replay; made up without")
	flags.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to this file")
	flags.StringVar(&f.html, "html", "", "write the report as a page to this file, of a command with both runs side by side")
	flags.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
	flags.BoolVar(&f.printEnv, "print-env", false, "print the variables that are set for the command, and the names of those that it does not get, and end")
	flags.BoolVar(&f.note, "note", false, "note the outcome in the deck of the recorded run, as match --record does")
	flags.StringVar(&f.override, "override", "", "an oracle file whose answers are laid over the recorded ones")
	flags.IntVar(&f.forkAt, "fork-at", 0, "the first event of the recording that is free: from it on tools run, and models are asked as --model-url says")
	flags.StringVar(&f.model, "candidate-model", "", "the model to ask there, in place of the one that the agent asks for")
	flags.BoolVar(&f.realtime, "realtime", false, "let answers of models and of the oracle take as long as they took")
	flags.StringVar(&f.prompt, "system-prompt", "", "a file with the system prompt to send there, in place of the agent's")
	f.forge.add(cmd)
	f.match.add(cmd)
	f.redactionFlags.add(cmd)
}

// addCommand adds the flags that say how a command is run and answered, for every command that replays.
func (f *rerunFlags) addCommand(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "none", "how the command gets what the run was asked: stdin, arg, env:NAME, file, http:METHOD URL, a2a:URL or none")
	flags.StringVar(&f.template, "template", rerun.DefaultTemplate, "what it gets; {{json .}} is all of it")
	flags.StringVar(&f.wait, "wait-for", "", "the port or URL at which a command that is a server is ready; without it that of --input")
	flags.StringVar(&f.answer, "answer", "telemetry", "where the answer of the command is: telemetry, stdout, http or a2a")
	flags.StringVar(&f.turns, "turns", "recorded", "what the command is asked, one after the other: recorded (also the later turns of a joined run or a snapshot), first, or all that the user said")
	flags.DurationVar(&f.grace, "grace", 5*time.Second, "kill the command when it has not ended so long after it was asked to")
	flags.StringArrayVar(&f.allowLive, "allow-live", nil, "a tool that may run itself (repeatable); * is every tool")
	flags.BoolVar(&f.preload, "preload", true, "answer the tools of known agent frameworks within the process, by hooks that Python and Node load")
	flags.BoolVar(&f.exact, "exact", false, exactUsage)
	flags.BoolVar(&f.freeze, "freeze", false, "give Python and Node the clock of the recorded run, which goes on, and seeded random numbers and UUIDs")
	flags.StringArrayVar(&f.frameworks, "allow-framework", nil, "a framework whose tools may run if its version is not known (repeatable)")
	flags.StringVar(&f.to, "to", "", "keep the tape of the replay in this deck")
	f.sign.add(cmd)
	flags.StringVar(&f.shut, "lockdown", string(rerun.ShutNamespace), "shut the network of the command: namespace (Linux; elsewhere a proxy does what it can), proxy or off")
	flags.BoolVar(&f.requireLockdown, "require-lockdown", false, "end with code 2 where no namespace can be had, or one that lacks what its promise needs")
	flags.StringArrayVar(&f.allowHosts, "allow-host", nil, "HOST[:PORT] that the command may reach over the proxy; without a port 80 and 443 (repeatable)")
	f.env.add(flags, "a variable of the environment that the command gets too (repeatable); --print-env says which it does not get", "the same for all whose names fit a pattern, such as CLERK_* (repeatable)")
	flags.StringVar(&f.modelURL, "model-url", "", "ask this endpoint instead of the tape, behind the fork or all along: what stands before /v1/chat/completions and the like")
	flags.StringVar(&f.modelKey, "model-key-env", "", "the variable with the key of that endpoint; without it that of a provider that is known by its host, else OPENAI_API_KEY, in the protocols of OpenAI alone")
}

// speed is how fast answers come, as a multiple of the recorded speed; 0 is at once.
func (f *rerunFlags) speed() float64 {
	if f.realtime {
		return 1
	}
	return 0
}

// rerunning is one replay of a command.
type rerunning struct {
	*replaying
	f        *rerunFlags
	argv     []string
	input    rerun.Input
	level    compare.Level
	source   *tape.Tape
	at       replay.Location
	family   []recording  // the runs that the recorded command made, by their beginning; empty: the source alone
	all      bool         // all of them are judged, not the source alone
	replayed []*tape.Tape // by run of the family; nil: none came
	rules    *normalise.Rules
	normal   oracle.Normal       // in which recorded and live values are compared
	renaming *normalise.Renaming // what volatile values of the recording are called in the replay
	mask     func(string) string // hides secrets in what is told of the command
	proxy    *lockdown.Proxy
	policies rerun.Policies
	upstream *modelstub.Upstream // nil: no model is asked
	services *replayserver.Server
	// processes counts those that were started: each numbers its calls for itself.
	processes atomic.Int64
	mu        sync.Mutex
	asked     map[rerun.Layer][]rerun.Asked // calls that were served
	said      *string                       // what the command answered, where --answer takes it
	variables []rerun.Variable              // that the command gets beside all others
	withheld  []string                      // names of variables that it did not get
	workDir   string                        // where the command runs; "" is here
	copy      *rerun.Workspace              // in which it runs; nil: none
}

func (r *rerunning) check(refs []string) (err error) {
	f := r.f
	f.strict()
	if r.input, err = rerun.ParseInput(f.input); err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	r.level = compare.Level(f.compare)
	switch {
	case len(refs) != 1:
		return fmt.Errorf("replay with a command takes one REF, not %d", len(refs))
	case len(r.argv) == 0 && !f.printEnv:
		return errors.New("there is no command behind the --")
	case !slices.Contains(compare.Levels, r.level):
		return fmt.Errorf("--compare %q is unknown", f.compare)
	case !slices.Contains([]string{"telemetry", "stdout", "http", "a2a"}, f.answer):
		return fmt.Errorf("--answer %q is unknown: want telemetry, stdout, http or a2a", f.answer)
	case (f.answer == "http" || f.answer == "a2a") && !r.input.Server():
		return fmt.Errorf("--answer %s needs --input http:… or a2a:…", f.answer)
	case !slices.Contains([]string{"recorded", "first", "all"}, f.turns):
		return fmt.Errorf("--turns %q is unknown: want recorded, first or all", f.turns)
	case !slices.Contains([]string{"", waza.ModelReplay, live}, strings.ToLower(r.flags.mode)):
		return fmt.Errorf("--mode %q is unknown: want %s or %s", r.flags.mode, waza.ModelReplay, live)
	case !slices.Contains([]rerun.Shut{rerun.ShutNamespace, rerun.ShutProxy, rerun.ShutNot}, rerun.Shut(f.shut)):
		return fmt.Errorf("--lockdown %q is unknown: want namespace, proxy or off", f.shut)
	case f.requireLockdown && rerun.Shut(f.shut) != rerun.ShutNamespace:
		return errors.New("--require-lockdown needs --lockdown namespace")
	case len(f.allowHosts) > 0 && rerun.Shut(f.shut) == rerun.ShutNot:
		return errors.New("--allow-host needs --lockdown namespace or proxy")
	case f.freeze && !f.preload:
		return errors.New("--freeze needs the hooks that --preload=false leaves out")
	case f.timeout <= 0 || f.grace <= 0:
		return errors.New("--timeout and --grace must be positive")
	}
	if f.named = f.id != ""; !f.named {
		f.id = madeUpID()
	}
	if err := r.checkPolicies(); err != nil {
		return err
	}
	if r.proxy, err = lockdown.NewProxy(f.allowHosts); err != nil {
		return fmt.Errorf("--allow-host: %w", err)
	}
	return nil
}

func madeUpID() string { return "replay-" + rand.Text()[:12] }

func (r *rerunning) run(ctx context.Context, refs []string) error {
	r.stderr = concurrent(r.stderr)
	heapgoal.Start() // an answer does not wait for a collection
	if err := r.check(refs); err != nil {
		return err
	}
	sources, err := r.sources(ctx, refs[0])
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		return r.one(ctx, sources[0])
	}
	if f := r.f; cmp.Or(f.markdown, f.html, f.junit) != "" || f.printEnv || f.named {
		return fmt.Errorf("%s stands for %d runs: --markdown, --html, --junit, --print-env and --replay-run-id want one", refs[0], len(sources))
	}
	r.flags.ndjson = r.flags.ndjson || r.flags.asJSON
	code := exitOK
	for _, source := range sources {
		r.f.id = madeUpID()
		err := r.one(ctx, source)
		exit := (*exitError)(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &exit):
			code = max(code, exit.code)
		case err != nil:
			code = exitFailed
			complain(r.stderr, fmt.Errorf("%s: %w", source.at, err))
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// live is the mode of waza that runs a command; a command behind -- says it too.
const live = "live"

// recording is a run to be replayed.
type recording struct {
	tape   *tape.Tape
	at     replay.Location
	family []recording // the runs that the command made, this one too; empty where it made this one alone
	all    bool        // all of them were asked for
}

// sources are the runs that a REF stands for: one tape, or the family that one command made; with --mode live
// also a snapshot of waza, and all of a folder or a deck.
func (r *rerunning) sources(ctx context.Context, ref string) (list []recording, err error) {
	if strings.ToLower(r.flags.mode) != live {
		one, err := r.command(ctx, ref)
		return []recording{one}, err
	}
	for one, err := range r.flags.LoadRuns(ctx, ref) {
		t := one.Tape
		switch {
		case err != nil:
		case one.Snapshot != nil:
			t, err = one.Snapshot.Tape()
		default:
			t, err = r.flags.Take(one.At, one.Files[tape.TapeFile])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Source, err)
		}
		list = append(list, recording{tape: t, at: one.At})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no tape", ref)
	}
	return list, nil
}

// one replays one run and reports it.
func (r *rerunning) one(ctx context.Context, source recording) error {
	r.source, r.at, r.family, r.all = source.tape, source.at, source.family, source.all
	if err := r.checkFamily(); err != nil {
		return err
	}
	if err := r.checkPolicies(); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.tapes(), rerun.HasModelCalls) && len(r.source.Events) > 0 && r.upstream == nil && !r.f.printEnv {
		return errors.New("the recording holds tool calls and no model calls; --model-url says which model is asked")
	}
	if r.f.freeze && r.source.Run.StartedAt.IsZero() {
		return errors.New("--freeze: the tape does not say when the run began")
	}
	if r.f.note && !r.at.Ref.InDeck() {
		return fmt.Errorf("--note: %s lies in no deck", r.at)
	}
	report, replayed, err := r.replay(ctx)
	if err != nil {
		return err
	}
	if r.f.printEnv {
		return nil
	}
	if r.f.note {
		if err := r.noteOutcomes(ctx, replayed); err != nil {
			return err
		}
	}
	return r.report(report, replayed)
}
