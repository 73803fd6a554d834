// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
)

// settingsOf adds the types of the settings of a configuration by name, each with the component that has it.
func settingsOf(all map[string]map[reflect.Type][]string, name string, config reflect.Type) {
	for i := range config.NumField() {
		f := config.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		switch {
		case options == "squash" && f.Type.Kind() == reflect.Struct:
			settingsOf(all, name, f.Type)
		case key != "":
			if all[key] == nil {
				all[key] = map[reflect.Type][]string{}
			}
			all[key][f.Type] = append(all[key][f.Type], name)
		}
	}
}

// TestSettingsOfOneNameMeanOneThing: a name that several components of tapedeck have holds the same kind of
// value in each.
func TestSettingsOfOneNameMeanOneThing(t *testing.T) {
	factories, err := components()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[reflect.Type][]string{}
	add := func(f component.Factory) {
		config := reflect.TypeOf(f.CreateDefaultConfig()).Elem()
		if strings.HasPrefix(config.PkgPath(), "github.com/tapedeck/") {
			settingsOf(all, f.Type().String(), config)
		}
	}
	for _, f := range factories.Receivers {
		add(f)
	}
	for _, f := range factories.Processors {
		add(f)
	}
	for _, f := range factories.Exporters {
		add(f)
	}
	for _, f := range factories.Connectors {
		add(f)
	}
	for _, f := range factories.Extensions {
		add(f)
	}
	for _, name := range []string{"replay", "rules", "retry_on_failure"} {
		if len(all[name]) == 0 {
			t.Errorf("no component has %s", name)
		}
	}
	if all["retry"] != nil {
		t.Error("retry is called retry_on_failure")
	}
	// agentrun reads the tenant and parks what fails, so these two have members of its own there. The others
	// are those of a transport or of one attribute.
	several := []string{"auth", "key", "retry_on_failure", "tenant", "tls"}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) > 1 && !slices.Contains(several, name) {
			t.Errorf("%s means several things: %v", name, all[name])
		}
	}
}
