// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/google"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// GeminiPrefix begins the names of the records of lines that Gemini CLI wrote.
const GeminiPrefix = "gemini_cli_transcript."

// GeminiCLI reads the transcripts of Gemini CLI: the history of a session, message by message. A message is
// written again when its calls are over, with their results. What stands before an answer is what was sent,
// but for the instructions and the definitions of tools.
var GeminiCLI = &dialect.Dialect{
	ID:       "gemini-cli-transcript",
	Name:     "Gemini CLI transcript",
	Root:     "a prompt, with what follows it up to the next one",
	Switch:   "always on: the program writes them, and deletes them after 30 days",
	Records:  records(GeminiPrefix, assignGemini),
	Classify: func(*dialect.Source) (dialect.Class, bool) { return dialect.Unclassified, false },
	Read:     read,
}

// geminiSession is a session of Gemini CLI.
type geminiSession struct {
	*session
	seen    map[string]*geminiMessage
	history []*geminiMessage
	runs    [][]*geminiMessage // prompts with the answers that follow
	at      pcommon.Timestamp  // of the last line
}

// geminiMessage is a message. Begun, request and label are those of the call that it answers.
type geminiMessage struct {
	lines   []*line
	body    exactjson.Value // of the last line
	said    decode.Message  // as requests hold it
	begun   pcommon.Timestamp
	request []decode.Message
	label   tape.Label
}

func assignGemini(prefix string, lines []*line) *session {
	s := &geminiSession{session: newSession(prefix), seen: map[string]*geminiMessage{}}
	for _, thread := range threads(lines) {
		s.history = nil
		for _, l := range thread {
			l.used = true
			s.take(l)
			s.at = l.at
		}
	}
	for _, run := range s.runs {
		if len(run) > 1 {
			s.addRun(run[0], run[1:])
		}
	}
	return s.session
}

func (s *geminiSession) take(l *line) {
	rewind, history := l.body.Get("$rewindTo"), l.body.Get("$set").Get("messages")
	switch {
	case !rewind.IsAbsent():
		s.history = s.history[:max(0, slices.Index(s.history, s.seen[rewind.Str()]))]
	case !history.IsAbsent(): // as the program goes on with it: nothing of it happens now
		s.history = nil
		for _, m := range history.Members() {
			s.message(m.Value, nil)
		}
	default:
		s.message(l.body, l)
	}
}

// message puts a message at the end of the history, if it does not stand there already. One with a line of
// its own has happened.
func (s *geminiSession) message(v exactjson.Value, l *line) {
	id, kind := v.Get("id").Str(), v.Get("type").Str()
	if kind != "user" && kind != "gemini" {
		return
	}
	m := s.seen[id]
	isNew := m == nil
	if isNew {
		m = &geminiMessage{begun: s.at}
		s.seen[id] = m
	}
	m.said = geminiSaid(v)
	if l != nil {
		m.lines, m.body = append(m.lines, l), v
	}
	switch n := len(s.runs); {
	case l == nil || !isNew:
	case m.said.Role == tape.RoleUser && !slices.ContainsFunc(m.said.Parts, func(p decode.Part) bool { return p.Injected || p.Type == tape.PartToolResult }):
		s.runs = append(s.runs, []*geminiMessage{m})
	case m.said.Role == tape.RoleAssistant && n > 0:
		s.runs[n-1] = append(s.runs[n-1], m)
		s.ask(m)
	}
	if n := len(s.history); n == 0 || s.history[n-1] != m {
		s.history = append(s.history, m)
	}
}

// ask makes the request of a call of the messages before it. Those of one role in a row are sent as one.
// Versions that write one object hold the results of tools with the calls alone.
func (s *geminiSession) ask(call *geminiMessage) {
	if !s.room(len(s.history)) {
		call.label = tape.Truncated
		return
	}
	add := func(m decode.Message) {
		if n := len(call.request) - 1; n >= 0 && call.request[n].Role == m.Role {
			call.request[n].Parts = append(slices.Clip(call.request[n].Parts), m.Parts...)
		} else if len(m.Parts) > 0 {
			call.request = append(call.request, m)
		}
	}
	for i, m := range s.history {
		add(m.said)
		if decode.HasCalls(m.said) && (i+1 == len(s.history) || s.history[i+1].said.Role != tape.RoleTool) {
			for _, c := range m.body.Get("toolCalls").Members() {
				add(geminiSaid(c.Value))
			}
		}
	}
}

// geminiSaid is a message as requests hold it, or the results of a call.
func geminiSaid(v exactjson.Value) decode.Message {
	said := []decode.Message{decode.MessageWith(tape.RoleUser, "", decode.Parts(v.First("content", "result")))}
	if v.Get("type").Str() == "gemini" {
		said[0].Role = tape.RoleAssistant
		if !decode.HasCalls(said[0]) {
			for _, c := range v.Get("toolCalls").Members() {
				said[0].Parts = append(said[0].Parts, geminiCall(c.Value))
			}
		}
	}
	google.OpenGeminiResults(said)
	return said[0]
}

func geminiCall(c exactjson.Value) decode.Part {
	name := c.Get("name").Str()
	return decode.CallPart(google.GeminiID(name, c.Get("id").Str()), name, c.Get("args"))
}

// addRun makes the items of a run: the agent, its model calls and the tools that ran.
func (s *geminiSession) addRun(prompt *geminiMessage, calls []*geminiMessage) {
	conversation := decode.Attributes(prompt.lines[0].source.Span.Attributes()).Text("session.id")
	answer := calls[len(calls)-1]
	under := s.add(madeRun, pcommon.SpanID{}, prompt.lines[0].at, answer.lines[0].at, prompt.lines, func(o *dialect.Draft) {
		o.RunSpan, o.ConversationID, o.Agent.Name = true, conversation, "gemini-cli"
		o.Input = []decode.Message{geminiSaid(prompt.body)}
		if last := geminiSaid(answer.body); !decode.HasCalls(last) {
			o.Output = []decode.Message{last}
		}
	})
	for _, call := range calls {
		last := call.lines[len(call.lines)-1]
		s.add(madeModel, under, call.begun, last.at, call.lines, func(o *dialect.Draft) {
			o.ConversationID, o.Operation, o.Model = conversation, "generate_content", call.body.Get("model").Str()
			o.Request, o.RequestLabel = call.request, call.label
			o.Quirks |= dialect.OmitsSystem
			sayGeminiAnswer(call.body, o)
		})
		for _, c := range call.body.Get("toolCalls").Members() {
			end, _ := time.Parse(time.RFC3339Nano, c.Value.Get("timestamp").Str())
			s.add(madeTool, under, last.at, pcommon.NewTimestampFromTime(end), []*line{last}, func(o *dialect.Draft) { sayGeminiTool(c.Value, o) })
		}
	}
}

// sayGeminiAnswer fills a call with what the model said, and with its thoughts, which requests leave out.
func sayGeminiAnswer(v exactjson.Value, o *dialect.Draft) {
	said := geminiSaid(v)
	for i, t := range v.Get("thoughts").Members() {
		thought := decode.Part{Part: tape.Part{Type: tape.PartReasoning, Text: "**" + t.Value.Get("subject").Str() + "** " + t.Value.Get("description").Str()}}
		said.Parts = slices.Insert(said.Parts, i, thought)
	}
	if len(said.Parts) > 0 {
		o.Response = []decode.Message{said}
	}
	tokens := v.Get("tokens")
	o.Usage = tape.Usage{
		InputTokens: decode.OptionalCount(tokens.Get("input")), OutputTokens: decode.OptionalCount(tokens.Get("output")),
		CacheReadTokens: decode.OptionalCount(tokens.Get("cached")), ReasoningTokens: decode.OptionalCount(tokens.Get("thoughts")),
	}
}

func sayGeminiTool(c exactjson.Value, o *dialect.Draft) {
	asked := geminiCall(c)
	sayAsked(asked, asked.Name == "invoke_agent", o)
	google.ReadGeminiServer(c.Get("displayName").Str(), o)
	result, failed := google.GeminiResult(decode.Content{Value: c.Get("result").At(0).Get("functionResponse").Get("response")})
	if status := c.Get("status").Str(); failed || status == "error" || status == "cancelled" {
		o.Failed, o.Error = true, &tape.Error{Message: cmp.Or(result.Value.Text(), status)}
		return
	}
	o.Result = decode.UnwrapResult(result).Content
}
