// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Decode reads a snapshot as a tape. The document stands whole at extensions.aiwg.document, so that Encode gives it back; the losses are
// what it would write differently. A snapshot holds hashes of what went through tools and no content, so that the tape cannot be replayed.
func Decode(data []byte, o interop.Options) ([]interop.Run, error) {
	read := Read
	if o.Strict {
		read = ReadStrict
	}
	doc, err := read(data)
	if err != nil {
		return nil, err
	}
	run, err := runOf(doc, o)
	if err != nil {
		return nil, err
	}
	run.Losses, err = interop.DocumentLosses(data, interop.Indented(doc), nil)
	return []interop.Run{run}, err
}

var (
	runIDForm  = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}$`)
	spanIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
	hash64Form = regexp.MustCompile(`^[0-9a-f]{64}$`)
	statuses   = map[string]tape.RunStatus{"error": tape.StatusError, "interrupted": tape.StatusInterrupted, "incomplete": tape.StatusIncomplete}
)

// runOf is the document as a whole tape. Ids that it does not hold follow from its canonical form.
func runOf(doc exactjson.Value, o interop.Options) (interop.Run, error) {
	t := &tape.Tape{}
	if id := doc.Get("x_run_id").Str(); runIDForm.MatchString(id) {
		t.Run.TraceID, t.Run.RootSpanID, _ = strings.Cut(id, "-")
	}
	readRun(t, doc)
	readConfig(&t.Config, doc.Get("config"))
	if text := doc.Get("inputs").Get("user_prompt"); !text.IsAbsent() {
		t.Input.UserMessage, t.Input.Messages = own(text), []string{interop.Pool(t, interop.Text(tape.RoleUser, text.Str()))}
		readLabel(&t.Input.Provenance, "user_message", doc.Get("inputs").Get("x_user_prompt_label"))
	}
	if text := doc.Get("outputs").Get("response"); !text.IsAbsent() {
		t.Output.Text, t.Output.Message = own(text), interop.Pool(t, interop.Text(tape.RoleAssistant, text.Str()))
		readLabel(&t.Output.Provenance, "text", doc.Get("outputs").Get("x_response_label"))
	}
	for _, m := range doc.Get("outputs").Get("tool_calls").Members() {
		readCall(t, m.Value)
	}
	t.Usage.InputTokens, t.Usage.OutputTokens = integer(doc.Get("metrics").Get("tokens_input")), integer(doc.Get("metrics").Get("tokens_output"))
	interop.KeepOriginal(t, name, doc)
	return interop.Finish(t, name, []byte(doc.Digest()), o), nil
}

func own(v exactjson.Value) *string {
	s := v.Str()
	return &s
}

func integer(v exactjson.Value) *int64 {
	if n, ok := v.Int(); ok && n >= 0 {
		return &n
	}
	return nil
}

var labels = map[string]tape.Label{}

func init() {
	for _, l := range []tape.Label{tape.Recovered, tape.Inferred, tape.Truncated, tape.Redacted, tape.Masked, tape.External, tape.Lossy} {
		labels[string(l)] = l
	}
}

func readLabel(p *tape.Provenance, field string, v exactjson.Value) {
	if l, ok := labels[v.Str()]; ok {
		interop.Label(p, field, l)
	}
}

func readRun(t *tape.Tape, doc exactjson.Value) {
	r := &t.Run
	r.EndedAt, _ = timeOf(doc.Get("captured_at").Str())
	if n := integer(doc.Get("metrics").Get("duration_ms")); n != nil {
		r.DurationMS = *n
	}
	r.Status = statuses[doc.Get("x_status").Str()]
	r.ReplayRunID = doc.Get("x_replay_run_id").Str()
	r.Agent.Name, r.Agent.Version = doc.Get("agent").Get("name").Str(), doc.Get("agent").Get("version").Str()
	if id := doc.Get("workflow_id").Str(); id != r.Agent.Name {
		r.WorkflowID = id
	}
	environment := doc.Get("inputs").Get("environment")
	r.Service = tape.Service{
		Name: environment.Get("service.name").Str(), Namespace: environment.Get("service.namespace").Str(),
		Version: environment.Get("service.version").Str(), Environment: environment.Get("deployment.environment.name").Str(),
	}
	// Names that an agent lacks are those of the service.
	if r.Agent.Name == r.Service.Name {
		r.Agent.Name = ""
	}
	if r.WorkflowID == r.Service.Name {
		r.WorkflowID = ""
	}
	if r.Agent.Version == r.Service.Version {
		r.Agent.Version = ""
	}
}

func readConfig(c *tape.Config, config exactjson.Value) {
	model := config.Get("model")
	c.Model, c.Provider = model.Get("id").Str(), model.Get("provider").Str()
	if c.Model != "" { // alone it would be taken for the model that was asked for
		c.ResponseModel = model.Get("version").Str()
	}
	c.ExecutionMode = config.Get("execution_mode").Str()
	c.Temperature, c.Seed, c.MaxTokens = config.Get("temperature"), config.Get("seed"), config.Get("max_tokens")
	c.TopP = config.Get("top_p")
	if stop := config.Get("stop_sequences"); stop.Len() > 0 {
		c.StopSequences = stop
	}
	if hash := bareHash(config.Get("system_prompt_hash").Str()); hash64Form.MatchString(hash) {
		c.SystemPromptSHA256 = hash
	}
}

func readCall(t *tape.Tape, call exactjson.Value) {
	e := tape.Event{Type: tape.EventToolCall, Name: call.Get("tool").Str(), ToolCallID: call.Get("x_call_id").Str(), Status: tape.EventOK}
	e.StartedAt, _ = timeOf(call.Get("timestamp").Str())
	if span := call.Get("x_span_id").Str(); spanIDForm.MatchString(span) {
		e.SpanIDs = []string{span}
	}
	if call.Get("x_status").Str() == string(tape.EventError) {
		e.Status, e.IsError = tape.EventError, true
		if kind := call.Get("x_error_type").Str(); kind != "" {
			e.Error = &tape.Error{Type: kind}
		}
	}
	seq := len(t.Events) + 1
	interop.Label(&e.Provenance, "args", tape.Missing)
	interop.Find(t, tape.CodeArgsMissing, seq, "args")
	if !e.IsError {
		interop.Label(&e.Provenance, "result", tape.Missing)
		interop.Find(t, tape.CodeResultMissing, seq, "result")
	}
	t.Events = append(t.Events, e)
}

const (
	onlyTools = "a snapshot lists tool calls only"
	noMember  = "a snapshot has no member for it"
	hashOnly  = "a snapshot holds hashes of what went through tools, no content"
)

// reasons say why a member of a tape is not in its snapshot.
var reasons = []interop.Reason{
	{Path: "producer", Reason: noMember},
	{Path: "run.service", Reason: "name, namespace, version and environment are kept"},
	{Path: "run.agent", Reason: "name and version are kept, those of the service where the agent has none"},
	{Path: "run.started_at", Reason: "the end and the duration are kept"},
	{Path: "run.workflow_id", Reason: "where it is empty the agent or the service stands for it"},
	{Path: "config", Reason: "settings that all calls share and that fit the schema are kept; the mode is inferred"},
	{Path: "input.messages", Reason: "a snapshot holds the first user message and the final answer, no conversation"},
	{Path: "input.system_prompt", Reason: "a snapshot holds the digest only"},
	{Path: "messages", Reason: "a snapshot holds the first user message and the final answer, no conversation"},
	{Path: "tools", Reason: "the names are kept"},
	{Path: "events.*.seq", Reason: "calls are numbered among themselves"},
	{Path: "events.*.args", Reason: hashOnly},
	{Path: "events.*.args_hash", Reason: "it stands for arguments that are not there"},
	{Path: "events.*.result", Reason: hashOnly},
	{Path: "events.*.result_sha256", Reason: "it stands for a result that is not there"},
	{Path: "events.*.provenance", Reason: hashOnly},
	{Path: "events.*.span_ids", Reason: "the outermost is kept"},
	{Path: "events.*.is_error", Reason: "a call failed or not"},
	{Path: "events.*.status", Reason: "a call failed or not"},
	{Path: "events.*.error", Reason: "the type is kept"},
	{Path: "output.message", Reason: "a snapshot holds the first user message and the final answer, no conversation"},
	{Path: "output.status", Reason: "the status of the run is kept"},
	{Path: "usage", Reason: "token counts are kept, calls are counted again"},
	{Path: "fidelity", Reason: "the codes of what is missing are kept; grade and proof follow from the snapshot"},
	{Path: "redaction", Reason: "policy and counts are kept for readers of the snapshot"},
	{Path: "sources", Reason: "the run id is kept"},
	{Path: "extensions.aiwg", Reason: "the snapshot itself"},
	{Path: "run.*", Reason: noMember},
	{Path: "input.*", Reason: noMember},
	{Path: "output.*", Reason: noMember},
	{Path: "events.*.*", Reason: noMember},
	{Path: "extensions.*", Reason: noMember},
}
