// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentprofile holds what is known of published agent programs: by which names they are known, how
// their telemetry is switched on, how their model is led elsewhere, and which variables belong to them.
package agentprofile

import (
	"path/filepath"
	"strings"
)

// Profile is a row of the table.
type Profile struct {
	// ID is the first name of the program, Name the one in documents. Dialect is the id of its telemetry
	// among genai.Dialects.
	ID, Name, Dialect string
	// Programs are names of its program. A path and an ending such as .exe are no part of one.
	Programs []string
	// Packages are its packages at npm or PyPI, and Modules those that python -m runs.
	Packages, Modules []string
	// Common says that other programs have its name too: the file of the program has to name a package or
	// module of the profile.
	Common bool
	// Instrument says that its telemetry comes from packages of Python beside it, which
	// opentelemetry-instrument loads.
	Instrument bool
	// Record switches its telemetry on, in a recording and in a replay.
	Record []Setting
	// Replay leads its model calls to the stub, and switches off what it sends elsewhere.
	Replay []Setting
	// Passes are patterns of variables that a replay passes on; secrets among them are left out.
	Passes []string
	// Example is a command that runs it without a terminal.
	Example string
	// Lacks says what no setting brings.
	Lacks string
	// Transcripts is where the program keeps its own records of sessions. Where a recording needs them beside
	// the telemetry, HomeVariable is the variable with another folder in place of the first one below the
	// home.
	Transcripts, HomeVariable string
	// Requests is the event of the lines of a transcript that tell requests. Of versions that write no such
	// line, a recording leaves the transcript aside.
	Requests string
}

// transcriptSuffix ends the ids of dialects of transcripts.
const transcriptSuffix = "-transcript"

// TranscriptDialect is the id of the dialect of its transcripts.
func (p *Profile) TranscriptDialect() string { return p.Dialect + transcriptSuffix }

// IsTranscript reports the id of a dialect of transcripts.
func IsTranscript(dialect string) bool { return strings.HasSuffix(dialect, transcriptSuffix) }

// TranscriptFolder is where the transcripts lie that a recording reads, empty for none.
func (p *Profile) TranscriptFolder(environ []string) string {
	if p.HomeVariable == "" {
		return ""
	}
	in, below, _ := strings.Cut(strings.TrimPrefix(p.Transcripts, "~/"), "/")
	folder, set := lookup(environ, p.HomeVariable)
	if home, ok := lookup(environ, "HOME"); !set && ok {
		folder, set = filepath.Join(home, in), true
	}
	if !set {
		return ""
	}
	return filepath.Join(folder, filepath.FromSlash(below))
}

// Setting is one setting of a program: a variable, an argument, or a file of settings.
type Setting struct {
	// Name is the variable. With Flags it is the key within the argument, and may be "".
	Name string
	// Value is what is set. It has places: {otlp}, {model}, {name} and {dir}.
	Value string
	// Flags are the spellings of an argument. The first one is used.
	Flags []string
	// Given limits an argument to commands that have it already.
	Given bool
	// Copied says that the argument names a file of settings, of any format: the command gets a copy, in
	// which base URLs lead to the stub.
	Copied bool
	// Address says that the variable leads telemetry or model calls to this program: it is set in place of
	// what the user set.
	Address bool
	// Needs is the variable with the key that the setting uses: where the user has it, record --tee makes the
	// setting too.
	Needs string
	// Unset takes the variable away, that of a proxy only where nothing can be reached without one.
	Unset bool
	// Merged says that the value is a JSON object: of two, the members are laid over each other.
	Merged bool
	// File is a file of settings in a folder that the variable Name points to, and that is Home without it,
	// below the home folder. The program gets a copy of the folder. In the copy of the file base URLs lead to
	// the stub, and the value, a JSON object, is laid over it; "" leaves it at that. Skip are members of the
	// folder that the copy lacks. Without Home the variable points to the file, which holds the value alone.
	File, Home string
	Skip       []string
	// Within is where below the variable the folder lies. Unless is an expression: where the file matches it
	// nothing is set.
	Within, Unless string
}

// label names a setting to a reader.
func (s Setting) label() string {
	switch {
	case len(s.Flags) > 0 && s.Name != "":
		return s.Flags[0] + " " + s.Name
	case len(s.Flags) > 0:
		return s.Flags[0]
	case s.File != "":
		return s.File + " in a copy of the folder " + s.Name
	}
	return s.Name
}

// Label names a setting to a reader.
func (s Setting) Label() string {
	if s.Unset {
		return "no " + s.label()
	}
	return s.label()
}

// Places are what the values of settings refer to.
type Places struct {
	// OTLP and Model are base URLs. ModelName is the model of the recording. Dir is a folder that is removed
	// when the command has ended; without one no file is written.
	OTLP, Model, ModelName, Dir string
}

func (p Places) in(value string) string {
	return strings.NewReplacer("{otlp}", p.OTLP, "{model}", p.Model, "{name}", p.ModelName, "{dir}", p.Dir).Replace(value)
}

// lacks reports whether a value refers to something that is not known.
func (p Places) lacks(value string) bool {
	return p.ModelName == "" && strings.Contains(value, "{name}") || p.Model == "" && strings.Contains(value, "{model}") || p.OTLP == "" && strings.Contains(value, "{otlp}") ||
		p.Dir == "" && strings.Contains(value, "{dir}")
}
