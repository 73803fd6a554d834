// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file reads the functions of a program that a decorator recorded.

// functionWords are those for a function.
var functionWords = []string{"fn", "func", "function"}

// calledFunction reads the function of a program that a span or its events record; nil: there is none.
// Functions are steps of a program. A conversation that knows one as a tool makes it the call of a tool;
// functions alone make no run.
func calledFunction(span ptrace.Span) *dialect.Called {
	for _, read := range []func(ptrace.Span) *dialect.Called{typedFunction, WrittenAround, byPosition, byNamespace} {
		if called := read(span); called != nil {
			return called
		}
	}
	return nil
}

// functionKeys are the keys of one namespace that may speak of a function. Of several keys for one value, the
// first in the order of the alphabet counts: attributes have no order.
type functionKeys struct {
	named         bool
	in, out       exactjson.Value
	inKey, outKey string
}

// byNamespace reads a function of which one namespace tells the name (acme.fn.qualname), the arguments as an
// object or a list (acme.fn.args, acme.trace.arg_values), and what it returned (acme.fn.output) unless it
// failed.
func byNamespace(span ptrace.Span) *dialect.Called {
	all := functionNamespaces(span)
	for _, namespace := range slices.Sorted(maps.Keys(all)) {
		p := all[namespace]
		if !p.named || p.in.IsAbsent() || p.out.IsAbsent() && !ended(span) {
			continue
		}
		if only := p.in.At(0); p.in.Kind() == exactjson.Array && p.in.Len() == 1 && only.Kind() == exactjson.Object {
			p.in = only
		}
		name := span.Name()
		if !strings.Contains(name, " ") {
			name = name[strings.LastIndexByte(name, '.')+1:]
		}
		return &dialect.Called{Name: name, In: p.in, Out: p.out}
	}
	return nil
}

func functionNamespaces(span ptrace.Span) map[string]*functionKeys {
	all := map[string]*functionKeys{}
	add := func(key string, v pcommon.Value) {
		end := strings.IndexAny(key, ".:")
		if end <= 0 || len(key) > 80 || isForeign(key) {
			return
		}
		w := words(key[end:])
		if len(w) == 0 {
			return
		}
		p := all[key[:end]]
		if p == nil {
			p = &functionKeys{}
			all[key[:end]] = p
		}
		p.add(key, w, v)
	}
	for key, v := range span.Attributes().All() {
		add(key, v)
	}
	for _, e := range told(span) {
		if e.attributes.Len() == 1 {
			for _, v := range e.attributes.All() {
				add(e.name, v)
			}
		}
	}
	return all
}

// add takes a key, by its words behind the namespace.
func (p *functionKeys) add(key string, w []string, v pcommon.Value) {
	last := w[len(w)-1]
	p.named = p.named || slices.ContainsFunc(w, func(word string) bool { return slices.Contains(functionWords, word) })
	switch {
	case last == "args" || last == "arguments" || last == "kwargs" || last == "values" && len(w) > 1 && w[len(w)-2] == "arg":
		if value, ok := decode.Structure(decode.JSONOf(v)); ok && value.Kind() >= exactjson.Array && (p.inKey == "" || key < p.inKey) {
			p.in, p.inKey = value, key
		}
	case last == "output" || last == "result" || last == "return" || last == "returned":
		if p.outKey == "" || key < p.outKey {
			p.out, p.outKey = decode.JSONOf(v), key
		}
	}
}

// typedFunction reads a span whose type is the word function alone, and that names the function of the
// program: span_type = Function beside function = Shop.answer (Prompt flow). A decorator writes that around
// the loop of an agent as well as around a tool. Without the name, some vendors use the type for the call of
// a tool. It returns nil for other spans.
func typedFunction(span ptrace.Span) *dialect.Called {
	if value, known := typeOf(span.Attributes()); !known || !strings.EqualFold(value, "function") {
		return nil
	}
	key, name := "", ""
	for k, v := range span.Attributes().All() {
		if v.Type() == pcommon.ValueTypeStr && v.Str() != "" && len(k) <= 80 && !isForeign(k) && typeRank(k) < 0 && lastWord(k) == "function" && (key == "" || k < key) {
			key, name = k, v.Str()
		}
	}
	if key == "" {
		return nil
	}
	in, out := contents(decode.Attributes(span.Attributes()))
	called := &dialect.Called{Name: name, In: best(in, ofTool), Out: best(out, ofTool)}
	if !strings.Contains(name, " ") {
		called.Name = name[strings.LastIndexByte(name, '.')+1:]
	}
	if called.In.IsAbsent() {
		return nil
	}
	return called
}

// maxArguments bounds how many arguments of a function are read.
const maxArguments = 8

// byPosition reads a function whose span holds its arguments by position and its result, under the name of
// the span: agent.generate.argument.0 beside agent.generate.result (Mastra before its tracing). It returns
// nil for other spans.
func byPosition(span ptrace.Span) *dialect.Called {
	if len(span.Name()) > maxFunctionName || !hasPositions(span) {
		return nil
	}
	var in []exactjson.Value
	for i := range maxArguments {
		v, ok := span.Attributes().Get(span.Name() + ".argument." + strconv.Itoa(i))
		if !ok {
			break
		}
		in = append(in, literal(decode.JSONOf(v)))
	}
	called := &dialect.Called{Name: span.Name()[strings.LastIndexByte(span.Name(), '.')+1:], In: exactjson.ArrayValue(in...)}
	if v, ok := span.Attributes().Get(span.Name() + ".result"); ok {
		called.Out = literal(decode.JSONOf(v))
	} else if !ended(span) {
		return nil
	}
	return called
}

func hasPositions(span ptrace.Span) bool {
	_, ok := span.Attributes().Get(span.Name() + ".argument.0")
	return ok
}

// mayBeFunction tells, without reading values, whether a span may be that of a function.
func mayBeFunction(span ptrace.Span) bool {
	for key := range span.Attributes().All() {
		if strings.Contains(key, "fn") || strings.Contains(key, "func") || slices.Contains(tookKeys, key) || slices.Contains(toolKeys, key) ||
			slices.Contains(questionNames, key[strings.IndexByte(key, '.')+1:]) {
			return true
		}
	}
	if hasPositions(span) {
		return true
	}
	for _, e := range span.Events().All() {
		if strings.Contains(e.Name(), "fn") || strings.Contains(e.Name(), "func") {
			return true
		}
	}
	return false
}

func isFunction(span ptrace.Span) bool { return mayBeFunction(span) && calledFunction(span) != nil }

// readFunction reads the span of a function.
func readFunction(called *dialect.Called, o *dialect.Draft) {
	o.Class, o.Called = dialect.Structure, called
	o.InputData, o.OutputData = decode.Content{Value: called.In}, decode.Content{Value: called.Out}
}

// Bare keys under which an application writes what went in and what came out, on a span around a function of
// its own. A question counts by itself. Other programs write an input of their steps as well: it counts
// beside what came out.
var (
	askedKeys = []string{"question", "prompt", "user_input", "user_message", "user_query", "user_prompt", "user_question"}
	tookKeys  = append(slices.Clone(askedKeys), "input")
	gaveKeys  = []string{"output", "answer", "response", "reply", "result"}

	toolKeys      = []string{"tool", "tool_name", "toolName"} // beside what it was handed
	parameterKeys = []string{"parameters", "params", "arguments", "args", "input"}
)

// WrittenAround reads a span that an application wrote around a function of its own: a question, an input
// beside its output, or a tool beside its parameters. It returns nil for other spans.
func WrittenAround(span ptrace.Span) *dialect.Called {
	first := func(keys []string) exactjson.Value {
		for _, key := range keys {
			if v, ok := span.Attributes().Get(key); ok {
				return decode.JSONOf(v)
			}
		}
		return exactjson.Value{}
	}
	if tool := first(toolKeys).Str(); tool != "" {
		if in, ok := decode.Structure(first(parameterKeys)); ok && in.Kind() == exactjson.Object {
			return &dialect.Called{Name: tool, In: in, Out: first(gaveKeys), Tool: true}
		}
	}
	called := &dialect.Called{Name: span.Name(), In: first(tookKeys), Out: first(gaveKeys)}
	if called.In.IsAbsent() || called.Out.IsAbsent() && !ended(span) && first(askedKeys).Str() == "" {
		return answeredQuestion(span)
	}
	return called
}

// Names that tell a question and its answer under a namespace of the application.
var (
	questionNames = []string{"question", "user_question", "user_query", "user_message"}
	answerNames   = []string{"answer", "reply", "response"}
	agentNames    = []string{"agent", "assistant", "bot", "chatbot", "copilot"}
)

// answeredQuestion reads a span that is named after an agent and holds a question and its answer in one
// namespace: app.question beside app.answer. The answer may be missing where the span failed. Of several
// namespaces the first in alphabetical order counts.
func answeredQuestion(span ptrace.Span) *dialect.Called {
	asked := ""
	if len(span.Name()) > maxFunctionName || !slices.ContainsFunc(words(span.Name()), func(word string) bool { return slices.Contains(agentNames, word) }) {
		return nil // forms and help desks have questions and answers, too
	}
	for key, v := range span.Attributes().All() {
		at := strings.IndexByte(key, '.')
		if at <= 0 || v.Type() != pcommon.ValueTypeStr || v.Str() == "" || !slices.Contains(questionNames, key[at+1:]) || isForeign(key) || asked != "" && asked < key {
			continue
		}
		if ended(span) || slices.ContainsFunc(answerNames, func(name string) bool { _, ok := span.Attributes().Get(key[:at+1] + name); return ok }) {
			asked = key
		}
	}
	if asked == "" {
		return nil
	}
	called := &dialect.Called{Name: span.Name(), In: decode.Attributes(span.Attributes()).JSON(asked)}
	for _, name := range answerNames {
		if v, ok := span.Attributes().Get(asked[:strings.IndexByte(asked, '.')+1] + name); ok {
			called.Out = decode.JSONOf(v)
			break
		}
	}
	return called
}
