// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/reading/textsum"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// plainText is text of words in which nothing is found.
func plainText(rnd *rand.Rand, n int) string {
	words := strings.Fields("the agent reads a file then plans the next step and runs all tests \"again\" because one of them failed early line\\n42 caf\u00e9")
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[rnd.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

// Of a conversation that has grown, only the new turns are read: in an array that is a value, and in one that lies in objects or at the begin of arrays, as
// requests of providers have it.
func TestOfAGrownConversationOnlyTheNewTurnsAreRead(t *testing.T) {
	for around, begin := range map[string]int{
		`%s`: 0,
		`{"model":"m","stop":["a","b"],"messages":%s,"tools":[{"name":"t"}]}`: 41,
		`{"messages":[%s]}`: 13,
		` [[[%s],"x"]] `:    4,
		`{"input":{"body":{"messages":%s}},"id":"again"}`: 29,
	} {
		t.Run(around, func(t *testing.T) { testGrowing(t, around, begin) })
	}
}

func testGrowing(t *testing.T, around string, begin int) {
	d := masking(t)
	rnd := rand.New(rand.NewPCG(6, 6))
	var turns []any
	for range 60 {
		turns = append(turns, map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": plainText(rnd, 900)}}},
			map[string]any{"role": "tool", "parts": []any{map[string]any{"type": "tool_call_response", "response": plainText(rnd, 900)}}})
		list, err := json.Marshal(turns)
		require.NoError(t, err)
		text := fmt.Sprintf(around, list)
		p := d.Walk(nil)
		p.path = append(p.path, step{name: "gen_ai.input.messages"})
		k := d.Named("gen_ai.input.messages")
		p.cleanKey(cleanLeaf, text, k)
		known := p.elementsOf(text, k).known
		previous, err := json.Marshal(turns[:len(turns)-2])
		require.NoError(t, err)
		if end := begin + len(previous) - 1; end > textsum.Block {
			require.Equal(t, end, known.end)
			require.Equal(t, begin, known.open)
			require.Equal(t, len(turns)-3, known.index)
		} else {
			require.Zero(t, known.end)
		}
		require.Equal(t, text, d.Walk(nil).Value("gen_ai.input.messages", text))
	}
}

// What is known of the begin of an array does not change what is found behind it: secrets, streams that go on from element to element, options before their
// values, other documents behind the array, texts that are no JSON in the end.
func TestKnownBeginsOfArraysChangeNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	secret := "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"
	element := func() any {
		switch rnd.IntN(12) {
		case 0:
			return map[string]any{"delta": secret[:20] + plainText(rnd, 40)}
		case 1:
			return map[string]any{"delta": plainText(rnd, 700) + secret[:rnd.IntN(40)]}
		case 2:
			return "--password"
		case 3:
			return secret[rnd.IntN(20):]
		case 4:
			return plainText(rnd, 200)
		case 5:
			return map[string]any{"content": "key " + secret[:20]}
		case 6:
			return map[string]any{"role": "user", "content": "key " + secret[:20]}
		case 7:
			return 4111111111111111
		case 8:
			return []any{"a", map[string]any{"name": "API_KEY"}, plainText(rnd, 300)}
		default:
			return map[string]any{"role": "tool", "content": plainText(rnd, 1500), "id": rnd.IntN(1 << 30)}
		}
	}
	names := []string{"gen_ai.input.messages", "content", "token", "delta", "args", "openai"}
	// What stands before the array is read again; it may say anything about it.
	arounds := []string{`{"messages":%s}`, `[%s]`, `["--password",%s]`, `{"name":"API_KEY","value":%s}`, `{"api_key":%s}`, `{"deltas":["ghp_FAKEfake0000FAKE",%s]}`,
		`{"role":"user","content":%s}`, `{"content":%s,"role":"user"}`, `{"value":"correct horse","list":%s,"name":"PASSWORD"}`, `{"n":4111111111111111,"x":%s}`,
		`{"a":[{"delta":"ghp_FAKEfake0000FAKEf"}],"b":[[%s]]}`, `[[["sk"],2],%s]`, `{"delta":"ghp_FAKEfake0000FAKEf","in":[%s,{"delta":"ake0000FAKEfake0000"}]}`}
	differed, began := 0, 0
	known, plain := masking(t), masking(t)
	plain.Remember(false)
	for range 24 {
		known.Remember(true) // and forget
		name := names[rnd.IntN(len(names))]
		around := arounds[rnd.IntN(len(arounds))]
		var list []any
		for range 30 {
			for range 1 + rnd.IntN(3) {
				e := element()
				if rnd.IntN(3) > 0 { // most runs hold nothing for some time
					e = map[string]any{"role": "user", "content": plainText(rnd, 1200)}
				}
				list = append(list, e)
			}
			b, err := json.Marshal(list)
			require.NoError(t, err)
			text := string(b)
			switch rnd.IntN(11) {
			case 0:
				text += "\n" + text
			case 1:
				text = text[:len(text)-1] // cut
			case 2:
				text = text[:len(text)-1] + `,]`
			case 3, 8, 9, 10:
				text = fmt.Sprintf(around, text)
			case 4:
				b, _ := json.Marshal([]any{string(b), "x"})
				text = string(b)
			}
			got, want := &Report{located: true}, &Report{located: true}
			out := plain.Walk(want).Value(name, text)
			require.Equal(t, out, known.Walk(got).Value(name, text))
			require.Equal(t, want.places, got.places)
			require.Equal(t, []int64{want.Leaves, want.Bytes, want.Numbers}, []int64{got.Leaves, got.Bytes, got.Numbers})
			if out != text {
				differed++
			}
			p := known.Walk(nil)
			p.path = append(p.path, step{name: name})
			p.cleanKey(cleanLeaf, text, known.Named(name))
			if p.elementsOf(text, known.Named(name)).known.end > 0 {
				began++
			}
		}
	}
	require.Greater(t, differed, 30)
	require.Greater(t, began, 30)
}

// An option at the end of a list says what the element behind it is, also when the list is known up to there.
func TestAKnownBeginOfAnArrayAnnouncesNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	d := masking(t)
	list := []any{}
	for range 8 {
		list = append(list, map[string]any{"role": "user", "content": plainText(rnd, 1000)})
	}
	value := func(list []any) string {
		text, err := json.Marshal(list)
		require.NoError(t, err)
		return d.Walk(nil).Value("args", string(text))
	}
	list = append(list, "--password")
	require.NotContains(t, value(list), token.Mask)
	require.Contains(t, value(append(list, "correct horse")), `"--password","`+token.Mask)
}

// The tokens of a text that were kept when it was found to be JSON give what reading it again gives, in JSON within strings of JSON too. A text with more
// tokens than are kept is read again.
func TestKeptTokensChangeNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	d := masking(t)
	k := d.Named("gen_ai.input.messages")
	var value func(depth int) any
	value = func(depth int) any {
		switch n := rnd.IntN(9); {
		case n < 2 && depth > 0:
			list := []any{}
			for range rnd.IntN(6) {
				list = append(list, value(depth-1))
			}
			return list
		case n < 5 && depth > 0:
			object := map[string]any{}
			for range rnd.IntN(5) {
				object[[]string{"role", "content", "password", "delta", "name", "value", "n", "\"q\""}[rnd.IntN(8)]] = value(depth - 1)
			}
			return object
		case n == 5 && depth > 0:
			text, err := json.Marshal(value(depth - 1))
			require.NoError(t, err)
			return string(text)
		case n == 6:
			return "key ghp_FAKEfake0000FAKEfake0000FAKEfake0000 \u00e9"[:rnd.IntN(44)]
		case n == 7:
			return 4111111111111111
		default:
			return plainText(rnd, rnd.IntN(200))
		}
	}
	found, kept, many := 0, 0, 0
	for i := range 500 {
		text, err := json.Marshal([]any{value(5), value(5)})
		require.NoError(t, err)
		s := string(text)
		if i%4 == 0 && len(s) < 200 {
			s = strings.Repeat(s+" ", maxTokens/3) // each has four tokens and more
		}
		read := func(keep bool) ([]edit, *Report) {
			rep := &Report{located: true}
			p := d.Walk(rep)
			p.budget = searchBudget(s)
			of := &elements{}
			if keep {
				require.True(t, p.valid(jsonscan.New(s, 0)))
				if of.tokens = p.tokens; len(of.tokens) > 0 {
					kept++
				} else {
					many++
				}
			}
			return p.document(s, k, of), rep
		}
		d.Remember(true)
		want, wantReport := read(false)
		d.Remember(true)
		got, gotReport := read(true)
		require.Equal(t, want, got)
		require.Equal(t, wantReport, gotReport)
		found += min(len(want), 1)
	}
	require.Greater(t, found, 100)
	require.Greater(t, kept, 300)
	require.Greater(t, many, 20)
}

// Names of columns, and marks of keys, say something about what stands before or behind them, also when the
// text is known up to there, or a part of it.
func TestAKnownBeginOfAnArrayHidesNoColumnAndNoKey(t *testing.T) {
	cell := strings.Repeat("alpha beta ", 30)
	rows := func(n int) string {
		return strings.Repeat(`["`+cell+`","swordfish"],`, n-1) + `["` + cell + `","swordfish"]`
	}
	long := strings.Repeat(`read \"it\" again `, 800)
	for name, text := range map[string]func(n int) string{
		"rows before columns": func(n int) string { return `{"rows":[` + rows(n) + `],"columns":["user","password"]}` },
		"many columns": func(n int) string {
			return `{"columns":[{"name":"password"}` + strings.Repeat(`,{"name":"user","comment":"`+cell+`"}`, n) + `],"rows":[["swordfish"]]}`
		},
		"a long line": func(n int) string {
			return `["` + strings.Repeat("abcdefgh", 8) + `","` + long + `","-----END PRIVATE KEY-----"` + strings.Repeat(`,"x"`, n) + `]`
		},
	} {
		d := masking(t)
		for n := 40; n < 46; n++ {
			text := text(n)
			require.Equal(t, masking(t).Walk(nil).Value("content", text), d.Walk(nil).Value("content", text), "%s: %d", name, n)
		}
	}
}
