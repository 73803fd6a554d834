// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Loops that somebody wrote by hand have one function that runs whatever the model asks for: execute_tool(name, arguments), handle_tool_call(tool_call). With a span of its own,
// it is under no name that the model was offered, and was handed the whole call: the name, the arguments, often the id. This file finds which call that was.

// dropDispatchers drops the spans of such functions that lie around the span of the tool which they were told to run: that one is the call.
func (c *collector) dropDispatchers(known map[string]bool) {
	c.tools = slices.DeleteFunc(c.tools, func(t *call) bool {
		if len(t.nodes) == 0 || known[nameOf(t)] || t.obs.Handoff || !slices.ContainsFunc(c.tools, func(u *call) bool {
			return u != t && known[nameOf(u)] && hangsBelow(t, u) && handsOver(t.obs.Args.Value, nameOf(u), u.obs.CallID, u.obs.Args.Value)
		}) {
			return false
		}
		c.noise["function that runs the tools"] += int64(t.nodes[0].spans)
		return true
	})
}

// openDispatchers reads the spans of such functions as the calls that they were handed where no record tells what any model was offered or asked for: one that calls
// itself execute_tool or call_function and was handed the name of another and its arguments, and nothing else but an id.
func (c *collector) openDispatchers(known map[string]bool) {
	if len(known) > 0 {
		return
	}
	for _, t := range c.tools {
		if len(t.nodes) == 0 || t.obs.Handoff || !runsAnyTool.MatchString(nameOf(t)) {
			continue
		}
		if part, ok := onlyCall(t.obs.Args.Value); ok && part.Name != nameOf(t) {
			handed := nameOf(t)
			t.obs = asDispatched(t.obs, part, nil)
			t.obs.Args.Envelope, t.obs.Args.Label = append(t.obs.Args.Envelope, "call"), tape.Recovered
			t.notes = append(t.notes, genai.Note{Code: tape.CodeContentAbsent, Field: "name", Detail: "no record holds what the model asked for; the call is the one that " + handed + " was handed"})
		}
	}
}

// openUnasked reads the span of such a function as the call that it was handed, though no answer asked for it, where another span of the same name was handed one that an answer did ask for, or
// what it was handed is a call in the words of an API: the framework itself had it run (AgentScope 1.0.5, whose agent hands what its model said to a tool that makes the answer of it).
func (c *collector) openUnasked() {
	opened := false
	runs := map[string]bool{}
	for _, t := range c.tools {
		if t.by != nil && len(t.nodes) > 0 && t.obs.Name == t.by.part.Name {
			runs[t.nodes[0].obs.Name] = runs[t.nodes[0].obs.Name] || t.nodes[0].obs.Name != t.obs.Name
		}
	}
	for _, t := range c.tools {
		if t.by != nil || len(t.nodes) == 0 || t.obs.Handoff {
			continue
		}
		part, ok := onlyCall(t.obs.Args.Value)
		if ok && part.Name != nameOf(t) && (runs[nameOf(t)] || t.obs.Args.Value.Members()[0].Value.Get("type").Str() == toolUse) {
			t.obs = asDispatched(t.obs, part, nil)
			t.obs.Args.Envelope = append(t.obs.Args.Envelope, "call")
			opened = true
		}
	}
	if opened {
		c.markAnswers()
	}
}

// toolUse is the type of a call as Anthropic's API writes it.
const toolUse = "tool_use"

// runsAnyTool is the name of a function that runs whatever tool it is told to.
var runsAnyTool = regexp.MustCompile(`(?i)^(execute|exec|run|call|invoke|dispatch|handle|do|perform|use|process)[ _-]?(a|the|one|single)?[ _-]?(tool|function)s?([ _-]?(call|use))?$`)

// toolName is what providers take as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z_][\w.-]{0,63}$`)

// onlyCall reads a value that is a call and nothing else: a name and the object of its arguments, by position or as members, and an id beside them; or a call as chat completions write it.
func onlyCall(v exactjson.Value) (part genai.Part, ok bool) {
	if args := v.Get("args"); args.Kind() == exactjson.Array && v.Len() == 2 && v.Get("kwargs").IsEmpty() {
		v = args // as decorators of Python write it
	}
	if one := v.Members(); len(one) == 1 && one[0].Value.Kind() >= exactjson.Array {
		v = one[0].Value // the call as the one argument
	}
	if v.Get("function").Kind() == exactjson.Object {
		part = decode.ChatCalls(exactjson.ArrayValue(v))[0]
		return part, part.Name != "" && part.Args.Kind() == exactjson.Object
	}
	if v.Get("type").Str() == toolUse {
		part.ID, part.Name, part.Args = decode.TextOfID(v.Get("id")), v.Get("name").Str(), v.Get("input")
		return part, part.Name != "" && part.Args.Kind() == exactjson.Object
	}
	for i, m := range v.Members() {
		value := m.Value
		if inner, structured := decode.Structure(value); structured {
			value = inner
		}
		switch {
		case v.Kind() == exactjson.Object && part.ID == "" && namesID(m.Name):
			part.ID = decode.TextOfID(m.Value)
		case i < 3 && part.Name == "" && toolName.MatchString(value.Str()):
			part.Name = value.Str()
		case part.Args.IsAbsent() && value.Kind() == exactjson.Object:
			part.Args = value
		default:
			return part, false
		}
	}
	return part, part.Name != "" && !part.Args.IsAbsent()
}

// isDispatch reports that t is the span of a function that was handed the whole call that a response asked for.
func isDispatch(t *call, a *asked, known map[string]bool) bool {
	return !known[nameOf(t)] && t.agent == a.model.agent && a.part.Name != "" && !a.part.Args.IsAbsent() && handsOver(t.obs.Args.Value, a.part.Name, a.part.ID, a.part.Args)
}

// mayHaveRun reports that a step of the program which was handed a call may have run it: it came to what the model was told, or to something where nothing tells. A step that
// only writes the call down returns nothing.
func mayHaveRun(t *call, a *asked) bool {
	if failedCall(t) {
		return true
	}
	result := t.obs.Result.Value
	if a.shown == nil || a.shown.Label != "" {
		text := strings.TrimSpace(textResult(result))
		return t.obs.Result.Present() && text != "" && text != "null" && text != "None"
	}
	return returned(t, a) || sameContent(result, a.shown.Result)
}

// asDispatched reads the span of such a function as the call of the tool. The function may return the message in which the model is told, and
// shown is what a later request shows of it.
func asDispatched(o *genai.Observation, part genai.Part, shown *genai.Part) *genai.Observation {
	made := *o
	made.Name, made.Args = part.Name, genai.Content{Value: part.Args}
	if told, ok := toldOf(made.Result.Value, part); ok {
		made.Result.Value, made.Result.Envelope = told, append(slices.Clip(made.Result.Envelope), "tool_message")
	}
	if shown != nil && shown.IsError && !made.Failed && made.Result.Present() && strings.Contains(cmp.Or(toldText(shown.Result), textResult(shown.Result)), textResult(made.Result.Value)) {
		made.Failed = true // it caught what the tool raised, and told the model
	}
	return &made
}

// toldOf opens the message in which the model is told the result of a call: it names the id of the call or, of a provider whose calls have none, the tool.
func toldOf(v exactjson.Value, part genai.Part) (exactjson.Value, bool) {
	result, ok := decode.Structure(v)
	if !ok || result.Kind() != exactjson.Object {
		return exactjson.Value{}, false
	}
	messages, _ := decode.Messages(exactjson.ArrayValue(result), "")
	if len(messages) != 1 || messages[0].Role != tape.RoleTool || len(messages[0].Parts) != 1 {
		return exactjson.Value{}, false
	}
	told := messages[0].Parts[0]
	named := told.ID == "" && result.Get("role").Str() == "tool" && result.Get("name").Str() == part.Name
	return told.Result, told.ID != "" && told.ID == part.ID || named
}

// handsOver reports a value that holds a whole call: its name and its arguments side by side, under whatever names, or as arguments by position, in JSON or as Python writes
// it, and no id of another call.
func handsOver(v exactjson.Value, name, id string, args exactjson.Value) bool {
	found, ok := handedOver(v, name, args, maxEnvelopes)
	return ok && (found == "" || id == "" || found == id)
}

func handedOver(v exactjson.Value, name string, args exactjson.Value, depth int) (id string, ok bool) {
	if v.Kind() == exactjson.String {
		inner, structured := decode.Structure(v)
		if !structured {
			inner, structured = decode.Representation(v.Str())
		}
		if !structured {
			return "", false
		}
		v = inner
	}
	if depth == 0 || v.Kind() < exactjson.Array || v.Len() > maxHanded {
		return "", false
	}
	named, given := false, false
	for _, m := range v.Members() {
		switch {
		case !named && m.Value.Kind() == exactjson.String && m.Value.Str() == name:
			named = true
		case sameArguments(m.Value, args):
			given = true
		case v.Kind() == exactjson.Object && id == "" && namesID(m.Name):
			id = decode.TextOfID(m.Value)
		}
	}
	if named && given {
		return id, true
	}
	for _, m := range v.Members() {
		if inner, found := handedOver(m.Value, name, args, depth-1); found {
			if inner != "" {
				id = inner
			}
			return id, true
		}
	}
	return "", false
}

// maxHanded is more than a call and what a function is handed beside it has members.
const maxHanded = 32

// namesID reports a name such as id, call_id or toolUseId.
func namesID(name string) bool {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	return name == "id" || strings.HasSuffix(name, "callid") || strings.HasSuffix(name, "useid")
}

// sameArguments compares what may be the arguments of a call with those asked for. No arguments may be no object at all.
func sameArguments(v, args exactjson.Value) bool {
	if args.Len() == 0 && args.Kind() == exactjson.Object && v.IsEmpty() && v.Kind() != exactjson.Null {
		return true
	}
	return v.Kind() != exactjson.Null && sameValue(v, args)
}
