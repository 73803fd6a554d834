// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Values are rules for parts of a JSON value, by the JSON path that leads to them.
type Values map[string]*Value

// Value is what is expected of each value at a path. All of it that is there has to hold. Unless the value is
// to be absent, there has to be one.
type Value struct {
	Equals  yaml.Node   `yaml:"equals"`
	Matches *string     `yaml:"matches"` // a regular expression of RE2
	OneOf   []yaml.Node `yaml:"one_of"`
	Range   *Range      `yaml:"range"`
	Present bool        `yaml:"present"`
	Absent  bool        `yaml:"absent"`

	path    jsonpath.Path
	pattern *regexp.Regexp
	values  []exactjson.Value // of equals, or of one_of
}

// Range are numbers, both ends included.
type Range struct {
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
}

// maxRules bounds the rules of one value.
const maxRules = 1000

func (r Values) check() error {
	if len(r) > maxRules {
		return fmt.Errorf("%d rules, at most %d", len(r), maxRules)
	}
	for _, path := range r.paths() {
		if r[path] == nil {
			return fmt.Errorf("%.80q has no rule: want equals, matches, one_of, range, present or absent", path)
		}
		if err := r[path].check(path); err != nil {
			return fmt.Errorf("%.80q: %w", path, err)
		}
	}
	return nil
}

func (r Values) paths() []string { return slices.Sorted(maps.Keys(r)) }

func (v *Value) check(path string) (err error) {
	if v.path, err = jsonpath.Parse(path); err != nil {
		return err
	}
	some := !v.Equals.IsZero() || v.Matches != nil || v.OneOf != nil || v.Range != nil
	switch {
	case !some && !v.Present && !v.Absent:
		return errors.New("want equals, matches, one_of, range, present or absent")
	case v.Absent && (some || v.Present):
		return errors.New("what is absent has no other rule")
	case !v.Equals.IsZero() && v.OneOf != nil:
		return errors.New("equals and one_of exclude each other")
	case v.Range != nil && v.Range.Min == nil && v.Range.Max == nil:
		return errors.New("range: want min, max or both")
	case v.OneOf != nil && len(v.OneOf) == 0:
		return errors.New("one_of is empty")
	}
	if v.Matches != nil {
		if v.pattern, err = regexp.Compile(*v.Matches); err != nil {
			return fmt.Errorf("matches: %w", err)
		}
	}
	of := v.OneOf
	if !v.Equals.IsZero() {
		of = []yaml.Node{v.Equals}
	}
	for i := range of {
		value, err := ValueOf(&of[i])
		if err != nil {
			return err
		}
		v.values = append(v.values, value)
	}
	return nil
}

// judge says which part of a value does not hold, "" if all do.
func (r Values) judge(of exactjson.Value) string {
	for _, path := range r.paths() {
		rule := r[path]
		found := 0
		why := ""
		rule.path.Rewrite(of, exactjson.Value{}, func(v exactjson.Value) exactjson.Value {
			if !v.IsAbsent() {
				if found++; why == "" && !rule.holds(v) {
					why = path + " is " + cut(v.JSON())
				}
			}
			return v
		})
		switch {
		case rule.Absent && found == 0:
		case found == 0:
			return path + " is absent"
		case why != "":
			return why
		}
	}
	return ""
}

func (v *Value) holds(got exactjson.Value) bool {
	if v.Absent {
		return false
	}
	if len(v.values) > 0 && !slices.ContainsFunc(v.values, got.Equal) {
		return false
	}
	if v.pattern != nil {
		text := got.JSON()
		if got.Kind() == exactjson.String {
			text = got.Str()
		}
		if !v.pattern.MatchString(text) {
			return false
		}
	}
	if v.Range == nil {
		return true
	}
	if got.Kind() != exactjson.Number {
		return false
	}
	n, _ := strconv.ParseFloat(got.Text(), 64) // beyond all numbers it is infinite
	return (v.Range.Min == nil || n >= *v.Range.Min) && (v.Range.Max == nil || n <= *v.Range.Max)
}

// String is what is expected, for people.
func (r Values) String() string {
	var list []string
	for _, path := range r.paths() {
		list = append(list, path+" "+r[path].String())
	}
	return cut(strings.Join(list, ", "))
}

// String is what is expected at a path.
func (v *Value) String() string {
	var list []string
	switch {
	case v.Absent:
		return "absent"
	case !v.Equals.IsZero():
		list = append(list, "= "+v.values[0].JSON())
	case len(v.values) > 0:
		var of []string
		for _, value := range v.values {
			of = append(of, value.JSON())
		}
		list = append(list, "one of "+strings.Join(of, ", "))
	}
	if v.Matches != nil {
		list = append(list, "matching "+*v.Matches)
	}
	if r := v.Range; r != nil {
		end := func(f *float64) string {
			if f == nil {
				return ""
			}
			return strconv.FormatFloat(*f, 'g', -1, 64)
		}
		list = append(list, "in "+end(r.Min)+".."+end(r.Max))
	}
	if len(list) == 0 {
		return "present"
	}
	return strings.Join(list, " and ")
}
