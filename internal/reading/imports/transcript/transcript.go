// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript makes a log record of each line of the transcripts that coding agents write to the home
// folder. The dialects of package genai/dialect/transcript read them. The records of one session are one
// trace, whichever files hold them, so that a longer transcript of a session adds to what is known of it.
package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/transcript"
	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// ClaudeCode is what Claude Code writes to ~/.claude/projects.
var ClaudeCode = imports.Format{Name: "claude-code", Title: "Claude Code transcript", Tells: tellsClaude, Read: readClaude}

// Codex is what the Codex CLI writes to ~/.codex/sessions.
var Codex = imports.Format{Name: "codex", Title: "Codex CLI rollout", Tells: tellsCodex, Read: readCodex}

// claudeKinds are the types of lines that tell of a run. The others are of the program's own surface.
var claudeKinds = []string{"user", "assistant", "system", "attachment", "api-request", "api-request-shape", "api-request-blob"}

type claudeLine struct {
	Type       string `json:"type"`
	SessionID  string `json:"sessionId"`
	UUID       string `json:"uuid"`
	Timestamp  string `json:"timestamp"`
	Attachment struct {
		Type string `json:"type"`
	} `json:"attachment"`
	ToolUseResult json.RawMessage `json:"toolUseResult"`
}

// file is a transcript on the way through it.
type file struct {
	number int
	at     pcommon.Timestamp // of the last line that tells a time
	agents []string          // whose transcripts lie in files of their own
}

func tellsClaude(head []byte) bool {
	for n, text := range bytes.Split(head, []byte("\n")) {
		var l claudeLine
		if json.Unmarshal(text, &l) == nil && l.Type != "" && l.SessionID != "" && (l.UUID != "" || l.Timestamp != "" || n > 0) {
			return true
		}
	}
	return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"parentUuid":`)) && bytes.Contains(head, []byte(`"isSidechain":`))
}

func readClaude(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return func(yield func(otlpfile.Document, error) bool) {
		var f file
		for doc, err := range f.claude(in) {
			if !yield(doc, err) {
				return
			}
		}
		for _, agent := range f.agents {
			if in.Sibling == nil || !f.beside(in, agent, yield) {
				return
			}
		}
	}
}

// plainID is an id that may be a part of the name of a file.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// beside reads the transcript of an agent that a session ran. It is not there where an earlier version wrote
// its lines into that of the session. It reports whether reading goes on.
func (f *file) beside(in imports.Input, agent string, yield func(otlpfile.Document, error) bool) bool {
	session := strings.TrimSuffix(filepath.Base(in.Name), ".jsonl")
	name := path.Join(session, "subagents", "agent-"+agent+".jsonl")
	r, err := in.Sibling(name)
	if err != nil {
		return true
	}
	defer func() { _ = r.Close() }()
	plain, done, err := otlpfile.Plain(r, in.Options)
	if err != nil {
		return yield(otlpfile.Document{}, &otlpfile.Error{Name: name, Err: err})
	}
	defer done()
	var of file
	for doc, err := range of.claude(imports.Input{Name: filepath.Join(filepath.Dir(in.Name), name), Reader: plain, Options: in.Options}) {
		if !yield(doc, err) {
			return false
		}
	}
	return true
}

// claude reads the lines of one file.
func (f *file) claude(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows(nil, func(text []byte) (otlpfile.Document, error) {
		f.number++
		var l claudeLine
		if err := imports.Decode(text, &l); err != nil {
			return otlpfile.Document{}, err
		}
		if at := imports.Time(l.Timestamp); at != 0 {
			f.at = at
		}
		if !slices.Contains(claudeKinds, l.Type) {
			return otlpfile.Document{}, nil
		}
		if l.SessionID == "" {
			return otlpfile.Document{}, fmt.Errorf("%w: a line without sessionId", otlpfile.ErrMalformed)
		}
		var result struct {
			AgentID string `json:"agentId"`
		}
		if json.Unmarshal(l.ToolUseResult, &result) == nil && plainID.MatchString(result.AgentID) && !slices.Contains(f.agents, result.AgentID) && len(f.agents) < maxAgents {
			f.agents = append(f.agents, result.AgentID)
		}
		if l.Attachment.Type == "prompt_snapshot" {
			text = bare(text)
		}
		record, doc := f.record(text, "claude-code", l.SessionID)
		record.SetEventName(transcript.ClaudeCodePrefix + l.Type)
		return doc, nil
	})
}

// bare leaves out of a line what the program was configured with: each such line repeats it, and requests
// tell it. Lines behind it name the line as theirs.
func bare(text []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return text
	}
	delete(members, "attachment")
	delete(members, "rendered")
	less, err := json.Marshal(members)
	if err != nil {
		return text
	}
	return less
}

// maxAgents is how many transcripts of agents are read beside one of a session.
const maxAgents = 1000

// codexKinds are the types of lines that tell of a run.
var codexKinds = []string{"session_meta", "turn_context", "event_msg", "response_item", "token_usage_record", "compacted"}

type codexLine struct {
	Timestamp string `json:"timestamp"`
	Type      string `json:"type"`
	Payload   struct {
		ID        string `json:"id"`
		SessionID string `json:"session_id"`
	} `json:"payload"`
}

func tellsCodex(head []byte) bool {
	first, _, whole := bytes.Cut(head, []byte("\n"))
	var l codexLine
	if json.Unmarshal(first, &l) == nil {
		return l.Type == "session_meta" && l.Timestamp != "" && l.Payload.ID != ""
	}
	return !whole && bytes.HasPrefix(head, []byte(`{"timestamp":"`)) && bytes.Contains(head, []byte(`"type":"session_meta"`))
}

func readCodex(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	var f file
	var thread, session string
	return in.Rows(nil, func(text []byte) (otlpfile.Document, error) {
		f.number++
		var l codexLine
		if err := imports.Decode(text, &l); err != nil {
			return otlpfile.Document{}, err
		}
		if at := imports.Time(l.Timestamp); at != 0 {
			f.at = at
		}
		if !slices.Contains(codexKinds, l.Type) {
			return otlpfile.Document{}, nil
		}
		if l.Type == "session_meta" && thread == "" {
			thread, session = l.Payload.ID, l.Payload.SessionID
			if session == "" {
				session = thread
			}
		}
		if thread == "" {
			return otlpfile.Document{}, fmt.Errorf("%w: a line before the id of the session", otlpfile.ErrMalformed)
		}
		record, doc := f.record(text, "codex", session)
		record.SetEventName(transcript.CodexPrefix + l.Type)
		record.Attributes().PutStr(transcript.Thread, thread)
		return doc, nil
	})
}

// record makes the log record of a line.
func (f *file) record(text []byte, program, session string) (plog.LogRecord, otlpfile.Document) {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", program)
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName("tapedeck.transcript")
	record := sl.LogRecords().AppendEmpty()
	record.SetTraceID(imports.TraceID(program, session))
	record.SetTimestamp(f.at)
	record.Body().SetStr(strings.ToValidUTF8(string(text), "\ufffd"))
	record.Attributes().PutStr("session.id", session)
	record.Attributes().PutInt(transcript.Line, int64(f.number))
	return record, imports.Logs(ld)
}
