// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape"
)

// receiverOf reads the recorded runs of a group.
func receiverOf(t *testing.T, group string, traces, logs bool) *Receiver {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../../testdata/corpus/agents", group, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	in := NewReceiver()
	for _, file := range files {
		if strings.HasSuffix(file, ".truth.json") {
			continue
		}
		for document, err := range otlpfile.ReadFile(file, nil, otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if traces {
				in.AddTraces(document.Traces)
			}
			if logs {
				in.AddLogs(document.Logs)
			}
		}
	}
	if in.Len() == 0 {
		t.Fatalf("no telemetry of %s", group)
	}
	return in
}

func find(r Report, code tape.Code) (Missing, bool) {
	for _, s := range r.Sources {
		for _, m := range s.Missing {
			if m.Code == code {
				return m, true
			}
		}
	}
	return Missing{}, false
}

func TestACompleteRecordingIsHealthy(t *testing.T) {
	r := receiverOf(t, "vercel-ai-v7-genai", true, true).Diagnose()
	if !r.Healthy() || len(r.Sources) != 1 {
		t.Fatalf("%+v", r)
	}
	s := r.Sources[0]
	if s.Dialect != "vercel-ai-genai" || s.Runs != 9 || s.Grades[tape.GradeOffline] != 9 || s.ToolCalls != 16 || s.ModelCalls == 0 || s.Spans == 0 {
		t.Errorf("%+v", s)
	}
}

func TestContentThatIsOffIsNamedWithItsSwitch(t *testing.T) {
	r := receiverOf(t, "openai-otel-contrib-nocontent", true, true).Diagnose()
	if r.Healthy() {
		t.Fatalf("%+v", r)
	}
	m, ok := find(r, tape.CodeContentAbsent)
	if !ok || !strings.Contains(m.Fix, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY") || m.Count == 0 {
		t.Errorf("%+v", m)
	}
}

func TestLogRecordsThatDoNotComeAreAskedFor(t *testing.T) {
	m, ok := find(receiverOf(t, "codex-cli", true, false).Diagnose(), tape.CodeContentAbsent)
	if !ok || !strings.Contains(m.Fix, "genailogs") {
		t.Errorf("without log records: %+v", m)
	}
	for _, s := range receiverOf(t, "codex-cli", true, true).Diagnose().Sources {
		for _, m := range s.Missing {
			if strings.Contains(m.Fix, "genailogs") {
				t.Errorf("with log records: %+v", m)
			}
		}
	}
}

func TestEveryRunAndCallIsCountedOnce(t *testing.T) {
	for _, group := range []string{"langchain-openinference", "mcp-openinference", "gemini-cli", "traceloop-sdk-anthropic", "claude-code"} {
		in := receiverOf(t, group, true, true)
		r := in.Diagnose()
		runs, calls, graded := 0, 0, 0
		for _, s := range r.Sources {
			runs += s.Runs
			calls += s.ModelCalls + s.ToolCalls
			for _, n := range s.Grades {
				graded += n
			}
		}
		if runs == 0 || runs != graded || calls == 0 {
			t.Errorf("%s: %d runs, %d graded, %d calls", group, runs, graded, calls)
		}
	}
}

func TestSpansOfNoAgentAreNamed(t *testing.T) {
	in := NewReceiver()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("net/http")
	ss.Spans().AppendEmpty().SetName("GET")
	in.AddTraces(td)
	want := Report{NonAgent: []NonAgent{{Source{"shop", "net/http", ""}, 1}}}
	r := in.Diagnose()
	if diff := cmp.Diff(want, r); diff != "" || r.Healthy() {
		t.Errorf("healthy %v %s", r.Healthy(), diff)
	}
}

func TestEveryWarningOfATapeHasARemedy(t *testing.T) {
	decided := map[tape.Code]bool{} // warnings that nothing is to be done about
	for _, k := range tape.FindingKinds {
		if _, ok := adviceFor[k.Code]; k.Severity != tape.SeverityInfo && !ok && !decided[k.Code] {
			t.Errorf("%s has no advice", k.Code)
		}
	}
	for code, r := range adviceFor {
		for _, d := range append([]*genai.Dialect{nil}, genai.Dialects...) {
			if fix := r.fix(&Diagnosis{}, d); fix == "" || strings.Contains(fix, "`") {
				t.Errorf("%s: %q", code, fix)
			}
		}
		if r.meaning == "" {
			t.Errorf("%s has no meaning", code)
		}
	}
	for id := range cuts {
		if dialect(id) == nil {
			t.Errorf("no dialect %s", id)
		}
	}
}

func diagnosed(t *testing.T, scope, name string, attributes ...string) Report {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "shop")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(scope)
	span := ss.Spans().AppendEmpty()
	span.SetName(name)
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{1})
	span.SetStartTimestamp(1)
	span.SetEndTimestamp(2)
	for i := 0; i+1 < len(attributes); i += 2 {
		span.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	in := NewReceiver()
	in.AddTraces(td)
	return in.Diagnose()
}

func TestNoSettingIsNamedForContentThatIsThere(t *testing.T) {
	const scope = "openinference.instrumentation.any"
	for _, c := range []struct {
		attribute, value string
		ours             bool
	}{{"vendor.tool.args_text", "sku: 7", true}, {"vendor.tool.args_text.length", "6", false}, {"vendor.tool.arguments", "{}", false}, {"vendor.note", "sku: 7", false}} {
		r := diagnosed(t, scope, "f", "openinference.span.kind", "TOOL", "tool.name", "f", "output.value", "99", c.attribute, c.value)
		m, ok := find(r, tape.CodeArgsMissing)
		if named := strings.Contains(m.Fix, "OPENINFERENCE_HIDE"); !ok || named == c.ours || strings.Contains(m.Fix, "no setting") != c.ours {
			t.Errorf("%s=%s: %+v", c.attribute, c.value, m)
		}
	}
}

// ADK since 2.13 records no content unless it is told to, and "true" sends it to log records alone.
func TestAdviceForADKIsWhatItsCurrentReleaseTakes(t *testing.T) {
	r := diagnosed(t, "gcp.vertex.agent", "call_llm", "gen_ai.operation.name", "generate_content", "gen_ai.system", "gcp.vertex.agent", "gen_ai.request.model", "gemini-2.5-flash")
	if m, ok := find(r, tape.CodeContentAbsent); !ok || !strings.Contains(m.Fix, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY") {
		t.Errorf("%+v", r)
	}
}

func TestTracesWithContentAndWithoutATapeAreExplained(t *testing.T) {
	m, ok := find(diagnosed(t, "pipeline", "haystack.component.run", "haystack.component.name", "joiner", "haystack.component.output", `{"text":"the answer"}`), CodeNoTape)
	if !ok || m.Count != 1 || !strings.Contains(m.Fix, "HAYSTACK_CONTENT_TRACING_ENABLED") {
		t.Errorf("%+v", m)
	}
	if m, ok := find(diagnosed(t, "pipeline", "haystack.component.run", "haystack.component.name", "joiner"), CodeNoTape); ok {
		t.Errorf("a trace that holds nothing: %+v", m)
	}
}
