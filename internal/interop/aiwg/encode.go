// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const version = "1.0"

// Encode writes a tape as an execution snapshot. It is strict: always a UUID, RFC 3339 times in UTC, hashes of 64 hex digits; nothing is
// null, no placeholder stands for what was not recorded. A run without an end, or of which no model is known, is not held: the schema
// demands both.
func Encode(t *tape.Tape, entries []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	doc, kept := interop.Original(t, name, runOf)
	if !kept {
		var err error
		if doc, err = document(t, entries); err != nil {
			return nil, nil, err
		}
	}
	if !o.ReplayStatus.IsAbsent() {
		doc = withMember(doc, "replay_status", o.ReplayStatus)
	}
	body := interop.Indented(doc)
	if o.NoLosses {
		return body, nil, nil
	}
	back, err := Decode(body, interop.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", interop.ErrNotHeld, err)
	}
	losses, err := interop.TapeLosses(t, back[0].Tape, toolCalls(t), onlyTools, reasons)
	return body, losses, err
}

// withMember replaces a member where it stands, or adds it at the end.
func withMember(object exactjson.Value, name string, v exactjson.Value) exactjson.Value {
	members := slices.Clone(object.Members())
	if i := slices.IndexFunc(members, func(m exactjson.Member) bool { return m.Name == name }); i >= 0 {
		members[i].Value = v
		return exactjson.ObjectValue(members...)
	}
	return exactjson.ObjectValue(append(members, interop.Member(name, v))...)
}

// document is the snapshot of a tape, members in the order of the schema, our own behind.
func document(t *tape.Tape, entries []oracle.Entry) (exactjson.Value, error) {
	end := t.Run.EndedAt.UTC()
	if end.IsZero() || end.Year() > 9999 {
		return exactjson.Value{}, fmt.Errorf("%w: the end of the run is not known", interop.ErrNotHeld)
	}
	config := config(t)
	if config.Get("model").IsAbsent() {
		return exactjson.Value{}, fmt.Errorf("%w: no model is recorded", interop.ErrNotHeld)
	}
	return exactjson.ObjectValue(
		interop.Member("snapshot_id", exactjson.StringValue(snapshotID(t))),
		interop.Member("workflow_id", exactjson.StringValue(workflowID(t))),
		interop.Member("version", exactjson.StringValue(version)),
		interop.Member("captured_at", instant(end)),
		interop.Member("config", config),
		interop.Member("agent", agent(t)),
		interop.Member("inputs", inputs(t)),
		interop.Member("outputs", outputs(t)),
		interop.Member("metrics", metrics(t)),
		interop.Member("x_run_id", interop.StringOrNone(t.Run.RunID)),
		interop.Member("x_tenant", interop.StringOrNone(t.Run.Tenant)),
		interop.Member("x_status", exactjson.StringValue(string(t.Run.Status))),
		interop.Member("x_replay_run_id", interop.StringOrNone(t.Run.ReplayRunID)),
		interop.Member("x_models", models(t)),
		interop.Member("x_mode_evidence", seenOf(t).value()),
		interop.Member("x_completeness", completeness(t)),
		interop.Member("x_redaction", redaction(t)),
		interop.Member("x_harness", harnessOf(t)),
		interop.Member("x_oracle", oracleOf(entries)),
	), nil
}

func instant(at time.Time) exactjson.Value {
	if at.IsZero() || at.UTC().Year() > 9999 || at.UTC().Year() < 1 {
		return exactjson.Value{}
	}
	return exactjson.StringValue(at.UTC().Format(time.RFC3339Nano))
}

func config(t *tape.Tape) exactjson.Value {
	c := &t.Config
	id, provider, version := answeringModel(t)
	if id == "" {
		return exactjson.Value{}
	}
	temperature := c.Temperature
	if (member{is: aTemperature}).check("", temperature) != nil {
		temperature = exactjson.Value{}
	}
	number := func(v exactjson.Value, is kind) exactjson.Value {
		if (member{is: is}).check("", v) != nil {
			return exactjson.Value{}
		}
		return v
	}
	return exactjson.ObjectValue(
		interop.Member("model", exactjson.ObjectValue(
			interop.Member("id", exactjson.StringValue(id)),
			interop.Member("provider", interop.StringOrNone(provider)),
			interop.Member("version", interop.StringOrNone(version)))),
		interop.Member("execution_mode", exactjson.StringValue(cmp.Or(c.ExecutionMode, seenOf(t).mode()))),
		interop.Member("temperature", temperature),
		interop.Member("seed", number(c.Seed, anInteger)),
		interop.Member("max_tokens", number(c.MaxTokens, anInteger)),
		interop.Member("top_p", number(c.TopP, aNumber)),
		interop.Member("stop_sequences", number(c.StopSequences, stringList)),
		interop.Member("system_prompt_hash", interop.StringOrNone(c.SystemPromptSHA256)))
}

// answeringModel is the model that gave the final answer: that of the last model call at the top which has one. version is what the
// provider says answered, where that is something else.
func answeringModel(t *tape.Tape) (id, provider, version string) {
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall || e.Model == "" && (e.Response == nil || e.Response.Model == "") || id != "" && e.Parent != 0 {
			continue
		}
		answered := ""
		if e.Response != nil {
			answered = e.Response.Model
		}
		id, provider, version = cmp.Or(e.Model, answered), cmp.Or(e.Provider, t.Config.Provider), ""
		if answered != id {
			version = answered
		}
	}
	if id == "" {
		id, provider, version = t.Config.Model, t.Config.Provider, t.Config.ResponseModel
	}
	return id, provider, version
}

// models lists the models of a run that used several.
func models(t *tape.Tape) exactjson.Value {
	var list []string
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall && e.Model != "" && !slices.Contains(list, e.Model) {
			list = append(list, e.Model)
		}
	}
	if len(list) < 2 {
		return exactjson.Value{}
	}
	slices.Sort(list)
	return interop.Strings(list)
}

// agent names the tools that were offered; where no record says which, those that were called, and says so.
func agent(t *tape.Tape) exactjson.Value {
	offered := map[string]bool{}
	for _, tool := range t.Tools {
		offered[tool.Name] = true
	}
	observed := exactjson.Value{}
	if len(offered) == 0 {
		for i := range t.Events {
			if e := &t.Events[i]; e.Type == tape.EventToolCall {
				offered[e.Name] = true
				observed = exactjson.BoolValue(true)
			}
		}
	}
	delete(offered, "")
	known := t.Extensions.Get(harness.Key)
	return interop.ObjectOrNone(
		interop.Member("name", interop.StringOrNone(cmp.Or(t.Run.Agent.Name, t.Run.Service.Name))),
		interop.Member("version", interop.StringOrNone(cmp.Or(t.Run.Agent.Version, t.Run.Service.Version))),
		interop.Member("tools", interop.Strings(slices.Sorted(maps.Keys(offered)))),
		interop.Member("rules_active", texts(known.Get("rules_active"))),
		interop.Member("x_tools_observed", observed))
}

func inputs(t *tape.Tape) exactjson.Value {
	s := &t.Run.Service
	members := []exactjson.Member{
		interop.Member("context_files", contextFiles(t)),
		interop.Member("environment", interop.ObjectOrNone(append([]exactjson.Member{
			interop.Member("deployment.environment.name", interop.StringOrNone(s.Environment)),
			interop.Member("service.name", interop.StringOrNone(s.Name)),
			interop.Member("service.namespace", interop.StringOrNone(s.Namespace)),
			interop.Member("service.version", interop.StringOrNone(s.Version)),
		}, environment(t)...)...)),
	}
	return exactjson.ObjectValue(append(hashed("user_prompt", t.Input.UserMessage, t.Input.Provenance["user_message"]), members...)...)
}

// harnessOf is what the harness knows and the schema has no place for.
func harnessOf(t *tape.Tape) exactjson.Value {
	var members []exactjson.Member
	for _, m := range t.Extensions.Get(harness.Key).Members() {
		if !slices.Contains([]string{"instructions", "fixtures", "workspace", "rules_active", "env_allow"}, m.Name) {
			members = append(members, m)
		}
	}
	return interop.ObjectOrNone(members...)
}

// environment are the variables that whoever recorded the run has allowed.
func environment(t *tape.Tape) (members []exactjson.Member) {
	allowed := t.Extensions.Get(harness.Key).Get("env_allow").Members()
	for _, m := range t.Extensions.Get("process").Members() {
		name, ok := strings.CutPrefix(m.Name, "environment_variable.")
		if ok && m.Value.Kind() == exactjson.String && slices.ContainsFunc(allowed, func(p exactjson.Member) bool { return harness.Allows(p.Value.Str(), name) }) {
			members = append(members, interop.Member(name, m.Value))
		}
	}
	return members
}

// texts are the strings of a list.
func texts(list exactjson.Value) exactjson.Value {
	var all []string
	for _, m := range list.Members() {
		if m.Value.Str() != "" {
			all = append(all, m.Value.Str())
		}
	}
	return interop.Strings(all)
}

// hashed is a text and its digest. The digest is that of the text as it stands here, after redaction: a digest of what was redacted
// would let anybody try guesses on it.
func hashed(name string, text *string, label tape.Label) []exactjson.Member {
	if text == nil {
		return nil
	}
	return []exactjson.Member{
		interop.Member(name, exactjson.StringValue(*text)),
		interop.Member(name+"_hash", exactjson.StringValue(sha256Hex(*text))),
		interop.Member("x_"+name+"_label", interop.StringOrNone(string(label))),
	}
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func outputs(t *tape.Tape) exactjson.Value {
	var calls []exactjson.Value
	for _, i := range toolCalls(t) {
		e := &t.Events[i]
		failed := exactjson.Value{}
		kind := exactjson.Value{}
		if e.Status == tape.EventError || e.IsError {
			failed = exactjson.StringValue(string(tape.EventError))
		}
		if e.Error != nil {
			kind = interop.StringOrNone(e.Error.Type)
		}
		span := exactjson.Value{}
		if len(e.SpanIDs) > 0 {
			span = exactjson.StringValue(e.SpanIDs[0])
		}
		calls = append(calls, exactjson.ObjectValue(
			interop.Member("tool", interop.StringOrNone(e.Name)),
			interop.Member("input_hash", interop.StringOrNone(bareHash(e.ArgsHash))),
			interop.Member("output_hash", interop.StringOrNone(bareHash(e.ResultSHA256))),
			interop.Member("timestamp", instant(e.StartedAt)),
			interop.Member("x_seq", exactjson.IntValue(int64(e.Seq))),
			interop.Member("x_call_id", interop.StringOrNone(e.ToolCallID)),
			interop.Member("x_span_id", span),
			interop.Member("x_status", failed),
			interop.Member("x_error_type", kind)))
	}
	members := []exactjson.Member{
		interop.Member("artifacts_created", artifacts(t)),
		interop.Member("tool_calls", interop.ArrayOrNone(calls)),
	}
	return exactjson.ObjectValue(append(hashed("response", t.Output.Text, t.Output.Provenance["text"]), members...)...)
}

// toolCalls are the indices of the events that a snapshot lists.
func toolCalls(t *tape.Tape) []int {
	var calls []int
	for i := range t.Events {
		if t.Events[i].Type == tape.EventToolCall {
			calls = append(calls, i)
		}
	}
	return calls
}

// bareHash is a digest without the name of its algorithm, in lower case.
func bareHash(digest string) string {
	digest = strings.ToLower(strings.TrimSpace(digest))
	for _, prefix := range []string{"sha256:", "sha256-raw:"} {
		digest = strings.TrimPrefix(digest, prefix)
	}
	return digest
}

func metrics(t *tape.Tape) exactjson.Value {
	tokens := func(n *int64) exactjson.Value {
		if n == nil {
			return exactjson.Value{}
		}
		return exactjson.IntValue(*n)
	}
	duration, iterations := exactjson.Value{}, exactjson.Value{}
	if !t.Run.StartedAt.IsZero() || t.Run.DurationMS > 0 {
		duration = exactjson.IntValue(t.Run.DurationMS)
	}
	n := int64(0)
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall && e.Parent == 0 {
			n++
		}
	}
	if n > 0 {
		iterations = exactjson.IntValue(n)
	}
	return exactjson.ObjectValue(
		interop.Member("duration_ms", duration),
		interop.Member("tokens_input", tokens(t.Usage.InputTokens)),
		interop.Member("tokens_output", tokens(t.Usage.OutputTokens)),
		interop.Member("tool_calls_count", exactjson.IntValue(int64(len(toolCalls(t))))),
		interop.Member("iterations", iterations))
}

// completeness says what the schema cannot: whether the snapshot is of a whole run that can be compared.
func completeness(t *tape.Tape) exactjson.Value {
	missing := map[string]bool{}
	for _, f := range t.Fidelity.Findings {
		if f.Severity != tape.SeverityInfo {
			missing[string(f.Code)] = true
		}
	}
	if t.Output.Text == nil {
		missing["response"] = true
	}
	complete := len(missing) == 0 && t.Run.Status != tape.StatusIncomplete
	return exactjson.ObjectValue(
		interop.Member("complete", exactjson.BoolValue(complete)),
		interop.Member("missing", interop.Strings(slices.Sorted(maps.Keys(missing)))))
}

func redaction(t *tape.Tape) exactjson.Value {
	r := &t.Redaction
	if r.Count == 0 && r.Policy == "" {
		return exactjson.Value{}
	}
	counts := make([]exactjson.Member, 0, len(r.Rules))
	for _, rule := range slices.Sorted(maps.Keys(r.Rules)) {
		counts = append(counts, interop.Member(rule, exactjson.IntValue(r.Rules[rule])))
	}
	return exactjson.ObjectValue(
		interop.Member("policy", interop.StringOrNone(r.Policy)),
		interop.Member("count", exactjson.IntValue(r.Count)),
		interop.Member("counts", interop.ObjectOrNone(counts...)))
}

// oracleOf names the oracle of the run by its digest: a snapshot holds no content of tools, and cannot be replayed without it.
func oracleOf(entries []oracle.Entry) exactjson.Value {
	if len(entries) == 0 {
		return exactjson.Value{}
	}
	return exactjson.ObjectValue(
		interop.Member("path", exactjson.StringValue(tape.OracleFile)),
		interop.Member("sha256", exactjson.StringValue(bareHash(tape.FileDigest(oracle.Append(nil, entries))))),
		interop.Member("entries", exactjson.IntValue(int64(len(entries)))))
}
