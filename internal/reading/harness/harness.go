// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness holds what whoever starts an agent knows of the run and no span does: the task that it does for an evaluation, the digests of
// the files that it was given and of those that it made, the environment variables that may be kept, and whether checks passed. It travels as
// the resource attribute Key, so that redaction and evidence treat it as they treat telemetry, and becomes extensions.harness of the tape.
package harness

import (
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Key is the resource attribute that holds all of it, as a map.
const Key = "harness"

// RecordedTraces is the member that holds the ids of all traces of one recording.
const RecordedTraces = "recorded_traces"

// MaxTraces bounds how many traces of a recording are named.
const MaxTraces = 256

// ContentsKey is the member of it that says where the contents of the workspace lie.
const ContentsKey = "workspace_contents"

// EnvironmentPrefix begins the resource attributes of environment variables, as the semantic conventions have it.
const EnvironmentPrefix = "process.environment_variable."

// Facts are what is known of a run. Empty members are left out.
type Facts struct {
	Task     string
	Display  string // what people call the task
	Run      int    // of the task, from 1 on
	EvalID   string
	EvalName string
	Skill    string
	Golden   bool
	Rules    []string // that were active
	// Traces are the ids of all traces of one recording, sorted: the runs in them are those of one command.
	Traces []string

	EnvAllow    []string    // patterns: names, or beginnings with a "*" behind them
	Environment [][2]string // what they let through: name and value

	Fixtures     *Listing
	Instructions []File
	Changes      []Change
	ChangesLost  string // why the changes are not known
	Contents     *Contents
	ContentsLost string // why the contents are not kept
	Checks       []Check
}

// Contents says where the contents of the workspace lie that were there before the run; see package
// workspace.
type Contents struct {
	TraceID string // 32 hex, of the trace in whose evidence they lie
	Files   int
	Bytes   int64
}

// Allows reports whether a pattern lets an environment variable through: an exact name, or a beginning with a "*" behind it. A lone "*" is an
// empty beginning and lets nothing through.
func Allows(pattern, name string) bool {
	if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
		return beginning != "" && strings.HasPrefix(name, beginning)
	}
	return pattern == name
}

// Check is a command that said whether the run did its task.
type Check struct {
	Name       string
	ExitCode   int
	DurationMS int64
}

// Passed reports a command that ended with 0.
func (c Check) Passed() bool { return c.ExitCode == 0 }

// IsZero reports that there is nothing to tell.
func (f *Facts) IsZero() bool {
	m := pcommon.NewMap()
	f.Put(m)
	return m.Len() == 0
}

// Put writes the facts on a resource. What a resource says by itself under these names is replaced.
func (f *Facts) Put(resource pcommon.Map) {
	for _, v := range f.Environment {
		resource.PutStr(EnvironmentPrefix+v[0], v[1])
	}
	own := pcommon.NewMap()
	for _, member := range []struct{ name, value string }{
		{"task_id", f.Task}, {"display_name", f.Display}, {"eval_id", f.EvalID}, {"eval_name", f.EvalName}, {"skill", f.Skill}, {"workspace_unknown", f.ChangesLost},
		{"workspace_contents_lost", f.ContentsLost},
	} {
		if member.value != "" {
			own.PutStr(member.name, member.value)
		}
	}
	if f.Run > 0 {
		own.PutInt("run_number", int64(f.Run))
	}
	if f.Golden {
		own.PutBool("golden", true)
	}
	putTexts(own, "rules_active", f.Rules)
	putTexts(own, RecordedTraces, f.Traces)
	putTexts(own, "env_allow", f.EnvAllow)
	if f.Fixtures != nil {
		put(own, "fixtures", f.Fixtures.Files, File.put)
		f.Fixtures.putLeftOut(own, "fixtures_left_out")
	}
	put(own, "instructions", f.Instructions, File.put)
	put(own, "workspace", f.Changes, Change.put)
	if c := f.Contents; c != nil {
		of := own.PutEmptyMap(ContentsKey)
		of.PutStr("trace_id", c.TraceID)
		of.PutInt("files", int64(c.Files))
		of.PutInt("bytes", c.Bytes)
	}
	put(own, "checks", f.Checks, Check.put)
	if own.Len() > 0 {
		own.MoveTo(resource.PutEmptyMap(Key))
	}
}

func putTexts(m pcommon.Map, name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	list := m.PutEmptySlice(name)
	for _, text := range texts {
		list.AppendEmpty().SetStr(text)
	}
}

func put[T any](m pcommon.Map, name string, of []T, each func(T, pcommon.Map)) {
	if len(of) == 0 {
		return
	}
	list := m.PutEmptySlice(name)
	list.EnsureCapacity(len(of))
	for _, one := range of {
		each(one, list.AppendEmpty().SetEmptyMap())
	}
}

func (f File) put(m pcommon.Map) {
	m.PutStr("path", f.Path)
	m.PutInt("size", f.Size)
	m.PutStr("sha256", f.SHA256)
}

func (c Change) put(m pcommon.Map) {
	m.PutStr("path", c.Path)
	m.PutStr("operation", c.Operation)
	if c.Before != nil {
		m.PutStr("sha256_before", c.Before.SHA256)
	}
	if c.After != nil {
		m.PutInt("size", c.After.Size)
		m.PutStr("sha256", c.After.SHA256)
	}
}

func (c Check) put(m pcommon.Map) {
	m.PutStr("name", c.Name)
	m.PutInt("exit_code", int64(c.ExitCode))
	m.PutBool("passed", c.Passed())
	m.PutInt("duration_ms", c.DurationMS)
}

var drive = regexp.MustCompile(`^[A-Za-z]:[\\/]`)

// OfMachine reports a text that is, or holds as a word or as an element of a list, an absolute path: it tells of the machine, not of the run.
func OfMachine(text string) bool {
	divided := func(r rune) bool { return strings.ContainsRune(" \t\r\n\"',;=()[]{}<>|", r) }
	return slices.ContainsFunc(strings.FieldsFunc(text, divided), func(word string) bool {
		if drive.MatchString(word) || strings.HasPrefix(word, `\\`) {
			return true
		}
		for i, element := range strings.Split(word, ":") {
			rooted := strings.HasPrefix(element, "/") && len(element) > 1
			home := element == "~" || strings.HasPrefix(element, "~/")
			// http://host/path: what stands behind a scheme is an address, file:///home/me is not
			address := i > 0 && strings.HasPrefix(element, "//") && !strings.HasPrefix(element, "///")
			if rooted && !address || home {
				return true
			}
		}
		return false
	})
}
