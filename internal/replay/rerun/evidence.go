// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Evidence is what was seen of the command from outside: its telemetry has no part in it. Its JSON form is
// part of the contract.
type Evidence struct {
	// Watched says that every program that was started was seen; NotWatched why not.
	Watched    bool      `json:"programs_watched"`
	NotWatched string    `json:"programs_not_watched,omitempty"`
	Started    int       `json:"programs_started"`
	Programs   []Started `json:"programs"`
	// Looked says where changed files were looked for: the copy of the workspace, or the folder in which the
	// command ran.
	Looked    string         `json:"files_looked_for,omitempty"`
	NotLooked string         `json:"files_not_looked_for,omitempty"` // why not
	Files     []ChangedFile  `json:"files,omitempty"`
	Beyond    map[string]int `json:"connections_refused,omitempty"` // beside those that asked the proxy, by ADDRESS:PORT
	Cut       bool           `json:"cut,omitempty"`                 // the lists are not whole
	// Contradictions are what was seen and cannot be if the layers are right.
	Contradictions []string `json:"contradictions,omitempty"`

	all []lockdown.Program
}

// Started is a program that was started.
type Started struct {
	Path    string `json:"path"`
	Command string `json:"command"` // the arguments, cut
	Count   int    `json:"count"`
}

// ChangedFile is a file that is not as it was.
type ChangedFile struct {
	Path      string `json:"path"`
	Operation string `json:"operation"`      // created, modified or deleted
	In        string `json:"in"`             // what Path is relative to
	Kept      bool   `json:"kept,omitempty"` // the real file changed: it was no copy
}

// What ChangedFile.In names.
const (
	InWorkspace = "workspace" // the copy of it
	InFolder    = "folder"    // in which the command ran
	InHome      = "home"      // what was laid over it
	InTemporary = "temporary folder"
)

// Bounds of what a report lists.
const (
	maxListed  = 100 // in each list of the report
	maxShown   = 12  // in a line for a person
	maxCommand = 300 // bytes of one command line
)

// Add takes over what was seen of one process. mask hides secrets in arguments.
func (e *Evidence) Add(s lockdown.Seen, mask func(string) string) {
	first := e.Programs == nil
	if first {
		e.Programs = []Started{}
	}
	e.Watched = s.Watched && (first || e.Watched)
	if !s.Watched {
		e.NotWatched = s.Why
	}
	e.Started += s.Started
	e.Cut = e.Cut || s.Cut
	e.all = append(e.all, s.Programs...)
	for _, p := range s.Programs {
		if len(e.Programs) == maxListed {
			e.Cut = true
			break
		}
		line := mask(strings.Join(p.Argv, " "))
		if len(line) > maxCommand {
			line = strings.ToValidUTF8(line[:maxCommand], "") + "…"
		}
		e.Programs = append(e.Programs, Started{p.Path, strings.ToValidUTF8(line, "\uFFFD"), p.Count})
	}
	for _, host := range slices.Sorted(maps.Keys(s.Connects)) {
		if e.Beyond == nil {
			e.Beyond = map[string]int{}
		}
		if _, known := e.Beyond[host]; !known && len(e.Beyond) == maxListed {
			e.Cut = true
			continue
		}
		e.Beyond[host] += s.Connects[host]
	}
}

// AddFiles takes over files that changed.
func (e *Evidence) AddFiles(files ...ChangedFile) {
	if left := maxListed - len(e.Files); len(files) > left {
		files, e.Cut = files[:max(left, 0)], true
	}
	e.Files = append(e.Files, files...)
}

// shells are programs that take a command as a text.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "fish": true, "busybox": true}

// commandMembers are the names under which tools of coding agents take a command, writtenMembers those under
// which they take what they write into a file, and fileMembers those of the file.
var (
	commandMembers = []string{"command", "cmd", "script", "bash_command", "commands"}
	writtenMembers = []string{"content", "contents", "new_string", "new_str", "file_text", "insert_text", "newText", "new_text"}
	fileMembers    = []string{"file_path", "path", "filename", "filePath", "file", "target_file"}
)

// commandOf is the command that a call has a shell do; "" for none. A list is a program with its arguments,
// of which the last is the text where the program is a shell.
func commandOf(e *tape.Event) string {
	for _, name := range commandMembers {
		v := e.Args.Get(name)
		switch v.Kind() {
		case exactjson.String:
			return strings.TrimSpace(v.Str())
		case exactjson.Array:
			if n := v.Len(); n > 0 {
				return strings.TrimSpace(v.At(n - 1).Str())
			}
		}
	}
	return ""
}

// enough is how long a command is that is looked for within a longer one: agents put lines of their own
// around it.
const enough = 8

// started returns the shell that was started with a command.
func (e *Evidence) started(command string, own []string) (string, bool) {
	for _, p := range e.all {
		if !shells[path.Base(p.Path)] || len(p.Argv) < 2 || slices.Equal(p.Argv, own) {
			continue
		}
		for _, arg := range p.Argv[1:] {
			if strings.TrimSpace(arg) == command || len(command) >= enough && strings.Contains(arg, command) {
				return path.Base(p.Path), true
			}
		}
	}
	return "", false
}

// claimed reports a layer by which the tool itself did not run.
func (l Layer) claimed() bool { return l == LayerOracle || l == LayerMCP || l == LayerModel }

// contradict looks for what was seen and cannot be if the layers are right: a shell was started with the
// command of a call that nobody ran, or a file holds what a call wrote that nobody ran. What a program starts
// for itself is no contradiction, whatever it is.
func (e *Evidence) contradict(source, replayed *tape.Tape, tools []ToolCall, own []string) {
	e.Contradictions = nil
	layers := map[int]Layer{}
	ran := map[string]bool{} // commands that the report says ran
	anyRan := false
	for _, c := range tools {
		layers[c.Seq] = c.Layer
		anyRan = anyRan || !c.Layer.claimed()
	}
	for i := range replayed.Events {
		if ev := &replayed.Events[i]; ev.Type == tape.EventToolCall && !layers[ev.Seq].claimed() {
			ran[commandOf(ev)] = true
		}
	}
	told := map[string]bool{}
	say := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !told[text] && len(e.Contradictions) < maxListed {
			told[text] = true
			e.Contradictions = append(e.Contradictions, text)
		}
	}
	looked := map[string]bool{}
	look := func(ev *tape.Event, where string) {
		command := commandOf(ev)
		if ev.Type != tape.EventToolCall || command == "" || ran[command] || looked[command] {
			return
		}
		if shell, was := e.started(command, own); was {
			looked[command] = true
			say("%s was started with the command of %s", shell, where)
		}
	}
	for i := range replayed.Events {
		ev := &replayed.Events[i]
		look(ev, fmt.Sprintf("%s, event %d of the replay, which is said to be answered by %s", ev.Name, ev.Seq, layers[ev.Seq]))
	}
	for i := range source.Events {
		ev := &source.Events[i]
		look(ev, fmt.Sprintf("%s, event %d of the recording, which the telemetry of the replay does not show", ev.Name, ev.Seq))
	}
	if anyRan {
		return // one of them may have written it
	}
	for i := range replayed.Events {
		ev := &replayed.Events[i]
		if ev.Type != tape.EventToolCall || !layers[ev.Seq].claimed() || !slices.ContainsFunc(writtenMembers, func(m string) bool { return ev.Args.Get(m).Kind() == exactjson.String }) {
			continue
		}
		name := path.Clean("/" + ev.Args.First(fileMembers...).Str())
		for _, f := range e.Files {
			if f.Operation != "deleted" && (f.In == InWorkspace || f.In == InFolder) && strings.HasSuffix(name, "/"+f.Path) {
				say("%s was %s, the file of %s, event %d of the replay, which is said to be answered by %s", f.Path, f.Operation, ev.Name, ev.Seq, layers[ev.Seq])
			}
		}
	}
}

// lines say it for a person.
func (e *Evidence) lines() (list []string) {
	if e == nil {
		return nil
	}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if e.Watched {
		counts := map[string]int{}
		for _, p := range e.all {
			counts[path.Base(p.Path)] += p.Count
		}
		names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
			if counts[a] != counts[b] {
				return counts[b] - counts[a]
			}
			return strings.Compare(a, b)
		})
		var parts []string
		for _, name := range names[:min(len(names), maxShown)] {
			parts = append(parts, fmt.Sprintf("%d %.40s", counts[name], name))
		}
		if more := len(names) - maxShown; more > 0 {
			parts = append(parts, fmt.Sprintf("%d others", more))
		}
		add("seen  %d programs started: %s", e.Started, strings.Join(parts, ", "))
	} else {
		add("seen  programs that were started were not watched: %s", e.NotWatched)
	}
	for _, in := range []string{InWorkspace, InFolder, InHome, InTemporary} {
		var parts []string
		n := 0
		for _, f := range e.Files {
			if f.In != in {
				continue
			}
			if n++; n <= maxShown {
				parts = append(parts, f.Operation+" "+f.Path)
			}
		}
		if n > maxShown {
			parts = append(parts, fmt.Sprintf("%d others", n-maxShown))
		}
		what := map[string]string{InWorkspace: "files of the copy", InFolder: "files of the folder", InHome: "files of the home, not kept", InTemporary: "temporary files, not kept"}[in]
		switch {
		case n > 0:
			add("seen  %s: %s", what, strings.Join(parts, ", "))
		case in == e.Looked:
			add("seen  %s: none changed", what)
		}
	}
	if e.NotLooked != "" {
		add("seen  files that changed were not looked for: %s", e.NotLooked)
	}
	for i, host := range slices.Sorted(maps.Keys(e.Beyond)) {
		if i == maxShown {
			add("seen  %d other addresses were not reached", len(e.Beyond)-maxShown)
			break
		}
		add("seen  %d connections to %s, which was not reached", e.Beyond[host], host)
	}
	return list
}

// listed names some, and how many more there are.
func listed(names []string) string {
	if more := len(names) - maxShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// sorted yields counts in the order of their names.
func sorted(counts map[string]int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if !yield(name, counts[name]) {
				return
			}
		}
	}
}
