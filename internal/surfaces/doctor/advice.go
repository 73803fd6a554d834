// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// advice explains a finding to the owner of an agent: what it means, and which setting changes it.
type advice struct {
	severity tape.Severity // info: the run can be replayed all the same
	meaning  string
	fix      func(e *Diagnosis, d *genai.Dialect) string
}

func always(text string) func(*Diagnosis, *genai.Dialect) string {
	return func(*Diagnosis, *genai.Dialect) string { return text }
}

// adviceFor holds the advice for each finding that the report shows. The other findings record decisions; they do not say that telemetry
// is missing.
var adviceFor = map[tape.Code]advice{
	tape.CodeContentAbsent:       {tape.SeverityWarning, "content is not recorded", contentSwitch},
	tape.CodeArgsMissing:         {tape.SeverityWarning, "arguments of tool calls are not recorded", contentSwitch},
	tape.CodeResultMissing:       {tape.SeverityWarning, "results of tool calls are not recorded", contentSwitch},
	tape.CodeResultDisputed:      {tape.SeverityWarning, "records contradict each other about what a tool returned", always("no setting: look for what changes a result between the tool and the model; both results stand on the tape")},
	tape.CodeTruncated:           {tape.SeverityWarning, "values are cut", lengthLimit},
	tape.CodeMasked:              {tape.SeverityWarning, "values are masked by the producer", always("turn the masking of the instrumentation off and redact in the collector, where equal values stay equal")},
	tape.CodeLossyRepr:           {tape.SeverityWarning, "values are written as a representation that may differ", always("no setting: update the instrumentation, or use one that writes JSON (docs/dialects.md)")},
	tape.CodeEnvelopeSuspected:   {tape.SeverityWarning, "arguments or results of tools may stand in an envelope", always("no setting for the envelope; with spans of the model calls that hold what was sent and answered, these prove what is inside")},
	tape.CodeDroppedAttributes:   {tape.SeverityWarning, "the SDK dropped attributes or events", always("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 and OTEL_SPAN_EVENT_COUNT_LIMIT=10000")},
	tape.CodeRootMissing:         {tape.SeverityWarning, "the run span never came", always("flush the SDK before the process ends (shutdown of the tracer provider), record whole traces (OTEL_TRACES_SAMPLER=always_on), and record until the run has ended")},
	tape.CodeUnfinished:          {tape.SeverityWarning, "the end of runs is not recorded", always("flush the SDK before the process ends (shutdown of the tracer provider), and record until the run has ended")},
	tape.CodeSpanGap:             {tape.SeverityWarning, "spans between those of the run are missing", always("OTEL_TRACES_SAMPLER=always_on, no filter or sampling before the agentrun processor")},
	tape.CodeUnansweredToolCall:  {tape.SeverityWarning, "tools that the model asked for show no answer", unanswered},
	tape.CodeModelCallHidden:     {tape.SeverityWarning, "model calls took place that no span reports", always("instrument the client of the model too")},
	tape.CodeExternalContent:     {tape.SeverityWarning, "content lies in external storage", external},
	tape.CodeAmbiguousKey:        {tape.SeverityWarning, "equal calls at the same time cannot be told apart", always("no setting: the instrumentation must record the ids of tool calls")},
	tape.CodeConflictingSpan:     {tape.SeverityWarning, "different spans have the same id", always("look for two exporters or a processor that changes spans on one of two ways")},
	tape.CodeInvalidItem:         {tape.SeverityWarning, "spans are malformed", always("update the instrumentation or the SDK")},
	tape.CodeReplayTag:           {tape.SeverityInfo, "replay tags contradict each other", always("give each replay one replay_run_id, on the resource")},
	tape.CodeRedactedAmbiguous:   {tape.SeverityWarning, "redacted arguments cannot be told apart", always("redact with a key (TAPEDECK_REDACTION_KEY), so that equal values stay equal")},
	tape.CodeRedactionPartial:    {tape.SeverityWarning, "a part of the evidence was not redacted", always("agentredaction before agentrun in every pipeline, that of logs included; tapedeck scrub for what is stored")},
	tape.CodeRedactionMixed:      {tape.SeverityWarning, "the evidence was redacted under several profiles or keys", always("the same profile and key on every collector of a deck")},
	tape.CodeSecretGate:          {tape.SeverityWarning, "the gate found what redaction should have replaced", always("agentredaction before agentrun, with the rules that the gate knows (docs/redaction.md)")},
	tape.CodeEvidenceDropped:     {tape.SeverityWarning, "a keep policy dropped earlier evidence of the trace", always("a longer quiet_period of agentrun, so that late spans come with their run")},
	tape.CodeEvidenceCut:         {tape.SeverityWarning, "the trace is larger than what one tape is made of", always("give each run a trace id of its own; else raise bounds of the tape exporter, or --max-items, --max-bytes and --max-parts of derive")},
	tape.CodeNoRoot:              {tape.SeverityInfo, "no span stands for the run", noRoot},
	tape.CodeUnmatchedToolResult: {tape.SeverityInfo, "results belong to no requested call", always("no setting: the instrumentation must record the ids of tool calls")},
	tape.CodeUnassignedRecords:   {tape.SeverityInfo, "log records name no span that came", always("send spans and log records of one process to the same collector")},
	tape.CodeAuditUntrusted:      {tape.SeverityWarning, "audit records fail their hash chain or signature", always("take the stream from one logger (--audit-socket), byte for byte; whoever stores it must not write it anew")},
	tape.CodeAuditMismatch:       {tape.SeverityWarning, "audit records and spans do not agree", always("take the whole audit stream of the process: records that its sink dropped are lost")},
	CodeNoTape:                   {tape.SeverityWarning, "traces hold content and give no tape: no span is a model call, a tool call or an agent that was asked something", noTape},
	CodeNoCallID:                 {tape.SeverityInfo, "tool calls have no id", always("none needed while names and arguments tell the calls apart")},
}

// semconvSwitch is the setting of instrumentations that follow OpenTelemetry's conventions, for those that
// are not told apart.
const semconvSwitch = "OpenTelemetry's own instrumentations: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"

// contentSwitch names the setting that turns the capture of content on, and says when log records carry that content.
func contentSwitch(e *Diagnosis, d *genai.Dialect) string {
	if d == nil {
		return "record content with a dialect of docs/dialects.md; " + semconvSwitch
	}
	all, others := e.given.covers(d)
	switch {
	case len(others) > 0:
		return "the agent was started with " + strings.Join(others, ", ") + ", which turns content off: leave it out"
	case all && e.given.Lacks != "":
		return "no setting: " + e.given.Lacks
	case all:
		return "no setting is missing: content was switched on, and " + d.Name + " does not record this"
	}
	fix := strings.ReplaceAll(cmp.Or(d.Switch, "see docs/dialects.md"), "`", "")
	if strings.HasPrefix(fix, "depends on") {
		fix += "; " + semconvSwitch
	}
	for _, s := range d.Settings {
		if variable := s.Name + "=" + s.Value; !s.Optional && !s.Unset && !strings.Contains(fix, s.Name) {
			fix += "; " + variable
		}
	}
	overOTLP := len(d.Events) > 0 && d.ID != "forge" // its audit stream is a file
	if (overOTLP || strings.Contains(fix, "log record")) && e.LogRecords == 0 {
		fix += "; no log record came: send them too (OTEL_LOGS_EXPORTER=otlp, a logs pipeline with the genailogs connector)"
	}
	return fix
}

// cuts names, by dialect, the limit of a producer that cuts values itself.
var cuts = map[string]string{
	"forge":       "Forge cuts each attribute at 4 KiB, no setting; give derive its audit stream beside the spans",
	"claude-code": "Claude Code cuts values at 60 KB; tapedeck record reads whole requests and answers (OTEL_LOG_RAW_API_BODIES=file:DIR)",
	"gemini-cli":  "Gemini CLI cuts values at 10000 characters; no setting",
	"codex":       "Codex cuts previews at 2 KiB or 64 lines; no setting",
	"openlit":     "max_content_length of openlit.init",
	"mlflow":      "the previews of MLflow are short by design; export spans with their inputs and outputs",
}

func lengthLimit(e *Diagnosis, d *genai.Dialect) string {
	if e.given != nil && d != nil && d.ID == "claude-code" {
		return "no setting: Claude Code cuts these values at 60 KB, and no whole request or answer of the call came"
	}
	const sdk = "unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
	if d != nil && cuts[d.ID] != "" {
		return cuts[d.ID] + "; else " + sdk
	}
	return sdk
}

func unanswered(_ *Diagnosis, d *genai.Dialect) string {
	if d != nil && d.Root == "" {
		return "this instrumentation reports model calls only: an answer shows in the next request, or with spans of the tools (an agent instrumentation, or execute_tool spans of your own)"
	}
	return "nothing to set if the runs were stopped; else instrument the tools, or record until the run has ended"
}

func external(e *Diagnosis, d *genai.Dialect) string {
	switch {
	case d == nil || d.ID != "claude-code":
	case e.given != nil:
		return "unset OTEL_LOG_RAW_API_BODIES, so that record reads the files of a folder of its own; a body of more than 16 MiB is left out"
	default:
		return "tapedeck record reads such files; OTEL_LOG_RAW_API_BODIES=1 writes bodies into log records, cut at 60 KB"
	}
	return "turn the upload of content off (unset OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK) so that it stays in spans, or fetch it into the deck with tapedeck resolve"
}

func noRoot(_ *Diagnosis, _ *genai.Dialect) string {
	return "none needed for one conversation at a time; else wrap the run in an invoke_agent span, or set gen_ai.conversation.id"
}

func noTape(e *Diagnosis, d *genai.Dialect) string {
	const report = "if spans of the calls are there all the same, please report one, its secrets taken out"
	if d != nil {
		if all, _ := e.given.covers(d); all {
			return "no setting is missing; " + report
		}
	}
	if d == nil || d.Switch == "" {
		return "instrument the agent, or the client of the model, with a dialect of docs/dialects.md; " + report
	}
	return "record content (" + strings.ReplaceAll(d.Switch, "`", "") + ") and the spans of the calls; " + report
}
