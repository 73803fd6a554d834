// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"encoding/hex"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Fragment is what one run is made of: the run span and all below it, or loose calls without a run span.
type Fragment struct {
	Root   *spantree.Node   // the run span; nil for loose calls
	Heads  []*spantree.Node // local roots of what belongs to the run, the run span among them
	Entry  []*spantree.Node // entry spans above it, innermost first
	Traces []string
	Cut    string         // why the evidence of one of these traces is not all of it
	Lost   bool           // a keep policy dropped evidence of one of these traces
	Seen   Redactions     // what redaction the evidence of these traces went through
	Own    bool           // named by its own first span: another run has its name, or other runs lie beside it
	Parts  []*Fragment    // what it was united from, in order of time
	Why    []string       // what says that these are one run
	Behind uint64         // lower bound, in ns, on how far its clock lags behind that of its predecessor
	Within *Fragment      // the run that it was gathered into
	AsTool bool           // a tool call of another part ran this agent: its span is that of no whole run
	RanBy  *spantree.Node // the span of that call; nil: none came, or several fit

	// Description is a span that runs nothing and tells of the run's agent; nil: none, or the run itself
	// tells it.
	Description *spantree.Node
}

// RootID names the fragment: its run span; while that is missing, the parent that its calls name, else the
// earliest span.
func (f *Fragment) RootID() string {
	if f.Root != nil {
		return f.Root.SpanID()
	}
	if len(f.Traces) > 1 {
		return f.Parts[0].RootID()
	}
	first := f.First()
	if f.Own {
		return first.SpanID()
	}
	if first.Missing && !first.Adopted && !first.Parent.IsEmpty() {
		return hex.EncodeToString(first.Parent[:])
	}
	return spantree.RootOf(first).SpanID()
}

// IsBody reports the span of a node of a graph that is a trace of its own. It is no run: what it holds, the
// spans of its graph and of its calls hold too, and a join finds whose it is.
func (f *Fragment) IsBody() bool {
	n := f.Root
	return n != nil && n.Obs.Body && len(f.Parts) == 0 && len(f.Heads) == 1 && len(n.Kids) == 0 && n.Up == nil && n.Parent.IsEmpty()
}

// modelSpans lists the model spans of a fragment in order of time.
func (f *Fragment) modelSpans() []*spantree.Node {
	models := spantree.SpansOf(f.Heads, spantree.Is(genai.Model))
	slices.SortFunc(models, spantree.CompareNodes)
	return models
}

// UserText is the user's message as the fragment's own span or its first model call holds it.
func (f *Fragment) UserText() string {
	if f.Root != nil {
		if text := chat.LastUserText(f.Root.Obs.Input); text != "" {
			return text
		}
	}
	for _, n := range f.modelSpans() {
		if text := chat.LastUserText(n.Obs.Request); text != "" {
			return text
		}
	}
	return ""
}
