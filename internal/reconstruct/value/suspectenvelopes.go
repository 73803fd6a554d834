// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// suspicion marks values that may be envelopes, among calls of which the conversation does not show the
// value.
//
// A reporter of which another value was shown as it was recorded puts none into an envelope. One that puts
// objects into an envelope puts all results, or all arguments, into it: others outside of that envelope speak
// against it. What the definition of a tool names as its parameter is no envelope.
//
// What the server of a tool wraps is not up to the reporter. Few say that a tool has a server: a lone number
// or truth value is suspected of any tool. A text or a list below such a name is as often the tool's own.
type suspicion struct {
	wrappable
	*ledger.Ledger
	toolHabits
	bare  map[ledger.Reporter]bool // see learn
	out   map[ledger.Reporter]*outside
	same  map[ledger.Reporter]bool      // see uniform
	last  map[*ledger.Call]*ledger.Call // the last model call, by agent
	tools map[memberOf]int              // see toolsUnder
}

// toolHabits is what tells of the values of one tool that they are in no envelope.
type toolHabits struct {
	lone   map[toolOf]string // the name of an only member with an object or list in it
	others map[toolOf]bool   // there is more than one such name
	plain  map[toolOf]bool   // it returned what is no object, in no envelope
}

// toolOf is a tool as a reporter calls it.
type toolOf struct {
	reporter ledger.Reporter
	tool     string
}

// memberOf is the only member of values of a reporter.
type memberOf struct {
	reporter ledger.Reporter
	member   string
}

func (w wrappable) habits(calls []*ledger.Call) toolHabits {
	h := toolHabits{map[toolOf]string{}, map[toolOf]bool{}, map[toolOf]bool{}}
	for _, k := range calls {
		content, in := w.of(k.Obs.ToolCall), toolOf{k.Reporter(), k.Obs.Name}
		if ledger.FailedCall(k) || content.Label != "" {
			continue // a failure may be told in another form
		}
		if name, inner, ok := sole(content.Value); ok && inner.Kind() >= exactjson.Array {
			before, seen := h.lone[in]
			h.lone[in], h.others[in] = name, h.others[in] || seen && before != name
		}
		if v := chat.Opened(content.Value); v.Kind() != exactjson.Object && v.Kind() != exactjson.Null && !v.IsEmpty() && len(content.Envelope) == 0 {
			h.plain[in] = true
		}
	}
	return h
}

func (s suspicion) mark(calls []*ledger.Call) {
	s.out, s.same, s.last = s.outside(calls), s.uniform(calls), map[*ledger.Call]*ledger.Call{}
	for _, m := range s.Models {
		if l := s.last[m.Agent]; l == nil || m.Start >= l.Start {
			s.last[m.Agent] = m
		}
	}
	calls = slices.DeleteFunc(calls, s.cleared)
	if s.result {
		s.suspectAlike(calls)
	}
	s.tools = s.toolsUnder(calls)
	for _, k := range calls {
		if path, suspected := s.envelope(k); suspected {
			s.suspect(k, path)
		}
	}
}

// cleared reports a value of which it is known that it is in no envelope, or in which.
func (s suspicion) cleared(k *ledger.Call) bool {
	c := s.of(k.Obs.ToolCall)
	return c.Label != "" || !s.against(k).IsAbsent() || toldModel(c) && !(c.Told && s.same[k.Reporter()]) || saysFailure(k, c.Value) ||
		s.result && k.Holds != nil && saidLast(s.last[k.Holds], c.Value)
}

// envelope names the members that lead inside what may be an envelope.
func (s suspicion) envelope(k *ledger.Call) (path string, suspected bool) {
	v, in := s.of(k.Obs.ToolCall).Value, toolOf{k.Reporter(), k.Obs.Name}
	if s.result && !s.plain[in] && !s.bare[in.reporter] {
		if path = hollowValue(v); path != "" {
			return path, true
		}
	}
	name, inner, ok := sole(v)
	return suspectedPath(v), ok && (s.byReporter(in, name, inner) || s.byServer(k, in, name, inner))
}

// byReporter reports an envelope that the reporter of a call puts around values: what stands inside looks
// like one, or the values of several tools stand under the same name.
func (s suspicion) byReporter(in toolOf, name string, inner exactjson.Value) bool {
	if s.bare[in.reporter] {
		return false
	}
	if looksWrapped(inner, s.result) && (s.result || !takes(s.Ledger, in.tool, name)) {
		return !s.out[in.reporter].of(name) && !s.others[in]
	}
	return s.tools[memberOf{in.reporter, name}] > 1
}

// byServer reports an envelope that the server of a tool put around a result that is no object.
func (s suspicion) byServer(k *ledger.Call, in toolOf, name string, inner exactjson.Value) bool {
	return s.result && !s.plain[in] && slices.Contains(valueNames, name) && inner.Kind() != exactjson.Object &&
		(k.Obs.ToolKind == tape.ToolMCP || inner.Kind() == exactjson.Number || inner.Kind() == exactjson.Bool)
}

// toolsUnder counts the tools whose results stand under the same only member.
func (s suspicion) toolsUnder(calls []*ledger.Call) map[memberOf]int {
	type result struct {
		memberOf
		tool string
	}
	tools, seen := map[memberOf]int{}, map[result]bool{}
	for _, k := range calls {
		name, _, ok := sole(s.of(k.Obs.ToolCall).Value)
		one := result{memberOf{k.Reporter(), name}, k.Obs.Name}
		if ok && s.result && !seen[one] {
			seen[one] = true
			tools[one.memberOf]++
		}
	}
	return tools
}

// toldModel reports a result that is what the model was told, as it was taken out of the message that a
// framework made of it: all of that counts.
func toldModel(c *genai.Content) bool {
	return c.Told || slices.ContainsFunc(c.Envelope, genai.IsMessageEnvelope)
}

// uniform are the reporters of which all values, of several, have one and the same only member: whatever else
// they say of these, something was put around them.
func (w wrappable) uniform(calls []*ledger.Call) map[ledger.Reporter]bool {
	names, several := map[ledger.Reporter]string{}, map[ledger.Reporter]bool{}
	for _, k := range calls {
		name, inner, ok := sole(w.of(k.Obs.ToolCall).Value)
		r := k.Reporter()
		if before, seen := names[r]; !ok || inner.Kind() < exactjson.Array || seen && before != name {
			names[r], several[r] = "", false // which no member is called
		} else {
			names[r], several[r] = name, seen && name != ""
		}
	}
	return several
}

// saysFailure reports a call that failed, and a result with nothing but its error: so frameworks tell the
// model of it, whichever tool it was.
func saysFailure(k *ledger.Call, v exactjson.Value) bool {
	name, inner, ok := sole(v)
	return ok && name == "error" && inner.Kind() == exactjson.String && (ledger.FailedCall(k) || k.Obs.Error != nil)
}

// saidLast reports the result of an agent that ran as a tool which is what its model answered at last, in
// JSON: nothing was put around that.
func saidLast(last *ledger.Call, result exactjson.Value) bool {
	if !ledger.FinalAnswer(last) {
		return false
	}
	answer, ok := chat.Decoded(exactjson.StringValue(chat.TextOf(last.Response)))
	return ok && chat.SameValue(answer, result)
}

// outside counts the values of a reporter that an envelope around objects does not hold.
type outside struct {
	all    int
	naming map[string]int // of these, by the names of their members
}

// of reports a value outside of an envelope whose member has this name.
func (o *outside) of(name string) bool { return o != nil && o.all > o.naming[name] }

func (s suspicion) outside(calls []*ledger.Call) map[ledger.Reporter]*outside {
	found := map[ledger.Reporter]*outside{}
	for _, k := range calls {
		content, r := s.of(k.Obs.ToolCall), k.Reporter()
		if !chat.Undamaged(content.Label) {
			continue
		}
		v := chat.Opened(content.Value)
		if s.result && !bareResult(v) || !s.result && !bareArgs(v) {
			continue
		}
		if found[r] == nil {
			found[r] = &outside{naming: map[string]int{}}
		}
		found[r].all++
		if v.Kind() == exactjson.Object {
			for _, m := range v.Members() {
				found[r].naming[m.Name]++
			}
		}
	}
	return found
}

// bareArgs reports arguments that lie in no envelope.
func bareArgs(v exactjson.Value) bool {
	_, inner, ok := sole(v)
	return v.Len() > 0 && !(ok && looksWrapped(inner, false))
}

// bareResult reports a list, a number, a truth value or an object with several members. Texts may be recorded
// as they are by who wraps objects, and an object with one member may be another envelope.
func bareResult(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Array, exactjson.Number, exactjson.Bool:
		return true
	}
	return v.Kind() == exactjson.Object && v.Len() > 1
}

// takes reports a parameter of a tool that a request offered, or that the span of a call defines.
func takes(c *ledger.Ledger, tool, parameter string) bool {
	if c.Parameters == nil {
		c.Parameters = map[[2]string]bool{}
		for _, k := range slices.Concat(c.Models, c.Tools) {
			for _, t := range k.Obs.Tools {
				for _, p := range t.Parameters.Get("properties").Members() {
					c.Parameters[[2]string{t.Name, p.Name}] = true
				}
			}
		}
	}
	return c.Parameters[[2]string{tool, parameter}]
}

// hollowValue names the member of an object below which an empty text stands as values do, beside nothing but
// short plain values.
func hollowValue(v exactjson.Value) string {
	if v = chat.Opened(v); v.Kind() != exactjson.Object {
		return ""
	}
	name := ""
	for _, m := range v.Members() {
		if m.Value.Kind() >= exactjson.Array {
			return ""
		}
		if name == "" && slices.Contains(valueNames, m.Name) && m.Value.Kind() == exactjson.String && m.Value.Str() == "" {
			name = m.Name
		}
	}
	if name == "" || chat.Besides(v, name) > chat.MaxBesides {
		return ""
	}
	return name
}

// looksWrapped reports that the only member of a value is an envelope in all likelihood. The member of a
// result is an object. Arguments may well be one object; of these it is an object with nothing but an object
// or list.
func looksWrapped(inner exactjson.Value, result bool) bool {
	if result {
		return chat.Opened(inner).Kind() == exactjson.Object
	}
	_, inner, ok := sole(inner)
	return ok && inner.Kind() >= exactjson.Array
}

// valueNames are what servers call a value that is no object: the structured result of an MCP tool has to be
// one.
var valueNames = []string{"value", "result", "output", "response", "return", "returns", "return_value", "content", "data"}

// suspectedPath names the members that lead to what may be the content of an envelope.
func suspectedPath(v exactjson.Value) string {
	var path []string
	for len(path) < chat.MaxEnvelopes {
		if v = chat.Opened(v); v.Kind() != exactjson.Object {
			break
		}
		if v.Len() == 1 {
			path, v = append(path, v.Members()[0].Name), v.Members()[0].Value
			continue
		}
		if inside := withMembers(v); len(path) == 1 && len(inside) == 1 {
			path = append(path, inside[0].Name)
		}
		break
	}
	return strings.Join(path, ".")
}

// withMembers are the members with members of their own, beside which little else stands.
func withMembers(v exactjson.Value) []exactjson.Member {
	return slices.DeleteFunc(slices.Clone(v.Members()), func(m exactjson.Member) bool {
		return m.Value.Kind() < exactjson.Array || chat.Besides(v, m.Name) > chat.MaxBesides
	})
}
