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

// wrappable is one of the values of a tool call that a reporter may have put into an envelope.
type wrappable struct {
	of      func(*genai.ToolCall) *genai.Content
	against func(*ledger.Call) exactjson.Value // what the conversation shows of it
	result  bool                               // the values of different tools have nothing in common of their own
}

var wrappables = []wrappable{
	{of: func(o *genai.ToolCall) *genai.Content { return &o.Args }, against: askedArgs},
	{of: func(o *genai.ToolCall) *genai.Content { return &o.Result }, against: shownResult, result: true},
}

// askedArgs are the arguments that the response asked for, absent where they are damaged or none.
func askedArgs(k *ledger.Call) exactjson.Value {
	if k.By == nil || k.By.Part.Label != "" || k.By.Part.Args.Len() == 0 {
		return exactjson.Value{}
	}
	return k.By.Part.Args
}

// shownResult is the result that a later request shows, absent where it is damaged or a failure.
func shownResult(k *ledger.Call) exactjson.Value {
	if k.By == nil || k.By.Shown == nil || k.By.Shown.Label != "" || k.By.Shown.IsError {
		return exactjson.Value{}
	}
	return k.By.Shown.Result
}

// OpenEnvelopes takes envelopes that no dialect knows off the arguments and results of tool calls.
//
// Needs: a conversation that proves them: what stands inside equals what the model asked for, or what it was
// shown. One that is proved for one call of a reporter comes off the others of the same shape too.
// Refuses: a value that no record of the conversation shows. Where it looks like an envelope it is labelled
// lossy, and a finding names the members that lead inside.
// Seen in: decorators and middleware of programs.
func (b *Builder) OpenEnvelopes() {
	for _, w := range wrappables {
		calls := slices.DeleteFunc(slices.Clone(b.Ordered), func(k *ledger.Call) bool {
			return k.Kind != tape.EventToolCall || len(k.Nodes) == 0 || !w.of(k.Obs.ToolCall).Present()
		})
		s := suspicion{wrappable: w, Ledger: b.Calls, toolHabits: w.habits(calls)}
		var proved map[ledger.Reporter][][]string
		proved, s.bare = w.learn(calls)
		s.mark(slices.DeleteFunc(calls, func(k *ledger.Call) bool { return w.open(k, proved[k.Reporter()]) }))
	}
	b.suspectFrames()
}

// learn finds the envelopes that the conversation proves, as paths of members, and the reporters that
// recorded a value as it was shown. A small value may stand in another one by chance: two that differ prove
// its path.
func (w wrappable) learn(calls []*ledger.Call) (proved map[ledger.Reporter][][]string, bare map[ledger.Reporter]bool) {
	type place struct {
		ledger.Reporter
		path string
	}
	proved, bare = map[ledger.Reporter][][]string{}, map[ledger.Reporter]bool{}
	small := map[place][]exactjson.Value{}
	for _, k := range calls {
		recorded, inside, r := w.of(k.Obs.ToolCall), w.against(k), k.Reporter()
		if !chat.Undamaged(recorded.Label) || inside.IsEmpty() {
			continue
		}
		if chat.SameContent(recorded.Value, inside) {
			bare[r] = bare[r] || chat.Telling(inside)
			continue
		}
		path := chat.PathTo(recorded.Value, inside, chat.MaxEnvelopes, chat.Room(inside))
		if path == nil && !chat.Telling(inside) {
			if path = chat.PathTo(recorded.Value, inside, chat.MaxEnvelopes, chat.MaxBesides); path == nil {
				continue
			}
			at := place{r, strings.Join(path, "\x00")}
			small[at] = append(small[at], inside)
			if !slices.ContainsFunc(small[at], func(v exactjson.Value) bool { return !chat.SameValue(v, inside) }) {
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
func (w wrappable) open(k *ledger.Call, proved [][]string) bool {
	for _, path := range proved {
		inner, ok := follow(w.of(k.Obs.ToolCall).Value, path)
		if !ok {
			continue
		}
		if inside := w.against(k); !inside.IsEmpty() {
			if chat.Telling(inside) && !chat.SameContent(inner, inside) {
				continue
			}
			if text, ok := chat.EncodedText(inner); ok && text.Equal(inside) {
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
func (w wrappable) set(k *ledger.Call, change func(*genai.Content)) {
	o := k.Obs.Draft()
	change(w.of(&o.ToolCall))
	k.Obs = o.Seal()
}

// suspect labels a value as lossy that may be an envelope.
func (w wrappable) suspect(k *ledger.Call, path string) {
	w.set(k, func(c *genai.Content) { c.Label, c.Suspected = tape.Lossy, path })
}
