// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// This file tells what a span is by attributes that say it.

// classWords say what a span is. If a value has several of the words, the first line that has one of them
// decides.
var classWords = []classLine{
	{dialect.Noise, []string{"embedding", "embeddings", "rerank", "reranker", "guardrail", "evaluator", "memory", "chunk", "event"}},
	{dialect.Tool, []string{"tool", "tools", "function"}},
	{dialect.Retrieval, []string{"retriever", "retrieval"}},
	{dialect.Agent, []string{"agent", "crew"}},
	{dialect.Model, []string{"llm", "generation", "chat", "completion", "completions", "inference", "model", "generate"}},
	{dialect.Agent, []string{"chain", "workflow", "flow", "graph", "pipeline"}},
}

type classLine struct {
	class dialect.Class
	words []string
}

// besideClass are words that may stand beside those. Any other word makes the value the name of something
// within.
var besideClass = []string{
	"ai", "run", "call", "calls", "calling", "execute", "execution", "exec", "invoke", "invocation", "use", "do", "text", "object", "stream", "step", "mcp", "client", "provider",
	"request", "span", "task", "content", "action",
}

// typeOf finds the attribute that says what a span is: its kind, type or operation.
func typeOf(m pcommon.Map) (value string, known bool) {
	best := -1
	for key, v := range m.All() {
		rank := typeRank(key)
		if rank <= best && (rank < best || strings.Trim(v.Str(), `"`) >= value) || v.Type() != pcommon.ValueTypeStr {
			continue
		}
		word := strings.Trim(v.Str(), `"`) // of who writes every value as JSON (AgentScope 1.0.8)
		if _, ok := classOf(word); ok {
			best, value = rank, word
		}
	}
	return value, best >= 0
}

// ClassOf returns what a span says that it is, in a word of any producer: its kind, type or operation. said
// tells whether an attribute is there to say it, in any word.
func ClassOf(m pcommon.Map) (class dialect.Class, said bool) {
	if value, known := typeOf(m); known {
		class, _ = classOf(value)
		return class, true
	}
	for key := range m.All() {
		said = said || typeRank(key) == 2
	}
	return dialect.Unclassified, said
}

// typeNames are the last words of keys that tell what a span is.
var typeNames = []string{"kind", "type", "operation", "operationid", "operation.name"}

// typeRank returns how surely a key tells what its span is, -1 for other keys.
func typeRank(key string) int {
	if key == "" || !strings.ContainsRune("den", rune(key[len(key)-1]|0x20)) { // no name ends otherwise
		return -1
	}
	if key == "gen_ai.span.kind" { // no key of the conventions, but of several vendors
		return 2
	}
	for _, name := range typeNames {
		before, ok := cutSuffixFold(key, name)
		if !ok {
			continue
		}
		_, ofSpan := cutSuffixFold(strings.TrimRight(before, "._:"), "span")
		_, observation := cutSuffixFold(strings.TrimRight(before, "._:"), "observation")
		_, entity := cutSuffixFold(strings.TrimRight(before, "._:"), "entity")
		switch {
		case isForeign(key):
			return -1
		case ofSpan || observation || name == "kind":
			return 2
		case entity:
			return 0
		}
		return 1
	}
	return -1
}

// cutSuffixFold is strings.CutSuffix under Unicode case-folding.
func cutSuffixFold(s, suffix string) (before string, ok bool) {
	at := len(s) - len(suffix)
	if at < 0 || s[len(s)-1]|0x20 != suffix[len(suffix)-1] || !strings.EqualFold(s[at:], suffix) {
		return "", false
	}
	return s[:at], true
}

func isForeign(key string) bool {
	return key != "" && slices.ContainsFunc(foreignBy[key[0]], func(p string) bool { return strings.HasPrefix(key, p) })
}

// foreignBy holds the foreign beginnings by their first letter.
var foreignBy = func() (by [256][]string) {
	for _, p := range foreign {
		by[p[0]] = append(by[p[0]], p)
	}
	return by
}()

// classOf reads the value of a kind, type or operation.
func classOf(value string) (dialect.Class, bool) {
	if len(value) > 40 || strings.ContainsAny(value, " /{") {
		return dialect.Unclassified, false
	}
	found := words(value)
	if slices.Contains(found, "step") && !slices.Contains(found, "model") && !slices.Contains(found, "llm") {
		return dialect.Unclassified, false
	}
	first := len(classWords)
	for _, w := range found {
		line := slices.IndexFunc(classWords, func(l classLine) bool { return slices.Contains(l.words, w) })
		switch {
		case line >= 0:
			first = min(first, line)
		case !slices.Contains(besideClass, w):
			return dialect.Unclassified, false
		}
	}
	if first == len(classWords) {
		return dialect.Unclassified, false
	}
	return classWords[first].class, true
}

// keyClass returns what a span is by the key of what went in or came out: by the word before it, as in
// acme.llm.request and acmeToolArgs.
func keyClass(stem string) (class dialect.Class, word string) {
	w := words(stem)
	if last := len(w) - 1; last > 0 && slices.Contains(bareContent, w[last]) && (slots[w[last-1]] != 0 || slots[w[last]] == 0) {
		w = w[:last]
	}
	for i := len(w) - 2; i >= 0; i-- {
		for _, l := range classWords {
			if slices.Contains(l.words, w[i]) {
				return l.class, w[i]
			}
		}
		if !slices.Contains(besideClass, w[i]) || i == 0 {
			return dialect.Unclassified, w[i]
		}
	}
	return dialect.Unclassified, ""
}

// keyClasses gathers what keys tell of a span. Other services have tools, agents and models too. So each
// takes something in and gives something out; without a word of a conversation it needs a word that language
// models alone have.
type keyClasses struct {
	class         dialect.Class
	in, out, said bool
	differ        bool
	failed        bool // the span ended with an error: nothing need have come out
	own           bool // the words are ones that agents alone have: builds have agents with an input, too
	// what a user said went in: user.query beside agent.answer. A span has to bear the name of an agent then:
	// agents of a help desk are people
	asked bool
}

func (k *keyClasses) add(key string) {
	if len(key) > 100 || isForeign(key) {
		return
	}
	k.own = k.own || k.failed && ends(key, "system", "prompt")
	stem, isOut, ok := slotOf(key)
	if !ok && callsKey(key) { // what a model asked for came out of it: acme.llm.tool_calls
		stem, isOut, ok = key[:strings.LastIndexAny(strings.TrimRight(key[:len(key)-len("calls")], "._-:"), "._-:")+1]+"output", true, true
	}
	if ok {
		k.addSlot(stem, isOut)
	}
}

// addSlot takes the stem of a key that says what went in or what came out.
func (k *keyClasses) addSlot(stem string, isOut bool) {
	of, word := keyClass(stem)
	slot := slotWord(stem[lastSegment(stem):])
	spoken := slices.Contains(spokenWords, slot)
	k.asked = k.asked || !isOut && word == "user" && spoken
	switch {
	case of == dialect.Tool && word != "function" || of == dialect.Agent && word == "agent" || of == dialect.Model:
	default:
		return
	}
	k.differ = k.differ || k.class != dialect.Unclassified && of != k.class
	k.class = of
	k.in, k.out = k.in || !isOut, k.out || isOut
	k.own = k.own || word == "llm" || word == "agent" && spoken
	k.said = k.said || slices.Contains(sureWords, word) || spoken || of == dialect.Agent && slot == "input"
}

// tell returns the class that all keys of a span agree on.
func (k *keyClasses) tell(name string) dialect.Class {
	k.in = k.in || k.asked && k.class == dialect.Agent && k.said && len(name) <= maxFunctionName && slices.Contains(words(name), "agent")
	if !k.in || !k.out && !(k.failed && k.own) || k.differ || !k.said && k.class != dialect.Tool {
		return dialect.Unclassified
	}
	return k.class
}

// classOfKeys returns the class that the keys of attributes of a span tell.
func classOfKeys(m pcommon.Map, span ptrace.Span) dialect.Class {
	k := keyClasses{failed: ended(span)}
	for key := range m.All() {
		k.add(key)
	}
	return k.tell(span.Name())
}

// ended reports a span that an error ended.
func ended(span ptrace.Span) bool {
	if span.Status().Code() == ptrace.StatusCodeError {
		return true
	}
	for _, e := range span.Events().All() {
		if e.Name() == "exception" {
			return span.Status().Code() == ptrace.StatusCodeUnset
		}
	}
	return false
}

// classOfSpan returns the class that the keys of a span, and the names and keys of its events, tell.
func classOfSpan(span ptrace.Span) dialect.Class {
	k := keyClasses{failed: ended(span)}
	for key := range span.Attributes().All() {
		k.add(key)
	}
	for _, e := range told(span) {
		k.add(e.name)
		for key, v := range e.attributes.All() {
			k.add(key)
			if of, _ := keyClass(e.name + "." + inWords[0]); of != dialect.Unclassified {
				spreadTold(e, key, v, func(key string, _ pcommon.Value) { k.add(key) })
			}
		}
	}
	return k.tell(span.Name())
}

// Words that language models alone have, and words for what is said to them and by them.
var (
	sureWords   = []string{"llm", "chat", "completion", "completions", "generation"}
	spokenWords = []string{"prompt", "prompts", "messages", "question", "query", "completion", "completions", "reply", "answer"}
)
