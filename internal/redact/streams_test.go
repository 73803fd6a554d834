// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

const halfKey, otherHalf = "sk-proj-FAKEfake0000FAKEfake0000", "FAKEfake0000FAKEfake0000zz"

func TestBothHalvesOfAKeyInAStreamGo(t *testing.T) {
	r := testRedactor(t)
	whole := r.String("x", halfKey+otherHalf, nil)
	for _, text := range []string{
		`[{"delta":"key ` + halfKey + `"},{"delta":"` + otherHalf + ` ok"}]`,
		`[{"choices":[{"index":0,"delta":{"content":"key ` + halfKey + `"}}]},{"choices":[{"index":0,"delta":{"content":"` + otherHalf + ` ok"}}]}]`,
		`{"chunks":["key ` + halfKey + `","` + otherHalf + ` ok"]}`,
		`["key"," is ` + halfKey + `","` + otherHalf + ` ok"]`,
		`{"delta":{"text":"key ` + halfKey + `"}}` + "\n" + `{"delta":{"text":"` + otherHalf + ` ok"}}`,
		`[{"type":"text","text":"key ` + halfKey + `"},{"type":"text","text":"` + otherHalf + ` ok"}]`,
	} {
		out := r.String("output", text, nil)
		require.Contains(t, out, whole, text)
		require.NotContains(t, out, otherHalf[:12])
		require.Contains(t, out, " ok")
		require.Equal(t, out, r.String("output", out, nil))
	}
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	list := s.Attributes().PutEmptySlice("chunks")
	for _, half := range []string{"key " + halfKey, otherHalf + " ok"} {
		e := s.Events().AppendEmpty()
		e.SetName("gen_ai.delta")
		e.Attributes().PutStr("text", half)
		list.AppendEmpty().SetEmptyMap().PutStr("delta", half)
	}
	r.Traces(td, nil)
	raw, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(raw), whole), "%s", raw)
	require.NotContains(t, string(raw), otherHalf[:12])
	require.Empty(t, r.ScanTraces(td))
}

// Each chunk stands as the JSON that it came as, in events and in a list: the halves go, and every chunk stays JSON.
func TestChunksThatAreJSONStayJSON(t *testing.T) {
	r := testRedactor(t)
	whole := r.String("x", halfKey+otherHalf, nil)
	chunk := func(text string) string {
		return `{"choices":[{"delta":{"content":"` + text + `"}}],"model":"m"}`
	}
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	list := s.Attributes().PutEmptySlice("chunks")
	for _, part := range []string{"key ", halfKey, otherHalf + " ok"} {
		e := s.Events().AppendEmpty()
		e.SetName("gen_ai.choice")
		e.Attributes().PutStr("chunk", chunk(part))
		list.AppendEmpty().SetStr(chunk(part))
	}
	r.Traces(td, nil)
	for _, texts := range [][]string{
		{s.Events().At(0).Attributes().AsRaw()["chunk"].(string), s.Events().At(1).Attributes().AsRaw()["chunk"].(string), s.Events().At(2).Attributes().AsRaw()["chunk"].(string)},
		{list.At(0).Str(), list.At(1).Str(), list.At(2).Str()},
	} {
		for _, text := range texts {
			require.True(t, json.Valid([]byte(text)), text)
		}
		require.Equal(t, []string{chunk("key "), chunk(whole), chunk(" ok")}, texts)
	}
	require.Empty(t, r.ScanTraces(td))
}

func TestNamedValuesAndPhonesInAStreamGo(t *testing.T) {
	r := testRedactor(t)
	for _, pieces := range [][]string{
		{"the pass", "word: hun", "ter2secret", " ok"}, {"call +49 30", " 9018", "20 now"}, {"mail jane.d", "oe@corp", ".com now"}, {"card 4111 11", "11 1111 1111"},
	} {
		text, err := json.Marshal(map[string]any{"deltas": pieces})
		require.NoError(t, err)
		var out struct{ Deltas []string }
		require.NoError(t, json.Unmarshal([]byte(r.String("output", string(text), nil)), &out))
		require.Len(t, out.Deltas, len(pieces))
		require.Contains(t, strings.Join(out.Deltas, ""), token.Prefix)
		require.NotContains(t, strings.Join(out.Deltas, ""), strings.Join(pieces, ""))
	}
}

// What has one name in several objects, or stands in a list, is no text that was cut.
func TestValuesOfDifferentObjectsAreNotJoined(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`[{"user":"ann@host"},{"user":"github.com"}]`,
		`[{"name":"send","arguments":{"to":"bob@corp"}},{"name":"send","arguments":{"to":"example.com"}}]`,
		`["ann@host","github.com"]`,
		`[{"role":"user","content":"ask ann@host"},{"role":"assistant","content":"example.com is down"}]`,
		`{"hosts":["10.0","0.7"],"argv":["grep","-r","password=","x1y2z3a4b5"]}`,
		`{"results":[{"line":"key ann@host","rank":1},{"line":"github.com key","rank":2}]}`,
		`[{"tool_name":"a","response":"ann@host"},{"tool_name":"a","response":"github.com"}]`,
		`[{"tool_call_id":"c1","content":"ann@host"},{"tool_call_id":"c2","content":"github.com"}]`,
		`[{"tool_call_id":"c1","delta":"ann@host"},{"tool_call_id":"c2","delta":"github.com"}]`,
		`[{"type":"reasoning","text":"ann@host"},{"type":"text","text":"github.com"}]`,
		`[{"content":[{"type":"text","text":"ann@host"}]},{"content":[{"type":"text","text":"github.com"}]}]`,
		`[{"response":"{\"results\":[{\"text\":\"ann@host\"}]}"},{"response":"{\"results\":[{\"text\":\"github.com\"}]}"}]`,
	} {
		require.Equal(t, text, r.String("x", text, nil))
	}
	list := `["--token","` + github + `","push"]`
	require.Equal(t, `["--token","<github-token>","push"]`, plain(r.String("argv", list, nil)))
}

// Deltas of several calls come in one list, or by turns: the arguments of each are one text.
func TestDeltasOfSeveralCallsAreToldApart(t *testing.T) {
	r := testRedactor(t)
	delta := func(call string) string { return `{"choices":[{"index":0,"delta":{"tool_calls":[` + call + `]}}]}` }
	calls := func(of ...string) string {
		for i := range of {
			of[i] = delta(of[i])
		}
		return "[" + strings.Join(of, ",") + "]"
	}
	apart := calls(`{"index":0,"id":"c0","function":{"arguments":"to ann@"}}`, `{"index":0,"function":{"arguments":"host"}}`,
		`{"index":1,"id":"c1","function":{"arguments":"github"}}`, `{"index":1,"function":{"arguments":".com"}}`)
	require.Equal(t, apart, r.String("chunks", apart, nil))
	for _, turns := range []string{
		calls(`{"index":0,"id":"c0","function":{"arguments":"to ann@ho"}}`, `{"index":1,"id":"c1","function":{"arguments":"ls"}}`,
			`{"index":0,"function":{"arguments":"st.com"}}`, `{"index":1,"function":{"arguments":" -l"}}`),
		calls(`{"id":"c0","function":{"arguments":"ls"}}`, `{"function":{"arguments":" -l "}}`, `{"id":"c1","function":{"arguments":"ann@ho"}}`, `{"function":{"arguments":"st.com"}}`),
	} {
		out := r.String("chunks", turns, nil)
		require.Contains(t, out, token.Prefix)
		require.NotContains(t, out, "st.com")
		require.Contains(t, out, " -l")
		var v []any
		require.NoError(t, json.Unmarshal([]byte(turns), &v))
		m := pcommon.NewMap()
		require.NoError(t, m.FromRaw(map[string]any{"chunks": v}))
		r.Attributes(m, nil)
		native, err := json.Marshal(m.AsRaw()["chunks"])
		require.NoError(t, err)
		require.JSONEq(t, out, string(native))
	}
}

// An event is a piece of a stream if its name, or that of its text, says so. Documents in events can hold
// deltas.
func TestOnlyEventsThatAreDeltasAreJoined(t *testing.T) {
	r := testRedactor(t)
	for _, of := range []struct {
		name, attribute, first, second string
		joined                         bool
	}{
		{"gen_ai.user.message", "content", "ask ann@host", "github.com", false},
		{"gen_ai.tool.message", "content", `{"text":"ask ann@host"}`, `{"text":"github.com"}`, false},
		{"note", "text", "key " + halfKey, otherHalf + " ok", false},
		{"llm.chunk", "content", "ask ann@host", "github.com", true},
		{"new_token", "text", "ask ann@host", "github.com", true},
		{"message", "delta", "ask ann@host", "github.com", true},
		{"sse", "data", `{"delta":"ask ann@host"}`, `{"delta":"github.com"}`, true},
	} {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		for _, half := range []string{of.first, of.second} {
			e := s.Events().AppendEmpty()
			e.SetName(of.name)
			e.Attributes().PutStr(of.attribute, half)
		}
		var rep Report
		r.Traces(td, &rep)
		second, _ := s.Events().At(1).Attributes().Get(of.attribute)
		require.Equal(t, of.joined, second.Str() != of.second, "%v: %s", of, second.Str())
	}
}

// The entries and events of a rendered file are records; what is called a delta within one of them, or stands
// in a list of deltas, is joined.
func TestRecordsOfAFileAreNotJoined(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`[{"response":"ask ann@host"},{"response":"github.com"}]`,
		`[{"args":{"delta":"x ann@host"}},{"args":{"delta":"github.com"}}]`,
		`{"events":[{"result":{"delta":"x ann@host"}},{"result":{"delta":"github.com"}}]}`,
		`{"delta":"x ann@host"}` + "\n" + `{"delta":"github.com"}` + "\n",
	} {
		require.Empty(t, r.ScanFile(text), text)
		require.True(t, r.ClearJSON(func(yield func([]byte) bool) { yield([]byte(text)) }), text)
	}
	for _, text := range []string{
		`[{"response":[{"delta":"x ann@host"},{"delta":"github.com"}]}]`,
		`[{"response":"[{\"delta\":\"x ann@host\"},{\"delta\":\"github.com\"}]"}]`,
		`{"events":[{"result":[{"delta":"x ann@host"},{"delta":"github.com"}]}]}`,
		`{"messages":{"m1":{"role":"assistant","parts":[{"type":"text","text":"x ann@host"},{"type":"text","text":"github.com"}]}}}`,
		`{"deltas":["x ann@host","github.com"]}`,
		`[{"response":"write to ann@host.com"},{"response":"github.com"}]`,
	} {
		require.NotEmpty(t, r.ScanFile(text), text)
		require.False(t, r.ClearJSON(func(yield func([]byte) bool) { yield([]byte(text)) }), text)
	}
}

// What tells pieces apart takes no more memory, and no more time, than the pieces are worth.
func TestManyThingsThatAreToldApartAreBounded(t *testing.T) {
	r := testRedactor(t)
	var b strings.Builder
	b.WriteString(`[`)
	for i := range 20000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"%d","call_id":"%d","type":"t%d","index":%d,"deltas":["a","b"],"text":"x"}`, i, i, i, i)
	}
	b.WriteString(`]`)
	require.Equal(t, b.String(), r.String("x", b.String(), nil))
}

// What a value becomes does not depend on whether it stands in JSON or in native values.
// Members of an object have no order.
func TestValueIsFoundBeforeItsName(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`{"env":[{"value":"abc def ghi","name":"API_KEY"},{"name":"LANG","value":"C"}]}`,
		`{"env":[{"value":"abc \"def\" ghi","type":"x","name":"API_KEY"}]}`,
	} {
		got := r.String("settings", text, nil)
		require.NotContains(t, got, "abc")
		require.True(t, json.Valid([]byte(got)), got)
	}
	plain := `{"env":[{"value":"abc def ghi","name":"LANG"},{"value":"x y z"}]}`
	require.Equal(t, plain, r.String("settings", plain, nil))
	m := pcommon.NewMap()
	e := m.PutEmptyMap("settings").PutEmptySlice("env").AppendEmpty().SetEmptyMap()
	e.PutStr("value", "abc def ghi")
	e.PutStr("name", "API_KEY")
	r.Attributes(m, nil)
	require.NotContains(t, e.AsRaw()["value"], "abc")
}

func TestNativeValuesAreReadAsJSONIs(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`{"argv":["c","--password","correcthorse1","-v"]}`, `{"env":[{"name":"API_KEY","value":"abc def ghi"},{"name":"LANG","value":"C"}]}`,
		`{"headers":[["Authorization","Bearer abc123def456"],["Accept","*/*"]]}`, `{"chunks":[{"delta":"key ` + halfKey + `"},{"delta":"` + otherHalf + `"}]}`,
		`{"password":"correct horse battery","n":4111111111111111,"x":{"cookie":"a"}}`,
	} {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		m := pcommon.NewMap()
		require.NoError(t, m.FromRaw(map[string]any{"settings": v}))
		r.Attributes(m, nil)
		native, err := json.Marshal(m.AsRaw()["settings"])
		require.NoError(t, err)
		require.JSONEq(t, r.String("settings", text, nil), string(native))
	}
}
