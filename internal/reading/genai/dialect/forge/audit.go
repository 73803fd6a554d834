// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Records of Forge's audit stream are log records: the name is this prefix and the event, the body is the
// line as it came.
const (
	AuditPrefix   = "forge_audit."
	CorrelationID = "forge.correlation_id"
	// AuditIntegrity says what speaks against a record; absent when nothing does.
	AuditIntegrity = "forge.audit.integrity"
)

// Values of AuditIntegrity. A record counts with the last of them, or without any.
const (
	AuditChainBroken       = "chain_broken"
	AuditSignatureInvalid  = "signature_invalid"
	AuditUnsigned          = "unsigned"                     // and keys were given
	AuditChainBrokenSigned = "chain_broken_signature_valid" // the record is whole, one beside it is not
)

// auditRecord is a record of the stream.
type auditRecord struct {
	source    *dialect.Source
	copies    []*dialect.Source // the same line, of which something else was known
	event     string
	body      exactjson.Value
	seq       int64
	integrity string
	disputed  bool // another record of the request claims its place
}

func (r *auditRecord) trusted() bool {
	return !r.disputed && (r.integrity == "" || r.integrity == AuditChainBrokenSigned)
}

func (r *auditRecord) field(name string) string { return r.body.Get("fields").Get(name).Str() }

func auditRecordOf(s *dialect.Source) (*auditRecord, bool) {
	a := decode.Attributes(s.Span.Attributes())
	body, err := exactjson.Parse(a.Text(dialect.LogBody))
	if err != nil {
		return nil, false
	}
	seq, _ := body.Get("seq").Int()
	return &auditRecord{
		source: s, event: strings.TrimPrefix(s.Span.Name(), AuditPrefix), body: body, seq: seq, integrity: a.Text(AuditIntegrity),
	}, true
}

func forgeAuditRole(eventName string, a decode.Attributes) dialect.LogRole {
	run := a.Text(CorrelationID)
	role := dialect.LogRole{Class: dialect.Agent, Run: run}
	switch strings.TrimPrefix(eventName, AuditPrefix) {
	case "llm_call", "llm_call_failed", "llm_call_cancelled":
		role.Class = dialect.Model
	case "tool_exec":
		role.Class = dialect.Tool
	}
	if run == "" {
		role.Class = dialect.Unclassified
	}
	return role
}

// readForgeAudit takes from the audit records of a span what the span lacks or holds cut. Records that cannot
// be trusted are left out.
func readForgeAudit(s *dialect.Source, o *dialect.Draft) {
	o.Notes = append(o.Notes, s.Notes...)
	var records []*auditRecord
	for _, l := range s.Logs {
		if !strings.HasPrefix(l.Name(), AuditPrefix) {
			continue
		}
		if r, ok := auditRecordOf(&dialect.Source{Span: l}); ok && r.trusted() {
			records = append(records, r)
		}
	}
	for _, r := range records {
		switch o.Class {
		case dialect.Agent:
			r.readRun(o)
		case dialect.Model:
			r.readModel(s, o)
		case dialect.Tool:
			r.readTool(s, o)
		}
	}
}

// readRun reads who called, and by which route.
func (r *auditRecord) readRun(o *dialect.Draft) {
	if r.event == "auth_verify" {
		decode.FillString(&o.UserID, r.field("user_id"))
	}
	in := &dialect.Inbound{Guarded: r.event == "guardrail_check" && r.field("gate") == "input" && r.field("decision") == "masked"}
	if path := r.field("path"); r.event == "auth_verify" && path != "/" && path != "" {
		// the REST route of that method
		in.Method, in.MethodLabel = strings.TrimPrefix(path, "/"), tape.Inferred
	}
	if r.event == "auth_verify" || r.event == "session_start" { // which hold every header that came
		for _, h := range InboundHeaders {
			switch value := r.body.Get(h.Audit).Str(); {
			case h.Audit == "":
			case value == "":
				in.Absent = append(in.Absent, h.Name)
			case strings.HasPrefix(h.Name, "X-Forge-"): // or the deployment stamped it
				in.Headers = append(in.Headers, dialect.Header{Name: h.Name, Value: value, Label: tape.Inferred})
			default:
				in.Headers = append(in.Headers, dialect.Header{Name: h.Name, Value: value, Label: tape.Recovered})
			}
		}
	}
	if o.Inbound == nil {
		o.Inbound = &dialect.Inbound{}
	}
	o.Inbound.Add(in)
}

func (r *auditRecord) readModel(s *dialect.Source, o *dialect.Draft) {
	var input, output string
	if s.ScopeName != dialect.LogScope {
		a := decode.Attributes(s.Span.Attributes())
		input, output = a.Text("gen_ai.input.messages"), a.Text("gen_ai.output.messages")
	} else { // a call that no span reports
		o.Operation = "chat"
		o.AddNote(tape.CodeModelCallHidden, "", "only the audit stream reports the call; its record tells the time to the second, so it stands behind the call that it repeats")
		if r.event == "llm_call_failed" {
			o.Failed, o.Error = true, &tape.Error{Message: r.field("error")}
		}
	}
	decode.FillString(&o.Model, r.body.Get("model").Str())
	decode.FillString(&o.Provider, r.body.Get("provider").Str())
	decode.FillUsage(&o.Usage, tape.Usage{InputTokens: auditCount(r.body.Get("input_tokens")), OutputTokens: auditCount(r.body.Get("output_tokens"))})
	if url := r.field("url"); url != "" && o.Extra == nil {
		o.Extra = map[string][]exactjson.Member{"forge": {{Name: "llm.url", Value: exactjson.StringValue(url)}}}
	}
	if text, ok := r.whole(o, "prompt_messages", "request.messages", input); ok {
		if messages, label := forgeMessages(text, tape.RoleUser); len(messages) > 0 && label == "" {
			o.Request, o.RequestLabel = messages, tape.Recovered
		}
	}
	if text, ok := r.completion(o, output); ok {
		p := decode.TextPart(text)
		o.Response = scrubbedMessages([]decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{p}}})
		o.ResponseLabel = tape.Recovered
	}
}

func auditCount(v exactjson.Value) *int64 {
	if n, ok := v.Int(); ok && n >= 0 {
		return &n
	}
	return nil
}

func (r *auditRecord) readTool(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch r.field("phase") {
	case "start":
		if text, ok := r.whole(o, "args", "args", a.Text("forge.tool.args")); ok {
			o.Args = fromAudit(forgeArgs(exactjson.StringValue(text)))
		}
	case "end":
		if o.Failed && !o.Result.Present() {
			return // the record holds the sentence that the loop makes of the error
		}
		if text, ok := r.whole(o, "result", "result", a.Text("forge.tool.result")); ok {
			o.Result = fromAudit(decode.Result(exactjson.StringValue(text), false))
		}
	}
}

// fromAudit labels content that a record gave.
func fromAudit(c decode.Content) decode.Content {
	if c.LabelMasked(); c.Label == "" {
		c.Label = tape.Recovered
	}
	return c
}

// whole returns a body of the record, where the record holds it whole and the span does not. What the span
// holds must be the beginning of the body.
func (r *auditRecord) whole(o *dialect.Draft, name, field, held string) (string, bool) {
	body := r.field(name)
	prefix, _, cut := decode.ForgeCut(held)
	if body == "" || auditCut(body) || held != "" && !cut {
		return "", false
	}
	if cut && !begins(body, prefix) {
		o.AddNote(tape.CodeAuditMismatch, field, "the audit record holds another text than the span began with; it was not used")
		return "", false
	}
	return body, true
}

// completion returns the text of the answer, where the span lacks it or holds it cut. An answer that asks for
// tools is longer than its text; the next request shows it whole.
func (r *auditRecord) completion(o *dialect.Draft, held string) (string, bool) {
	text := r.field("completion_text")
	prefix, _, cut := decode.ForgeCut(held)
	if text == "" || auditCut(text) || held != "" && !cut {
		return "", false
	}
	if cut {
		type message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		list, err := json.Marshal([]message{{string(tape.RoleAssistant), text}}) // as Forge encodes it
		if err != nil || !begins(string(list), prefix) {
			o.AddNote(tape.CodeAuditMismatch, "response.message", "the audit record holds another text than the span began with; it was not used")
			return "", false
		}
	}
	return text, true
}

// isLong reports a text of so many bytes. Redaction may hide that.
func isLong(text string, bytes int) bool {
	return len(text) == bytes || len(token.Find(text)) > 0
}

// begins reports that a text begins with what a cut has left of it. A value that the cut divided was redacted
// in the whole text alone, so the rest of the prefix cannot be compared.
func begins(text, prefix string) bool {
	if strings.HasPrefix(text, prefix) {
		return true
	}
	for _, at := range token.Find(text) {
		if at[0] > len(prefix) || text[:at[0]] != prefix[:at[0]] {
			return false
		}
		if !strings.HasPrefix(prefix[at[0]:], text[at[0]:at[1]]) {
			return len(prefix)-at[0] <= maxDivided
		}
	}
	return false
}

// maxDivided is how much of a prefix may be the beginning of a redacted value.
const maxDivided = 512

// contextCut is how the loop ends a result that it cut before the model saw it.
var contextCut = regexp.MustCompile(`\n\n\[OUTPUT TRUNCATED -- original length: \d+ chars\]$`)

// auditCut reports a body that the record does not hold whole: the cap is configured, so only the marker
// tells.
func auditCut(body string) bool {
	tail := body[max(0, len(body)-100):]
	m := decode.ForgeMarker.FindStringSubmatch(tail)
	if m != nil {
		whole, err := strconv.Atoi(m[1])
		return err != nil || whole > len(body)-len(m[0])
	}
	return contextCut.MatchString(tail)
}

func compareAudit(a, b *auditRecord) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), dialect.CompareLogs(a.source, b.source))
}
