// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The outcomes that waza gives a run.
const (
	statusPassed  = "passed"
	statusFailed  = "failed"
	statusError   = "error"
	statusSkipped = "skipped" // not graded
)

// Encode writes a tape as a snapshot. Nothing is invented. There is no verdict without graders: the status of a run that went
// well is "skipped". There are no arguments that were not recorded, and no environment variable that the options do not name.
func Encode(t *tape.Tape, entries []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	e := &encoding{tape: t, entries: entries, options: o, from: residual(t)}
	doc := snapshotShape.usual(e.document())
	if checkEvidence(doc) != nil {
		doc = snapshotShape.usual(with(doc, set("evidence", exactjson.Value{}), set("schemaVersion", exactjson.StringValue(version))))
		e.lose("extensions.waza.snapshot.evidence", "it vouches for content that is no longer the same")
	}
	body := render(doc)
	if !e.from.IsAbsent() { // it may hold anything
		if _, err := Read(body); err != nil {
			return nil, nil, fmt.Errorf("%w: extensions.waza: %w", interop.ErrNotHeld, err)
		}
	}
	if o.NoLosses {
		return body, nil, nil
	}
	losses, err := tapeLosses(t, body, e.reasons)
	return body, losses, err
}

// encoding is one call of Encode.
type encoding struct {
	tape    *tape.Tape
	entries []oracle.Entry
	options interop.Options
	from    exactjson.Value  // the residual of a snapshot that the tape was made from, absent for any other tape
	reasons []interop.Reason // of what is written otherwise than it is on the tape
}

func (e *encoding) lose(path, reason string) {
	e.reasons = append(e.reasons, interop.Reason{Path: path, Reason: reason})
}

func (e *encoding) document() exactjson.Value {
	t := e.tape
	createdAt := exactjson.Value{}
	if !t.Run.EndedAt.IsZero() {
		createdAt = text(t.Run.EndedAt.UTC().Format(time.RFC3339Nano))
	}
	doc := with(e.from, set("kind", text(documentKind)), set("createdAt", createdAt),
		set("engine", e.engine()), set("prompt", e.prompt()), set("toolEvents", e.toolEvents()), set("redaction", e.redaction()), set("result", e.result()))
	if !e.from.IsAbsent() {
		if n := e.options.RunNumber; n > 0 {
			doc = with(doc, set("task", with(e.from.Get("task"), set("runNumber", exactjson.IntValue(int64(n))))))
		}
		return with(doc, set("schemaVersion", versionOf(e.from)))
	}
	wazaVersion := ""
	if t.Extensions.Get(name).Len() > 0 {
		wazaVersion = t.Run.Service.Version
	}
	return with(doc, set("schemaVersion", text(version)), set("wazaVersion", text(wazaVersion)),
		set("evalId", said(t, "eval.run_id", "eval_id")), set("evalName", said(t, "eval.name", "eval_name")), set("skill", said(t, "eval.skill", "skill")),
		set("task", e.task()), set("fixtures", e.fixtures()), set("env", e.environment()))
}

func (e *encoding) task() exactjson.Value {
	r := &e.tape.Run
	var findings []exactjson.Value
	sequence := map[int]int64{}
	for i := range e.entries {
		sequence[e.entries[i].Seq] = int64(i + 1)
	}
	for _, f := range e.tape.Fidelity.Findings {
		findings = append(findings, exactjson.ObjectValue(set("code", text(string(f.Code))), set("sequence", count(sequence[f.Seq])), set("field", text(f.Field))))
	}
	list := exactjson.Value{}
	if len(findings) > 0 {
		list = exactjson.ArrayValue(findings...)
	}
	own := exactjson.ObjectValue(
		set("run_id", text(r.RunID)), set("task_id", text(r.TaskID)), set("conversation_id", text(r.ConversationID)), set("replay_run_id", text(r.ReplayRunID)),
		set("agent", text(r.Agent.Name)), set("service", text(r.Service.Name)), set("status", text(string(r.Status))),
		set("grade", text(string(e.tape.Fidelity.Grade))), set("findings", list))
	golden := exactjson.Value{}
	if known(e.tape, "golden").True() {
		golden = exactjson.BoolValue(true)
	}
	number := int64(e.options.RunNumber)
	if number < 1 {
		number = runNumber(e.tape)
	}
	return exactjson.ObjectValue(set("testId", text(testID(e.tape))), set("displayName", said(e.tape, "task.name", "display_name")), set("golden", golden), set("runNumber", exactjson.IntValue(number)), set(ownMember, own))
}

func (e *encoding) engine() exactjson.Value {
	t := e.tape
	engine := e.from.Get("engine")
	if kind := said(t, "eval.engine", ""); e.from.IsAbsent() && !kind.IsAbsent() {
		engine = exactjson.ObjectValue(set("type", kind))
	} else if e.from.IsAbsent() && len(t.Sources.Dialects) > 0 {
		engine = exactjson.ObjectValue(set("type", text(strings.Join(t.Sources.Dialects, ","))))
	}
	return with(engine, set("modelId", text(t.Config.Model)),
		set("temperature", e.setting("temperature", t.Config.Temperature)), set("topP", e.setting("top_p", t.Config.TopP)), set("seed", e.setting("seed", t.Config.Seed)))
}

// setting is a number, for the seed an integer; anything else is left out.
func (e *encoding) setting(name string, v exactjson.Value) exactjson.Value {
	if v.IsAbsent() {
		return v
	}
	f, ok := v.Float()
	if name == "seed" {
		var n int64
		if n, ok = v.Int(); ok {
			v = exactjson.IntValue(n)
		}
	}
	if !ok || math.IsInf(f, 0) {
		e.lose("config."+name, "it is no number that a snapshot can hold")
		return exactjson.Value{}
	}
	return v
}

func (e *encoding) prompt() exactjson.Value {
	t := e.tape
	prompt := e.from.Get("prompt")
	if e.from.IsAbsent() {
		var instructions []exactjson.Value
		for _, m := range e.known("instructions").Members() {
			if path := m.Value.Get("path").Str(); fs.ValidPath(path) {
				instructions = append(instructions, exactjson.ObjectValue(set("path", text(path)), set("sha256", text(m.Value.Get("sha256").Str()))))
			}
		}
		if t.Config.SystemPromptSHA256 != "" {
			// The digest is of the text that the agent was given; it came from no file, so it gets a name that no file has.
			instructions = append(instructions, exactjson.ObjectValue(set("path", text("system-prompt")), set("sha256", text(t.Config.SystemPromptSHA256))))
		}
		if len(instructions) > 0 {
			prompt = exactjson.ObjectValue(set("instructions", exactjson.ArrayValue(instructions...)))
		}
	}
	if sent := followUps(t); e.from.IsAbsent() && len(sent) > 0 {
		list := make([]exactjson.Value, len(sent))
		for i, f := range sent {
			list[i] = e.plain(eventPath(f.event, "request.messages"), exactjson.StringValue(f.text))
		}
		prompt = with(prompt, set("followUps", exactjson.ArrayValue(list...)))
	}
	message := exactjson.Value{}
	if t.Input.UserMessage != nil {
		message = e.plain("input.user_message", exactjson.StringValue(*t.Input.UserMessage))
	}
	return with(prompt, set("message", message))
}

// known is what the harness knows, with the placeholder of waza in the place of our tokens.
func (e *encoding) known(member string) exactjson.Value {
	return e.plain("extensions."+harness.Key+"."+member, known(e.tape, member))
}

// followUp is what the user said after the first message, and the index of the first model call that has it.
type followUp struct {
	event int
	text  string
}

// FollowUps are what the user said after the first message: what a snapshot holds, else what later requests of the run have more.
func FollowUps(t *tape.Tape) (texts []string) {
	if from := residual(t); !from.IsAbsent() {
		for _, m := range from.Get("prompt").Get("followUps").Members() {
			texts = append(texts, m.Value.Str())
		}
		return texts
	}
	for _, f := range followUps(t) {
		texts = append(texts, f.text)
	}
	return texts
}

// followUps are the messages that the user sent while the run went on. They are the messages that were sent to the model calls at the top
// and that stand behind what was known before. Where a conversation was cut or summarised on the way, what is equal to an earlier message
// counts once.
func followUps(t *tape.Tape) (sent []followUp) {
	known := users(t, t.Input.Messages)
	for i := range t.Events {
		c := &t.Events[i]
		if c.Type != tape.EventModelCall || c.Parent != 0 || c.Request == nil || len(c.Request.Messages) == 0 {
			continue
		}
		now := users(t, c.Request.Messages)
		switch {
		case len(known) == 0: // the input is not recorded: the first request is the beginning
			known = now
			continue
		case len(now) >= len(known) && slices.Equal(now[:len(known)], known):
			now = now[len(known):]
		default:
			now = slices.DeleteFunc(now, func(id string) bool { return slices.Contains(known, id) })
		}
		for _, id := range now {
			sent = append(sent, followUp{i, interop.Texts(t.Messages[id])})
		}
		known = append(known, now...)
	}
	return sent
}

// users are the ids of the messages of the user that say something.
func users(t *tape.Tape, ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		m := t.Messages[id]
		return m.Role != tape.RoleUser || interop.Texts(m) == ""
	})
}

func (e *encoding) toolEvents() exactjson.Value {
	rest := e.from.Get("toolEvents")
	calls := toolCalls(e.tape)
	var list []exactjson.Value
	for n, i := range calls {
		c := &e.tape.Events[i]
		event := exactjson.ObjectValue()
		if n < len(e.entries) {
			event = exactjson.ObjectValue(set("turn", count(int64(e.entries[n].Turn))))
		}
		if rest.Len() == len(calls) {
			event = rest.At(n)
		}
		message := exactjson.Value{}
		if c.Error != nil {
			message = e.plain(eventPath(i, "error.message"), exactjson.StringValue(c.Error.Message))
		}
		list = append(list, with(event,
			set("sequence", exactjson.IntValue(int64(n+1))),
			set("tool_call_id", text(c.ToolCallID)),
			set("tool_name", text(c.Name)),
			set("args", e.payload(eventPath(i, "args"), c.Args)),
			set("result", e.payload(eventPath(i, "result"), c.Result)),
			set("success", exactjson.BoolValue(!c.IsError && c.Status != tape.EventError && c.Waiting == "")),
			set("error", message),
			set("duration_ms", count(max(c.DurationMS, 0)))))
	}
	if list == nil {
		return exactjson.Value{}
	}
	return exactjson.ArrayValue(list...)
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

func eventPath(i int, field string) string { return fmt.Sprintf("events.%d.%s", i, field) }

// payloadDepth is what maxDepth leaves for a payload: root, toolEvents and the event stand around it.
const payloadDepth = maxDepth - 3

// payload is a value that every reader takes: not nested too deep, and no number that a double cannot hold.
func (e *encoding) payload(path string, v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.Null {
		e.lose(path, "null and absent are one thing in a snapshot")
		return exactjson.Value{}
	}
	if !representable(v) || v.Depth() > payloadDepth {
		e.lose(path, "readers refuse such depth or such numbers; it is written as text")
		return e.plain(path, exactjson.StringValue(v.JSON()))
	}
	return e.plain(path, v)
}

// token is a value that was redacted under a key: equal values have equal tokens, [REDACTED:<rule>:<digest>].
var token = regexp.MustCompile(`\[REDACTED:[a-z0-9-]{1,48}:[a-z2-7]{26}\]`)

// plain puts waza's placeholder in the place of our tokens.
func (e *encoding) plain(path string, v exactjson.Value) exactjson.Value {
	if e.tape.Redaction.Count == 0 && e.tape.Redaction.KeyID == "" || !holds(v, "[REDACTED:") {
		return v
	}
	e.lose(path, "tokens of redacted values are written as "+placeholder)
	return replaced(v)
}

func replaced(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		return exactjson.StringValue(token.ReplaceAllLiteralString(v.Str(), placeholder))
	}
	return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return replaced(m.Value) })
}

func (e *encoding) redaction() exactjson.Value {
	r := &e.tape.Redaction
	if !e.from.IsAbsent() {
		return with(e.from.Get("redaction"), set("policy", text(r.Policy)), set("redactionCount", count(r.Count)))
	}
	policy := "default"
	switch {
	case r.Policy == "" || r.Policy == "none" || r.Policy == "off":
		policy = "disabled"
	case strings.Contains(r.Policy, "+custom"): // rules of the user's were used
		policy = "default+custom"
	}
	rules := exactjson.Value{}
	if len(r.Rules) > 0 {
		var names []exactjson.Value
		for _, name := range slices.Sorted(maps.Keys(r.Rules)) {
			names = append(names, text(name))
		}
		rules = exactjson.ArrayValue(names...)
	}
	return exactjson.ObjectValue(set("policy", text(policy)), set("appliedRules", rules), set("redactionCount", count(r.Count)))
}

func (e *encoding) result() exactjson.Value {
	r := &e.tape.Run
	result := e.from.Get("result")
	status := result.Get("status").Str()
	if failed := r.Status == tape.StatusError; e.from.IsAbsent() || failed != (status == statusError) {
		status = statusSkipped
		if failed {
			status = statusError
		}
	}
	validations := result.Get("validations")
	if e.from.IsAbsent() {
		var verdict string
		if validations, verdict = e.validations(); verdict != "" && status != statusError {
			status = verdict
		}
	}
	out, message := exactjson.Value{}, exactjson.Value{}
	if e.tape.Output.Text != nil {
		out = e.plain("output.text", exactjson.StringValue(*e.tape.Output.Text))
	}
	if r.Error != nil {
		message = e.plain("run.error.message", exactjson.StringValue(cmp.Or(r.Error.Message, r.Error.Type)))
	}
	return with(result, set("status", text(status)), set("finalOutput", out), set("errorMsg", message), set("durationMs", count(r.DurationMS)), set("validations", validations))
}

// validations are the checks that the harness ran and the verdicts on the run, as graders of waza, and what
// they say together; none where there were none.
func (e *encoding) validations() (exactjson.Value, string) {
	var graders []exactjson.Member
	verdict := statusPassed
	for _, m := range e.known("checks").Members() {
		id, duration := m.Value.Get("name").Str(), int64(0)
		if n, ok := m.Value.Get("duration_ms").Int(); ok {
			duration = n
		}
		code, ended := m.Value.Get("exit_code").Int()
		if id == "" || !ended || slices.ContainsFunc(graders, func(g exactjson.Member) bool { return g.Name == id }) {
			continue
		}
		score := int64(1)
		if code != 0 {
			score, verdict = 0, statusFailed
		}
		graders = append(graders, set(id, exactjson.ObjectValue(
			set("identifier", text(id)), set("type", text("program")), set("score", exactjson.IntValue(score)), set("weight", exactjson.IntValue(1)),
			set("passed", exactjson.BoolValue(code == 0)), set("feedback", text("ended with code "+strconv.FormatInt(code, 10))), set("duration_ms", exactjson.IntValue(duration)))))
	}
	for i := range e.tape.Verdicts {
		v := &e.tape.Verdicts[i]
		passed, score, graded := gradeOf(v)
		if !graded || slices.ContainsFunc(graders, func(g exactjson.Member) bool { return g.Name == v.Name }) {
			continue
		}
		if !passed {
			verdict = statusFailed
		}
		graders = append(graders, set(v.Name, exactjson.ObjectValue(
			set("identifier", text(v.Name)), set("type", text(graderType(v))), set("score", score), set("weight", exactjson.IntValue(1)),
			set("passed", exactjson.BoolValue(passed)), set("feedback", e.plain("verdicts."+strconv.Itoa(i)+".explanation", exactjson.StringValue(cmp.Or(v.Explanation, v.Label)))), set("duration_ms", exactjson.IntValue(0)))))
	}
	if graders == nil {
		return exactjson.Value{}, ""
	}
	return exactjson.ObjectValue(graders...), verdict
}

// graderType is that of waza which comes nearest to who judged.
func graderType(v *tape.Verdict) string {
	if strings.EqualFold(v.Judge, "LLM") {
		return "prompt"
	}
	return "program"
}

// gradeOf reads a verdict on the run as a grader says it. Its label says whether the run passed, and no value
// disagrees. waza's scores are from 0 to 1; without a value the label makes it.
func gradeOf(v *tape.Verdict) (passed bool, score exactjson.Value, graded bool) {
	passed, said := v.Passed()
	if score = exactjson.IntValue(0); passed {
		score = exactjson.IntValue(1)
	}
	if number, ok := v.Value.Float(); ok && number >= 0 && number <= 1 {
		score = v.Value
		said = said && !(passed && number == 0)
	}
	return passed, score, said && v.Of == tape.OfRun && v.Name != ""
}

// fixtures are the files that the run was given and whose digests are known: those that the harness names, and media of the first request.
func (e *encoding) fixtures() exactjson.Value {
	byPath := map[string]exactjson.Value{}
	for _, m := range e.known("fixtures").Members() {
		size, _ := m.Value.Get("size").Int()
		if path := m.Value.Get("path").Str(); fs.ValidPath(path) {
			byPath[path] = exactjson.ObjectValue(set("path", text(path)), set("size", count(size)), set("sha256", text(m.Value.Get("sha256").Str())))
		}
	}
	for _, id := range e.tape.Input.Messages {
		for _, p := range e.tape.Messages[id].Parts {
			path, ok := filePath(p.URI)
			if p.Type != tape.PartMedia || p.SHA256 == "" || !ok {
				continue
			}
			byPath[path] = exactjson.ObjectValue(set("path", text(path)), set("size", count(p.Size)), set("sha256", text(p.SHA256)))
		}
	}
	if len(byPath) == 0 {
		return exactjson.Value{}
	}
	var list []exactjson.Value
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		list = append(list, byPath[path])
	}
	return exactjson.ArrayValue(list...)
}

// filePath returns the path of a file URI or of a bare relative path, in slash form.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || uri == "":
		return "", false
	case u.Scheme == "file":
		return strings.TrimPrefix(u.Path, "/"), u.Path != ""
	default:
		return uri, u.Scheme == "" && u.Host == "" && !strings.HasPrefix(uri, "/")
	}
}
