// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// OpenCodePrefix begins the names of the records of messages that OpenCode exported. The name of one that a
// session took over from another session ends in "copy".
const OpenCodePrefix = "opencode_transcript."

// OpenCode reads what OpenCode exports of a session: messages with their parts. A message of the model holds
// what it said, and the tools that it asked for with their results. What stands before it is what was sent,
// but for the instructions and the definitions of tools.
var OpenCode = &dialect.Dialect{
	ID:       "opencode-transcript",
	Name:     "OpenCode export",
	Root:     "a prompt, with what follows it up to the next one",
	Switch:   "always on: the program keeps its sessions in a database, and exports them",
	Records:  records(OpenCodePrefix, assignOpenCode),
	Classify: func(*dialect.Source) (dialect.Class, bool) { return dialect.Unclassified, false },
	Read:     read,
}

// openCodeTools are the tools of the program itself. The others are those of MCP servers and of users.
var openCodeTools = strings.Fields("apply_patch bash batch codesearch edit glob grep invalid list lsp patch plan_enter plan_exit question read skill task todoread todowrite webfetch websearch write")

// openCodeThread is one session of OpenCode. Those of agents are in one trace with that which ran them.
type openCodeThread struct {
	*session
	id       string
	messages []*openCodeMessage
	places   map[string]int            // of messages, by their id
	runs     [][]*openCodeMessage      // prompts with the answers that follow
	tasks    map[string][]openCodeTask // by the session of the agent that ran

	asked, summed, tail int // places of the last summary: its question, what follows it, what it left
}

// openCodeTask is a call of a tool that ran an agent.
type openCodeTask struct {
	id           pcommon.SpanID
	asked, ended pcommon.Timestamp
}

// openCodeMessage is a message. Request and label are those of the call that it answers.
type openCodeMessage struct {
	*line
	id, role string
	info     exactjson.Value
	parts    map[string][]exactjson.Value // by their type
	failure  *tape.Error
	summary  bool // of the conversation before it
	request  []decode.Message
	label    tape.Label
}

func assignOpenCode(prefix string, lines []*line) *session {
	s, tasks := newSession(prefix), map[string][]openCodeTask{}
	for _, thread := range threads(lines) {
		t := &openCodeThread{session: s, id: threadOf(thread[0]), places: map[string]int{}, tasks: tasks}
		t.take(thread)
		for n := range t.messages {
			t.follow(n)
			t.sum(n)
		}
		slices.SortStableFunc(tasks[t.id], func(a, b openCodeTask) int { return cmp.Compare(a.ended, b.ended) })
		for _, run := range t.runs {
			if len(run) > 1 {
				t.addRun(run[0], run[1:])
			}
		}
	}
	return s
}

// take sorts the messages by time. Of a message that was exported more than once, the longest form is the
// last one.
func (t *openCodeThread) take(lines []*line) {
	last := map[string]*line{}
	for _, l := range lines {
		l.used = true
		id := l.body.Get("info").Get("id").Str()
		if was := last[id]; was == nil || len(was.body.JSON()) < len(l.body.JSON()) {
			last[id] = l
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		m := &openCodeMessage{line: last[id], id: id, info: last[id].body.Get("info"), parts: map[string][]exactjson.Value{}}
		m.role, m.summary = m.info.Get("role").Str(), m.info.Get("summary").True()
		if e := m.info.Get("error"); e.Kind() == exactjson.Object {
			m.failure = &tape.Error{Type: e.Get("name").Str(), Message: e.Get("data").Get("message").Str()}
		}
		for _, p := range m.body.Get("parts").Members() {
			kind := p.Value.Get("type").Str()
			m.parts[kind] = append(m.parts[kind], p.Value)
		}
		t.messages = append(t.messages, m)
	}
	slices.SortStableFunc(t.messages, func(a, b *openCodeMessage) int { return cmp.Compare(a.at, b.at) })
	for n, m := range t.messages {
		t.places[m.id] = n
	}
}

// follow puts a message into a run. One that was copied is of a run of another session, and one that the
// model has not answered is of none yet.
func (t *openCodeThread) follow(n int) {
	m := t.messages[n]
	switch last := len(t.runs) - 1; {
	case strings.HasSuffix(m.source.Span.Name(), "copy"):
	case m.role == "user" && t.begins(n):
		t.runs = append(t.runs, []*openCodeMessage{m})
	case m.role == "assistant" && last >= 0 && m.isOver():
		t.ask(n)
		t.runs[last] = append(t.runs[last], m)
	}
}

// begins reports a message that a user wrote. The program writes messages of its own, and repeats the prompt
// that was too long, after the conversation was compacted.
func (t *openCodeThread) begins(n int) bool {
	m := t.messages[n]
	if c := m.parts["compaction"]; len(c) > 0 {
		return !c[0].Get("auto").True()
	}
	own := func(p exactjson.Member) bool {
		return !p.Value.Get("synthetic").True() && !p.Value.Get("ignored").True()
	}
	if !slices.ContainsFunc(m.body.Get("parts").Members(), own) {
		return false
	}
	repeats := n > 0 && t.messages[n-1].summary && len(t.runs) > 0
	return !repeats || m.words() != t.runs[len(t.runs)-1][0].words()
}

// words are the texts of a message.
func (m *openCodeMessage) words() string {
	var texts []string
	for _, p := range m.parts["text"] {
		texts = append(texts, p.Get("text").Str())
	}
	return strings.Join(texts, "\n")
}

// isOver reports that the model has said what it said: the program was told so, or it ran a tool.
func (m *openCodeMessage) isOver() bool {
	ran := func(p exactjson.Value) bool { return p.Get("state").Get("status").Str() != "pending" }
	return m.failure != nil || !m.info.Get("time").Get("completed").IsAbsent() || slices.ContainsFunc(m.parts["tool"], ran)
}

// millis is a time in milliseconds; 0 for another value.
func millis(v exactjson.Value) pcommon.Timestamp {
	ms, _ := v.Int()
	return pcommon.Timestamp(min(max(0, ms), 1<<43)) * 1e6
}

// addRun makes the items of a run: the agent, its model calls and the tools that ran.
func (t *openCodeThread) addRun(prompt *openCodeMessage, calls []*openCodeMessage) {
	var caller pcommon.SpanID
	tasks := t.tasks[t.id]
	n, _ := slices.BinarySearchFunc(tasks, prompt.at, func(c openCodeTask, at pcommon.Timestamp) int { return cmp.Compare(c.ended, at) })
	if n < len(tasks) && tasks[n].asked <= prompt.at {
		caller = tasks[n].id
	}
	last := calls[len(calls)-1]
	id := t.add(madeRun, caller, prompt.at, last.end(), []*line{prompt.line}, func(o *dialect.Draft) {
		o.RunSpan, o.ConversationID = caller.IsEmpty(), t.id
		o.Agent.Name, o.Agent.Version = "opencode", decode.Attributes(prompt.source.Resource).Text("service.version")
		if !caller.IsEmpty() {
			o.Agent.Name, o.Agent.ID = prompt.info.Get("agent").Str(), t.id
		}
		o.Input = prompt.said(prompt)
		if len(last.parts["tool"]) == 0 && (!last.summary || len(calls) == 1) {
			o.Output = last.said(last)
		}
		o.Failed, o.Error = last.failure != nil, last.failure
	})
	for _, m := range calls {
		if asked := len(m.parts["step-start"]) > 0 || m.failure != nil || len(m.parts["tool"]) == 0; asked {
			t.add(madeModel, id, m.at, m.end(), []*line{m.line}, func(o *dialect.Draft) { m.sayCall(t.id, o) })
		} else if m.parts["tool"][0].Get("tool").Str() != "task" {
			continue // a command that a user ran
		}
		for _, p := range m.parts["tool"] {
			t.addTool(m, p, id)
		}
	}
}

// end is when the model had answered: when the last of its tools began, or when all was over.
func (m *openCodeMessage) end() (end pcommon.Timestamp) {
	for _, p := range m.parts["tool"] {
		end = max(end, millis(p.Get("state").Get("time").Get("start")))
	}
	return cmp.Or(end, millis(m.info.Get("time").Get("completed")))
}

func (m *openCodeMessage) sayCall(conversation string, o *dialect.Draft) {
	o.ConversationID, o.Operation, o.Provider, o.Model = conversation, "chat", m.info.Get("providerID").Str(), m.info.Get("modelID").Str()
	o.Request, o.RequestLabel, o.Streaming = m.request, m.label, true
	o.Quirks |= dialect.OmitsSystem
	o.Failed, o.Error = m.failure != nil, m.failure
	if said := m.said(m); len(said) > 0 && said[0].Role == tape.RoleAssistant {
		o.Response = said[:1]
	}
	if m.summary {
		o.AddNote(tape.CodeContentAbsent, "request.messages", "the export does not hold the message that asks for the summary of the conversation")
	}
	for _, p := range m.parts["tool"] {
		if p.Get("tool").Str() == "invalid" {
			o.ResponseLabel = tape.Lossy
			o.AddNote(tape.CodeLossyRepr, "response.message", "the program writes a call of a tool that it does not have as a call of its tool invalid")
		}
	}
	if len(m.parts["step-start"]) > 1 {
		o.ResponseLabel = tape.Lossy
		o.AddNote(tape.CodeLossyRepr, "response.message", "one message holds the answers to several model calls")
	}
	for _, f := range m.parts["step-finish"] {
		o.FinishReasons, o.Usage = []string{f.Get("reason").Str()}, openCodeUsage(f.Get("tokens"))
	}
}

// openCodeUsage reads counts of which none includes another one.
func openCodeUsage(v exactjson.Value) tape.Usage {
	inclusive := false
	u := tape.Usage{
		InputTokens: decode.OptionalCount(v.Get("input")), OutputTokens: decode.OptionalCount(v.Get("output")), ReasoningTokens: decode.OptionalCount(v.Get("reasoning")),
		CacheReadTokens: decode.OptionalCount(v.Get("cache").Get("read")), CacheWriteTokens: decode.OptionalCount(v.Get("cache").Get("write")), InputIncludesCache: &inclusive,
	}
	if u.OutputTokens != nil {
		*u.OutputTokens += decode.OrZero(u.ReasoningTokens)
	}
	return u
}

// addTool makes the item of a tool that has ended.
func (t *openCodeThread) addTool(m *openCodeMessage, p exactjson.Value, run pcommon.SpanID) {
	state := p.Get("state")
	status, ended := state.Get("status").Str(), millis(state.Get("time").Get("end"))
	if status != "completed" && status != "error" {
		return
	}
	id := t.add(madeTool, run, millis(state.Get("time").Get("start")), ended, []*line{m.line}, func(o *dialect.Draft) {
		asked := openCodeCall(p)
		if sayAsked(asked, asked.Name == "task", o); !slices.Contains(openCodeTools, asked.Name) {
			o.ToolKind = tape.ToolFunction
		}
		if status == "error" {
			o.Failed, o.Error = true, &tape.Error{Message: state.Get("error").Str()}
		} else {
			o.Result = decode.UnwrapResult(decode.Result(state.Get("output"), false)).Content
		}
	})
	if agent := state.Get("metadata").Get("sessionId").Str(); agent != "" && agent != t.id {
		t.tasks[agent] = append(t.tasks[agent], openCodeTask{id, m.at, ended})
	}
}
