// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Problem is one way in which a tape or a file beside it is not what it claims to be. It never holds recorded content.
type Problem struct {
	Code   string // one of the Problem constants
	Path   string // dotted path in the tape, or the name of a file and a path in it: oracle.json:3.args_hash
	Detail string
}

// The codes of problems.
const (
	ProblemKind        = "kind"         // not an agent tape
	ProblemVersion     = "version"      // a MAJOR version that cannot be read
	ProblemSchema      = "schema"       // not valid against the JSON Schema
	ProblemTapeID      = "tape_id"      // the content has another digest
	ProblemRunID       = "run_id"       // not <trace_id>-<root_span_id>
	ProblemSequence    = "sequence"     // events are not numbered 1..N
	ProblemReference   = "reference"    // names something that is not there or is of another type
	ProblemOrder       = "order"        // an effect stands before its cause
	ProblemPoolID      = "pool_id"      // the content of a message or tool has another id
	ProblemUnused      = "unused"       // a pool entry that nothing refers to
	ProblemArgsHash    = "args_hash"    // the arguments have another hash
	ProblemResultHash  = "result_hash"  // the response has another digest
	ProblemFindingCode = "finding_code" // not in the table of codes
	ProblemLabel       = "label"        // not a provenance label
	ProblemProof       = "proof"        // the proof contradicts itself or the tape
	ProblemGrade       = "grade"        // the grade claims more than the proof holds
	ProblemFile        = "file"         // a file is missing, is not listed, or has other bytes than the tape says
	ProblemOracle      = "oracle"       // the oracle file does not agree with the events
)

// Check looks for problems of one kind that this package cannot find without heavy dependencies; see tape/schema and oracle.
type Check func(t *Tape, files map[string][]byte) []Problem

// Verify lists every problem of a tape, and of the files that lie beside it: name → content. Files listed on the tape are demanded
// when files is not nil.
func Verify(t *Tape, files map[string][]byte, more ...Check) []Problem {
	v := verifier{t: t, usedMessages: map[string]bool{}, usedTools: map[string]bool{}}
	v.head()
	v.references()
	v.pools()
	v.hashes()
	v.fidelity()
	v.files(files)
	for _, check := range more {
		v.problems = append(v.problems, check(t, files)...)
	}
	return v.problems
}

type verifier struct {
	t                       *Tape
	problems                []Problem
	usedMessages, usedTools map[string]bool
	shown                   map[string]bool // results of tools in messages, as an oracle answers; nil until it is asked for
}

func (v *verifier) add(code, path, format string, args ...any) {
	v.problems = append(v.problems, Problem{code, path, fmt.Sprintf(format, args...)})
}

func eventPath(i int, field string) string { return "events." + strconv.Itoa(i) + "." + field }

func (v *verifier) head() {
	t := v.t
	if t.Kind != Kind {
		v.add(ProblemKind, "kind", "not %q", Kind)
	}
	if !versionForm.MatchString(t.SchemaVersion) || major(t.SchemaVersion) != major(SchemaVersion) {
		v.add(ProblemVersion, "schema_version", "not %s.x", major(SchemaVersion))
	}
	if id, err := t.ComputeID(); err != nil {
		v.add(ProblemTapeID, "tape_id", "%v", err)
	} else if id != t.TapeID {
		v.add(ProblemTapeID, "tape_id", "the content has %s", id)
	}
	if t.Run.RunID != t.Run.TraceID+"-"+t.Run.RootSpanID {
		v.add(ProblemRunID, "run.run_id", "not <trace_id>-<root_span_id>")
	}
	for i := range t.Events {
		if t.Events[i].Seq != i+1 {
			v.add(ProblemSequence, eventPath(i, "seq"), "is %d, not %d", t.Events[i].Seq, i+1)
		}
	}
}

func (v *verifier) references() {
	t := v.t
	v.messages("input.messages", t.Input.Messages)
	v.message("output.message", t.Output.Message)
	for i := range t.Events {
		e := &t.Events[i]
		v.event(i, "parent", e.Parent, EventAgentCall)
		v.event(i, "requested_by", e.RequestedBy, EventModelCall)
		v.event(i, "via", e.Via, EventToolCall)
		if e.Request != nil {
			v.messages(eventPath(i, "request.messages"), e.Request.Messages)
			for n, id := range e.Request.Tools {
				v.usedTools[id] = true
				if _, ok := t.Tools[id]; !ok {
					v.add(ProblemReference, eventPath(i, "request.tools."+strconv.Itoa(n)), "no such tool")
				}
			}
		}
		if e.Response != nil {
			v.message(eventPath(i, "response.message"), e.Response.Message)
		}
	}
	for i := range t.Verdicts {
		if seq := t.Verdicts[i].Seq; seq < 0 || seq > len(t.Events) {
			v.add(ProblemReference, "verdicts."+strconv.Itoa(i)+".seq", "no event %d", seq)
		}
	}
}

func (v *verifier) messages(path string, ids []string) {
	for n, id := range ids {
		v.message(path+"."+strconv.Itoa(n), id)
	}
}

func (v *verifier) message(path, id string) {
	v.usedMessages[id] = true
	if _, ok := v.t.Messages[id]; !ok && id != "" {
		v.add(ProblemReference, path, "no such message")
	}
}

// event checks a reference to the event seq: causes and enclosing events stand first.
func (v *verifier) event(i int, field string, seq int, want EventType) {
	switch {
	case seq == 0:
	case seq < 0 || seq > len(v.t.Events):
		v.add(ProblemReference, eventPath(i, field), "no event %d", seq)
	case v.t.Events[seq-1].Type != want:
		v.add(ProblemReference, eventPath(i, field), "event %d is no %s", seq, want)
	case seq > i:
		v.add(ProblemOrder, eventPath(i, field), "event %d does not stand before", seq)
	}
}

func (v *verifier) pools() {
	for _, id := range slices.Sorted(maps.Keys(v.t.Tools)) {
		if got := v.t.Tools[id].ID(); got != id {
			v.add(ProblemPoolID, "tools."+id, "the content has %s", got)
		}
		if !v.usedTools[id] {
			v.add(ProblemUnused, "tools."+id, "nothing refers to it")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.t.Messages)) {
		if got := v.t.Messages[id].ID(); got != id {
			v.add(ProblemPoolID, "messages."+id, "the content has %s", got)
		}
		if !v.usedMessages[id] {
			v.add(ProblemUnused, "messages."+id, "nothing refers to it")
		}
	}
}

func (v *verifier) hashes() {
	for i := range v.t.Events {
		e := &v.t.Events[i]
		if e.Type != EventToolCall {
			continue
		}
		if got := ArgsHash(e.Args); got != e.ArgsHash {
			v.add(ProblemArgsHash, eventPath(i, "args_hash"), "the arguments have %s", orNone(got))
		}
		got := ""
		if response, _, ok := e.Answer(); ok && (e.ResultSHA256 != "" || !e.Result.IsAbsent()) {
			got = textSHA256(response)
		}
		if got != e.ResultSHA256 {
			v.add(ProblemResultHash, eventPath(i, "result_sha256"), "the response has %s", orNone(got))
		}
	}
}

func orNone(digest string) string {
	if digest == "" {
		return "none"
	}
	return digest
}

func (v *verifier) fidelity() {
	f := v.t.Fidelity
	for i, finding := range f.Findings {
		path := "fidelity.findings." + strconv.Itoa(i)
		if finding.Seq < 0 || finding.Seq > len(v.t.Events) {
			v.add(ProblemReference, path+".seq", "no event %d", finding.Seq)
		}
		// A later MINOR version may have added codes.
		known := slices.ContainsFunc(FindingKinds, func(k FindingKind) bool { return k.Code == finding.Code })
		if !known && v.t.SchemaVersion == SchemaVersion {
			v.add(ProblemFindingCode, path+".code", "not in the table of codes")
		}
	}
	concluded := f.Proof
	concluded.Conclude()
	if p := f.Proof; p.Served > p.Expected || p.Verified < 0 || p.Recorded < 0 || p.Recorded > p.Unverifiable || p.Verified != concluded.Verified || (p.OK == nil) != (concluded.OK == nil) || p.OK != nil && *p.OK != *concluded.OK {
		v.add(ProblemProof, "fidelity.proof", "contradicts itself")
	}
	claimed := f.Grade == GradeOffline || f.Grade == GradeTools
	switch r := f.Replayable; {
	case claimed && !(r.Input && r.Tools && (r.Model || f.Grade == GradeTools)):
		v.add(ProblemGrade, "fidelity.grade", "%s, and fidelity.replayable does not say so", f.Grade)
	case (claimed || r.Tools) && !f.Proof.Proved():
		v.add(ProblemGrade, "fidelity.grade", "the tape claims that its tool calls can be served, and its proof is not ok")
	}
	v.labels("config", v.t.Config.Provenance)
	v.labels("input", v.t.Input.Provenance)
	v.labels("output", v.t.Output.Provenance)
	for i := range v.t.Events {
		v.labels("events."+strconv.Itoa(i), v.t.Events[i].Provenance)
	}
}

var knownLabels = []Label{Recovered, Inferred, Missing, Truncated, Redacted, Masked, External, Lossy, Disputed}

func (v *verifier) labels(path string, p Provenance) {
	for _, field := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(knownLabels, p[field]) {
			v.add(ProblemLabel, path+".provenance."+field, "not a provenance label")
		}
	}
}

// The files of a deck that Verify knows.
const (
	TapeFile   = "tape.json"
	OracleFile = "oracle.json"
)

// SiblingDigests returns the digests of the files beside the tape, name → "sha256:…", which stand at
// extensions.tapedeck.files.
func (t *Tape) SiblingDigests() exactjson.Value { return t.Extensions.Get("tapedeck").Get("files") }

// FileDigest is how SiblingDigests names the bytes of a file.
func FileDigest(content []byte) string { return "sha256:" + bytesSHA256(content) }

func (v *verifier) files(files map[string][]byte) {
	if files == nil {
		return
	}
	listed := v.t.SiblingDigests()
	for _, m := range listed.Members() {
		content, there := files[m.Name]
		switch {
		case !there:
			v.add(ProblemFile, m.Name, "is missing")
		case FileDigest(content) != m.Value.Str():
			v.add(ProblemFile, m.Name, "has %s", FileDigest(content))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != TapeFile && listed.Get(name).IsAbsent() {
			v.add(ProblemFile, name, "is not listed on the tape")
		}
	}
	if content, there := files[TapeFile]; there {
		v.tapeFile(content)
	}
	if content, there := files[OracleFile]; there {
		v.oracleFile(content)
	}
}

// tapeFile checks that the digest holds for the bytes too, not only for what was read of them.
func (v *verifier) tapeFile(content []byte) {
	doc, err := exactjson.ParseWithin(string(content), MaxDepth, MaxValues)
	if err != nil {
		v.add(ProblemFile, TapeFile, "%v", err)
		return
	}
	if got := contentDigest(doc); got != v.t.TapeID {
		v.add(ProblemFile, TapeFile, "the file's content has %s", got)
	}
}

// shows reports whether a message of the tape holds a result of a tool that an oracle would answer so: what the model was told of a failure stands there alone.
func (v *verifier) shows(response string) bool {
	if v.shown == nil {
		v.shown = map[string]bool{}
		for _, m := range v.t.Messages {
			for i := range m.Parts {
				if p := &m.Parts[i]; p.Type == PartToolResult {
					text, _ := OracleResponse(p.Result)
					v.shown[text] = true
				}
			}
		}
	}
	return v.shown[response]
}

// oracleFile compares the oracle's entries with the tool calls, one by one.
func (v *verifier) oracleFile(content []byte) {
	entries, err := exactjson.ParseWithin(string(content), MaxDepth, MaxValues)
	if err != nil || entries.Kind() != exactjson.Array {
		v.add(ProblemOracle, OracleFile, "not a JSON array")
		return
	}
	var calls []*Event
	for i := range v.t.Events {
		if v.t.Events[i].Type == EventToolCall {
			calls = append(calls, &v.t.Events[i])
		}
	}
	if entries.Len() != len(calls) {
		v.add(ProblemOracle, OracleFile, "%d entries for %d tool calls", entries.Len(), len(calls))
	}
	for i := range min(entries.Len(), len(calls)) {
		entry, e := entries.At(i), calls[i]
		differ := func(field string) {
			v.add(ProblemOracle, OracleFile+":"+strconv.Itoa(i)+"."+field, "differs from event %d", e.Seq)
		}
		if seq, ok := entry.Get("seq").Int(); !ok || seq != int64(e.Seq) {
			differ("seq")
		}
		if entry.Get("tool_name").Str() != e.Name {
			differ("tool_name")
		}
		if entry.Get("args_hash").Str() != e.ArgsHash {
			differ("args_hash")
		}
		if entry.Get("caller").Str() != e.Caller {
			differ("caller")
		}
		if !entry.Get("args").Equal(e.Args) {
			differ("args")
		}
		response, _, _ := e.Answer()
		if got := entry.Get("response").Str(); got != response && !(e.Result.IsAbsent() && (got == "" || e.Error != nil && v.shows(got))) {
			differ("response")
		}
		if got := entry.Get("error_message").Str(); got != "" && (e.Error == nil || !strings.Contains(e.Error.Message, got)) {
			differ("error_message")
		}
		if failed := e.IsError || e.Result.IsAbsent() && entry.Get("response").Str() != ""; entry.Get("is_error").True() != failed {
			differ("is_error")
		}
	}
}
