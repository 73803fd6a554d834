// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// pair is two runs of one program that was asked the same, as its model server saw them.
type pair struct {
	api            *protocol
	asked          string
	recorded, live []exactjson.Value
}

func readPair(t *testing.T, path string) (p pair) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v, err := exactjson.Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []*protocol{openAIChat, openAIResponses, anthropicMessages, geminiGenerate} {
		if known.name == v.Get("api").Str() {
			p.api = known
		}
	}
	p.asked = v.Get("asked").Str()
	for i := range v.Get("recorded").Len() {
		p.recorded, p.live = append(p.recorded, v.Get("recorded").At(i)), append(p.live, v.Get("live").At(i))
	}
	return p
}

// messagesOf are the messages of a request, in the words of a tape.
func messagesOf(t *testing.T, p *protocol, body exactjson.Value) []tape.Message {
	t.Helper()
	_, c := requestOf(p, "", false, body)
	return messagesIn(&c)
}

func messagesIn(c *conversation) (list []tape.Message) {
	if c.system != "" {
		list = append(list, tape.Message{Role: tape.RoleSystem, Parts: []tape.Part{{Type: tape.PartText, Text: c.system}}})
	}
	for _, e := range c.entries {
		m := tape.Message{Role: e.role}
		if e.text != "" {
			m.Parts = append(m.Parts, tape.Part{Type: tape.PartText, Text: e.text})
		}
		results := tape.Message{Role: tape.RoleTool}
		for _, call := range e.calls {
			m.Parts = append(m.Parts, tape.Part{Type: tape.PartToolCall, ID: call.id, Name: call.name, Args: call.args})
			if call.answered {
				results.Parts = append(results.Parts, tape.Part{Type: tape.PartToolResult, ID: call.id, Name: call.name, Result: call.result})
			}
		}
		if list = append(list, m); len(results.Parts) > 0 {
			list = append(list, results)
		}
	}
	return list
}

// taped is a tape of model calls with these requests. The n-th is answered "answer n".
func taped(asked string, requests ...[]tape.Message) *tape.Tape {
	t := &tape.Tape{Messages: map[string]tape.Message{}, Run: tape.Run{StartedAt: ran, EndedAt: ran.Add(time.Minute)}}
	if asked != "" {
		t.Input.UserMessage = &asked
	}
	for n, messages := range requests {
		e := tape.Event{Seq: n + 1, Type: tape.EventModelCall, Request: &tape.Request{}, Response: &tape.Response{Message: "a" + itoa(n)}}
		for i, m := range messages {
			id := itoa(n) + "." + itoa(i)
			t.Messages[id] = m
			e.Request.Messages = append(e.Request.Messages, id)
		}
		t.Messages["a"+itoa(n)] = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: "answer " + itoa(n+1)}}}
		t.Events = append(t.Events, e)
	}
	return t
}

// ran is when the runs of the fixtures ran.
var ran = time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)

func volatile(now time.Time) *normalise.Volatile {
	return &normalise.Volatile{From: ran, To: ran.Add(time.Minute), Now: func() time.Time { return now }}
}

// TestASecondRunOfAPublishedProgramIsServed asks what a second run asked, the same day and, with its dates
// moved, a week later.
func TestASecondRunOfAPublishedProgramIsServed(t *testing.T) {
	later := strings.NewReplacer("2026-11-27", "2026-12-04", "Friday, November 27, 2026", "Friday, December 4, 2026")
	for name, forms := range map[string][]string{
		"copilot": {"time", "uuid"}, "codex": {"id"}, "gemini": {"process id"}, "claude-code": nil,
	} {
		p := readPair(t, filepath.Join("testdata", "volatile", name+".json"))
		var recorded, live [][]tape.Message
		for i := range p.recorded {
			recorded, live = append(recorded, messagesOf(t, p.api, p.recorded[i])), append(live, messagesOf(t, p.api, p.live[i]))
		}
		tp := taped(p.asked, recorded...)
		for _, moved := range []bool{false, true} {
			now := ran
			want := forms
			if moved {
				now = ran.AddDate(0, 0, 7)
				if want = slices.Clone(forms); name != "copilot" { // which tells date and time in one
					want = append(want, "date")
				}
			}
			s := New(tp, Options{Volatile: volatile(now)}).NewSession()
			exact := New(tp, Options{}).NewSession()
			missed := false
			for i, messages := range live {
				if moved {
					messages = mapped(messages, later.Replace)
				}
				a := s.Answer(Request{Messages: messages})
				if a.Outcome != Hit || a.Seq() != i+1 {
					t.Errorf("%s, moved %v, call %d: %s %+v", name, moved, i+1, a.Outcome, a.Nearest)
				}
				missed = missed || exact.Answer(Request{Messages: messages}).Outcome != Hit
			}
			var got []string
			for _, r := range s.Report().Volatile {
				got = append(got, r.Form)
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s, moved %v: forms %q, want %q", name, moved, got, want)
			}
			if missed != (len(want) > 0) {
				t.Errorf("%s, moved %v: without the rule missed is %v", name, moved, missed)
			}
		}
	}
}

// mapped is a copy of messages with other texts and results.
func mapped(messages []tape.Message, to func(string) string) (list []tape.Message) {
	for _, m := range messages {
		m.Parts = slices.Clone(m.Parts)
		for i := range m.Parts {
			m.Parts[i].Text = to(m.Parts[i].Text)
			if r := m.Parts[i].Result; r.Kind() == exactjson.String {
				m.Parts[i].Result = exactjson.StringValue(to(r.Str()))
			}
		}
		list = append(list, m)
	}
	return list
}

// told is a conversation of instructions, words of a user and the result of one call.
func told(system, user, result string) []tape.Message {
	text := func(role tape.Role, s string) tape.Message {
		return tape.Message{Role: role, Parts: []tape.Part{{Type: tape.PartText, Text: s}}}
	}
	list := []tape.Message{text(tape.RoleSystem, system), text(tape.RoleUser, user)}
	if result != "" {
		list = append(list, tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartToolCall, ID: "c", Name: "bash", Args: exactjson.StringValue("ls")}}},
			tape.Message{Role: tape.RoleTool, Parts: []tape.Part{{Type: tape.PartToolResult, ID: "c", Result: exactjson.StringValue(result)}}})
	}
	return list
}

const (
	idA = "0a3f1c55-3a0e-4c1b-9c51-0d4c1f0e7a11"
	idB = "7be0d3a2-91f4-4d0b-8f62-5a6f0c2d9b42"
	idC = "c4d1e8f7-2b6a-4f3e-a1d9-8e7c6b5a4f33"
)

// TestOnlyWhatAProgramWroteIsVolatile has a pair of conversations for each rule, and whether the second is
// taken for the first.
func TestOnlyWhatAProgramWroteIsVolatile(t *testing.T) {
	const asked = "What happened on 2026-11-27?"
	for _, c := range []struct {
		name           string
		recorded, live []tape.Message
		served         bool // the tool's result is the recorded one
		hit            bool
	}{
		{"an id in the instructions", told("Session "+idA, asked, ""), told("Session "+idB, asked, ""), false, true},
		{"a date around the question", told("", "<env>Today: 2026-11-27</env> "+asked, ""), told("", "<env>Today: 2026-11-28</env> "+asked, ""), false, true},
		{"a date in the question", told("", asked, ""), told("", "What happened on 2026-11-28?", ""), false, false},
		{"an id in words of a user that nobody wrote around", told("", "see "+idA, ""), told("", "see "+idB, ""), false, false},
		{"a block in other words of a user", told("", "more <env>pid 12</env>", ""), told("", "more <env>pid 77</env>", ""), false, true},
		{"a date far from the run", told("Prices as of 2024-01-31.", asked, ""), told("Prices as of 2024-02-29.", asked, ""), false, false},
		{"a date that is near here and far there", told("Today is 2026-11-27.", asked, ""), told("Today is 2025-11-27.", asked, ""), false, false},
		{"a process id in a result", told("", asked, "started, PGID: 4711"), told("", asked, "started, PGID: 38"), false, true},
		{"the same of a recorded tool", told("", asked, "started, PGID: 4711"), told("", asked, "started, PGID: 38"), true, false},
		{"a number in a result", told("", asked, "4711 lines"), told("", asked, "38 lines"), false, false},
		{"a duration in a result", told("", asked, "Wall time: 0.0000 seconds"), told("", asked, "Wall time: 0.0021 seconds"), false, true},
		{"a limit in the instructions", told("Commands end after: took 30 s", asked, ""), told("Commands end after: took 60 s", asked, ""), false, false},
		{"a digest in a result", told("", asked, "f1d2d2f924e986ac86fdf7b36c94bcdf32beec15  notes.txt"), told("", asked, "e242ed3bffccdf271b7fbaf34ed72d089537b42f  notes.txt"), false, false},
		{"a commit in a result", told("", asked, "[main 1f0c9ab] done"), told("", asked, "[main 77e0d2c] done"), false, true},
		{"a temporary file", told("", asked, "wrote /tmp/tmpk3v9_abq/out.txt"), told("", asked, "wrote /tmp/tmpz81x0cde/out.txt"), false, true},
		{"another file below it", told("", asked, "wrote /tmp/report.txt"), told("", asked, "wrote /tmp/orders.txt"), false, false},
		{"files in another order", told("", asked, "src/app.py\nREADME.md\nnotes.txt"), told("", asked, "notes.txt\nsrc/app.py\nREADME.md"), false, true},
		{"words in another order", told("", asked, "first\nsecond"), told("", asked, "second\nfirst"), false, false},
		{"a port of loopback", told("Serve at http://127.0.0.1:40123/", asked, ""), told("Serve at http://127.0.0.1:39001/", asked, ""), false, true},
		{"one id for two", told("a "+idA+" b "+idB, asked, ""), told("a "+idC+" b "+idC, asked, ""), false, false},
		{"two ids for one", told("a "+idA+" b "+idA, asked, ""), told("a "+idB+" b "+idC, asked, ""), false, false},
		{"two ids that change places", told("a "+idA+" b "+idB, asked, ""), told("a "+idB+" b "+idA, asked, ""), false, true},
		{"an id that stays elsewhere", told("Session "+idA, asked, "session "+idA), told("Session "+idA, asked, "session "+idB), false, false},
		{"times that change their order", told("", asked, "2026-11-27T10:00:00Z\n2026-11-27T11:00:00Z"), told("", asked, "2026-11-27T12:00:00Z\n2026-11-27T11:00:00Z"), false, false},
		{"times that keep their order", told("", asked, "2026-11-27T10:00:00Z\n2026-11-27T11:00:00Z"), told("", asked, "2026-11-27T12:00:00Z\n2026-11-27T12:00:00Z"), false, true},
	} {
		tp := taped(asked, c.recorded)
		answer := func(o Options) Answer {
			o.Served = func(string, string) bool { return c.served }
			return New(tp, o).NewSession().Answer(Request{Messages: c.live})
		}
		a := answer(Options{Volatile: volatile(ran)})
		if hit := a.Outcome == Hit; hit != c.hit {
			t.Errorf("%s: %s %v %+v", c.name, a.Outcome, a.Labels, a.Nearest)
		} else if hit && !slices.Equal(a.Labels, []Label{ByRenaming}) {
			t.Errorf("%s: labels %v", c.name, a.Labels)
		}
		if a := answer(Options{}); a.Outcome == Hit {
			t.Errorf("%s: taken for equal although everything counts", c.name)
		}
	}
}

// A name that was given in one call holds in all others of the session, and in no other session.
func TestOneRenamingHoldsForAWholeReplay(t *testing.T) {
	tp := taped("go on", told("Session "+idA, "go on", ""), told("Session "+idA, "go on", "ran in "+idA))
	s := New(tp, Options{Volatile: volatile(ran)})
	first := s.NewSession()
	if a := first.Answer(Request{Messages: told("Session "+idB, "go on", "")}); a.Outcome != Hit {
		t.Fatalf("%s %+v", a.Outcome, a.Nearest)
	}
	other := told("Session "+idC, "go on", "ran in "+idC)
	a := first.Answer(Request{Messages: other})
	if a.Outcome != NoTurn || a.Nearest == nil || a.Nearest.Place != "renaming" || a.Nearest.Recorded != idA || a.Nearest.Live != idC {
		t.Errorf("%s %+v", a.Outcome, a.Nearest)
	}
	if a := s.NewSession().Answer(Request{Messages: other}); a.Outcome != Hit {
		t.Errorf("another session: %s %+v", a.Outcome, a.Nearest)
	}
	if a := first.Answer(Request{Messages: told("Session "+idB, "go on", "ran in "+idB)}); a.Outcome != Hit {
		t.Errorf("%s %+v", a.Outcome, a.Nearest)
	}
	if r := first.Report().Volatile; len(r) != 1 || r[0].Form != "uuid" || r[0].Values != 1 || r[0].Recorded != idA || r[0].Live != idB {
		t.Errorf("%+v", r)
	}
}

// A miss names the rules that would make it a hit: with them in force it is one.
func TestAMissNamesTheRulesThatMendIt(t *testing.T) {
	tp := taped("go on", told("Version one of the prompt.\nBuild 17 of it.", "go on", `{"lines":4,"took":"a while"}`))
	live := told("Version one of the prompt.\nBuild 18 of it.", "go on", `{"lines":5,"took":"longer"}`)
	a := New(tp, Options{}).NewSession().Answer(Request{Messages: live})
	want := []string{
		`- {path: "$", action: normalise, pattern: "Build \\S+", in: [system_prompt]}`,
		`- {tool: "bash", path: "$.lines", action: normalise, as: number, in: [result]}`,
		`- {tool: "bash", path: "$.took", action: ignore, in: [result]}`,
	}
	if a.Outcome != NoTurn || a.Nearest == nil || !slices.Equal(a.Nearest.Rules, want) {
		t.Fatalf("%s %+v", a.Outcome, a.Nearest)
	}
	rules, err := rulefile.Read([]byte("version: 1\nrules:\n  " + strings.Join(a.Nearest.Rules, "\n  ") + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := normalise.New(rules.Values)
	if err != nil {
		t.Fatal(err)
	}
	if a := New(tp, Options{Rules: compiled}).NewSession().Answer(Request{Messages: live}); a.Outcome != Hit {
		t.Errorf("with the rules: %s %+v", a.Outcome, a.Nearest)
	}
	if a := New(tp, Options{}).NewSession().Answer(Request{Messages: told("Something else.", "go on", "")}); a.Nearest == nil || a.Nearest.Rules != nil {
		t.Errorf("%+v", a.Nearest)
	}
}

// A tape that says that it lacks the instructions of a run is asked for what it has. What it has of other
// instructions has to be the end of the live ones.
func TestInstructionsThatAreNotRecordedAreNotCompared(t *testing.T) {
	const later = "Agent types, as of 2026-11-27:\n- one"
	for _, c := range []struct {
		recorded, live string
		absent         bool
		hit            bool
	}{
		{"", "You are an agent.", true, true},
		{"", "You are an agent.", false, false},
		{later, "You are an agent.\n" + strings.Replace(later, "27", "28", 1), true, false},
		{later, "You are an agent.\n" + later, true, true},
		{later, "You are an agent.\n" + later, false, false},
		{later, "You are an agent.\n" + later + "\n- two", true, false},
	} {
		tp := taped("go on", told(c.recorded, "go on", ""))
		if c.recorded == "" {
			m := tp.Messages["0.0"]
			m.Parts = nil
			tp.Messages["0.0"] = m
		}
		if c.absent {
			tp.Fidelity.Findings = []tape.Finding{{Code: tape.CodeContentAbsent, Field: "input.system_prompt"}}
		}
		a := New(tp, Options{}).NewSession().Answer(Request{Messages: told(c.live, "go on", "")})
		if hit := a.Outcome == Hit; hit != c.hit || hit && !slices.Equal(a.Labels, []Label{NotRecorded}) {
			t.Errorf("%q and %q, absent %v: %s %v %+v", c.recorded, c.live, c.absent, a.Outcome, a.Labels, a.Nearest)
		}
	}
}
