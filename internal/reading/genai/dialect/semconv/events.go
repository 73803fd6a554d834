// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Event is a span event or a log record of the GenAI conventions, with all that it carries as one object.
type Event struct {
	Name     string
	time     uint64
	observed uint64 // of a log record, where that is another time
	logged   bool   // a log record: nothing but its times says where it stands
	order    int
	Fields   exactjson.Value
}

// Events returns the GenAI events of a span in time order: its span events, then the log records that name
// it.
func Events(s *dialect.Source) []Event {
	if s.Span.Events().Len() == 0 && len(s.Logs) == 0 {
		return nil
	}
	var out, logged []Event
	for i, e := range s.Span.Events().All() {
		if !strings.HasPrefix(e.Name(), "gen_ai.") && e.Name() != "tool.output" {
			continue
		}
		out = append(out, Event{Name: e.Name(), time: uint64(e.Timestamp()), order: i, Fields: eventFields(decode.Attributes(e.Attributes()))})
	}
	for i, l := range s.Logs {
		a := decode.Attributes(l.Attributes())
		observed, _ := decode.CountOf(a.JSON(dialect.LogObservedTime))
		logged = append(logged, Event{Name: l.Name(), time: uint64(l.StartTimestamp()), observed: uint64(observed), logged: true, order: i, Fields: eventFields(a)}) //nolint:gosec // a time
	}
	for i, e := range untie(logged) {
		e.order = s.Span.Events().Len() + i
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Event) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		default:
			return a.order - b.order
		}
	})
	return out
}

// eventFields merges the body and the attributes of an event. It decodes a body that is JSON in a string, and
// fields that hold lists. Of several fields with one name the first stays.
func eventFields(a decode.Attributes) exactjson.Value {
	var members []exactjson.Member
	add := func(name string, v exactjson.Value) {
		if name == "toolCalls" { // OpenTelemetry's agent for Java, of Bedrock
			name = "tool_calls"
		}
		switch name {
		case "tool_calls", "message":
			if inner, ok := decode.Structure(v); ok {
				v = inner
			}
		}
		members = append(members, exactjson.Member{Name: name, Value: v})
	}
	for _, key := range []string{dialect.LogBody, "gen_ai.event.content", "event_body"} {
		body := a.JSON(key)
		if inner, ok := decode.Structure(body); ok && inner.Kind() == exactjson.Object {
			for _, m := range inner.Members() {
				add(m.Name, m.Value)
			}
		} else if !body.IsEmpty() {
			add("content", body)
		}
	}
	for key, v := range a.All() {
		if key != dialect.LogBody && key != "gen_ai.event.content" && key != "event_body" && !slices.Contains(dialect.LogEnvelope, key) {
			add(key, decode.JSONOf(v))
		}
	}
	return decode.Unordered(members)
}

// elided stands for content that was not captured (OpenTelemetry's package for google-genai, ADK's own
// events).
const elided = "<elided>"

// readEvents builds messages from events where the attributes gave none.
func readEvents(events []Event, o *dialect.Draft, request, response *[]decode.Message) {
	var asked, answered []decode.Message
	var wholeInput, wholeOutput []decode.Message
	earlier := earlierChoices(events)
	for i, e := range events {
		if e.Fields.Get("content").Str() == elided {
			if o.RequestLabel = tape.Masked; e.Name == "gen_ai.choice" {
				o.ResponseLabel = tape.Masked
			}
			continue
		}
		switch e.Name {
		case "gen_ai.system.message", "gen_ai.developer.message", "gen_ai.tool.developer":
			asked = append(asked, EventMessage(e.Fields, tape.RoleSystem))
		case "gen_ai.user.message":
			asked = append(asked, EventMessage(e.Fields, tape.RoleUser))
		case "gen_ai.assistant.message":
			asked = append(asked, EventMessage(e.Fields, tape.RoleAssistant))
		case "gen_ai.tool.message":
			asked = append(asked, EventMessage(e.Fields, tape.RoleTool))
		case "gen_ai.choice":
			if earlier[i] {
				asked = append(asked, ChoiceMessage(e.Fields))
			} else {
				answered = append(answered, ChoiceMessage(e.Fields))
			}
		case "gen_ai.content.prompt":
			messages, _ := decode.Messages(e.Fields.Get("gen_ai.prompt"), tape.RoleUser)
			asked = append(asked, messages...)
		case "gen_ai.content.completion":
			messages, _ := decode.Messages(e.Fields.Get("gen_ai.completion"), tape.RoleAssistant)
			answered = append(answered, messages...)
		case "gen_ai.client.inference.operation.details":
			decode.FillList(&o.System, decode.System(e.Fields.Get("gen_ai.system_instructions")))
			// each holds a whole list: a second one that says so again adds nothing
			input, _ := decode.Messages(e.Fields.Get("gen_ai.input.messages"), tape.RoleUser)
			output, _ := decode.Messages(e.Fields.Get("gen_ai.output.messages"), tape.RoleAssistant)
			labelNulls(e.Fields.Get("gen_ai.input.messages"), input)
			decode.FillList(&wholeInput, input)
			decode.FillList(&wholeOutput, output)
			decode.FillList(&o.Tools, decode.ToolDefinitions(e.Fields.Get("gen_ai.tool.definitions")))
		default:
			if m, ok := numberedMessage(e, indexedPrompt); ok {
				asked = append(asked, m)
			} else if m, ok := numberedMessage(e, indexedCompletion); ok && len(m.Parts) > 0 {
				answered = append(answered, m)
			}
		}
	}
	// where each message has an event, a record of the whole call says nothing more: OpenLIT's records name
	// the span around the one that it made
	decode.FillList(&asked, wholeInput)
	decode.FillList(&answered, wholeOutput)
	o.Shuffled = len(*request) == 0 && shuffled(events)
	decode.FillList(request, asked)
	decode.FillList(response, answered)
}

// numberedMessage reads an event that is one message of a list: gen_ai.prompt.0 with gen_ai.prompt.role and
// gen_ai.prompt.content (the package genai-otel-instrument). It holds no calls and no ids. Of a message of
// the assistant without a text, the place alone is known.
func numberedMessage(e Event, list string) (decode.Message, bool) {
	number, ok := strings.CutPrefix(e.Name, list)
	role, known := decode.KnownRole(e.Fields.Get(list + "role").Str())
	if !ok || !known || number == "" || strings.Trim(number, "0123456789") != "" {
		return decode.Message{}, false
	}
	said := e.Fields.Get(list + "content")
	if role != tape.RoleTool && (said.IsEmpty() || said.Str() == "None") {
		return decode.Message{Role: role, Omitted: true}, true
	}
	part := decode.TextPart(said.Str())
	switch {
	case role == tape.RoleTool:
		part = decode.ResultPart("", "", said, false)
	case said.Kind() != exactjson.String:
		return decode.MessageWith(role, "", decode.Parts(said)), true
	}
	if utf8.RuneCountInString(said.Str()) == numberedLimit {
		part.Label = tape.Truncated
	}
	return decode.MessageWith(role, "", []decode.Part{part}), true
}

// numberedLimit is how many characters of a text that package keeps by default (GENAI_CONTENT_MAX_LENGTH).
const numberedLimit = 200

// shuffled reports records of messages that do not tell what the user said last. Nothing orders the last two
// that differ; or one text that was said twice at the same time became one record, so that there are no more
// turns of users than answers. Calls of tools and results come after the last question.
func shuffled(events []Event) bool {
	var users []Event
	said, tied, called := 0, false, false
	for i, e := range events {
		if !e.logged || messageIndex(e) >= 0 {
			continue
		}
		switch e.Name {
		case "gen_ai.user.message":
			users = append(users, e)
		case "gen_ai.assistant.message":
			if e.Fields.Get("tool_calls").Len() > 0 {
				called = true
			} else {
				said++
			}
		case "gen_ai.tool.message":
			called = true
		default:
			continue
		}
		tied = tied || i > 0 && events[i-1].time == e.time
	}
	if len(users) < 2 || !tied {
		return false
	}
	last := users[len(users)-1]
	for _, u := range users[:len(users)-1] {
		if u.time == last.time && u.observed == last.observed && !u.Fields.Equal(last.Fields) {
			return true
		}
	}
	return !called && len(users) == said
}

// earlierChoices returns the places of choices that hold calls alone, whose results the same model call was
// told. The model had said them before. Koog writes such a turn of a conversation as a choice, and no answer
// where a model call failed. There are as many results as calls of an id: where ids come again, the last call
// is still open.
func earlierChoices(events []Event) map[int]bool {
	var open map[string]int // results of each id, less the calls that ask for them
	for _, e := range events {
		if id := decode.TextOfID(e.Fields.First("id", "tool_call_id")); e.Name == "gen_ai.tool.message" && id != "" {
			if open == nil {
				open = map[string]int{}
			}
			open[id]++
		}
	}
	if open == nil {
		return nil
	}
	var choices map[int][]string
	for i, e := range events {
		var m decode.Message
		switch e.Name {
		case "gen_ai.assistant.message":
			m = EventMessage(e.Fields, tape.RoleAssistant)
		case "gen_ai.choice":
			m = ChoiceMessage(e.Fields)
		}
		for _, p := range m.Parts {
			if p.Type != tape.PartToolCall {
				continue
			}
			open[p.ID]--
			if e.Name == "gen_ai.choice" {
				if choices == nil {
					choices = map[int][]string{}
				}
				choices[i] = append(choices[i], p.ID)
			}
		}
	}
	var earlier map[int]bool
	for i, ids := range choices {
		if !slices.ContainsFunc(ids, func(id string) bool { return open[id] < 0 }) {
			if earlier == nil {
				earlier = map[int]bool{}
			}
			earlier[i] = true
		}
	}
	return earlier
}

// EventMessage reads one message event: role and content lie side by side in its body.
func EventMessage(fields exactjson.Value, role tape.Role) decode.Message {
	if r := fields.Get("role").Str(); r != "" && role != tape.RoleTool {
		role = decode.RoleOf(r)
	}
	body := fields.Get("content")
	if role == tape.RoleTool {
		id, name := decode.TextOfID(fields.First("id", "tool_call_id")), fields.Get("name").Str()
		if blocks := decode.Parts(body); id+name == "" && len(blocks) > 0 && !slices.ContainsFunc(blocks, func(p decode.Part) bool { return p.Type != tape.PartToolResult }) {
			// a provider's blocks say whose results they are, as Strands writes them
			return decode.MessageWith(role, "", blocks)
		}
		return decode.MessageWith(role, "", []decode.Part{decode.ResultPart(id, name, body, false)})
	}
	parts := decode.Parts(body)
	if calls := fields.Get("tool_calls"); calls.Kind() == exactjson.Array && !decode.HasCallParts(parts) {
		parts = append(parts, decode.ChatCalls(calls)...)
	}
	return decode.MessageWith(role, fields.Get("name").Str(), parts)
}

// ChoiceMessage reads a choice event: the answer in message, or beside it.
func ChoiceMessage(fields exactjson.Value) decode.Message {
	inner := fields.Get("message")
	m := decode.Message{Role: tape.RoleAssistant}
	switch inner.Kind() {
	case exactjson.Object:
		m = decode.RoleMessage(inner, tape.RoleAssistant)
		m.Role = tape.RoleAssistant
	case exactjson.Absent:
		m.Parts = decode.Parts(fields.Get("content"))
	default:
		m.Parts = decode.Parts(inner)
	}
	if calls := fields.Get("tool_calls"); calls.Kind() == exactjson.Array && !decode.HasCalls(m) {
		m.Parts = append(m.Parts, decode.ChatCalls(calls)...)
	}
	m.FinishReason = fields.First("finish_reason").Str()
	return m
}

// untie orders message records of the same time. Clocks that count milliseconds give such records. The time
// of observation comes first: SDKs write it as records are made. Records that share it too are ordered by
// role: instructions, then users and the assistant in turn, then each request for tools with its results.
// Last, the texts decide, so that the same messages have the same order in every request.
func untie(logged []Event) []Event {
	out := make([]Event, 0, len(logged))
	for len(logged) > 0 {
		n := 1
		for n < len(logged) && logged[n].time == logged[0].time {
			n++
		}
		tied := slices.Clone(logged[:n])
		slices.SortStableFunc(tied, func(a, b Event) int { return cmp.Compare(a.observed, b.observed) })
		for len(tied) > 0 {
			n := 1
			for n < len(tied) && tied[n].observed == tied[0].observed {
				n++
			}
			if n == 1 {
				out = append(out, tied[0])
			} else {
				out = append(out, conversationOrder(tied[:n])...)
			}
			tied = tied[n:]
		}
		logged = logged[n:]
	}
	return out
}

// compareContent orders records by the calls that they ask for, then by their text.
func compareContent(a, b Event) int {
	ids := func(e Event) []string {
		var out []string
		for _, call := range e.Fields.Get("tool_calls").Members() {
			out = append(out, decode.TextOfID(call.Value.Get("id")))
		}
		return out
	}
	if c := slices.Compare(ids(a), ids(b)); c != 0 {
		return c
	}
	return strings.Compare(a.Fields.JSON(), b.Fields.JSON())
}

func conversationOrder(tied []Event) []Event {
	tied = slices.Clone(tied)
	if indexed := !slices.ContainsFunc(tied, func(e Event) bool { return messageIndex(e) < 0 }); indexed {
		slices.SortStableFunc(tied, func(a, b Event) int { return cmp.Compare(messageIndex(a), messageIndex(b)) })
		return tied
	}
	slices.SortStableFunc(tied, compareContent)
	var system, users, said, asking, results, rest []Event
	for _, e := range tied {
		switch e.Name {
		case "gen_ai.system.message", "gen_ai.developer.message", "gen_ai.tool.developer":
			system = append(system, e)
		case "gen_ai.user.message":
			users = append(users, e)
		case "gen_ai.assistant.message":
			if e.Fields.Get("tool_calls").Len() > 0 {
				asking = append(asking, e)
			} else {
				said = append(said, e)
			}
		case "gen_ai.tool.message":
			results = append(results, e)
		default:
			rest = append(rest, e)
		}
	}
	out := system
	for i := range max(len(users), len(said)) {
		if i < len(users) {
			out = append(out, users[i])
		}
		if i < len(said) {
			out = append(out, said[i])
		}
	}
	for _, e := range asking {
		out = append(out, e)
		for _, call := range e.Fields.Get("tool_calls").Members() {
			id := decode.TextOfID(call.Value.Get("id"))
			for i, r := range results {
				if decode.TextOfID(r.Fields.First("id", "tool_call_id")) == id && id != "" {
					out = append(out, r)
					results = slices.Delete(results, i, i+1)
					break
				}
			}
		}
	}
	return append(append(out, results...), rest...)
}

// messageIndex returns the place in the conversation that some producers write onto each record, or -1.
func messageIndex(e Event) int64 {
	if n, ok := decode.CountOf(e.Fields.First("chat_message_index", "CHAT_MESSAGE_INDEX", "gen_ai.message.index")); ok {
		return n
	}
	return -1
}
