// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// said fills in policy, profile and key. Several values in the evidence are all named, sorted and separated
// by commas.
func said(r fragment.Redactions, unmarked tape.Redaction) tape.Redaction {
	if len(r.Markers) == 0 {
		return unmarked
	}
	var policies, profiles, keys []string
	for _, m := range r.Markers {
		policies = append(policies, m.Policy)
		profiles = append(profiles, m.ProfileDigest)
		if m.KeyID != "" {
			keys = append(keys, m.KeyID)
		}
	}
	if r.Unmarked > 0 {
		policies = append(policies, policyNone)
	}
	return tape.Redaction{Policy: listed(policies), ProfileDigest: listed(profiles), KeyID: listed(keys)}
}

// policyNone is the policy of evidence that no redaction has seen.
const policyNone = "none"

func listed(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// Redaction says what the evidence went through, counts what stands for redacted values, and labels the
// fields that hold such.
func Redaction(b *value.Builder, nodes []*spantree.Node) {
	seen := b.Fragment.Seen
	b.Tape.Redaction = said(seen, b.Tape.Redaction)
	if len(seen.Markers) > 0 && seen.Unmarked > 0 {
		b.Finding(tape.CodeRedactionPartial, 0, "", fmt.Sprintf("%d of %d spans and log records carry no redaction marker", seen.Unmarked, seen.Items))
	}
	if len(seen.Markers) > 1 {
		b.Finding(tape.CodeRedactionMixed, 0, "", fmt.Sprintf("%d redaction profiles or keys", len(seen.Markers)))
	}
	c := tokenCount{rules: map[string]int64{}, resources: map[[2]string]bool{}, masks: len(seen.Markers) > 0}
	for _, n := range nodes {
		c.node(n)
	}
	if len(c.rules) > 0 {
		b.Tape.Redaction.Rules = c.rules
		for _, n := range c.rules {
			b.Tape.Redaction.Count += n
		}
	}
	labelTokens(b)
}

// maskRule counts plain masks, which do not say which rule they stand for.
const maskRule = "mask"

// tokenCount counts tokens in the evidence of a run. The tokens of a resource count once, however many
// batches repeated it.
type tokenCount struct {
	rules     map[string]int64
	resources map[[2]string]bool
	masks     bool // plain masks are ours
}

func (c *tokenCount) text(s string) {
	if !strings.Contains(s, tokenStart) {
		return
	}
	found := map[string]int64{}
	token.Count(s, found)
	for rule, n := range found {
		if rule == "" {
			if !c.masks {
				continue
			}
			rule = maskRule
		}
		c.rules[rule] += n
	}
}

// tokenStart is what every token and mask begins with.
const tokenStart = "[REDACTED"

func (c *tokenCount) node(n *spantree.Node) {
	for k, v := range n.Source.Resource.All() {
		if text := v.AsString(); strings.Contains(text, tokenStart) && !c.resources[[2]string{k, text}] {
			c.resources[[2]string{k, text}] = true
			c.text(text)
		}
	}
	if n.Source.Span != (ptrace.Span{}) {
		c.span(n.Source.Span)
	}
	for _, s := range slices.Concat(n.Source.Logs, n.Source.Also) {
		c.span(s)
	}
}

func (c *tokenCount) span(s ptrace.Span) {
	c.text(s.Name())
	c.text(s.Status().Message())
	c.attributes(s.Attributes(), 0)
	for _, e := range s.Events().All() {
		c.text(e.Name())
		c.attributes(e.Attributes(), 0)
	}
	for _, l := range s.Links().All() {
		c.attributes(l.Attributes(), 0)
	}
}

func (c *tokenCount) attributes(m pcommon.Map, depth int) {
	for k, v := range m.All() {
		c.text(k)
		c.value(v, depth)
	}
}

// maxTokenDepth is that of the values that a redactor reads.
const maxTokenDepth = 128

func (c *tokenCount) value(v pcommon.Value, depth int) {
	if depth > maxTokenDepth {
		return
	}
	switch v.Type() {
	case pcommon.ValueTypeStr, pcommon.ValueTypeBytes:
		c.text(decode.TextOf(v))
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			c.value(e, depth+1)
		}
	case pcommon.ValueTypeMap:
		c.attributes(v.Map(), depth+1)
	}
}

// labelTokens labels values that hold tokens as redacted, unless something worse is known of them. A holder
// of the key can verify a token in place of a value. Nobody can verify a value that was cut.
func labelTokens(b *value.Builder) {
	t := b.Tape
	if len(t.Redaction.Rules) == 0 {
		return
	}
	redacted := map[string]bool{}
	for id, m := range t.Messages {
		redacted[id] = slices.ContainsFunc(m.Parts, partHasToken)
	}
	label := func(p *tape.Provenance, field string, holds bool) {
		if was := (*p)[field]; !holds || was != "" && was != tape.Recovered {
			return
		}
		if *p == nil {
			*p = tape.Provenance{}
		}
		(*p)[field] = tape.Redacted
	}
	for i := range t.Events {
		e := &t.Events[i]
		p := &e.Provenance
		for field, v := range map[string]exactjson.Value{
			"args": e.Args, "executed_args": e.ExecutedArgs, "result": e.Result, "input": e.Input, "output": e.Output,
			"params": e.Params, "query": e.Query, "documents": e.Documents,
		} {
			label(p, field, hasToken(v))
		}
		label(p, "error", e.Error != nil && textHasToken(e.Error.Message))
		label(p, "request.messages", e.Request != nil && slices.ContainsFunc(e.Request.Messages, func(id string) bool { return redacted[id] }))
		label(p, "response.message", e.Response != nil && redacted[e.Response.Message])
	}
	in, out := &t.Input, &t.Output
	label(&in.Provenance, "user_message", in.UserMessage != nil && textHasToken(*in.UserMessage))
	label(&in.Provenance, "system_prompt", in.SystemPrompt != nil && textHasToken(*in.SystemPrompt))
	label(&in.Provenance, "messages", slices.ContainsFunc(in.Messages, func(id string) bool { return redacted[id] }))
	label(&out.Provenance, "text", out.Text != nil && textHasToken(*out.Text))
}

func partHasToken(p tape.Part) bool {
	return textHasToken(p.Text) || hasToken(p.Args) || hasToken(p.Result) || hasToken(p.Value)
}

// textHasToken is about keyed tokens. A plain mask can be that of a producer, which is labelled where it is
// read.
func textHasToken(s string) bool {
	if !strings.Contains(s, tokenStart+":") {
		return false
	}
	for _, at := range token.Find(s) {
		if s[at[0]:at[1]] != token.Mask {
			return true
		}
	}
	return false
}

func hasToken(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		return textHasToken(v.Str())
	}
	return slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return textHasToken(m.Name) || hasToken(m.Value) })
}
