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
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Read returns what one item says. Each field comes from the first of its dialects that holds it undamaged.
func Read(s *dialect.Source) *dialect.Report { return readItem(s).Seal() }

func readItem(s *dialect.Source) *dialect.Draft {
	if calls := exchanges(s); len(calls) > 0 {
		return readLoop(s, calls)
	}
	o := readLabelled(s, dialect.Unclassified)
	if o.Class == dialect.Agent && saysModel(s) {
		o.Held = readHeld(s)
	}
	return o
}

// readLoop reads the span of a loop with the model calls that stand on it as events. The calls tell what went
// in and came out.
func readLoop(s *dialect.Source, calls []ptrace.Span) *dialect.Draft {
	o := readLabelled(withoutExchanges(s), dialect.Agent)
	o.Input, o.Output, o.InputData, o.OutputData = nil, nil, decode.Content{}, decode.Content{}
	for _, span := range calls {
		call := *s
		call.Dialects, call.Logs, call.Also, call.Span = nil, nil, nil, span
		o.Exchanges = append(o.Exchanges, dialect.Exchange{Span: span, Said: readLabelled(&call, dialect.Model).Seal()})
	}
	return o
}

// saysModel reports a span that says it is a model call. A package that hooks into the client of a provider
// writes on the current span, which may be that of the agent (OpenInference with ADK 2.13).
func saysModel(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	return s.ScopeName != dialect.LogScope &&
		(semconv.OperationClasses[a.Text("gen_ai.operation.name")] == dialect.Model || strings.EqualFold(a.Text("openinference.span.kind"), "llm"))
}

// readHeld reads the model call on the span of an agent, the last of several that were written over each
// other. It returns nil where the request or the answer is not there whole. Keys with a number are left out:
// they may be rests of earlier calls.
func readHeld(s *dialect.Source) *dialect.Report {
	last := *s
	last.Dialects, last.Logs, last.Span = nil, nil, ptrace.NewSpan()
	s.Span.CopyTo(last.Span)
	last.Span.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool {
		return slices.ContainsFunc(strings.Split(key, "."), func(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" })
	})
	o := read(&last, dialect.Model)
	if len(o.Request) == 0 || len(o.Response) == 0 && !o.StatusError {
		o.Discard()
		return nil
	}
	if s.Limited {
		labelCuts(&last, o, dialect.Model)
	}
	o.Notes = nil // those of the span stand with the agent
	return o.Seal()
}

// readLabelled is read for an item whose texts a limit may have cut.
func readLabelled(s *dialect.Source, as dialect.Class) *dialect.Draft {
	o := read(s, as)
	if s.Limited {
		labelCuts(s, o, as)
	}
	return o
}

// read reads an item as what it says it is, or as one of the given class.
func read(s *dialect.Source, as dialect.Class) *dialect.Draft {
	s = asSet(withDetails(s))
	o := readDialects(s, as)
	readSettings(s, o)
	readBodies(s, o)
	if o.Class == dialect.Unclassified || s.Addition {
		o.Class = dialect.Structure
	}
	readAdditions(s, o)
	labelContent(s, o)
	runHooks(s, o, false)
	turnIntoStep(o)
	openTexts(o)
	readCommon(s, o)
	runHooks(s, o, true)
	o.Lists = nil
	return o
}

// readDialects reads what the dialects of an item say, each later one what the earlier ones leave open.
func readDialects(s *dialect.Source, as dialect.Class) *dialect.Draft {
	o := dialect.NewDraft()
	o.Lists, o.Quirks = s.Lists, quirksOf(s)
	dialects := dialectsOf(s)
	o.Dialects = make([]string, 0, len(dialects))
	for i, d := range dialects {
		switch {
		case i == 0 && readPrimary(d, s, o, as):
		case d == generic.Unknown && namesContent(o):
			if o.Class == dialect.Agent {
				generic.ReadSettings(s, o)
			}
		default:
			readFurther(d, s, o)
		}
	}
	o.Dialects = slices.Clip(o.Dialects)
	return o
}

// readPrimary reads an item by its primary dialect. It returns false where the dialect does not know the
// item.
func readPrimary(d *dialect.Dialect, s *dialect.Source, o *dialect.Draft, as dialect.Class) bool {
	quirks := o.Quirks
	if o.Class = as; as == dialect.Unclassified {
		o.Class, o.RunSpan = classOf(d, s)
	}
	o.SharesRequest = d == semconv.Dialect
	if o.Class != dialect.Unclassified {
		d.Read(s, o)
	}
	if o.Class == dialect.Unclassified {
		*o = dialect.Draft{Base: dialect.Base{Quirks: quirks, Dialects: o.Dialects}, Lists: s.Lists}
		return false
	}
	o.Dialects = append(o.Dialects, d.ID)
	return true
}

// namesContent reports an agent or a step whose content has been read under the names of OpenInference.
func namesContent(o *dialect.Draft) bool {
	return o.Class != dialect.Model && o.Class != dialect.Tool && slices.Contains(o.Dialects, openinference.Dialect.ID)
}

// readFurther fills what is open with what a further dialect reads. The class of the item decides how it is
// read.
func readFurther(d *dialect.Dialect, s *dialect.Source, o *dialect.Draft) {
	next := dialect.NewDraft()
	next.Lists, next.SharesRequest = s.Lists, d == semconv.Dialect
	if next.Class = o.Class; o.Class == dialect.Unclassified {
		next.Class, next.RunSpan = classOf(d, s)
	}
	if d.Read(s, next); next.Class != dialect.Unclassified {
		o.Dialects = append(o.Dialects, d.ID)
		if o.Args.Label == tape.Missing { // whatever else of this span looks like them
			next.Args = decode.Content{}
		}
		if o.Class == dialect.Model {
			takeFuller(&o.ModelCall, &next.ModelCall)
		}
		o.Fill(next)
	}
	next.Discard()
}

// classOf is the class of a span, or of a log record that stands alone (see Arrange).
func classOf(d *dialect.Dialect, s *dialect.Source) (dialect.Class, bool) {
	if s.ScopeName == dialect.LogScope {
		class := roleOfLog(s.Span).Class
		return class, class == dialect.Agent
	}
	return d.Classify(s)
}

// readSettings reads the model of a call that a team names beside the keys of a producer.
func readSettings(s *dialect.Source, o *dialect.Draft) {
	if o.Class == dialect.Model && o.Model == "" && o.ResponseModel == "" && s.ScopeName != dialect.LogScope {
		generic.ReadSettings(s, o)
	}
}

// readBodies reads a model call of which the bodies of its HTTP request alone were recorded. The span has to
// say that it is one: the spans of an agent that speaks the API of a provider itself look alike.
func readBodies(s *dialect.Source, o *dialect.Draft) {
	if o.Class != dialect.Model || len(o.Request)+len(o.Response) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return
	}
	a := decode.Attributes(s.Span.Attributes())
	if request := a.JSON("http.request.body", "http.request.body.content"); !request.IsAbsent() {
		dialect.ReadWholeModel(o, request, a.JSON("http.response.body", "http.response.body.content"))
	}
}

// readAdditions fills a call with what the spans say that only add to it.
func readAdditions(s *dialect.Source, o *dialect.Draft) {
	for _, span := range s.Also {
		more := readItem(&dialect.Source{Resource: s.Resource, ScopeName: s.ScopeName, ScopeVersion: s.ScopeVersion, Span: span})
		more.Class, more.Notes = o.Class, nil
		o.Fill(more)
		more.Discard()
	}
}

// labelContent labels the arguments and the result of a tool call that were masked or cut.
func labelContent(s *dialect.Source, o *dialect.Draft) {
	o.Args.LabelMasks()
	o.Result.LabelMasks()
	if o.Class != dialect.Tool {
		return
	}
	if isFlagAlone(s, o.Result.Value) {
		o.Failed, o.Result = o.Failed || o.Result.Value.Get("isError").True(), decode.Content{}
	}
	generic.LabelCut(s.Span.Attributes(), o)
}

// isFlagAlone reports a result of MCP, written key by key, of which the flag alone is left. The flag tells
// whether the tool failed, and not what it returned.
func isFlagAlone(s *dialect.Source, v exactjson.Value) bool {
	if v.Kind() != exactjson.Object || v.Len() != 1 || v.Get("isError").Kind() != exactjson.Bool {
		return false
	}
	for key := range s.Span.Attributes().All() {
		if strings.HasSuffix(key, ".isError") {
			return true
		}
	}
	return false
}

// turnIntoStep makes a step of the span that runs all tools of a turn.
func turnIntoStep(o *dialect.Draft) {
	if o.Class == dialect.Tool && decode.HandsCalls(o.Args.Value) {
		o.Class, o.InputData, o.OutputData = dialect.Structure, o.Args, o.Result
		o.Args, o.Result = decode.Content{}, decode.Content{}
	}
}

// openTexts opens the texts into which an instrumentation or a framework has put messages, calls and results.
func openTexts(o *dialect.Draft) {
	o.Response, o.Output = decode.Telling(decode.Unglue(decode.OpenWrittenCalls(o.Response), o.Request, o.Tools)), decode.Telling(o.Output)
	if decode.IsAddress(o.OutputData.Value) {
		o.OutputData = decode.Content{}
	}
	for _, messages := range []*[]decode.Message{&o.Request, &o.Input} {
		if opened, ok := decode.OpenInput(*messages); ok {
			*messages = opened
		}
	}
	o.OutputTools = append(o.OutputTools, decode.AnswerTools(o.Request)...)
	o.Request, o.Input = decode.OpenTasks(decode.OpenActions(o.Request)), decode.OpenTasks(o.Input)
	o.Request, o.Response = decode.OpenGoogleParts(o.Request), decode.OpenGoogleParts(o.Response)
	o.Request = decode.OpenGemini(o.Request, slices.Contains(geminis, o.Provider))
}

// geminis are the names of providers that serve Gemini's API.
var geminis = []string{"gcp.gemini", "gcp.vertex_ai", "gcp.gen_ai", "gemini", "vertex_ai", "google"}
