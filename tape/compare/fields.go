// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonpath"
)

// Field names something that is compared.
type Field string

// FieldKind documents one field.
type FieldKind struct {
	Field   Field
	Level   Level
	Of      string // the events that have it
	Meaning string
}

// The fields that are compared.
const (
	FieldName         Field = "name"
	FieldCaller       Field = "caller"
	FieldModel        Field = "model"
	FieldAsks         Field = "asks"
	FieldArgs         Field = "args"
	FieldRelation     Field = "relation"
	FieldQuery        Field = "query"
	FieldUserMessage  Field = "user_message"
	FieldFailed       Field = "failed"
	FieldError        Field = "error"
	FieldResult       Field = "result"
	FieldExecutedArgs Field = "executed_args"
	FieldServer       Field = "server"
	FieldDocuments    Field = "documents"
	FieldStatus       Field = "status"
	FieldText         Field = "text"
	FieldReasoning    Field = "reasoning"
	FieldMedia        Field = "media"
	FieldFinish       Field = "finish_reasons"
	FieldInput        Field = "input"
	FieldOutput       Field = "output"
)

// Fields is the table of what is compared; docs/bisect.md is generated from it.
var Fields = []FieldKind{
	{FieldName, Actions, "tool_call, retrieval, agent_call", "the tool, the retriever, the agent"},
	{FieldCaller, Actions, "all", "the agents below the run's own that made the call; the run's own agent may have another name"},
	{FieldModel, Actions, "model_call", "the model that was asked, else the one that answered"},
	{FieldAsks, Actions, "model_call", "the calls that the response asks for, names and arguments, as a set: their order does not matter"},
	{FieldArgs, Actions, "tool_call", "what the model asked for"},
	{FieldRelation, Actions, "agent_call", "sub_agent or handoff"},
	{FieldQuery, Actions, "retrieval", "what was looked up"},
	{FieldUserMessage, Actions, "the input", "what the run was asked"},
	{FieldFailed, Results, "all", "whether the call failed, by status or is_error"},
	{FieldError, Results, "all", "type and message of the failure, without a stack trace behind it"},
	{FieldResult, Results, "tool_call", "what the tool returned"},
	{FieldExecutedArgs, Results, "tool_call", "what the tool received, where that is not what the model asked for"},
	{FieldServer, Results, "tool_call", "the MCP server and the tool's name there"},
	{FieldDocuments, Results, "retrieval", "what was found"},
	{FieldStatus, Results, "the output", "how the run ended"},
	{FieldText, All, "model_call, the output", "what the model, and the run, answered"},
	{FieldReasoning, All, "model_call", "reasoning text"},
	{FieldMedia, All, "model_call", "media and external parts of the response: type and digest, else address"},
	{FieldFinish, All, "model_call", "why the model stopped"},
	{FieldInput, All, "agent_call", "what the agent was given"},
	{FieldOutput, All, "agent_call", "what the agent answered"},
}

var levelOf = func() map[Field]int {
	out := make(map[Field]int, len(Fields))
	for _, k := range Fields {
		for i, l := range Levels {
			if l == k.Level {
				out[k.Field] = i
			}
		}
	}
	return out
}()

// field is one compared value of an event.
type field struct {
	name  Field
	level int // index into Levels; beyond them when it is ignored
	value exactjson.Value
	json  exactjson.Value // the value with the JSON that its texts hold in place of them, unless types count
	id    int32           // equal values have equal ids
	exact int32           // that of the value as it is
	label tape.Label
	// expected: an event of this type has it, if it was recorded.
	expected bool
}

// holdsJSON are the fields that some instrumentation records as JSON and other as the text of it.
var holdsJSON = map[Field]bool{
	FieldAsks: true, FieldArgs: true, FieldExecutedArgs: true, FieldQuery: true, FieldResult: true, FieldDocuments: true, FieldInput: true, FieldOutput: true,
}

// maxTexts bounds how many texts of JSON may lie within one another.
const maxTexts = 8

// withoutText puts the JSON that texts hold in place of them. If the whole value is a text, any JSON counts. Within the value only objects
// and arrays count, because "7" within a value is a text like any other.
func withoutText(v exactjson.Value, whole bool, texts int) exactjson.Value {
	switch v.Kind() {
	case exactjson.String:
		inner := jsonpath.Decoded(v)
		if whole && inner.Kind() == exactjson.String {
			if parsed, err := exactjson.Parse(v.Str()); err == nil {
				inner = parsed
			}
		}
		if inner.Kind() != exactjson.String && texts > 0 {
			return withoutText(inner, false, texts-1)
		}
	case exactjson.Array, exactjson.Object:
		return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return withoutText(m.Value, false, texts) })
	}
	return v
}

// reader collects the fields of one event.
type reader struct {
	s     *sequence
	e     *tape.Event
	tool  string // for the rules
	found []field
}

// add takes a value up, unless it is absent and no event needs to have it.
func (r *reader) add(name Field, v exactjson.Value, labelled string, expected bool) {
	if v.IsAbsent() && !expected {
		return
	}
	f := field{name: name, level: levelOf[name], expected: expected}
	for _, ignored := range r.s.options.Ignore {
		if ignored == name {
			f.level = len(Levels)
		}
	}
	if r.e != nil && labelled != "" {
		f.label = r.e.Provenance[labelled]
	}
	f.value = r.s.options.Rules.Apply(r.tool, string(name), r.s.withoutIDs(v))
	f.exact = r.s.in.value(f.value)
	f.json, f.id = f.value, f.exact
	if holdsJSON[name] && !r.s.options.StrictTypes {
		if f.json = withoutText(f.value, name != FieldAsks, maxTexts); !f.json.IsAbsent() {
			f.id = r.s.in.value(f.json)
		}
	}
	r.found = append(r.found, f)
}

func (r *reader) text(name Field, text, labelled string) {
	if text != "" {
		r.add(name, exactjson.StringValue(text), labelled, false)
	}
}

func (r *reader) event() {
	e := r.e
	_, below, _ := strings.Cut(e.Caller, "/")
	r.text(FieldCaller, below, "caller")
	switch e.Type {
	case tape.EventModelCall:
		r.model()
	case tape.EventToolCall:
		r.tool = e.Name
		r.text(FieldName, e.Name, "name")
		r.add(FieldArgs, e.Args, "args", true)
		r.add(FieldResult, e.Result, "result", e.Error == nil)
		r.add(FieldExecutedArgs, e.ExecutedArgs, "executed_args", false)
		if e.Server != nil {
			r.add(FieldServer, exactjson.StringValue(e.Server.Name+"/"+e.Server.Tool), "server", false)
		}
	case tape.EventAgentCall:
		if e.Agent != nil {
			r.text(FieldName, agentName(e.Agent), "agent")
		}
		r.text(FieldRelation, string(e.Relation), "relation")
		r.add(FieldInput, e.Input, "input", false)
		r.add(FieldOutput, e.Output, "output", false)
	case tape.EventRetrieval:
		r.text(FieldName, e.Name, "name")
		r.add(FieldQuery, e.Query, "query", true)
		r.add(FieldDocuments, e.Documents, "documents", true)
	default: // of a later minor version
		r.text(FieldName, e.Name, "name")
		r.add(FieldResult, exactjson.ObjectValue(append([]exactjson.Member(nil), e.Unknown...)...), "", false)
	}
	r.add(FieldFailed, exactjson.BoolValue(e.Status == tape.EventError || e.IsError || e.Waiting != ""), "status", false)
	if e.Error != nil {
		class, message := e.Error.Type, e.Error.Message
		if before, of := tape.BeforeStack(message); before != "" { // where it was thrown is another place in another program
			class, message = cmp.Or(class, of), before
		}
		r.add(FieldError, exactjson.ObjectValue(
			exactjson.Member{Name: "type", Value: exactjson.StringValue(class)},
			exactjson.Member{Name: "message", Value: exactjson.StringValue(message)}), "error", false)
	}
}

func agentName(a *tape.Agent) string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}

// modelName is the model that was asked, else the one that answered.
func modelName(e *tape.Event) string {
	if e.Model == "" && e.Response != nil {
		return e.Response.Model
	}
	return e.Model
}

// model reads what a model answered. Ids, the spelling of arguments and opaque data parts are left out, as they are where a tape
// recognises a message that was sent again.
func (r *reader) model() {
	r.text(FieldModel, modelName(r.e), "model")
	const labelled = "response.message"
	var m tape.Message
	recorded := false
	if r.e.Response != nil {
		m, recorded = r.s.tape.Messages[r.e.Response.Message]
		r.text(FieldFinish, strings.Join(r.e.Response.FinishReasons, " "), "response.finish_reasons")
	}
	if !recorded {
		r.add(FieldAsks, exactjson.Value{}, labelled, true)
		r.add(FieldText, exactjson.Value{}, labelled, true)
		return
	}
	var texts, reasoning []string
	var asks, media []exactjson.Value
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case tape.PartText:
			texts = append(texts, p.Text)
		case tape.PartReasoning:
			reasoning = append(reasoning, p.Text)
		case tape.PartToolCall:
			asks = append(asks, exactjson.ObjectValue(
				exactjson.Member{Name: "name", Value: exactjson.StringValue(p.Name)},
				exactjson.Member{Name: "args", Value: r.s.options.Rules.Apply(p.Name, string(FieldArgs), r.s.withoutIDs(p.Args))}))
		case tape.PartMedia, tape.PartExternal:
			address := p.SHA256
			if address == "" {
				address = p.URI
			}
			media = append(media, exactjson.StringValue(strings.TrimSpace(p.MIMEType+" "+address)))
		}
	}
	r.add(FieldAsks, exactjson.ArrayValue(sorted(asks)...), labelled, true)
	r.add(FieldText, exactjson.StringValue(strings.Join(texts, "\n")), labelled, true)
	r.text(FieldReasoning, strings.Join(reasoning, "\n"), labelled)
	if media != nil {
		r.add(FieldMedia, exactjson.ArrayValue(media...), labelled, false)
	}
}
