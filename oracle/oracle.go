// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Options configure an Oracle.
type Options struct {
	// Rules may be nil: strict, exact and in sequence.
	Rules *Rules
	// Verifier may be nil: redacted arguments are then found only when the live ones are equal to them byte by byte.
	Verifier TokenVerifier
	// Volatile finds values that differ from run to run although nothing differs, in arguments that a program
	// made; nil finds nothing. Names are what they are called in the one replay that the oracle is for; nil:
	// each session has its own.
	Volatile *normalise.Volatile
	Names    *normalise.Renaming
	// Free, if it is set, is asked about each call without a recorded answer: true sends it live, as ReadThrough does. unused is how many
	// entries no call has asked for. It must be safe for concurrent use.
	Free func(q *Query, unused int) bool
	// Prefers, if it is set, is asked once about each call that is no repetition: nil, or which of the
	// entries that are left the call takes, where one of them fits. So the calls of several recorded runs are
	// told apart. It must be safe for concurrent use.
	Prefers func(q *Query) func(e *Entry) bool
}

// Oracle is a list of entries, ready to be asked. It does not change and is safe for concurrent use. Its sessions hold which entries have
// been served.
type Oracle struct {
	entries []Entry
	options Options
	groups  []group
	lanes   int                      // in all groups
	slots   int                      // in all lanes
	byHash  map[content]int          // tool and args hash → group
	byRule  map[content]int          // tool and digest of the reduced arguments → group, for tools with such rules
	tools   map[string]*tool         // by name
	slotOf  []int                    // entry → slot, -1 for none
	quoted  []atomic.Pointer[[]byte] // by entry: its response as a JSON string, once it was asked for
}

// content is a tool and a digest of arguments.
type content struct {
	tool, digest string
}

// group is all entries of a tool that answer the same arguments.
type group struct {
	policy Policy
	lanes  []lane // one per caller, in recorded order
	// recorded is set when the arguments are redacted: what counts of them.
	recorded exactjson.Value
	args     exactjson.Value // of its first entry; absent where they are not known
	byRule   bool            // members may have different arguments
}

// lane is the calls of one caller in a group, in order.
type lane struct {
	caller string
	number int      // among all lanes
	slots  [][]*ref // usually one entry each; several where merged runs disagree
	first  int      // number of the first slot among all slots
	alike  bool     // all answers are the same and can be served
}

// ref is an entry and its place in the file.
type ref struct {
	*Entry
	index int
}

// tool is what is known of a tool.
type tool struct {
	rule     ToolRule
	values   *normalise.Rules // nil: arguments count as they are
	redacted []int            // groups with redacted arguments
	groups   []int            // all groups
	unknown  map[string]int   // caller → first entry whose arguments are not known
	entries  []int
}

// ErrWrongHash is returned, wrapped, for an entry whose args_hash is not the hash of its args: it would answer other calls than it shows.
var ErrWrongHash = errors.New("args_hash is not the hash of args")

// New returns an oracle of the entries. It refers to the slice.
func New(entries []Entry, options Options) (*Oracle, error) {
	if err := options.Rules.Check(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	for i := range entries {
		if e := &entries[i]; !e.Args.IsAbsent() && e.ArgsHash != "" && Hash(e.Args) != e.ArgsHash {
			return nil, fmt.Errorf("entry %d of tool %q: %w", i, e.ToolName, ErrWrongHash)
		}
	}
	return build(entries, options), nil
}

// slotKey is what alternatives have in common: only entries that say which occurrence they are can be alternatives.
type slotKey struct {
	lane       int
	hash       string
	occurrence int
}

func build(entries []Entry, options Options) *Oracle {
	o := &Oracle{
		entries: entries, options: options, tools: make(map[string]*tool),
		byHash: make(map[content]int, len(entries)), byRule: map[content]int{}, slotOf: make([]int, len(entries)),
		quoted: make([]atomic.Pointer[[]byte], len(entries)),
	}
	slots := make(map[slotKey]int, len(entries))
	lanes := make(map[call]int, len(entries)) // → the lane in the group
	type place struct{ group, lane, slot int }
	places := make([]place, len(entries))
	refs := make([]ref, len(entries))
	// Most groups have one lane, most lanes one slot, and most slots one entry: those share allocations.
	ones, heads, firsts := make([]lane, len(entries)), make([]*ref, len(entries)), make([][]*ref, len(entries))
	for i := range entries {
		e := &entries[i]
		t := o.tool(e.ToolName)
		t.entries = append(t.entries, i)
		places[i].group = -1
		if !e.ArgsFidelity.served() || e.ArgsHash == "" {
			if _, known := t.unknown[e.Caller]; !known {
				t.unknown[e.Caller] = i
			}
			if e.ArgsHash == "" {
				continue
			}
		}
		g := o.groupOf(t, e)
		gr := &o.groups[g]
		key := call{e.Caller, e.ToolName, e.ArgsHash}
		l, known := lanes[key]
		if !known {
			l = slices.IndexFunc(gr.lanes, func(l lane) bool { return l.caller == e.Caller })
			if l < 0 {
				if l = len(gr.lanes); l == 0 {
					gr.lanes = ones[i : i : i+1]
				}
				gr.lanes = append(gr.lanes, lane{caller: e.Caller, number: o.lanes})
				o.lanes++
			}
			lanes[key] = l
		}
		at := &gr.lanes[l]
		slot := len(at.slots)
		if e.Occurrence > 0 {
			key := slotKey{at.number, e.ArgsHash, e.Occurrence}
			if first, taken := slots[key]; taken {
				slot = first
			} else {
				slots[key] = slot
			}
		}
		if slot == len(at.slots) {
			if slot == 0 {
				at.slots = firsts[i : i : i+1]
			}
			at.slots = append(at.slots, heads[i:i:i+1])
			o.slots++
		}
		refs[i] = ref{e, i}
		at.slots[slot] = append(at.slots[slot], &refs[i])
		places[i] = place{g, l, slot}
	}
	number := 0
	for g := range o.groups {
		for l := range o.groups[g].lanes {
			at := &o.groups[g].lanes[l]
			at.first = number
			number += len(at.slots)
			at.alike = alike(at.slots) && at.slots[0][0].Servable()
		}
	}
	for i, p := range places {
		o.slotOf[i] = -1
		if p.group >= 0 {
			o.slotOf[i] = o.groups[p.group].lanes[p.lane].first + p.slot
		}
	}
	return o
}

func (o *Oracle) tool(name string) *tool {
	t := o.tools[name]
	if t == nil {
		t = &tool{rule: o.options.Rules.of(name), values: o.options.Rules.values(name), unknown: map[string]int{}}
		o.tools[name] = t
	}
	return t
}

// groupOf returns the group of an entry and makes it if there is none.
func (o *Oracle) groupOf(t *tool, e *Entry) int {
	exact := content{e.ToolName, e.ArgsHash}
	if g, known := o.byHash[exact]; known {
		return g
	}
	counts, reduced := e.Args, content{}
	ruled := t.values != nil && !e.Args.IsAbsent()
	if ruled {
		counts = t.values.Apply(e.ToolName, argsField, e.Args)
		reduced = content{e.ToolName, Hash(counts)}
		if g, known := o.byRule[reduced]; known {
			o.byHash[exact] = g
			return g
		}
	}
	g := len(o.groups)
	o.groups = append(o.groups, group{policy: t.rule.policy(e.ArgsHash), byRule: ruled})
	t.groups = append(t.groups, g)
	if e.ArgsFidelity.served() {
		o.groups[g].args = e.Args
	}
	o.byHash[exact] = g
	if ruled {
		o.byRule[reduced] = g
	}
	// Values that a producer masked count as lossy. In arguments that are exact, a mask is a text that somebody wrote.
	if masked := e.ArgsFidelity == Redacted || e.ArgsFidelity == Lossy; e.ArgsFidelity.served() && holdsToken(counts, masked) {
		o.groups[g].recorded = counts
		t.redacted = append(t.redacted, g)
	}
	return g
}

// Entries returns the entries. They must not be changed.
func (o *Oracle) Entries() []Entry { return o.entries }

// AppendResponse appends the response of an entry as a JSON string. It is kept for the next time: escaping costs more than all the rest
// of an answer.
func (o *Oracle) AppendResponse(dst []byte, index int) []byte {
	if known := o.quoted[index].Load(); known != nil {
		return append(dst, *known...)
	}
	const keep = 1 << 20 // bytes; larger responses are rare and would cost their memory twice
	response := o.entries[index].Response
	start := len(dst)
	dst = exactjson.AppendString(dst, response)
	if len(response) <= keep {
		quoted := slices.Clone(dst[start:])
		o.quoted[index].Store(&quoted)
	}
	return dst
}

// sameAnswer reports whether it makes no difference which of the two is served.
func sameAnswer(a, b *Entry) bool {
	return a.Response == b.Response && a.IsError == b.IsError && a.Servable() == b.Servable()
}

// alike reports whether all entries of the slots have the same answer.
func alike(slots [][]*ref) bool {
	first := slots[0][0].Entry
	for _, slot := range slots {
		for _, e := range slot {
			if !sameAnswer(first, e.Entry) {
				return false
			}
		}
	}
	return true
}

// found is a group, and how it was found.
type found struct {
	group   int
	labels  []Label
	outcome Outcome          // NoEntry: there is none; RedactedAmbiguous, Ambiguous: it cannot be told which of maybe it is
	maybe   []int            // groups
	pairs   []normalise.Pair // what is taken for what
}

// find returns the group whose arguments are those of the query.
func (o *Oracle) find(t *tool, q *Query, names *normalise.Renaming) found {
	exact := content{q.ToolName, q.ArgsHash}
	if g, known := o.byHash[exact]; known {
		return found{group: g, outcome: Hit}
	}
	q.read()
	if q.Args.IsAbsent() {
		// The hash may be that of a value behind a token.
		if q.ArgsHash != "" && len(t.redacted) > 0 {
			return found{maybe: t.redacted, outcome: RedactedAmbiguous}
		}
		return found{outcome: NoEntry}
	}
	counts := q.Args
	if t.values != nil {
		counts = t.values.Apply(q.ToolName, argsField, q.Args)
		if g, known := o.byRule[content{q.ToolName, Hash(counts)}]; known {
			return found{group: g, labels: []Label{ByRule}, outcome: Hit}
		}
	}
	m := tokenMatch{verifier: o.options.Verifier, left: maxCandidates}
	var sure, maybe []int
	for _, g := range t.redacted {
		switch m.value(o.groups[g].recorded, counts, maxTextLayers) {
		case verified:
			sure = append(sure, g)
		case possible:
			maybe = append(maybe, g)
		}
	}
	switch {
	case len(sure) == 1:
		f := found{group: sure[0], outcome: Hit, labels: []Label{ByToken}}
		if t.values != nil && m.value(o.groups[sure[0]].args, q.Args, maxTextLayers) != verified {
			f.labels = []Label{ByRule, ByToken}
		}
		return f
	case len(sure) > 1:
		return found{maybe: sure, outcome: Ambiguous}
	case len(maybe) > 0:
		return found{maybe: maybe, outcome: RedactedAmbiguous}
	}
	return o.findNormal(t, q, names)
}

// findNormal returns the one group whose arguments have the normal form of those of the query.
func (o *Oracle) findNormal(t *tool, q *Query, names *normalise.Renaming) found {
	n := Normal{Rules: t.values, Verifier: o.options.Verifier, Volatile: o.options.Volatile}
	f := found{outcome: NoEntry}
	for _, g := range t.groups[:min(len(t.groups), maxCompared)] {
		if o.groups[g].args.IsAbsent() {
			continue
		}
		a := n.Agree(Compared{Tool: q.ToolName, Field: argsField, Recorded: o.groups[g].args, Live: q.Args, Lines: true, Place: normalise.Prompt, Known: names})
		if !a.Agrees {
			continue
		}
		if f.maybe = append(f.maybe, g); len(f.maybe) > 1 {
			f.outcome = Ambiguous
			continue
		}
		f.group, f.outcome, f.pairs = g, Hit, a.Pairs
		for _, of := range toleranceLabels {
			if a.Needs&of.needs != 0 {
				f.labels = append(f.labels, of.label)
			}
		}
	}
	return f
}

var toleranceLabels = []struct {
	needs Tolerance
	label Label
}{{NeedsRules, ByRule}, {NeedsTokens, ByToken}, {NeedsSpacing, BySpacing}, {NeedsVolatile, ByRenaming}}

// complete fills in what the query leaves out.
func (q *Query) complete(o *Oracle) {
	if q.ArgsHash == "" && q.Args.IsAbsent() && q.ArgsText != "" {
		q.ArgsHash = HashText(q.ArgsText)
	} else if q.ArgsHash == "" {
		q.ArgsHash = Hash(q.Args)
	}
	if o.options.Rules != nil && o.options.Rules.AnyCaller {
		q.Caller, q.Unnamed = "", false
	}
}

// read makes the values of the arguments of their text.
func (q *Query) read() {
	if !q.Args.IsAbsent() || q.ArgsText == "" {
		return
	}
	args, err := exactjson.Parse(q.ArgsText)
	if err != nil {
		args = exactjson.StringValue(q.ArgsText)
	}
	q.Args = args
}
