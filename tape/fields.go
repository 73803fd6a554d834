// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"time"

	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The tables below are the format: every member of every object, in the order it is written. Reading, writing, canonical form and
// JSON Schema come from them.

const (
	digestPattern  = `^sha256(-raw)?:[0-9a-f]{64}$`
	hex64Pattern   = `^[0-9a-f]{64}$`
	traceIDPattern = `^[0-9a-f]{32}$`
	spanIDPattern  = `^[0-9a-f]{16}$`
)

func members(u *Unknown) *[]exactjson.Member { return (*[]exactjson.Member)(u) }

var (
	text    = bind.String[string]()
	texts   = bind.List(text)
	anyJSON = bind.Any()
	count   = bind.Int[int64]()
	number  = bind.Pointer(count)
	pointer = bind.Pointer(text)
	labels  = bind.Map[Provenance](bind.Enum(Recovered, Inferred, Missing, Truncated, Redacted, Masked, External, Lossy, Disputed))
)

var tapeRecord = bind.New("tape", func(t *Tape) *[]exactjson.Member { return members(&t.Unknown) },
	bind.Of("kind", func(t *Tape) *string { return &t.Kind }, bind.Enum(Kind)).Required(),
	bind.Of("schema_version", func(t *Tape) *string { return &t.SchemaVersion }, bind.Match[string](`^1\.[0-9]+$`)).Required(),
	bind.Of("tape_id", func(t *Tape) *string { return &t.TapeID }, bind.Match[string](digestPattern)).Required(),
	bind.Of("producer", func(t *Tape) *Producer { return &t.Producer }, producerRecord.Codec()).Always(),
	bind.Of("run", func(t *Tape) *Run { return &t.Run }, runRecord.Codec()).Always(),
	bind.Of("config", func(t *Tape) *Config { return &t.Config }, configRecord.Codec()).Always(),
	bind.Of("input", func(t *Tape) *Input { return &t.Input }, inputRecord.Codec()).Always(),
	bind.Of("tools", func(t *Tape) *map[string]Tool { return &t.Tools }, bind.Map[map[string]Tool](toolRecord.Codec())).Always(),
	bind.Of("messages", func(t *Tape) *map[string]Message { return &t.Messages }, bind.Map[map[string]Message](messageRecord.Codec())).Always(),
	bind.Of("events", func(t *Tape) *[]Event { return &t.Events }, bind.List(eventRecord.Codec())).Always(),
	bind.Of("output", func(t *Tape) *Output { return &t.Output }, outputRecord.Codec()).Always(),
	bind.Of("verdicts", func(t *Tape) *[]Verdict { return &t.Verdicts }, bind.List(verdictRecord.Codec())),
	bind.Of("usage", func(t *Tape) *RunUsage { return &t.Usage }, runUsageRecord.Codec()).Always(),
	bind.Of("fidelity", func(t *Tape) *Fidelity { return &t.Fidelity }, fidelityRecord.Codec()).Always(),
	bind.Of("redaction", func(t *Tape) *Redaction { return &t.Redaction }, redactionRecord.Codec()).Always(),
	bind.Of("sources", func(t *Tape) *Sources { return &t.Sources }, sourcesRecord.Codec()).Always(),
	bind.Of("extensions", func(t *Tape) *exactjson.Value { return &t.Extensions }, bind.Any("object")),
)

var producerRecord = bind.New("producer", func(p *Producer) *[]exactjson.Member { return members(&p.Unknown) },
	bind.Of("name", func(p *Producer) *string { return &p.Name }, text).Required(),
	bind.Of("version", func(p *Producer) *string { return &p.Version }, text),
	bind.Of("config_digest", func(p *Producer) *string { return &p.ConfigDigest }, text),
)

var runRecord = bind.New("run", func(r *Run) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("run_id", func(r *Run) *string { return &r.RunID }, text).Required(),
	bind.Of("tenant", func(r *Run) *string { return &r.Tenant }, text).Required(),
	bind.Of("trace_id", func(r *Run) *string { return &r.TraceID }, bind.Match[string](traceIDPattern)).Required(),
	bind.Of("root_span_id", func(r *Run) *string { return &r.RootSpanID }, bind.Match[string](spanIDPattern)).Required(),
	bind.Of("conversation_id", func(r *Run) *string { return &r.ConversationID }, text),
	bind.Of("invocation_id", func(r *Run) *string { return &r.InvocationID }, text),
	bind.Of("correlation_id", func(r *Run) *string { return &r.CorrelationID }, text),
	bind.Of("workflow_id", func(r *Run) *string { return &r.WorkflowID }, text),
	bind.Of("task_id", func(r *Run) *string { return &r.TaskID }, text),
	bind.Of("replay_run_id", func(r *Run) *string { return &r.ReplayRunID }, text),
	bind.Of("service", func(r *Run) *Service { return &r.Service }, serviceRecord.Codec()),
	bind.Of("agent", func(r *Run) *Agent { return &r.Agent }, agentRecord.Codec()),
	bind.Of("started_at", func(r *Run) *time.Time { return &r.StartedAt }, bind.Time()),
	bind.Of("ended_at", func(r *Run) *time.Time { return &r.EndedAt }, bind.Time()),
	bind.Of("duration_ms", func(r *Run) *int64 { return &r.DurationMS }, count).AlwaysIf(func(r *Run) bool { return !r.StartedAt.IsZero() }),
	bind.Of("status", func(r *Run) *RunStatus { return &r.Status }, bind.Enum(StatusOK, StatusError, StatusInterrupted, StatusIncomplete)).Required(),
	bind.Of("error", func(r *Run) **Error { return &r.Error }, bind.Pointer(errorRecord.Codec())),
	bind.Of("user_id", func(r *Run) *string { return &r.UserID }, text),
	bind.Of("resumes", func(r *Run) **Resumes { return &r.Resumes }, bind.Pointer(resumesRecord.Codec())),
	bind.Of("joined", func(r *Run) *[]string { return &r.Joined }, texts),
)

var serviceRecord = bind.New("service", func(s *Service) *[]exactjson.Member { return members(&s.Unknown) },
	bind.Of("name", func(s *Service) *string { return &s.Name }, text),
	bind.Of("namespace", func(s *Service) *string { return &s.Namespace }, text),
	bind.Of("version", func(s *Service) *string { return &s.Version }, text),
	bind.Of("instance_id", func(s *Service) *string { return &s.InstanceID }, text),
	bind.Of("environment", func(s *Service) *string { return &s.Environment }, text),
)

var agentRecord = bind.New("agent", func(a *Agent) *[]exactjson.Member { return members(&a.Unknown) },
	bind.Of("name", func(a *Agent) *string { return &a.Name }, text),
	bind.Of("id", func(a *Agent) *string { return &a.ID }, text),
	bind.Of("version", func(a *Agent) *string { return &a.Version }, text),
	bind.Of("description", func(a *Agent) *string { return &a.Description }, text),
)

var errorRecord = bind.New("error", func(e *Error) *[]exactjson.Member { return members(&e.Unknown) },
	bind.Of("type", func(e *Error) *string { return &e.Type }, text),
	bind.Of("message", func(e *Error) *string { return &e.Message }, text),
)

var resumesRecord = bind.New("resumes", func(r *Resumes) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("key", func(r *Resumes) *string { return &r.Key }, text).Required(),
	bind.Of("run_id", func(r *Resumes) *string { return &r.RunID }, text),
)

var configRecord = bind.New("config", func(c *Config) *[]exactjson.Member { return members(&c.Unknown) },
	bind.Of("model", func(c *Config) *string { return &c.Model }, text),
	bind.Of("provider", func(c *Config) *string { return &c.Provider }, text),
	bind.Of("response_model", func(c *Config) *string { return &c.ResponseModel }, text),
	bind.Of("temperature", func(c *Config) *exactjson.Value { return &c.Temperature }, anyJSON),
	bind.Of("top_p", func(c *Config) *exactjson.Value { return &c.TopP }, anyJSON),
	bind.Of("top_k", func(c *Config) *exactjson.Value { return &c.TopK }, anyJSON),
	bind.Of("seed", func(c *Config) *exactjson.Value { return &c.Seed }, anyJSON),
	bind.Of("max_tokens", func(c *Config) *exactjson.Value { return &c.MaxTokens }, anyJSON),
	bind.Of("frequency_penalty", func(c *Config) *exactjson.Value { return &c.FrequencyPenalty }, anyJSON),
	bind.Of("presence_penalty", func(c *Config) *exactjson.Value { return &c.PresencePenalty }, anyJSON),
	bind.Of("stop_sequences", func(c *Config) *exactjson.Value { return &c.StopSequences }, anyJSON),
	bind.Of("execution_mode", func(c *Config) *string { return &c.ExecutionMode }, bind.Enum("strict", "seeded", "logged", "default")),
	bind.Of("system_prompt_sha256", func(c *Config) *string { return &c.SystemPromptSHA256 }, bind.Match[string](hex64Pattern)),
	bind.Of("provenance", func(c *Config) *Provenance { return &c.Provenance }, labels),
)

var inputRecord = bind.New("input", func(i *Input) *[]exactjson.Member { return members(&i.Unknown) },
	bind.Of("user_message", func(i *Input) **string { return &i.UserMessage }, pointer),
	bind.Of("system_prompt", func(i *Input) **string { return &i.SystemPrompt }, pointer),
	bind.Of("messages", func(i *Input) *[]string { return &i.Messages }, texts),
	bind.Of("a2a", func(i *Input) **A2A { return &i.A2A }, bind.Pointer(a2aRecord.Codec())),
	bind.Of("provenance", func(i *Input) *Provenance { return &i.Provenance }, labels),
)

var a2aRecord = bind.New("a2a", func(a *A2A) *[]exactjson.Member { return members(&a.Unknown) },
	bind.Of("method", func(a *A2A) *string { return &a.Method }, text),
	bind.Of("params", func(a *A2A) *exactjson.Value { return &a.Params }, anyJSON),
	bind.Of("headers", func(a *A2A) *map[string]string { return &a.Headers }, bind.Map[map[string]string](text)),
	bind.Of("missing", func(a *A2A) *[]string { return &a.Missing }, texts),
)

var toolRecord = bind.New("tool", func(t *Tool) *[]exactjson.Member { return members(&t.Unknown) },
	bind.Of("name", func(t *Tool) *string { return &t.Name }, text).Always(),
	bind.Of("description", func(t *Tool) *string { return &t.Description }, text),
	bind.Of("parameters", func(t *Tool) *exactjson.Value { return &t.Parameters }, anyJSON),
)

var verdictRecord = bind.New("verdict", func(v *Verdict) *[]exactjson.Member { return members(&v.Unknown) },
	bind.Of("name", func(v *Verdict) *string { return &v.Name }, text),
	bind.Of("value", func(v *Verdict) *exactjson.Value { return &v.Value }, anyJSON),
	bind.Of("label", func(v *Verdict) *string { return &v.Label }, text),
	bind.Of("explanation", func(v *Verdict) *string { return &v.Explanation }, text),
	bind.Of("judge", func(v *Verdict) *string { return &v.Judge }, text),
	bind.Of("id", func(v *Verdict) *string { return &v.ID }, text),
	bind.Of("of", func(v *Verdict) *VerdictTarget { return &v.Of }, bind.Enum(OfRun, OfEvent, OfSession, OfSpan)).Required(),
	bind.Of("seq", func(v *Verdict) *int { return &v.Seq }, bind.Int[int]()),
	bind.Of("span_id", func(v *Verdict) *string { return &v.SpanID }, bind.Match[string](spanIDPattern)),
	bind.Of("at", func(v *Verdict) *time.Time { return &v.At }, bind.Time()),
	bind.Of("error", func(v *Verdict) **Error { return &v.Error }, bind.Pointer(errorRecord.Codec())),
	bind.Of("metadata", func(v *Verdict) *exactjson.Value { return &v.Metadata }, anyJSON),
)

var outputRecord = bind.New("output", func(o *Output) *[]exactjson.Member { return members(&o.Unknown) },
	bind.Of("text", func(o *Output) **string { return &o.Text }, pointer),
	bind.Of("message", func(o *Output) *string { return &o.Message }, text),
	bind.Of("status", func(o *Output) *string { return &o.Status }, text),
	bind.Of("error", func(o *Output) **Error { return &o.Error }, bind.Pointer(errorRecord.Codec())),
	bind.Of("provenance", func(o *Output) *Provenance { return &o.Provenance }, labels),
)

var runUsageRecord = bind.New("run_usage", func(u *RunUsage) *[]exactjson.Member { return members(&u.Unknown) },
	bind.Of("input_tokens", func(u *RunUsage) **int64 { return &u.InputTokens }, number),
	bind.Of("output_tokens", func(u *RunUsage) **int64 { return &u.OutputTokens }, number),
	bind.Of("model_calls", func(u *RunUsage) *int { return &u.ModelCalls }, bind.Int[int]()).Always(),
	bind.Of("tool_calls", func(u *RunUsage) *int { return &u.ToolCalls }, bind.Int[int]()).Always(),
	bind.Of("cost_usd", func(u *RunUsage) *exactjson.Value { return &u.CostUSD }, anyJSON),
)

var fidelityRecord = bind.New("fidelity", func(f *Fidelity) *[]exactjson.Member { return members(&f.Unknown) },
	bind.Of("grade", func(f *Fidelity) *Grade { return &f.Grade }, bind.Enum(GradeOffline, GradeTools, GradeModel, GradePartial, GradeInspect)).Required(),
	bind.Of("replayable", func(f *Fidelity) *Replayable { return &f.Replayable }, replayableRecord.Codec()).Always(),
	bind.Of("proof", func(f *Fidelity) *Proof { return &f.Proof }, proofRecord.Codec()).Always(),
	bind.Of("findings", func(f *Fidelity) *[]Finding { return &f.Findings }, bind.List(findingRecord.Codec())).Always(),
	bind.Of("rules", func(f *Fidelity) *[]string { return &f.Rules }, texts),
)

var replayableRecord = bind.New("replayable", func(r *Replayable) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("input", func(r *Replayable) *bool { return &r.Input }, bind.Bool()).Always(),
	bind.Of("tools", func(r *Replayable) *bool { return &r.Tools }, bind.Bool()).Always(),
	bind.Of("model", func(r *Replayable) *bool { return &r.Model }, bind.Bool()).Always(),
)

var proofRecord = bind.New("proof", func(p *Proof) *[]exactjson.Member { return members(&p.Unknown) },
	bind.Of("expected", func(p *Proof) *int { return &p.Expected }, bind.Int[int]()).Always(),
	bind.Of("served", func(p *Proof) *int { return &p.Served }, bind.Int[int]()).Always(),
	bind.Of("verified", func(p *Proof) *int { return &p.Verified }, bind.Int[int]()).Always(),
	bind.Of("mismatched", func(p *Proof) *int { return &p.Mismatched }, bind.Int[int]()).Always(),
	bind.Of("unverifiable", func(p *Proof) *int { return &p.Unverifiable }, bind.Int[int]()).Always(),
	bind.Of("recorded", func(p *Proof) *int { return &p.Recorded }, bind.Int[int]()),
	bind.Of("ok", func(p *Proof) **bool { return &p.OK }, bind.Pointer(bind.Bool())),
)

var findingRecord = bind.New("finding", func(f *Finding) *[]exactjson.Member { return members(&f.Unknown) },
	bind.Of("code", func(f *Finding) *Code { return &f.Code }, bind.String[Code]()).Required(),
	bind.Of("severity", func(f *Finding) *Severity { return &f.Severity }, bind.Enum(SeverityError, SeverityWarning, SeverityInfo)).Required(),
	bind.Of("seq", func(f *Finding) *int { return &f.Seq }, bind.Int[int]()),
	bind.Of("field", func(f *Finding) *string { return &f.Field }, text),
	bind.Of("detail", func(f *Finding) *string { return &f.Detail }, text),
)

var redactionRecord = bind.New("redaction", func(r *Redaction) *[]exactjson.Member { return members(&r.Unknown) },
	bind.Of("policy", func(r *Redaction) *string { return &r.Policy }, text),
	bind.Of("profile_digest", func(r *Redaction) *string { return &r.ProfileDigest }, text),
	bind.Of("key_id", func(r *Redaction) *string { return &r.KeyID }, text),
	bind.Of("rules", func(r *Redaction) *map[string]int64 { return &r.Rules }, bind.Map[map[string]int64](count)),
	bind.Of("count", func(r *Redaction) *int64 { return &r.Count }, count).Always(),
)

var sourcesRecord = bind.New("sources", func(s *Sources) *[]exactjson.Member { return members(&s.Unknown) },
	bind.Of("dialects", func(s *Sources) *[]string { return &s.Dialects }, texts).Always(),
	bind.Of("scopes", func(s *Sources) *[]Scope { return &s.Scopes }, bind.List(scopeRecord.Codec())).Always(),
	bind.Of("trace_ids", func(s *Sources) *[]string { return &s.TraceIDs }, bind.List(bind.Match[string](traceIDPattern))).Always(),
	bind.Of("spans", func(s *Sources) *int { return &s.Spans }, bind.Int[int]()).Always(),
	bind.Of("logs", func(s *Sources) *int { return &s.Logs }, bind.Int[int]()).Always(),
	bind.Of("noise", func(s *Sources) *map[string]int64 { return &s.Noise }, bind.Map[map[string]int64](count)),
)

var scopeRecord = bind.New("scope", func(s *Scope) *[]exactjson.Member { return members(&s.Unknown) },
	bind.Of("name", func(s *Scope) *string { return &s.Name }, text).Always(),
	bind.Of("version", func(s *Scope) *string { return &s.Version }, text),
	bind.Of("count", func(s *Scope) *int { return &s.Count }, bind.Int[int]()).Always(),
)
