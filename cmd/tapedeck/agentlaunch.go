// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
)

// launched is what a command was given beside the variables of the services.
type launched struct {
	agentprofile.Found
	agentprofile.Launch
}

// launch gives a command the settings of the program that it runs, where that is known. given is what it has
// of the environment of the user. shut is how the network of a replay is shut; nil: it is a recording.
func launch(command *rerun.Command, given []string, places agentprofile.Places, shut *rerun.Shut) (l launched, err error) {
	var known bool
	if l.Found, known = agentprofile.Find(command.Argv); !known {
		l.Found = agentprofile.Found{Profile: &agentprofile.Unknown, At: -1}
	}
	places.OTLP = variable(command.Env, "OTEL_EXPORTER_OTLP_ENDPOINT")
	if shut != nil {
		places.Model = variable(command.Env, "TAPEDECK_MODEL_URL")
	}
	l.Launch, err = l.Found.Launch(agentprofile.Command{Argv: command.Argv, Env: command.Env, Given: given, Places: places, Replay: shut != nil, Shut: shut != nil && *shut == rerun.ShutNamespace})
	if err == nil {
		command.Argv, command.Env = l.Argv, l.Env
	}
	return l, err
}

// asGiven puts back the variables of the capture of content that the user has set to another value, and
// returns their names.
func asGiven(env, given []string) (_, kept []string) {
	for _, s := range genai.ContentSettings() {
		i := slices.IndexFunc(given, func(v string) bool { return strings.HasPrefix(v, s.Name+"=") })
		if s.Unset || i < 0 || given[i] == s.Name+"="+s.Value {
			continue
		}
		env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, s.Name+"=") })
		env = append(env, given[i])
		kept = append(kept, given[i])
	}
	return env, kept
}

func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// prepareRecorded gives a command that is recorded the settings of its program, and says so in a line.
func prepareRecorded(command *rerun.Command, given []string, dir string, stderr io.Writer) (launched, error) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	command.Mark = endpoint + "=" + variable(command.Env, endpoint)
	env, kept := asGiven(command.Env, given)
	command.Env = env
	l, err := launch(command, given, agentprofile.Places{Dir: dir}, nil)
	if err != nil {
		return l, err
	}
	for _, v := range kept {
		if !slices.ContainsFunc(l.Set, func(name string) bool { return strings.HasPrefix(v, name+"=") }) && !slices.Contains(l.Kept, v) {
			l.Kept = append(l.Kept, v)
		}
	}
	switch said := l.Said(l.Launch); {
	case said != "":
		say(stderr, "%s", said)
	case len(l.Kept) > 0:
		say(stderr, "as you set it: %s", strings.Join(l.Kept, ", "))
	}
	return l, nil
}

// given is what the doctor has to know of the settings.
func (l *launched) given(env []string) doctor.Given {
	return doctor.Given{Env: env, Dialect: l.Dialect, Lacks: l.Lacks}
}

// why says why a known program may have sent nothing.
func (l *launched) why() string {
	switch {
	case l.Lacks != "":
		return ": " + l.Lacks
	case l.Instrument && slices.Contains(l.Missed, agentprofile.Instrumenter):
		return ": install opentelemetry-distro, opentelemetry-exporter-otlp and the instrumentation of its model's SDK where it is installed; record runs it by opentelemetry-instrument then"
	case l.Instrument:
		return ": the instrumentation of its model's SDK has to be installed where it is"
	case len(l.Missed) > 0:
		return ": record could not set " + strings.Join(l.Missed, ", ") + ", because a shell runs it; name the program itself behind --"
	case len(l.Kept) > 0:
		return "; you set " + strings.Join(l.Kept, ", ")
	}
	return ""
}
