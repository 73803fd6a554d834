// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// openTask opens what an agent was handed where an attribute of its span tells the task in it: "Task: …" beside acme.task.description, with more words of the framework behind it (CrewAI under
// LoongSuite's package).
func openTask(a decode.Attributes, o *dialect.Observation) {
	if len(o.Input) != 1 || o.Input[0].Role != tape.RoleUser || len(o.Input[0].Parts) == 0 || o.Input[0].Parts[0].Type != tape.PartText || o.Input[0].Parts[0].Label != "" {
		return
	}
	handed := o.Input[0].Parts[0].Text
	for key, v := range a.All() {
		if !strings.HasSuffix(key, "task.description") || v.Type() != pcommon.ValueTypeStr || strings.TrimSpace(v.Str()) == "" {
			continue
		}
		word, is := strings.CutSuffix(handed, v.Str())
		if title := strings.TrimRight(word, " "); is && strings.HasSuffix(title, ":") && !strings.ContainsAny(strings.TrimSuffix(title, ":"), " \n") {
			o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(v.Str())}}}
			return // of several such keys all tell this: one word stands before it
		}
	}
}

// readAskedModel takes the model that was asked for from the parameters of the request. Some packages write the one that answered over it: the same
// name, with a version behind.
func readAskedModel(a decode.Attributes, o *dialect.Observation) {
	params, ok := decode.Structure(a.JSON("gen_ai.request.parameters", "llm.invocation_parameters"))
	if !ok {
		return
	}
	if asked := decode.ModelName(params.First("model", "model_name").Str()); asked != "" && asked != o.Model && strings.HasPrefix(o.Model, asked+"-") {
		decode.FillString(&o.ResponseModel, o.Model)
		o.Model = asked
	}
}

// readCommon reads what all dialects have in common: status, exceptions, tags, identity of users and conversations.
func readCommon(s *dialect.Source, o *dialect.Observation) {
	a := decode.Attributes(s.Span.Attributes())
	switch s.Span.Status().Code() {
	case ptrace.StatusCodeError:
		o.StatusError = !o.Quirks.Has(dialect.LendsStatus)
	case ptrace.StatusCodeUnset:
		o.StatusError = answersNothing(o) && threw(s) || endsThrowing(s, o)
	case ptrace.StatusCodeOk: // which SDKs do not take back: a client may have set it on the span of the program around it (LiteLLM)
		// An instrumentation that records content may say it of a call of a model that threw, too (OpenInference for agno in January 2026).
		silent := o.Class == dialect.Agent && !o.OutputData.Present() || o.Class == dialect.Model && len(o.Request) > 0
		o.StatusError = silent && answersNothing(o) && leftByException(s.Span)
	}
	switch o.Class {
	case dialect.Tool:
		if decode.RepeatsResults(o.Result.Value) {
			o.Class, o.NoiseReason = dialect.Noise, "merged tool results"
			o.OutputData, o.Result = o.Result, decode.Content{} // one of them may have been written nowhere else
		}
		if o.Name == s.Span.Name() {
			o.Name = decode.ToolOfSpan(o.Name) // somebody's own words stand before it
		}
		dialect.TakeFromName(o) // which another dialect, or the span, may have told
	case dialect.Model:
		o.Model, o.ResponseModel = decode.ModelName(o.Model), decode.ModelName(o.ResponseModel)
		if maker := a.Text("gen_ai.provider.name"); maker != "" && o.Model == maker {
			o.Model = "" // the name of the provider stands where the model's should
			if o.ResponseModel == maker {
				o.ResponseModel = ""
			}
		}
		readLangChain(a, o)
		readAskedModel(a, o)
		if o.StatusError && brokeItself(s) {
			o.AddNote(tape.CodeModelCallHidden, "response.message", "the failure is that of the instrumentation, which could not record the call; the call may have been answered")
		}
	case dialect.Agent:
		if asked := decode.ModelName(a.Text("gen_ai.request.model")); (asked != a.Text("gen_ai.response.model") || !decode.IsDated(asked)) && !generic.NamesResponse(a, asked) {
			decode.FillString(&o.Model, asked) // OpenLIT writes the model that answered into both for a graph
		}
		openTask(a, o)
		// an answer that the conventions mark as an error is what a framework made of one
		if n := len(o.Output) - 1; n >= 0 && o.Output[n].FinishReason == "error" {
			o.Failed = true
		}
	}
	if (o.Failed || o.StatusError) && o.Error == nil {
		o.Error = errorOf(s)
	}
	o.Interrupted = o.Interrupted || waits(s)
	decode.FillString(&o.ConversationID, a.Text(conversationKeys...))
	decode.FillString(&o.UserID, a.Text(userKeys...))
	readEnvironment(s.Resource, o)
	if n := s.Span.DroppedAttributesCount() + s.Span.DroppedEventsCount(); n > 0 {
		o.AddNote(tape.CodeDroppedAttributes, "", exactjson.IntValue(int64(n)).Text()+" attributes or events were dropped by the SDK")
	}
}

// answersNothing reports a span of a model or an agent with nothing that came of it.
func answersNothing(o *dialect.Observation) bool {
	said := o.Output
	switch o.Class {
	case dialect.Model:
		if o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0 {
			return false
		}
		said = o.Response
	case dialect.Agent:
	case dialect.Tool:
		return o.Args.Present() && !o.Result.Present() // of one that records neither, see endsThrowing
	default:
		return false
	}
	return len(o.FinishReasons) == 0 && !slices.ContainsFunc(said, func(m decode.Message) bool { return len(m.Parts) > 0 })
}

// threw reports a span with an exception, which most SDKs record without setting the status.
func threw(s *dialect.Source) bool {
	for _, e := range s.Span.Events().All() {
		if e.Name() == "exception" {
			return true
		}
	}
	return false
}

// leavesWithin is how long before the end of a span the exception that left it is recorded, at most, in ns.
const leavesWithin = 20_000_000

// leftByException reports a span whose last event is an exception at its end.
func leftByException(span ptrace.Span) bool {
	events := span.Events()
	if events.Len() == 0 || span.EndTimestamp() == 0 {
		return false
	}
	last := events.At(events.Len() - 1)
	return last.Name() == "exception" && last.Timestamp() <= span.EndTimestamp() && span.EndTimestamp()-last.Timestamp() <= leavesWithin
}

// endsThrowing reports the span of a tool without arguments and without a result that an exception left. One that came before may have been caught.
func endsThrowing(s *dialect.Source, o *dialect.Observation) bool {
	return o.Class == dialect.Tool && !o.Args.Present() && !o.Result.Present() && leftByException(s.Span)
}

// readLangChain takes the model that was asked for and its provider from LangChain's own metadata. Carriers write it under their prefixes, some as
// JSON text, and in the place of the model that was asked for the name of the one that answered.
func readLangChain(a decode.Attributes, o *dialect.Observation) {
	for key, v := range a.All() {
		if strings.HasSuffix(key, "metadata") && strings.Contains(v.Str(), `"ls_`) { // all of it as one JSON text
			whole, _ := decode.Structure(exactjson.StringValue(v.Str()))
			decode.FillString(&o.Model, decode.ModelName(whole.Get("ls_model_name").Str()))
			decode.FillString(&o.Provider, decode.Provider(whole.Get("ls_provider").Str()))
			continue
		}
		text, _ := decode.WholeText(exactjson.StringValue(v.Str()))
		switch {
		case text == "" || !strings.Contains(key, "ls_"):
		case strings.HasSuffix(key, ".ls_model_name"):
			if o.Model != "" && o.Model != text && a.Text("gen_ai.request.model") != o.Model {
				decode.FillString(&o.ResponseModel, o.Model)
				o.Model = ""
			}
			decode.FillString(&o.Model, decode.ModelName(text))
		case strings.HasSuffix(key, ".ls_provider"):
			decode.FillString(&o.Provider, decode.Provider(text))
		}
	}
}

// readEnvironment keeps the environment variables that a resource names (process.environment_variable.<key>, which producers record on
// demand only). They stay on the tape; no snapshot that is made of it holds one that nobody allowed.
func readEnvironment(resource pcommon.Map, o *dialect.Observation) {
	const namespace = "process."
	for key, v := range resource.All() {
		if name, ok := strings.CutPrefix(key, namespace); ok && strings.HasPrefix(name, "environment_variable.") && v.Type() == pcommon.ValueTypeStr {
			if o.Extra == nil {
				o.Extra = map[string][]exactjson.Member{}
			}
			o.Extra["process"] = append(o.Extra["process"], exactjson.Member{Name: name, Value: exactjson.StringValue(v.Str())})
		}
	}
}

var conversationKeys = []string{
	"gen_ai.conversation.id", "session.id", "langfuse.session.id", "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id",
	"traceloop.association.properties.session_id", "traceloop.association.properties.thread_id", "lmnr.association.properties.session_id",
	"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id", "gcp.vertex.agent.session_id",
	"anthropic.session.id", "conversation.id", "genkit:sessionId", "gen_ai.thread.id",
}

var userKeys = []string{
	"user.id", "langfuse.user.id", "enduser.id", "ai.telemetry.metadata.userId", "ai.telemetry.metadata.user_id",
	"traceloop.association.properties.user_id", "lmnr.association.properties.user_id", "llm.user", "forge.auth.user_id", "enduser.pseudo.id",
}

// waits reports a span that ended with the exception by which LangGraph stops to wait for a person. Some instrumentations call such a
// span failed, some call it ok.
func waits(s *dialect.Source) bool {
	interrupt := func(a decode.Attributes, keys ...string) bool {
		name := a.Text(keys...)
		name = name[strings.LastIndexByte(name, '.')+1:]
		return name == "GraphInterrupt" || name == "NodeInterrupt"
	}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" && interrupt(decode.Attributes(event.Attributes()), "exception.type") {
			return true
		}
	}
	return interrupt(decode.Attributes(s.Span.Attributes()), "error.type", "exception.type")
}

// errorOf reads the failure of a span: its exception event, error attributes or status message.
func errorOf(s *dialect.Source) *tape.Error {
	a := decode.Attributes(s.Span.Attributes())
	e := &tape.Error{Type: a.Text("error.type", "exception.type"), Message: a.Text("error.message", "exception.message")}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" {
			x := decode.Attributes(event.Attributes())
			decode.FillString(&e.Type, x.Text("exception.type"))
			decode.FillString(&e.Message, x.Text("exception.message"))
		}
	}
	decode.FillString(&e.Message, said(s.Span.Status().Message()))
	if e.Type == "" && e.Message == "" {
		return nil
	}
	return e
}

// said is the failure that a status tells: of one that is an object of a message and data, as the error of OpenAI's Agents SDK is written by Traceloop 0.47, what its data says
// went wrong; the message is the same for all that do.
func said(status string) string {
	if !strings.HasPrefix(status, "{") {
		return status
	}
	object, _, _ := decode.Python(status)
	if inner := object.Get("data").Get("error").Str(); inner != "" && object.Get("message").Str() != "" {
		return inner
	}
	return status
}
