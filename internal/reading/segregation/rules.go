// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package segregation decides whether telemetry belongs to a replay or to production. The decision is for a whole run: one tag
// anywhere in its spans, events, links, log records, scopes, resources or the baggage they carry makes all of it a replay.
//
// The connector, the exporter and the derivation of tapes call the same function.
package segregation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

const (
	// Key is the attribute that tags a replay, unless others are configured.
	Key = "replay_run_id"
	// OfKey is the attribute that names what a replay replays: a run id, a tape id or a trace id.
	OfKey = "replay_of"
	// Unnamed stands for the id of a replay whose tag names none: it is empty or malformed, or only a marker was found.
	Unnamed = "unnamed"

	baggagePrefix = "baggage."
	maxKeyBytes   = 255
)

// baggageKeys are attributes that hold a W3C baggage header as it came.
var baggageKeys = []string{"baggage", "http.request.header.baggage"}

// Marker is an attribute that says "evaluation" without naming a replay.
type Marker struct {
	Key string `mapstructure:"key"`
	// Values that mark; none: every value but empty, false and 0.
	Values []string `mapstructure:"values"`
}

// Rules say which attributes are looked for. They are safe for concurrent use.
type Rules struct {
	keys    map[string]kind
	markers map[string][]string
	// list has all keys, and lengths their lengths: most attributes are told from them by that.
	list    []string
	lengths [(maxKeyBytes+len(baggagePrefix))/64 + 1]uint64
	custom  bool
	text    string
}

type kind int

const (
	tagKey kind = iota + 1
	ofKey
	baggageKey
	markerKey
)

// Default looks for [Key] and [OfKey].
var Default = must(New(nil, nil))

func must(r *Rules, err error) *Rules {
	if err != nil {
		panic(err)
	}
	return r
}

// New returns rules for tag keys (none: [Key]) and markers. A key is looked for as it is, behind the prefix "baggage.", and
// in recorded baggage headers.
func New(keys []string, markers []Marker) (*Rules, error) {
	r := &Rules{keys: map[string]kind{}, markers: map[string][]string{}, custom: len(markers) > 0 || len(keys) > 0 && !slices.Equal(keys, []string{Key})}
	if len(keys) == 0 {
		keys = []string{Key}
	}
	var errs []error
	add := func(key string, k kind) {
		if r.keys[key] == 0 {
			r.keys[key] = k
			r.list = append(r.list, key)
			r.lengths[len(key)/64] |= 1 << (len(key) % 64)
		}
	}
	for i, key := range keys {
		if err := checkKey(key); err != nil {
			errs = append(errs, fmt.Errorf("keys: %w", err))
			continue
		}
		if slices.Contains(keys[:i], key) {
			errs = append(errs, fmt.Errorf("keys: %q is listed twice", key))
		}
		add(key, tagKey)
		add(baggagePrefix+key, tagKey)
	}
	for _, m := range markers {
		if err := checkKey(m.Key); err != nil {
			errs = append(errs, fmt.Errorf("markers: %w", err))
			continue
		}
		if r.keys[m.Key] != 0 {
			errs = append(errs, fmt.Errorf("markers: %q is listed twice, or is a key as well", m.Key))
		}
		add(m.Key, markerKey)
		r.markers[m.Key] = m.Values
	}
	add(OfKey, ofKey)
	for _, key := range baggageKeys {
		add(key, baggageKey)
	}
	r.text = describe(keys, markers)
	return r, errors.Join(errs...)
}

// among tells whether an attribute is looked for, mostly by its length.
func (r *Rules) among(key string) bool {
	n := len(key)
	return n/64 < len(r.lengths) && r.lengths[n/64]&(1<<(n%64)) != 0 && slices.Contains(r.list, key)
}

// Has tells whether an attribute is looked for.
func (r *Rules) Has(key string) bool { return r.keys[key] != 0 }

// Mentioned tells whether the JSON text may have a member that is looked for. It is fast and errs on the safe side.
func (r *Rules) Mentioned(text []byte) bool {
	return bytes.Contains(text, []byte(`\u`)) || slices.ContainsFunc(r.list, func(key string) bool { return bytes.Contains(text, []byte(key)) })
}

// Custom tells whether the rules differ from [Default].
func (r *Rules) Custom() bool { return r.custom }

// String is the same for the same rules.
func (r *Rules) String() string { return r.text }

func describe(keys []string, markers []Marker) string {
	var b strings.Builder
	fmt.Fprintf(&b, "keys=%q", slices.Sorted(slices.Values(keys)))
	byKey := slices.SortedFunc(slices.Values(markers), func(a, b Marker) int { return strings.Compare(a.Key, b.Key) })
	for _, m := range byKey {
		fmt.Fprintf(&b, " marker=%q%q", m.Key, slices.Sorted(slices.Values(m.Values)))
	}
	return b.String()
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("an empty key")
	case len(baggagePrefix)+len(key) > maxKeyBytes:
		return fmt.Errorf("%q… is longer than a key may be", key[:40])
	case strings.HasPrefix(key, handover.Prefix):
		return fmt.Errorf("%q lies in the reserved namespace tapedeck.*, which is stripped from what comes in", key)
	}
	return nil
}
