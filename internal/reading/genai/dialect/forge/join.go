// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package forge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// Audit records of calls carry the span id of agent.execute, not that of the call. Within a run, which
// executes one call after the other, the k-th record of a kind speaks of the k-th span.

// auditedRun is one run with its records and the spans of its calls, each in order.
type auditedRun struct {
	source  *dialect.Source
	records []*auditRecord
	calls   []*dialect.Source
}

// auditedCall is what the records say of one call.
type auditedCall struct {
	model   bool
	tool    string
	records []*auditRecord
	denied  bool // a tool that was stopped before it ran, and has no span
}

// assignForgeAudit hands the records to the spans of the calls they speak of. Records that speak of the run,
// and records whose call is not certain, go to the run's span.
func assignForgeAudit(spans, logs []*dialect.Source) (alone, rest []*dialect.Source) {
	runs := auditedRuns(spans)
	for _, l := range logs {
		id := decode.Attributes(l.Span.Attributes()).Text(CorrelationID)
		r, ok := auditRecordOf(l)
		if run := runs[id]; run != nil && ok {
			run.records = append(run.records, r)
		} else {
			rest = append(rest, l)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		if run := runs[id]; len(run.records) > 0 {
			ownAlone, disputed := run.assign()
			alone, rest = append(alone, ownAlone...), append(rest, disputed...)
		}
	}
	return alone, rest
}

// auditedRuns finds the runs by correlation id, and the calls below each that belong to no run within it.
// Spans are in order of time.
func auditedRuns(spans []*dialect.Source) map[string]*auditedRun {
	runs := map[string]*auditedRun{}
	ofSpan := map[pcommon.SpanID]*auditedRun{}
	parents := make(map[pcommon.SpanID]pcommon.SpanID, len(spans))
	for _, s := range spans {
		parents[s.Span.SpanID()] = s.Span.ParentSpanID()
		if id := decode.Attributes(s.Span.Attributes()).Text(CorrelationID); s.Span.Name() == "agent.execute" && id != "" && runs[id] == nil {
			runs[id] = &auditedRun{source: s}
			ofSpan[s.Span.SpanID()] = runs[id]
		}
	}
	for _, s := range spans {
		if _, isTool := forgeTool(s); s.Span.Name() != "llm.completion" && !isTool {
			continue
		}
		up := s.Span.ParentSpanID()
		for n := 0; n < dialect.MaxReach && !up.IsEmpty(); n++ {
			if run := ofSpan[up]; run != nil {
				run.calls = append(run.calls, s)
				break
			}
			up = parents[up]
		}
	}
	return runs
}

func forgeTool(s *dialect.Source) (name string, ok bool) {
	name, ok = strings.CutPrefix(s.Span.Name(), "tool.")
	if given := decode.Attributes(s.Span.Attributes()).Text("forge.tool.name"); ok && given != "" {
		name = given
	}
	return name, ok
}

// assign hands out the records of one run. Records that claim the place of another say nothing.
func (run *auditedRun) assign() (alone, disputed []*dialect.Source) {
	run.distinct()
	calls, complete := run.auditedCalls()
	var taken map[*auditRecord]*dialect.Source
	var hidden map[*auditedCall]*dialect.Source
	if complete {
		taken, hidden = run.align(calls)
		complete = taken != nil
	}
	if !complete {
		taken = run.prove(calls)
		run.note(tape.CodeAuditMismatch, "audit records of the run are missing or untrusted, or differ from its spans in number or order; only bodies that the spans confirm were taken")
	}
	for _, c := range calls {
		if after := hidden[c]; after != nil {
			alone = append(alone, run.hiddenCall(c.records[0], after))
			taken[c.records[0]] = alone[len(alone)-1]
		}
	}
	for _, r := range run.records {
		to := taken[r]
		if to == nil {
			to = run.source
		}
		for _, source := range append([]*dialect.Source{r.source}, r.copies...) {
			if r.disputed {
				disputed = append(disputed, source)
			} else {
				to.Logs = append(to.Logs, source.Span)
			}
		}
	}
	return alone, disputed
}

func (run *auditedRun) note(code tape.Code, detail string) {
	run.source.Notes = append(run.source.Notes, dialect.Note{Code: code, Detail: detail})
}

// distinct orders the records and joins those that say the same. What was given beside a record decides
// whether it is confirmed, so a confirmed record outweighs an equal one.
func (run *auditedRun) distinct() {
	rank := map[string]int{"": 0, AuditChainBrokenSigned: 1, AuditSignatureInvalid: 2, AuditUnsigned: 3, AuditChainBroken: 4}
	best := map[string]*auditRecord{}
	for _, r := range run.records {
		line := decode.Attributes(r.source.Span.Attributes()).Text(dialect.LogBody)
		switch there := best[line]; {
		case there == nil:
			best[line] = r
		case rank[r.integrity] < rank[there.integrity]:
			r.copies = append(there.copies, there.source)
			best[line] = r
		default:
			there.copies = append(there.copies, r.source)
		}
	}
	run.records = slices.SortedFunc(maps.Values(best), compareAudit)
	claims := map[int64]int{} // of a number in the request that no two records have
	for _, r := range run.records {
		if r.seq > 0 && r.trusted() {
			claims[r.seq]++
		}
	}
	untrusted, gaps := 0, 0
	for _, r := range run.records {
		r.disputed = claims[r.seq] > 1
		switch {
		case !r.trusted():
			untrusted++
		case r.integrity != "":
			gaps++
		}
	}
	if untrusted > 0 {
		run.note(tape.CodeAuditUntrusted, fmt.Sprintf("%d of %d audit records fail their hash chain or signature; nothing was taken from them", untrusted, len(run.records)))
	}
	if gaps > 0 {
		run.note(tape.CodeAuditUntrusted, fmt.Sprintf("the hash chain breaks at %d of %d audit records, whose signatures are valid", gaps, len(run.records)))
	}
}

// auditedCalls reads the calls from the records. complete says that none is missing and all can be trusted,
// so that their order counts.
func (run *auditedRun) auditedCalls() (calls []*auditedCall, complete bool) {
	complete = true
	var open *auditedCall
	for i, r := range run.records {
		if !r.trusted() {
			complete = false
			continue
		}
		if i == 0 && r.event != "auth_verify" && r.event != "session_start" || i > 0 && r.seq != run.records[i-1].seq+1 {
			complete = false
		}
		tool := r.field("tool")
		switch {
		case strings.HasPrefix(r.event, "llm_call"):
			calls = append(calls, &auditedCall{model: true, records: []*auditRecord{r}})
		case r.event != "tool_exec":
		case r.field("phase") == "start":
			open = &auditedCall{tool: tool, records: []*auditRecord{r}, denied: true}
			calls = append(calls, open)
		case open != nil && open.tool == tool:
			open.records, open.denied = append(open.records, r), false
			open = nil
		default:
			calls = append(calls, &auditedCall{tool: tool, records: []*auditRecord{r}})
			complete = false
		}
	}
	return calls, complete
}

// align pairs records and spans by their order. Two kinds of calls may lack a span: tools that were stopped
// before they ran, and a model call right after another, which repeats one that gave no answer. Anything else
// is no alignment, and align returns nil.
func (run *auditedRun) align(calls []*auditedCall) (taken map[*auditRecord]*dialect.Source, hidden map[*auditedCall]*dialect.Source) {
	taken, hidden = map[*auditRecord]*dialect.Source{}, map[*auditedCall]*dialect.Source{}
	open := run.calls
	var lastModel *dialect.Source
	for _, c := range calls {
		switch {
		case c.denied:
			lastModel = nil
			continue
		case len(open) > 0 && c.fits(open[0]):
			for _, r := range c.records {
				taken[r] = open[0]
			}
			lastModel = nil
			if c.model {
				lastModel = open[0]
			}
			open = open[1:]
		case c.model && lastModel != nil:
			hidden[c] = lastModel
		default:
			return nil, nil
		}
	}
	if len(open) > 0 {
		return nil, nil
	}
	return taken, hidden
}

func (c *auditedCall) fits(s *dialect.Source) bool {
	name, isTool := forgeTool(s)
	return isTool != c.model && (c.model || name == c.tool)
}

// auditBodies are the fields of records that spans hold as well, with the attributes that hold them.
var auditBodies = []struct{ field, attribute string }{
	{"args", "forge.tool.args"}, {"result", "forge.tool.result"}, {"prompt_messages", "gen_ai.input.messages"},
}

// prove pairs a span with the only call whose body begins as the span's own and is as long as the span says.
func (run *auditedRun) prove(calls []*auditedCall) map[*auditRecord]*dialect.Source {
	byLength := map[int][]*auditedCall{}
	for _, c := range calls {
		for _, r := range c.records {
			for _, b := range auditBodies {
				if n := len(r.field(b.field)); n > 0 {
					byLength[n] = append(byLength[n], c)
				}
			}
		}
	}
	claims := map[*auditedCall][]*dialect.Source{}
	for _, s := range run.calls {
		fitting := map[*auditedCall]bool{}
		for _, b := range auditBodies {
			_, whole, _ := decode.ForgeCut(decode.Attributes(s.Span.Attributes()).Text(b.attribute))
			for _, c := range byLength[whole] {
				if c.fits(s) && c.proves(s) {
					fitting[c] = true
				}
			}
		}
		if len(fitting) == 1 {
			for c := range fitting {
				claims[c] = append(claims[c], s)
			}
		}
	}
	taken := map[*auditRecord]*dialect.Source{}
	for c, by := range claims {
		if len(by) == 1 {
			for _, r := range c.records {
				taken[r] = by[0]
			}
		}
	}
	return taken
}

// proves reports that no body of the call contradicts the span, and that one is what the span held before it
// was cut.
func (c *auditedCall) proves(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	proved := false
	for _, r := range c.records {
		for _, b := range auditBodies {
			body, held := r.field(b.field), a.Text(b.attribute)
			prefix, whole, cut := decode.ForgeCut(held)
			switch {
			case body == "" || held == "" || auditCut(body):
			case !cut && body != held, cut && (!isLong(body, whole) || !begins(body, prefix)):
				return false
			case cut:
				proved = true
			}
		}
	}
	return proved
}

// hiddenCall makes a source of a model call that no span reports. The record tells its time to the second. So
// the call begins when the call before it, which it repeats, has ended.
func (run *auditedRun) hiddenCall(r *auditRecord, before *dialect.Source) *dialect.Source {
	span := ptrace.NewSpan()
	r.source.Span.CopyTo(span)
	span.SetParentSpanID(run.source.Span.SpanID())
	at := max(span.StartTimestamp(), before.Span.EndTimestamp())
	if end := run.source.Span.EndTimestamp(); end > 0 {
		at = min(at, max(end, before.Span.EndTimestamp()))
	}
	span.SetStartTimestamp(at)
	span.SetEndTimestamp(at)
	return &dialect.Source{Resource: r.source.Resource, ScopeName: r.source.ScopeName, ScopeVersion: r.source.ScopeVersion, Span: span}
}
