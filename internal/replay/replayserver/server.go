// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package replayserver answers all calls of a replay on one address: tool calls, model calls and calls of
// MCP.
package replayserver

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/mcpserver"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// Server tells calls apart by their path. A nil handler answers nothing.
type Server struct {
	// LocalOnly refuses requests to the name of another host.
	LocalOnly bool
	Oracle    *oraclehttp.Handler
	// Elsewhere answers in place of Oracle: it asks the oracle of another process.
	Elsewhere *rerun.Endpoint
	Model     *modelstub.Handler
	// Tap records what Model is asked.
	Tap *modeltap.Tap
	MCP *mcpserver.Handler
	// Verdicts takes what is posted to VerdictsPath.
	Verdicts http.Handler
	// Token is the bearer token that calls of MCP and verdicts need; "" for none.
	Token string
}

// Close lets calls that wait for their recorded time end at once.
func (s *Server) Close() {
	if s.Elsewhere != nil {
		s.Elsewhere.Close()
	}
	if s.Oracle != nil {
		s.Oracle.Close()
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case s.Elsewhere != nil && ofOracle(path):
		if !oraclehttp.Foreign(w, r, s.LocalOnly) {
			s.Elsewhere.ServeHTTP(w, r)
		}
	case s.Oracle != nil && ofOracle(path):
		s.Oracle.ServeHTTP(w, r)
	case oraclehttp.Foreign(w, r, s.LocalOnly):
	case s.Verdicts != nil && path == VerdictsPath:
		if oraclehttp.Authorised(w, r, s.Token) {
			s.Verdicts.ServeHTTP(w, r)
		}
	case s.MCP != nil && ofMCP.MatchString(path):
		if oraclehttp.Authorised(w, r, s.Token) {
			s.MCP.ServeHTTP(w, r)
		}
	case s.Model != nil && s.Tap != nil:
		s.Tap.Handler(s.Model, "").ServeHTTP(w, r)
	case s.Model != nil:
		s.Model.ServeHTTP(w, r)
	case s.Oracle != nil:
		s.Oracle.ServeHTTP(w, r) // its error names the paths
	default:
		http.Error(w, "tapedeck: the MCP server is at /mcp", http.StatusNotFound)
	}
}

// VerdictsPath is where verdicts are posted.
const VerdictsPath = "/v1/verdicts"

// ofMCP are the paths of the MCP server.
var ofMCP = regexp.MustCompile(`^(?:/session/[^/]+)?/mcp(?:/|$)`)

// ofOracle tells the paths of the oracle from those of model providers.
func ofOracle(path string) bool {
	if path == "/" { // clients of Forge post there, and no provider uses it
		return true
	}
	for _, own := range []string{"/v1/tool-calls", "/v1/runs/", "/v1/sessions/", "/openapi.json", "/healthz"} {
		if path == own || strings.HasSuffix(own, "/") && strings.HasPrefix(path, own) {
			return true
		}
	}
	return false
}

// Reports are the reports of all sessions: of the oracle, of MCP, of the model stub.
func (s *Server) Reports() (list []any) {
	if s.Oracle != nil {
		for _, r := range s.Oracle.Reports() {
			list = append(list, r)
		}
	}
	if s.MCP != nil {
		for _, r := range s.MCP.Reports() {
			list = append(list, r)
		}
	}
	if s.Model != nil {
		for _, r := range s.Model.Reports() {
			list = append(list, r)
		}
	}
	return list
}
