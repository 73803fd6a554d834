// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package genaitest holds what the tests of the dialects share: reading fixtures, and writing reports and
// messages as text.
package genaitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// Update says that a test writes its golden files instead of comparing them.
var Update = flag.Bool("update", false, "write what the spans of the fixtures say into the .said.txt files beside them")

// Sources returns the spans of <path>.otlp.json in the order of the file.
func Sources(t *testing.T, path string) []*dialect.Source {
	t.Helper()
	data, err := os.ReadFile(path + ".otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(data)
	if err != nil {
		t.Fatal(err)
	}
	var out []*dialect.Source
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				out = append(out, &dialect.Source{Resource: rs.Resource().Attributes(), ScopeName: ss.Scope().Name(), ScopeVersion: ss.Scope().Version(), Span: span})
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s holds no spans", path)
	}
	return out
}

// SaysAsRecorded compares what every span of a fixture says with the text beside it.
func SaysAsRecorded(t *testing.T, read func(*dialect.Source) *dialect.Report, name string) {
	t.Helper()
	var b strings.Builder
	for _, s := range Sources(t, filepath.Join("testdata", name)) {
		fmt.Fprintf(&b, "== %s %s\n%s\n", s.Span.Name(), s.Span.SpanID(), Said(read(s)))
	}
	Golden(t, filepath.Join("testdata", name+".said.txt"), b.String())
}

// Golden compares a text with that of a file, or writes it there (see Update).
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// Says compares what a report says with the wanted text.
func Says(t *testing.T, o *dialect.Report, want string) {
	t.Helper()
	if got := Said(o); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Span makes a source of one span with the given attributes, alternating keys and values.
func Span(scope, name string, keysAndValues ...string) *dialect.Source {
	span := ptrace.NewSpan()
	span.SetName(name)
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		span.Attributes().PutStr(keysAndValues[i], keysAndValues[i+1])
	}
	return &dialect.Source{Resource: pcommon.NewMap(), ScopeName: scope, Span: span}
}

// ClassNames are the names of the classes in the texts of the tests.
var ClassNames = map[dialect.Class]string{
	dialect.Unclassified: "unclassified", dialect.Agent: "agent", dialect.Model: "model", dialect.Tool: "tool", dialect.Retrieval: "retrieval", dialect.Structure: "structure", dialect.Entry: "entry", dialect.Noise: "noise",
}

// Said writes a report as lines, without what it does not say.
func Said(o *dialect.Report) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	flagged := func(name string, set bool) {
		if set {
			line(name, "yes")
		}
	}
	line("class", ClassNames[o.Class])
	if len(o.Dialects) > 0 {
		line("dialect", o.Dialects[0])
	}
	flagged("run span", o.RunSpan)
	flagged("weak", o.WeakAgent)
	flagged("summary", o.Summary)
	line("noise", o.NoiseReason)
	line("agent", strings.Join(strings.Fields(o.Agent.Name+" "+o.Agent.ID), " / "))
	line("conversation", o.ConversationID)
	line("invocation", o.InvocationID)
	line("task", o.TaskID)
	line("user", o.UserID)
	line("model", o.Model)
	line("provider", o.Provider)
	for _, p := range o.Params {
		line("param "+p.Name, p.Value.JSON())
	}
	messages := func(name string, list []decode.Message, label tape.Label) {
		line(name+" label", string(label))
		for _, m := range list {
			line(name, string(m.Role)+saidParts(m.Parts)+bracketed2(m.FinishReason))
		}
	}
	if len(o.System) > 0 {
		line("system", strings.TrimPrefix(saidParts(o.System), " "))
	}
	messages("input", o.Input, "")
	messages("output", o.Output, "")
	messages("request", o.Request, o.RequestLabel)
	messages("response", o.Response, o.ResponseLabel)
	for _, d := range o.Tools {
		line("offers", d.Name)
	}
	line("finish", strings.Join(o.FinishReasons, " "))
	line("response id", o.ResponseID)
	line("response model", o.ResponseModel)
	saidUsage(o.Usage, line)
	line("name", o.Name)
	line("call", o.CallID)
	line("kind", string(o.ToolKind))
	if o.Server != nil {
		line("server", o.Server.Name+" / "+o.Server.Tool)
	}
	value := func(name string, c decode.Content) {
		if c.Present() {
			line(name, c.Value.JSON()+bracketed2(string(c.Label))+bracketed2(strings.Join(c.Envelope, " ")))
		}
	}
	value("args", o.Args)
	value("result", o.Result)
	flagged("failed", o.Failed)
	line("waiting", string(o.Waiting))
	if o.Error != nil {
		line("error", strings.TrimSpace(o.Error.Type+" "+o.Error.Message))
	}
	for _, n := range o.Notes {
		line("note", string(n.Code)+" "+n.Field)
	}
	return b.String()
}

func saidUsage(u tape.Usage, line func(name, text string)) {
	for _, c := range []struct {
		name  string
		count *int64
	}{
		{"input tokens", u.InputTokens}, {"output tokens", u.OutputTokens}, {"cache read tokens", u.CacheReadTokens},
		{"cache write tokens", u.CacheWriteTokens}, {"reasoning tokens", u.ReasoningTokens},
	} {
		if c.count != nil {
			line(c.name, fmt.Sprint(*c.count))
		}
	}
}

func bracketed2(text string) string {
	if text == "" {
		return ""
	}
	return " [" + text + "]"
}

func saidParts(parts []decode.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(" | ")
		switch p.Type {
		case tape.PartText, tape.PartReasoning:
			text := []rune(p.Text)
			if len(text) > 120 {
				text = append(text[:120], '…')
			}
			fmt.Fprintf(&b, "%s %q", p.Type, string(text))
		case tape.PartToolCall:
			fmt.Fprintf(&b, "call %s %s %s", p.Name, p.ID, p.Args.JSON())
		case tape.PartToolResult:
			fmt.Fprintf(&b, "result %s %s %s", p.Name, p.ID, p.Result.JSON())
			if p.IsError {
				b.WriteString(" failed")
			}
		case tape.PartMedia:
			fmt.Fprintf(&b, "media %s %s %s", p.MIMEType, p.URI, p.SHA256)
		default:
			fmt.Fprintf(&b, "%s %s", p.Type, p.Value.JSON())
		}
		b.WriteString(bracketed2(string(p.Label)))
		b.WriteString(bracketed2(strings.Join(p.Envelope, " ")))
		if p.Injected {
			b.WriteString(" [injected]")
		}
	}
	return b.String()
}
