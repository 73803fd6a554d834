// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
)

// hooks configures what the agent loads.
func (r *Replay) hooks(oracleURL string) preload.Config {
	c := preload.Config{Dir: "DIR", OracleURL: oracleURL, ReplayRunID: r.id, AllowLive: r.o.AllowLive, Allow: r.o.Frameworks}
	if r.o.Freeze {
		c.Freeze = &preload.Freeze{Offset: time.Until(r.of.Tape.Run.StartedAt), Seed: r.of.Tape.Run.RunID}
	}
	return c
}

// addresses are the services of the command. The address of the receiver is known when it listens.
func (r *Replay) addresses(all, proxy string) rerun.Services {
	return rerun.Services{OTLP: all, Model: all, Oracle: all, MCP: all + "/mcp", Proxy: proxy, ReplayRunID: r.id, ReplayOf: r.of.Tape.Run.RunID}
}

// environment divides the environment of this program: what the command gets, what stands in for what it does
// not get, and the names of the latter. Variables that the replay sets anyway are not named.
func (r *Replay) environment(s rerun.Services) (passed []string, standIns []rerun.Variable, withheld []string) {
	environ := secretenv.Environ()
	choice := r.o.Env
	agent, known := agentprofile.Find(r.o.Argv)
	if known {
		choice.OfProgram = agent.Passed
	}
	passed, withheld = choice.Replay(environ)
	if known {
		withheld = slices.DeleteFunc(withheld, agent.Sets)
	}
	for _, v := range slices.Concat(s.Variables(), r.o.Input.Variables(""), r.o.Forge.variables(), r.o.Variables) {
		begin, some := strings.CutSuffix(v.Name, "*")
		withheld = slices.DeleteFunc(withheld, func(name string) bool { return name == v.Name || some && strings.HasPrefix(name, begin) })
	}
	return passed, s.StandIns(environ, withheld), withheld
}

// places are what the settings of a known program refer to.
func (r *Replay) places(dir string) agentprofile.Places {
	return agentprofile.Places{Dir: dir, ModelName: r.of.Tape.Config.Model}
}

// Environment lists, for a person, the variables that a replay sets and those that it withholds. It runs
// nothing.
func (r *Replay) Environment() ([]string, error) {
	const address = "http://127.0.0.1:PORT"
	proxy := address
	if r.o.Shut == rerun.ShutNot {
		proxy = ""
	}
	s, hooks := r.addresses(address, proxy), r.hooks(address)
	given, standIns, withheld := r.environment(s)
	lines := []string{}
	for _, v := range append(s.Variables(), standIns...) {
		line := v.Name + "=" + v.Value
		if v.Unset {
			line = "unset " + v.Name
		}
		lines = append(lines, line)
	}
	if len(r.o.Argv) > 0 {
		command, shut := rerun.Command{Argv: r.o.Argv, Env: lines}, r.o.Shut
		agent, err := capture.Launch(&command, given, r.places(""), &shut)
		if err != nil {
			return nil, err
		}
		lines = command.Env
		for _, label := range agent.Set {
			if rerun.ValueIn(lines, label) == "" {
				lines = append(lines, "and "+label)
			}
		}
	}
	if r.o.Hooks {
		for _, line := range hooks.Environ(nil) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	for _, name := range withheld {
		lines = append(lines, "withheld "+name)
	}
	return lines, nil
}
