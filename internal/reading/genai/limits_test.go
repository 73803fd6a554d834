// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// spanWith is a span of a program with attributes: keys and texts by turns.
func spanWith(program string, pairs ...string) *dialect.Source {
	s := &dialect.Source{Resource: pcommon.NewMap(), ScopeName: "acme", Span: ptrace.NewSpan()}
	s.Resource.PutStr("service.name", program)
	for i := 0; i < len(pairs); i += 2 {
		s.Span.Attributes().PutStr(pairs[i], pairs[i+1])
	}
	return s
}

// marked are the keys of the values that are taken to be cut.
func marked(sources ...*dialect.Source) string {
	var l Limits
	for _, s := range sources {
		l.Add(s)
	}
	var keys []string
	for _, s := range sources {
		l.Mark(s)
		for key, v := range s.Span.Attributes().All() {
			if decode.IsMarked(v.Str()) {
				keys = append(keys, key)
			}
		}
	}
	return strings.Join(keys, " ")
}

// words is a text of so many bytes that ends in a word, each with another beginning.
func words(begin string, n int) string {
	return (begin + strings.Repeat(" and so it went on with one word behind the other", n/20))[:n-1] + "w"
}

func TestTextsOfTheGreatestLengthWereCut(t *testing.T) {
	inside := `{"messages":[{"role":"user","content":"` + words("How many", 89)
	for name, c := range map[string]struct {
		sources []*dialect.Source
		want    string
	}{
		"two texts, at a length that somebody chose":                  {[]*dialect.Source{spanWith("a", "x", words("one", 128), "y", words("two", 128), "z", "short")}, "x y"},
		"JSON that ends in the middle, at such a length":              {[]*dialect.Source{spanWith("a", "x", inside, "y", "short")}, "x"},
		"two that end in the middle, at any length":                   {[]*dialect.Source{spanWith("a", "x", inside[:101], "y", `[{"role":"user","content":"`+words("Hi", 74))}, "x y"},
		"characters, not bytes":                                       {[]*dialect.Source{spanWith("a", "x", words("één twéé", 132), "y", words("two", 128))}, "x y"},
		"whole JSON of that length was not cut":                       {[]*dialect.Source{spanWith("a", "x", words("one", 128), "y", words("two", 128), "z", `{"a":"`+strings.Repeat("b", 120)+`"}`)}, "x y"},
		"of one program":                                              {[]*dialect.Source{spanWith("a", "x", words("one", 128), "y", words("two", 128)), spanWith("b", "z", words("three", 300))}, "x y"},
		"of one key, beside longer ones":                              {[]*dialect.Source{spanWith("a", "out", words("one", 200), "z", words("all", 900)), spanWith("a", "out", words("two", 200))}, "out out"},
		"pages of a tool, which stand in a conversation":              {[]*dialect.Source{spanWith("a", "out", words("one", 200)), spanWith("a", "out", words("two", 200), "in", `[{"role":"tool","content":"`+words("one", 200)+`"},{"role":"user","content":"Go on."}]`)}, ""},
		"a conversation in which they go on":                          {[]*dialect.Source{spanWith("a", "out", words("one", 200)), spanWith("a", "out", words("two", 200), "in", `[{"role":"tool","content":"`+words("one", 200)+` after word"}]`)}, "out out"},
		"of one key, and one text of another of its scope":            {[]*dialect.Source{spanWith("a", "out", words("one", 200), "z", words("all", 900)), spanWith("a", "out", words("two", 200), "result", words("three", 200))}, "out out result"},
		"one text of another key that ends there as a whole one does": {[]*dialect.Source{spanWith("a", "out", words("one", 200), "z", words("all", 900)), spanWith("a", "out", words("two", 200), "result", words("three", 199)+".")}, "out out"},
		"one text of another key that has longer ones":                {[]*dialect.Source{spanWith("a", "out", words("one", 200), "z", words("all", 900), "result", words("all", 300)+"."), spanWith("a", "out", words("two", 200), "result", words("three", 200))}, "out out"},
		"one text of another key that stands whole in a conversation": {[]*dialect.Source{spanWith("a", "out", words("one", 200), "in", `[{"role":"tool","content":"`+words("three", 200)+`"}]`), spanWith("a", "out", words("two", 200), "result", words("three", 200))}, "out out"},
		"one text is always the longest":                              {[]*dialect.Source{spanWith("a", "x", words("one", 128), "y", "short")}, ""},
		"the same text twice is one":                                  {[]*dialect.Source{spanWith("a", "x", words("one", 128)), spanWith("a", "x", words("one", 128))}, ""},
		"two texts at a length that nobody chose":                     {[]*dialect.Source{spanWith("a", "x", words("one", 131), "y", words("two", 131))}, ""},
		"two sentences that end":                                      {[]*dialect.Source{spanWith("a", "x", words("one", 127)+".", "y", words("two", 127)+".")}, ""},
		"digests, which have one length":                              {[]*dialect.Source{spanWith("a", "x", strings.Repeat("0a1b2c3d", 8), "y", strings.Repeat("1a1b2c3d", 8))}, ""},
		"two objects of one length":                                   {[]*dialect.Source{spanWith("a", "x", `{"a":"`+strings.Repeat("b", 120)+`"}`, "y", `{"a":"`+strings.Repeat("c", 120)+`"}`)}, ""},
		"JSON of a tool that cuts it, beside longer ones":             {[]*dialect.Source{spanWith("a", "x", inside, "y", words("all", 400)+".")}, ""},
		"JSON that ends in the middle anywhere":                       {[]*dialect.Source{spanWith("a", "x", inside[:97], "y", "short")}, ""},
	} {
		if got := marked(c.sources...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCutConversationIsReadAsFarAsItGoes(t *testing.T) {
	const system, user = `{"role":"system","content":"You count things."}`, `{"role":"user","content":"How many?"}`
	request := `[` + system + `,` + user + `,{"role":"assistant","content":"` + words("There are", 200-len(system)-len(user)-35)
	answer := `{"choices":[{"index":0,"message":{"role":"assistant","content":"` + words("There are many,", 136)
	s := spanWith("a", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", request, "gen_ai.output.messages", answer)
	var l Limits
	l.Add(s)
	l.Mark(s)
	o := Read(s)
	if o.RequestLabel != tape.Truncated || len(o.Request) < 2 || o.Request[1].Parts[0].Text != "How many?" || o.Request[1].Parts[0].Label != "" {
		t.Errorf("request %q: %+v", o.RequestLabel, o.Request)
	}
	if o.ResponseLabel != tape.Truncated && !(len(o.Response) == 1 && o.Response[0].Parts[0].Label == tape.Truncated) {
		t.Errorf("response %q: %+v", o.ResponseLabel, o.Response)
	}
	if o.Cuts != 2 {
		t.Errorf("%d values were cut", o.Cuts)
	}
}

func TestWhatAnotherAttributeHoldsWholeWins(t *testing.T) {
	cut := `{"messages":[[{"role":"system","content":"You count things, and you are polite."},{"role":"user","content":"How many?"},{"role":"assistant","content":"` + words("So", 49)
	s := spanWith("a", "openinference.span.kind", "LLM", "llm.model_name", "m", "input.value", cut, "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "How many?",
		"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", "There are 7.", "output.value", `{"generations":[[{"text":"There are 7.","message":{"role":"assistant","content":"`+words("There", 120))
	if len(cut) != 200 {
		t.Fatal(len(cut))
	}
	var l Limits
	l.Add(s)
	l.Mark(s)
	if o := Read(s); o.ResponseLabel != "" || len(o.Response) != 1 || o.Response[0].Parts[0].Text != "There are 7." || o.Response[0].Parts[0].Label != "" {
		t.Errorf("response %q: %+v", o.ResponseLabel, o.Response)
	}
}
