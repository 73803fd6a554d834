// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconstruct rebuilds agent runs from evidence. It is pure: the same set of items gives the same tapes. The
// order of the items, their batches and their repetitions change nothing.
//
// The steps follow each other, each in a file:
//
//   - load: items become nodes; spans that came twice become one
//   - tree: whose child each span is (placeRules), and what its place corrects (spanRules)
//   - runs: which spans are one run
//   - stitch: which parts are one run by what they say (spine, asked, steps)
//   - calls: one call for each real call
//   - conversation: messages, and what later requests show (responses of models, shown results)
//   - pairing: which response asked for which tool call (pairRules)
//   - order, build: the tape
//   - ending: how the run ended
//   - grade: what the tape is good for
package reconstruct

import (
	"bytes"
	"cmp"
	"encoding/hex"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// node is one span of a trace with what it says and where it hangs.
type node struct {
	id, parent pcommon.SpanID
	start, end uint64        // ns
	item       evidence.Item // the most telling one; none of what exists in log records only
	span       ptrace.Span
	resource   pcommon.Map
	scope      scopeKey
	obs        *genai.Observation // never written to: who corrects what a span says replaces it
	rooted     bool               // its dialect puts every call below a run span
	source     *genai.Source
	spans      int             // evidence items that are spans, 0 for what exists in log records only
	logs       int             // evidence items that are log records
	sources    []*genai.Source // of each payload, where they disagree
	payloads   []payload       // what each of them says, of a tool call
	conflicts  int             // payloads under the same id that disagree, see conflictsOf
	said       evidence.Digest // see content
	twins      int             // further spans that say the same, see dropTwins
	reports    *node           // the span in another trace that tells the same model call, see byTwin

	up       *node
	kids     []*node
	adopted  bool       // hangs where its times say, its parent never came
	missing  bool       // a parent is named and never came
	heldBy   *node      // the span of an agent on which this model call was written, see giveHeld
	sole     bool       // it names no parent, as no other span of its trace
	messages []*message // see request
	followed []*message // what stands in the recorded request from the answer on, see splitAtAnswer
	made     *messages  // of all nodes of the trace
	omits    bool       // its request holds messages of which the place alone is known
}

type scopeKey struct{ name, version string }

func (n *node) spanID() string { return hex.EncodeToString(n.id[:]) }

// within reports whether n lies in the time of m.
func (n *node) within(m *node) bool { return m.start <= n.start && n.end <= m.end }

// request returns the messages that a model call sent, the system prompt first where it was recorded apart. Some
// programs send instructions apart, and others between the messages.
func (n *node) request() []*message {
	if n.messages != nil {
		return n.messages
	}
	o := n.obs
	n.messages = make([]*message, 0, len(o.Request)+1)
	if len(o.System) > 0 && (len(o.Request) == 0 || o.Request[0].Role != tape.RoleSystem) {
		n.messages = append(n.messages, n.made.message(genai.Message{Role: tape.RoleSystem, Parts: o.System}))
	}
	for i := range o.Request {
		n.omits = n.omits || o.Request[i].Omitted
		n.messages = append(n.messages, n.made.message(o.Request[i]))
	}
	n.messages, n.followed = splitAtAnswer(n.messages, o.Response)
	return n.messages
}

// compareNodes orders spans by time, the longer one first: it encloses the other.
func compareNodes(a, b *node) int {
	c := cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), bytes.Compare(a.id[:], b.id[:]))
	if c != 0 || a == b {
		return c
	}
	x, y := a.digest(), b.digest()
	return bytes.Compare(x[:], y[:])
}

// digest is that of the item, zero for what exists in log records only.
func (n *node) digest() (d evidence.Digest) {
	if n.spans > 0 {
		d = n.item.Digest()
	}
	return d
}

// content returns what the item says, whatever it is called and wherever it hangs.
func (n *node) content() evidence.Digest {
	if n.said == (evidence.Digest{}) {
		n.said = n.item.ContentDigest()
	}
	return n.said
}
