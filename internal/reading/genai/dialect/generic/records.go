// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"iter"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// recordKind is what a log record reports, by the words with which the name of its event ends.
type recordKind int

const (
	noRecord recordKind = iota
	asksRecord
	answersRecord
	toolRecord
	stepRecord // of the span of a tool, see ofToolSpan
)

var recordNames = []struct {
	kind  recordKind
	words [][]string // who, and what
}{
	{asksRecord, [][]string{{"user"}, {"prompt", "message", "input", "query"}}},
	{answersRecord, [][]string{{"agent", "assistant"}, {"response", "message", "answer", "output"}}},
	{toolRecord, [][]string{{"tool", "function"}, {"call", "result", "output", "use", "execution"}}},
}

// EventOf returns the name of the event that a logger of structured records writes into a field of the record
// or of its body. It counts where it says what a record of an agent reports: any text may stand there.
func EventOf(a decode.Attributes, body pcommon.Value) string {
	name := a.Text("event")
	if name == "" {
		if m, ok := bodyMap(body, `"event"`); ok {
			name = decode.Attributes(m).Text("event")
		}
	}
	if len(name) > 80 || strings.ContainsAny(name, " \n") {
		return ""
	}
	w := words(name)
	if len(w) < 2 {
		return ""
	}
	for _, r := range recordNames {
		// what a user said begins a run where the name of the record says so, and not a field: a sub-agent is
		// asked in the same words
		if r.kind == toolRecord && slices.Contains(r.words[0], w[len(w)-2]) && slices.Contains(r.words[1], w[len(w)-1]) {
			return name
		}
	}
	if w[len(w)-2] == "tool" && slices.Contains(lifecycle, w[len(w)-1]) {
		return name
	}
	if slotClass(name) != dialect.Unclassified {
		return name
	}
	return ""
}

// bodyMap returns the body of a record as a map, where it is an object, or a text of one that holds a given
// word.
func bodyMap(body pcommon.Value, word string) (pcommon.Map, bool) {
	switch body.Type() {
	case pcommon.ValueTypeMap:
		return body.Map(), true
	case pcommon.ValueTypeStr:
		if text := body.Str(); strings.HasPrefix(text, "{") && strings.Contains(text, word) {
			members := pcommon.NewValueMap()
			return members.Map(), members.Map().FromRaw(membersOf(text)) == nil
		}
	}
	return pcommon.Map{}, false
}

// fields are the attributes of a record and the members of its body.
func fields(a decode.Attributes) decode.Attributes {
	body, ok := pcommon.Map(a).Get(dialect.LogBody)
	if !ok {
		return a
	}
	m, ok := bodyMap(body, `"`)
	if !ok {
		return a
	}
	all := pcommon.NewMap()
	pcommon.Map(a).CopyTo(all)
	for key, v := range m.All() {
		if _, there := all.Get(key); !there {
			v.CopyTo(all.PutEmpty(key))
		}
	}
	return decode.Attributes(all)
}

// lifecycle are the words with which records of a tool's span end: that it began, with what, and how it
// ended. Builds have such tools too. So the record counts together with a span that is the call of a tool.
var lifecycle = []string{"input", "started", "start", "finished", "finish", "end", "ended", "completed", "complete", "returned", "invoked"}

// ofToolSpan reports such a record.
func ofToolSpan(name string, a decode.Attributes) bool {
	w := words(name)
	if len(w) < 2 || len(name) > 80 || w[len(w)-2] != "tool" || !slices.Contains(lifecycle, w[len(w)-1]) {
		return false
	}
	a = fields(a)
	return toolOf(a) != "" && (!argsOf(a).IsAbsent() || !resultOf(a).IsAbsent())
}

// kindOf returns what a record reports, by the name of its event and an attribute that holds it. Records of
// other programs have such names, and no such attribute.
func kindOf(name string, a decode.Attributes) recordKind {
	w := words(name)
	if len(w) < 2 || len(name) > 80 {
		return noRecord
	}
	for _, r := range recordNames {
		if !slices.Contains(r.words[0], w[len(w)-2]) || !slices.Contains(r.words[1], w[len(w)-1]) {
			continue
		}
		a := fields(a)
		if r.kind == toolRecord && (toolOf(a) == "" || argsOf(a).IsAbsent() && resultOf(a).IsAbsent()) || r.kind != toolRecord && spoken(r.kind, a) == "" {
			return noRecord
		}
		return r.kind
	}
	if ofToolSpan(name, a) {
		return stepRecord
	}
	return noRecord
}

// unknownLog returns the role of a log record. The question of a user begins a run. Calls of tools belong to
// the last run of their conversation.
func unknownLog(name string, a decode.Attributes) dialect.LogRole {
	kind := kindOf(name, a)
	if kind == noRecord {
		role := bodyRole(a)
		if whole, part := holdsCall(a); role.Class == dialect.Unclassified && (whole || part) {
			role.Class, role.Alone, role.Opens = dialect.Model, whole, whole
		}
		if role.Class == dialect.Unclassified {
			role.Class = slotClass(name)
		}
		return role
	}
	a = fields(a)
	role := dialect.LogRole{
		Conversation: conversationOf(a),
	}
	switch kind {
	case asksRecord:
		role.Class, role.Alone, role.Opens = dialect.Agent, true, true
	case answersRecord:
		role.Class = dialect.Agent
	case stepRecord:
		role.Class, role.CallID = dialect.Tool, callOf(a)
	case toolRecord:
		role.Class, role.CallID = dialect.Tool, callOf(a)
		_, given := decode.Structure(argsOf(a))
		// a build has tools with a name and a result too
		role.Alone = given || role.CallID != "" || role.Conversation != ""
		for key := range a.All() {
			if ends(key, "duration", "ms") {
				role.Lasted = time.Duration(decode.OrZero(a.Count(key))) * time.Millisecond
			}
		}
	}
	return role
}

// slotClass returns the class of the call of which a record holds one side, or the instructions, where its
// name says both: acme.tool.result.
func slotClass(name string) dialect.Class {
	if stem, _, ok := slotOf(name); len(name) > 80 || (!ok || stem != name) && !systemKey(name) {
		return dialect.Unclassified
	}
	switch class, word := keyClass(name); {
	case class == dialect.Model, class == dialect.Tool && word != "function", class == dialect.Agent && word == "agent":
		return class
	}
	return dialect.Unclassified
}

// holdsCall reports a record that holds a whole model call, in attributes or in members of its body. One side
// in an attribute is a part of a call. In a body it may be what a service logs of its own.
func holdsCall(a decode.Attributes) (whole, part bool) {
	in, asked, out, inBody := false, false, false, false
	for key, v := range slotsOf(a) {
		_, isOut, _ := slotOf(key)
		switch {
		case isOut && (mayRespond(v) && isResponse(decode.JSONOf(v)) || said(v)):
			out = true
		case !isOut && said(v):
			in = true
		case !isOut && mayHoldMessages(v, 0) && len(decode.Transcript(literal(decode.JSONOf(v)))) > 0:
			asked = true // of whom, the answer beside it says
			continue
		default:
			continue
		}
		inBody = inBody || !a.Has(key)
	}
	return (in || asked) && out, (in || out) && !inBody
}

// said reports messages of which a model wrote one or was instructed with one, or a request that names a
// model.
func said(v pcommon.Value) bool {
	if !mayHoldMessages(v, 0) {
		return false
	}
	value := literal(decode.JSONOf(v))
	messages := decode.Transcript(value)
	if object, ok := decode.Structure(value); ok && len(messages) > 0 && object.First("model", "modelId").Str() != "" {
		return true
	}
	return slices.ContainsFunc(messages, func(m decode.Message) bool { return m.Role != tape.RoleUser })
}

// mayRespond tells, without decoding it, whether a value may be the response of a provider.
func mayRespond(v pcommon.Value) bool {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		return true
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		text := decode.TextOf(v)
		return strings.HasPrefix(text, "{") && slices.ContainsFunc([]string{`"choices"`, `"candidates"`, `"stop_reason"`, `"stopReason"`, `"finish_reason"`, `"object"`}, func(name string) bool {
			return strings.Contains(text, name)
		})
	}
	return false
}

// slotsOf returns the attributes of a record that say what went in or came out, and such members of its body.
func slotsOf(a decode.Attributes) iter.Seq2[string, pcommon.Value] {
	return func(yield func(string, pcommon.Value) bool) {
		for key, v := range a.All() {
			if key != dialect.LogBody {
				if _, _, ok := slotOf(key); ok && !yield(key, v) {
					return
				}
				continue
			}
			if text := decode.TextOf(v); mayConverse(text) {
				members := pcommon.NewValueMap()
				if members.Map().FromRaw(membersOf(text)) == nil {
					v = members
				}
			}
			if v.Type() != pcommon.ValueTypeMap {
				continue
			}
			for name, member := range v.Map().All() {
				if _, _, ok := slotOf(name); ok && !yield(name, member) {
					return
				}
			}
		}
	}
}

// membersOf returns the members of a JSON object, each as JSON text: numbers stay as they were written.
func membersOf(text string) map[string]any {
	object, _ := exactjson.Parse(text)
	out := map[string]any{}
	for _, m := range object.Members() {
		if m.Value.Kind() == exactjson.String {
			out[m.Name] = m.Value.Str()
		} else {
			out[m.Name] = m.Value.JSON()
		}
	}
	return out
}

// bodyRole returns the role of a record whose JSON body is certainly a call of a model or a tool. A model
// call counts without a span. The report of a tool speaks of a call that a span or a conversation shows.
func bodyRole(a decode.Attributes) dialect.LogRole {
	call := dialect.ReadBodyCall(a)
	role := call.Role()
	if role.Class == dialect.Unclassified || !call.Certain() {
		return dialect.LogRole{}
	}
	role.Alone = role.Class == dialect.Model
	return role
}

// spoken returns the text of a record: the question of a user or the answer of an agent.
func spoken(kind recordKind, a decode.Attributes) string {
	texts := []string{"prompt", "message", "input", "query", "text", "content"}
	if kind == answersRecord {
		texts = []string{"response", "message", "answer", "output", "text", "content"}
	}
	return find(a, func(key string) bool {
		return !isForeign(key) && slices.Contains(texts, lastWord(key[lastSegment(key):]))
	}).Str()
}

// lastSegment is where the last segment of a key begins.
func lastSegment(key string) int { return strings.LastIndexAny(key, ".:") + 1 }

func toolOf(a decode.Attributes) string {
	return find(a, func(key string) bool { return ends(key, "tool", "name") || ends(key, "function", "name") }).Str()
}

func callOf(a decode.Attributes) string {
	return decode.UsableID(find(a, func(key string) bool { return ends(key, "call", "id") || ends(key, "use", "id") }).Str())
}

// argsOf and resultOf prefer no attribute to one that names a size, a kind or a schema. The last word of a
// key counts.
func argsOf(a decode.Attributes) exactjson.Value {
	return find(a, func(key string) bool {
		return !isForeign(key) && slices.Contains([]string{"args", "arguments", "input"}, lastWord(key[lastSegment(key):]))
	})
}

func resultOf(a decode.Attributes) exactjson.Value {
	return find(a, func(key string) bool {
		return !isForeign(key) && slices.Contains([]string{"output", "result", "response"}, lastWord(key[lastSegment(key):]))
	})
}

// readUnknownLogs fills what the records of a run or a tool call tell, if there are such.
func readUnknownLogs(s *dialect.Source, o *dialect.Draft) (any bool) {
	message := func(role tape.Role, text string) []decode.Message {
		p := decode.TextPart(text)
		p.Label = decode.LabelOf(text)
		return []decode.Message{{Role: role, Parts: []decode.Part{p}}}
	}
	for _, l := range s.Logs {
		if strings.HasPrefix(l.Name(), "gen_ai.") {
			continue // of the conventions
		}
		a := decode.Attributes(l.Attributes())
		kind := kindOf(l.Name(), a)
		any = any || kind != noRecord
		if kind != noRecord {
			a = fields(a)
		}
		switch {
		case kind == noRecord:
			if call := dialect.ReadBodyCall(a); call.Certain() {
				call.Fill(o)
				any = true
			}
		case o.Class == dialect.Agent && kind == asksRecord:
			decode.FillList(&o.Input, message(tape.RoleUser, spoken(kind, a)))
		case o.Class == dialect.Agent && kind == answersRecord:
			o.Output = message(tape.RoleAssistant, spoken(kind, a)) // the last one
		case o.Class == dialect.Tool && (kind == toolRecord || kind == stepRecord):
			decode.FillString(&o.Name, toolOf(a))
			decode.FillString(&o.CallID, callOf(a))
			if args := argsOf(a); !args.IsAbsent() && !o.Args.Present() {
				o.Args = decode.Args(args)
			}
			if result := resultOf(a); !result.IsAbsent() && !o.Result.Present() {
				o.Result = decode.Result(result, false)
			}
			for key, v := range a.All() {
				o.Failed = o.Failed || ends(key, "success") && v.AsString() == "false"
			}
		}
	}
	return any
}

// conversationOf is the id of the conversation that a span or record belongs to.
func conversationOf(a decode.Attributes) string {
	return find(a, func(key string) bool {
		return !isForeign(key) && (ends(key, "conversation", "id") || ends(key, "session", "id") || ends(key, "thread", "id"))
	}).Str()
}
