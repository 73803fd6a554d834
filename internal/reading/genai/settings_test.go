// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

var variable = regexp.MustCompile("`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+(?:_?\\*)?)(?:=([^`]*))?`")

// The words of a dialect and its data name the same variables, with values that do not contradict.
func TestSettingsAreThoseOfTheWords(t *testing.T) {
	named := 0
	for _, d := range Dialects {
		for _, m := range variable.FindAllStringSubmatch(d.Switch, -1) {
			named++
			name, value := m[1], m[2]
			if !slices.ContainsFunc(d.Settings, func(s dialect.Setting) bool {
				all, some := strings.CutSuffix(s.Name, "*")
				return (s.Name == name || some && strings.HasPrefix(name, all)) && (s.Unset || value == "" || s.Value == value || value == "false" && s.Value == "true")
			}) {
				t.Errorf("%s: the words name %s, the settings do not", d.ID, m[0])
			}
		}
		for _, s := range d.Settings {
			if !strings.Contains(d.Switch, "`"+s.Name) {
				t.Errorf("%s: the setting %s is not in the words", d.ID, s.Name)
			}
			if s.Unset != (s.Value == "") || strings.Contains(s.Name, "*") && !s.Unset {
				t.Errorf("%s: %+v", d.ID, s)
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d variables are named", named)
	}
}

// All of them can be set at once: no variable has two values.
func TestContentSettingsDoNotContradict(t *testing.T) {
	values := map[string]string{}
	for _, s := range ContentSettings() {
		if was, known := values[s.Name]; known {
			t.Errorf("%s is %q and %q", s.Name, was, s.Value)
		}
		values[s.Name] = s.Value
	}
	if values["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] != "SPAN_ONLY" {
		t.Error(values)
	}
}
