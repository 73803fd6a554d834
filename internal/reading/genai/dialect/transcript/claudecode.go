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
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/anthropic"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ClaudeCodePrefix begins the names of the records of lines that Claude Code wrote.
const ClaudeCodePrefix = "claude_code_transcript."

// ClaudeCode reads the transcripts of Claude Code. Each message is a line that names the one before it, and a
// message of the model is a line for each of its parts. Versions since 2.1 write the requests as well, as
// what is new in each of them. Requests of earlier versions are put together of the messages before them,
// without what the program adds.
var ClaudeCode = &dialect.Dialect{
	ID:       "claude-code-transcript",
	Name:     "Claude Code transcript",
	Root:     "a prompt, with what follows it up to the next one",
	Switch:   "always on: the program writes them, and deletes them after 30 days",
	Records:  records(ClaudeCodePrefix, assignClaude),
	Classify: func(*dialect.Source) (dialect.Class, bool) { return dialect.Unclassified, false },
	Read:     read,
}

// claudeSession is a session of Claude Code.
type claudeSession struct {
	*session
	byID     map[string]*claudeLine
	calls    []*claudeCall
	byRef    map[string]*claudeCall    // by the id of the message, or of the line of a failure
	requests map[string]*claudeRequest // by id
	shapes   map[string]exactjson.Value
	messages map[string]decode.Message // sent ones, by their hash in the transcript
	results  map[string]*claudeLine    // lines with the result of a tool, by the id of the call
	spawned  map[string]string         // ids of calls of tools, by the agent that they ran
	tools    map[string]pcommon.SpanID // by the id of the call
	lanes    map[string]*claudeRun     // the run of each agent within a session
	steps    int                       // along parents that are left
}

type claudeLine struct {
	*line
	id, parent string
	owner      *claudeCall // of the model, the call that said it
}

// claudeCall is a model call.
type claudeCall struct {
	lines    []*claudeLine
	id       string
	agent    string
	copied   bool // from the session that this one goes on from
	failed   bool
	request  *claudeRequest
	before   *claudeCall   // the call before it in its conversation
	since    []*claudeLine // of users, after the answer before it
	run      *claudeRun
	response decode.Message
}

// claudeRequest is a recorded request: how many messages of another one it begins with, and the hashes of
// those behind them.
type claudeRequest struct {
	line   *line
	base   *claudeRequest
	call   *claudeCall
	keep   int
	hashes []string
}

func (r *claudeRequest) size() int { return r.keep + len(r.hashes) }

// claudeRun is what follows a prompt, or the run of an agent within.
type claudeRun struct {
	prompt  *claudeLine
	agent   string
	calls   []*claudeCall
	hidden  bool // a call that compacted the conversation is not in the transcript
	session string
}

func assignClaude(prefix string, lines []*line) *session {
	s := &claudeSession{
		session: newSession(prefix), byID: map[string]*claudeLine{}, byRef: map[string]*claudeCall{}, requests: map[string]*claudeRequest{},
		shapes: map[string]exactjson.Value{}, messages: map[string]decode.Message{}, results: map[string]*claudeLine{},
		spawned: map[string]string{}, tools: map[string]pcommon.SpanID{}, lanes: map[string]*claudeRun{}, steps: maxHistory,
	}
	for _, l := range lines {
		s.take(l)
	}
	for _, c := range s.calls {
		s.follow(c)
	}
	slices.SortStableFunc(s.calls, func(a, b *claudeCall) int { return cmp.Compare(a.lines[0].at, b.lines[0].at) })
	var runs []*claudeRun
	for _, c := range s.calls {
		if c.copied {
			for _, l := range slices.Concat(c.lines, c.since) {
				l.used = true
			}
			continue
		}
		if s.runOf(c); len(c.run.calls) == 0 {
			runs = append(runs, c.run)
		}
		c.run.calls = append(c.run.calls, c)
	}
	for _, r := range runs { // agents begin behind the calls that ran them
		s.addRun(r)
	}
	return s.session
}

// take sorts a line in.
func (s *claudeSession) take(l *line) {
	b := l.body
	switch kind := b.Get("type").Str(); kind {
	case "user", "assistant", "system", "attachment":
		c := &claudeLine{line: l, id: b.Get("uuid").Str(), parent: b.First("parentUuid").Str()}
		if c.id == "" || s.byID[c.id] != nil {
			return
		}
		s.byID[c.id] = c
		l.used = kind == "attachment"
		if kind == "assistant" {
			s.takeAnswer(c)
		}
		for _, id := range resultsIn(b) {
			if s.results[id] == nil {
				s.results[id] = c
			}
			if agent := b.Get("toolUseResult").Get("agentId").Str(); agent != "" {
				s.spawned[agent] = id
			}
		}
	case "api-request-shape":
		l.used = true
		s.shapes[b.Get("shapeHash").Str()] = b.Get("shape")
	case "api-request-blob":
		l.used = true
		s.messages[b.Get("hash").Str()] = decode.RoleMessage(b.Get("message"), tape.RoleUser)
	case "api-request":
		keep, _ := b.Get("keep").Int()
		r := &claudeRequest{line: l, base: s.requests[b.Get("base").Str()], keep: int(max(0, keep))}
		if r.keep > 0 && (r.base == nil || r.base.size() < r.keep) {
			return // what it begins with is not on record
		}
		for _, h := range b.Get("tail").Members() {
			r.hashes = append(r.hashes, h.Value.Str())
		}
		s.requests[b.Get("id").Str()] = r
	}
}

func resultsIn(b exactjson.Value) (ids []string) {
	for _, m := range b.Get("message").Get("content").Members() {
		if m.Value.Get("type").Str() == "tool_result" {
			ids = append(ids, m.Value.Get("tool_use_id").Str())
		}
	}
	return ids
}

// takeAnswer puts a line of the model to the call that it is a part of.
func (s *claudeSession) takeAnswer(l *claudeLine) {
	b := l.body
	message := b.Get("message")
	failed := b.Get("isApiErrorMessage").True()
	id := message.Get("id").Str()
	if failed || id == "" {
		id = l.id
	}
	c := s.byRef[id]
	if c == nil {
		session := b.Get("requestSessionId").Str()
		c = &claudeCall{id: id, agent: b.Get("agentId").Str(), failed: failed, copied: session != "" && session != b.Get("sessionId").Str(), response: decode.Message{Role: tape.RoleAssistant}}
		s.byRef[id] = c
		s.calls = append(s.calls, c)
	}
	if r := s.requests[b.Get("requestRef").Str()]; r != nil && c.request == nil {
		c.request, r.call = r, c
	}
	l.owner = c
	c.lines = append(c.lines, l)
	c.response.Parts = append(c.response.Parts, decode.Parts(message.Get("content"))...)
}

// follow finds the call before a call, and what users and tools said in between. Results of tools that ran at
// the same time stand beside the path of parents.
func (s *claudeSession) follow(c *claudeCall) {
	at := s.byID[c.lines[0].parent]
	for ; at != nil && at.owner == nil && s.steps > 0; at = s.byID[at.parent] {
		s.steps--
		switch at.body.Get("type").Str() {
		case "user":
			c.since = append(c.since, at)
		case "system":
			if at.body.Get("subtype").Str() == "compact_boundary" {
				c.since = append(c.since, at)
			}
		}
	}
	slices.Reverse(c.since)
	if at == nil || at.owner == nil || at.owner == c {
		return
	}
	c.before = at.owner
	for _, p := range c.before.response.Parts {
		if l := s.results[p.ID]; p.Type == tape.PartToolCall && l != nil && !slices.Contains(c.since, l) {
			c.since = append(c.since, l)
		}
	}
	slices.SortStableFunc(c.since, func(a, b *claudeLine) int { return int(a.number - b.number) })
}

// sent puts together the message that the lines of users since the last answer were sent as.
func (c *claudeCall) sent() (m decode.Message, ok bool) {
	var parts []decode.Part
	for _, l := range c.since {
		if message := l.body.Get("message"); l.body.Get("type").Str() == "user" {
			parts = append(parts, decode.RoleMessage(message, tape.RoleUser).Parts...)
		}
	}
	return decode.MessageWith(tape.RoleUser, "", parts), len(parts) > 0
}

// runOf finds the run of a call: that of its agent, that of the call before it, or a new one where the user
// said something since.
func (s *claudeSession) runOf(c *claudeCall) {
	first := c.lines[0].body
	lane := c.agent
	if lane == "" && first.Get("isSidechain").True() { // versions before 2.1 have no ids of agents
		if lane = "\x00" + c.id; c.before != nil && c.before.run != nil && c.before.run.agent != "" {
			lane = c.before.run.agent
		}
	}
	if lane != "" {
		if c.run = s.lanes[lane]; c.run == nil {
			c.run = &claudeRun{agent: lane, session: first.Get("sessionId").Str()}
			if len(c.since) > 0 {
				c.run.prompt = c.since[0]
			}
			s.lanes[lane] = c.run
		}
		return
	}
	before, hidden := c.before, false
	var command, prompt *claudeLine
	for _, l := range c.since {
		b := l.body
		if b.Get("type").Str() == "system" {
			hidden = true
			if up := s.byID[b.Get("logicalParentUuid").Str()]; before == nil && up != nil {
				before = up.owner
			}
			continue
		}
		said := b.Get("message").Get("content")
		switch {
		case b.First("isMeta").True() || b.Get("isCompactSummary").True() || len(resultsIn(b)) > 0 || b.Get("origin").Get("kind").Str() == "task-notification":
		case strings.HasPrefix(said.Str(), "<local-command-"):
		case strings.HasPrefix(said.Str(), "<command-"):
			command = l
		default:
			prompt = l
		}
	}
	if prompt == nil {
		prompt = command
	}
	if prompt == nil && before != nil && before.run != nil {
		c.run = before.run
	} else {
		c.run = &claudeRun{prompt: prompt, session: first.Get("sessionId").Str()}
	}
	c.run.hidden = c.run.hidden || hidden
}

// addRun makes the items of a run: the agent, its model calls and the tools that they asked for.
func (s *claudeSession) addRun(r *claudeRun) {
	var lines []*line
	if r.prompt != nil {
		lines = append(lines, r.prompt.line)
	}
	first, last := r.calls[0], r.calls[len(r.calls)-1]
	lines = append(lines, first.lines[0].line)
	spawnedBy := s.tools[s.spawned[r.agent]]
	if r.agent != "" && spawnedBy.IsEmpty() {
		spawnedBy = s.spawnedBy(r)
	}
	end := last.lines[len(last.lines)-1].at
	id := s.add(madeRun, spawnedBy, lines[0].at, end, lines[:1], func(o *dialect.Draft) { s.sayRun(r, o) })
	for _, c := range r.calls {
		s.addCall(c, id)
	}
}

// spawnedBy finds the call of the tool that was handed the prompt of an agent.
func (s *claudeSession) spawnedBy(r *claudeRun) (id pcommon.SpanID) {
	if r.prompt == nil {
		return id
	}
	asked := r.prompt.body.Get("message").Get("content").Str()
	for _, c := range s.calls {
		for _, p := range c.response.Parts {
			if p.Type == tape.PartToolCall && asked != "" && p.Args.Get("prompt").Str() == asked && c.lines[0].number < r.prompt.number {
				id = s.tools[p.ID]
			}
		}
	}
	return id
}

func (s *claudeSession) sayRun(r *claudeRun, o *dialect.Draft) {
	first := r.calls[0].lines[0].body
	o.RunSpan = r.agent == ""
	o.ConversationID = r.session
	o.Agent.Name, o.Agent.Version = "claude-code", first.Get("version").Str()
	if r.agent != "" {
		o.Agent.Name, o.Agent.ID = first.Get("attributionAgent").Str(), strings.TrimPrefix(r.agent, "\x00")
	}
	if r.prompt != nil {
		o.InvocationID = r.prompt.body.Get("promptId").Str()
		o.Input = []decode.Message{decode.RoleMessage(r.prompt.body.Get("message"), tape.RoleUser)}
	}
	if r.hidden {
		o.AddNote(tape.CodeModelCallHidden, "", "the conversation was compacted before or in this run, by a model call that the transcript does not hold")
	}
}

// addCall makes the items of a model call and of the tools that it asked for.
func (s *claudeSession) addCall(c *claudeCall, run pcommon.SpanID) {
	var lines []*line
	for _, l := range c.lines {
		lines = append(lines, l.line)
	}
	start := lines[0].at
	if len(c.since) > 0 {
		start = min(start, c.since[len(c.since)-1].at)
	}
	if c.request != nil {
		start = min(lines[0].at, c.request.line.at)
		lines = append(lines, c.request.line)
	}
	for _, l := range c.since {
		l.used = true
	}
	request, label, previous := s.request(c)
	s.add(madeModel, run, start, c.lines[len(c.lines)-1].at, lines, func(o *dialect.Draft) {
		o.Provider, o.Operation = "anthropic", "chat"
		o.Request, o.RequestLabel, o.PreviousID = request, label, previous
		s.sayCall(c, o)
	})
	for i, p := range c.response.Parts {
		if l := s.results[p.ID]; p.Type == tape.PartToolCall && l != nil && s.tools[p.ID].IsEmpty() {
			s.tools[p.ID] = s.add(madeTool, run, c.lines[min(i, len(c.lines)-1)].at, l.at, []*line{l.line}, func(o *dialect.Draft) { sayTool(p, l, o) })
		}
	}
}

func (s *claudeSession) sayCall(c *claudeCall, o *dialect.Draft) {
	last := c.lines[len(c.lines)-1].body
	o.ConversationID = last.Get("sessionId").Str()
	if c.failed {
		o.Failed = true
		o.Error = &tape.Error{Type: last.Get("error").Str(), Message: resultText(last.Get("message").Get("content"))}
	} else {
		o.Response = []decode.Message{c.response}
		anthropic.ReadResponse(last.Get("message"), o)
	}
	decode.FillString(&o.Model, last.Get("requestedModel").Str())
	if c.request == nil {
		return
	}
	o.Quirks |= dialect.OmitsFirst // a header for billing
	params := c.request.line.body.Get("params")
	anthropic.ReadRequest(params, o)
	if shape := s.shapes[c.request.line.body.Get("shapeHash").Str()]; !shape.IsAbsent() {
		own := o.Request
		anthropic.ReadRequest(shape, o)
		if o.Request = own; decode.HasRole(own, tape.RoleSystem) || o.PreviousID != "" {
			o.Request = append([]decode.Message{{Role: tape.RoleSystem, Parts: o.System}}, own...)
		}
	}
}

func sayTool(asked decode.Part, l *claudeLine, o *dialect.Draft) {
	sayAsked(asked, asked.Name == "Task" || asked.Name == "Agent", o)
	for _, m := range l.body.Get("message").Get("content").Members() {
		if m.Value.Get("tool_use_id").Str() != asked.ID {
			continue
		}
		content := m.Value.Get("content")
		o.Result = decode.UnwrapResult(decode.Result(content, false)).Content
		if m.Value.Get("is_error").True() {
			o.Failed = true
			o.Error = &tape.Error{Message: resultText(content)}
		}
	}
}
