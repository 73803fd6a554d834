// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"cmp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file finds what went into a span and came out of it: in its attributes, its events and its log
// records.

// Words that say what an attribute holds, at the end of a segment of its key. Those of the last two lists
// count in the last segment alone.
var (
	inWords      = []string{"input", "inputs", "prompt", "prompts", "request", "args", "arguments", "parameters", "params", "messages", "question", "task", "tasks", "payload", "kwargs"}
	outWords     = []string{"output", "outputs", "response", "completion", "completions", "result", "results", "answer", "reply", "generated", "returned"}
	lastInWords  = []string{"query", "in"}
	lastOutWords = []string{"observation", "return", "out"}
)

// slot is what a word says of the content of its attribute.
type slot int

const (
	inSlot slot = iota + 1
	outSlot
	lastInSlot
	lastOutSlot
)

var slots = func() map[string]slot {
	all := map[string]slot{}
	for kind, list := range map[slot][]string{inSlot: inWords, outSlot: outWords, lastInSlot: lastInWords, lastOutSlot: lastOutWords} {
		for _, word := range list {
			all[word] = kind
		}
	}
	return all
}()

// foreign are the beginnings of conventions that speak of something else than of agents.
var foreign = []string{
	"http.", "url.", "net.", "network.", "server.", "client.", "db.", "rpc.", "messaging.", "graphql.", "faas.", "cloud.", "aws.", "k8s.", "code.", "error.",
	"exception.", "log.", "thread.", "user_agent.", "feature_flag.", "gen_ai.", "mcp.", "otel.", "telemetry.",
}

// words splits a name at separators and capital letters: toolCall.args is tool, call, args.
func words(name string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.' || c == ':' || c == '_' || c == '-' || c == '/':
			cut(i)
			start = i + 1
		case c >= 'A' && c <= 'Z' && i > start && (name[i-1] < 'A' || name[i-1] > 'Z'):
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return out
}

// slotOf finds the segment of a key that says that the attribute is what went in or came out. stem is the key
// up to that segment.
func slotOf(key string) (stem string, out, ok bool) {
	switch {
	case key == "gen_ai.prompt" || key == "gen_ai.completion":
		// of the conventions' first version, for whatever went in and came out
		return key, key == "gen_ai.completion", true
	case key == "gen_ai.request.body" || key == "gen_ai.response.body":
		// of no version, for what went over the wire
		return key, key == "gen_ai.response.body", true
	case isForeign(key):
		return "", false, false
	}
	for start := 0; start < len(key); {
		end := start
		for end < len(key) && key[end] != '.' && key[end] != ':' {
			end++
		}
		switch said := slots[slotWord(key[start:end])]; {
		case said == outSlot, said == lastOutSlot && end == len(key):
			return key[:end], true, true
		case said == inSlot, said == lastInSlot && end == len(key):
			return key[:end], false, true
		}
		start = end + 1
	}
	return "", false, false
}

// slotWord returns the word of a segment that may say what went in or came out: the last word, or the word
// before it where the last says only that a value stands there (return_value).
func slotWord(segment string) string {
	word := lastWord(segment)
	if len(word) < len(segment) && slices.Contains(bareContent, word) {
		if before := lastWord(strings.TrimRight(segment[:len(segment)-len(word)], "_-")); slots[before] != 0 || slots[word] == 0 {
			return before
		}
	}
	return word
}

// lastWord is the last of the words of a segment.
func lastWord(segment string) string {
	for i := len(segment) - 1; i >= 0; i-- {
		switch c := segment[i]; {
		case c == '_' || c == '-':
			return strings.ToLower(segment[i+1:])
		case c >= 'A' && c <= 'Z' && (i == 0 || segment[i-1] != '_' && segment[i-1] != '-'):
			return strings.ToLower(segment[i:])
		}
	}
	return strings.ToLower(segment)
}

// ends reports a key that ends with the words.
func ends(key string, last ...string) bool {
	word := last[len(last)-1]
	if key = strings.TrimRight(key, "._-:/"); len(key) < len(word) || !strings.EqualFold(key[len(key)-len(word):], word) {
		// as most keys; it is asked of all spans of all services
		return false
	}
	w := words(key)
	return len(w) >= len(last) && slices.Equal(w[len(w)-len(last):], last)
}

func modelKey(key string) bool {
	return !isForeign(key) && (ends(key, "model") || ends(key, "model", "name") || ends(key, "model", "id"))
}

// content is what went into a span or came out of it under one stem.
type content struct {
	stem     string
	value    exactjson.Value
	gathered bool // from several keys
	gaps     bool // which do not hold all of it
}

// contents gathers the attributes of a span by stem: the value of the stem itself, else an object of what
// stands below it.
func contents(a decode.Attributes) (in, out []content) {
	stems := map[string]bool{}
	for key := range a.All() {
		if stem, isOut, ok := slotOf(key); ok {
			stems[stem] = isOut
		}
	}
	for stem, isOut := range stems {
		v := a.JSON(stem)
		if v.IsAbsent() {
			v = a.JSON(stem+".value", stem+".json", stem+".content")
		}
		below := a.Unflatten(stem + ".")
		gathered := v.IsAbsent()
		if gathered {
			if v = below; v.IsAbsent() {
				v = a.Unflatten(stem + ":")
			}
			if only := v.Members(); len(only) == 1 && v.Kind() == exactjson.Object && slices.Contains(bareContent, only[0].Name) {
				v, gathered = only[0].Value, false
			}
		} else if below.Get("messages").Kind() > exactjson.Null {
			v = below
		}
		if v.IsEmpty() || gathered && onlyNames(v) {
			continue
		}
		c := content{stem: stem, value: literal(typedValue(v)), gathered: gathered, gaps: gathered && a.LeavesOut(stem+".")}
		if lastWord(stem) == "messages" {
			c.value = exactjson.ObjectValue(exactjson.Member{Name: "messages", Value: c.value})
		}
		if isOut {
			out = append(out, c)
		} else {
			in = append(in, c)
		}
	}
	return in, out
}

// onlyNames reports an object of names and of how something was recorded, without what went in or came out:
// acme.task.name, acme.result.truncated.
func onlyNames(v exactjson.Value) bool {
	return v.Kind() == exactjson.Object && !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		return !slices.Contains([]string{"name", "id", "type", "kind", "version", "status", "truncated", "mime_type"}, m.Name)
	})
}

// LabelCut labels arguments and results that an attribute beside them calls cut: acme.tool.result.truncated,
// tool_args_truncated.
func LabelCut(m pcommon.Map, o *dialect.Draft) {
	for key, v := range m.All() {
		before, ok := cutSuffixFold(key, "truncated")
		if !ok || decode.TextOf(v) != "true" {
			continue
		}
		_, out, ok := slotOf(strings.TrimRight(before, "._:-"))
		c := &o.Args
		if out {
			c = &o.Result
		}
		if ok && c.Present() && c.Label == "" {
			c.Label = tape.Truncated
		}
	}
}

// typedValue takes a value out of an object that holds it and the name of its type alone.
func typedValue(v exactjson.Value) exactjson.Value {
	if object, ok := decode.Structure(v); ok && object.Kind() == exactjson.Object && object.Len() == 2 && object.Get("type").Kind() == exactjson.String {
		if inner := object.Get("value"); !inner.IsAbsent() {
			return inner
		}
	}
	return v
}

// literal reads a dict that Python's str() wrote, or a list of them, and messages that Java's toString()
// wrote.
func literal(v exactjson.Value) exactjson.Value {
	text := strings.TrimSpace(v.Str())
	if messages, ok := decode.JavaMessages(text); ok {
		return messages
	}
	if !strings.HasPrefix(text, "{'") && !strings.HasPrefix(text, "[{'") {
		return v
	}
	if inner, lossy, ok := decode.Python(text); ok && !lossy {
		return inner
	}
	return v
}

// best returns the value that scores highest. Of equals, a whole value comes before one that was gathered
// from several keys, then the value with the shortest stem.
func best(list []content, score func(content) int) exactjson.Value {
	if first := bestContent(list, score); first != nil {
		return first.value
	}
	return exactjson.Value{}
}

// bestContent returns the content of best, nil where there is none.
func bestContent(list []content, score func(content) int) *content {
	var first *content
	for i := range list {
		c := &list[i]
		placeholder := c.value.Kind() == exactjson.String && decode.UsableID(c.value.Str()) == ""
		if !placeholder && (first == nil || cmp.Or(cmp.Compare(score(*first), score(*c)), whole(*c, *first), cmp.Compare(len(c.stem), len(first.stem)), strings.Compare(c.stem, first.stem)) < 0) {
			first = c
		}
	}
	return first
}

// whole is negative where the first of two is whole and the second gathered, positive in the opposite case.
func whole(a, b content) int {
	switch {
	case a.gathered == b.gathered:
		return 0
	case b.gathered:
		return -1
	}
	return 1
}

// telling is an event of a span, or a log record of it, with a name of no convention.
type telling struct {
	name       string
	attributes pcommon.Map
}

// told lists the events of a span that may say what went in or came out.
func told(span ptrace.Span) (list []telling) {
	for _, e := range span.Events().All() {
		if e.Name() != "exception" && !isForeign(e.Name()) {
			list = append(list, telling{e.Name(), e.Attributes()})
		}
	}
	return list
}

// slotName returns the key under which the message of an event belongs, "" for events that are no message or
// do not say of what. Hand-written spans tell one message per event, its members as attributes (role,
// content, tool_calls). The content is a text, whatever it looks like.
func slotName(e telling) string {
	role, ok := e.attributes.Get("role")
	if _, known := decode.KnownRole(role.Str()); !ok || !known {
		return ""
	}
	if _, said := e.attributes.Get("content"); !said {
		if _, said = e.attributes.Get("tool_calls"); !said {
			return ""
		}
	}
	if stem, out, ok := slotOf(e.name); ok && out {
		return stem
	} else if ok || ends(e.name, "message") {
		return e.name + ".messages"
	}
	return ""
}

// messagesTold gathers the messages that events tell one by one: all that went in, and the last that came
// out.
func messagesTold(list []telling) map[string]pcommon.Value {
	var out map[string]pcommon.Value
	for _, e := range list {
		name := slotName(e)
		if name == "" {
			continue
		}
		if out == nil {
			out = map[string]pcommon.Value{}
		}
		v, there := out[name]
		if !there {
			v = pcommon.NewValueSlice()
			out[name] = v
		}
		if _, isOut, _ := slotOf(name); isOut {
			v.SetEmptySlice()
		}
		m := v.Slice().AppendEmpty().SetEmptyMap()
		for _, key := range []string{"role", "content", "tool_calls", "tool_call_id", "name"} {
			if value, ok := e.attributes.Get(key); ok && (value.Type() != pcommon.ValueTypeStr || value.Str() != "") {
				value.CopyTo(m.PutEmpty(key))
			}
		}
	}
	return out
}

// bareContent are keys that say only that a value stands there. The name of the event says which.
var bareContent = []string{"content", "value", "body", "data", "text", "payload", "json"}

// withTold adds to the attributes of a span what its events and log records say went in or came out. What the
// span says itself stays.
func withTold(s *dialect.Source) decode.Attributes {
	t := gathering{own: s.Span.Attributes()}
	named := func(key string, v pcommon.Value) { t.add("", key, v) }
	for key, v := range t.own.All() {
		spread(key, v, named)
	}
	list := told(s.Span)
	for key, v := range messagesTold(list) {
		named(key, v)
	}
	for _, e := range list {
		if slotName(e) != "" {
			continue
		}
		for key, v := range e.attributes.All() {
			t.add(e.name, key, v)
			spreadTold(e, key, v, named)
		}
	}
	for _, l := range s.Logs {
		t.addRecord(l)
	}
	if !t.added {
		return decode.Attributes(t.own)
	}
	return decode.Attributes(t.all)
}

// gathering is the attributes of a span with what was added to them.
type gathering struct {
	own, all pcommon.Map
	added    bool
}

// add takes an attribute of an event or a record. A bare key becomes the name of the event, which says what
// stands there.
func (t *gathering) add(name, key string, v pcommon.Value) {
	if slices.Contains(bareContent, key) {
		key = name
	}
	if _, _, ok := slotOf(key); !ok && !systemKey(key) && !modelKey(key) && !toolNameKey(key) && !callsKey(key) {
		return
	}
	if _, there := t.own.Get(key); there {
		return
	}
	if !t.added {
		t.all, t.added = pcommon.NewMap(), true
		t.own.CopyTo(t.all)
	}
	if _, there := t.all.Get(key); !there {
		v.CopyTo(t.all.PutEmpty(key))
	}
}

// addRecord takes what a log record says that is no report of its own. A body may be a message or a value as
// it is. It counts where no attribute does, and the name of the record says what it is; else it is a text for
// people.
func (t *gathering) addRecord(l ptrace.Span) {
	a := decode.Attributes(l.Attributes())
	if kindOf(l.Name(), a) != noRecord || isForeign(l.Name()) || bodyRole(a).Class != dialect.Unclassified {
		return
	}
	said := false
	for key, v := range slotsOf(a) {
		t.add(l.Name(), key, v)
		said = true
	}
	own := fields(a)
	if own.Text("event") == "" {
		own = a
	}
	for key, v := range own.All() {
		if slices.Contains(bareContent, key) || callsKey(key) {
			t.add(l.Name(), key, v)
			said = true
		}
	}
	if body, ok := l.Attributes().Get(dialect.LogBody); ok && !said {
		t.add(l.Name(), bareContent[0], body)
	}
}

// spread yields the members of an object in which a span holds all that it says. Members say what went in or
// came out, the key of the object does not.
func spread(key string, v pcommon.Value, yield func(key string, v pcommon.Value)) {
	if isForeign(key) || !slices.Contains(bareContent, lastWord(key[lastSegment(key):])) || v.Type() != pcommon.ValueTypeStr || !strings.HasPrefix(v.Str(), "{") {
		return
	}
	if _, _, ok := slotOf(key); ok {
		return
	}
	object := literal(exactjson.StringValue(v.Str()))
	if object.Kind() == exactjson.String {
		object, _ = exactjson.Parse(v.Str())
	}
	if object.Kind() != exactjson.Object || !slices.ContainsFunc(object.Members(), func(m exactjson.Member) bool { _, _, ok := slotOf(m.Name); return ok }) {
		return
	}
	for _, m := range object.Members() {
		value := pcommon.NewValueEmpty()
		if m.Value.Kind() == exactjson.String {
			value.SetStr(m.Value.Str())
		} else {
			value.SetStr(m.Value.JSON())
		}
		yield(key+"."+m.Name, value)
	}
}

// spreadTold yields the members of an object in which an event tells all that it does, under the name of the
// event. The data of acme.tool.content, {"params": …}, become acme.tool.params.
func spreadTold(e telling, key string, v pcommon.Value, yield func(key string, v pcommon.Value)) {
	of := e.name
	if at := lastSegment(of); at > 0 && slices.Contains(bareContent, of[at:]) {
		of = of[:at-1]
	}
	spread(key, v, func(within string, v pcommon.Value) { yield(of+within[len(key):], v) })
}

// spreads reports an object in which a span holds what went in or came out, see spread.
func spreads(key string, v pcommon.Value) (any bool) {
	spread(key, v, func(string, pcommon.Value) { any = true })
	return any
}
