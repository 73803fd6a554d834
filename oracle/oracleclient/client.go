// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package oracleclient asks an oracle for the recorded answers of tool calls: in place of the tools of an agent, during a replay. It
// imports the standard library alone. The protocol is docs/oracle.md.
package oracleclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

// Client asks for the answers of one replay. It is safe for concurrent use.
type Client struct {
	// URL is the address of the oracle, such as http://127.0.0.1:8321, with ?run=ID where it serves several runs, and ReplayRunID the
	// replay. Both are required.
	URL         string
	ReplayRunID string
	// Run names the recorded run where the oracle serves several.
	Run string
	// Token is the bearer token, where the oracle asks for one.
	Token string
	// HTTP sends the requests; nil is http.DefaultClient.
	HTTP *http.Client

	calls atomic.Int64
}

// FromEnv returns a client of the replay in which this process runs, nil where it runs in none. tapedeck replay sets the variables
// TAPEDECK_ORACLE_URL and TAPEDECK_REPLAY_RUN_ID; TAPEDECK_ORACLE_TOKEN is the token.
func FromEnv() *Client {
	url := os.Getenv("TAPEDECK_ORACLE_URL")
	if url == "" {
		return nil
	}
	return &Client{URL: url, ReplayRunID: os.Getenv("TAPEDECK_REPLAY_RUN_ID"), Token: os.Getenv("TAPEDECK_ORACLE_TOKEN")}
}

// Call is a tool call that wants its recorded answer.
type Call struct {
	Tool string
	// Args are the arguments as the model wrote them.
	Args json.RawMessage
	// ID is the id that the model gave the call. A call with the same id, tool and arguments gets the same answer again.
	ID string
	// Caller is the path of agent names, "" when it is not known.
	Caller string
}

// Answer is what was recorded.
type Answer struct {
	Response string   `json:"response"`
	IsError  bool     `json:"is_error"` // the recorded call had failed, and Response is what the model was shown of it
	Match    string   `json:"match"`
	Labels   []string `json:"labels"`
	Outcome  string   `json:"outcome"`
	// ErrorType and ErrorMessage are those of the exception of a failed call, as far as they were recorded.
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
}

// Miss is returned, wrapped, for a call without a recorded answer. It ends the replay or is given to the agent; a tool must not be run
// instead, but where Outcome is "live".
type Miss struct {
	Tool    string
	Outcome string
	Reason  string
}

// Error implements error.
func (m *Miss) Error() string { return fmt.Sprintf("no recorded answer for %s: %s", m.Tool, m.Reason) }

// Live reports whether the call is declared safe to run: the caller runs the tool itself.
func (m *Miss) Live() bool { return m.Outcome == "live" }

// ErrBroken is returned, wrapped, when the oracle could not do its work. The replay has to end: it is no miss.
var ErrBroken = errors.New("the oracle is broken")

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 256 << 20

// Call asks for the answer of a call. The error is a *Miss where none is recorded, and wraps ErrBroken where the oracle failed.
func (c *Client) Call(ctx context.Context, call Call) (Answer, error) {
	body := map[string]any{"replay_run_id": c.ReplayRunID, "tool_name": call.Tool, "args_raw": string(call.Args)}
	for name, value := range map[string]string{"run": c.Run, "caller": call.Caller, "tool_call_id": call.ID} {
		if value != "" {
			body[name] = value
		}
	}
	if call.ID == "" {
		body["call_index"] = c.calls.Add(1) // a request that is sent again is the same call
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), bytes.NewReader(encoded))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	var answer struct {
		Hit    bool   `json:"hit"`
		Reason string `json:"reason"`
		Detail string `json:"detail"` // of a problem
		Answer
	}
	if err := json.Unmarshal(text, &answer); err != nil || resp.StatusCode != http.StatusOK {
		return Answer{}, fmt.Errorf("%w: %s %s", ErrBroken, resp.Status, answer.Detail)
	}
	if !answer.Hit {
		return Answer{}, &Miss{Tool: call.Tool, Outcome: answer.Outcome, Reason: answer.Reason}
	}
	return answer.Answer, nil
}

// endpoint is where calls are posted to. A query of the URL, such as ?run=ID, stays behind the path.
func (c *Client) endpoint() string {
	at, query, named := strings.Cut(c.URL, "?")
	at = strings.TrimRight(at, "/") + "/v1/tool-calls"
	if named {
		at += "?" + query
	}
	return at
}

// Execute runs tools as the executors of agents do: a text, or the error of the tool, of which the loop of the agent makes what the model is shown.
// So it stands in the place of one, as in Forge:
//
//	type replayed struct {
//		ToolExecutor // lists the definitions
//		oracle *oracleclient.Client
//	}
//
//	func (r replayed) Execute(ctx context.Context, name string, args json.RawMessage) (string, error) {
//		return r.oracle.Execute(ctx, name, args)
//	}
func (c *Client) Execute(ctx context.Context, tool string, args json.RawMessage) (string, error) {
	answer, err := c.Call(ctx, Call{Tool: tool, Args: args})
	if err != nil {
		return "", err
	}
	if answer.IsError {
		return "", errors.New(cmp.Or(answer.ErrorMessage, answer.Response))
	}
	return answer.Response, nil
}
