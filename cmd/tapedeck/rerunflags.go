// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/modelonly"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape/compare"
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
	printEnv, note        bool
	shut                  string
	requireLockdown       bool
	allowHosts            []string
	override              string
	forkAt                int
	model, modelURL       string
	realtime              bool
	modelKey, prompt      string
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

// options are what the flags say of every replay. What openKeys adds is needed where one runs.
func (f *rerunFlags) options(argv []string, stderr io.Writer) (o agentreplay.Options, err error) {
	stderr = concurrent(stderr)
	input := f.input
	if f.forge.source != "" && input == "none" {
		input = defaultForge
	}
	o = agentreplay.Options{
		Argv: argv, Env: f.env.pass, Template: f.template, Turns: f.turns, Ready: f.wait, Answer: agentreplay.Answer(f.answer), Timeout: f.timeout, Grace: f.grace,
		Shut: rerun.Shut(f.shut), RequireLockdown: f.requireLockdown, AllowHosts: f.allowHosts, Hooks: f.preload, Frameworks: f.frameworks, AllowLive: f.allowLive, Freeze: f.freeze,
		Rules: f.match.from, Exact: f.exact, Override: f.override, ForkAt: f.forkAt, Realtime: f.realtime, Level: compare.Level(f.compare),
		Forge:  agentreplay.Forge{Source: f.forge.source, Oracle: f.forge.oracle, Candidate: f.forge.candidate, Output: f.forge.output},
		Stderr: stderr, Say: sayer(stderr), OpenDeck: openOrMemory(f.to),
	}
	if o.Input, err = rerun.ParseInput(input); err != nil {
		return o, fmt.Errorf("--input: %w", err)
	}
	if at := slices.Index(o.Rules.Declared, agentreplay.RecordedOnly); at >= 0 {
		o.RecordedOnly, o.Rules.Declared = true, slices.Delete(slices.Clone(o.Rules.Declared), at, at+1)
	}
	for _, field := range f.ignore {
		o.Ignore = append(o.Ignore, compare.Field(field))
	}
	if err := checkRerun(&o); err != nil {
		return o, err
	}
	o.Candidate, err = f.candidate()
	return o, err
}

// checkRerun refuses flags that are unknown or contradict each other.
func checkRerun(o *agentreplay.Options) error {
	ofServer := o.Answer == agentreplay.AnswerHTTP || o.Answer == agentreplay.AnswerA2A
	switch {
	case !slices.Contains(compare.Levels, o.Level):
		return fmt.Errorf("--compare %q is unknown", o.Level)
	case !ofServer && o.Answer != agentreplay.AnswerTelemetry && o.Answer != agentreplay.AnswerStdout:
		return fmt.Errorf("--answer %q is unknown: want telemetry, stdout, http or a2a", o.Answer)
	case ofServer && !o.Input.Server():
		return fmt.Errorf("--answer %s needs --input http:… or a2a:…", o.Answer)
	case !slices.Contains([]string{"recorded", "first", "all"}, o.Turns):
		return fmt.Errorf("--turns %q is unknown: want recorded, first or all", o.Turns)
	case !slices.Contains([]rerun.Shut{rerun.ShutNamespace, rerun.ShutProxy, rerun.ShutNot}, o.Shut):
		return fmt.Errorf("--lockdown %q is unknown: want namespace, proxy or off", o.Shut)
	case o.RequireLockdown && o.Shut != rerun.ShutNamespace:
		return errors.New("--require-lockdown needs --lockdown namespace")
	case len(o.AllowHosts) > 0 && o.Shut == rerun.ShutNot:
		return errors.New("--allow-host needs --lockdown namespace or proxy")
	case o.Freeze && !o.Hooks:
		return errors.New("--freeze needs the hooks that --preload=false leaves out")
	case o.Timeout <= 0 || o.Grace <= 0:
		return errors.New("--timeout and --grace must be positive")
	case o.ForkAt < 0:
		return errors.New("--fork-at wants the number of an event")
	}
	if err := (compare.Options{Ignore: o.Ignore}).Check(); err != nil {
		return fmt.Errorf("--ignore: %w", err)
	}
	if _, err := lockdown.NewProxy(o.AllowHosts); err != nil {
		return fmt.Errorf("--allow-host: %w", err)
	}
	return nil
}

// openKeys reads the keys and the profile of the redaction, and the key that signs.
func (f *rerunFlags) openKeys(o *agentreplay.Options, stderr io.Writer) (err error) {
	if o.Verifier, err = f.match.verifier(); err != nil {
		return err
	}
	if o.Redaction.Key, err = f.redactionFlags.key(); err != nil {
		return err
	}
	if o.Redaction.Redactor, err = f.redactionFlags.open(stderr); err != nil {
		return err
	}
	if o.Redaction.Gate, err = f.gate(); err != nil {
		return err
	}
	o.Sign, err = f.sign.signer()
	return err
}

// openOrMemory opens the deck at an address, or without one a deck in memory for each replay.
func openOrMemory(address string) func(ctx context.Context, id string) (*deck.Deck, func() error, error) {
	return func(ctx context.Context, id string) (*deck.Deck, func() error, error) {
		at, drop := address, func() {}
		if at == "" {
			name := "replay-" + id
			at, drop = "mem://"+name, func() { mem.Drop(name) }
		}
		d, err := deck.Open(ctx, at)
		if err != nil {
			return nil, nil, err
		}
		return d, func() error {
			defer drop()
			return d.Close()
		}, nil
	}
}

// candidate is the model that is asked in place of the tape; nil for none.
func (f *rerunFlags) candidate() (*agentreplay.Candidate, error) {
	model, modelURL := f.model, f.modelURL
	if named := f.forge.candidate; f.forge.source != "" && named != "" {
		e, err := modelonly.ParseEndpoint(named, cmp.Or(os.Getenv("OPENAI_BASE_URL"), defaultModels))
		if err != nil {
			return nil, fmt.Errorf("--replay-candidate-model: %w", err)
		}
		model, modelURL = e.Model, strings.TrimSuffix(e.URL, "/v1")
	}
	switch {
	case modelURL == "" && cmp.Or(model, f.prompt, f.modelKey) != "":
		return nil, errors.New("--candidate-model, --system-prompt and --model-key-env need --model-url")
	case modelURL == "":
		return nil, nil
	}
	address, err := url.Parse(modelURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil || address.RawQuery != "" {
		return nil, fmt.Errorf("--model-url %q is no address of HTTP", modelURL)
	}
	variable := f.modelKey
	c := &agentreplay.Candidate{URL: address, Model: model, Key: func(api string) string {
		if variable != "" {
			return os.Getenv(variable)
		}
		return keyFor(address, api)
	}}
	if f.prompt != "" {
		body, err := os.ReadFile(f.prompt)
		if err != nil {
			return nil, fmt.Errorf("--system-prompt: %w", err)
		}
		text := string(body)
		c.SystemPrompt = &text
	}
	return c, nil
}

// chatKey is the key for an endpoint of OpenAI's chat completions.
func chatKey(endpoint *url.URL) string { return keyFor(endpoint, "openai-chat") }

// keyFor is the key that the environment holds for an endpoint. The agent never gets it.
func keyFor(endpoint *url.URL, api string) string {
	for _, name := range modelstub.KeyVariables(endpoint, api) {
		if key := os.Getenv(name); key != "" {
			return key
		}
	}
	return ""
}
