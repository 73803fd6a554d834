// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcpserver is an MCP server made of a tape: it lists the recorded tool definitions, and an oracle answers the calls. Misses are
// tool errors that name their reason.
package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Keys of _meta in what the server answers.
const (
	metaOutcome = "tapedeck/outcome"
	metaLabels  = "tapedeck/labels"
	metaMadeUp  = "tapedeck/made_up" // fields of a definition that the tape does not hold
)

// tool is a tool of the tape as a server of MCP has it.
type tool struct {
	offered string // the name under which the model knows it, and the oracle
	own     string // its name on the server
	server  string // "" where no call says it
	definition
}

type definition struct {
	description string
	schema      exactjson.Value
	madeUp      []string
}

// Tape holds the tools of one tape and the oracle of its calls. It does not change and is safe for concurrent use.
type Tape struct {
	oracle *oracle.Oracle
	tools  []tool
}

// New returns the tools of a tape, and of others that the same command made, with the oracle that answers
// their calls.
func New(t *tape.Tape, o *oracle.Oracle, others ...*tape.Tape) *Tape {
	tapes := append([]*tape.Tape{t}, others...)
	defined := map[string]definition{}
	for _, t := range tapes {
		for _, id := range slices.Sorted(maps.Keys(t.Tools)) {
			d := definition{description: t.Tools[id].Description, schema: t.Tools[id].Parameters}
			if d.schema.Get("type").Str() != "object" {
				d.madeUp = []string{"inputSchema"}
				d.schema = exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("object")})
			}
			if _, known := defined[t.Tools[id].Name]; !known {
				defined[t.Tools[id].Name] = d
			}
		}
	}
	served := &Tape{oracle: o}
	known := map[[2]string]bool{} // offered name and server
	add := func(offered, own, server string) {
		key := [2]string{offered, server}
		if offered == "" || known[key] {
			return
		}
		known[key] = true
		d, ok := defined[offered]
		if !ok {
			d = definition{madeUp: []string{"description", "inputSchema"}, schema: exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("object")})}
		}
		if own == "" {
			own = offered
		}
		served.tools = append(served.tools, tool{offered, own, server, d})
	}
	called := map[string]bool{}
	for _, t := range tapes {
		for i := range t.Events {
			if e := &t.Events[i]; e.Type == tape.EventToolCall {
				called[e.Name] = true
				if e.Server != nil {
					add(e.Name, e.Server.Tool, e.Server.Name)
				} else {
					add(e.Name, "", "")
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(defined)) {
		if !called[name] {
			add(name, "", "")
		}
	}
	slices.SortFunc(served.tools, func(a, b tool) int { return strings.Compare(a.own+"\x00"+a.server, b.own+"\x00"+b.server) })
	return served
}

// Tools is how many tools there are.
func (t *Tape) Tools() int { return len(t.tools) }

// of are the tools of a recorded server by their names there; "" stands for all. Two servers with tools of one name can only be asked
// each alone.
func (t *Tape) of(server string) (map[string]tool, error) {
	tools := map[string]tool{}
	for _, tl := range t.tools {
		if server != "" && tl.server != server {
			continue
		}
		if other, taken := tools[tl.own]; taken && other.offered != tl.offered {
			return nil, fmt.Errorf("servers %q and %q both have a tool %q: ask for one of them, as /mcp/%s", other.server, tl.server, tl.own, other.server)
		}
		tools[tl.own] = tl
	}
	if len(tools) == 0 {
		return nil, fmt.Errorf("the tape holds no tool of a server %q", server)
	}
	return tools, nil
}

// Server returns an MCP server whose calls the session answers. It has the tools of the recorded server of that name, or all for "". Each
// call with its answer is told to answered, which may be nil.
func (t *Tape) Server(name string, session *oracle.Session, answered func(q *oracle.Query, a *oracle.Answer)) (*mcp.Server, error) {
	tools, err := t.of(name)
	if err != nil {
		return nil, err
	}
	call := func(params *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
		q := oracle.Query{ToolName: params.Name, ArgsText: string(params.Arguments)}
		if tl, known := tools[params.Name]; known {
			q.ToolName = tl.offered
		}
		if q.ArgsText == "" {
			q.ArgsText = "{}"
		}
		a, err := session.Answer(q)
		if err != nil {
			return nil, err
		}
		if answered != nil {
			answered(&q, &a)
		}
		return result(&q, &a), nil
	}
	implementation := &mcp.Implementation{Name: "tapedeck", Title: "A recorded run", Version: "1"}
	s := mcp.NewServer(implementation, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler), PageSize: max(1, len(tools))})
	for _, own := range slices.Sorted(maps.Keys(tools)) {
		tl := tools[own]
		d := &mcp.Tool{Name: own, Description: tl.description, InputSchema: json.RawMessage(tl.schema.JSON())}
		if len(tl.madeUp) > 0 {
			d.Meta = mcp.Meta{metaMadeUp: tl.madeUp}
		}
		s.AddTool(d, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return call(r.Params) })
	}
	// A call of a tool that is not on the tape is a miss of the replay, and no mistake in the protocol.
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if params, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok && method == "tools/call" {
				if _, known := tools[params.Name]; !known {
					return call(params)
				}
			}
			return next(ctx, method, r)
		}
	})
	return s, nil
}

// result is an answer as MCP has it. A response that is itself a result of MCP is served as it was recorded.
func result(q *oracle.Query, a *oracle.Answer) *mcp.CallToolResult {
	r := &mcp.CallToolResult{Meta: mcp.Meta{metaOutcome: string(a.Outcome)}}
	if !a.Outcome.Served() {
		r.IsError = true
		r.Content = []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("tapedeck: %s: no recorded answer for call %d, %s %s", a.Reason(), a.Call, q.ToolName, q.ArgsHash)}}
		return r
	}
	if len(a.Labels) > 0 {
		r.Meta[metaLabels] = a.Labels
	}
	if v, err := exactjson.Parse(a.Entry.Response); err == nil && v.Get("content").At(0).Get("type").Kind() == exactjson.String {
		recorded := &mcp.CallToolResult{}
		if json.Unmarshal([]byte(a.Entry.Response), recorded) == nil {
			recorded.IsError = recorded.IsError || a.Entry.IsError
			recorded.Meta = r.Meta
			return recorded
		}
	}
	r.IsError = a.Entry.IsError
	text := a.Entry.Response
	if a.Entry.IsError {
		text = cmp.Or(a.Entry.ErrorMessage, text) // the client of the agent makes of it what the model is shown
	}
	r.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	return r
}

// Config configures a Handler. Zero values are the defaults.
type Config struct {
	Tape        *Tape // required
	MaxSessions int   // DefaultMaxSessions
	MaxCalls    int   // of one session, oracle.DefaultMaxCalls
	MaxBody     int64 // bytes of one request; the default of the SDK
	// Answered is told each call with its answer. It must be safe for concurrent use.
	Answered func(session string, q *oracle.Query, a *oracle.Answer)
}

// DefaultMaxSessions bounds the replays that one handler serves.
const DefaultMaxSessions = 1024

// SessionHeader names the replay of a request, as for model calls. Without it a path that begins with /session/NAME does.
const SessionHeader = "X-Tapedeck-Session"

// Handler serves streamable HTTP: the revisions with sessions, and the stateless one. What was served is counted per replay, which is
// not the session of MCP: a stateless client has none. It is safe for concurrent use.
type Handler struct {
	config    Config
	sessions  http.Handler // of the revisions before
	stateless http.Handler

	mu      sync.Mutex
	replays map[string]*served
}

// served is one replay.
type served struct {
	session *oracle.Session
	servers map[string]*mcp.Server // by recorded server
}

// NewHandler returns a handler for paths that end in /mcp, or in /mcp/SERVER for the tools of one recorded server.
func NewHandler(c Config) *Handler {
	if c.MaxSessions <= 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	h := &Handler{config: c, replays: map[string]*served{}}
	find := func(r *http.Request) *mcp.Server {
		s, err := h.server(r)
		if err != nil {
			return nil
		}
		return s
	}
	h.sessions = mcp.NewStreamableHTTPHandler(find, &mcp.StreamableHTTPOptions{MaxRequestBodyBytes: c.MaxBody})
	h.stateless = mcp.NewStreamableHTTPHandler(find, &mcp.StreamableHTTPOptions{MaxRequestBodyBytes: c.MaxBody, Stateless: true})
	return h
}

// firstStateless is the revision from which on there are no sessions. A client of it says so with each request.
const firstStateless = "2026-07-28"

// address reads replay and recorded server from a request.
func address(r *http.Request) (replay, server string) {
	replay = r.Header.Get(SessionHeader)
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/session/"); ok {
		named, below, _ := strings.Cut(rest, "/")
		if path = "/" + below; replay == "" {
			replay = named
		}
	}
	return replay, strings.Trim(strings.TrimPrefix(path, "/mcp"), "/")
}

func (h *Handler) server(r *http.Request) (*mcp.Server, error) {
	name, recorded := address(r)
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.replays[name]
	if of == nil {
		if len(h.replays) >= h.config.MaxSessions {
			return nil, fmt.Errorf("more than %d replays", h.config.MaxSessions)
		}
		of = &served{session: h.config.Tape.oracle.NewSession(h.config.MaxCalls), servers: map[string]*mcp.Server{}}
	}
	s := of.servers[recorded]
	if s == nil {
		var err error
		s, err = h.config.Tape.Server(recorded, of.session, func(q *oracle.Query, a *oracle.Answer) {
			if h.config.Answered != nil {
				h.config.Answered(name, q, a)
			}
		})
		if err != nil {
			return nil, err
		}
		of.servers[recorded] = s
	}
	h.replays[name] = of
	return s, nil
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := h.server(r); err != nil { // the SDK has no words for it
		http.Error(w, "tapedeck: "+err.Error(), http.StatusNotFound)
		return
	}
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		h.stateless.ServeHTTP(w, r)
		return
	}
	h.sessions.ServeHTTP(w, r)
}

// Report is the report of one replay.
type Report struct {
	Session string        `json:"session"`
	MCP     oracle.Report `json:"mcp"`
}

// Reports returns the reports of all replays, by name.
func (h *Handler) Reports() (all []Report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.replays)) {
		all = append(all, Report{name, h.replays[name].session.Report()})
	}
	return all
}
