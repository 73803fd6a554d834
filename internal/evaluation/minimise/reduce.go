// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package minimise

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// copied is a tape that can be changed without a change of t, as far as the functions here change tapes: events, what they send and got,
// the lists of ids, and the pools. What lies deeper is replaced, never written to.
func copied(t *tape.Tape) *tape.Tape {
	c := *t
	c.Events = slices.Clone(t.Events)
	for i := range c.Events {
		e := &c.Events[i]
		if e.Request != nil {
			request := *e.Request
			e.Request = &request
		}
		if e.Response != nil {
			response := *e.Response
			e.Response = &response
		}
		e.OtherResults = slices.Clone(e.OtherResults)
	}
	c.Messages, c.Tools = maps.Clone(t.Messages), maps.Clone(t.Tools)
	c.Fidelity.Findings = slices.Clone(t.Fidelity.Findings)
	c.Verdicts = nil // of the whole run
	return &c
}

// keepEvents leaves the events of which keep is true. References to others are taken away; findings go with their events.
func keepEvents(t *tape.Tape, keep []bool) *tape.Tape {
	c := copied(t)
	at := make([]int, len(t.Events)+1) // old sequence number → new one, 0 for none
	c.Events = c.Events[:0]
	for i := range t.Events {
		if keep[i] {
			c.Events = append(c.Events, t.Events[i])
			at[i+1] = len(c.Events)
		}
	}
	for i := range c.Events {
		e := &c.Events[i]
		e.Seq, e.Parent, e.RequestedBy, e.Via = i+1, at[e.Parent], at[e.RequestedBy], at[e.Via]
		e.OtherResults = slices.DeleteFunc(slices.Clone(e.OtherResults), func(o tape.OtherResult) bool { return o.Seq > 0 && at[o.Seq] == 0 })
		for j := range e.OtherResults {
			e.OtherResults[j].Seq = at[e.OtherResults[j].Seq]
		}
	}
	c.Fidelity.Findings = slices.DeleteFunc(c.Fidelity.Findings, func(f tape.Finding) bool { return f.Seq > 0 && at[f.Seq] == 0 })
	for i := range c.Fidelity.Findings {
		c.Fidelity.Findings[i].Seq = at[c.Fidelity.Findings[i].Seq]
	}
	return c
}

// withoutMessages takes messages out of every list in which they stand.
func withoutMessages(t *tape.Tape, gone map[string]bool) *tape.Tape {
	return withMessages(t, func(id string) string {
		if gone[id] {
			return ""
		}
		return id
	})
}

// withMessages replaces the ids of messages; those that become "" are taken out.
func withMessages(t *tape.Tape, id func(string) string) *tape.Tape {
	c := copied(t)
	list := func(ids []string) (kept []string) {
		for _, old := range ids {
			if now := id(old); now != "" {
				kept = append(kept, now)
			}
		}
		return kept
	}
	one := func(old string) string {
		if old == "" {
			return ""
		}
		return id(old)
	}
	c.Input.Messages, c.Output.Message = list(t.Input.Messages), one(t.Output.Message)
	for i := range c.Events {
		if e := &c.Events[i]; e.Request != nil {
			e.Request.Messages = list(e.Request.Messages)
		}
		if e := &c.Events[i]; e.Response != nil {
			e.Response.Message = one(e.Response.Message)
		}
	}
	return c
}

// withoutTools takes definitions of tools out of what was offered.
func withoutTools(t *tape.Tape, gone map[string]bool) *tape.Tape {
	c := copied(t)
	for i := range c.Events {
		if e := &c.Events[i]; e.Request != nil {
			e.Request.Tools = slices.DeleteFunc(slices.Clone(e.Request.Tools), func(id string) bool { return gone[id] })
		}
	}
	return c
}

// withoutParts takes parts out of a message.
func withoutParts(t *tape.Tape, id string, keep []bool) *tape.Tape {
	m := t.Messages[id]
	parts := m.Parts
	m.Parts = nil
	for i := range parts {
		if keep[i] {
			m.Parts = append(m.Parts, parts[i])
		}
	}
	now := m.ID()
	c := withMessages(t, func(old string) string {
		if old == id {
			return now
		}
		return old
	})
	c.Messages[now] = m
	return c
}

// rewrite passes every recorded text through text, and every recorded JSON value through value, whose strings it then passes through text.
// Equal ones become equal ones: what an event holds and what a message shows of it stay one thing. Names, ids and digests are no texts.
func rewrite(t *tape.Tape, text func(string) string, value func(exactjson.Value) exactjson.Value) *tape.Tape {
	var json func(v exactjson.Value) exactjson.Value
	json = func(v exactjson.Value) exactjson.Value {
		if v = value(v); v.Kind() != exactjson.String {
			return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return json(m.Value) })
		}
		return exactjson.StringValue(text(v.Text()))
	}
	pointer := func(s *string) *string {
		if s == nil {
			return nil
		}
		now := text(*s)
		return &now
	}
	failure := func(e *tape.Error) *tape.Error {
		if e == nil {
			return nil
		}
		now := *e
		now.Message = text(e.Message)
		return &now
	}
	ids := map[string]string{}
	messages := map[string]tape.Message{}
	for id, m := range t.Messages {
		m.Parts = slices.Clone(m.Parts)
		for i := range m.Parts {
			p := &m.Parts[i]
			args := json(p.Args)
			if !args.Equal(p.Args) {
				p.ArgsText = ""
			}
			p.Text, p.Args, p.Result, p.Value = text(p.Text), args, json(p.Result), json(p.Value)
		}
		ids[id] = m.ID()
		messages[ids[id]] = m
	}
	tools, toolIDs := map[string]tape.Tool{}, map[string]string{}
	for id, d := range t.Tools {
		d.Description, d.Parameters = text(d.Description), json(d.Parameters)
		toolIDs[id] = d.ID()
		tools[toolIDs[id]] = d
	}
	c := withMessages(t, func(id string) string { return ids[id] })
	c.Messages, c.Tools = messages, tools
	c.Input.UserMessage, c.Input.SystemPrompt, c.Output.Text = pointer(t.Input.UserMessage), pointer(t.Input.SystemPrompt), pointer(t.Output.Text)
	c.Run.Error, c.Output.Error = failure(t.Run.Error), failure(t.Output.Error)
	if t.Input.A2A != nil {
		a2a := *t.Input.A2A
		a2a.Params = json(a2a.Params)
		c.Input.A2A = &a2a
	}
	for i := range c.Events {
		e := &c.Events[i]
		e.Error = failure(e.Error)
		for _, v := range []*exactjson.Value{&e.Params, &e.Args, &e.ExecutedArgs, &e.Result, &e.Input, &e.Output, &e.Query, &e.Documents} {
			*v = json(*v)
		}
		for j := range e.OtherResults {
			e.OtherResults[j].Result = json(e.OtherResults[j].Result)
		}
		if e.Request != nil {
			offered := slices.Clone(e.Request.Tools)
			for j, id := range offered {
				offered[j] = toolIDs[id]
			}
			e.Request.Tools = offered
		}
	}
	return c
}

// tidy makes what follows from the content agree with it again: pools without what nothing refers to, hashes, sums.
func tidy(t *tape.Tape) *tape.Tape {
	c := copied(t)
	messages, tools := map[string]bool{}, map[string]bool{}
	use := func(ids ...string) {
		for _, id := range ids {
			messages[id] = true
		}
	}
	use(c.Input.Messages...)
	use(c.Output.Message)
	tokens := c.Usage.InputTokens != nil || c.Usage.OutputTokens != nil
	c.Usage = tape.RunUsage{Unknown: c.Usage.Unknown}
	add := func(sum **int64, n *int64) {
		if tokens && n != nil {
			total := *n
			if *sum != nil {
				total += **sum
			}
			*sum = &total
		}
	}
	for i := range c.Events {
		e := &c.Events[i]
		if e.Request != nil {
			use(e.Request.Messages...)
			for _, id := range e.Request.Tools {
				tools[id] = true
			}
		}
		if e.Response != nil {
			use(e.Response.Message)
		}
		switch e.Type {
		case tape.EventModelCall:
			c.Usage.ModelCalls++
			if e.Usage != nil {
				add(&c.Usage.InputTokens, e.Usage.InputTokens)
				add(&c.Usage.OutputTokens, e.Usage.OutputTokens)
			}
		case tape.EventToolCall:
			c.Usage.ToolCalls++
			e.ArgsHash = tape.ArgsHash(e.Args)
			e.ResultSHA256 = e.AnswerSHA256()
		}
	}
	maps.DeleteFunc(c.Messages, func(id string, _ tape.Message) bool { return !messages[id] })
	maps.DeleteFunc(c.Tools, func(id string, _ tape.Tool) bool { return !tools[id] })
	return c
}

// Namespace is the member of extensions.tapedeck that says that a tape is a part of another one, made by minimise.
const Namespace = "minimised"

// sealed makes a tape that can be handed on: assessed anew, under ids of its own, and said to be what it is. source is what it was made of.
func sealed(t, source *tape.Tape) (*tape.Tape, error) {
	c := tidy(t)
	assessed := []tape.Code{tape.CodeResultRewritten, tape.CodeResultDisputed, tape.CodeToolsUnproved}
	c.Fidelity.Findings = slices.DeleteFunc(c.Fidelity.Findings, func(f tape.Finding) bool { return slices.Contains(assessed, f.Code) })
	for i := range c.Events {
		e := &c.Events[i]
		e.OtherResults = slices.DeleteFunc(e.OtherResults, func(o tape.OtherResult) bool { return o.From == tape.FromRequest })
		e.Provenance = withoutDisputes(e.Provenance)
	}
	if c.Config.SystemPromptSHA256 != "" && source.Input.SystemPrompt != nil && c.Config.SystemPromptSHA256 == digest(*source.Input.SystemPrompt) && c.Input.SystemPrompt != nil {
		c.Config.SystemPromptSHA256 = digest(*c.Input.SystemPrompt)
	}
	var own []exactjson.Member
	for _, m := range c.Extensions.Get("tapedeck").Members() {
		if m.Name != "files" && m.Name != "left_out" && m.Name != Namespace { // the files lie beside the source
			own = append(own, m)
		}
	}
	own = append(own, exactjson.Member{Name: Namespace, Value: exactjson.ObjectValue(
		exactjson.Member{Name: "of", Value: exactjson.StringValue(source.TapeID)},
		exactjson.Member{Name: "run_id", Value: exactjson.StringValue(source.Run.RunID)})})
	extensions := slices.DeleteFunc(slices.Clone(c.Extensions.Members()), func(m exactjson.Member) bool { return m.Name == "tapedeck" })
	c.Extensions = exactjson.ObjectValue(append(extensions, exactjson.Member{Name: "tapedeck", Value: exactjson.ObjectValue(own...)})...)
	// Who tells replays from production by the tag takes it for no production; of what it is a part stands in the extension.
	c.Run.ReplayRunID = "minimised-" + digest(source.TapeID)[:12]
	oracle.Assess(c)
	c.Fidelity.SortFindings()
	c.Run.TraceID, c.Run.RootSpanID, c.Run.RunID = "", "", ""
	id, err := c.ComputeID()
	if err != nil {
		return nil, err
	}
	sum := digest("tapedeck minimise 1\n" + id)
	c.Run.TraceID, c.Run.RootSpanID = sum[:32], sum[32:48]
	c.Run.RunID = c.Run.TraceID + "-" + c.Run.RootSpanID
	return c, c.Seal()
}

// withoutDisputes takes off the labels that the assessment sets.
func withoutDisputes(p tape.Provenance) tape.Provenance {
	if len(p) == 0 {
		return p
	}
	kept := maps.Clone(p)
	maps.DeleteFunc(kept, func(_ string, l tape.Label) bool { return l == tape.Disputed })
	return kept
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Size is how much a tape holds.
type Size struct {
	Events     int `json:"events"`
	Messages   int `json:"messages"`
	Characters int `json:"characters"` // of texts, and of the strings in JSON values; what stands on the tape several times counts once
}

// SizeOf measures a tape.
func SizeOf(t *tape.Tape) Size {
	s := Size{Events: len(t.Events), Messages: len(t.Messages)}
	for _, text := range texts(t) {
		s.Characters += len([]rune(text))
	}
	return s
}

// texts are the distinct texts of a tape that are not empty, the longest first.
func texts(t *tape.Tape) (list []string) {
	seen := map[string]bool{"": true}
	rewrite(t, func(s string) string {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
		return s
	}, func(v exactjson.Value) exactjson.Value { return v })
	slices.SortFunc(list, longestFirst)
	return list
}

func longestFirst(a, b string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(a, b)
}

// containers are the distinct JSON objects and arrays of a tape that are not empty, by their JSON, the longest first.
func containers(t *tape.Tape) (list []string) {
	seen := map[string]bool{}
	rewrite(t, func(s string) string { return s }, func(v exactjson.Value) exactjson.Value {
		if (v.Kind() == exactjson.Object || v.Kind() == exactjson.Array) && v.Len() > 0 {
			if text := v.JSON(); !seen[text] {
				seen[text] = true
				list = append(list, text)
			}
		}
		return v
	})
	slices.SortFunc(list, longestFirst)
	return list
}
