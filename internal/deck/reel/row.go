// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package reel keeps runs in reels: Parquet objects that hold the evidence and the tapes of many runs, and are their own catalog. The package has
// the rows, the format, the union of the rows of one trace, the group commit of writers, look-up and compaction. Package reel/view shows a deck
// of reels as a deck of files. docs/deck.md says why it is so.
package reel

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/tape"
)

// Meta is a row without its content: the narrow columns of a reel. Names, types and order are part of the format (docs/deck.md). What is not known is
// null: the zero value.
//
// A row is one run, or, without a run_id, one part of a trace that no run of its derivation carries.
type Meta struct {
	Tenant         string `parquet:"tenant,dict"`
	TraceID        string `parquet:"trace_id"` // 32 hex digits
	RootSpanID     string `parquet:"root_span_id,optional"`
	RunID          string `parquet:"run_id,optional"`
	ConversationID string `parquet:"conversation_id,optional"`
	InvocationID   string `parquet:"invocation_id,optional"`
	CorrelationID  string `parquet:"correlation_id,optional"`
	TaskID         string `parquet:"task_id,optional"`
	WorkflowID     string `parquet:"workflow_id,optional"`
	ReplayRunID    string `parquet:"replay_run_id,optional"`
	ReplayOf       string `parquet:"replay_of,optional"`

	StartedAt     int64    `parquet:"started_at,optional,timestamp(microsecond)"`
	EndedAt       int64    `parquet:"ended_at,optional,timestamp(microsecond)"`
	DurationMS    int64    `parquet:"duration_ms,optional"`
	Service       string   `parquet:"service,optional,dict"`
	Environment   string   `parquet:"environment,optional,dict"`
	Agent         string   `parquet:"agent,optional,dict"`
	AgentVersion  string   `parquet:"agent_version,optional,dict"`
	Provider      string   `parquet:"provider,optional,dict"`
	Models        []string `parquet:"models,list"`
	Status        string   `parquet:"status,optional,dict"`
	ErrorType     string   `parquet:"error_type,optional,dict"`
	Grade         string   `parquet:"grade,optional,dict"`
	Verified      *int64   `parquet:"verified,optional"`     // answers that the proof has verified
	Unverifiable  *int64   `parquet:"unverifiable,optional"` // answers that it could not
	Events        *int64   `parquet:"events,optional"`
	ModelCalls    *int64   `parquet:"model_calls,optional"`
	ToolCalls     *int64   `parquet:"tool_calls,optional"`
	Tools         []string `parquet:"tools,list"`
	InputTokens   *int64   `parquet:"input_tokens,optional"`
	OutputTokens  *int64   `parquet:"output_tokens,optional"`
	CostUSD       *float64 `parquet:"cost_usd,optional"`
	Findings      []string `parquet:"findings,list"`         // codes, each once
	UserMessage   string   `parquet:"user_message,optional"` // its first userMessageRunes characters
	Dialects      []string `parquet:"dialects,list"`
	Rules         []string `parquet:"rules,list"`              // of reconstruction that changed something; reels of older programs have no such column
	PromptName    []string `parquet:"prompt_name,list"`        // of the prompts that its spans name; as prompt_version not in older reels
	PromptVersion []string `parquet:"prompt_version,list"`     // of any of them
	Verdicts      []string `parquet:"verdicts,list"`           // NAME=VALUE and NAME=LABEL of each; not in older reels
	ResponseIDs   []string `parquet:"response_ids,list"`       // of the answers of models; as judged not in older reels
	Judged        []string `parquet:"judged,list"`             // what verdicts of the trace name and no run of it has: response:ID, conversation:ID
	EvidenceBytes int64    `parquet:"evidence_bytes,optional"` // of the column evidence in this row
	TapeBytes     int64    `parquet:"tape_bytes,optional"`     // of the column tape in this row

	Area            string   `parquet:"area,dict"`              // where the writer of the row placed it; the union of its trace decides
	Part            string   `parquet:"part,optional"`          // digest of the evidence that came with the row
	Parts           []string `parquet:"parts,list"`             // digests of all evidence that the tape was made of, sorted
	Items           int64    `parquet:"items,optional"`         // distinct spans and log records in them
	Producer        string   `parquet:"producer,optional,dict"` // what names a generation beside its parts; JSON
	Formats         []string `parquet:"formats,list"`           // that its producer was asked for
	Files           []string `parquet:"files,list"`             // names of the files beside the tape, sorted
	Revision        int64    `parquet:"revision,optional"`
	TapeID          string   `parquet:"tape_id,optional"`
	Signature       string   `parquet:"signature,optional"` // of the tape (package signature); reels of older programs have no such column
	RedactionPolicy string   `parquet:"redaction_policy,optional,dict"`
	RedactionKeyID  string   `parquet:"redaction_key_id,optional,dict"`
	Complete        bool     `parquet:"complete"`           // the runs of the trace have ended as far as its writer could know
	Keep            string   `parquet:"keep,optional,dict"` // why a policy kept the content of the row, or KeepDropped; reels of older programs have no such column
}

// KeepDropped is the value of Meta.Keep in a row whose content was dropped: neither its evidence nor its tape
// lies in the deck.
const KeepDropped = "dropped"

// Dropped tells whether the content of the row was not kept.
func (m *Meta) Dropped() bool { return m.Keep == KeepDropped }

// Row is one row of a reel.
type Row struct {
	Meta
	// Evidence is the canonical OTLP that Part names; empty if another row of the same trace in the same reel has it.
	Evidence []byte `parquet:"evidence,optional"`
	// Tape is tape.json, byte for byte.
	Tape []byte `parquet:"tape,optional,string"`
}

// size is what a row weighs: its content, and roughly its columns.
func (r *Row) size() int64 {
	return int64(len(r.Evidence)+len(r.Tape)+len(r.UserMessage)+len(r.Signature)+64*len(r.Parts)) + minRow
}

const minRow = 1 << 10

// userMessageRunes bounds the column user_message.
const userMessageRunes = 500

// Describe fills in what a tape says of its run.
func (m *Meta) Describe(t *tape.Tape) {
	r := &t.Run
	m.Tenant, m.TraceID, m.RootSpanID, m.RunID = r.Tenant, r.TraceID, r.RootSpanID, r.RunID
	m.ConversationID, m.InvocationID, m.CorrelationID = r.ConversationID, r.InvocationID, r.CorrelationID
	m.TaskID, m.WorkflowID, m.ReplayRunID = r.TaskID, r.WorkflowID, r.ReplayRunID
	if of := t.Extensions.Get("replay").Get("of").Str(); of != "" {
		m.ReplayOf = of
	}
	m.StartedAt, m.EndedAt, m.DurationMS = micros(r.StartedAt), micros(r.EndedAt), r.DurationMS
	m.Service, m.Environment = r.Service.Name, r.Service.Environment
	m.Agent, m.AgentVersion = r.Agent.Name, r.Agent.Version
	m.Status, m.Grade = string(r.Status), string(t.Fidelity.Grade)
	if r.Error != nil {
		m.ErrorType = r.Error.Type
	}
	m.Verified, m.Unverifiable = number(t.Fidelity.Proof.Verified), number(t.Fidelity.Proof.Unverifiable)
	m.Events, m.ModelCalls, m.ToolCalls = number(len(t.Events)), number(t.Usage.ModelCalls), number(t.Usage.ToolCalls)
	m.InputTokens, m.OutputTokens = t.Usage.InputTokens, t.Usage.OutputTokens
	if cost, err := strconv.ParseFloat(t.Usage.CostUSD.JSON(), 64); err == nil {
		m.CostUSD = &cost
	}
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Type {
		case tape.EventModelCall:
			m.Models = distinct(m.Models, e.Model)
			if e.Response != nil && len(m.ResponseIDs) < mostNames && len(e.Response.ID) <= longestName {
				m.ResponseIDs = distinct(m.ResponseIDs, e.Response.ID)
			}
			if m.Provider == "" {
				m.Provider = e.Provider
			}
		case tape.EventToolCall:
			m.Tools = distinct(m.Tools, e.Name)
		}
	}
	for _, f := range t.Fidelity.Findings {
		m.Findings = distinct(m.Findings, string(f.Code))
	}
	for _, d := range t.Sources.Dialects {
		m.Dialects = distinct(m.Dialects, d)
	}
	for _, id := range t.Fidelity.Rules {
		m.Rules = distinct(m.Rules, id)
	}
	m.PromptName, m.PromptVersion = recorded(t, "gen_ai.prompt.name"), recorded(t, "gen_ai.prompt.version")
	for i := range t.Verdicts {
		m.Verdicts = judged(m.Verdicts, &t.Verdicts[i])
		if id := t.Verdicts[i].Metadata.Get("gen_ai.response.id").Str(); id != "" {
			m.Judge(JudgedResponse(id))
		}
	}
	if t.Input.UserMessage != nil {
		m.UserMessage = beginning(*t.Input.UserMessage, userMessageRunes)
	}
	m.TapeID, m.RedactionPolicy, m.RedactionKeyID = t.TapeID, t.Redaction.Policy, t.Redaction.KeyID
}

// JudgedResponse and JudgedConversation are values of the column judged.
func JudgedResponse(id string) string     { return "response:" + id }
func JudgedConversation(id string) string { return "conversation:" + id }

// Judge adds what a verdict names to the column judged.
func (m *Meta) Judge(name string) {
	if len(m.Judged) < mostNames && len(name) <= longestName {
		m.Judged = distinct(m.Judged, name)
	}
}

// Bounds of the columns response_ids and judged: ids of one row, and bytes of one. What is longer names
// nothing.
const (
	mostNames   = 256
	longestName = 256
)

// Bounds of the column verdicts: values of one run, and bytes of one.
const (
	mostVerdicts   = 256
	longestVerdict = 256
)

// judged adds the results of a verdict. One without a value and a label stands there by its name.
func judged(list []string, v *tape.Verdict) []string {
	value := v.ValueText()
	for _, result := range []string{value, v.Label} {
		if len(list) < mostVerdicts && result != "" {
			list = distinct(list, beginning(v.Name+"="+result, longestVerdict))
		}
	}
	if value == "" && v.Label == "" && len(list) < mostVerdicts {
		list = distinct(list, beginning(v.Name, longestVerdict))
	}
	return list
}

// recorded lists the texts of an attribute that a tape keeps as it was recorded.
func recorded(t *tape.Tape, name string) (list []string) {
	for _, m := range t.Extensions.Get("conventions").Get(name).Members() {
		v := m.Value.Get("value")
		list = distinct(list, cmp.Or(v.Str(), v.JSON()))
	}
	return list
}

func micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

func number(n int) *int64 {
	v := int64(n)
	return &v
}

// distinct adds a text to a list in which each text stands once. The lists are short.
func distinct(list []string, s string) []string {
	if s == "" {
		return list
	}
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// beginning cuts a text to so many characters. What is no UTF-8 is replaced: the column is text to every reader.
func beginning(s string, runes int) string {
	if n := runes * utf8.UTFMax; len(s) > n {
		s = s[:n]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := range s {
		if runes == 0 {
			return s[:i]
		}
		runes--
	}
	return s
}

// Location is where the writer of the row placed its trace.
func (m *Meta) Location() deck.Location {
	l := deck.Location{Area: deck.Area(m.Area), Tenant: m.Tenant, TraceID: m.TraceID}
	if l.Area == deck.AreaReplays {
		l.ReplayRunID = m.ReplayRunID
	}
	return l
}

// Generation names the derivation that the tape of the row belongs to.
func (m *Meta) Generation() deck.Generation {
	g := deck.NewGeneration(int(m.Items), m.Parts, []byte(m.Producer))
	g.Revision = int(m.Revision)
	return g
}

// check refuses rows that no writer of this project makes: what follows trusts names and digests.
func (m *Meta) check() error {
	bad := func(what string) error { return fmt.Errorf("%w: a row with a bad %s", deck.ErrCorrupt, what) }
	if l := m.Location(); l.Area == deck.AreaJoined || l.Validate() != nil {
		return bad("location")
	}
	if m.Part != "" && !isDigest(m.Part) {
		return bad("part")
	}
	for i, p := range m.Parts {
		if !isDigest(p) || i > 0 && m.Parts[i-1] >= p {
			return bad("list of parts")
		}
	}
	if m.RunID == "" {
		return nil
	}
	if len(m.RootSpanID) != 16 || !isHex(m.RootSpanID) || m.RunID != m.TraceID+"-"+m.RootSpanID {
		return bad("run")
	}
	if len(m.Parts) == 0 || m.Items < 0 || m.Revision < 0 || !json.Valid([]byte(m.Producer)) {
		return bad("derivation")
	}
	if _, err := signature.Parse(m.Signature); err != nil && m.Signature != "" {
		return bad("signature")
	}
	for _, name := range m.Files {
		if deck.CheckKey(name) != nil || strings.Contains(name, "/") || name == deck.TapeFile {
			return bad("file name")
		}
	}
	return nil
}

func isDigest(s string) bool { return len(s) == 64 && isHex(s) }

// isHex accepts lower-case hex digits.
func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && strings.ToLower(s) == s
}
