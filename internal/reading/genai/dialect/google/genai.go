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

// GenAI reads the OpenTelemetry package for the google-genai SDK. Its older releases put the events of a call
// into log records; Logfire moves them into one attribute (events). Automatic function calls are flattened,
// value by value, as text.
var GenAI = &dialect.Dialect{
	ID:       "google-genai",
	Name:     "google-genai SDK (OpenTelemetry)",
	Scopes:   []string{"opentelemetry.instrumentation.google_genai", "opentelemetry.instrumentation.genai.google_genai"},
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	Settings: []dialect.Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "true", Yields: true}},
	Classify: classifyGoogleGenAI,
	Read:     readGoogleGenAI,
}

func classifyGoogleGenAI(s *dialect.Source) (dialect.Class, bool) {
	first, _, _ := strings.Cut(s.Span.Name(), " ")
	switch first {
	case "generate_content", "chat":
		return dialect.Model, false
	case "execute_tool":
		return dialect.Tool, false
	}
	return dialect.Unclassified, false
}

func readGoogleGenAI(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Model:
		for key, v := range a.All() {
			if name, ok := strings.CutPrefix(key, "gcp.gen_ai.operation.config."); ok {
				if canonical, ok := decode.ParamNames[name]; ok {
					o.AddParam(canonical, decode.JSONOf(v))
				}
			}
		}
		if events, ok := decode.Structure(a.JSON("events")); ok {
			readGoogleEvents(events, o)
		} else {
			readGeminiEvents(s, o)
		}
	case dialect.Tool:
		o.ToolKind = tape.ToolFunction
		readGoogleTool(a, o)
	}
}

// readGoogleEvents reads the events of a call that Logfire moved into one attribute. Each event holds a part,
// or a whole message of whoever said it. What the user said at once, part by part, is one message.
func readGoogleEvents(events exactjson.Value, o *dialect.Draft) {
	parts := true
	for _, m := range events.Members() {
		fields := m.Value
		content := fields.Get("content")
		answer := !fields.Get("message").IsAbsent() || !fields.Get("index").IsAbsent()
		switch {
		case content.Str() == "<elided>":
			if o.RequestLabel = tape.Masked; answer {
				o.ResponseLabel = tape.Masked
			}
		case answer:
			message := fields.Get("message")
			if message.IsAbsent() {
				message = fields
			}
			o.Response = append(o.Response, decode.Message{
				Role: tape.RoleAssistant, Parts: decode.Parts(message.Get("content")), FinishReason: fields.Get("finish_reason").Text(),
			})
		case fields.Get("role").Str() == "system":
			o.System = append(o.System, decode.Parts(content)...)
		case content.Get("parts").Kind() == exactjson.Array:
			parts = false
			o.Request = append(o.Request, decode.RoleMessage(content, decode.RoleOf(fields.Get("role").Str())))
		default:
			o.Request = append(o.Request, decode.MessageWith(decode.RoleOf(fields.Get("role").Str()), "", decode.Parts(content)))
		}
	}
	o.Response = joinChunks(o.Response)
	joined := o.Request[:0:0]
	for _, m := range o.Request {
		if n := len(joined) - 1; parts && n >= 0 && joined[n].Role == m.Role {
			joined[n].Parts = append(joined[n].Parts, m.Parts...)
			continue
		}
		joined = append(joined, m)
	}
	o.Request = joined
}

// readGoogleTool reads an automatic function call. Without a value of each argument the capture of content is
// off: the types alone are told.
func readGoogleTool(a decode.Attributes, o *dialect.Draft) {
	if v := a.Unflatten("code.function.parameters."); v.Kind() == exactjson.Object {
		var members []exactjson.Member
		text := false
		for _, m := range v.Members() {
			value := m.Value.Get("value")
			if value.IsAbsent() {
				return
			}
			typed, exact := googleTyped(value, m.Value.Get("type").Str())
			text = text || !exact
			members = append(members, exactjson.Member{Name: m.Name, Value: typed})
		}
		o.Args = decode.Content{Value: exactjson.ObjectValue(members...)}
		if text {
			o.Args.Label = tape.Lossy
		}
	} else if n := a.Count("code.args.keyword.count"); n != nil && *n == 0 {
		o.Args = decode.Content{Value: exactjson.ObjectValue()}
	}
	if v := a.JSON("code.function.return.value"); !v.IsAbsent() {
		typed, exact := googleTyped(v, a.Text("code.function.return.type"))
		o.Result = decode.Content{Value: typed}
		if !exact {
			o.Result.Label = tape.Lossy
		}
	}
}

// googleTyped returns a value of the type that its text had. exact is false where the text is a repr.
func googleTyped(v exactjson.Value, kind string) (exactjson.Value, bool) {
	if v.Kind() != exactjson.String {
		return v, true
	}
	switch kind {
	case "str", "":
		return v, true
	case "int", "float":
		if n, err := exactjson.Parse(v.Str()); err == nil && n.Kind() == exactjson.Number {
			return n, true
		}
	case "bool":
		return exactjson.BoolValue(strings.EqualFold(v.Str(), "true")), true
	case "NoneType":
		return exactjson.NullValue, true
	}
	if parsed, err := exactjson.Parse(v.Str()); err == nil {
		return parsed, true
	}
	if parsed, lossy, ok := decode.Python(v.Str()); ok && !lossy {
		return parsed, true
	}
	return v, false
}
