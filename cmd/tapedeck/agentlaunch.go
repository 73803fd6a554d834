// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
)

// givenTo is what the doctor has to know of the settings of a command.
func givenTo(l *capture.Launched, env []string) doctor.Given {
	return doctor.Given{Env: env, Dialect: l.Dialect, Lacks: l.Lacks}
}

// whySilent says why a known program may have sent nothing.
func whySilent(l *capture.Launched) string {
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
