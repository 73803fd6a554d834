// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package atif writes and reads trajectories in the Agent Trajectory Interchange Format of Harbor (github.com/harbor-framework/harbor,
// rfcs/0001-trajectory-format.md). It writes version 1.7. It reads 1.0 and all later minor versions.
package atif

import (
	"fmt"
	"regexp"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	name      = "atif"
	version   = "ATIF-v1.7"
	maxValues = 1 << 24
)

// Format is the entry in the table of formats.
var Format = &interop.Format{
	Name:     name,
	Title:    "ATIF (Harbor) 1.7",
	Reads:    "1.x",
	FileName: func(*tape.Tape) string { return "trajectory.json" },
	Encode:   Encode,
	Decode:   Decode,
	Detect:   Detect,
	Notes: map[string]string{
		"model requests (conversation)": "every message once, as a step",
		"tool results":                  "as text, JSON marked as such",
		"agents and callers":            "the caller of a step",
	},
}

var versionForm = regexp.MustCompile(`^ATIF-v1\.[0-9]+$`)

// Detect reports whether data calls itself a trajectory.
func Detect(data []byte) bool {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues)
	return err == nil && len(v.Get("schema_version").Str()) > 5 && v.Get("schema_version").Str()[:5] == "ATIF-"
}

// The sources of steps.
const (
	fromSystem = "system"
	fromUser   = "user"
	fromAgent  = "agent"
)

// read checks what reading needs: the version, and the types of what a tape takes. Members that this version does not know are kept.
func read(data []byte) (exactjson.Value, error) {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth-2, maxValues)
	if err != nil {
		return v, fmt.Errorf("read ATIF trajectory: %w", err)
	}
	if got := v.Get("schema_version"); !versionForm.MatchString(got.Str()) {
		return v, fmt.Errorf("read ATIF trajectory: %w: schema_version is not ATIF-v1.x", interop.ErrNotFormat)
	}
	steps := v.Get("steps")
	if steps.Kind() != exactjson.Array || steps.Len() == 0 {
		return v, fmt.Errorf("read ATIF trajectory: steps: not a list with at least one step")
	}
	for i, m := range steps.Members() {
		step := m.Value
		bad := ""
		switch message := step.Get("message").Kind(); {
		case step.Get("source").Str() != fromSystem && step.Get("source").Str() != fromUser && step.Get("source").Str() != fromAgent:
			bad = "source: not system, user or agent"
		case message != exactjson.String && message != exactjson.Array:
			bad = "message: not text or a list of parts"
		case step.Get("tool_calls").Kind() > exactjson.Null && step.Get("tool_calls").Kind() != exactjson.Array:
			bad = "tool_calls: not a list"
		case step.Get("observation").Kind() > exactjson.Null && step.Get("observation").Kind() != exactjson.Object:
			bad = "observation: not an object"
		}
		if bad != "" {
			return v, fmt.Errorf("read ATIF trajectory: steps.%d.%s", i, bad)
		}
	}
	return v, nil
}

// timeOf reads an ISO 8601 time as producers write it; without an offset it is UTC. Zero for anything else.
func timeOf(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			if at = at.UTC(); at.Year() >= 1 && at.Year() <= 9999 {
				return at
			}
		}
	}
	return time.Time{}
}
