// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"slices"
	"strings"

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
	for _, p := range e.options.EnvAllow {
		if p = strings.TrimSpace(p); p != "" {
			patterns = append(patterns, exactjson.StringValue(p))
		}
	}
	if len(patterns) == 0 {
		return exactjson.ObjectValue()
	}
	for _, m := range e.tape.Extensions.Get(processNamespace).Members() {
		name, ok := strings.CutPrefix(m.Name, environmentPrefix)
		if !ok || m.Value.Kind() != exactjson.String || !slices.ContainsFunc(patterns, func(p exactjson.Value) bool { return allows(p.Str(), name) }) {
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

// allows reports whether a pattern lets a name through: an exact name, or a beginning with a * behind it. A lone * is an empty
// beginning and lets nothing through.
func allows(pattern, name string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return beginning != "" && strings.HasPrefix(name, beginning)
	}
	return pattern == name
}

func sensitive(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(sensitiveNames, func(part string) bool { return strings.Contains(name, part) })
}
