// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The place where a tape keeps the environment variables that the telemetry of a run names:
// extensions.process."environment_variable.NAME", after the resource attribute of the OpenTelemetry semantic conventions.
const (
	processNamespace  = "process"
	environmentPrefix = "environment_variable."
)

// sensitiveNames are parts of names whose values are replaced by the placeholder, whatever the list allows. The list is waza's.
var sensitiveNames = []string{"SECRET", "TOKEN", "PASSWORD", "PASSWD", "PWD", "KEY", "CREDENTIAL", "API_KEY", "AUTH"}

// environment is what the allow-list lets through; without a list it is empty. The names of what is held back are not written either.
func (e *encoding) environment() exactjson.Value {
	var patterns []exactjson.Value
	var members []exactjson.Member
	add := func(p string) {
		if p = strings.TrimSpace(p); p != "" && !slices.ContainsFunc(patterns, func(v exactjson.Value) bool { return v.Str() == p }) {
			patterns = append(patterns, exactjson.StringValue(p))
		}
	}
	for _, m := range known(e.tape, "env_allow").Members() { // whoever recorded the run has allowed these
		add(m.Value.Str())
	}
	for _, p := range e.options.EnvAllow {
		add(p)
	}
	if len(patterns) == 0 {
		return exactjson.ObjectValue()
	}
	for _, m := range e.tape.Extensions.Get(processNamespace).Members() {
		name, ok := strings.CutPrefix(m.Name, environmentPrefix)
		if !ok || m.Value.Kind() != exactjson.String || !slices.ContainsFunc(patterns, func(p exactjson.Value) bool { return harness.Allows(p.Str(), name) }) {
			continue
		}
		value := e.plain("extensions."+processNamespace+"."+m.Name, m.Value)
		if sensitive(name) {
			value = exactjson.StringValue(placeholder)
		}
		members = append(members, set(name, value))
	}
	return exactjson.ObjectValue(set("allowList", exactjson.ArrayValue(patterns...)), set("captured", exactjson.ObjectValue(members...)))
}

func sensitive(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(sensitiveNames, func(part string) bool { return strings.Contains(name, part) })
}
