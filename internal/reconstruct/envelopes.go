// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Envelopes that no table knows come off when the conversation proves them: what stands inside equals what the model asked for, or what
// it was shown. One that is proved for one call of a reporter comes off the others of the same shape too.

// maxBesides bounds how many characters may stand beside the content of an envelope; more is content itself.
const maxBesides = 64

// openEnvelopes takes proved envelopes off the arguments and results of tool calls. Their names are the members that lead inside.
func (b *builder) openEnvelopes() {
	type content struct {
		of      func(*genai.Observation) *genai.Content
		against func(*call) exactjson.Value
	}
	for _, c := range []content{
		{func(o *genai.Observation) *genai.Content { return &o.Args }, func(k *call) exactjson.Value {
			if k.by == nil || k.by.part.Label != "" || k.by.part.Args.Len() == 0 {
				return exactjson.Value{}
			}
			return k.by.part.Args
		}},
		{func(o *genai.Observation) *genai.Content { return &o.Result }, func(k *call) exactjson.Value {
			if k.by == nil || k.by.shown == nil || k.by.shown.Label != "" || k.by.shown.IsError {
				return exactjson.Value{}
			}
			return k.by.shown.Result
		}},
	} {
		proved := map[reporter][][]string{}
		for _, k := range b.ordered {
			recorded := c.of(k.obs)
			if k.kind != tape.EventToolCall || len(k.nodes) == 0 || !recorded.Present() || !undamaged(recorded.Label) {
				continue
			}
			inside := c.against(k)
			if telling(inside) && !sameValue(recorded.Value, inside) {
				if path := pathTo(recorded.Value, inside, maxEnvelopes); path != nil {
					proved[k.reporter()] = append(proved[k.reporter()], path)
				}
			}
		}
		for _, k := range b.ordered {
			if k.kind != tape.EventToolCall || len(k.nodes) == 0 || !c.of(k.obs).Present() {
				continue
			}
			opened := false
			for _, path := range proved[k.reporter()] {
				inner, ok := follow(c.of(k.obs).Value, path)
				if !ok {
					continue
				}
				if inside := c.against(k); telling(inside) && !sameValue(inner, inside) {
					continue
				}
				o := *k.obs
				content := c.of(&o)
				content.Value, content.Envelope = inner, append(slices.Clip(content.Envelope), strings.Join(path, "."))
				k.obs, opened = &o, true
				break
			}
			if recorded := c.of(k.obs); !opened && recorded.Label == "" && c.against(k).IsAbsent() && looksWrapped(recorded.Value) {
				o := *k.obs
				c.of(&o).Label = tape.Lossy // nothing shows what was inside, so it is not presented as what was sent
				k.obs = &o
			}
		}
	}
}

// looksWrapped reports an object with nothing but an object with nothing but an object or list: an envelope that nothing proves, in all likelihood.
func looksWrapped(v exactjson.Value) bool {
	for range 2 {
		if v.Kind() == exactjson.String {
			v, _ = decoded(v)
		}
		if v.Kind() != exactjson.Object || v.Len() != 1 {
			return false
		}
		v = v.Members()[0].Value
	}
	return v.Kind() == exactjson.Object || v.Kind() == exactjson.Array
}

// telling reports a value that does not stand inside of another by chance.
func telling(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Object, exactjson.Array:
		return v.Len() > 0
	case exactjson.String:
		return len(v.Str()) >= 8
	default:
		return false
	}
}

// pathTo returns the names of the members that lead from a value to an equal one inside of it, where little else stands. It returns nil
// when there is none.
func pathTo(outer, inner exactjson.Value, depth int) []string {
	if depth == 0 {
		return nil
	}
	if outer.Kind() == exactjson.String {
		v, ok := decoded(outer)
		if !ok || v.Kind() != exactjson.Object {
			return nil
		}
		outer = v
	}
	if outer.Kind() != exactjson.Object {
		return nil
	}
	for _, m := range outer.Members() {
		if besides(outer, m.Name) > maxBesides {
			continue
		}
		if sameValue(m.Value, inner) {
			return []string{m.Name}
		}
		if rest := pathTo(m.Value, inner, depth-1); rest != nil {
			return append([]string{m.Name}, rest...)
		}
	}
	return nil
}

// besides counts the characters of the other members' values.
func besides(v exactjson.Value, name string) (n int) {
	for _, m := range v.Members() {
		if m.Name != name {
			n += len(m.Value.JSON())
		}
	}
	return n
}

// follow steps along the names, into JSON texts too.
func follow(v exactjson.Value, path []string) (exactjson.Value, bool) {
	for _, name := range path {
		if v.Kind() == exactjson.String {
			inner, ok := decoded(v)
			if !ok {
				return v, false
			}
			v = inner
		}
		next := v.Get(name)
		if next.IsAbsent() || besides(v, name) > maxBesides {
			return v, false
		}
		v = next
	}
	return v, true
}
