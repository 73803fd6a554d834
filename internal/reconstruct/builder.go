// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// builder writes one run down as a tape.
type builder struct {
	fragment *fragment
	calls    *collector
	ordered  []*call
	tape     *tape.Tape
	agent    string // name of the run's own agent
	harness  []exactjson.Member
	handed   map[string]*node // by the id of a call: the step that begun finds for it
}

func (b *builder) finding(code tape.Code, seq int, field, detail string) {
	b.tape.Fidelity.AddFinding(code, seq, field, detail)
}

func (b *builder) notes(seq int, notes []genai.Note) {
	for _, n := range notes {
		b.finding(n.Code, seq, n.Field, n.Detail)
	}
}

// pool puts a message into the pool and returns its id.
func (b *builder) pool(m *message) string {
	b.tape.Messages[m.id] = m.tape
	return m.id
}

// newest returns an event with what all events have in common.
func (b *builder) event(k *call) tape.Event {
	e := tape.Event{Seq: k.seq, Type: k.kind, Status: tape.EventOK, Caller: b.caller(k.agent), Provenance: tape.Provenance{}}
	for _, n := range k.nodes {
		e.SpanIDs = append(e.SpanIDs, n.spanID())
	}
	if k.agent != nil {
		e.Parent = k.agent.seq
	}
	if len(k.nodes) > 0 && k.start > 0 {
		e.StartedAt = instant(k.start - k.shift)
		e.DurationMS = milliseconds(k.end - k.start)
	}
	b.notes(k.seq, k.notes)
	return e
}

func instant(ns uint64) time.Time { return time.Unix(0, int64(ns&(1<<63-1))).UTC() }

func milliseconds(ns uint64) int64 { return int64(ns / 1_000_000) }

// caller names the agents from the run's own down to the one that made the call.
func (b *builder) caller(agent *call) string {
	var names []string
	for a := agent; a != nil; a = a.agent {
		names = append(names, agentName(a))
	}
	names = append(names, b.agent)
	slices.Reverse(names)
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), "/")
}

func agentName(a *call) string {
	for _, n := range a.nodes {
		if name := n.obs.Agent.Name; name != "" {
			return name
		}
	}
	return ""
}

// offered returns the tools that a model call was offered. Where its own span tells none, they are those that the span of the agent around it says the agent has.
func (b *builder) offered(k *call) (tools []tape.Tool, ofAgent bool) {
	if len(k.obs.Tools) > 0 {
		return k.obs.Tools, false
	}
	var around []*node
	if k.agent != nil {
		around = k.agent.nodes
	} else if b.fragment.root != nil {
		around = []*node{b.fragment.root}
	}
	for _, n := range around {
		if n.obs.Class == genai.Agent && len(n.obs.Tools) > 0 {
			return n.obs.Tools, true
		}
	}
	return nil, false
}

func (b *builder) modelCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
	e.Model, e.Provider, e.Operation, e.Streaming = o.Model, o.Provider, o.Operation, o.Streaming
	params := slices.Clone(o.Params)
	if len(o.OutputTools) > 0 {
		params = append(params, exactjson.Member{Name: "output_tools", Value: texts(o.OutputTools)})
	}
	if len(params) > 0 {
		slices.SortFunc(params, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		e.Params = exactjson.ObjectValue(params...)
	}
	request := &tape.Request{Messages: slices.Grow([]string(nil), len(k.request))}
	for _, m := range k.request {
		request.Messages = append(request.Messages, b.pool(m))
		b.external(k.seq, "request.messages", m)
	}
	offered, ofAgent := b.offered(k)
	if ofAgent {
		e.Provenance["request.tools"] = tape.Recovered
	}
	for _, t := range offered {
		id := t.ID()
		b.tape.Tools[id] = t
		request.Tools = append(request.Tools, id)
	}
	if len(request.Messages)+len(request.Tools) > 0 {
		e.Request = request
	}
	switch {
	case len(k.request) == 0:
		e.Provenance["request.messages"] = tape.Missing
		b.finding(tape.CodeContentAbsent, k.seq, "request.messages", "the span does not hold what was sent")
	case o.RequestLabel == tape.Recovered || o.RequestLabel == "" && k.completed:
		e.Provenance["request.messages"] = tape.Recovered
	case o.RequestLabel == tape.Truncated:
		e.Provenance["request.messages"] = o.RequestLabel
		b.finding(tape.CodeTruncated, k.seq, "request.messages", "the message list was cut; its complete leading messages are kept")
	case o.RequestLabel != "":
		e.Provenance["request.messages"] = o.RequestLabel
		b.finding(codeOf(o.RequestLabel), k.seq, "request.messages", "the recorded messages are not what was sent")
	}
	response := &tape.Response{FinishReasons: o.FinishReasons, ID: o.ResponseID, Model: o.ResponseModel}
	if k.response != nil {
		response.Message = b.pool(k.response)
		b.external(k.seq, "response.message", k.response)
	}
	if k.response != nil || response.ID != "" || response.Model != "" || len(response.FinishReasons) > 0 {
		e.Response = response
	}
	failed := o.Failed || o.StatusError && k.response == nil
	switch {
	case k.recovered || k.enriched || k.response != nil && o.ResponseLabel == tape.Recovered && damage(k.response.parts) == "":
		e.Provenance["response.message"] = tape.Recovered
	case k.response != nil && !hasToolCall(k.response) && slices.ContainsFunc(o.FinishReasons, tape.AsksForTools):
		e.Provenance["response.message"] = tape.Truncated
		b.finding(tape.CodeTruncated, k.seq, "response.message", "the finish reason says that tools were asked for, the recorded answer holds no call")
	case k.response != nil && o.ResponseLabel != "" && o.ResponseLabel != tape.Recovered:
		e.Provenance["response.message"] = o.ResponseLabel
		b.finding(codeOf(o.ResponseLabel), k.seq, "response.message", "the answer is not whole")
	case k.response != nil && damage(k.response.parts) != "":
		e.Provenance["response.message"] = damage(k.response.parts)
		b.finding(lossCode(damage(k.response.parts), maskedIn(k.response)), k.seq, "response.message", "a part of the answer is not whole")
	case k.response == nil && !failed:
		e.Provenance["response.message"] = tape.Missing
		b.finding(tape.CodeContentAbsent, k.seq, "response.message", "neither the span nor a later request holds the answer")
	}
	if usageKnown(o.Usage) {
		u := o.Usage
		e.Usage = &u
	}
	if failed {
		e.Status, e.Error = tape.EventError, o.Error
	} else if o.StatusError {
		b.finding(tape.CodeStatusDisputed, k.seq, "status", "the span says error, the call has an answer")
	}
	return e
}

func texts(list []string) exactjson.Value {
	values := make([]exactjson.Value, len(list))
	for i, s := range list {
		values[i] = exactjson.StringValue(s)
	}
	return exactjson.ArrayValue(values...)
}

func usageKnown(u tape.Usage) bool {
	return u.InputTokens != nil || u.OutputTokens != nil || u.CacheReadTokens != nil || u.CacheWriteTokens != nil || u.ReasoningTokens != nil
}

// maskedIn reports a message that the producer masked in part.
func maskedIn(m *message) bool {
	return slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Masked })
}

func (b *builder) external(seq int, field string, m *message) {
	for _, p := range m.parts {
		if p.Type == tape.PartExternal {
			b.finding(tape.CodeExternalContent, seq, field, "the content lies in external storage")
		}
	}
}

func codeOf(l tape.Label) tape.Code {
	switch l {
	case tape.Truncated:
		return tape.CodeTruncated
	case tape.Masked, tape.Redacted:
		return tape.CodeMasked
	case tape.Lossy:
		return tape.CodeLossyRepr
	case tape.External:
		return tape.CodeExternalContent
	case tape.Disputed:
		return tape.CodeConflictingSpan
	default:
		return tape.CodeContentAbsent
	}
}

func (b *builder) agentCall(k *call) tape.Event {
	e, o := b.event(k), k.obs
	agent := o.Agent
	for _, n := range k.nodes[1:] {
		if agent.Name == "" {
			agent = n.obs.Agent
		}
	}
	e.Agent, e.Relation = &agent, k.relation
	if k.via != nil {
		e.Via = k.via.seq
	}
	if text := lastUserText(o.Input); text != "" {
		e.Input = exactjson.StringValue(text)
	} else {
		e.Input = o.InputData.Value
	}
	if len(o.Output) > 0 {
		e.Output = exactjson.StringValue(textOf(newMessage(o.Output[len(o.Output)-1])))
	} else {
		e.Output = o.OutputData.Value
	}
	if o.Failed || o.StatusError && e.Output.IsEmpty() {
		e.Status, e.Error = tape.EventError, o.Error
	}
	return e
}

func (b *builder) retrieval(k *call) tape.Event {
	e := b.event(k)
	e.Name, e.Query = k.obs.Name, k.obs.Query.Value
	if len(k.obs.Documents) > 0 {
		e.Documents = exactjson.ArrayValue(k.obs.Documents...)
	}
	if k.obs.Failed || k.obs.StatusError {
		e.Status, e.Error = tape.EventError, k.obs.Error
	}
	return e
}

// events writes all calls in order.
func (b *builder) events() {
	b.tape.Events = make([]tape.Event, 0, len(b.ordered))
	for _, k := range b.ordered {
		var e tape.Event
		switch k.kind {
		case tape.EventModelCall:
			e = b.modelCall(k)
		case tape.EventToolCall:
			e = b.toolCall(k)
		case tape.EventAgentCall:
			e = b.agentCall(k)
		default:
			e = b.retrieval(k)
		}
		b.tape.Events = append(b.tape.Events, e)
	}
}

// usage sums the model calls; root aggregates count only where no call reports its own.
func (b *builder) usage() {
	u := &b.tape.Usage
	for i := range b.tape.Events {
		switch e := &b.tape.Events[i]; e.Type {
		case tape.EventModelCall:
			u.ModelCalls++
			if e.Usage != nil {
				u.InputTokens = sum(u.InputTokens, e.Usage.InputTokens)
				u.OutputTokens = sum(u.OutputTokens, e.Usage.OutputTokens)
			}
		case tape.EventToolCall:
			u.ToolCalls++
		}
	}
}

func sum(total, n *int64) *int64 {
	if n == nil {
		return total
	}
	v := *n
	if total != nil {
		v += *total
	}
	return &v
}

// sources says what the tape was made from.
func (b *builder) sources(nodes []*node, traceIDs []string) {
	s := &b.tape.Sources
	s.TraceIDs = traceIDs
	dialects := map[string]bool{}
	scopes := map[scopeKey]int{}
	for _, n := range nodes {
		s.Spans += n.spans
		s.Logs += n.logs
		if n.spans > 0 {
			scopes[n.scope] += n.spans
		}
		for _, d := range n.obs.Dialects {
			dialects[d] = true
		}
	}
	s.Dialects = slices.Sorted(maps.Keys(dialects))
	for key, count := range scopes {
		s.Scopes = append(s.Scopes, tape.Scope{Name: key.name, Version: key.version, Count: count})
	}
	slices.SortFunc(s.Scopes, func(x, y tape.Scope) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Version, y.Version))
	})
	if len(b.calls.noise) > 0 {
		s.Noise = b.calls.noise
	}
}

// extensions merges the producers' extras; the run's own span and what stands above it speak first.
func (b *builder) extensions(nodes []*node) {
	merged := map[string][]exactjson.Member{}
	for _, n := range nodes {
		for ns, members := range n.obs.Extra {
			for _, m := range members {
				if !slices.ContainsFunc(merged[ns], func(x exactjson.Member) bool { return x.Name == m.Name }) {
					merged[ns] = append(merged[ns], m)
				}
			}
		}
	}
	if b.harness != nil {
		merged[harness.Key] = b.harness
	}
	var out []exactjson.Member
	for _, ns := range slices.Sorted(maps.Keys(merged)) {
		slices.SortFunc(merged[ns], func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		out = append(out, exactjson.Member{Name: ns, Value: exactjson.ObjectValue(merged[ns]...)})
	}
	if out != nil {
		b.tape.Extensions = exactjson.ObjectValue(out...)
	}
}

// harnessOf is what the harness that started the agent says of the run, on the first resource that holds it. It is the same on all resources of
// a run, and may be long, so it is read once.
func harnessOf(nodes []*node) []exactjson.Member {
	seen := map[pcommon.Map]bool{}
	for _, n := range nodes {
		if seen[n.resource] {
			continue
		}
		seen[n.resource] = true
		if v, ok := n.resource.Get(harness.Key); ok {
			known := decode.JSONOf(v)
			if parsed, ok := decode.Structure(known); ok { // of a variable, which holds texts
				known = parsed
			}
			if known.Kind() == exactjson.Object && known.Len() > 0 {
				return slices.Clone(known.Members())
			}
		}
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
