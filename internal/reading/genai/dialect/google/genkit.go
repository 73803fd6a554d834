// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Genkit reads Firebase Genkit in JavaScript, Go and Python: every action is a span with its whole input and
// output as JSON. Call ids stand only in the messages (ref).
var Genkit = &dialect.Dialect{
	ID:       "genkit",
	Name:     "Genkit",
	Scopes:   []string{"genkit-tracer"},
	Marks:    []string{"genkit:"},
	Root:     "the outermost flow or agent, else the outermost `generate`",
	Encoded:  true,
	Switch:   "on by default",
	Classify: classifyGenkit,
	Read:     readGenkit,
}

func genkitSubtype(a decode.Attributes) string {
	if sub := a.Text("genkit:metadata:subtype"); sub != "" {
		return sub
	}
	return a.Text("genkit:type")
}

func classifyGenkit(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch genkitSubtype(a) {
	case "model", "background-model", "backgroundModel":
		return dialect.Model, false
	case "tool", "tool.v2":
		return dialect.Tool, false
	case "flow", "agent", "session-flow":
		return dialect.Agent, true
	case "util":
		if a.Text("genkit:name") == "generate" {
			return dialect.Agent, a.Text("genkit:isRoot") == "true"
		}
		return dialect.Structure, false
	case "retriever":
		return dialect.Retrieval, false
	case "embedder", "indexer", "reranker", "evaluator":
		return dialect.Noise, false
	case "":
		return dialect.Unclassified, false
	default:
		return dialect.Structure, false
	}
}

func readGenkit(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("genkit:sessionId", "genkit:metadata:agent:sessionId", "genkit:metadata:sessionId")
	o.Failed = a.Text("genkit:state") == "error"
	input, inputLabel := genkitJSON(a, "genkit:input")
	output, outputLabel := genkitJSON(a, "genkit:output")
	name := a.Text("genkit:name")
	switch o.Class {
	case dialect.Agent:
		readGenkitAgent(a, name, input, output, o)
	case dialect.Model:
		o.Operation = "generate"
		readGenkitModel(name, input, output, o)
		o.RequestLabel, o.ResponseLabel = inputLabel, outputLabel
	case dialect.Tool:
		// what stands before it is a namespace that the model does not see
		o.Name = name[strings.LastIndexByte(name, '/')+1:]
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("genkit:input"); !v.IsAbsent() {
			o.Args = decode.Args(v)
			if inputLabel != "" {
				o.Args.Label = inputLabel
			}
		}
		if v := a.JSON("genkit:output"); !v.IsAbsent() {
			o.Result = genkitResult(decode.Result(v, true), genkitSubtype(a))
			if outputLabel != "" {
				o.Result.Label = outputLabel
			}
		}
	case dialect.Retrieval:
		o.Name = name
		o.Query = decode.Content{Value: input.First("query", "text")}
		for _, m := range output.Get("documents").Members() {
			o.Documents = append(o.Documents, m.Value)
		}
	case dialect.Noise:
		o.NoiseReason = genkitSubtype(a)
	}
}

// genkitUnwritten begins what Genkit for Go writes in place of a value that has no JSON form.
const genkitUnwritten = "ERROR: json: "

// genkitJSON decodes an input or output. What does not decode was cut on its way.
func genkitJSON(a decode.Attributes, key string) (exactjson.Value, tape.Label) {
	v := a.JSON(key)
	if v.Kind() != exactjson.String {
		return v, ""
	}
	parsed, err := exactjson.Parse(strings.TrimSpace(v.Str()))
	if strings.HasPrefix(parsed.Str(), genkitUnwritten) || strings.HasPrefix(v.Str(), genkitUnwritten) {
		return exactjson.Value{}, tape.Lossy
	}
	if err != nil {
		if decode.LooksJSON(v.Str()) {
			return exactjson.Value{}, tape.Truncated
		}
		return v, ""
	}
	return parsed, ""
}

// genkitResult takes off the object in which multipart tools return: {"output": X}, perhaps with media beside
// it.
func genkitResult(c decode.Content, subtype string) decode.Content {
	if subtype == "tool.v2" && c.Value.Kind() == exactjson.Object && c.Value.Len() == 0 {
		// Go leaves out an output of nil
		c.Value, c.Envelope = exactjson.NullValue, append(c.Envelope, "genkit.multipart")
	}
	if subtype == "tool.v2" && c.Value.Kind() == exactjson.Object && c.Value.Len() == 1 {
		if inner := c.Value.Get("output"); !inner.IsAbsent() {
			c.Value, c.Envelope = inner, append(c.Envelope, "genkit.multipart")
		}
	}
	return c
}

func readGenkitAgent(a decode.Attributes, name string, input, output exactjson.Value, o *dialect.Draft) {
	generate := genkitSubtype(a) == "util"
	o.WeakAgent = generate
	if !generate {
		o.Agent.Name = name
	}
	o.InputData, o.OutputData = decode.Content{Value: input}, decode.Content{Value: output}
	switch input.Kind() {
	case exactjson.String:
		o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(input.Str())}}}
	case exactjson.Object:
		if body := input.Get("messages"); body.Kind() == exactjson.Array {
			o.Input, _ = decode.Messages(body, tape.RoleUser)
		} else if body := input.Get("message"); body.Get("content").Kind() == exactjson.Array {
			o.Input = []decode.Message{decode.RoleMessage(body, tape.RoleUser)}
		}
	}
	switch output.Kind() {
	case exactjson.String:
		o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(output.Str())}}}
	case exactjson.Object:
		o.Output = genkitAnswer(output)
	}
	if output.Get("finishReason").Str() == "interrupted" {
		o.Waiting, o.Output = tape.WaitingResume, nil // what was said before the question is no answer
	}
}

// genkitAnswer returns the message of a response. Old versions list candidates, of which the first counts.
func genkitAnswer(output exactjson.Value) []decode.Message {
	answer := output
	if first := output.Get("candidates").At(0); first.Kind() == exactjson.Object {
		answer = first
	}
	message := answer.Get("message")
	if message.Kind() != exactjson.Object {
		return nil
	}
	m := decode.RoleMessage(message, tape.RoleAssistant)
	m.Role = tape.RoleAssistant
	m.FinishReason = answer.Get("finishReason").Str()
	return []decode.Message{m}
}

func readGenkitModel(name string, input, output exactjson.Value, o *dialect.Draft) {
	o.Model = name
	if provider, model, ok := strings.Cut(name, "/"); ok {
		o.Provider, o.Model = decode.Provider(provider), model
	}
	decode.FillString(&o.Model, input.Get("config").Get("version").Str())
	o.Request, _ = decode.Messages(input.Get("messages"), tape.RoleUser)
	o.Tools = decode.ToolDefinitions(input.Get("tools"))
	for _, m := range input.Get("config").Members() {
		if canonical, ok := decode.ParamNames[m.Name]; ok {
			o.AddParam(canonical, m.Value)
		}
	}
	if choice := input.Get("toolChoice"); !choice.IsEmpty() {
		o.AddParam("tool_choice", choice)
	}
	o.Response = genkitAnswer(output)
	if len(o.Response) > 0 && o.Response[0].FinishReason != "" {
		o.FinishReasons = []string{o.Response[0].FinishReason}
	}
	raw := output.First("raw", "custom")
	o.ResponseID, o.ResponseModel = raw.First("id", "responseId").Str(), raw.First("model", "modelVersion").Str()
	usage := output.Get("usage")
	count := func(names ...string) *int64 {
		if n, ok := decode.CountOf(usage.First(names...)); ok {
			return &n
		}
		return nil
	}
	o.Usage = tape.Usage{
		InputTokens: count("inputTokens"), OutputTokens: count("outputTokens"),
		CacheReadTokens: count("cachedContentTokens"), ReasoningTokens: count("thoughtsTokens"),
	}
}
