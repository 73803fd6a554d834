// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// wrappable is one of the values of a tool call that a reporter may have put into an envelope.
type wrappable struct {
	of      func(*genai.Observation) *genai.Content
	against func(*call) exactjson.Value // what the conversation shows of it
	result  bool                        // the values of different tools have nothing in common of their own
}

var wrappables = []wrappable{
	{of: func(o *genai.Observation) *genai.Content { return &o.Args }, against: askedArgs},
	{of: func(o *genai.Observation) *genai.Content { return &o.Result }, against: shownResult, result: true},
}

// askedArgs are the arguments that the response asked for, absent where they are damaged or none.
func askedArgs(k *call) exactjson.Value {
	if k.by == nil || k.by.part.Label != "" || k.by.part.Args.Len() == 0 {
		return exactjson.Value{}
	}
	return k.by.part.Args
}

// shownResult is the result that a later request shows, absent where it is damaged or a failure.
func shownResult(k *call) exactjson.Value {
	if k.by == nil || k.by.shown == nil || k.by.shown.Label != "" || k.by.shown.IsError {
		return exactjson.Value{}
	}
	return k.by.shown.Result
}

// openEnvelopes takes envelopes that no dialect knows off the arguments and results of tool calls.
//
// Needs: a conversation that proves them: what stands inside equals what the model asked for, or what it was shown. One
// that is proved for one call of a reporter comes off the others of the same shape too.
// Refuses: a value that no record of the conversation shows. Where it looks like an envelope it is labelled lossy, and a
// finding names the members that lead inside.
// Seen in: decorators and middleware of programs.
func (b *builder) openEnvelopes() {
	for _, w := range wrappables {
		calls := slices.DeleteFunc(slices.Clone(b.ordered), func(k *call) bool {
			return k.kind != tape.EventToolCall || len(k.nodes) == 0 || !w.of(k.obs).Present()
		})
		s := suspicion{wrappable: w, collector: b.calls, toolHabits: w.habits(calls)}
		var proved map[reporter][][]string
		proved, s.bare = w.learn(calls)
		s.mark(slices.DeleteFunc(calls, func(k *call) bool { return w.open(k, proved[k.reporter()]) }))
	}
	b.suspectFrames()
}

// learn finds the envelopes that the conversation proves, as paths of members, and the reporters that recorded a value
// as it was shown. A small value may stand in another one by chance: two that differ prove its path.
func (w wrappable) learn(calls []*call) (proved map[reporter][][]string, bare map[reporter]bool) {
	type place struct {
		reporter
		path string
	}
	proved, bare = map[reporter][][]string{}, map[reporter]bool{}
	small := map[place][]exactjson.Value{}
	for _, k := range calls {
		recorded, inside, r := w.of(k.obs), w.against(k), k.reporter()
		if !undamaged(recorded.Label) || inside.IsEmpty() {
			continue
		}
		if sameContent(recorded.Value, inside) {
			bare[r] = bare[r] || telling(inside)
			continue
		}
		path := pathTo(recorded.Value, inside, maxEnvelopes, room(inside))
		if path == nil && !telling(inside) {
			if path = pathTo(recorded.Value, inside, maxEnvelopes, maxBesides); path == nil {
				continue
			}
			at := place{r, strings.Join(path, "\x00")}
			small[at] = append(small[at], inside)
			if !slices.ContainsFunc(small[at], func(v exactjson.Value) bool { return !sameValue(v, inside) }) {
				continue
			}
		}
		if path != nil {
			proved[r] = append(proved[r], path)
		}
	}
	return proved, bare
}

// open takes an envelope of a proved shape off the value of a call.
func (w wrappable) open(k *call, proved [][]string) bool {
	for _, path := range proved {
		inner, ok := follow(w.of(k.obs).Value, path)
		if !ok {
			continue
		}
		if inside := w.against(k); !inside.IsEmpty() {
			if telling(inside) && !sameContent(inner, inside) {
				continue
			}
			if text, ok := encodedText(inner); ok && text.Equal(inside) {
				inner = text // encoded once more
			}
		}
		w.set(k, func(c *genai.Content) {
			c.Value, c.Envelope = inner, append(slices.Clip(c.Envelope), strings.Join(path, "."))
		})
		return true
	}
	return false
}

// set changes the value of a call on a copy of what its span says.
func (w wrappable) set(k *call, change func(*genai.Content)) {
	o := *k.obs
	change(w.of(&o))
	k.obs = &o
}

// suspect labels a value as lossy that may be an envelope.
func (w wrappable) suspect(k *call, path string) {
	w.set(k, func(c *genai.Content) { c.Label, c.Suspected = tape.Lossy, path })
}
