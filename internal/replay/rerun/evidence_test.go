// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// called is a tape of tool calls, each with its arguments as JSON.
func called(t *testing.T, calls ...string) *tape.Tape {
	t.Helper()
	tp := &tape.Tape{}
	for i := 0; i < len(calls); i += 2 {
		args, err := exactjson.Parse(calls[i+1])
		if err != nil {
			t.Fatal(err)
		}
		tp.Events = append(tp.Events, tape.Event{Seq: i/2 + 1, Type: tape.EventToolCall, Name: calls[i], Args: args})
	}
	return tp
}

// A shell that was started with the command of a call that nobody ran contradicts the report, and so does a
// file that such a call wrote. What the program starts for itself does not.
func TestWhatWasSeenContradictsTheLayers(t *testing.T) {
	started := func(argv ...string) lockdown.Seen {
		return lockdown.Seen{Watched: true, Started: 1, Programs: []lockdown.Program{{Path: "/usr/bin/" + argv[0], Argv: argv, Count: 1}}}
	}
	none := lockdown.Seen{Watched: true}
	wrote := ChangedFile{Path: "src/app.py", Operation: "modified", In: InWorkspace}
	const bash, write = `{"command":"wc -l notes.txt"}`, `{"file_path":"/ws/src/app.py","new_string":"x"}`
	for what, of := range map[string]struct {
		seen     lockdown.Seen
		files    []ChangedFile
		calls    []string
		layers   []Layer
		recorded []string // nil: as replayed
		want     string
	}{
		"a shell beside an answer of the oracle":    {started("bash", "-lc", "wc -l notes.txt"), nil, []string{"bash", bash}, []Layer{LayerOracle}, nil, "bash was started with the command of bash, event 1 of the replay, which is said to be answered by oracle"},
		"a shell beside a tool of the provider":     {started("sh", "-c", "wc -l notes.txt"), nil, []string{"bash", bash}, []Layer{LayerModel}, nil, "answered by model"},
		"a shell with lines around the command":     {started("bash", "-c", "shopt -u x; { wc -l notes.txt; }; echo $?"), nil, []string{"bash", bash}, []Layer{LayerMCP}, nil, "answered by mcp"},
		"a command as a list":                       {started("bash", "-lc", "ls"), nil, []string{"shell", `{"command":["bash","-lc","ls"]}`}, []Layer{LayerOracle}, nil, "bash was started"},
		"a shell that ran":                          {started("bash", "-lc", "wc -l notes.txt"), nil, []string{"bash", bash}, []Layer{LayerCopy}, nil, ""},
		"a shell that ran, and one from the tape":   {started("bash", "-lc", "wc -l notes.txt"), nil, []string{"bash", bash, "bash", bash}, []Layer{LayerLive, LayerOracle}, nil, ""},
		"a shell that the telemetry does not show":  {started("bash", "-lc", "wc -l notes.txt"), nil, nil, nil, []string{"bash", bash}, "event 1 of the recording, which the telemetry of the replay does not show"},
		"helpers of the program":                    {started("git", "rev-parse", "wc -l notes.txt"), nil, []string{"bash", bash}, []Layer{LayerOracle}, nil, ""},
		"a shell with something else":               {started("sh", "-c", "uname -a"), nil, []string{"bash", bash}, []Layer{LayerOracle}, nil, ""},
		"a short command within a longer one":       {started("sh", "-c", "false; ls"), nil, []string{"bash", `{"command":"ls"}`}, []Layer{LayerOracle}, nil, ""},
		"the command that is replayed":              {started("sh", "-c", "agent"), nil, []string{"bash", `{"command":"agent"}`}, []Layer{LayerOracle}, nil, ""},
		"a call without a command":                  {started("sh", "-c", ""), nil, []string{"count", `{"of":"apples"}`}, []Layer{LayerOracle}, nil, ""},
		"a file that nobody wrote":                  {none, []ChangedFile{wrote}, []string{"edit", write}, []Layer{LayerModel}, nil, "src/app.py was modified, the file of edit, event 1 of the replay, which is said to be answered by model"},
		"a file that a tool wrote":                  {none, []ChangedFile{wrote}, []string{"edit", write}, []Layer{LayerCopy}, nil, ""},
		"a file that another tool may have written": {none, []ChangedFile{wrote}, []string{"edit", write, "bash", bash}, []Layer{LayerModel, LayerLive}, nil, ""},
		"a file that was read":                      {none, []ChangedFile{wrote}, []string{"read", `{"file_path":"/ws/src/app.py"}`}, []Layer{LayerModel}, nil, ""},
		"a file of the program itself":              {none, []ChangedFile{{Path: "ws/src/app.py", Operation: "modified", In: InHome}}, []string{"edit", write}, []Layer{LayerModel}, nil, ""},
		"a file that is another one":                {none, []ChangedFile{{Path: "app.py2", Operation: "modified", In: InFolder}}, []string{"edit", write}, []Layer{LayerModel}, nil, ""},
	} {
		replayed := called(t, of.calls...)
		source := replayed
		if of.recorded != nil {
			source = called(t, of.recorded...)
		}
		var tools []ToolCall
		for i, layer := range of.layers {
			tools = append(tools, ToolCall{Seq: i + 1, Layer: layer})
		}
		e := &Evidence{}
		e.Add(of.seen, strings.ToUpper)
		e.AddFiles(of.files...)
		e.contradict(source, replayed, tools, []string{"sh", "-c", "agent"})
		if got := strings.Join(e.Contradictions, "; "); (got == "") != (of.want == "") || !strings.Contains(got, of.want) {
			t.Errorf("%s: %q, want %q", what, got, of.want)
		}
	}
}

// What is shown is bounded, says so, and holds no secret.
func TestEvidenceIsBoundedAndMasked(t *testing.T) {
	e := &Evidence{}
	var s lockdown.Seen
	s.Watched, s.Connects = true, map[string]int{}
	for i := range maxListed + 5 {
		s.Programs = append(s.Programs, lockdown.Program{Path: fmt.Sprint("/bin/p", i), Argv: []string{"p", "hunter2", strings.Repeat("é", maxCommand)}, Count: 2})
		s.Started += 2
		s.Connects[fmt.Sprintf("192.0.2.%d:443", i)] = 1
		e.AddFiles(ChangedFile{Path: fmt.Sprint("f", i), Operation: "created", In: InHome})
	}
	e.Add(s, func(text string) string { return strings.ReplaceAll(text, "hunter2", "…") })
	if !e.Cut || len(e.Programs) != maxListed || len(e.Files) != maxListed || len(e.Beyond) != maxListed || e.Started != 2*(maxListed+5) {
		t.Errorf("%d programs, %d files, %d hosts", len(e.Programs), len(e.Files), len(e.Beyond))
	}
	for _, p := range e.Programs {
		if strings.Contains(p.Command, "hunter2") || len(p.Command) > maxCommand+4 {
			t.Fatalf("%q", p.Command)
		}
	}
	for _, line := range e.lines() {
		if len(line) > 2000 {
			t.Errorf("%q", line)
		}
	}
	e.Add(lockdown.Seen{Why: "no seccomp"}, strings.ToUpper)
	if e.Watched || e.NotWatched != "no seccomp" || !strings.Contains(strings.Join(e.lines(), "\n"), "were not watched: no seccomp") {
		t.Errorf("%+v", e.lines())
	}
}

// A result is compared whatever --compare says, and one that the recording lacks is not claimed.
func TestWhatRanInACopyIsCompared(t *testing.T) {
	result := func(tp *tape.Tape, seq int, text string) {
		tp.Events[seq-1].Result = exactjson.StringValue(text)
	}
	source := called(t, "a", `{"n":1}`, "b", `{"n":2}`, "c", `{"n":3}`)
	result(source, 1, "one")
	result(source, 2, "two")
	replayed := called(t, "a", `{"n":1}`, "b", `{"n":2}`, "c", `{"n":3}`, "d", `{"n":4}`)
	result(replayed, 1, "one")
	result(replayed, 2, "other")
	result(replayed, 4, "more")
	tools := []ToolCall{{Seq: 1, Layer: LayerLive}, {Seq: 2, Layer: LayerLive}, {Seq: 3, Layer: LayerLive}, {Seq: 4, Layer: LayerLive}, {Seq: 9, Layer: LayerOracle}}
	c := Copied{}
	if err := c.InCopy(source, replayed, tools, compare.Options{Level: compare.Actions}, &Reconciler{}); err != nil {
		t.Fatal(err)
	}
	if c.Ran != 4 || c.AsRecorded != 1 || c.NotRecorded != 1 || !slices.Equal(c.Different, []string{"b, event 2 of the recording, differs in result", "d, event 4 of the replay, is not recorded"}) {
		t.Errorf("%+v", c)
	}
	if tools[0].Layer != LayerCopy || tools[4].Layer != LayerOracle {
		t.Errorf("%+v", tools)
	}
	if said := c.Said(); said != "1 of 4; the result of 1 was not recorded; b, event 2 of the recording, differs in result; d, event 4 of the replay, is not recorded" {
		t.Errorf("%q", said)
	}
	if said := (&Copied{}).Said(); said != "no tool ran in it" {
		t.Errorf("%q", said)
	}
}
