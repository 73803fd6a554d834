// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// Launched is a command with the settings of the program that it runs.
type Launched struct {
	agentprofile.Found
	agentprofile.Launch
}

// Launch gives a command the settings of the program that it runs, where the program is known. given is the
// environment of the user as far as the command gets it. shut is the network of a replay; nil stands for a
// recording.
func Launch(command *rerun.Command, given []string, places agentprofile.Places, shut *rerun.Shut) (l Launched, err error) {
	var known bool
	if l.Found, known = agentprofile.Find(command.Argv); !known {
		l.Found = agentprofile.Found{Profile: &agentprofile.Unknown, At: -1}
	}
	places.OTLP = rerun.ValueIn(command.Env, "OTEL_EXPORTER_OTLP_ENDPOINT")
	if shut != nil {
		places.Model = rerun.ValueIn(command.Env, "TAPEDECK_MODEL_URL")
	}
	l.Launch, err = l.Found.Launch(agentprofile.Command{
		Argv: command.Argv, Env: command.Env, Given: given, Places: places, Replay: shut != nil, Shut: shut != nil && *shut == rerun.ShutNamespace,
	})
	if err == nil {
		command.Argv, command.Env = l.Argv, l.Env
	}
	return l, err
}

// LaunchRecorded is Launch for a recording. It keeps the settings of the capture of content that the user has
// made, and says what it set or kept.
func LaunchRecorded(command *rerun.Command, given []string, dir string, say func(format string, args ...any)) (Launched, error) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	command.Mark = endpoint + "=" + rerun.ValueIn(command.Env, endpoint)
	env, kept := asGiven(command.Env, given)
	command.Env = env
	l, err := Launch(command, given, agentprofile.Places{Dir: dir}, nil)
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
		say("%s", said)
	case len(l.Kept) > 0:
		say("as you set it: %s", strings.Join(l.Kept, ", "))
	}
	return l, nil
}

// asGiven restores the variables of the capture of content that the user has set to another value, and
// returns them.
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
