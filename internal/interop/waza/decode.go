// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// placeholder stands for what waza redacted.
const placeholder = "[REDACTED]"

// Decode reads a snapshot as a tape, or a results.json as the tapes of its runs. extensions.waza.snapshot holds what a tape has no place for, so that Encode gives the file
// back. The losses are what Encode would write differently.
func Decode(data []byte, o interop.Options) ([]interop.Run, error) {
	s, err := Read(data)
	if errors.Is(err, interop.ErrNotFormat) {
		if v, parseErr := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues); parseErr == nil && isResults(v) {
			return readResults(v, o)
		}
	}
	if err != nil {
		return nil, err
	}
	if s.Evidence != nil {
		return nil, fmt.Errorf("read waza snapshot: its own evidence speaks against it: %w", s.Evidence)
	}
	run := s.run(o)
	o.NoLosses = true
	after, _, err := Encode(run.Tape, run.Oracle, o)
	if err != nil {
		return nil, err
	}
	run.Losses, err = interop.DocumentLosses(data, after, decodeReason)
	if err != nil {
		return nil, err
	}
	return []interop.Run{run}, nil
}

// Tape is the snapshot as a whole tape.
func (s *Snapshot) Tape() (*tape.Tape, error) {
	if s.Evidence != nil {
		return nil, fmt.Errorf("its own evidence speaks against it: %w", s.Evidence)
	}
	return s.run(interop.Options{}).Tape, nil
}

// run is the snapshot as a whole tape. Its ids follow from the document in its usual form.
func (s *Snapshot) run(o interop.Options) interop.Run {
	usual := snapshotShape.usual(with(s.doc, set("schemaVersion", versionOf(s.doc)), set("kind", text(documentKind))))
	return interop.Finish(s.tape(), name, sorted(usual, true).AppendJSON(nil), o)
}

func decodeReason(path string, what interop.What) string {
	switch {
	case what == interop.Dropped:
		return "what is empty is left out"
	case what != interop.Changed:
	case strings.HasSuffix(path, ".sequence"):
		return "events of a tape are numbered 1..N in their order"
	case strings.HasPrefix(path, "toolEvents."):
		return "events are ordered by their sequence"
	case path == "createdAt":
		return "times are written in UTC"
	}
	return ""
}

// tape moves the members that a tape has a place for, and leaves the others.
func (s *Snapshot) tape() *tape.Tape {
	doc := s.doc
	task, engine, prompt, result, redaction := doc.Get("task"), doc.Get("engine"), doc.Get("prompt"), doc.Get("result"), doc.Get("redaction")
	t := &tape.Tape{}
	t.Run.TaskID = task.Get("testId").Str()
	readOwn(t, task.Get(ownMember))
	t.Run.EndedAt, _ = time.Parse(time.RFC3339, doc.Get("createdAt").Str())
	t.Run.EndedAt = t.Run.EndedAt.UTC()
	t.Run.DurationMS, _ = result.Get("durationMs").Int()
	if result.Get("status").Str() == statusError {
		t.Run.Status = tape.StatusError
	}
	if message := result.Get("errorMsg").Str(); message != "" {
		t.Run.Error = &tape.Error{Message: message}
	}
	t.Config.Model = engine.Get("modelId").Str()
	t.Config.Temperature, t.Config.TopP, t.Config.Seed = engine.Get("temperature"), engine.Get("topP"), engine.Get("seed")
	t.Input.UserMessage = pointer(prompt.Get("message"))
	if t.Input.UserMessage != nil {
		t.Input.Messages = []string{interop.Pool(t, interop.Text(tape.RoleUser, *t.Input.UserMessage))}
		t.Input.Provenance = masked(nil, "user_message", prompt.Get("message"))
	}
	if out := pointer(result.Get("finalOutput")); out != nil {
		t.Output.Text = out
		t.Output.Message = interop.Pool(t, interop.Text(tape.RoleAssistant, *out))
		t.Output.Provenance = masked(nil, "text", result.Get("finalOutput"))
	}
	t.Redaction.Policy = redaction.Get("policy").Str()
	t.Redaction.Count, _ = redaction.Get("redactionCount").Int()
	kept := toolEvents(t, doc.Get("toolEvents"))

	rest := with(doc,
		set("kind", exactjson.Value{}), set("createdAt", exactjson.Value{}),
		set("engine", without(engine, "modelId", "temperature", "topP", "seed")),
		set("prompt", without(prompt, "message")),
		set("toolEvents", kept),
		set("redaction", without(redaction, "policy", "redactionCount")),
		set("result", without(result, "finalOutput", "errorMsg", "durationMs")))
	t.Extensions = exactjson.ObjectValue(set(name, exactjson.ObjectValue(set("snapshot", rest))))
	return t
}

// without returns the object without some members, absent when nothing is left.
func without(object exactjson.Value, names ...string) exactjson.Value {
	kept := slices.DeleteFunc(slices.Clone(object.Members()), func(m exactjson.Member) bool { return slices.Contains(names, m.Name) })
	if len(kept) == 0 {
		return exactjson.Value{}
	}
	return exactjson.ObjectValue(kept...)
}

func pointer(v exactjson.Value) *string {
	if v.Str() == "" {
		return nil
	}
	s := v.Str()
	return &s
}

// toolEvents turns the tool calls into events, ordered by their sequence, and returns what is left of each.
func toolEvents(t *tape.Tape, list exactjson.Value) (kept exactjson.Value) {
	calls := slices.Clone(list.Members())
	slices.SortStableFunc(calls, func(a, b exactjson.Member) int {
		x, _ := a.Value.Get("sequence").Int()
		y, _ := b.Value.Get("sequence").Int()
		return cmp.Compare(x, y)
	})
	rest := make([]exactjson.Value, len(calls))
	for i, m := range calls {
		c := m.Value
		e := tape.Event{
			Type: tape.EventToolCall, Status: tape.EventOK, ToolCallID: c.Get("tool_call_id").Str(), Name: c.Get("tool_name").Str(),
			Args: c.Get("args"), Result: c.Get("result"), IsError: !c.Get("success").True(),
		}
		e.DurationMS, _ = c.Get("duration_ms").Int()
		e.Provenance = masked(e.Provenance, "args", e.Args)
		e.Provenance = masked(e.Provenance, "result", e.Result)
		if message := c.Get("error").Str(); message != "" {
			e.Error = &tape.Error{Message: message}
		}
		if e.IsError {
			e.Status = tape.EventError
		}
		if e.Args.IsAbsent() {
			e.Provenance = label(e.Provenance, "args", tape.Missing)
			find(t, tape.CodeArgsMissing, i+1, "args")
		}
		switch {
		case !e.Result.IsAbsent():
		case e.IsError && e.Error == nil:
			// waza writes a call that never completed like this.
			e.IsError = false
			find(t, tape.CodeUnansweredToolCall, i+1, "result")
		case !e.IsError:
			e.Provenance = label(e.Provenance, "result", tape.Missing)
			find(t, tape.CodeResultMissing, i+1, "result")
		}
		for _, field := range []string{"args", "result"} {
			if e.Provenance[field] == tape.Masked {
				find(t, tape.CodeMasked, i+1, field)
			}
		}
		t.Events = append(t.Events, e)
		if rest[i] = without(c, "sequence", "tool_call_id", "tool_name", "args", "result", "success", "error", "duration_ms"); rest[i].IsAbsent() {
			rest[i] = exactjson.ObjectValue()
		}
	}
	if len(rest) == 0 {
		return exactjson.Value{}
	}
	return exactjson.ArrayValue(rest...)
}

// masked labels a field that holds waza's placeholder: what stood there is not known, so it is not served.
func masked(p tape.Provenance, field string, v exactjson.Value) tape.Provenance {
	if !holds(v, placeholder) {
		return p
	}
	return label(p, field, tape.Masked)
}

func holds(v exactjson.Value, part string) bool {
	if v.Kind() == exactjson.String {
		return strings.Contains(v.Str(), part)
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return holds(m.Value, part) })
}

func label(p tape.Provenance, field string, l tape.Label) tape.Provenance {
	if p == nil {
		p = tape.Provenance{}
	}
	p[field] = l
	return p
}

// find notes a finding with the severity that its kind usually has.
func find(t *tape.Tape, code tape.Code, seq int, field string) {
	i := slices.IndexFunc(tape.FindingKinds, func(k tape.FindingKind) bool { return k.Code == code })
	k := tape.FindingKinds[i]
	t.Fidelity.Findings = append(t.Fidelity.Findings, tape.Finding{Code: code, Severity: k.Severity, Seq: seq, Field: field, Detail: k.Meaning})
}

// ownMember of a task holds what the snapshot has no place for and a reader of ours can use. Readers of waza ignore it.
const ownMember = "tapedeck"

var (
	runIDForm = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}$`)
	ownStatus = map[string]tape.RunStatus{"ok": tape.StatusOK, "interrupted": tape.StatusInterrupted, "incomplete": tape.StatusIncomplete}
)

// readOwn takes the ids of a snapshot that was made from a tape.
func readOwn(t *tape.Tape, own exactjson.Value) {
	if own.Kind() != exactjson.Object {
		return
	}
	r := &t.Run
	if id := own.Get("run_id").Str(); runIDForm.MatchString(id) {
		r.TraceID, r.RootSpanID, _ = strings.Cut(id, "-")
	}
	r.TaskID = own.Get("task_id").Str()
	r.ConversationID = own.Get("conversation_id").Str()
	r.ReplayRunID = own.Get("replay_run_id").Str()
	r.Agent.Name = own.Get("agent").Str()
	r.Service.Name = own.Get("service").Str()
	r.Status = ownStatus[own.Get("status").Str()]
}
