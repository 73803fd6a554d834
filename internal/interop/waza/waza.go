// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package waza writes and reads the task snapshots of waza (github.com/microsoft/waza). It checks and compares them as `waza replay`
// does. It writes snapshots in version 1.0, which every version of waza reads. It reads 1.0 and 1.1, the later form with an evidence
// manifest.
package waza

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const name = "waza"

// Format is the entry in the table of formats.
var Format = &interop.Format{
	Name:     name,
	Title:    "waza task snapshot 1.0",
	Reads:    "1.x, also with evidence; `results.json` 1.x",
	Beside:   true,
	FileName: FileName,
	Numbered: numbered,
	RunOf:    runOf,
	Encode:   Encode,
	Decode:   Decode,
	Detect:   Detect,
	Fields:   Fields,
	Notes: map[string]string{
		"system prompt":                          "its digest",
		"redaction":                              "tokens become `[REDACTED]`",
		"which model call asked for a tool call": "the number of the turn",
		"provenance and findings":                "their codes",
	},
}

// FileName is <slug>-run<N>.json. The slug is the id of the task with every character but A-Z a-z 0-9 - _ . turned into _. N is the
// number of the run. Waza's rule has no limit, so ids that no store takes as a name are shortened or changed further. Each run has a
// folder of its own, so equal names do not meet.
func FileName(t *tape.Tape) string {
	return fileName(t, runNumber(t))
}

// runNumber is the number that waza gave the run, else 1.
func runNumber(t *tape.Tape) int64 {
	if task := residual(t).Get("task"); !task.IsAbsent() {
		n, _ := task.Get("runNumber").Int()
		return n
	}
	n, said := t.Extensions.Get(name).Get("turn.trial").Int()
	if !said {
		n, _ = known(t, "run_number").Int()
	}
	return max(n, 1)
}

// numbered is FileName for the n-th run of a task; n is 1 or more.
func numbered(t *tape.Tape, n int) string { return fileName(t, int64(n)) }

func fileName(t *tape.Tape, run int64) string {
	id := testID(t)
	if task := residual(t).Get("task"); !task.IsAbsent() {
		id = task.Get("testId").Str()
	}
	return slug(id) + "-run" + strconv.FormatInt(run, 10) + ".json"
}

// runOf is the run id that Encode has left in a snapshot; empty for those of other writers.
func runOf(file []byte) string {
	v, err := exactjson.ParseWithin(string(file), exactjson.MaxDepth, maxValues)
	if err != nil {
		return ""
	}
	return v.Get("task").Get(ownMember).Get("run_id").Str()
}

const maxSlug = 200

func slug(id string) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		default:
			return '_'
		}
	}, id)
	s = cmp.Or(s[:min(len(s), maxSlug)], "task")
	if s[0] == '.' {
		s = "_" + s[1:] // no hidden files
	}
	return strings.ReplaceAll(s, "__0x", "___x") // gocloud.dev takes it for an escape
}

// testID names the task of a run: waza groups and compares runs by it.
func testID(t *tape.Tape) string {
	return cmp.Or(said(t, "task.id", "task_id").Str(), t.Run.Agent.Name, t.Run.Service.Name, "task")
}

// said is a text that waza's own spans said of the run, see the dialect waza; else what the harness that started the agent knows under the
// other name. It is absent when empty.
func said(t *tape.Tape, member, harnessMember string) exactjson.Value {
	return text(cmp.Or(t.Extensions.Get(name).Get(member).Str(), known(t, harnessMember).Str()))
}

// known is what the harness that started the agent knows of the run, see package harness.
func known(t *tape.Tape, member string) exactjson.Value {
	return t.Extensions.Get(harness.Key).Get(member)
}

// DetectResults reports whether data is a results.json, which names snapshots and is none.
func DetectResults(data []byte) bool {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues)
	return err == nil && isResults(v)
}

// Detect reports whether data calls itself a task snapshot, or is a results.json.
func Detect(data []byte) bool {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues)
	return err == nil && (v.Get("kind").Str() == documentKind || isResults(v))
}

// residual is what a tape keeps of a snapshot that it has no place for elsewhere: the snapshot without all other members, at
// extensions.waza.snapshot.
func residual(t *tape.Tape) exactjson.Value { return t.Extensions.Get(name).Get("snapshot") }

// with returns the object with some members set; an absent value takes the member away.
func with(object exactjson.Value, members ...exactjson.Member) exactjson.Value {
	out := make([]exactjson.Member, 0, object.Len()+len(members))
	for _, m := range object.Members() {
		replaced := false
		for _, n := range members {
			replaced = replaced || n.Name == m.Name
		}
		if !replaced {
			out = append(out, m)
		}
	}
	return exactjson.ObjectValue(append(out, members...)...)
}

func set(name string, v exactjson.Value) exactjson.Member {
	return exactjson.Member{Name: name, Value: v}
}

// text is a string, absent when empty.
func text(s string) exactjson.Value {
	if s == "" {
		return exactjson.Value{}
	}
	return exactjson.StringValue(s)
}

// count is an integer, absent when 0.
func count(n int64) exactjson.Value {
	if n == 0 {
		return exactjson.Value{}
	}
	return exactjson.IntValue(n)
}
