// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Endpoint is an oracle of another server. It passes the tool calls of a replay on to it, and notes what
// became of each. It is safe for concurrent use.
type Endpoint struct {
	// Source is the run that is replayed. A server of several runs is asked for it where the URL names none.
	Source string
	// Token is the bearer token, "" for none.
	Token string
	// Note is told each call that the oracle was asked for, once. Required.
	Note func(Asked)

	target *url.URL // what calls are posted to
	client *http.Client

	mu     sync.Mutex
	report Elsewhere
}

// Elsewhere is how an oracle of another server answered. Its JSON form is part of the contract.
type Elsewhere struct {
	URL      string                 `json:"url"`           // what calls were posted to, without its query
	Run      string                 `json:"run,omitempty"` // the run that was named to it
	Calls    int                    `json:"calls"`         // the sum of the outcomes, and of broken
	Outcomes map[oracle.Outcome]int `json:"outcomes"`      // of the answers; those that did not occur are absent
	// Broken is how many calls got no answer at all. Problem says why the first did not.
	Broken  int    `json:"broken"`
	Problem string `json:"problem,omitempty"`
	// NotServed are the calls without a recorded answer: missed, refused or sent live.
	NotServed []NotServed `json:"not_served"`
	Cut       bool        `json:"cut,omitempty"` // the list is longer
}

// NotServed is a call without a recorded answer. Reason is what the oracle says where that is not the
// outcome.
type NotServed struct {
	Call     int            `json:"call"` // from 1
	ToolName string         `json:"tool_name"`
	ArgsHash string         `json:"args_hash"`
	Outcome  oracle.Outcome `json:"outcome"`
	Reason   string         `json:"reason,omitempty"`
}

// Broken is the outcome of a call that the oracle did not answer.
const Broken oracle.Outcome = "broken"

const (
	maxRelayed   = 64 << 20 // bytes of a request or an answer
	maxNotServed = 1000     // entries of a list
)

// ofRun is the path of a run of our own servers.
var ofRun = regexp.MustCompile(`/v1/runs/([^/]+)(/tool-calls)?$`)

// NewEndpoint reads the URL of an oracle. Calls are posted to it. Where it is the address of one of our
// servers, with nothing behind it, /v1 or /v1/runs/ID, they are posted to the path of calls below. ?run=ID
// names the run.
func NewEndpoint(address string) (*Endpoint, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("want http://HOST/ or https://HOST/, with ?run=ID where it serves several runs")
	case u.User != nil:
		return nil, errors.New("the URL holds credentials; a token goes into TAPEDECK_ORACLE_TOKEN")
	}
	u.Fragment = ""
	path := strings.TrimRight(u.EscapedPath(), "/")
	run := u.Query().Get("run")
	switch at := ofRun.FindStringSubmatch(path); {
	case at != nil:
		if run, err = url.PathUnescape(at[1]); err != nil {
			return nil, errors.New("the run of the URL cannot be read")
		}
		path = strings.TrimSuffix(path, "/tool-calls") + "/tool-calls"
	case path == "":
		path = "/v1/tool-calls"
	case strings.HasSuffix(path, "/v1"):
		path += "/tool-calls"
	default:
		path = u.EscapedPath()
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("the path of the URL cannot be read")
	}
	u.RawPath = path
	named := *u
	named.RawQuery = ""
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Endpoint{
		target: u, report: Elsewhere{URL: named.String(), Run: run, Outcomes: map[oracle.Outcome]int{}, NotServed: []NotServed{}},
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Report is how the oracle answered so far.
func (e *Endpoint) Report() *Elsewhere {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.report
	r.Outcomes, r.NotServed = maps.Clone(r.Outcomes), slices.Clone(r.NotServed)
	return &r
}

// Close lets go of the connections.
func (e *Endpoint) Close() { e.client.CloseIdleConnections() }

// ServeHTTP implements http.Handler: it answers a tool call.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path := r.URL.Path; r.Method != http.MethodPost || path != "/" && !strings.HasSuffix(path, "/tool-calls") {
		problem(w, http.StatusNotFound, "unknown_path", "tool calls alone are passed on to the oracle")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRelayed))
	if err != nil {
		e.broken("a request of the agent cannot be read")
		problem(w, http.StatusBadRequest, "bad_request", "the request cannot be read")
		return
	}
	request, asked, err := readAsked(string(body))
	if err != nil {
		e.broken("a request of the agent: " + err.Error())
		problem(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	run := request.Get("run").Str()
	if path := ofRun.FindStringSubmatch(r.URL.Path); path != nil {
		run = path[1]
	}
	answer, text, err := e.ask(r.Context(), request, run)
	if err != nil {
		e.broken(err.Error())
		asked.Outcome = Broken
		e.Note(asked)
		problem(w, http.StatusBadGateway, "oracle_broken", err.Error())
		return
	}
	e.answered(asked, answer)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the agent is gone or not; nothing depends on it
}

// readAsked reads a tool call.
func readAsked(body string) (v exactjson.Value, asked Asked, err error) {
	v, err = exactjson.Parse(body)
	if err != nil || v.Kind() != exactjson.Object {
		return v, asked, errors.New("the body is not an object of exact JSON")
	}
	if asked.Tool = v.Get("tool_name").Str(); asked.Tool == "" {
		return v, asked, errors.New("tool_name is missing")
	}
	switch raw, args, stated := v.Get("args_raw"), v.Get("args"), v.Get("args_hash").Str(); {
	case raw.Kind() == exactjson.String && strings.Trim(raw.Str(), " \t\r\n") == "":
		asked.ArgsHash = oracle.HashText("{}")
	case raw.Kind() == exactjson.String:
		asked.ArgsHash = oracle.HashText(raw.Str())
	case !args.IsAbsent():
		asked.ArgsHash = oracle.Hash(args)
	case stated != "":
		asked.ArgsHash, _ = oracle.ReadHash(stated, "")
	default:
		return v, asked, errors.New("none of args, args_raw and args_hash is there")
	}
	return v, asked, nil
}

// ask sends a tool call. A server that has several runs, none of which was named, is asked for that of the
// source.
func (e *Endpoint) ask(ctx context.Context, body exactjson.Value, run string) (answer exactjson.Value, text []byte, err error) {
	e.mu.Lock()
	if run == "" {
		run = e.report.Run
	}
	e.mu.Unlock()
	status, text, err := e.post(ctx, withRun(body, run))
	if err == nil && run == "" && e.Source != "" && status == http.StatusConflict && codeOf(text) == "several_runs" {
		e.mu.Lock()
		e.report.Run = e.Source
		e.mu.Unlock()
		status, text, err = e.post(ctx, withRun(body, e.Source))
	}
	if err != nil {
		return answer, nil, err
	}
	if status != http.StatusOK {
		said := fmt.Sprintf("the oracle answered with status %d", status)
		if code := codeOf(text); code != "" {
			said += " (" + code + ")"
		}
		return answer, nil, errors.New(said)
	}
	answer, err = exactjson.Parse(string(text))
	if hit := answer.Get("hit"); err != nil || hit.Kind() != exactjson.Bool || hit.True() && answer.Get("response").Kind() != exactjson.String {
		return answer, nil, errors.New("the oracle answered with what is no answer of an oracle")
	}
	return answer, text, nil
}

func (e *Endpoint) post(ctx context.Context, body string) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target.String(), strings.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the oracle cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Token != "" {
		req.Header.Set("Authorization", "Bearer "+e.Token)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, errors.New("the oracle had not answered when the agent hung up")
		}
		var at *url.Error
		if errors.As(err, &at) { // the URL is told apart, its query may hold anything
			err = at.Err
		}
		return 0, nil, fmt.Errorf("the oracle cannot be reached: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxRelayed+1))
	switch {
	case err != nil:
		return 0, nil, errors.New("the answer of the oracle broke off")
	case len(text) > maxRelayed:
		return 0, nil, fmt.Errorf("the answer of the oracle is longer than %d bytes", maxRelayed)
	}
	return resp.StatusCode, text, nil
}

// withRun names the run in a request that names none. Numbers keep their literals: arguments count digit by
// digit.
func withRun(body exactjson.Value, run string) string {
	if run == "" || body.Get("run").Str() != "" {
		return body.JSON()
	}
	members := slices.DeleteFunc(slices.Clone(body.Members()), func(m exactjson.Member) bool { return m.Name == "run" })
	return exactjson.ObjectValue(append(members, exactjson.Member{Name: "run", Value: exactjson.StringValue(run)})...).JSON()
}

var codeForm = regexp.MustCompile(`^[a-z_]{1,40}$`)

// codeOf is the code of a problem; "" where there is none. What else a problem says may hold recorded
// content.
func codeOf(text []byte) string {
	var p struct{ Code string }
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Unmarshal(text, &p) != nil || !codeForm.MatchString(p.Code) {
		return ""
	}
	return p.Code
}

func problem(w http.ResponseWriter, status int, code, detail string) {
	body, err := json.Marshal(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	if err != nil {
		panic(err) // texts and a number
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (e *Endpoint) broken(why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report.Calls++
	if e.report.Broken++; e.report.Problem == "" {
		e.report.Problem = why
	}
}

func (e *Endpoint) answered(asked Asked, answer exactjson.Value) {
	if answer.Get("repeated").True() {
		return // the same call again
	}
	outcome, reason := outcomeOf(answer)
	asked.Outcome = outcome
	e.mu.Lock()
	e.report.Calls++
	e.report.Outcomes[outcome]++
	switch {
	case outcome.Served():
	case len(e.report.NotServed) == maxNotServed:
		e.report.Cut = true
	default:
		e.report.NotServed = append(e.report.NotServed, NotServed{e.report.Calls, asked.Tool, asked.ArgsHash, outcome, reason})
	}
	e.mu.Unlock()
	e.Note(asked)
}

// outcomeOf reads how a call ended. The members of Forge alone tell it too: hit, is_error and reason.
func outcomeOf(answer exactjson.Value) (outcome oracle.Outcome, reason string) {
	if answer.Get("hit").True() {
		if answer.Get("is_error").True() {
			return oracle.RecordedError, ""
		}
		return oracle.Hit, ""
	}
	reason = answer.Get("reason").Str()
	for _, said := range []string{answer.Get("outcome").Str(), reason} {
		if o := oracle.Outcome(said); slices.Contains(oracle.Outcomes, o) && !o.Served() {
			outcome = o
			break
		}
	}
	switch {
	case outcome != "":
	case reason == "truncated" || reason == "missing":
		outcome = oracle.Unservable
	default:
		outcome = oracle.NoEntry
	}
	if reason == string(outcome) || !codeForm.MatchString(reason) {
		reason = ""
	}
	return outcome, reason
}

// tally says how many calls of an oracle ended how, beside those that were served.
func tally(outcomes map[oracle.Outcome]int) (asked, lost int, text string) {
	for _, o := range oracle.Outcomes {
		n := outcomes[o]
		if o != oracle.Live && o != oracle.Refused {
			asked += n
		}
		if o.Missed() {
			lost += n
		}
		if n > 0 && !o.Served() {
			text += "; " + strconv.Itoa(n) + " " + string(o)
		}
	}
	return asked, lost, text
}
