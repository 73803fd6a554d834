// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Unknown reads spans and log records of instrumentations that no other dialect knows, under any namespace.
// It goes by the words with which keys end (input, output, arguments, span type, …) and by the shape of the
// values. Of records it reads the question of a user, the answer of an agent, and calls of tools (see
// unknownLog).
var Unknown = &dialect.Dialect{
	ID:       "unknown",
	Name:     "Any other instrumentation",
	Shape:    recognises,
	Root:     "a span whose type is an agent, else a chain, flow or workflow",
	Switch:   "depends on the instrumentation",
	Records:  dialect.Records{Log: unknownLog},
	Classify: classifyUnknown,
	Read:     readUnknown,
	Repairs:  dialect.Repairs{Hooks: []dialect.Hook{{Quirk: dialect.RoundsIntegers, Run: labelRounded}}},
}

// recognises reports a span of an agent run without a known mark. It says what it is and what went in or came
// out; or a conversation went in or came out.
func recognises(span ptrace.Span) bool {
	if _, known := typeOf(span.Attributes()); known {
		for key, v := range span.Attributes().All() {
			if _, _, ok := slotOf(key); ok || modelKey(key) || toolNameKey(key) || spreads(key, v) {
				return true
			}
		}
		return slices.ContainsFunc(told(span), func(e telling) bool {
			_, _, ok := slotOf(e.name)
			for key, v := range e.attributes.All() {
				ok = ok || spreads(key, v)
			}
			return ok || conversed(e.attributes)
		}) || exchanged(span)
	}
	return conversed(span.Attributes()) || namesTool(span) || NamesModel(span) || prompted(span.Attributes()) || classOfSpan(span) != dialect.Unclassified ||
		slices.ContainsFunc(told(span), func(e telling) bool { return conversed(e.attributes) }) || exchanged(span) || isFunction(span) || hasStates(span) || failedStep(span)
}

// NamesModel reports a span that a key of a model's name calls a model call: acme.llm.model. Records may hold
// what went in and came out.
func NamesModel(span ptrace.Span) bool {
	for key := range span.Attributes().All() {
		if _, may := cutSuffixFold(key, "model"); !may || len(key) > 80 || isForeign(key) {
			continue
		}
		if w := words(key); len(w) > 1 && w[len(w)-1] == "model" && slices.Contains([]string{"llm", "generation", "completion"}, w[len(w)-2]) {
			return true
		}
	}
	return false
}

// prompted reports a span that names a model, its prompt and its answer side by side: acme.model, acme.prompt
// and acme.response.
func prompted(m pcommon.Map) bool {
	for key := range m.All() {
		if _, may := cutSuffixFold(key, "model"); !may || len(key) > 80 || isForeign(key) || !ends(key, "model") {
			continue
		}
		before := key[:len(key)-len("model")]
		has := func(names ...string) bool {
			return slices.ContainsFunc(names, func(name string) bool {
				v, ok := m.Get(before + name)
				return ok && (v.Type() != pcommon.ValueTypeStr || v.Str() != "")
			})
		}
		if has("prompt", "prompts") && has("completion", "response", "output", "answer", "reply", "tool_calls", "function_calls", "response.tool_calls") {
			return true
		}
	}
	return false
}

// looseToolName matches names of spans that other services give their tools as well: tool.lint.
var looseToolName = regexp.MustCompile(`(?i)^tools?[ ./]|\.tool$`)

// namesTool reports a span that its keys or its name call a tool call, with what went in or came out. Other
// services record the name of a function, and have such words in names of spans too. With these alone, both
// sides have to be there.
func namesTool(span ptrace.Span) bool {
	named := false
	for key, v := range span.Attributes().All() {
		if _, may := cutSuffixFold(key, "name"); may && !named && v.Type() == pcommon.ValueTypeStr && v.Str() != "" {
			// before the words of the key are told apart, of most in vain
			named = ends(key, "tool", "name") || ends(key, "tool", "call", "name")
		}
	}
	if !named {
		switch {
		case !strings.Contains(span.Name(), "ool") && !strings.Contains(span.Name(), "OOL"):
			return false
		case decode.ToolOfSpan(span.Name()) != span.Name():
			named = !looseToolName.MatchString(span.Name())
		case !wasHandedCall(span):
			return false
		}
	}
	in, out := false, false
	take := func(isOut bool) { in, out = in || !isOut, out || isOut }
	for key := range span.Attributes().All() {
		stem, isOut, ok := slotOf(key)
		if ok && (stem == key || slices.Contains(bareContent, key[len(stem)+1:])) {
			// a setting of a request is nothing that went in
			take(isOut)
		}
	}
	for _, e := range told(span) {
		if _, isOut, ok := slotOf(e.name); ok {
			take(isOut)
		}
	}
	return in && out || named && (in || out)
}

// maxFunctionName is longer than the name of any function.
const maxFunctionName = 80

// wasHandedCall reports the span of a function that runs whichever tool it is told to (execute_tool,
// handleToolCall). A call went in, by its name and with arguments.
func wasHandedCall(span ptrace.Span) bool {
	if len(span.Name()) > maxFunctionName || !slices.Contains(words(span.Name()), "tool") {
		return false
	}
	in, _ := contents(decode.Attributes(span.Attributes()))
	return slices.ContainsFunc(in, func(c content) bool {
		v, _ := decode.Structure(c.value)
		if v.Kind() == exactjson.Object && v.Len() == 1 {
			v, _ = decode.Structure(v.Members()[0].Value)
		}
		calls := decode.ChatCalls(exactjson.ArrayValue(v))
		return len(calls) == 1 && calls[0].Name != "" && calls[0].Args.Kind() == exactjson.Object
	})
}

// conversed reports that an attribute holds a conversation that went in or came out.
func conversed(m pcommon.Map) bool {
	for key, v := range m.All() {
		if speaks(m, key, v) {
			return true
		}
		if !mayHoldMessages(v, 0) {
			continue
		}
		if spreads(key, v) && len(decode.Transcript(literal(decode.JSONOf(v)))) > 0 {
			return true
		}
		if _, _, ok := slotOf(key); ok && len(decode.Transcript(literal(decode.JSONOf(v)))) > 0 {
			return true
		}
	}
	return false
}

// speaks reports the key of who speaks, in a message that stands below what went in or came out with a key
// for each member: acme.input.0.role beside acme.input.0.content.
func speaks(m pcommon.Map, key string, v pcommon.Value) bool {
	before, ok := strings.CutSuffix(key, ".role")
	if !ok || v.Type() != pcommon.ValueTypeStr {
		return false
	}
	at := strings.LastIndexByte(before, '.')
	if _, err := strconv.ParseUint(before[at+1:], 10, 16); at < 0 || err != nil {
		return false
	}
	if stem, _, ok := slotOf(key); !ok || stem != before[:at] {
		return false
	}
	if _, known := decode.KnownRole(v.Str()); !known {
		return false
	}
	_, said := m.Get(before + ".content")
	return said
}

// mayHoldMessages tells, without decoding it, whether a value may hold messages.
func mayHoldMessages(v pcommon.Value, depth int) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		return mayConverse(decode.TextOf(v))
	case pcommon.ValueTypeSlice:
		return v.Slice().Len() > 0 && depth < 3 && mayHoldMessages(v.Slice().At(0), depth+1)
	case pcommon.ValueTypeMap:
		for key, inner := range v.Map().All() {
			if slices.Contains(speakers, key) || depth < 3 && mayHoldMessages(inner, depth+1) {
				return true
			}
		}
	}
	return false
}

// speakers are the members of a message that say who speaks.
var speakers = []string{"role", "speaker", "author", "sender", "from"}

// mayConverse tells, without decoding it, whether a text may hold messages. People converse as well: where
// roles have another name, one of them is a model's.
func mayConverse(text string) bool {
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	return decode.MayBeJavaMessages(text) || quotes(text, "role") || quotes(text, "assistant", "bot", "ai", "model", "observation") && quotes(text, "speaker", "author", "sender", "from", "type") ||
		quotes(text, "@type") && quotes(text, "USER", "AI")
}

// quotes reports a text that holds one of the words in quotes of JSON, JSON in JSON or Python.
func quotes(text string, words ...string) bool {
	for _, word := range words {
		for rest := text; ; {
			at := strings.Index(rest, word)
			if at < 0 {
				break
			}
			end := at + len(word)
			if at > 0 && end < len(rest) && (rest[at-1] == '"' && (rest[end] == '"' || rest[end] == '\\') || rest[at-1] == '\'' && rest[end] == '\'') {
				return true
			}
			rest = rest[end:]
		}
	}
	return false
}

func toolNameKey(key string) bool {
	return ends(key, "tool", "name") || ends(key, "function", "name") || ends(key, "tool", "call", "name")
}

func classifyUnknown(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	value, known := typeOf(s.Span.Attributes())
	class, _ := classOf(value)
	switch {
	case !known:
		class = classByContent(s)
	case class == dialect.Tool && typedFunction(s.Span) != nil:
		class = dialect.Structure
	}
	return class, class == dialect.Agent && (!weak(value) || a.Has("input.value") || s.Span.ParentSpanID().IsEmpty())
}

// classByContent returns the class of a span without a type. A tool is named; or a conversation went in,
// beside the name of a model or the response of a provider.
func classByContent(s *dialect.Source) dialect.Class {
	if namesTool(s.Span) {
		return dialect.Tool
	}
	a := withTold(s)
	if prompted(s.Span.Attributes()) {
		return dialect.Model
	}
	if class := cmp.Or(classOfKeys(pcommon.Map(a), s.Span), classOfSpan(s.Span)); class != dialect.Unclassified {
		return class
	}
	if NamesModel(s.Span) && slices.ContainsFunc(s.Logs, func(l ptrace.Span) bool { return bodyRole(decode.Attributes(l.Attributes())).Class == dialect.Model }) {
		return dialect.Model
	}
	modelled := false
	for key := range a.All() {
		modelled = modelled || modelKey(key)
	}
	in, out := contents(a)
	responded := slices.ContainsFunc(out, func(c content) bool { return isResponse(c.value) })
	asked := len(decode.Transcript(best(in, conversation))) > 0
	if asked && (modelled || responded) || modelled && responded {
		return dialect.Model
	}
	if exchanged(s.Span) || failedStep(s.Span) {
		return dialect.Model
	}
	if isFunction(s.Span) || hasStates(s.Span) {
		return dialect.Structure
	}
	return dialect.Unclassified
}

// isResponse reports the response of a provider: an answer beside what providers say of one.
func isResponse(v exactjson.Value) bool {
	object, ok := decode.Structure(v)
	if !ok || object.Kind() != exactjson.Object {
		return false
	}
	answer := object.First("choices", "candidates", "output", "content")
	return answer.Kind() >= exactjson.Array && !object.First("object", "stop_reason", "stopReason", "finish_reason", "usage", "usageMetadata", "modelVersion").IsAbsent()
}

// weak reports a type that a step of an agent may have as well.
func weak(value string) bool {
	w := words(value)
	return !slices.Contains(w, "agent") && !slices.Contains(w, "crew")
}

func readUnknown(s *dialect.Source, o *dialect.Draft) {
	a := withTold(s)
	in, out := contents(a)
	if s.ScopeName == dialect.LogScope {
		if !readUnknownLogs(s, o) && o.Class == dialect.Model && len(in) > 0 && len(out) > 0 {
			readUnknownModel(a, in, out, o)
		}
		return
	}
	if o.Class == dialect.Model {
		in, out = callByValues(s.Span, in, out)
	}
	value, known := typeOf(s.Span.Attributes())
	if o.Class == dialect.Structure && readProgramStep(s.Span, known, o) {
		return
	}
	if !known && len(in)+len(out) == 0 {
		readBeside(s, o)
		return
	}
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = weak(value)
		if known {
			o.Agent.Name = s.Span.Name()
		}
		dialect.ReadWholeAgent(o, best(in, conversation), best(out, conversation))
		decode.FillList(&o.System, decode.System(instructions(a)))
		readModelName(a, o)
	case dialect.Model:
		readUnknownModel(a, in, out, o)
	case dialect.Tool:
		readUnknownTool(s.Span.Name(), a, in, out, o)
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: best(in, conversation)}
		o.Documents = decode.Documents(best(out, conversation))
	case dialect.Noise:
		o.NoiseReason = strings.ToLower(value)
	default:
		o.Class = dialect.Structure
		o.InputData, o.OutputData = decode.Content{Value: best(in, conversation)}, decode.Content{Value: best(out, conversation)}
	}
	decode.FillString(&o.ConversationID, conversationOf(a))
	if o.Class != dialect.Noise && failed(a) {
		o.Failed = true
	}
	readUnknownLogs(s, o)
}

// callByValues finds what a model was asked and what it answered by the values, where no key says both.
func callByValues(span ptrace.Span, in, out []content) (asked, answered []content) {
	if len(in) > 0 && len(out) > 0 {
		return in, out
	}
	if asked, answered, ok := exchange(span); ok {
		return []content{asked}, []content{answered}
	}
	if asked, ok := askedInVain(span); ok && len(in)+len(out) == 0 {
		return []content{asked}, nil
	}
	return in, out
}

// readProgramStep reads the span of a function of the program, or one that holds a state before and after it.
func readProgramStep(span ptrace.Span, known bool, o *dialect.Draft) bool {
	if !known && isFunction(span) || typedFunction(span) != nil {
		readFunction(calledFunction(span), o)
		return true
	}
	if known {
		return false
	}
	before, after := states(span)
	if before.IsAbsent() {
		return false
	}
	o.InputData, o.OutputData = decode.Content{Value: before}, decode.Content{Value: after}
	return true
}

// readBeside reads what stands beside the keys of a convention, and drops the class where that is nothing.
func readBeside(s *dialect.Source, o *dialect.Draft) {
	beside := false
	if o.Class == dialect.Agent || o.Class == dialect.Model {
		ReadSettings(s, o)
		beside = len(o.System) > 0 || o.Model != "" || o.ResponseModel != ""
	}
	if !readUnknownLogs(s, o) && !beside {
		o.Class = dialect.Unclassified
	}
}

func readUnknownTool(span string, a decode.Attributes, in, out []content, o *dialect.Draft) {
	o.Name = named(a, span)
	o.CallID = decode.UsableID(find(a, func(key string) bool {
		return ends(key, "call", "id") || ends(key, "invocation", "id") || ofCall(key, "id", "ref")
	}).Str())
	result := best(out, ofTool)
	if len(out) == 1 {
		result = out[0].value // a tool may have returned what stands for nothing elsewhere
	}
	dialect.ReadWholeTool(o, best(in, ofTool), result, false)
	if o.Args.Present() && decode.IsSchema(o.Args.Value) {
		o.Args = decode.Content{} // the tool's schema, not what it was called with
	}
	if c := bestContent(in, ofTool); c != nil && (c.gaps || c.gathered) && o.Args.Label == "" {
		o.Args.Label = tape.Lossy
	}
	if c := bestContent(out, ofTool); c != nil && c.gaps && o.Result.Label == "" {
		o.Result.Label = tape.Lossy
	}
}

// ReadSettings reads the instructions of an agent and the model that it asks, wherever they stand.
func ReadSettings(s *dialect.Source, o *dialect.Draft) {
	a := withTold(s)
	decode.FillList(&o.System, decode.System(instructions(a)))
	if !find(a, modelKey).IsAbsent() {
		readModelName(a, o)
	}
}

func readUnknownModel(a decode.Attributes, in, out []content, o *dialect.Draft) {
	dialect.ReadWholeModel(o, best(in, conversation), best(out, conversation))
	if o.RequestLabel == "" && showsPreviews(o.Request) {
		o.RequestLabel = tape.Lossy
	}
	decode.FillList(&o.System, decode.System(instructions(a)))
	if calls := callsIn(a); len(calls) > 0 && (len(o.Response) == 0 || !decode.HasCalls(o.Response[0])) {
		if len(o.Response) == 0 {
			o.Response = []decode.Message{{Role: tape.RoleAssistant}}
		}
		o.Response[0].Parts = append(o.Response[0].Parts, calls...)
	}
	readModelName(a, o)
	if reason := find(a, func(key string) bool { return ends(key, "finish", "reason") }).Str(); reason != "" {
		decode.FillList(&o.FinishReasons, []string{reason})
	}
	for key := range a.All() {
		if at := strings.LastIndexAny(key, ".:"); at > 0 && !isForeign(key) && lastWord(key[:at]) == "usage" {
			decode.FillUsage(&o.Usage, decode.Usage(a.Unflatten(key[:at+1])))
		}
	}
	decode.FillUsage(&o.Usage, decode.Usage(find(a, func(key string) bool { return ends(key, "usage") || ends(key, "usage", "details") })))
}

// NamesResponse reports a span that gives the model of the response as that of the request (the packages for
// the Agents SDK). The parameters beside it name that model too, with the id of a response and the time at
// which it was made. No request has these.
func NamesResponse(a decode.Attributes, model string) bool {
	parameters, _ := decode.Structure(find(a, func(key string) bool {
		return ends(key, "request", "parameters") || ends(key, "invocation", "parameters")
	}))
	return parameters.Get("model").Str() == model && parameters.Get("id").Str() != "" && !parameters.First("created_at", "created").IsAbsent()
}

// readModelName reads which model was asked for: by a call, or by all calls of an agent that hides them.
func readModelName(a decode.Attributes, o *dialect.Draft) {
	answers := func(key string) bool { return slices.Contains(words(key), "response") }
	asked := decode.ModelName(find(a, func(key string) bool { return ends(key, "request", "model") }).Str())
	if asked != "" && NamesResponse(a, asked) {
		decode.FillString(&o.ResponseModel, asked)
		return
	}
	decode.FillString(&o.Model, asked)
	if name := decode.ModelName(find(a, func(key string) bool { return modelKey(key) && !answers(key) }).Str()); snapshot.MatchString(name) {
		// what a provider answers with when it was asked for the model without a date
		decode.FillString(&o.ResponseModel, name)
	} else {
		decode.FillString(&o.Model, name)
	}
	decode.FillString(&o.ResponseModel, decode.ModelName(find(a, func(key string) bool { return modelKey(key) && answers(key) }).Str()))
	if o.Class == dialect.Model && o.Model == "" && o.ResponseModel == "" {
		// what else is known of the call may stand in one value (AgentScope 1.0.8)
		told, _ := decode.Structure(find(a, func(key string) bool { return ends(key, "metadata") }))
		o.Model = decode.ModelName(told.First("model_name", "model", "model_id").Str())
	}
}

// callsKey reports a key under which the calls stand that a model asked for.
func callsKey(key string) bool {
	return !isForeign(key) && (ends(key, "tool", "calls") || ends(key, "function", "calls"))
}

// callsIn returns the calls that a model asked for, where they stand in an attribute of their own.
func callsIn(a decode.Attributes) (calls []decode.Part) {
	list, _ := decode.Structure(find(a, func(key string) bool {
		w := words(key)
		return callsKey(key) && !slices.ContainsFunc(w, func(word string) bool { return slices.Contains(inWords, word) })
	}))
	for _, p := range decode.ChatCalls(list) {
		if p.Name != "" {
			calls = append(calls, p)
		}
	}
	return calls
}

// showsPreviews reports and labels results of tools that are a name in brackets.
func showsPreviews(messages []decode.Message) (some bool) {
	for _, m := range messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolResult && strings.HasPrefix(p.Result.Str(), "[tool-result: ") && strings.HasSuffix(p.Result.Str(), "]") {
				p.Label, some = tape.Lossy, true
			}
		}
	}
	return some
}

// snapshot matches the date at the end of the name of a model.
var snapshot = regexp.MustCompile(`-(20\d{2}-?[01]\d-?[0-3]\d)$`)

// labelRounded labels the arguments and the result of a tool call that may hold rounded integers.
func labelRounded(_ *dialect.Source, o *dialect.Draft) {
	if o.Class != dialect.Tool {
		return
	}
	for _, c := range []*decode.Content{&o.Args, &o.Result} {
		if c.Label == "" && rounded(c.Value) {
			c.Label = tape.Lossy
		}
	}
}

// rounded reports an integer that JavaScript has probably rounded: beyond what a double holds exactly, and
// written as one prints. Round numbers, such as times in nanoseconds, are whole in any case.
func rounded(v exactjson.Value) bool {
	if inner, ok := decode.Structure(v); ok {
		v = inner
	}
	if v.Kind() == exactjson.Number {
		f, ok := v.Float()
		return ok && math.Abs(f) >= 1<<53 && math.Abs(f) < 1e21 && v.Text() == strconv.FormatFloat(f, 'f', -1, 64) && !strings.HasSuffix(v.Text(), "000000")
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return rounded(m.Value) })
}

// conversation prefers what holds more messages.
func conversation(c content) int { return len(decode.Transcript(c.value)) }

// ofTool prefers what is named after a call. What is named after a model comes last.
func ofTool(c content) int {
	w := words(c.stem)
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(w, n) })
	}
	switch {
	case has("llm", "model", "prompt", "messages"):
		return 0
	case has("parameters", "params"): // often the schema
		return 1
	case has("tool", "function", "call", "args", "arguments"):
		return 3
	}
	return 2
}

// find returns the text of the attribute whose key fits, of several the one with the shortest key.
func find(a decode.Attributes, fits func(key string) bool) exactjson.Value {
	found := ""
	for key, v := range a.All() {
		if v.Str() != "" && fits(key) && (found == "" || cmp.Or(cmp.Compare(len(key), len(found)), strings.Compare(key, found)) < 0) {
			found = key
		}
	}
	return a.JSON(found)
}

// instructions returns the system prompt in an attribute of its own, else the one that a response of the
// Responses API repeats.
func instructions(a decode.Attributes) exactjson.Value {
	said := find(a, func(key string) bool { return systemKey(key) && !ends(key, "system") })
	if text, _ := decode.WholeText(said); decode.UsableID(text) == "" {
		said = exactjson.Value{}
	}
	if said.IsAbsent() {
		said = instructionsOfResponse(a)
	}
	if system := find(a, func(key string) bool { return ends(key, "system") }); said.IsAbsent() && isSentence(system.Str()) {
		return system // a provider, whose key ends so too, has a name
	}
	return said
}

// instructionsOfResponse returns the instructions that a response of the Responses API repeats. A span may
// hold all of it but the output, under any key (gen_ai.execution.payload, Microsoft Agent 365's package for
// the Agents SDK).
func instructionsOfResponse(a decode.Attributes) exactjson.Value {
	best, found := "", exactjson.Value{}
	for key, v := range a.All() {
		if v.Type() != pcommon.ValueTypeStr || !strings.HasPrefix(v.Str(), "{") || !strings.Contains(v.Str(), `"resp_`) || best != "" && best < key {
			continue
		}
		response, _ := decode.Structure(exactjson.StringValue(v.Str()))
		if said := response.Get("instructions"); said.Kind() == exactjson.String && said.Str() != "" && strings.HasPrefix(response.Get("id").Str(), "resp_") && !response.Get("created_at").IsAbsent() {
			best, found = key, said
		}
	}
	return found
}

// systemKey reports a key that may hold a system prompt.
func systemKey(key string) bool {
	return ends(key, "instructions") || ends(key, "system", "prompt") || ends(key, "system", "instruction") || ends(key, "system", "message") || ends(key, "system")
}

// isSentence reports a text of several words, which no name is.
func isSentence(text string) bool {
	text = strings.TrimSpace(text)
	spaces := strings.Count(text, " ")
	return spaces >= 2 || spaces == 1 && strings.HasSuffix(text, ".")
}

// named returns the name of a tool: an attribute, else the name of its span without the word for a tool.
func named(a decode.Attributes, span string) string {
	if name := find(a, toolNameKey).Str(); name != "" {
		return name
	}
	if name := find(a, func(key string) bool { return ofCall(key, "name", "tool", "function") }).Str(); name != "" {
		return name
	}
	return decode.ToolOfSpan(span)
}

// ofCall reports a key that ends with the word for a tool and one of the given words.
func ofCall(key string, last ...string) bool {
	w := words(key)
	return len(w) > 1 && slices.Contains(last, w[len(w)-1]) && slices.Contains([]string{"tool", "function", "action"}, w[len(w)-2])
}

// failed reports an attribute that says that the span failed.
func failed(a decode.Attributes) bool {
	if a.JSON("error").True() { // as OpenTracing has it; a text there may be any
		return true
	}
	for key, v := range a.All() {
		if (ends(key, "level") || ends(key, "state")) && !isForeign(key) {
			switch strings.ToLower(v.Str()) {
			case "error", "failed":
				return true
			}
		}
	}
	return false
}
