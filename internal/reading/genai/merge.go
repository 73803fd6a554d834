// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
)

// Merge joins two reports of the same call. Fields of the outer one come first.
func Merge(outer, inner *dialect.Report) *dialect.Report {
	return outer.With(func(o *dialect.Draft) { o.FillFrom(inner) })
}

// MergeModel joins two reports of the same model call. Ids, usage and finish reasons of the inner one come
// first, all other fields of the outer one. The model that was asked for is that of the inner one where the
// two name different models and the answer came from that model: an outer report may name a default where it
// knows none (OpenLIT's gpt-3.5-turbo around calls of LangChain).
func MergeModel(outer, inner *dialect.Report) *dialect.Report {
	return outer.With(func(o *dialect.Draft) {
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
			takeWhole(&o.ModelCall, inner.ModelCall)
		}
		o.FillFrom(inner)
	})
}

// dated reports that a model that answered is the one that was asked for, or one of its dates:
// gpt-4o-mini-2024-07-18 for gpt-4o-mini. gpt-4o is another one.
func dated(answered, asked string) bool {
	rest, ok := strings.CutPrefix(answered, asked)
	return ok && asked != "" && strings.Trim(rest, "-0123456789") == ""
}

// takeFuller takes the conversation of a model call from a later dialect that tells more of it.
func takeFuller(o, later *dialect.ModelCall) {
	if len(later.Response) > 0 && showsMore(later.Request, o.Request) {
		takeWhole(o, later)
	}
	if saysMore(later.Response, o.Response) {
		o.Response, o.ResponseLabel = later.Response, later.ResponseLabel
	}
}

// takeWhole takes the conversation of a model call from a later dialect, where an earlier one left out what
// tools returned. Request and answer go together, for the ids of calls may be others. Instructions that the
// earlier dialect alone holds stay before them.
func takeWhole(o, whole *dialect.ModelCall) {
	request := whole.Request
	if len(request) == 0 || request[0].Role != tape.RoleSystem {
		system := 0
		for system < len(o.Request) && o.Request[system].Role == tape.RoleSystem {
			system++
		}
		if system > 0 {
			request = slices.Concat(o.Request[:system], request)
		}
	}
	o.Request, o.RequestLabel = request, whole.RequestLabel
	o.Response, o.ResponseLabel = whole.Response, whole.ResponseLabel
}

// saysMore reports an answer with the calls of another record of it, and with a text that the other record
// leaves out (Koog's adapter for Langfuse).
func saysMore(whole, part []decode.Message) bool {
	if len(whole) != 1 || len(part) != 1 || count(whole, tape.PartText) == 0 || len(whole[0].Parts) <= len(part[0].Parts) {
		return false
	}
	ids := func(m decode.Message) (out []string) {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				out = append(out, p.ID)
			}
		}
		return out
	}
	calls := ids(part[0])
	return len(calls) > 0 && len(calls) == len(part[0].Parts) && calls[0] != "" && slices.Equal(calls, ids(whole[0]))
}

// showsMore reports messages with more results of tools than others have, each of a call that they show as
// well. Where new messages alone were sent, neither shows a call. The results have ids of their own then, and
// those of the others are among them: one message may have become one result (OpenInference's processor for
// Agent Framework).
func showsMore(messages, others []decode.Message) bool {
	results := count(messages, tape.PartToolResult)
	if results <= count(others, tape.PartToolResult) {
		return false
	}
	if count(messages, tape.PartToolCall)+count(others, tape.PartToolCall) > 0 {
		return count(messages, tape.PartToolCall) >= results
	}
	ids, some := idsOf(messages, tape.PartToolResult), idsOf(others, tape.PartToolResult)
	for id := range some {
		if !ids[id] {
			return false
		}
	}
	return len(ids) == results && len(some) > 0 && !ids[""]
}

// NamesCalls reports messages that show each result with its call, where others show as many results and none
// of the calls (Traceloop's package for OpenAI's Agents SDK around that for its client: of a message of
// calls, the role).
func NamesCalls(messages, others []decode.Message) bool {
	results := count(messages, tape.PartToolResult)
	if results == 0 || count(others, tape.PartToolResult) != results || count(others, tape.PartToolCall) > 0 {
		return false
	}
	for id := range idsOf(others, tape.PartToolResult) {
		if id != "" {
			return false
		}
	}
	calls := idsOf(messages, tape.PartToolCall)
	for id := range idsOf(messages, tape.PartToolResult) {
		if id == "" || !calls[id] {
			return false
		}
	}
	return true
}

func idsOf(messages []decode.Message, kind tape.PartType) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == kind {
				ids[p.ID] = true
			}
		}
	}
	return ids
}

func count(messages []decode.Message, kind tape.PartType) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == kind {
				n++
			}
		}
	}
	return n
}
