// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// This file labels what was read of texts that Limits found to be cut.

// labelCuts labels what was read of texts that were cut, and takes the marks out. Of JSON that ends in the middle the mark may be lost with what the reader had no use for, so
// the item is read once more without what is not whole in it: what is there then, another value or another member holds whole, and the rest was read from what was cut.
func labelCuts(s *dialect.Source, o *dialect.Draft, as dialect.Class) {
	without := *s
	without.Dialects, without.Lists = nil, nil
	var changed bool
	without.Span, o.Cuts, changed = wholeOnly(s.Span)
	without.Logs = slices.Clone(s.Logs)
	for i, l := range s.Logs {
		rest, n, also := wholeOnly(l)
		without.Logs[i] = rest
		o.Cuts, changed = o.Cuts+n, changed || also
	}
	if changed {
		preferWhole(o, read(&without, as))
	}
	unmark(o)
}

// wholeOnly is a span without the JSON that was cut, of which the members are kept that are whole objects or lists. cuts counts the texts in it that were cut.
func wholeOnly(span ptrace.Span) (rest ptrace.Span, cuts int, changed bool) {
	of := func(m pcommon.Map) {
		m.RemoveIf(func(key string, v pcommon.Value) (remove bool) {
			eachTextIn(key, v, 0, func(_ string, text pcommon.Value) {
				if !decode.IsMarked(text.Str()) {
					return
				}
				if cuts++; decode.LooksJSON(text.Str()) {
					whole, some := decode.WholeMembers(text.Str())
					text.SetStr(whole)
					changed, remove = true, remove || !some
				}
			})
			return remove
		})
	}
	some := false
	eachText(span, func(_ string, v pcommon.Value) { some = some || decode.IsMarked(v.Str()) })
	if !some {
		return span, 0, false
	}
	rest = ptrace.NewSpan()
	span.CopyTo(rest)
	of(rest.Attributes())
	for _, e := range rest.Events().All() {
		of(e.Attributes())
	}
	return rest, cuts, changed
}

// preferWhole gives a draft the values that were read without any cut one, where they say as much. It labels
// the values that only the cut ones hold.
func preferWhole(o, whole *dialect.Draft) {
	if len(whole.Request) > 0 && whole.RequestLabel == "" && len(whole.Request) >= len(o.Request) {
		o.Request, o.RequestLabel = withTexts(whole.Request, o.Request), ""
	} else if o.RequestLabel == "" && len(o.Request) > 0 && !sameMessages(o.Request, whole.Request) {
		o.RequestLabel = tape.Truncated
	}
	if slices.ContainsFunc(whole.Response, func(m decode.Message) bool { return len(m.Parts) > 0 }) && whole.ResponseLabel == "" {
		o.Response, o.ResponseLabel = whole.Response, ""
	} else if o.ResponseLabel == "" && len(o.Response) > 0 && !sameMessages(o.Response, whole.Response) {
		o.ResponseLabel = tape.Truncated
	}
	for _, l := range [][2]*[]decode.Message{{&o.Input, &whole.Input}, {&o.Output, &whole.Output}} {
		if len(*l[1]) > 0 {
			*l[0] = *l[1]
		} else {
			*l[0] = labelLast(*l[0])
		}
	}
	for _, c := range [][2]*decode.Content{{&o.Args, &whole.Args}, {&o.Result, &whole.Result}, {&o.InputData, &whole.InputData}, {&o.OutputData, &whole.OutputData}, {&o.Query, &whole.Query}} {
		_, marked := decode.UnmarkValue(c[1].Value)
		switch {
		case c[1].Present() && c[1].Label == "" && !marked:
			*c[0] = *c[1]
		case c[0].Present() && c[0].Label == "":
			c[0].Label = tape.Truncated
		}
	}
	if len(o.Tools) > len(whole.Tools) {
		o.AddNote(tape.CodeTruncated, "request.tools", "the list of tools was cut; those that stand in it whole are kept")
	}
}

// withTexts takes for messages that say nothing what a list that was cut holds at their place.
func withTexts(messages, cut []decode.Message) []decode.Message {
	messages = slices.Clone(messages)
	for i := range messages[:min(len(messages), len(cut))] {
		if m := &messages[i]; len(m.Parts) == 0 && m.Role == cut[i].Role && i < len(cut)-1 {
			m.Parts = cut[i].Parts
		}
	}
	return messages
}

func sameMessages(a, b []decode.Message) bool {
	return slices.EqualFunc(a, b, func(x, y decode.Message) bool {
		return x.Role == y.Role && slices.EqualFunc(x.Parts, y.Parts, func(p, q decode.Part) bool {
			return p.Type == q.Type && p.Text == q.Text && p.ID == q.ID && p.Name == q.Name && p.Args.Equal(q.Args) && p.Result.Equal(q.Result)
		})
	})
}

// labelLast labels the last part of messages that were cut.
func labelLast(messages []decode.Message) []decode.Message {
	messages = decode.CloneParts(messages)
	if n := len(messages) - 1; n >= 0 && len(messages[n].Parts) > 0 {
		if p := &messages[n].Parts[len(messages[n].Parts)-1]; p.Label == "" {
			p.Label = tape.Truncated
		}
	}
	return messages
}

// unmark takes the marks out of all that was read.
func unmark(o *dialect.Draft) {
	o.Input, o.Output, o.Request, o.Response = decode.CloneParts(o.Input), decode.CloneParts(o.Output), decode.CloneParts(o.Request), decode.CloneParts(o.Response)
	for _, messages := range [][]decode.Message{o.Input, o.Output} {
		decode.UnmarkMessages(messages)
	}
	if last := len(o.Request) - 1; decode.UnmarkMessages(o.Request) && last >= 0 && o.RequestLabel == "" && len(o.Request[last].Parts) == 0 {
		o.RequestLabel = tape.Truncated
	}
	decode.UnmarkMessages(o.Response)
	o.System = slices.Clone(o.System)
	decode.UnmarkParts(o.System)
	for _, c := range []*decode.Content{&o.InputData, &o.OutputData} { // in which others look for what they need
		if v, ok := decode.Structure(c.Value); ok && decode.IsMarked(c.Value.Str()) {
			c.Value, c.Text = v, ""
			c.Label = tape.Truncated
		}
	}
	for _, c := range []*decode.Content{&o.Args, &o.Result, &o.InputData, &o.OutputData, &o.Query} {
		decode.UnmarkContent(c)
	}
	for i := range o.Documents {
		o.Documents[i], _ = decode.UnmarkValue(o.Documents[i])
	}
	for i := range o.Params {
		o.Params[i].Value, _ = decode.UnmarkValue(o.Params[i].Value)
	}
	for _, members := range o.Extra {
		for i := range members {
			members[i].Value, _ = decode.UnmarkValue(members[i].Value)
		}
	}
	o.Tools = slices.Clone(o.Tools)
	kept := o.Tools[:0]
	for _, t := range o.Tools {
		name, inName := decode.Unmark(t.Name)
		_, inDescription := decode.Unmark(t.Description)
		_, inParameters := decode.UnmarkValue(t.Parameters)
		switch {
		case inName:
		case inDescription || inParameters:
			o.Offered = append(o.Offered, name)
		default:
			kept = append(kept, t)
		}
	}
	if o.Tools = kept; len(kept) == 0 {
		o.Tools = nil
	}
	for _, name := range []*string{&o.Name, &o.CallID, &o.Model, &o.ResponseModel, &o.Provider, &o.Operation, &o.ConversationID, &o.InvocationID, &o.CorrelationID, &o.WorkflowID, &o.TaskID,
		&o.UserID, &o.ResponseID, &o.Agent.Name, &o.Agent.ID, &o.Agent.Version} {
		if decode.IsMarked(*name) { // what is left of a name is another one
			*name = ""
		}
	}
	o.Agent.Description, _ = decode.Unmark(o.Agent.Description)
	for i := range o.OutputTools {
		o.OutputTools[i], _ = decode.Unmark(o.OutputTools[i])
	}
	for i := range o.FinishReasons {
		o.FinishReasons[i], _ = decode.Unmark(o.FinishReasons[i])
	}
	if o.Error != nil {
		e := *o.Error
		e.Type, _ = decode.Unmark(e.Type)
		e.Message, _ = decode.Unmark(e.Message)
		o.Error = &e
	}
	if o.Called != nil {
		c := *o.Called
		c.Name, _ = decode.Unmark(c.Name)
		c.In, c.InCut = decode.UnmarkValue(c.In)
		c.Out, c.OutCut = decode.UnmarkValue(c.Out)
		o.Called = &c
	}
}
