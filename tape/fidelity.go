// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"cmp"
	"slices"
)

// Grade says what a tape can be used for.
type Grade string

// The grades, best first.
const (
	GradeOffline Grade = "offline" // every model call and every tool call can be served: replays with the network closed
	GradeTools   Grade = "tools"   // user input and every tool call can be served: full re-execution against another model
	GradeModel   Grade = "model"   // every model call can be served or asked again, tools cannot
	GradePartial Grade = "partial" // some of it
	GradeInspect Grade = "inspect" // metadata only
)

// Fidelity says how far the tape can be trusted and replayed.
type Fidelity struct {
	Grade      Grade
	Replayable Replayable
	Proof      Proof
	Findings   []Finding
	// Rules are the ids of the rules of reconstruction that changed something of the run, sorted. Since
	// schema 1.1.
	Rules   []string
	Unknown Unknown
}

// Replayable says which parts of the run can be served from the tape.
type Replayable struct {
	Input   bool
	Tools   bool
	Model   bool
	Unknown Unknown
}

// Proof is the outcome of the tape, replayed against itself when it was written.
type Proof struct {
	Expected     int
	Served       int
	Verified     int // Served without Mismatched and Unverifiable
	Mismatched   int
	Unverifiable int
	Recorded     int   // of Unverifiable: the record of the tool itself holds arguments and answer whole
	OK           *bool // nil when nothing was expected, and when nothing failed but not every answer is known to be right
	Unknown      Unknown
}

// Conclude sets Verified and OK, which follow from the other counts.
func (p *Proof) Conclude() {
	p.Verified, p.OK = p.Served-p.Mismatched-p.Unverifiable, nil
	if failed := p.Mismatched > 0 || p.Served < p.Expected; failed || p.Served > 0 && p.Recorded == p.Unverifiable {
		ok := !failed
		p.OK = &ok
	}
}

// Proved reports that every call of the run gets its answer, and that each answer is known to be right; also when there are no calls.
func (p *Proof) Proved() bool { return p.Expected == 0 || p.OK != nil && *p.OK }

// Finding says one thing that is missing, odd or was decided while the tape was made.
type Finding struct {
	Code     Code
	Severity Severity
	Seq      int    // the event, 0 for the whole run
	Field    string // dotted path within the event or the tape
	Detail   string
	Unknown  Unknown
}

// AddFinding adds a finding with the usual severity of its code, once.
func (f *Fidelity) AddFinding(code Code, seq int, field, detail string) {
	severity := SeverityInfo
	for _, kind := range FindingKinds {
		if kind.Code == code {
			severity = kind.Severity
		}
	}
	same := func(o Finding) bool { return o.Code == code && o.Seq == seq && o.Field == field && o.Detail == detail }
	if !slices.ContainsFunc(f.Findings, same) {
		f.Findings = append(f.Findings, Finding{Code: code, Severity: severity, Seq: seq, Field: field, Detail: detail})
	}
}

// SortFindings brings the findings into the order in which they stand on a tape.
func (f *Fidelity) SortFindings() {
	slices.SortStableFunc(f.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.Code, y.Code), cmp.Compare(x.Field, y.Field), cmp.Compare(x.Detail, y.Detail))
	})
}

// Provenance labels the fields of an object that are not simply recorded: dotted field path → label.
type Provenance map[string]Label

// Label says where a value comes from. No label: recorded.
type Label string

// The labels.
const (
	Recovered Label = "recovered" // from a later request's messages, a log record, another span of the same call
	Inferred  Label = "inferred"
	Missing   Label = "missing"
	Truncated Label = "truncated"
	Redacted  Label = "redacted" // by us, keyed
	Masked    Label = "masked"   // by the producer
	External  Label = "external"
	Lossy     Label = "lossy"    // a repr or re-serialisation that may differ from what was sent
	Disputed  Label = "disputed" // records contradict each other
)

// Severity ranks findings.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Code names a kind of finding. Codes are part of the contract.
type Code string

// FindingKind documents one code.
type FindingKind struct {
	Code     Code
	Severity Severity
	Meaning  string
}

// The finding codes.
const (
	CodeContentAbsent       Code = "content_absent"
	CodeTruncated           Code = "truncated"
	CodeMasked              Code = "masked"
	CodeArgsNotJSON         Code = "args_not_json"
	CodeArgsEmpty           Code = "args_empty"
	CodeArgsMissing         Code = "args_missing"
	CodeArgsDiffer          Code = "args_differ"
	CodeBigInt              Code = "big_int"
	CodeResultMissing       Code = "result_missing"
	CodeResultRecovered     Code = "result_recovered"
	CodeResultRewritten     Code = "result_rewritten"
	CodeResultDisputed      Code = "result_disputed"
	CodeRootMissing         Code = "root_missing"
	CodeNoRoot              Code = "no_root"
	CodeSpanGap             Code = "span_gap"
	CodeDroppedAttributes   Code = "dropped_attributes"
	CodeConflictingSpan     Code = "conflicting_span"
	CodeAmbiguousKey        Code = "ambiguous_key"
	CodeRedactedAmbiguous   Code = "redacted_ambiguous"
	CodeRedactionPartial    Code = "redaction_partial"
	CodeRedactionMixed      Code = "redaction_mixed"
	CodeSecretGate          Code = "secret_gate"
	CodeExternalContent     Code = "external_content"
	CodeClockSkew           Code = "clock_skew"
	CodeUnansweredToolCall  Code = "unanswered_tool_call"
	CodeUnmatchedToolResult Code = "unmatched_tool_result"
	CodeLossyRepr           Code = "lossy_repr"
	CodeNoInstructions      Code = "no_instructions"
	CodeEnvelopeSuspected   Code = "envelope_suspected"
	CodeStatusDisputed      Code = "status_disputed"
	CodeInterrupted         Code = "interrupted"
	CodeUnfinished          Code = "unfinished"
	CodeResentChanged       Code = "resent_changed"
	CodeModelCallHidden     Code = "model_call_hidden"
	CodeJoined              Code = "joined"
	CodeUnassignedRecords   Code = "unassigned_records"
	CodeDuplicateReport     Code = "duplicate_report"
	CodeInvalidItem         Code = "invalid_item"
	CodeAuditUntrusted      Code = "audit_untrusted"
	CodeAuditMismatch       Code = "audit_mismatch"
	CodeReplayTag           Code = "replay_tag"
	CodeEvidenceCut         Code = "evidence_cut"
	CodeEvidenceDropped     Code = "evidence_dropped"
	CodeToolsUnproved       Code = "tools_unproved"
)

// Grades are all grades, the highest first.
var Grades = []Grade{GradeOffline, GradeTools, GradeModel, GradePartial, GradeInspect}

// FindingKinds is the table of all codes; docs/findings.md is generated from it.
var FindingKinds = []FindingKind{
	{CodeContentAbsent, SeverityWarning, "the telemetry holds structure but not the content of the named field; the instrumentation's content switch is off"},
	{CodeTruncated, SeverityWarning, "the producer cut the named field; it is kept as it came and never served"},
	{CodeMasked, SeverityWarning, "the producer masked the named field"},
	{CodeArgsNotJSON, SeverityInfo, "the arguments are text that is not JSON; they are kept and hashed as text"},
	{CodeArgsEmpty, SeverityInfo, "the recorded arguments are empty or null; they stand as {}"},
	{CodeArgsMissing, SeverityWarning, "no record holds the arguments of the call"},
	{CodeArgsDiffer, SeverityInfo, "the tool received other arguments than the model asked for; they stand in executed_args"},
	{CodeBigInt, SeverityInfo, "an integer of 2^53 or more is kept digit by digit; a program that holds numbers as doubles, as JavaScript does, may have rounded it before it was recorded"},
	{CodeResultMissing, SeverityWarning, "no record holds the result of the call"},
	{CodeResultRecovered, SeverityInfo, "the result is taken from a later model request, or from a record beside the span"},
	{CodeResultRewritten, SeverityInfo, "a later model request shows the result in another form than the tool returned it: encoded otherwise, in an envelope, cut, masked or in part"},
	{CodeResultDisputed, SeverityWarning, "records contradict each other about what the tool returned; both results stand on the event"},
	{CodeRootMissing, SeverityWarning, "spans name a parent that never came"},
	{CodeNoRoot, SeverityInfo, "the run has no agent span; its calls were grouped"},
	{CodeSpanGap, SeverityWarning, "spans of the run are missing"},
	{CodeDroppedAttributes, SeverityWarning, "the SDK dropped attributes or events of a span"},
	{CodeConflictingSpan, SeverityWarning, "different payloads came under one span id; all are kept as evidence"},
	{CodeAmbiguousKey, SeverityWarning, "equal calls of one caller overlap in time; which got which answer is not known"},
	{CodeRedactedAmbiguous, SeverityWarning, "redacted arguments cannot be told apart"},
	{CodeRedactionPartial, SeverityWarning, "a part of the evidence carries no redaction marker and may hold what the rest does not"},
	{CodeRedactionMixed, SeverityWarning, "the evidence was redacted under several profiles or keys; equal values may have different tokens"},
	{CodeSecretGate, SeverityError, "the gate found a value that redaction should have replaced; stands in reports of quarantine, never on a tape"},
	{CodeExternalContent, SeverityWarning, "the content lies in external storage"},
	{CodeClockSkew, SeverityInfo, "times contradict cause and effect; events are ordered by cause"},
	{CodeUnansweredToolCall, SeverityWarning, "the model asked for a tool and no record shows an answer"},
	{CodeUnmatchedToolResult, SeverityInfo, "a tool result belongs to no requested call"},
	{CodeLossyRepr, SeverityWarning, "the field is a textual representation that may differ from what was sent"},
	{CodeNoInstructions, SeverityInfo, "the run goes on from earlier turns and no record holds instructions: none were sent, as some frameworks do with a history, or they were not recorded"},
	{CodeEnvelopeSuspected, SeverityWarning, "the field looks like an envelope around what was sent or returned, and no record shows what was inside; it is kept as it came and labelled lossy"},
	{CodeStatusDisputed, SeverityInfo, "the status of the span contradicts how the call or run ended"},
	{CodeInterrupted, SeverityInfo, "the run stopped to wait for a person or a resume"},
	{CodeUnfinished, SeverityWarning, "nothing shows that the run ended: neither an answer nor an end that needs none is recorded"},
	{CodeResentChanged, SeverityInfo, "a message was resent with other ids, spelling or number rounding; the first one stands"},
	{CodeModelCallHidden, SeverityWarning, "a model call took place that no span reports"},
	{CodeJoined, SeverityInfo, "the run was joined from several traces, or from parts of one that no span holds together; the detail says by what"},
	{CodeUnassignedRecords, SeverityInfo, "records could not be assigned to a run"},
	{CodeDuplicateReport, SeverityInfo, "several spans report the same call; they are one event"},
	{CodeInvalidItem, SeverityWarning, "a span was malformed and could be read only in part"},
	{CodeAuditUntrusted, SeverityWarning, "audit records of the run fail their hash chain or signature; nothing was taken from them"},
	{CodeAuditMismatch, SeverityWarning, "audit records of the run are missing or untrusted, or do not agree with its spans; only what the spans confirm was taken"},
	{CodeEvidenceCut, SeverityWarning, "the trace has more evidence than one derivation takes in; the tape was made of the earliest, all of it lies in the parts of the trace"},
	{CodeEvidenceDropped, SeverityWarning, "a keep policy dropped evidence of the trace before other evidence of it was kept; what was dropped lies nowhere"},
	{CodeToolsUnproved, SeverityInfo, "the tape does not claim that its tool calls can be served; the detail says which calls are the reason"},
	{CodeReplayTag, SeverityWarning, "the tags that make the run a replay are empty, malformed or name several replays"},
}
