// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// googleGenAI reads the OpenTelemetry package for the google-genai SDK. Its older releases put the events of a call into log records;
// Logfire moves them into one attribute (events). Automatic function calls are flattened, value by value, as text.
var googleGenAI = &Dialect{
	ID:       "google-genai",
	Name:     "google-genai SDK (OpenTelemetry)",
	Scopes:   []string{"opentelemetry.instrumentation.google_genai", "opentelemetry.instrumentation.genai.google_genai"},
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`",
	classify: classifyGoogleGenAI,
	read:     readGoogleGenAI,
}

func classifyGoogleGenAI(s *Source) (Class, bool) {
	first, _, _ := strings.Cut(s.Span.Name(), " ")
	switch first {
	case "generate_content", "chat":
		return Model, false
	case "execute_tool":
		return Tool, false
	}
	return Unclassified, false
}

func readGoogleGenAI(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Model:
		for key, v := range a.all() {
			if name, ok := strings.CutPrefix(key, "gcp.gen_ai.operation.config."); ok {
				if canonical, ok := paramNames[name]; ok {
					o.param(canonical, jsonOf(v))
				}
			}
		}
		events, ok := structureOf(a.json("events"))
		if !ok {
			readGeminiEvents(s, o)
			return
		}
		for _, m := range events.Members() {
			fields := m.Value
			answer := !fields.Get("message").IsAbsent() || !fields.Get("index").IsAbsent()
			if fields.Get("content").Str() == "<elided>" {
				if o.RequestLabel = tape.Masked; answer {
					o.ResponseLabel = tape.Masked
				}
				continue
			}
			switch {
			case answer:
				message := fields.Get("message")
				if message.IsAbsent() {
					message = fields
				}
				o.Response = append(o.Response, Message{
					Role: tape.RoleAssistant, Parts: partsOf(message.Get("content")), FinishReason: fields.Get("finish_reason").Text(),
				})
			case fields.Get("role").Str() == "system":
				o.System = append(o.System, partsOf(fields.Get("content"))...)
			default:
				o.Request = append(o.Request, messageWith(roleOf(fields.Get("role").Str()), "", partsOf(fields.Get("content"))))
			}
		}
		o.Response = joinChunks(o.Response)
		// one event per part: what the user said at once is one message
		joined := o.Request[:0:0]
		for _, m := range o.Request {
			if n := len(joined) - 1; n >= 0 && joined[n].Role == m.Role {
				joined[n].Parts = append(joined[n].Parts, m.Parts...)
				continue
			}
			joined = append(joined, m)
		}
		o.Request = joined
	case Tool:
		o.ToolKind = tape.ToolFunction
		if v := a.unflatten("code.function.parameters."); v.Kind() == exactjson.Object {
			var members []exactjson.Member
			text := false
			for _, m := range v.Members() {
				value := m.Value.Get("value")
				if value.IsAbsent() {
					return // content is off: only the types are told
				}
				typed, exact := googleTyped(value, m.Value.Get("type").Str())
				text = text || !exact
				members = append(members, exactjson.Member{Name: m.Name, Value: typed})
			}
			o.Args = Content{Value: exactjson.ObjectValue(members...)}
			if text {
				o.Args.Label = tape.Lossy
			}
		} else if n := a.count("code.args.keyword.count"); n != nil && *n == 0 {
			o.Args = Content{Value: exactjson.ObjectValue()}
		}
		if v := a.json("code.function.return.value"); !v.IsAbsent() {
			typed, exact := googleTyped(v, a.str("code.function.return.type"))
			o.Result = Content{Value: typed}
			if !exact {
				o.Result.Label = tape.Lossy
			}
		}
	}
}

// googleTyped gives a value that was written as text its type back; exact is false where the text is a repr.
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
	if parsed, lossy, ok := parsePython(v.Str()); ok && !lossy {
		return parsed, true
	}
	return v, false
}
