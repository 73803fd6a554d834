// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test program is also an agent, which the tests of record and replay run: it asks a model over HTTP, counts apples, and emits spans.
// It knows nothing of tapedeck but the variables that every agent can read.
const (
	agentVariable = "TAPEDECK_TEST_AGENT" // the mode, see runAgent
	stockVariable = "TAPEDECK_TEST_STOCK" // what the tool counts
	afterVariable = "TAPEDECK_TEST_AFTER" // the mode of what the mode tapedeck runs
	modelVariable = "TAPEDECK_TEST_MODEL" // the model that it asks, "m" without
	placeVariable = "TAPEDECK_TEST_PLACE" // the port of a server, the file for the process id of an orphan
)

// leaveSession has a command run in a session of its own, where there are sessions.
var leaveSession = func(*exec.Cmd) {}

func runAgent(mode string) error {
	switch mode {
	case "idle":
		return nil
	case "hang", "setsid-hang":
		signal.Ignore(syscall.SIGTERM)
		return http.ListenAndServe("127.0.0.1:0", nil)
	case "orphan":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), agentVariable+"=hang")
		if err := child.Start(); err != nil {
			return err
		}
		return os.WriteFile(os.Getenv(placeVariable), []byte(strconv.Itoa(child.Process.Pid)), 0o600)
	case "escape":
		tryToGetOut("itself", os.Getenv(placeVariable))
		for _, who := range []string{"child", "setsid"} {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), agentVariable+"=escape-"+who)
			if who == "setsid" {
				leaveSession(child)
			}
			if err := child.Run(); err != nil {
				return err
			}
		}
		mode = "oracle"
	case "escape-child", "escape-setsid":
		tryToGetOut(strings.TrimPrefix(mode, "escape-"), os.Getenv(placeVariable))
		return nil
	case "wander": // asks in other protocols than its own, and at an address of its own choice
		for path, body := range map[string]string{
			"/v1/messages": `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`,
			"/admin/../secret/v1/chat/completions?x=1":           `{"model":"m","messages":[{"role":"user","content":"x"}]}`,
			"/anything/models/m:streamGenerateContent?alt=sse&x": `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`,
		} {
			resp, err := http.Post(os.Getenv("TAPEDECK_MODEL_URL")+path, "application/json", strings.NewReader(body))
			if err != nil {
				return err
			}
			_ = resp.Body.Close()
		}
		mode = "oracle"
	case "fetch":
		if err := fetch(strings.Fields(os.Getenv(placeVariable))); err != nil {
			return err
		}
		mode = "oracle"
	case "leaver":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), agentVariable+"=setsid-hang")
		leaveSession(child)
		if err := child.Start(); err != nil {
			return err
		}
		signal.Ignore(syscall.SIGTERM)
		return http.ListenAndServe("127.0.0.1:0", nil)
	case "tapedeck":
		if err := os.Setenv(agentVariable, cmp.Or(os.Getenv(afterVariable), "leaver")); err != nil {
			return err
		}
		os.Exit(run(context.Background(), strings.Split(os.Getenv("TAPEDECK_TEST_ARGS"), "\n"), os.Stdin, os.Stdout, os.Stderr))
	case "cli": // tapedeck itself, with a command that is an agent of the mode
		if err := os.Setenv(agentVariable, os.Getenv(placeVariable)); err != nil {
			return err
		}
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "flaky": // does as recorded every other time
		f, err := os.OpenFile(os.Getenv(placeVariable), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		times, err := f.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = f.WriteString(".")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if mode = "oracle"; times%2 == 1 {
			return errors.New("no luck this time")
		}
	case "echo":
		return http.ListenAndServe("127.0.0.1:"+os.Getenv(placeVariable), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(os.Stderr, r.Body)
			_ = r.Write(w)
		}))
	case "a2a":
		return http.ListenAndServe("127.0.0.1:"+os.Getenv(placeVariable), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			part := map[string]any{"kind": "text", "text": os.Getenv(stockVariable)}
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"status": map[string]any{"state": "completed", "message": map[string]any{"role": "agent", "parts": []any{part}}}}})
		}))
	case "forge":
		return http.ListenAndServe("127.0.0.1:"+os.Getenv(placeVariable), http.HandlerFunc(runForge))
	case "slow-server": // it listens before it is ready, and says so
		looks := 0
		return http.ListenAndServe("127.0.0.1:"+os.Getenv(placeVariable), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				looks++
			}
			if looks < 3 {
				http.Error(w, "not ready", http.StatusServiceUnavailable)
				return
			}
			if r.Method == http.MethodGet {
				return
			}
			answer, err := (&testAgent{mode: "oracle"}).run("How many?")
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprintln(w, answer)
		}))
	case "server":
		return http.ListenAndServe("127.0.0.1:"+os.Getenv(placeVariable), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			question, err := io.ReadAll(r.Body)
			answer := ""
			if err == nil {
				answer, err = (&testAgent{mode: "oracle"}).run(string(question))
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			fmt.Fprintln(w, answer)
		}))
	}
	question := "How many?"
	if len(os.Args) > 1 {
		question = os.Args[len(os.Args)-1]
		if text, err := os.ReadFile(question); err == nil {
			question = string(text)
		}
	}
	if asked := os.Getenv("TAPEDECK_TEST_QUESTION"); asked != "" {
		question = asked
	}
	if asked, err := io.ReadAll(os.Stdin); err == nil && len(asked) > 0 {
		question = string(asked)
	}
	answer, err := (&testAgent{mode: mode}).run(question)
	if err == nil {
		fmt.Println(answer)
	}
	if mode == "stuck" {
		return runAgent("hang")
	}
	return err
}

// tryToGetOut sends a name to each of the addresses, NETWORK ADDRESS with blanks between. Whether it arrives is for the other end to say.
func tryToGetOut(who, addresses string) {
	of := strings.Fields(addresses)
	for i := 0; i+1 < len(of); i += 2 {
		if of[i] == "dns" {
			_, _ = net.LookupHost(who + ".example.test")
			continue
		}
		conn, err := net.DialTimeout(of[i], of[i+1], time.Second)
		if err != nil {
			continue
		}
		_, _ = conn.Write([]byte(who))
		_ = conn.Close()
	}
}

// fetch gets each address as programs do that know proxies.
func fetch(addresses []string) error {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the certificate is one of httptest
	for _, address := range addresses {
		resp, err := client.Get(address)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		if string(body) != "declared" {
			return fmt.Errorf("%s: %s", resp.Status, body)
		}
	}
	return nil
}

// testAgent is one run.
type testAgent struct {
	mode  string
	trace string
	spans []any
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []chatTool `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatTool struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (a *testAgent) run(question string) (answer string, err error) {
	start := time.Now()
	a.trace = fmt.Sprintf("%016x%016x", os.Getpid(), start.UnixNano())
	messages := []chatMessage{{Role: "user", Content: &question}}
	for range counts() + 4 {
		reply, finish, asked, err := a.ask(messages)
		a.model(messages, reply, finish, asked, err)
		if err != nil {
			return "", a.end(start, err)
		}
		messages = append(messages, reply)
		if len(reply.ToolCalls) == 0 {
			return *reply.Content, a.end(start, nil)
		}
		for _, call := range reply.ToolCalls {
			begun := time.Now()
			result, err := a.tool(call)
			if err != nil {
				return "", a.end(start, err)
			}
			a.span("execute_tool count", 1, begun, nil, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", call.Function.Name, "gen_ai.tool.call.id", call.ID,
				"gen_ai.tool.type", "function", "gen_ai.tool.call.arguments", call.Function.Arguments, "gen_ai.tool.call.result", result)
			messages = append(messages, chatMessage{Role: "tool", Content: &result, ToolCallID: call.ID})
		}
	}
	return "", a.end(start, fmt.Errorf("no answer"))
}

func (a *testAgent) ask(messages []chatMessage) (reply chatMessage, finish string, asked time.Time, err error) {
	asked = time.Now()
	var out struct {
		Choices []struct {
			Message chatMessage
			Finish  string `json:"finish_reason"`
		}
	}
	err = postJSON(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", map[string]any{"model": cmp.Or(os.Getenv(modelVariable), "m"), "messages": messages}, &out)
	if err == nil {
		reply, finish = out.Choices[0].Message, out.Choices[0].Finish
	}
	return reply, finish, asked, err
}

func (a *testAgent) tool(call chatTool) (string, error) {
	if call.Function.Name == "bash" { // in the mode "both" whatever the oracle says
		var of struct{ Command string }
		if err := json.Unmarshal([]byte(call.Function.Arguments), &of); err != nil {
			return "", err
		}
		out, _ := exec.Command("/bin/sh", "-c", of.Command).CombinedOutput()
		if a.mode != "both" {
			return string(out), nil
		}
	}
	if url := os.Getenv("TAPEDECK_ORACLE_URL"); url != "" && (a.mode == "oracle" || a.mode == "both" || a.mode == "split" || a.mode == "quiet-oracle") {
		var answer struct {
			Hit      bool
			Response string
			Reason   string
			Outcome  string
		}
		err := postJSON(url+"/v1/tool-calls", map[string]any{"replay_run_id": os.Getenv("TAPEDECK_REPLAY_RUN_ID"), "tool_name": call.Function.Name, "args_raw": call.Function.Arguments, "tool_call_id": call.ID}, &answer)
		if answer.Outcome != "live" { // else the tool is to run
			if err == nil && !answer.Hit {
				err = fmt.Errorf("miss: %s", answer.Reason)
			}
			return answer.Response, err
		}
	}
	if stock := os.Getenv(stockVariable); strings.HasPrefix(stock, "{") { // by what is counted
		var of struct{ Of string }
		var all map[string]string
		err := errors.Join(json.Unmarshal([]byte(stock), &all), json.Unmarshal([]byte(call.Function.Arguments), &of))
		return all[of.Of], err
	} else if stock != "" {
		return stock, nil
	}
	return "seven apples in the cellar", nil
}

func postJSON(url string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (a *testAgent) model(messages []chatMessage, reply chatMessage, finish string, asked time.Time, err error) {
	out := ""
	if err == nil {
		out = spanMessages([]chatMessage{reply})
		out = strings.Replace(out, `"parts"`, `"finish_reason":"`+finish+`","parts"`, 1)
	}
	a.span("chat m", 3, asked, err, "gen_ai.operation.name", "chat", "gen_ai.provider.name", "openai", "gen_ai.request.model", cmp.Or(os.Getenv(modelVariable), "m"),
		"gen_ai.input.messages", spanMessages(messages), "gen_ai.output.messages", out)
}

// spanMessages are messages as the semantic conventions have them.
func spanMessages(messages []chatMessage) string {
	var list []any
	for _, m := range messages {
		var of []any
		switch {
		case m.Role == "tool":
			of = append(of, map[string]any{"type": "tool_call_response", "id": m.ToolCallID, "response": *m.Content})
		case m.Content != nil && *m.Content != "":
			of = append(of, map[string]any{"type": "text", "content": *m.Content})
		}
		for _, c := range m.ToolCalls {
			of = append(of, map[string]any{"type": "tool_call", "id": c.ID, "name": c.Function.Name, "arguments": json.RawMessage(c.Function.Arguments)})
		}
		list = append(list, map[string]any{"role": m.Role, "parts": of})
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (a *testAgent) span(name string, kind int, start time.Time, failed error, attributes ...string) {
	var list []any
	for i := 0; i < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			list = append(list, map[string]any{"key": attributes[i], "value": map[string]any{"stringValue": attributes[i+1]}})
		}
	}
	s := map[string]any{
		"traceId": a.trace, "spanId": fmt.Sprintf("%016x", len(a.spans)+2), "parentSpanId": "0000000000000001", "name": name, "kind": kind, "attributes": list,
		"startTimeUnixNano": strconv.FormatInt(start.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(time.Now().UnixNano(), 10),
	}
	if a.mode == "split" { // nothing holds the calls together but what they say
		s["traceId"], s["parentSpanId"] = fmt.Sprintf("%s%02x", a.trace[:30], len(a.spans)+1), ""
	}
	if failed != nil {
		s["status"] = map[string]any{"code": 2, "message": failed.Error()}
	}
	a.spans = append(a.spans, s)
}

// end sends the spans, the root last.
func (a *testAgent) end(start time.Time, failed error) error {
	if strings.HasPrefix(a.mode, "split") {
		return errors.Join(failed, a.send())
	}
	a.span("invoke_agent clerk", 1, start, failed, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "clerk")
	root := a.spans[len(a.spans)-1].(map[string]any)
	root["spanId"], root["parentSpanId"] = "0000000000000001", ""
	if a.mode != "silent" && a.mode != "quiet-oracle" {
		if err := a.send(); err != nil {
			return err
		}
	}
	return failed
}

func (a *testAgent) send() error {
	resource := map[string]any{"attributes": []any{map[string]any{"key": "service.name", "value": map[string]any{"stringValue": "clerk"}}}}
	body := map[string]any{"resourceSpans": []any{map[string]any{"resource": resource, "scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "clerk"}, "spans": a.spans}}}}}
	return postJSON(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+"/v1/traces", body, nil)
}

// countsVariable is how often the model has apples counted before it answers, once without it.
const countsVariable = "TAPEDECK_TEST_COUNTS"

func counts() int {
	n, err := strconv.Atoi(os.Getenv(countsVariable))
	if err != nil {
		return 1
	}
	return n
}

// scripted is the model that the agent is recorded with: it has apples counted, and says what was counted.
func scripted(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []chatMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		message, finish := map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": fmt.Sprint("call_", len(body.Messages)), "type": "function", "function": map[string]any{"name": "count", "arguments": `{"of":"apples"}`}}}}, "tool_calls"
		counted := 0
		for _, m := range body.Messages {
			if m.Role == "user" {
				counted = 0
			} else if m.Role == "tool" {
				counted++
			}
		}
		if last := body.Messages[len(body.Messages)-1]; last.Role == "tool" && counted >= counts() {
			message, finish = map[string]any{"role": "assistant", "content": "There are " + *last.Content + "."}, "stop"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}
