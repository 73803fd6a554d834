// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// driver is an agent of the test: a loop over chat completions.
type driver struct {
	*testing.T
	url string
}

func (d driver) post(path string, body any, into any) int {
	d.Helper()
	doc, err := json.Marshal(body)
	require.NoError(d, err)
	resp, err := http.Post(d.url+path, "application/json", bytes.NewReader(doc))
	require.NoError(d, err)
	defer func() { require.NoError(d, resp.Body.Close()) }()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(d, err)
	if into != nil {
		require.NoError(d, json.Unmarshal(answer, into), "%s", answer)
	}
	return resp.StatusCode
}

func (d driver) loop(system, question string, tools []tool, sub *task) (string, int) {
	messages := []m{{"role": "system", "content": system}, {"role": "user", "content": question}}
	offered := map[string]bool{}
	for _, t := range tools {
		offered[t.Name] = true
	}
	for range 8 {
		var said struct {
			Choices []struct {
				Message struct {
					Content   string
					ToolCalls []struct {
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if status := d.post("/v1/chat/completions", m{"model": "gpt-4o-mini", "messages": messages}, &said); status != http.StatusOK {
			return "", status
		}
		message := said.Choices[0].Message
		if len(message.ToolCalls) == 0 {
			return message.Content, http.StatusOK
		}
		for _, c := range message.ToolCalls {
			content := "unknown tool"
			switch {
			case sub != nil && c.Function.Name == sub.Name:
				content, _ = d.loop(sub.System, "?", sub.Tools, nil)
			case offered[c.Function.Name]:
				var done json.RawMessage
				require.Equal(d, http.StatusOK, d.post("/tool/"+c.Function.Name, json.RawMessage(c.Function.Arguments), &done))
				content = string(done)
			}
			messages = append(messages, m{"role": "tool", "tool_call_id": c.ID, "content": content})
		}
	}
	return "", http.StatusOK
}

type task struct {
	Name, System, User string
	Tools              []tool
	Sub                *task
}

// compact is a JSON text without blanks: a file is indented.
func compact(t *testing.T, doc string) string {
	t.Helper()
	var out bytes.Buffer
	if doc != "" {
		require.NoError(t, json.Compact(&out, []byte(doc)))
	}
	return out.String()
}

func TestTruthIsWhatHappened(t *testing.T) {
	dir := t.TempDir()
	scripts := append(scenarios(), generated(1, 24)...)
	server := httptest.NewServer(newRecorder(dir, scripts))
	defer server.Close()
	d := driver{t, server.URL}
	for _, script := range scripts {
		var given task
		require.Equal(t, http.StatusOK, d.post("/begin", m{"group": "loop", "scenario": script.name}, &given))
		output, status := d.loop(given.System, given.User, given.Tools, given.Sub)
		end := m{"output": nil, "error": nil}
		if output != "" {
			end["output"] = output
		}
		if status != http.StatusOK {
			end["error"] = "refused"
		}
		span := ptrace.NewTraces()
		span.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetName(script.name)
		doc, err := ptraceotlp.NewExportRequestFromTraces(span).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, d.post("/v1/traces", json.RawMessage(doc), nil))
		require.Equal(t, http.StatusOK, d.post("/end", end, nil))

		var got truth
		read, err := os.ReadFile(filepath.Join(dir, "loop", script.name+".truth.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(read, &got))
		var want, have []string
		for _, turn := range script.main.turns {
			for _, c := range turn.calls {
				if slices.ContainsFunc(script.main.tools, func(t tool) bool { return t.Name == c.name }) {
					want = append(want, c.name+c.args+compact(t, c.result)+c.err)
				}
			}
		}
		for _, c := range got.ToolCalls {
			if slices.ContainsFunc(script.main.tools, func(t tool) bool { return t.Name == c.Name }) {
				failed := ""
				if c.Error != nil {
					failed, c.Result = *c.Error, nil
				}
				have = append(have, c.Name+c.ArgsRaw+compact(t, string(c.Result))+failed)
			}
		}
		assert.Equal(t, want, have, script.name)
		assert.Equal(t, script.user, got.User)
		switch script.name {
		case "handoff":
			require.Len(t, got.ToolCalls, 2)
			assert.JSONEq(t, quoted(script.sub.turns[1].text), string(got.ToolCalls[0].Result))
		case "llm_failure":
			assert.Equal(t, []any{"error", 1, 1}, []any{got.Status, got.Turns, got.Failures})
		case "unknown_tool":
			require.Len(t, got.NotExecuted, 1)
		case "parallel_tools":
			require.NotNil(t, got.ToolCalls[0].SentToModel)
			assert.JSONEq(t, `{"result": `+script.main.turns[0].calls[0].result+`}`, *got.ToolCalls[0].SentToModel)
		}
		spans, err := os.ReadFile(filepath.Join(dir, "loop", script.name+".otlp.json"))
		require.NoError(t, err)
		assert.Contains(t, string(spans), `"`+script.name+`"`)
	}
	assert.Equal(t, http.StatusNotFound, d.post("/begin", m{"group": "loop", "scenario": "none"}, nil))
	assert.Equal(t, http.StatusBadRequest, d.post("/begin", m{"group": "../up", "scenario": "plain_answer"}, nil))
	assert.Equal(t, http.StatusBadRequest, d.post("/end", m{}, nil))
}

// What is drawn is drawn alike from one seed, is what an agent can be given, and reaches what can happen.
func TestGeneratedScenarios(t *testing.T) {
	const count = 300
	scripts := generated(5, count)
	assert.Equal(t, scripts[:20], generated(5, 20))
	assert.NotEqual(t, scripts[:20], generated(6, 20))
	seen := map[string]int{}
	for _, s := range scripts {
		offered := map[string]bool{}
		for _, given := range s.main.tools {
			assert.False(t, offered[given.Name], "%s: %s twice", s.name, given.Name)
			offered[given.Name] = true
			assert.True(t, json.Valid(given.Parameters), "%s", given.Parameters)
		}
		for _, said := range s.main.turns {
			if said.fail != 0 {
				seen["failures"]++
			}
			if len(said.calls) > 1 {
				seen["calls at the same time"]++
			}
			for _, c := range said.calls {
				assert.True(t, json.Valid([]byte(c.args)) && c.args[0] == '{', "%s", c.args)
				assert.True(t, c.result == "" || json.Valid([]byte(c.result)), "%s", c.result)
				switch {
				case c.err != "":
					seen["errors"]++
				case c.result != "":
					seen["results"]++
				case !offered[c.name]:
					seen["calls of what is no tool"]++
				}
			}
		}
		last := s.main.turns[len(s.main.turns)-1]
		assert.True(t, last.fail != 0 || last.text != "", "%s ends without an answer", s.name)
		for what, is := range map[string]bool{"histories": len(s.history) > 0, "agents below": s.sub != nil, "streams": s.stream, "limits": s.maxSteps > 0, "no tool": len(s.main.tools) == 0} {
			if is {
				seen[what]++
			}
		}
	}
	for _, what := range []string{"failures", "calls at the same time", "errors", "results", "calls of what is no tool", "histories", "agents below", "streams", "limits", "no tool"} {
		assert.Greater(t, seen[what], count/100, what)
	}
}

// A stream of tokens holds what the whole answer would.
func TestStreamsHoldTheAnswer(t *testing.T) {
	server := httptest.NewServer(New(t.TempDir()))
	defer server.Close()
	d := driver{t, server.URL}
	for _, path := range []string{
		"/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "/api/chat", "/v2/chat", "/model/a.b:0/converse-stream",
	} {
		require.Equal(t, http.StatusOK, d.post("/begin", m{"group": "stream", "scenario": "stream_final"}, nil))
		resp, err := http.Post(server.URL+path, "application/json", bytes.NewBufferString(`{"model": "x", "stream": true, "messages": []}`))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Contains(t, string(body), "get_weather", path)
		assert.Contains(t, string(body), "One m", path)
	}
}

// TestTheModelAnswersByATool: the last text is the argument of the call, and the call is one that no tool of the agent ran.
func TestTheModelAnswersByATool(t *testing.T) {
	script := []turn{{text: "First.", calls: []call{{name: "probe", args: `{}`}}}, {text: `It is "x".`}, {fail: 400}}
	r := newRun(scenario{main: agent{turns: script}}, "g", "m", &answerTool{"final_answer", "answer"})
	assert.Equal(t, "First.", r.answer(asked{}, nil).text, "what is said beside a call is no answer")
	said := r.answer(asked{}, nil)
	assert.Empty(t, said.text)
	require.Len(t, said.calls, 1)
	assert.JSONEq(t, `{"answer":"It is \"x\"."}`, said.calls[0].args)
	assert.Equal(t, 400, r.answer(asked{}, nil).fail, "a failure stays one")
	assert.Len(t, r.truth(nil, nil).NotExecuted, 2)
	below := &subagent{name: "expert", agent: agent{system: "[expert] You know.", turns: []turn{{text: "It is 4."}, {text: "It is 5."}}}}
	r = newRun(scenario{main: agent{system: "[main] You ask."}, sub: below}, "g", "m", &answerTool{"final_answer", "answer"})
	assert.Equal(t, "It is 4.", r.answer(asked{}, []byte(`[expert] You know.`)).text, "the agent below was not offered the tool")
	assert.Len(t, r.answer(asked{}, []byte(`[expert] You know. "final_answer"`)).calls, 1)
}

// A framework puts the name of a server before those of its tools: the model can call them by no other.
func TestToolsAreCalledAsTheyAreOffered(t *testing.T) {
	for offers, want := range map[string]string{
		`{"tools":[{"name":"mcp__office__probe"},{"name":"mcp__office__probe_all"}]}`: "mcp__office__probe",
		`{"tools":[{"name":"probe"},{"name":"mcp__office__probe"}]}`:                  "",
		`{"tools":[{"name":"one.probe"},{"name":"two.probe"}]}`:                       "",
		`{"tools":[{"name":"look"}]}`:                                                 "",
	} {
		r := &run{scenario: scenario{main: agent{turns: []turn{{calls: []call{{name: "probe", args: `{}`, result: `1`}}}}}}}
		said := r.answer(asked{idPrefix: "call_"}, []byte(offers))
		assert.Equal(t, cmp.Or(want, "probe"), said.calls[0].name, offers)
		r.execute("probe", nil)
		ran := r.truth(nil, nil).ToolCalls[0]
		assert.Equal(t, []string{"probe", want, said.ids[0]}, []string{ran.Name, ran.OfferedName, *ran.CallID})
	}
	for offers, want := range map[string]string{
		`{"tools":[{"name":"probe_all"}]}`:                       "probe_all",
		`{"tools":[{"name":"probeAll"}]}`:                        "",
		`{"tools":[{"name":"probe"},{"name":"all"}]}`:            "",
		`{"tools":[{"name":"probe_all"},{"name":"x.probeAll"}]}`: "",
	} {
		assert.Equal(t, want, offeredName("probeAll", []byte(offers)), offers)
	}
}

// Equal calls that run at the same time arrive in any order: the model is shown which of them returned what.
func TestEqualCallsReturnWhatTheModelIsShown(t *testing.T) {
	all := scenarios()
	at := slices.IndexFunc(all, func(s scenario) bool { return s.name == "parallel_identical" })
	for _, swapped := range []bool{false, true} {
		r := &run{scenario: all[at]}
		given := r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
		first, second := r.execute("reserve", []byte(given.calls[0].args)), r.execute("reserve", []byte(given.calls[1].args))
		a, b := string(first.Result), string(second.Result)
		if swapped {
			a, b = b, a
		}
		r.answer(asked{api: "chat", shown: []shownResult{{given.ids[0], "reserve", a}, {given.ids[1], "reserve", `{"result": ` + quoted(b) + `}`}}}, nil)
		ran := r.truth(nil, nil).ToolCalls
		assert.Equal(t, []string{given.ids[0], a, given.ids[1], b}, []string{*ran[0].CallID, string(ran[0].Result), *ran[1].CallID, string(ran[1].Result)})
	}
}

// Some frameworks run one of several calls of a turn and drop the others: what runs later was asked for later.
func TestCallThatRunsIsOfTheLatestTurnThatAskedForIt(t *testing.T) {
	poll := func(result string) call { return call{name: "poll", args: `{"job":7}`, result: result} }
	r := &run{scenario: scenario{main: agent{turns: []turn{{calls: []call{poll(`"a"`), poll(`"b"`)}}, {calls: []call{poll(`"c"`)}}}}}}
	r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
	first := r.execute("poll", []byte(`{"job":7}`))
	r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
	second := r.execute("poll", []byte(`{"job":7}`))
	assert.Equal(t, []any{0, `"a"`, 1, `"c"`}, []any{*first.Turn, string(first.Result), *second.Turn, string(second.Result)})
}

// TestHandOverIsToldAsTheNextAgentIsShownIt: the first request of the agent that took over holds what the hand-over returned; one that is a tool begins with its own question.
func TestHandOverIsToldAsTheNextAgentIsShownIt(t *testing.T) {
	handed := func(shown ...shownResult) *toolCall {
		below := &subagent{name: "expert", agent: agent{system: "[expert] You know.", turns: []turn{{text: "It is 4."}}}}
		r := newRun(scenario{main: agent{system: "[main] You ask.", turns: []turn{{calls: []call{{name: "expert", args: `{}`}}}}}, sub: below}, "g", "m", nil)
		asks := r.answer(asked{idPrefix: "call_"}, []byte(`[main] You ask.`))
		for i := range shown {
			shown[i].id = asks.ids[0]
		}
		r.answer(asked{idPrefix: "call_", shown: shown}, []byte(`[expert] You know.`))
		return r.truth(nil, nil).ToolCalls[0]
	}
	over := handed(shownResult{text: `{"assistant": "expert"}`})
	require.NotNil(t, over.SentToModel)
	assert.Equal(t, `{"assistant": "expert"}`, *over.SentToModel)
	assert.JSONEq(t, `"It is 4."`, string(over.Result))
	assert.Nil(t, handed().SentToModel)
	below := &subagent{name: "expert", agent: agent{system: "[expert] You know.", turns: []turn{{text: "It is 4."}}}}
	for text, want := range map[string]string{
		`"3. function_call_output: {\\"call_id\\": \\"ID\\", \\"output\\": \\"{\\\\\\"assistant\\\\\\": \\\\\\"expert\\\\\\"}\\"}"`: `{"assistant": "expert"}`,
		`"3. function_call_output: {\\"output\\": \\"{\\\\\\"assistant\\\\\\": \\\\\\"expert\\\\\\"}\\"}"`:                          "",
	} {
		r := newRun(scenario{main: agent{system: "[main] You ask.", turns: []turn{{calls: []call{{name: "expert", args: `{}`}}}}}, sub: below}, "g", "m", nil)
		asks := r.answer(asked{idPrefix: "call_"}, []byte(`[main] You ask.`))
		r.answer(asked{idPrefix: "call_"}, []byte(`[expert] You know. `+strings.ReplaceAll(text, "ID", asks.ids[0])))
		got := r.truth(nil, nil).ToolCalls[0].SentToModel
		if want == "" {
			assert.Nil(t, got, "it does not go on from the call")
			continue
		}
		require.NotNil(t, got)
		assert.Equal(t, want, *got)
	}
}

// An agent that ran as a tool and threw what ended the run answered nothing.
func TestAgentThatThrewHasAnError(t *testing.T) {
	sub := &subagent{name: "expert", agent: agent{system: "You are the expert.", turns: []turn{{text: "done"}}}}
	r := &run{scenario: scenario{sub: sub, main: agent{turns: []turn{{calls: []call{{name: "expert", args: `{}`}}}}}}}
	r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
	r.start(r.asked[0], []byte(`{}`))
	failed, output := "ToolError: down", "done"
	assert.Equal(t, &failed, r.truth(nil, &failed).ToolCalls[0].Error)
	assert.Nil(t, r.truth(&output, nil).ToolCalls[0].Error)
}

// The text that a model is shown may be how Python writes a value, and that of a failure says nothing of it: the other one's result tells which failed.
func TestEqualCallsFailAsTheModelIsShown(t *testing.T) {
	script := turn{calls: []call{{name: "probe", args: `{"deep": true}`, err: "no such shelf"}, {name: "probe", args: `{"deep":true}`, result: `{"ok": true, "note": null, "text": "a \"b\"\n"}`}}}
	for _, swapped := range []bool{false, true} {
		r := newRun(scenario{main: agent{turns: []turn{script}}}, "g", "m", nil)
		given := r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
		r.execute("probe", []byte(`{"deep": true}`))
		r.execute("probe", []byte(`{"deep": true}`))
		shown := []string{"An error occurred.", `{'ok': True, 'note': None, 'text': 'a "b"\n'}`}
		if swapped {
			shown[0], shown[1] = shown[1], shown[0]
		}
		r.answer(asked{api: "chat", shown: []shownResult{{given.ids[0], "", shown[0]}, {given.ids[1], "", shown[1]}}}, nil)
		ran := r.truth(nil, nil).ToolCalls
		assert.Equal(t, []bool{!swapped, swapped}, []bool{ran[0].Error != nil, ran[1].Error != nil})
		assert.Equal(t, []bool{swapped, !swapped}, []bool{ran[0].Result != nil, ran[1].Result != nil})
		for _, call := range ran {
			assert.True(t, call.Error == nil || *call.Error == "no such shelf", "the failure keeps its words")
		}
	}
}

// A framework adds the arguments that a model left out, and calls of one tool may arrive in any order.
func TestCallsAreToldApartByTheArgumentsThatTheyShare(t *testing.T) {
	script := turn{calls: []call{{name: "probe", args: `{"at": 1}`, result: "1"}, {name: "probe", args: `{"at": 2}`, result: "2"}, {name: "probe", args: `{"at": 3, "deep": true}`, result: "3"}}}
	r := newRun(scenario{main: agent{turns: []turn{script}}}, "g", "m", nil)
	given := r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
	for _, received := range []string{`{"at": 2, "deep": null}`, `{"at": 3, "deep": true}`, `{"at": 1, "deep": null}`} {
		r.execute("probe", []byte(received))
	}
	var ids, results []string
	for _, ran := range r.truth(nil, nil).ToolCalls {
		ids, results = append(ids, *ran.CallID), append(results, string(ran.Result))
	}
	assert.Equal(t, []string{given.ids[1], given.ids[2], given.ids[0]}, ids)
	assert.Equal(t, []string{"2", "3", "1"}, results)
}

// Of three equal calls, each may have returned what another one is taken to have returned.
func TestEqualCallsMayHaveArrivedInAnyOrder(t *testing.T) {
	asks := []call{{name: "probe", args: `{}`, result: `"north"`}, {name: "probe", args: `{}`, result: `"south"`}, {name: "probe", args: `{}`, err: "timeout"}}
	r := newRun(scenario{main: agent{turns: []turn{{calls: asks}, {text: "Done."}}}}, "g", "m", nil)
	given := r.answer(asked{api: "chat", idPrefix: "call_"}, nil)
	for _, c := range asks {
		r.execute(c.name, []byte(`{}`))
	}
	r.answer(asked{api: "chat", shown: []shownResult{{given.ids[0], "probe", "timeout"}, {given.ids[1], "probe", "north"}, {given.ids[2], "probe", "south"}}}, nil)
	ran := r.truth(nil, nil).ToolCalls
	require.NotNil(t, ran[0].Error)
	assert.Equal(t, []string{"timeout", `"north"`, `"south"`}, []string{*ran[0].Error, string(ran[1].Result), string(ran[2].Result)})
}

// The Gemini API wants an object: what a framework tells the model is the text in it.
func TestWhatGeminiWasToldIsTheTextInTheObject(t *testing.T) {
	for response, want := range map[string]string{`{"result": "sunny"}`: "sunny", `{"error": "none"}`: "none", `{"result": {"sky": 1}}`: `{"result": {"sky": 1}}`, `{"sky": "sunny"}`: `{"sky": "sunny"}`, `{"result": "a", "unit": "b"}`: `{"result": "a", "unit": "b"}`} {
		assert.Equal(t, want, geminiText([]byte(response)))
	}
}
