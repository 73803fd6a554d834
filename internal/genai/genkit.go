// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// genkit reads Firebase Genkit in JavaScript, Go and Python: every action is a span with its whole input and output as JSON. Call
// ids stand only in the messages (ref).
var genkit = &Dialect{
	ID:       "genkit",
	Name:     "Genkit",
	Scopes:   []string{"genkit-tracer"},
	Marks:    []string{"genkit:"},
	Root:     "the outermost flow or agent, else the outermost `generate`",
	Encoded:  true,
	Switch:   "on by default",
	classify: classifyGenkit,
	read:     readGenkit,
}

func genkitSubtype(a attributes) string {
	if sub := a.str("genkit:metadata:subtype"); sub != "" {
		return sub
	}
	return a.str("genkit:type")
}

func classifyGenkit(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	switch genkitSubtype(a) {
	case "model", "background-model", "backgroundModel":
		return Model, false
	case "tool", "tool.v2":
		return Tool, false
	case "flow", "agent", "session-flow":
		return Agent, true
	case "util":
		if a.str("genkit:name") == "generate" {
			return Agent, a.str("genkit:isRoot") == "true"
		}
		return Structure, false
	case "retriever":
		return Retrieval, false
	case "embedder", "indexer", "reranker", "evaluator":
		return Noise, false
	case "":
		return Unclassified, false
	default:
		return Structure, false
	}
}

func readGenkit(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("genkit:sessionId", "genkit:metadata:agent:sessionId", "genkit:metadata:sessionId")
	o.Failed = a.str("genkit:state") == "error"
	input, inputLabel := genkitJSON(a, "genkit:input")
	output, outputLabel := genkitJSON(a, "genkit:output")
	name := a.str("genkit:name")
	switch o.Class {
	case Agent:
		readGenkitAgent(a, name, input, output, o)
	case Model:
		o.Operation = "generate"
		readGenkitModel(name, input, output, o)
		o.RequestLabel, o.ResponseLabel = inputLabel, outputLabel
	case Tool:
		o.Name = name[strings.LastIndexByte(name, '/')+1:] // what stands before it is a namespace that the model does not see
		o.ToolKind = tape.ToolFunction
		if v := a.json("genkit:input"); !v.IsAbsent() {
			o.Args = argsContent(v)
			if inputLabel != "" {
				o.Args.Label = inputLabel
			}
		}
		if v := a.json("genkit:output"); !v.IsAbsent() {
			o.Result = genkitResult(resultContent(v, true), genkitSubtype(a))
			if outputLabel != "" {
				o.Result.Label = outputLabel
			}
		}
	case Retrieval:
		o.Name = name
		o.Query = Content{Value: input.First("query", "text")}
		for _, m := range output.Get("documents").Members() {
			o.Documents = append(o.Documents, m.Value)
		}
	case Noise:
		o.NoiseReason = genkitSubtype(a)
	}
}

// genkitUnwritten begins what Genkit for Go writes in place of a value that has no JSON form.
const genkitUnwritten = "ERROR: json: "

// genkitJSON decodes an input or output; one that does not decode was cut on its way.
func genkitJSON(a attributes, key string) (exactjson.Value, tape.Label) {
	v := a.json(key)
	if v.Kind() != exactjson.String {
		return v, ""
	}
	parsed, err := exactjson.Parse(strings.TrimSpace(v.Str()))
	if strings.HasPrefix(parsed.Str(), genkitUnwritten) || strings.HasPrefix(v.Str(), genkitUnwritten) {
		return exactjson.Value{}, tape.Lossy
	}
	if err != nil {
		if looksJSON(v.Str()) {
			return exactjson.Value{}, tape.Truncated
		}
		return v, ""
	}
	return parsed, ""
}

// genkitResult takes the object off in which multipart tools return: {"output": X}, with media beside it where there is any.
func genkitResult(c Content, subtype string) Content {
	if subtype == "tool.v2" && c.Value.Kind() == exactjson.Object && c.Value.Len() == 1 {
		if inner := c.Value.Get("output"); !inner.IsAbsent() {
			c.Value, c.Envelope = inner, append(c.Envelope, "genkit.multipart")
		}
	}
	return c
}

func readGenkitAgent(a attributes, name string, input, output exactjson.Value, o *Observation) {
	generate := genkitSubtype(a) == "util"
	o.WeakAgent = generate
	if !generate {
		o.Agent.Name = name
	}
	o.InputData, o.OutputData = Content{Value: input}, Content{Value: output}
	switch input.Kind() {
	case exactjson.String:
		o.Input = []Message{{Role: tape.RoleUser, Parts: []Part{textPart(input.Str())}}}
	case exactjson.Object:
		if body := input.Get("messages"); body.Kind() == exactjson.Array {
			o.Input, _ = messagesOf(body, tape.RoleUser)
		} else if body := input.Get("message"); body.Get("content").Kind() == exactjson.Array {
			o.Input = []Message{roleMessage(body, tape.RoleUser)}
		}
	}
	switch output.Kind() {
	case exactjson.String:
		o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(output.Str())}}}
	case exactjson.Object:
		o.Output = genkitAnswer(output)
	}
	if output.Get("finishReason").Str() == "interrupted" {
		o.Interrupted, o.Output = true, nil // what was said before the question is no answer
	}
}

// genkitAnswer returns the message of a response; old versions list candidates, of which the first counts.
func genkitAnswer(output exactjson.Value) []Message {
	answer := output
	if first := output.Get("candidates").At(0); first.Kind() == exactjson.Object {
		answer = first
	}
	message := answer.Get("message")
	if message.Kind() != exactjson.Object {
		return nil
	}
	m := roleMessage(message, tape.RoleAssistant)
	m.Role = tape.RoleAssistant
	m.FinishReason = answer.Get("finishReason").Str()
	return []Message{m}
}

func readGenkitModel(name string, input, output exactjson.Value, o *Observation) {
	o.Model = name
	if provider, model, ok := strings.Cut(name, "/"); ok {
		o.Provider, o.Model = providerOf(provider), model
	}
	str(&o.Model, input.Get("config").Get("version").Str())
	o.Request, _ = messagesOf(input.Get("messages"), tape.RoleUser)
	o.Tools = toolDefinitions(input.Get("tools"))
	for _, m := range input.Get("config").Members() {
		if canonical, ok := paramNames[m.Name]; ok {
			o.param(canonical, m.Value)
		}
	}
	if choice := input.Get("toolChoice"); !choice.IsEmpty() {
		o.param("tool_choice", choice)
	}
	o.Response = genkitAnswer(output)
	if len(o.Response) > 0 && o.Response[0].FinishReason != "" {
		o.FinishReasons = []string{o.Response[0].FinishReason}
	}
	raw := output.First("raw", "custom")
	o.ResponseID, o.ResponseModel = raw.First("id", "responseId").Str(), raw.First("model", "modelVersion").Str()
	usage := output.Get("usage")
	count := func(names ...string) *int64 {
		if n, ok := countOf(usage.First(names...)); ok {
			return &n
		}
		return nil
	}
	o.Usage = tape.Usage{
		InputTokens: count("inputTokens"), OutputTokens: count("outputTokens"),
		CacheReadTokens: count("cachedContentTokens"), ReasoningTokens: count("thoughtsTokens"),
	}
}
