// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// readCommon reads what all dialects share: failures, the identity of users and conversations, and what
// carriers write onto the spans of others.
func readCommon(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	readFailure(s, o)
	readGuardrail(s, o)
	switch o.Class {
	case dialect.Tool:
		settleTool(s, o)
	case dialect.Model:
		settleModel(s, a, o)
	case dialect.Agent:
		settleAgent(a, o)
	}
	decode.FillString(&o.ConversationID, a.Text(conversationKeys...))
	decode.FillString(&o.UserID, a.Text(userKeys...))
	readEnvironment(s.Resource, o)
	if n := s.Span.DroppedAttributesCount() + s.Span.DroppedEventsCount(); n > 0 {
		o.AddNote(tape.CodeDroppedAttributes, "", exactjson.IntValue(int64(n)).Text()+" attributes or events were dropped by the SDK")
	}
}

// settleTool tells the span of merged results from that of a tool, and reads the name of the tool.
func settleTool(s *dialect.Source, o *dialect.Draft) {
	if decode.RepeatsResults(o.Result.Value) {
		o.Class, o.NoiseReason = dialect.Noise, "merged tool results"
		// one of the results may have been written nowhere else
		o.OutputData, o.Result = o.Result, decode.Content{}
	}
	if o.Name == s.Span.Name() {
		o.Name = decode.ToolOfSpan(o.Name) // words of the producer stand before it
	}
	dialect.TakeFromName(o) // a later dialect, or the span, may have told the name
}

// settleModel reads which model was asked for and which one answered.
func settleModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
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
}

// settleAgent reads the model and the task of an agent. OpenLIT names the model that answered twice for a
// graph.
func settleAgent(a decode.Attributes, o *dialect.Draft) {
	asked := decode.ModelName(a.Text("gen_ai.request.model"))
	if (asked != a.Text("gen_ai.response.model") || !decode.IsDated(asked)) && !generic.NamesResponse(a, asked) {
		decode.FillString(&o.Model, asked)
	}
	openTask(a, o)
}

// openTask opens what an agent was handed where an attribute of its span tells the task in it: "Task: …"
// beside acme.task.description, with more words of the framework after it (CrewAI under LoongSuite's
// package). Of several such keys all tell the task: one word stands before it.
func openTask(a decode.Attributes, o *dialect.Draft) {
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
			return
		}
	}
}

// readAskedModel takes the model that was asked for from the parameters of the request. Some packages write
// the model that answered over it: the same name, with a version behind.
func readAskedModel(a decode.Attributes, o *dialect.Draft) {
	params, ok := decode.Structure(a.JSON("gen_ai.request.parameters", "llm.invocation_parameters"))
	if !ok {
		return
	}
	if asked := decode.ModelName(params.First("model", "model_name").Str()); asked != "" && asked != o.Model && strings.HasPrefix(o.Model, asked+"-") {
		decode.FillString(&o.ResponseModel, o.Model)
		o.Model = asked
	}
}

// readLangChain takes the model that was asked for and its provider from LangChain's own metadata. Carriers
// write these under their prefixes, or as one JSON text. They write the model that answered where the model
// that was asked for should stand.
func readLangChain(a decode.Attributes, o *dialect.Draft) {
	for key, v := range a.All() {
		if strings.HasSuffix(key, "metadata") && strings.Contains(v.Str(), `"ls_`) {
			whole, _ := decode.Structure(exactjson.StringValue(v.Str()))
			decode.FillString(&o.Model, decode.ModelName(whole.Get("ls_model_name").Str()))
			decode.FillString(&o.Provider, decode.Provider(whole.Get("ls_provider").Str()))
			continue
		}
		if !strings.Contains(key, "ls_") {
			continue
		}
		text, _ := decode.WholeText(exactjson.StringValue(v.Str()))
		switch {
		case text == "":
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

// readEnvironment keeps the environment variables that a resource names (process.environment_variable.<key>).
// Producers record them on demand only. They stay on the tape; a snapshot of it holds those alone that were
// allowed.
func readEnvironment(resource pcommon.Map, o *dialect.Draft) {
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
