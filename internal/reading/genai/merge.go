// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// Merge joins two reports of the same call. Fields of the outer one come first.
func Merge(outer, inner *dialect.Observation) *dialect.Observation {
	o := *outer
	o.Fill(inner)
	return &o
}

// MergeModel joins two reports of the same model call. Ids, usage and finish reasons of the inner one come first, all other fields of the
// outer one. Where the two name different models and the answer came from that of the inner one, that was asked for: an outer one may name what is the default where it knows none
// (OpenLIT's gpt-3.5-turbo around calls of LangChain).
func MergeModel(outer, inner *dialect.Observation) *dialect.Observation {
	o := *outer
	if inner.ResponseID != "" {
		o.ResponseID = inner.ResponseID
	}
	if inner.ResponseModel != "" {
		o.ResponseModel = inner.ResponseModel
	}
	if len(inner.FinishReasons) > 0 {
		o.FinishReasons = inner.FinishReasons
	}
	u := inner.Usage
	decode.FillUsage(&u, o.Usage)
	o.Usage = u
	if named, by := o.Model, o.ResponseModel; named != "" && inner.Model != "" && dated(by, inner.Model) && !dated(by, named[strings.LastIndexByte(named, '/')+1:]) {
		o.Model = inner.Model
	}
	if NamesCalls(inner.Request, o.Request) && len(inner.Response) > 0 {
		takeWhole(&o, inner)
	}
	o.Fill(inner)
	return &o
}

// NamesCalls reports messages that show each result with its call, where others show the same number of results and do not say of which calls (Traceloop's package for OpenAI's Agents
// around that for its client: of a message of calls nothing but its role).
func NamesCalls(messages, others []decode.Message) bool {
	results := count(messages, tape.PartToolResult)
	if results == 0 || count(others, tape.PartToolResult) != results || count(others, tape.PartToolCall) > 0 {
		return false
	}
	for id := range resultIDs(others) {
		if id != "" {
			return false
		}
	}
	calls := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				calls[p.ID] = true
			}
		}
	}
	for id := range resultIDs(messages) {
		if id == "" || !calls[id] {
			return false
		}
	}
	return true
}

// dated reports that a model that answered is the one that was asked for, or one of its dates: gpt-4o-mini-2024-07-18 for gpt-4o-mini. gpt-4o is another one.
func dated(answered, asked string) bool {
	rest, ok := strings.CutPrefix(answered, asked)
	return ok && asked != "" && strings.Trim(rest, "-0123456789") == ""
}
