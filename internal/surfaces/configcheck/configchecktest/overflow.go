// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package configchecktest tests configurations of components.
package configchecktest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
)

// Overflow fails unless each field of a configuration that holds a number refuses one that it cannot hold, by its name. It returns the names.
func Overflow(t *testing.T, newConfig func() component.Config) (names []string) {
	t.Helper()
	if _, ok := newConfig().(confmap.Unmarshaler); !ok {
		t.Fatalf("%T has no method Unmarshal: what becomes of its numbers is left to chance", newConfig())
	}
	walk(reflect.TypeOf(newConfig()), nil, func(path []string, number any) {
		name := strings.Join(path, confmap.KeyDelimiter)
		names = append(names, name)
		value := number
		for _, key := range slices.Backward(path) {
			if key == "0" {
				value = []any{value}
			} else {
				value = map[string]any{key: value}
			}
		}
		err := confmap.NewFromStringMap(value.(map[string]any)).Unmarshal(newConfig())
		if err == nil || !strings.Contains(err.Error(), name+": "+fmt.Sprintf("%.0f", number)) {
			t.Errorf("%s: %v gives the error %v", name, number, err)
		}
	})
	return names
}

// walk calls f with the path of each number in t, and a number that does not fit there.
func walk(t reflect.Type, path []string, f func(path []string, number any)) {
	with := func(key string) []string { return append(slices.Clone(path), key) }
	if get, ok := reflect.PointerTo(t).MethodByName("Get"); ok && get.Type.NumIn() == 1 && get.Type.NumOut() == 1 {
		walk(get.Type.Out(0), path, f)
		return
	}
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		walk(t.Elem(), path, f)
	case kind == reflect.Slice:
		walk(t.Elem(), with("0"), f)
	case kind == reflect.Map:
		walk(t.Elem(), with("any"), f)
	case kind == reflect.Struct:
		for field := range t.Fields() {
			name, options, tagged := strings.Cut(field.Tag.Get("mapstructure"), ",")
			switch {
			case !field.IsExported() || name == "-":
			case tagged && strings.Contains(options, "squash"):
				walk(field.Type, path, f)
			case name != "":
				walk(field.Type, with(name), f)
			}
		}
	case kind == reflect.Float32 || kind == reflect.Float64:
		f(path, math.Inf(1))
	case kind >= reflect.Int && kind <= reflect.Uint64:
		f(path, 1e20)
	}
}
