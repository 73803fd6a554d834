// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// CodexPrefix begins the names of the records of lines that Codex wrote.
const CodexPrefix = "codex_transcript."

// Codex reads the rollouts of the Codex CLI. A rollout is the history of a thread, item by item, so that what
// stands before an answer is what was sent. Sub-agents are threads of the same session, with a rollout each.
// Definitions of tools are in none, nor the instructions as they were sent.
var Codex = &dialect.Dialect{
	ID:       "codex-transcript",
	Name:     "Codex CLI rollout",
	Root:     "a turn, from `task_started` on",
	Switch:   "always on: the program writes them",
	Records:  records(CodexPrefix, assignCodex),
	Classify: func(*dialect.Source) (dialect.Class, bool) { return dialect.Unclassified, false },
	Read:     read,
}

// codexSession is a session of Codex.
type codexSession struct {
	*session
	spawned map[string]string         // ids of calls of tools, by the thread that they began
	tools   map[string]pcommon.SpanID // by the id of the call
	metered bool                      // calls of the thread that is read tell what they cost
}

// codexThread is one rollout on the way through it.
type codexThread struct {
	session  *codexSession
	meta     exactjson.Value
	history  []decode.Message
	sent     int // how much of the history the last call was sent, or answered
	answer   []decode.Part
	lines    []*line // of the answer
	before   *line   // the last line before the answer
	model    string
	effort   exactjson.Value
	turn     *codexTurn
	last     *codexCall // nil: the conversation begins anew
	answered map[string]*line
	outputs  map[string]bool // ids of calls whose output the rollout holds
}

// codexTurn is a turn of a thread: a run, or the run of an agent within.
type codexTurn struct {
	id      string
	lines   []*line
	calls   []*codexCall
	input   []decode.Message
	output  string
	failure *tape.Error
	end     pcommon.Timestamp
}

// codexCall is a model call.
type codexCall struct {
	turn      *codexTurn
	lines     []*line
	begun     pcommon.Timestamp
	request   []decode.Message
	label     tape.Label
	previous  string
	response  decode.Message
	id        string
	model     string
	effort    exactjson.Value
	usage     tape.Usage
	compacted bool
}

func assignCodex(prefix string, lines []*line) *session {
	s := &codexSession{session: newSession(prefix), spawned: map[string]string{}, tools: map[string]pcommon.SpanID{}}
	for _, l := range lines {
		if item := l.body.Get("payload").Get("item"); item.Get("type").Str() == "SubAgentActivity" && item.Get("kind").Str() == "started" {
			s.spawned[item.Get("agent_thread_id").Str()] = item.Get("id").Str()
		}
	}
	for _, thread := range threads(lines) { // agents begin behind the threads that began them
		s.thread(threadOf(thread[0]), thread)
	}
	return s.session
}

// thread reads a rollout and makes the items of its turns.
func (s *codexSession) thread(id string, lines []*line) {
	t := &codexThread{session: s, answered: map[string]*line{}, outputs: map[string]bool{}}
	s.metered = false
	for _, l := range lines {
		s.metered = s.metered || l.body.Get("type").Str() == "token_usage_record"
		if v := l.body.Get("payload"); strings.HasSuffix(v.Get("type").Str(), "_output") {
			t.outputs[v.Get("call_id").Str()] = true
		}
	}
	var turns []*codexTurn
	for _, l := range lines {
		l.used = true
		was := t.turn
		t.take(l)
		if t.turn != was && t.turn != nil {
			turns = append(turns, t.turn)
		}
		if t.turn != nil {
			t.turn.end = max(t.turn.end, l.at)
		}
	}
	under := s.tools[s.spawned[id]]
	for _, turn := range turns {
		if len(turn.input)+len(turn.calls) > 0 {
			t.add(turn, id, under)
		}
	}
}

func (t *codexThread) take(l *line) {
	payload := l.body.Get("payload")
	switch l.body.Get("type").Str() {
	case "session_meta":
		if t.meta.IsAbsent() {
			t.meta = payload
		}
	case "turn_context":
		t.model = payload.Get("model").Str()
		t.effort = payload.First("effort")
		t.begin(payload.Get("turn_id").Str(), l)
	case "event_msg":
		t.event(payload, l)
	case "response_item":
		t.item(payload, l)
	case "token_usage_record":
		t.close(l, payload.Get("response_id").Str(), codexUsage(payload.Get("usage")))
	case "compacted":
		t.compact(payload)
	}
}

// begin turns to a turn.
func (t *codexThread) begin(id string, l *line) {
	if t.inherited(l) || t.turn != nil && (id == "" || t.turn.id == id) {
		return
	}
	t.settle()
	t.turn = &codexTurn{id: id, lines: []*line{l}}
}

// inherited tells what a thread took over from the one that it was forked from.
func (t *codexThread) inherited(l *line) bool {
	start, _ := t.meta.Get("subagent_history_start_ordinal").Int()
	ordinal, ok := l.body.Get("ordinal").Int()
	return ok && ordinal < start
}

func (t *codexThread) event(e exactjson.Value, l *line) {
	kind := e.Get("type").Str()
	if kind == "task_started" || kind == "user_message" && (t.turn == nil || len(t.turn.input) > 0) && e.Get("turn_id").IsAbsent() && !t.metered() {
		t.begin(e.Get("turn_id").Str(), l)
	}
	if t.turn == nil || t.inherited(l) {
		return
	}
	switch kind {
	case "user_message":
		if len(t.turn.input) == 0 {
			t.turn.input = text(tape.RoleUser, e.Get("message").Str())
		}
	case "item_completed":
		if item := e.Get("item"); item.Get("type").Str() == "UserMessage" {
			t.turn.input = append(t.turn.input, decode.Message{Role: tape.RoleUser, Parts: decode.Parts(item.Get("content"))})
		}
	case "token_count":
		if usage := e.Get("info").Get("last_token_usage"); !t.metered() && usage.Kind() == exactjson.Object {
			t.settle()
			if t.last != nil && t.last.usage.InputTokens == nil {
				t.last.usage = codexUsage(usage)
			}
		}
	case "task_complete": // an answer that is open behind the last line is still being written
		t.settle()
		t.turn.output = e.Get("last_agent_message").Str()
	case "turn_aborted":
		t.settle()
		t.turn.failure = &tape.Error{Type: kind, Message: e.Get("reason").Str()}
	case "error", "stream_error":
		t.turn.failure = &tape.Error{Type: kind, Message: e.Get("message").Str()}
	}
}

func (t *codexThread) metered() bool { return t.session.metered }

// item takes an item of the history: a part of an answer, or something that was said to the model.
func (t *codexThread) item(v exactjson.Value, l *line) {
	kind, role := v.Get("type").Str(), v.Get("role").Str()
	if strings.HasSuffix(kind, "_output") && !t.inherited(l) {
		t.answered[v.Get("call_id").Str()] = l
	}
	m, ok := decode.ResponseItem(v)
	switch {
	case kind == "ghost_snapshot":
	case kind == "agent_message":
		t.say(decode.Message{Role: tape.RoleUser, Name: v.Get("author").Str(), Parts: decode.Parts(v.Get("content"))}, l)
		if !t.inherited(l) && t.turn != nil && len(t.turn.input)+len(t.turn.calls) == 0 {
			t.turn.input = t.history[len(t.history)-1:]
		}
	case kind == "message" && role != "assistant" || strings.HasSuffix(kind, "_output"):
		t.say(m, l)
	case !ok:
		m = decode.Message{Role: tape.RoleAssistant, Parts: []decode.Part{decode.DataPart(v)}}
		fallthrough
	default:
		t.answer, t.lines = append(t.answer, m.Parts...), append(t.lines, l)
	}
}

// say adds what was said to the model. An answer that is open before it is over.
func (t *codexThread) say(m decode.Message, l *line) {
	t.settle()
	t.history, t.before = append(t.history, m), l
}

// settle ends an answer of which nothing told what it cost. In a thread that tells costs, it is part of what
// the thread was forked with.
func (t *codexThread) settle() {
	if len(t.answer) == 0 {
		return
	}
	if t.turn == nil || t.metered() && !t.meta.Get("forked_from_id").IsAbsent() {
		t.history = append(t.history, decode.Message{Role: tape.RoleAssistant, Parts: t.answer})
		for _, p := range t.answer { // so the program sends calls that it handed on before they were over
			if p.Type == tape.PartToolCall && !t.outputs[p.ID] {
				t.history = append(t.history, decode.Message{Role: tape.RoleTool, Parts: []decode.Part{decode.ResultPart(p.ID, "", exactjson.StringValue("aborted"), false)}})
			}
		}
		t.answer, t.lines = nil, nil
		return
	}
	t.close(t.lines[len(t.lines)-1], "", tape.Usage{})
}

// close makes a call of the answer that is open.
func (t *codexThread) close(l *line, id string, usage tape.Usage) {
	if t.turn == nil {
		return
	}
	lines := t.lines
	if len(lines) == 0 || lines[len(lines)-1] != l {
		lines = append(lines, l)
	}
	c := &codexCall{turn: t.turn, lines: lines, begun: lines[0].at, id: id, model: t.model, effort: t.effort, usage: usage, response: decode.Message{Role: tape.RoleAssistant, Parts: t.answer}}
	if t.before != nil {
		c.begun = min(c.begun, t.before.at)
	}
	switch {
	case t.last != nil && t.last.turn == t.turn && t.last.id != "":
		c.previous = t.last.id
		c.request = slices.Clone(t.history[t.sent:])
	case t.session.room(len(t.history)):
		c.request = slices.Clone(t.history)
	default:
		c.label = tape.Truncated
	}
	t.turn.calls = append(t.turn.calls, c)
	t.history = append(t.history, c.response)
	t.last, t.sent, t.answer, t.lines, t.before = c, len(t.history), nil, nil, l
}

// compact begins the conversation anew. What the last call was asked was to sum it up.
func (t *codexThread) compact(v exactjson.Value) {
	t.settle()
	if t.last != nil && t.turn != nil && t.last.turn == t.turn {
		t.last.compacted = true
	}
	t.history = nil
	for _, m := range v.Get("replacement_history").Members() {
		if said, ok := decode.ResponseItem(m.Value); ok {
			t.history = append(t.history, said)
		}
	}
	if v.Get("replacement_history").Len() == 0 {
		t.history = append(t.history, text(tape.RoleUser, v.Get("message").Str())...)
	}
	t.last = nil
}

// add makes the items of a turn: the agent, its model calls and the tools that ran.
func (t *codexThread) add(turn *codexTurn, thread string, under pcommon.SpanID) {
	s := t.session
	meta := t.meta
	run := s.add(madeRun, under, turn.lines[0].at, turn.end, turn.lines, func(o *dialect.Draft) {
		o.RunSpan = under.IsEmpty()
		o.ConversationID, o.InvocationID = thread, turn.id
		o.Agent.Name, o.Agent.Version = cmp.Or(meta.Get("originator").Str(), "codex"), meta.Get("cli_version").Str()
		if path := meta.First("agent_path", "agent_nickname").Str(); path != "" {
			o.Agent.Name, o.Agent.ID = path, thread
		}
		o.Input = turn.input
		if turn.output != "" {
			o.Output = text(tape.RoleAssistant, turn.output)
		}
		if turn.failure != nil {
			o.Failed, o.Error = true, turn.failure
		}
	})
	for _, c := range turn.calls {
		s.add(madeModel, run, c.begun, c.lines[len(c.lines)-1].at, c.lines, func(o *dialect.Draft) { t.sayCall(c, thread, o) })
		for _, p := range c.response.Parts {
			if l := t.answered[p.ID]; p.Type == tape.PartToolCall && l != nil && s.tools[p.ID].IsEmpty() {
				s.tools[p.ID] = s.add(madeTool, run, c.lines[len(c.lines)-1].at, l.at, []*line{l}, func(o *dialect.Draft) { sayCodexTool(p, l, o) })
			}
		}
	}
}

func (t *codexThread) sayCall(c *codexCall, thread string, o *dialect.Draft) {
	o.ConversationID = thread
	o.Operation, o.Provider = "chat", t.meta.Get("model_provider").Str()
	o.Model, o.ResponseID, o.PreviousID = c.model, c.id, c.previous
	o.Request, o.RequestLabel, o.Usage = c.request, c.label, c.usage
	if len(c.response.Parts) > 0 {
		o.Response = []decode.Message{c.response}
	}
	o.Streaming = true
	o.AddParam("reasoning_effort", c.effort)
	o.Quirks |= dialect.RecordsNew | dialect.OmitsFirst
	if c.compacted {
		o.Request, o.RequestLabel, o.PreviousID = nil, tape.Missing, ""
		o.AddNote(tape.CodeContentAbsent, "request.messages", "the rollout does not hold the message that asks for the summary of the conversation")
	}
}

func sayCodexTool(asked decode.Part, l *line, o *dialect.Draft) {
	sayAsked(asked, asked.Name == "spawn_agent", o)
	output := l.body.Get("payload").Get("output")
	o.Result = decode.UnwrapResult(decode.Result(output, false)).Content
	if strings.HasPrefix(output.Str(), "unsupported c") {
		o.Failed, o.Error = true, &tape.Error{Message: output.Str()}
	}
}

func codexUsage(v exactjson.Value) tape.Usage {
	inclusive := true
	return tape.Usage{
		InputTokens: decode.OptionalCount(v.Get("input_tokens")), OutputTokens: decode.OptionalCount(v.Get("output_tokens")),
		CacheReadTokens: decode.OptionalCount(v.Get("cached_input_tokens")), CacheWriteTokens: decode.OptionalCount(v.Get("cache_write_input_tokens")),
		ReasoningTokens: decode.OptionalCount(v.Get("reasoning_output_tokens")), InputIncludesCache: &inclusive,
	}
}
